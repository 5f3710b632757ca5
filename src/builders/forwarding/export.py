"""Files for a mail server that does not ask: all names, or those that changed, in the format of Postfix.

Changes are listed by the transaction that made them, and not by a serial number alone: a transaction with an
earlier serial can commit later, and a reader that continues after the greatest serial it saw would miss it. So a
list of changes ends before the oldest open transaction (the horizon), where the next list starts.

A domain gives all spellings of a name one key, but Postfix compares texts (postconf virtual_alias_maps). So the
map has the key and the claimed spelling, and a second table removes the separators that the domain ignores
(pipemap).
"""

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterator, Sequence
from uuid import UUID

from builders.aliases import lookups
from builders.aliases.errors import SerialAhead
from builders.aliases.records import MAX_LOCAL_PART, Name, SeparatorPolicy
from builders.forwarding import store
from builders.forwarding.records import MapEntry
from builders.kit.db.connections import Conn, Database
from builders.kit.values import clock
from builders.kit.values.ids import NIL

PAGE = 1_000
IGNORED = {SeparatorPolicy.IGNORE_DOTS: ".", SeparatorPolicy.IGNORE_ALL: "._-"}
MOST_SEPARATORS = (MAX_LOCAL_PART - 1) // 2  # each is between two other characters
DOMAINS_OF_BLOCK = 50


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
        account_id, alias_id = (last.account_id, last.id) if last else (NIL, NIL)
        return store.list_active(
            conn, after_account=account_id, after_id=alias_id, now=clock.now(), limit=page_size
        )

    return _read_pages(database, read, page_size)


def list_map_changes(
    database: Database, *, since: int, horizon: int, page_size: int = PAGE
) -> AsyncIterator[MapEntry]:
    """Yield the live names that changed from `since` until before the horizon, in the sequence of the changes."""

    def read(conn: Conn, last: MapEntry | None) -> Awaitable[Sequence[MapEntry]]:
        change, serial = (last.changed_in, last.serial) if last else (str(since), -1)
        return store.list_changed(
            conn, after_change=change, after_serial=serial, horizon=str(horizon), now=clock.now(), limit=page_size
        )

    return _read_pages(database, read, page_size, list_obsolete=_list_obsolete)


async def _list_obsolete(conn: Conn, page: Sequence[MapEntry]) -> Collection[UUID]:
    """Return the aliases whose names others have: an entry of them would remove the entry of the other one."""
    holders = await lookups.map_claimed(conn, names={Name(each.domain, each.key) for each in page})
    return {each.id for each in page if holders.get(Name(each.domain, each.key), each.id) != each.id}


async def _read_none(conn: Conn, page: Sequence[MapEntry]) -> Collection[UUID]:  # noqa: ARG001 - as the other one
    return ()


async def _read_pages(
    database: Database,
    read: Callable[[Conn, MapEntry | None], Awaitable[Sequence[MapEntry]]],
    page_size: int,
    list_obsolete: Callable[[Conn, Sequence[MapEntry]], Awaitable[Collection[UUID]]] = _read_none,
) -> AsyncIterator[MapEntry]:
    page: Sequence[MapEntry] = ()
    while not page or len(page) == page_size:
        async with database.connection() as conn:
            page = await read(conn, page[-1] if page else None)
            if not page:
                return
            obsolete = await list_obsolete(conn, page)
        for entry in page:
            if entry.id not in obsolete:
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
