"""The pages of a portfolio: the columns of the list of domains, and what their forms send."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any
from urllib.parse import parse_qsl, urlencode

from builders.console.amounts import as_amount, as_bound
from builders.console.calls import Api, Call, fill
from builders.console.forms import KEY, PAGE, Sent
from builders.console.notices import reason_of
from builders.kit.errors import Invalid
from builders.kit.http.internal_calls import Answer
from builders.portfolio.domains.records import DomainSort, Ownership
from builders.portfolio.ledger.records import SALE_KINDS, EntryKind
from builders.portfolio.saved_views.records import DomainColumn

DOMAINS = "/v1/portfolio/domains"
DOMAIN = f"{DOMAINS}/{{domain_id}}"
FINANCE, AUTH_CODE = f"{DOMAIN}/finance", f"{DOMAIN}/auth-code"
VIEWS = "/v1/portfolio/views"
NOTICES, CALENDAR = "/v1/portfolio/notifications", "/v1/portfolio/renewals/calendar"
BUDGET, DROP_MAX_INCOME = "budget", "drop_max_income"  # of the address of the renewals: what if
BULK, MAX_ROWS = "/v1/portfolio/renewals/bulk", 500  # of one call
COLUMNS = "columns"  # parameter of the query of the list: the names of its columns
# Parameters of the address that a saved view does not have.
_DECISION = "decision."  # before the id of a domain
_OF_A_PAGE = frozenset(("cursor", "limit"))
_PAGE = 500  # domains of one page of the list
_SORTS = frozenset(DomainSort)


DECISIONS = [("renew", "Keep"), ("drop", "Let expire"), ("undecided", "Undecided")]
ENTRY_KINDS = [each for each in EntryKind if each not in SALE_KINDS]  # a sale has members of its own


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the list of domains: a member of the reply, and how the page shows it."""

    name: str
    label: str
    kind: str  # a macro of domains.html

    @property
    def is_number(self) -> bool:
        """Return whether it is aligned as a number."""
        return self.kind in {"money", "percent", "number"}

    @property
    def is_of_money(self) -> bool:
        """Return whether only roles that see money have it."""
        return self.kind in {"money", "percent"}

    @property
    def is_sortable(self) -> bool:
        """Return whether the list can be sorted by it."""
        return self.name in _SORTS


_KINDS: Mapping[DomainColumn, tuple[str, str]] = {
    DomainColumn.STATUS: ("Status", "state"),
    DomainColumn.LIFECYCLE: ("Registration", "state"),
    DomainColumn.OWNERSHIP: ("Ownership", "word"),
    DomainColumn.REGISTRAR: ("Registrar", "text"),
    DomainColumn.FOLDER: ("Folder", "text"),
    DomainColumn.TAGS: ("Tags", "list"),
    DomainColumn.TLD: ("TLD", "text"),
    DomainColumn.EXPIRES_AT: ("Expires", "time"),
    DomainColumn.DAYS_TO_EXPIRY: ("Days left", "number"),
    DomainColumn.AUTO_RENEW: ("Auto-renew", "switch"),
    DomainColumn.LOCKED: ("Locked", "switch"),
    DomainColumn.PRIVACY: ("Privacy", "switch"),
    DomainColumn.REGISTERED_ON: ("Registered", "text"),
    DomainColumn.ACQUIRED_ON: ("Acquired", "text"),
    DomainColumn.RENEWAL_PRICE: ("Renewal price", "money"),
    DomainColumn.RENEWAL_PRICE_BASE: ("Renewal price, converted", "money"),
    DomainColumn.ESTIMATED_VALUE: ("Estimated value", "money"),
    DomainColumn.ASKING_PRICE: ("Asking price", "money"),
    DomainColumn.MIN_OFFER: ("Lowest offer", "money"),
    DomainColumn.COST: ("Cost", "money"),
    DomainColumn.INCOME: ("Income", "money"),
    DomainColumn.NET: ("Net", "money"),
    DomainColumn.ROI: ("ROI", "percent"),
    DomainColumn.PINNED: ("Pinned", "switch"),
    DomainColumn.NOTES: ("Notes", "text"),
    DomainColumn.CREATED_AT: ("Added", "time"),
    DomainColumn.UPDATED_AT: ("Changed", "time"),
}
ALL_COLUMNS = {each.value: Column(each.value, *shown) for each, shown in _KINDS.items()}
USUAL = ("status", "registrar", "expires_at", "auto_renew", "renewal_price", "net", "roi")


def columns_of(asked: str, saved: Sequence[str], *, sees_money: bool) -> Sequence[Column]:
    """Return the columns to show: those of the address, else the saved ones of the person, else the usual ones."""
    wanted = dict.fromkeys(each for each in asked.split(",") if each in ALL_COLUMNS) or saved or USUAL
    columns = [ALL_COLUMNS[each] for each in wanted if each in ALL_COLUMNS]
    return [each for each in columns if sees_money or not each.is_of_money]


async def read_pages(api: Api, query: Mapping[str, str], cursor: str | None = None) -> AsyncGenerator[Answer]:
    """Yield the pages of the list of domains; the last one may be a refusal."""
    while True:
        part = urlencode({**query, "limit": str(_PAGE), **({"cursor": cursor} if cursor else {})})
        answer = await api.send(Call("GET", f"{DOMAINS}?{part}"))
        yield answer
        if not answer.is_ok or (cursor := answer.body["next_cursor"]) is None:
            return


def may(team: Mapping[str, Any] | None, permission: str) -> bool:
    """Return whether the role of the person has a permission in the portfolio, by the reply about its team."""
    return team is not None and permission in team["roles"][team["your_role"]]


def part_kept(domain: Mapping[str, Any], sale: Mapping[str, Any] | None) -> float:
    """Return the part of a price that remains after the commission and the counterparty's share."""
    if sale is not None:
        return float((1 - (sale["commission_rate"] or 0)) * sale["own_share"])
    is_shared = domain["ownership"] != Ownership.OWNED and domain["revenue_share"] is not None
    return 1 - float(domain["revenue_share"]) / 100 if is_shared else 1.0


def less(amount: Mapping[str, str], other: Mapping[str, str]) -> Mapping[str, str]:
    """Return the difference of two amounts of one currency."""
    difference = Decimal(amount["amount"]) - Decimal(other["amount"])
    return {"amount": f"{difference:f}", "currency": amount["currency"]}


async def request_auth_code(_: Api, sent: Sent) -> Call:
    """Return the call that requests the auth code of a domain, with the reason for the audit log."""
    reason = sent.first("reason").strip()
    query = f"?{urlencode({'reason': reason})}" if reason else ""
    return Call("POST", f"{fill(AUTH_CODE, sent.path_values())}{query}", key=sent.first(KEY) or None)


async def remove_domain(_: Api, sent: Sent) -> Call:
    """Return the call that removes a domain, with its history if the form says so."""
    query = "?history=delete" if sent.first("history") else ""
    return Call("DELETE", f"{fill(DOMAIN, sent.path_values())}{query}")


async def decide_renewals(api: Api, sent: Sent) -> Call:
    """Return the call that records the decisions that differ from those of the page.

    Raise Invalid without one, and when somebody has decided since about one of the domains.
    """
    before = sent.before()
    chosen = {name: values[-1] for name, values in sent.fields.items() if name.startswith(_DECISION)}
    items = [
        {"domain_id": name.removeprefix(_DECISION), "decision": decision}
        for name, decision in chosen.items()
        if before.get(name) != decision
    ]
    if not items:
        raise Invalid(("body",), "No decision differs from what the page showed.", "nothing_decided")
    push = "true" in sent.fields.get("push_to_registrar", ())
    body: dict[str, Any] = {"items": items, "push_to_registrar": push}
    found = await api.send(Call("PATCH", BULK, {**body, "dry_run": True}))
    if found.is_ok:
        _require_shown(found.body["results"], before)
        body["digest"] = found.body["digest"]
    return Call("PATCH", BULK, body, key=sent.first(KEY) or None)


def _require_shown(rows: Sequence[Mapping[str, Any]], before: Mapping[str, str]) -> None:
    """Raise Invalid for domains whose decision is another one than the page showed."""
    found = [
        {
            "loc": ("body", row["domain"]),
            "msg": f"Somebody has decided “{dict(DECISIONS)[each['before']]}” since you opened the page.",
            "type": "decision_changed",
        }
        for row in rows
        for each in row.get("changes", ())
        if each["member"] == "decision" and each["before"] != before.get(f"{_DECISION}{row['id']}")
    ]
    if found:
        raise Invalid.many(found)


async def preview_drop(api: Api, sent: Sent) -> Call:
    """Return the call that shows which undecided domains of the what-if would expire. Raise Invalid.

    Domains with a decision keep it. Two sums can be equal while their domains differ, so the next form names each.
    """
    bound = await as_bound(api, sent.first(DROP_MAX_INCOME))
    query = [*parse_qsl(sent.first("report")), ("max_income", bound)]
    kept = [each for each in query if each[0] != "decision"]
    undecided = urlencode([*kept, ("decision", "undecided"), ("limit", str(MAX_ROWS))])
    answer = await api.send(Call("GET", f"/v1/portfolio/renewals?{undecided}"))
    if not answer.is_ok:
        raise Invalid(("body",), f"The renewals could not be read: {reason_of(answer.body)}", "renewals_unread")
    items, count = answer.body["items"], answer.body["totals"]["count"]
    if count > MAX_ROWS:
        raise Invalid(("body",), f"Narrow the filter: at most {MAX_ROWS} domains at once.", "too_many_rows")
    if not items:
        raise Invalid(("body",), "The domains have changed since. Look at the sums again.", "renewals_changed")
    domains = [each["domain_id"] for each in items]
    return Call("PATCH", BULK, {"domains": domains, "dry_run": True, "set": {"decision": "drop"}})


async def add_entry(api: Api, sent: Sent) -> Any:
    """Return the body that adds an entry to the ledger of a domain. Raise Invalid."""
    fields = ((name, sent.first(name).strip()) for name in ("kind", "occurred_on", "memo", "reference"))
    entry = {name: value for name, value in fields if value}
    amount = await as_amount(api, sent.first("amount"), field="amount")
    return {"entries_add": [{**entry, "amount": amount}]}


async def void_entry(_: Api, sent: Sent) -> Any:
    """Return the body that voids an entry."""
    return {"entries_void": [sent.first("entry_id")]}


async def save_view(api: Api, sent: Sent) -> Any:
    """Return the saved views with that of the page; it replaces one of its name. Raise Invalid."""
    query = parse_qsl(sent.first(PAGE).partition("?")[2])
    view = {
        "name": sent.first("name").strip(),
        "query": urlencode([(name, value) for name, value in query if name not in _OF_A_PAGE]),
    }
    return {"views": [*await _other_views(api, view["name"]), view]}


async def remove_view(api: Api, sent: Sent) -> Any:
    """Return the saved views without one. Raise Invalid."""
    return {"views": await _other_views(api, sent.first("name"))}


async def _other_views(api: Api, name: str) -> Sequence[Mapping[str, str]]:
    """Return the saved views of other names. Raise Invalid when they cannot be read: saving would lose them."""
    answer = await api.send(Call("GET", VIEWS))
    if not answer.is_ok:
        raise Invalid(("body", "views"), f"The views could not be read: {reason_of(answer.body)}", "views_unread")
    return [each for each in answer.body["views"] if each["name"] != name]
