"""Forwarding loops: aliases that forward to each other, so that mail never arrives.

Two changes, each without a loop, can together form one. A transaction that changes destinations therefore locks
the account's routes first, changes them, checks for loops, and keeps the lock until the commit. All other locks of
the package (skeletons, manifests, aliases, destinations) come later, which excludes deadlocks. Reading takes no
lock.

A loop can lead through other accounts: if two accounts forward to each other, the second change could stop the
mail of the first account. Only if a route leaves the account, a second lock is taken, the same for all accounts
and always last: its holder waits only for changes of its own account, and they wait for it already.
"""

from collections.abc import Container, Iterator, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from uuid import UUID

from builders.aliases.local_parts import key, normalize
from builders.aliases.records import LIVE, Alias, Name, SeparatorPolicy
from builders.aliases.store import queries as store
from builders.kit.db.connections import Conn

Routes = Mapping[Name, Sequence[Name]]  # from a name to the names that it forwards to


async def list_forwarded(
    conn: Conn, *, realm: UUID = LIVE, account_id: UUID, names: Sequence[Name] = (), alias_ids: Sequence[UUID] = ()
) -> list[Alias]:
    """Return the aliases with these names or ids, and all aliases that they forward to, even indirectly.

    The result contains aliases of other accounts: it may only be used to find loops, and must not be shown.
    """
    found = await store.list_forwarded(conn, realm=realm, account_id=account_id, names=names, alias_ids=alias_ids)
    return [each.alias for each in found]


async def lock_forwarded(
    conn: Conn, *, realm: UUID = LIVE, account_id: UUID, names: Sequence[Name] = (), alias_ids: Sequence[UUID] = ()
) -> list[Alias]:
    """Return the aliases of `list_forwarded`, and block changes of their routes; call `lock_routes` before."""
    found = await store.list_forwarded(conn, realm=realm, account_id=account_id, names=names, alias_ids=alias_ids)
    if not all(each.is_own for each in found):
        await store.lock_routes_between(conn)
        found = await store.list_forwarded(
            conn, realm=realm, account_id=account_id, names=names, alias_ids=alias_ids
        )
    return [each.alias for each in found]


def find_looping_names(routes: Routes) -> set[Name]:
    """Return the names whose mail enters a loop: those that remain when all routes that end are removed."""
    sorter = TopologicalSorter(routes)
    try:
        sorter.prepare()
    except CycleError:
        pass  # the sorter still returns the names that lead into no cycle
    else:
        return set()
    found = {name for name, targets in routes.items() if targets}
    while sorter.is_active() and (ends := sorter.get_ready()):
        found.difference_update(ends)
        sorter.done(*ends)
    return found


def map_routes(aliases: Sequence[Alias]) -> Routes:
    """Return the routes between aliases.

    The separator policy of a domain is not known here. A destination means an alias if it has the alias's key
    under a policy that gives the alias its key.
    """
    by_name = {alias.name: alias for alias in aliases}
    domains = {alias.domain for alias in aliases}
    return {alias.name: tuple(_targets(alias, by_name, domains)) for alias in aliases}


def _targets(alias: Alias, by_name: Mapping[Name, Alias], domains: Container[str]) -> Iterator[Name]:
    for destination in alias.destinations:
        if destination.rpartition("@")[2] not in domains:
            continue
        for name in sorted(list_spellings(destination)):
            target = by_name.get(name)
            if target is not None and is_address_of(destination, target):
                yield name


def list_spellings(destination: str) -> set[Name]:
    """Return the names that an address can mean, one per separator policy; a `+` tag does not count."""
    local_part, _, domain = destination.rpartition("@")
    written = normalize(local_part.partition("+")[0])
    return {Name(domain, key(written, policy)) for policy in SeparatorPolicy} if written else set()


def is_address_of(destination: str, alias: Alias) -> bool:
    """Return whether an address can mean the alias."""
    local_part, _, domain = destination.rpartition("@")
    written = normalize(local_part.partition("+")[0])
    return domain == alias.domain and any(
        key(written, policy) == alias.key
        for policy in SeparatorPolicy
        if key(alias.local_part, policy) == alias.key
    )
