"""Filters of the destinations that get an event, on top of their subscriptions.

A package above this one registers a filter for events that it publishes. An account that the filter leaves out has
its events delivered to every destination that subscribes to them.
"""

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from uuid import UUID

from builders.kit.db.connections import Conn

# Returns the only destinations of an account, for those of the accounts that have a selection.
DestinationFilter = Callable[[Conn, Collection[UUID]], Awaitable[Mapping[UUID, Collection[UUID]]]]
_filters: dict[str, DestinationFilter] = {}  # by event name


def filter_destinations(*events: str) -> Callable[[DestinationFilter], DestinationFilter]:
    """Register the decorated function as the filter of events. Raise ValueError if one has another filter."""

    def register(function: DestinationFilter) -> DestinationFilter:
        for name in events:
            if _filters.setdefault(name, function) is not function:
                raise ValueError(f"the event {name} has another filter")
        return function

    return register


async def list_selected(
    conn: Conn, events: Iterable[tuple[UUID, str]]
) -> Mapping[tuple[UUID, str], Collection[UUID]]:
    """Return the only destinations of events, by account and event name; one that is left out has no filter."""
    accounts: dict[DestinationFilter, set[tuple[UUID, str]]] = {}
    for account_id, name in events:
        if name in _filters:
            accounts.setdefault(_filters[name], set()).add((account_id, name))
    found: dict[tuple[UUID, str], Collection[UUID]] = {}
    for function, keys in accounts.items():
        selected = await function(conn, {account_id for account_id, _ in keys})
        found |= {key: selected[key[0]] for key in keys if key[0] in selected}
    return found
