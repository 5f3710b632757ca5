"""Forwarding of mail: loops between aliases, and the map of names for a mail server.

Loops: aliases that forward to each other, so that mail never arrives. Two changes, each without a loop, can
together form one. A transaction that changes destinations therefore locks the account's routes first, changes
them, checks for loops, and keeps the lock until the commit. All other locks of the package (skeletons, manifests,
aliases, destinations) come later, which excludes deadlocks. Reading takes no lock.

A loop can lead through other accounts: if two accounts forward to each other, the second change could stop the
mail of the first account. Only if a route leaves the account, a second lock is taken, the same for all accounts
and always last: its holder waits only for changes of its own account, and they wait for it already.

The map: all names, or those that changed since the last request of the mail server, in the format of Postfix.
Changes are listed by the transaction that made them, and not by a serial number alone: a transaction with an
earlier serial can commit later, and a reader that continues after the greatest serial it saw would miss it. So a
list of changes ends before the oldest open transaction (the horizon), where the next list starts.

A domain gives all spellings of a name one key, but Postfix compares texts (postconf virtual_alias_maps). So the
map has the key and the claimed spelling, and a second table removes the separators that the domain ignores
(pipemap).
"""

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from functools import partial
from graphlib import CycleError, TopologicalSorter
from uuid import UUID

from builders.aliases.errors import SerialAhead
from builders.aliases.records import LIVE, MAX_LOCAL_PART, Alias, MapEntry, Name, SeparatorPolicy
from builders.aliases.rules import key, normalize
from builders.aliases.store import aliases as store
from builders.identity import accounts
from builders.kit.db.connections import Conn, Database
from builders.kit.values.ids import NIL

PAGE = 1_000
IGNORED = {SeparatorPolicy.IGNORE_DOTS: ".", SeparatorPolicy.IGNORE_ALL: "._-"}
MOST_SEPARATORS = (MAX_LOCAL_PART - 1) // 2  # each is between two other characters
DOMAINS_OF_BLOCK = 50

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
    query = partial(
        store.list_forwarded, conn, realm=realm, account_id=account_id, names=names, alias_ids=alias_ids
    )
    found, is_own = await query()
    if lock and not is_own:
        await store.lock_routes_between(conn)
        found, _ = await query()
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


async def get_horizon(conn: Conn, *, since: int) -> int:
    """Return where a list of changes ends now, and the next one starts. Raise SerialAhead."""
    horizon = await store.get_horizon(conn)
    if since > horizon:
        raise SerialAhead(
            f"Serial {since} belongs to another database: the latest serial of this database is {horizon}.",
            next_action="Start again with --since 0.",
        )
    return horizon


def list_map_entries(database: Database, *, page_size: int = PAGE) -> AsyncIterator[MapEntry]:
    """Yield every live active name; reads pages, so that memory does not grow with the names."""

    def read(conn: Conn, last: MapEntry | None) -> Awaitable[Sequence[MapEntry]]:
        after = (last.account_id, last.id) if last else (NIL, NIL)
        return store.list_active(conn, after=after, limit=page_size)

    return _live_entries(database, read, page_size)


def list_map_changes(
    database: Database, *, since: int, horizon: int, page_size: int = PAGE
) -> AsyncIterator[MapEntry]:
    """Yield the live names that changed from `since` until before the horizon, in the sequence of the changes."""

    def read(conn: Conn, last: MapEntry | None) -> Awaitable[Sequence[MapEntry]]:
        after = (last.changed_in, last.serial) if last else (str(since), -1)
        return store.list_changed(conn, after=after, horizon=horizon, limit=page_size)

    return _live_entries(database, read, page_size)


async def _live_entries(
    database: Database, read: Callable[[Conn, MapEntry | None], Awaitable[Sequence[MapEntry]]], page_size: int
) -> AsyncIterator[MapEntry]:
    """Yield the entries of all pages, without those of sandbox accounts."""
    page: Sequence[MapEntry] = ()
    while not page or len(page) == page_size:
        async with database.connection() as conn:
            page = await read(conn, page[-1] if page else None)
            owners = {each.account_id for each in page}
            real = await accounts.load_real_accounts(conn, account_ids=owners)
        if not page:
            return
        for entry in page:
            if real.get(entry.account_id) == entry.account_id:
                yield entry


def format_map_entry(entry: MapEntry) -> Iterator[str]:
    """Yield lines of virtual_alias_maps; none for a name without destinations."""
    if entry.destinations:
        for spelling in sorted({entry.key, entry.local_part}):
            yield f"{spelling}@{entry.domain} {', '.join(entry.destinations)}"


def format_spelling_rules(policy: SeparatorPolicy, domains: Sequence[str]) -> Iterator[str]:
    """Yield the pcre table for domains of one policy: a rule for each number of ignored separators."""
    ignored = IGNORED.get(policy)
    if ignored is None:
        return
    for at in range(0, len(domains), DOMAINS_OF_BLOCK):
        some = "|".join(map(re.escape, domains[at : at + DOMAINS_OF_BLOCK]))
        yield f"if /@(?:{some})$/"
        part = f"([^@+{ignored}]+)"
        for count in range(1, MOST_SEPARATORS + 1):  # that the rule removes; a `+` tag is not part of the name
            name = f"[{ignored}]".join([part] * (count + 1))
            kept = "".join(f"${{{at}}}" for at in range(1, count + 2))
            yield rf"/^{name}(?:\+[^@]*)?(@[^@]+)$/ {kept}${{{count + 2}}}"
        yield "endif"


async def lock_routes(conn: Conn, *, account_id: UUID) -> None:
    """Block other changes of the account's destinations until the transaction ends."""
    await store.lock_routes(conn, account_id=account_id)


async def list_live_domains(conn: Conn) -> Sequence[str]:
    """Return every domain with a live name."""
    return await store.list_live_domains(conn)
