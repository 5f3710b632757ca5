"""Loops of forwarding: aliases that forward to each other, so that mail never arrives.

Two changes, each without a loop, can together form one. A transaction that changes destinations therefore locks
the account's routes first, changes them, checks for loops, and keeps the lock until the commit. All other locks of
the package (skeletons, manifests, aliases, destinations) come later, which excludes deadlocks. Reading takes no
lock.

A loop can lead through other accounts: if two accounts forward to each other, the second change could stop the
mail of the first account. Only if a route leaves the account, a second lock is taken, the same for all accounts
and always last: its holder waits only for changes of its own account, and they wait for it already.
"""

from collections.abc import Collection, Mapping, Sequence, Set as AbstractSet
from graphlib import CycleError, TopologicalSorter
from uuid import UUID

from builders.aliases.records import LIVE, Alias, Name, SeparatorPolicy
from builders.aliases.rules import key, normalize
from builders.aliases.store import aliases as store, names as name_store
from builders.kit.db.connections import Conn

Routes = Mapping[Name, Sequence[Name]]  # from a name to the names that it forwards to


async def list_forwarded(
    conn: Conn,
    *,
    realm: UUID = LIVE,
    account_id: UUID,
    names: Sequence[Name] = (),
    alias_ids: Sequence[UUID] = (),
    lock: bool = False,
) -> list[Alias]:
    """Return the aliases with these names or ids, and all aliases that they forward to, even indirectly.

    The result contains aliases of other accounts: it may only be used to find loops, and must not be shown. With
    `lock`, their routes do not change until the transaction ends; call `lock_routes` before.
    """
    if not names and not alias_ids:
        return []
    ahead = {(account_id, each) for each in alias_ids}
    found = await _follow(conn, realm, ahead, names)
    if lock and any(owner != account_id for owner, _ in found):
        await store.lock_routes_between(conn)
        found = await _follow(conn, realm, ahead, names)
    return [alias for _, alias in found]


async def _follow(
    conn: Conn, realm: UUID, ahead: AbstractSet[tuple[UUID, UUID]], names: Collection[Name]
) -> list[tuple[UUID, Alias]]:
    """Return aliases with their accounts: those ahead, those with the names, and all that they forward to.

    Which separators a domain ignores is not known here. So it can find aliases that a destination does not mean.
    """
    found: list[tuple[UUID, Alias]] = []
    seen: set[tuple[UUID, UUID]] = set()
    known: set[Name] = set()
    while ahead or names:
        if names:
            domains, keys = zip(*sorted(names), strict=True)
            ahead = ahead | await name_store.list_claimed(conn, realm=realm, domains=domains, keys=keys)
        known |= set(names)
        ahead, names = ahead - seen, ()
        if ahead:
            account_ids, alias_ids = zip(*sorted(ahead), strict=True)
            new = await store.list_by_ids(conn, account_ids=set(account_ids), alias_ids=alias_ids)
            found, seen = found + new, seen | ahead
            emails = {email for _, alias in new for email in alias.destinations}
            names = {name for email in emails for name in list_spellings(email)} - known
        ahead = set()
    return found


def list_looping_names(routes: Routes) -> set[Name]:
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

    The separator policy of a domain is unknown. A destination refers to an alias if both have the same key under a
    policy that produces the alias's key.
    """
    by_name = {alias.name: alias for alias in aliases}
    domains = {alias.domain for alias in aliases}
    return {
        alias.name: tuple(
            name
            for destination in alias.destinations
            if destination.rpartition("@")[2] in domains
            for name in sorted(list_spellings(destination))
            if name in by_name and _is_address_of(destination, by_name[name])
        )
        for alias in aliases
    }


def list_spellings(destination: str) -> set[Name]:
    """Return the names that an address can mean, one per separator policy; a `+` tag does not count."""
    local_part, _, domain = destination.rpartition("@")
    written = normalize(local_part.partition("+")[0])
    return {Name(domain, key(written, policy)) for policy in SeparatorPolicy} if written else set()


def _is_address_of(destination: str, alias: Alias) -> bool:
    """Return whether an address on the alias's domain can mean it: by a policy that produces its key."""
    written = normalize(destination.rpartition("@")[0].partition("+")[0])
    return any(
        key(written, policy) == alias.key
        for policy in SeparatorPolicy
        if key(alias.local_part, policy) == alias.key
    )


async def lock_routes(conn: Conn, *, account_id: UUID) -> None:
    """Block other changes of the account's destinations until the transaction ends."""
    await store.lock_routes(conn, account_id=account_id)
