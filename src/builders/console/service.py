"""Show a page, and send the form of a page."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from functools import partial
from http import HTTPStatus
from typing import Any
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

from fastapi import Request, Response

from builders.console import actions, drafts, exports, notices, pages, views
from builders.console.actions import ACTIONS, Action
from builders.console.calls import Api, Call, fill
from builders.console.edits import AFTER, ALL, DOMAINS
from builders.console.files import Shown
from builders.console.forms import CSRF, CSRF_HEADER, KEY, PAGE, Sent, read_form
from builders.console.notices import Results
from builders.console.spaces import Space, split
from builders.console.views import DONE, DRAFT, HEADERS, View
from builders.identity import accounts, keys
from builders.kit.callers import Caller
from builders.kit.db.connections import Database
from builders.kit.errors import Invalid, NotFound
from builders.kit.http import html, idempotency
from builders.kit.http.idempotency import Claim
from builders.kit.http.internal_calls import Answer
from builders.kit.http.origins import OriginForbidden
from builders.kit.values import ids
from builders.portfolio.domains.errors import DomainsChanged
from builders.portfolio.team import members as team_members
from builders.portfolio.team.errors import RoleForbidden
from builders.profile import profiles

_MINUTE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d")
_REPLACING = frozenset({"PUT", "PATCH", "DELETE"})  # methods that change what a page has shown
RESULTS = "results.html"
EXPORT = "portfolio/domains.csv"  # the path of the file below the first page


async def show(request: Request, caller: Caller) -> Response:
    """Return the page of the request's path. Raise NotFound for an unknown one, and for a program."""
    view = await open_view(request, caller)
    own = (f"{DONE}=", f"{DRAFT}=")
    query = "&".join(each for each in request.url.query.split("&") if not each.startswith(own))
    path = view.path
    if path == "search" and ids.find(view.query.get("q", "").strip()) is not None:
        path, query = f"search/{view.query['q'].strip()}", ""
    before = await drafts.restore(request, view) if view.draft else None
    read = await pages.read(Api(request, view.space), path, query)
    drafts.tell_change(view, before, None if read.main is None else read.main.etag)
    return await _page(request, view, read)


async def export(request: Request, caller: Caller) -> Response:
    """Return the domains of a view of the list as a file. Raise NotFound without the cookie of a session."""
    view = await open_view(request, caller, is_file=True)
    view.path = "portfolio/domains"  # that of the list
    first, lines = await exports.open_file(Api(request, view.space), view.query)
    if not first.is_ok:
        return views.respond(view, "refused.html", status=first.status, problem=first.body)
    attached = {"Content-Disposition": 'attachment; filename="portfolio.csv"'}
    return exports.ViewFile(lines, media_type="text/csv", headers={**HEADERS, **attached})


async def send(request: Request, caller: Caller, name: str) -> Response:
    """Send the form of an action, and return the next page. Raise NotFound, OriginForbidden."""
    view, action = await open_view(request, caller), ACTIONS.get(name)
    if action is None:
        raise NotFound("There is no such form.")
    api, sent = Api(request, view.space), (await _read(request, caller)).with_key_of(name)
    shown = api.shown(action.path) if action.method in _REPLACING else ()
    sent.require_expected(shown, is_typed=action.method != "DELETE")
    view.open(sent.first(PAGE))
    view.sent, view.sent_action = sent, name
    key = sent.first(KEY)
    work = partial(_act, request, view, api, action)
    if not key or api.is_repeatable(action.method, fill(action.path, sent.path_values())):
        return await work()
    return await _once(request, caller, key, work, keeps_page=action.send is not None)


async def _read(request: Request, caller: Caller) -> Sent:
    """Return a form of this session. Raise OriginForbidden before more than its first field is read."""

    def admit(name: str, value: str) -> None:
        if name != CSRF or not views.is_csrf_token(request.app.state.keyring, caller, value):
            raise OriginForbidden("The form was not made for this session.", next_action="Open the page again.")

    token = request.headers.get(CSRF_HEADER)
    if token is not None:
        admit(CSRF, token)
    return await read_form(request, admit=admit if token is None else None)


async def _act(request: Request, view: View, api: Api, action: Action) -> Response:
    """Make the call of a form; return the next page, or that of the refusal."""
    try:
        if action.send is not None:
            found = await action.send(api, view.sent)
            if isinstance(found, Answer):
                return await _refused(request, view, api, found)
            if isinstance(found, Shown):
                view.problem = found.problem
                status = HTTPStatus.OK if found.problem is None else found.problem["status"]
                return views.respond(view, action.template or RESULTS, status=status, **found.values)
            return views.respond(view, RESULTS, results=found)
        call = await actions.call_of(action, view.sent, api)
    except Invalid as refusal:
        found = Answer(HTTPStatus.UNPROCESSABLE_ENTITY, {"detail": refusal.errors})
        return await _refused(request, view, api, found)
    if call is None:
        return view.redirect(None, views.NOTHING)
    return await _call(request, view, api, action, call)


async def _once(
    request: Request, caller: Caller, key: str, work: Callable[[], Awaitable[Response]], *, keeps_page: bool
) -> Response:
    """Make a call that takes no Idempotency-Key; the same form sent again is led to the same page.

    `keeps_page`: a page of results, which has no secret, is kept too.
    """
    database = request.app.state.database
    claim = await idempotency.claim(request, database, caller=caller, body=None, key=key)
    if claim is None:
        return await work()
    kept = {HTTPStatus.SEE_OTHER, *([HTTPStatus.OK] if keeps_page else [])}
    response = await claim.run_fenced(partial(_keep, claim, database, work, kept), database)
    response.headers.update(HEADERS)
    return response


async def _keep(
    claim: Claim, database: Database, work: Callable[[], Awaitable[Response]], kept: Collection[int]
) -> Response:
    response = await work()
    if response.status_code in kept:
        async with database.connection() as conn:
            await claim.finish(conn, response=response, body=bytes(response.body))
    else:
        await claim.release(database)
    return response


async def _call(request: Request, view: View, api: Api, action: Action, call: Call) -> Response:
    """Make the call of a form; return the next page, or that of the refusal."""
    before = view.sent.before()
    if call.method == "PATCH":  # it changes only what differs
        before = {name: value for name, value in before.items() if name in call.body}
    # It replaces what has no version.
    if before and call.etag is None and call.method in _REPLACING and api.is_readable(call.target):
        now = await api.send(Call("GET", call.target))
        if now.is_ok and any(_is_changed(value, now.body.get(name)) for name, value in before.items()):
            return _stale(view, action, now)
    answer = await api.send(call)
    if answer.status == HTTPStatus.PRECONDITION_FAILED:
        now = await api.send(Call("GET", call.target))
        if now.is_ok:
            return _stale(view, action, now)
    # An import shows on its own page which rows it refused.
    if action.to is None and (refused := _refused_rows(answer)):
        return await _refused(request, view, api, Answer(HTTPStatus.UNPROCESSABLE_ENTITY, refused))
    if action.then is not None and not answer.is_ok and answer.body["code"] == DomainsChanged.code:
        view.sent, view.problem = view.sent.without(ALL), {"status": answer.status, **answer.body}
        return await _act(request, view, api, ACTIONS[action.then])
    return await _answer(request, view, api, action, call, answer)


async def _answer(request: Request, view: View, api: Api, action: Action, call: Call, answer: Answer) -> Response:
    """Return the next page, or that of the refusal."""
    if not answer.is_ok:
        return await _refused(request, view, api, answer)
    if action.then is not None and view.sent.first(AFTER):
        view.sent = view.sent.without(DOMAINS)
        return await _act(request, view, api, ACTIONS[action.then])
    if action.template is not None:
        status = HTTPStatus.OK if view.problem is None else view.problem["status"]
        return views.respond(view, action.template, status=status, reply=answer.body, calls=[call])
    found = actions.told(action, answer.body)
    if isinstance(found, Results):
        return views.respond(view, RESULTS, calls=[call], results=found)
    return view.redirect(_next_page(action, view.sent, answer), found)


async def open_view(request: Request, caller: Caller, *, is_file: bool = False) -> View:
    """Return what the templates need. Raise NotFound for a request that no browser sent with its cookie.

    A browser that saves a link as a file may accept any media type (`Accept: */*`).
    """
    if caller.method != "cookie" or not (is_file or html.is_browser_navigation(request.scope)):
        raise NotFound("The API has no such path: it is a page for browsers.", next_action="See /docs.")
    space, path = split(request.scope["path"])
    if space.owner == str(caller.live_account_id):
        space = Space()
    own, owner_id = caller.live_account_id, ids.find(space.owner or "")
    async with request.app.state.database.connection() as conn:
        teams = await team_members.list_portfolios(conn, member_id=own) if caller.impersonation is None else ()
        found = await accounts.list_accounts_by_id(conn, account_ids={own, owner_id or own, *teams})
        zones = await profiles.list_time_zones(conn, account_ids={own})
    owner = found.get(owner_id or own)
    shown = None if owner is None else owner.name or owner.email
    view = View(request, caller, space, path, found[own].email, shown, ZoneInfo(zones.get(own, "UTC")))
    view.account_id = owner_id or own
    opened = [(each, found[each]) for each in teams if each in found]  # without sandbox accounts
    view.teams = [(Space(owner=str(team)).prefix, owner.name or owner.email) for team, owner in opened]
    return view


async def _page(request: Request, view: View, read: pages.Read) -> Response:
    """Return the page with its answers; the page of its refusal if the first call was refused."""
    main = read.main
    view.is_member = main is not None and (main.is_ok or main.body.get("code") == RoleForbidden.code)
    if main is not None and not main.is_ok:
        return views.respond(
            view, "refused.html", status=main.status, problem=main.body, calls=read.calls.values()
        )
    status = HTTPStatus.OK if view.problem is None else int(view.problem.get("status", 422))
    bodies = read.bodies()
    if read.page.path == pages.INBOX:
        bodies["elsewhere"] = await _read_requests(request, view, bodies["team"])
    if read.page.path == pages.PLAN:
        bodies["maker"] = await _name_maker(request, view, bodies["plan"]["created_by"])
    return views.respond(view, read.page.template, status=status, calls=read.calls.values(), **bodies)


async def _read_requests(request: Request, view: View, team: Mapping[str, Any] | None) -> Sequence[Any]:
    """Return the accounts of teams whose plans the person decides about, each with the plans that ask for it."""
    is_own = team is not None and not view.is_test and view.support is None
    teams = [each for each in team["memberships"] if each["approve_plans"]] if team and is_own else []
    asked = (
        Api(request, Space(owner=each["owner_account_id"])).send(Call("GET", pages.REQUESTS)) for each in teams
    )
    answers = await asyncio.gather(*asked)
    return [
        {**each, "asked": answer.body["items"] if answer.is_ok else None, "refused": answer.body}
        for each, answer in zip(teams, answers, strict=True)
    ]


async def _name_maker(request: Request, view: View, created_by: str) -> str:
    """Return who made a plan that is shown: the label of a key, the address of a person, the name of support."""
    key_id = ids.find(created_by)
    async with request.app.state.database.connection() as conn:
        if key_id is not None:
            return f"the key {(await keys.get_key(conn, account_id=view.account_id, key_id=key_id)).label}"
        kind, _, name = created_by.partition(" ")
        if kind == "user":
            return (await accounts.get_account(conn, account_id=view.account_id)).email
    return f"{kind}: {name}"


async def _refused(request: Request, view: View, api: Api, answer: Answer) -> Response:
    """Return the page of the form with the refusal and what was sent."""
    view.problem = {"status": answer.status, **answer.body}
    if answer.status == HTTPStatus.UNAUTHORIZED:
        view.draft = await drafts.keep_refused(request, view)
    return await _page(request, view, await pages.read(api, view.path, urlencode(view.query)))


def _refused_rows(answer: Answer) -> Mapping[str, Any] | None:
    """Return the problem of the refused rows of a reply, which says how many others are done; None without one.

    A row that a registrar has answered is told with the others.
    """
    rows = answer.body.get("results", ()) if answer.is_ok and isinstance(answer.body, dict) else ()
    refused = [row for row in rows if row.get("errors")]
    if not refused or any(row.get("pushed") for row in rows):
        return None
    detail = [
        {"loc": ("body", row["domain"]) if len(rows) > 1 else ("body",), "msg": error["message"]}
        for row in refused
        for error in row["errors"]
    ]
    done = len(rows) - len(refused)
    title = f"{notices.count(done, 'row', 'is', 'are')} accepted, and these are not" if done else None
    return {"detail": detail, **({"title": title} if title else {})}


def _is_changed(before: str, now: Any) -> bool:
    """Return whether a member has another value than the form was shown with; a field of a time has no seconds."""
    text = views.shown(now)
    return before != (text[: len(before)] if _MINUTE.fullmatch(before) else text)


def _stale(view: View, action: Action, now: Answer) -> Response:
    members = [
        {
            "name": name,
            "before": before,
            "now": views.shown(now.body.get(name)),
            "sent": view.sent.fields.get(name, ("",))[-1],  # a checkbox sends `false` before its value
        }
        for name, before in view.sent.before().items()
    ]
    kept = {name: values for name, values in view.sent.fields.items() if not name.startswith("_")}
    return views.respond(
        view,
        "stale.html",
        status=HTTPStatus.PRECONDITION_FAILED,
        members=members,
        fields=kept,
        etag=now.etag,
        saves=action.method != "DELETE",
    )


def _next_page(action: Action, sent: Sent, answer: Answer) -> str | None:
    """Return the page of the action; None to stay on that of the form."""
    if action.to is None:
        return None
    reply = answer.body if isinstance(answer.body, dict) else {}
    values = {**sent.path_values(), **{name: str(value) for name, value in reply.items()}}
    return fill(action.to, values)
