"""The pages of a portfolio: the columns of the list of domains, and what their forms send."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, urlencode

from builders.console.calls import Api, Call
from builders.console.forms import PAGE, Sent, as_amount
from builders.kit.errors import Invalid
from builders.portfolio.domains.records import DomainSort
from builders.portfolio.ledger.records import SALE_KINDS, EntryKind
from builders.portfolio.saved_views.records import DomainColumn

FINANCE = "/v1/portfolio/domains/{domain_id}/finance"
VIEWS = "/v1/portfolio/views"
COLUMNS = "columns"  # parameter of the query of the list: the names of its columns
# Parameters of the address that a saved view does not have.
_OF_A_PAGE = frozenset(("cursor", "limit"))
_SORTS = frozenset(DomainSort)


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
    wanted = [each for each in asked.split(",") if each in ALL_COLUMNS] or saved or USUAL
    columns = [ALL_COLUMNS[each] for each in wanted if each in ALL_COLUMNS]
    return [each for each in columns if sees_money or not each.is_of_money]


async def add_entry(_: Api, sent: Sent) -> Any:
    """Return the body that adds an entry to the ledger of a domain."""
    fields = ((name, sent.first(name).strip()) for name in ("kind", "occurred_on", "memo", "reference"))
    entry = {name: value for name, value in fields if value}
    return {"entries_add": [{**entry, "amount": as_amount(sent.first("amount"))}]}


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
        raise Invalid(("body", "views"), f"The views could not be read: {answer.body['detail']}", "views_unread")
    return [each for each in answer.body["views"] if each["name"] != name]
