"""The map of a mail server: all names, or those that changed since its last request, in the format of Postfix.

Changes are listed by the transaction that made them, and not by a serial number alone: a transaction with an
earlier serial can commit later, and a reader that continues after the greatest serial it saw would miss it. So a
list of changes ends before the oldest open transaction (the horizon), where the next list starts.

A domain gives all spellings of a name one key, but Postfix compares texts (postconf virtual_alias_maps). So the
map has the key and the claimed spelling, and a second table removes the separators that the domain ignores
(pipemap).
"""

import re
from collections.abc import AsyncIterator, Iterator, Sequence
from uuid import UUID

from builders.aliases.errors import SerialAhead
from builders.aliases.records import MAX_LOCAL_PART, SeparatorPolicy
from builders.aliases.store import queries as store
from builders.aliases.store.queries import MapEntry
from builders.identity import service as identity
from builders.kit.db.connections import Conn, Database

PAGE = 1_000
IGNORED = {SeparatorPolicy.IGNORE_DOTS: ".", SeparatorPolicy.IGNORE_ALL: "._-"}
MOST_SEPARATORS = (MAX_LOCAL_PART - 1) // 2  # each is between two other characters
DOMAINS_OF_BLOCK = 50


async def get_horizon(conn: Conn, *, since: int) -> int:
    """Return where a list of changes ends now, and the next one starts. Raises SerialAhead."""
    horizon = await store.get_horizon(conn)
    if since > horizon:
        raise SerialAhead(
            f"Serial {since} is of another database: this one is at {horizon}.",
            next_action="Start again with --since 0.",
        )
    return horizon


async def list_map_entries(database: Database, *, page_size: int = PAGE) -> AsyncIterator[MapEntry]:
    """Yield every live active name; reads pages, so that memory does not grow with the names."""
    account_id = alias_id = UUID(int=0)
    page: Sequence[MapEntry] = ()
    while not page or len(page) == page_size:
        async with database.connection() as conn:
            page = await store.list_active(conn, after=(account_id, alias_id), limit=page_size)
            live = await _live(conn, page)
        for entry in live:
            yield entry
        if not page:
            return
        account_id, alias_id = page[-1].account_id, page[-1].id


async def list_map_changes(
    database: Database, *, since: int, horizon: int, page_size: int = PAGE
) -> AsyncIterator[MapEntry]:
    """Yield the live names that changed from `since` until before the horizon, in the sequence of the changes."""
    after = (str(since), -1)
    page: Sequence[MapEntry] = ()
    while not page or len(page) == page_size:
        async with database.connection() as conn:
            page = await store.list_changed(conn, after=after, horizon=horizon, limit=page_size)
            live = await _live(conn, page)
        for entry in live:
            yield entry
        if not page:
            return
        after = (page[-1].changed_in, page[-1].serial)


async def _live(conn: Conn, page: Sequence[MapEntry]) -> Sequence[MapEntry]:
    """Return the entries without those of sandbox accounts."""
    owners = {each.account_id for each in page}
    real = await identity.find_real_accounts(conn, account_ids=owners)
    return [each for each in page if real.get(each.account_id) == each.account_id]


def format_map_entry(entry: MapEntry) -> Iterator[str]:
    """Yield lines of virtual_alias_maps; none for a name without destinations."""
    if entry.destinations:
        for spelling in sorted({entry.key, entry.local_part}):
            yield f"{spelling}@{entry.domain} {', '.join(entry.destinations)}"


def format_domain(domain: str) -> str:
    """Return the line by which Postfix accepts mail for the domain (virtual_alias_domains)."""
    return f"{domain} {domain}"


def format_spelling_rules(policy: SeparatorPolicy, domains: Sequence[str]) -> Iterator[str]:
    """Yield the pcre table for domains of one policy: a rule for each number of ignored separators."""
    ignored = IGNORED.get(policy)
    if ignored is None:
        return
    for at in range(0, len(domains), DOMAINS_OF_BLOCK):
        some = "|".join(map(re.escape, domains[at : at + DOMAINS_OF_BLOCK]))
        yield f"if /@(?:{some})$/"
        for count in range(1, MOST_SEPARATORS + 1):
            yield _rule(ignored, count)
        yield "endif"


def _rule(ignored: str, count: int) -> str:
    """Return the rule that removes so many separators; a `+` tag is not part of the name."""
    part = f"([^@+{ignored}]+)"
    name = f"[{ignored}]".join([part] * (count + 1))
    kept = "".join(f"${{{at}}}" for at in range(1, count + 2))
    return rf"/^{name}(?:\+[^@]*)?(@[^@]+)$/ {kept}${{{count + 2}}}"
