"""Show a page, and send the form of a page."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any
from urllib.parse import urlencode

from fastapi import Request, Response
from starlette.responses import RedirectResponse

from builders.console import actions, pages, views
from builders.console.actions import ACTIONS, Action
from builders.console.calls import Answer, Api, Call, fill
from builders.console.forms import CSRF, PAGE, Sent, read_form
from builders.console.spaces import Space, split
from builders.console.views import HEADERS, View
from builders.identity import accounts
from builders.kit.errors import Invalid, NotFound
from builders.kit.http import html
from builders.kit.http.callers import Caller
from builders.kit.http.origins import OriginForbidden
from builders.kit.values import ids

_DONE = "done"  # parameter of the query: the form that led to the page


async def show(request: Request, caller: Caller) -> Response:
    """Return the page of the request's path. Raise NotFound for an unknown one, and for a program."""
    view = await open_view(request, caller)
    query = "&".join(each for each in request.url.query.split("&") if not each.startswith(f"{_DONE}="))
    path = view.path
    if path == "search" and ids.find(view.query.get("q", "").strip()) is not None:
        path, query = f"search/{view.query['q'].strip()}", ""
    read = await pages.read(Api(request, view.space), path, query)
    return _page(view, read)


async def send(request: Request, caller: Caller, name: str) -> Response:
    """Send the form of an action, and return the next page. Raise NotFound, OriginForbidden."""
    view = await open_view(request, caller)
    action, sent = ACTIONS.get(name), await read_form(request)
    if action is None:
        raise NotFound("There is no such form.")
    if not views.is_csrf_token(request.app.state.keyring, caller, sent.first(CSRF)):
        raise OriginForbidden("The form was not made for this session.", next_action="Open the page again.")
    view.path, view.sent, view.sent_action = sent.first(PAGE), sent, name
    api = Api(request, view.space)
    try:
        call = await actions.call_of(action, sent, api)
    except Invalid as refusal:
        return await _refused(view, api, Answer(HTTPStatus.UNPROCESSABLE_ENTITY, {"detail": refusal.errors}))
    return _redirect(view, view.path, views.NOTHING) if call is None else await _call(view, api, action, call)


async def _call(view: View, api: Api, action: Action, call: Call) -> Response:
    """Make the call of a form; return the next page, or that of the refusal."""
    answer = await api.send(call)
    if answer.status == HTTPStatus.PRECONDITION_FAILED:
        now = await api.send(Call("GET", call.target))
        if now.is_ok:
            return _stale(view, now)
    if not answer.is_ok:
        return await _refused(view, api, answer)
    if action.template is not None:
        return views.respond(view, action.template, reply=answer.body, calls=[call])
    return _redirect(view, _next_page(action, view.sent or Sent({}), answer), view.sent_action)


async def open_view(request: Request, caller: Caller) -> View:
    """Return what the templates need. Raise NotFound for a request that no browser sent with its cookie."""
    if caller.method != "cookie" or not html.is_browser_navigation(request.scope):
        raise NotFound("The API has no such path: it is a page for browsers.", next_action="See /docs.")
    space, path = split(request.scope["path"])
    if space.owner == str(caller.live_account_id):
        space = Space()
    async with request.app.state.database.connection() as conn:
        account = await accounts.get_account(conn, account_id=caller.live_account_id)
    return View(request, caller, space, path, account.email)


def _page(view: View, read: pages.Read) -> Response:
    """Return the page with its answers; the page of its refusal if the first call was refused."""
    main = read.main
    if main is not None and not main.is_ok:
        return views.respond(
            view, "refused.html", status=main.status, problem=main.body, calls=read.calls.values()
        )
    status = HTTPStatus.OK if view.problem is None else int(view.problem.get("status", 422))
    return views.respond(view, read.page.template, status=status, calls=read.calls.values(), **read.bodies())


async def _refused(view: View, api: Api, answer: Answer) -> Response:
    """Return the page of the form with the refusal and what was sent."""
    view.problem = {"status": answer.status, **answer.body}
    return _page(view, await pages.read(api, view.path, ""))


def _stale(view: View, now: Answer) -> Response:
    sent = view.sent or Sent({})
    members = [
        {
            "name": name,
            "before": before,
            "now": _shown(now.body.get(name)),
            "sent": view.value(view.sent_action, name, ""),
        }
        for name, before in sent.before().items()
    ]
    kept = {name: values for name, values in sent.fields.items() if not name.startswith("_")}
    return views.respond(
        view, "stale.html", status=HTTPStatus.PRECONDITION_FAILED, members=members, fields=kept, etag=now.etag
    )


def _shown(value: Any) -> str:
    """Return a value as a form shows it."""
    if isinstance(value, list):
        return "\n".join(map(_shown, value))
    if isinstance(value, Mapping):  # a destination of a name
        return str(value.get("email", ""))
    return {None: "", True: "true", False: "false"}.get(value, str(value))


def _next_page(action: Action, sent: Sent, answer: Answer) -> str:
    if action.to is None:
        return sent.first(PAGE)
    reply = answer.body if isinstance(answer.body, dict) else {}
    values = {**sent.path_values(), **{name: str(value) for name, value in reply.items()}}
    return fill(action.to, values)


def _redirect(view: View, page: str, done: str) -> Response:
    """Return a redirection to a page of the console, which says what was done."""
    pages.find(page)
    return RedirectResponse(f"{view.link(page)}?{urlencode({_DONE: done})}", HTTPStatus.SEE_OTHER, dict(HEADERS))
