"""The HTML of the console: templates, how values are written, and the headers of a page."""

import hmac
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta, tzinfo
from decimal import Decimal
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode
from uuid import UUID

from fastapi import Request, Response
from jinja2 import Environment, PackageLoader, StrictUndefined, pass_context, select_autoescape
from jinja2.runtime import Context
from markupsafe import Markup, escape
from starlette.responses import RedirectResponse

from builders.console import (
    actions,
    amounts,
    charts,
    edits,
    files,
    fixes,
    imports,
    navigation,
    pages,
    portfolio,
    sales,
)
from builders.console.approval import write_amounts
from builders.console.calls import Api, Call, is_money
from builders.console.forms import CSRF, ETAG, KEY, MAX_FILE, PAGE, Sent, largest_file
from builders.console.notices import Notice, for_people, of_mail_code, place, said, words
from builders.console.spaces import ROOT, Space
from builders.console.states import device, state_class
from builders.kit.callers import Caller
from builders.kit.http import html
from builders.kit.process.secret_keys import Keyring
from builders.kit.values import clock, ids
from builders.kit.values.domain_names import find_a_label, unicode_of
from builders.portfolio.domains.records import PortfolioDomainStatus
from builders.portfolio.renewals.report import CONTRADICTIONS

_NONE = Markup("&ndash;")
DRAFT = "draft"  # parameter of the query: a form whose session had ended
DONE = "done"  # parameter of the query: what the form that led to the page did
NOTHING = Notice("Nothing was changed: the form had no new value.", "wait")
_CSRF_PURPOSE, _NOTICE_PURPOSE = "console-csrf", "console-notice"
_PROOF_LENGTH = 32  # characters of the hash that proves a notice


SCRIPT = html.add_asset(
    "console.js", "text/javascript; charset=utf-8", Path(__file__).parent / "static" / "console.js"
)
_LOADED = ("script-src 'self'", "style-src 'self'", "connect-src 'self'")
HEADERS = {**html.HEADERS, "Content-Security-Policy": html.content_policy(*_LOADED)}


def csrf_token(keyring: Keyring, caller: Caller) -> str:
    """Return the token that each form of this session carries: its account, the session, and their hash.

    A support session has no account: what it typed is not kept for the holder.
    """
    named = _session_of(caller)
    return f"{named}:{keyring.hash_token(_CSRF_PURPOSE, named).hex()}"


def is_csrf_token(keyring: Keyring, caller: Caller, token: str) -> bool:
    """Return whether a form of this session carried the token; an older secret key may have made it."""
    return token.startswith(f"{_session_of(caller)}:") and find_csrf_owner(keyring, token) is not None


def find_csrf_owner(keyring: Keyring, token: str) -> UUID | None:
    """Return the account of the session for which this service made a token, even if the session has ended."""
    named, _, proof = token.rpartition(":")
    known = (each.hex().encode() for each in keyring.hashes(_CSRF_PURPOSE, named))
    is_own = any(hmac.compare_digest(each, proof.encode()) for each in known)
    return ids.find(named.partition(":")[0]) if is_own else None


def _session_of(caller: Caller) -> str:
    owner = caller.live_account_id if caller.impersonation is None else ids.NIL
    return f"{owner}:{caller.session_id}"


def address_of(space: Space, page: str, query: Mapping[str, str]) -> str:
    """Return the address of a page of a space, whose path may have a query, with more parameters."""
    path, _, own = page.partition("?")
    return f"{space.link(path)}?{urlencode({**dict(parse_qsl(own)), **query})}"


def sign_notice(keyring: Keyring, caller: Caller, notice: Notice) -> str:
    """Return a notice for the address of the next page; only this session shows it, so no link makes one up."""
    hashed = keyring.hash_token(_NOTICE_PURPOSE, _signed_text(caller, notice)).hex()[:_PROOF_LENGTH]
    return f"{notice.kind}.{hashed}.{notice.text}"


def find_notice(keyring: Keyring, caller: Caller, text: str) -> Notice | None:
    """Return the notice of an address that this session has signed; an older secret key may have signed it."""
    kind, _, rest = text.partition(".")
    proof, _, said = rest.partition(".")
    notice = Notice(said, kind)
    known = (each.hex()[:_PROOF_LENGTH] for each in keyring.hashes(_NOTICE_PURPOSE, _signed_text(caller, notice)))
    return notice if any(hmac.compare_digest(each.encode(), proof.encode()) for each in known) else None


def _signed_text(caller: Caller, notice: Notice) -> str:
    return f"{caller.session_id} {notice.kind} {notice.text}"


class View:
    """What the templates know of a request: the space, the person, the form that was refused."""

    def __init__(
        self,
        request: Request,
        caller: Caller,
        space: Space,
        path: str,
        email: str,
        owner: str | None = None,
        zone: tzinfo = UTC,
    ) -> None:
        self._request, self._caller = request, caller
        self._api = Api(request, space)
        self.space, self.path, self.email = space, path, email
        self.account_id = self.person_id = caller.live_account_id
        self.owner, self.is_member = owner, False  # the account of the team; only its members see its name
        self.zone = zone  # of the person
        self.teams: Sequence[tuple[str, str]] = ()  # whose accounts the person can open: the address, the name
        self.is_test = space.is_test
        self.now = clock.now().isoformat()
        self.support = caller.impersonation
        keyring: Keyring = request.app.state.keyring
        self.csrf = csrf_token(keyring, caller)
        self.service: str = request.app.state.settings.url
        self.pays = request.app.state.settings.stripe_key is not None and not space.is_test and not self.support
        self.query = dict(parse_qsl(request.url.query))
        done = self.query.pop(DONE, "")
        self.draft = self.query.pop(DRAFT, None)  # the id of a form that was not saved
        self.notice = find_notice(keyring, caller, done) if done else None  # what the form that led here did
        self.sent, self.sent_action = Sent({}), ""  # the fields of a refused form
        self.problem: Mapping[str, Any] | None = None  # why it was refused

    def open(self, page: str) -> None:
        """Become the view of the page from which a form was sent: its path and its query."""
        self.path, _, query = page.partition("?")
        self.query = dict(parse_qsl(query))

    @property
    def file_limit(self) -> str:
        """Return how large a file of a form can be, also when it is compressed."""
        packed = largest_file(self._request.app.state.settings.body_limit)
        return f"{MAX_FILE // 2**20} MB, and {packed / 2**20:.1f} MB when it is compressed, as a workbook is"

    def link(self, page: str = "") -> str:
        """Return the path of a page of this space."""
        return self.space.link(page)

    @property
    def menu(self) -> Sequence[navigation.Group]:
        """Return the menu, with the place of this page in it."""
        return navigation.menu(self.space, self.path)

    @property
    def other(self) -> str:
        """Return the path of this page in the sandbox, or outside it: from the begin of a list."""
        query = urlencode({name: value for name, value in self.query.items() if name != "cursor"})
        return self.space.other(self.path) + (f"?{query}" if query else "")

    @property
    def return_to(self) -> str:
        """Return the path of this page, with the form that was not saved, for after signing in."""
        return address_of(self.space, self.path, {**self.query, **({DRAFT: self.draft} if self.draft else {})})

    def with_query(self, **changed: str | None) -> str:
        """Return the path of this page with other values in its query; None removes one."""
        kept = {name: value for name, value in {**self.query, **changed}.items() if value}
        return self.link(self.path) + (f"?{urlencode(kept)}" if kept else "")

    def property(self, action: str, name: str) -> Mapping[str, Any]:
        """Return the schema of a member that a form sets, for its description and limits."""
        declared = actions.ACTIONS[action]
        found: Mapping[str, Any] = self._api.properties(declared.method, declared.path).get(name, {})
        return found

    def value(self, action: str, name: str, shown: Any) -> Any:
        """Return what a field contains: what was sent, if the form was refused, else what is stored."""
        if self.sent_action != action or name not in self.sent.fields:
            return shown
        return "\n".join(self.sent.fields[name])

    def errors(self, action: str, name: str) -> list[str]:
        """Return why the value of a field was refused."""
        if self.problem is None or self.sent_action != action or not isinstance(self.problem.get("detail"), list):
            return []
        return [
            said(each["msg"])
            for each in self.problem["detail"]
            if each["loc"][1:][: name.count(".") + 1] == name.split(".")
        ]

    def may_promote(self, plan: Mapping[str, Any]) -> bool:
        """Return whether the person may promote or resume a plan: as the account itself, outside its sandbox."""
        is_own = self.space == Space() and self.support is None
        is_open = plan["promotable"] or plan["status"] == "partial"
        return is_own and is_open and plan["approval"]["state"] in {"not_required", "approved"}

    def redirect(self, page: str | None, notice: Notice) -> Response:
        """Return a redirection to a page of this space, which shows the notice; None is that of the form."""
        path, query = (self.path, self.query) if page is None else (page, {})
        pages.find(path)
        done = sign_notice(self._request.app.state.keyring, self._caller, notice)
        location = f"{self.link(path)}?{urlencode({**query, DONE: done})}"
        return RedirectResponse(location, HTTPStatus.SEE_OTHER, HEADERS)

    def hidden(self, etag: str | None = None) -> dict[str, str]:
        """Return the hidden fields of a form: a key, so that a form sent twice acts once, and the CSRF token."""
        page = f"{self.path}?{urlencode(self.query)}" if self.query else self.path
        fields = {CSRF: self.csrf, KEY: str(ids.new()), PAGE: page}
        return fields | ({ETAG: etag} if etag else {})


def prepare() -> None:
    """Compile the templates that the first page would wait for longest."""
    for name in PREPARED:
        _jinja.get_template(name)


def respond(
    view: View, template: str, *, status: int = 200, calls: Iterable[Call] = (), **values: Any
) -> Response:
    """Return a page of the console."""
    text = _jinja.get_template(template).render(
        view=view, calls=list(calls), style=html.STYLE.address, script=SCRIPT.address, root=ROOT, **values
    )
    return Response(text, status, HEADERS, html.MEDIA_TYPE)


def render(template: str, **values: Any) -> str:
    """Return the text of a page that needs no session."""
    return _jinja.get_template(template).render(style=html.STYLE.address, root=ROOT, **values)


def money(value: Mapping[str, str] | None) -> Markup:
    """Return an amount with its currency and separators of thousands, for a column of numbers."""
    if value is None:
        return _NONE
    amount = f"{Decimal(value['amount']):,}"
    return Markup('<span class="money">{} <small>{}</small></span>').format(amount, value["currency"])


def price(value: Mapping[str, str] | None) -> Markup:
    """Return a price with what it is charged for: `12.00 USD a year`."""
    if value is None:
        return _NONE
    interval = "once" if value["interval"] == "once" else f"a {value['interval']}"
    return money(value) + Markup(" <small>{}</small>").format(interval)


@pass_context
def when(context: Context, value: str | None) -> Markup:
    """Return a time in the zone of the person: its day and distance, within a day the hour too."""
    if value is None:
        return _NONE
    at, now = datetime.fromisoformat(value), clock.now()
    here = at.astimezone(context["view"].zone)
    text = f"{written_day(here)}, {here:%H:%M}" if abs(at - now) < _DAY else written_day(here)
    return Markup('<time datetime="{}" title="{}">{} · {}</time>').format(
        value, f"{here:%Y-%m-%d %H:%M:%S %Z}", text, relative(at - now)
    )


def day(value: str | None) -> Markup:
    """Return a calendar day, or the day of a time in UTC, such as `12 Jan 2027`."""
    return _NONE if value is None else escape(written_day(datetime.fromisoformat(value)))


def month(value: str) -> str:
    """Return a month, such as `Jan 2027` for 2027-01."""
    return f"{datetime.fromisoformat(f'{value}-01'):%b %Y}"


def written_day(at: date) -> str:
    """Return a day as people read it in every country."""
    return f"{at.day} {at:%b %Y}"


_DAY = timedelta(days=1)
# Each unit up to the distance at which the next larger one is as exact as a person needs.
_UNITS = (("minute", 60, 90), ("hour", 3600, 36), ("day", 86400, 100), ("month", 30.44 * 86400, 24))
_LONGEST = ("year", 365.25 * 86400)


def relative(distance: timedelta) -> str:
    """Return a distance from now, rounded: `in 48 days`, `2 hours ago`, `just now`."""
    seconds = abs(distance.total_seconds())
    unit, size = next(((unit, size) for unit, size, most in _UNITS if round(seconds / size) < most), _LONGEST)
    number = round(seconds / size)
    if number == 0:
        return "in a moment" if distance > timedelta(0) else "just now"
    text = f"{number} {unit}{'s' * (number != 1)}"
    return f"in {text}" if distance > timedelta(0) else f"{text} ago"


def shown(value: Any) -> str:
    """Return a value as a form shows it."""
    if isinstance(value, list):
        return "\n".join(map(shown, value))
    if isinstance(value, Mapping):  # an amount, or a destination of a name
        return f"{value['amount']} {value['currency']}" if "amount" in value else str(value.get("email", ""))
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)


def named_by(items: Iterable[Mapping[str, Any]], member: str) -> Mapping[str, Any]:
    """Return a member of each item by the id of the item."""
    return {each["id"]: each[member] for each in items}


def choices(items: Iterable[Mapping[str, Any]], *names: str) -> Sequence[tuple[str, str]]:
    """Return the options of a field that names one item by its id: none, and each with these members."""
    return [("", "none chosen"), *((each["id"], " ".join(each[name] for name in names)) for each in items)]


def readers(keys: Iterable[Mapping[str, Any]]) -> Sequence[tuple[str, str]]:
    """Return the options of who reads mail: none, and each live key and connection that was not revoked."""
    live = [each for each in keys if each["revoked_at"] is None and each["key_kind"] == "live"]
    named = [(each["id"], f"{each['label']} {each['prefix'] or '(program)'}") for each in live]
    return [("", "none chosen"), *named]


def members(value: Mapping[str, Any], *names: str) -> Mapping[str, Any]:
    """Return some members of a reply."""
    return {name: value[name] for name in names}


_FOR_PROGRAMS = re.compile(r"[;,.] [^;,.]*\bnull\b[^;.]*(?=[.;]|$)", re.IGNORECASE)
_CODE = re.compile(r"`([^`]+)`")


def hint(text: str) -> Markup:
    """Return the description of a member for a person, without what it says about `null`."""
    shown = str(escape(_FOR_PROGRAMS.sub("", text)))
    return Markup(_CODE.sub(r"<code>\1</code>", shown))  # noqa: S704 - it is escaped above


def readable(name: str) -> Markup:
    """Return a domain or an address in Unicode, with its A-label as the title; as it is where there is none."""
    local, at, domain = name.rpartition("@")
    with suppress(UnicodeError):
        shown = unicode_of(domain)
        if shown != domain and find_a_label(shown) == domain:
            return Markup('<span title="{}">{}</span>').format(name, f"{local}{at}{shown}")
    return escape(name)


# The templates that others use, and the page that takes 35 ms to compile. The others take up to 15 ms.
PREPARED = (
    *(
        "charts.html",
        "deliveries_table.html",
        "front.html",
        "front_macros.html",
        "layout.html",
        "macros.html",
        "mandate.html",
        "portfolio/changes.html",
        "portfolio/file_preview.html",
        "portfolio/files.html",
    ),
    *("portfolio/domain.html", "portfolio/registrars_tabs.html"),
)
_jinja = Environment(
    loader=PackageLoader("builders.console"),
    autoescape=select_autoescape(),
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_jinja.globals |= {
    "all_columns": portfolio.ALL_COLUMNS,
    "amounts": edits.AMOUNTS,
    "clearable": edits.CLEARABLE,
    "edit_fields": edits.FIELDS,
    "statuses": [(each.value, words(each)) for each in PortfolioDomainStatus],
    "bar_chart": charts.bar_chart,
    "by_currency": charts.by_currency,
    "budget_of": amounts.budget_of,
    "column_fields": [(each, words(each)) for each in imports.COLUMN_FIELDS],
    "columns_of": portfolio.columns_of,
    "contradictions": CONTRADICTIONS,
    "date_orders": imports.DATE_ORDERS,
    "decisions": portfolio.DECISIONS,
    "decimal_marks": imports.DECIMAL_MARKS,
    "encodings": imports.ENCODINGS,
    "entry_kinds": [(each, words(each)) for each in portfolio.ENTRY_KINDS],
    "file_formats": imports.FILE_FORMATS,
    "file_jobs": files.JOBS,
    "line_chart": charts.line_chart,
    "may": portfolio.may,
    "fix_label": fixes.fix_label,
    "may_fix": fixes.may_fix,
    "may_select": fixes.may_select,
    "newest": charts.newest,
    "part_kept": portfolio.part_kept,
}
_jinja.tests |= {"money": is_money, "selectable": fixes.may_select}
_jinja.filters |= {
    "accumulated": charts.accumulated,
    "amounts": write_amounts,
    "breakable": html.breakable,
    "day": day,
    "device": device,
    "for_people": for_people,
    "line_of": sales.line_of,
    "mail_reason": of_mail_code,
    "hint": hint,
    "less": portfolio.less,
    "members": members,
    "money": money,
    "month": month,
    "choices": choices,
    "named_by": named_by,
    "place": place,
    "price": price,
    "readable": readable,
    "readers": readers,
    "said": said,
    "shown": shown,
    "state_class": state_class,
    "when": when,
    "words": words,
}
