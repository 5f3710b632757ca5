"""The menu of the console: its pages in groups, those of a space, and where the person is."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from builders.console import pages
from builders.console.spaces import Space


class Item(NamedTuple):
    """A page of the menu."""

    page: str  # below the first page of the space
    label: str
    also: Sequence[str] = ()  # begins of the paths that belong to it besides its own


class Entry(NamedTuple):
    """A page of the menu as one page shows it."""

    address: str
    label: str
    current: str  # of `aria-current`: "page", "true" for a page below it, "" otherwise


class Group(NamedTuple):
    """Pages of the menu under one title; no title: a page that stands alone."""

    title: str
    entries: Sequence[Entry]

    @property
    def is_here(self) -> bool:
        """Return whether the person is in the group."""
        return any(each.current for each in self.entries)


_MENU = {
    "": (Item(pages.INBOX, "Inbox", ("search",)),),
    "Names": (
        Item("names", "Names", ("claim", "mail")),
        Item("plans", "Plans", ("promotions",)),
        Item("domains", "Domains"),
        Item("projects", "Projects"),
        Item("invoices", "Invoices"),
    ),
    "Portfolio": (
        Item("portfolio", "Summary"),
        Item("portfolio/domains", "Domains", ("portfolio/history", "portfolio/remove", "portfolio/sale")),
        Item("portfolio/renewals", "Renewals"),
        Item("portfolio/parking", "Parking"),
        Item("portfolio/registrars", "Registrars", ("portfolio/runs", "portfolio/connect")),
        Item("portfolio/import", "Import", ("portfolio/imports",)),
        Item("portfolio/notices", "Notices"),
    ),
    "Developers": (
        Item("keys", "Keys"),
        Item("connections", "Connections", ("connect", "device")),
        Item("webhooks", "Webhooks"),
        Item("deliveries", "Deliveries"),
        Item("events", "Events"),
    ),
    "Account": (
        Item("account", "Account", ("emails", "erasure", "exports")),
        Item("team", "Team"),
        Item("approval", "Approval"),
        Item("billing", "Billing"),
        Item("sessions", "Sessions"),
        Item("audit", "Audit log"),
    ),
}


def menu(space: Space, path: str) -> Sequence[Group]:
    """Return the menu of a space as the page of a path shows it; a team has the pages that its members open."""
    shown = {
        title: [each for each in items if space.owner is None or pages.find(each.page)[0].for_teams]
        for title, items in _MENU.items()
    }
    begins = [begin for items in shown.values() for each in items for begin in _begins(each)]
    here = max((each for each in begins if _is_below(path, each)), key=len, default=None)
    return [
        Group(title, [Entry(space.link(each.page), each.label, _current(each, path, here)) for each in items])
        for title, items in shown.items()
        if items
    ]


def _begins(item: Item) -> Iterator[str]:
    yield item.page
    yield from item.also


def _is_below(path: str, begin: str) -> bool:
    return path == begin or (begin != "" and path.startswith(f"{begin}/"))


def _current(item: Item, path: str, here: str | None) -> str:
    if here is None or here not in _begins(item):
        return ""
    return "page" if path == item.page else "true"
