"""Entries: amounts that were paid and received. They are recorded and voided, and never changed or deleted."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from datetime import date
from itertools import groupby
from uuid import UUID

from builders.kit.db.connections import Conn
from builders.kit.http.pagination import PageRequest
from builders.kit.limits import maximums
from builders.kit.pages import Page
from builders.kit.values import clock, ids
from builders.kit.values.money import Money
from builders.portfolio.ledger import currencies
from builders.portfolio.ledger.capacities import Capacity
from builders.portfolio.ledger.errors import EntryLimitReached
from builders.portfolio.ledger.records import (
    MAX_ENTRIES,
    Entry,
    EntryFilters,
    EntryKey,
    EntryKind,
    EntrySort,
    Likeness,
    NewEntry,
    PostedEntry,
    Statement,
    Totals,
    UniqueKey,
    unique_key,
)
from builders.portfolio.ledger.store import entries as store, totals

MAX_PORTFOLIO_ENTRIES = maximums.declare(
    "portfolio_entries",
    2_000_000,
    of="portfolio",
    counts="Entries of the ledger, void ones too. Concurrent processes can exceed it by a batch each.",
    code=EntryLimitReached.code,
)
CAPACITY = Capacity(store.count_up_to, MAX_PORTFOLIO_ENTRIES)


async def post_entries(conn: Conn, *, account_id: UUID, entries: Sequence[NewEntry]) -> Sequence[PostedEntry]:
    """Record entries, each converted to the base currency at the rate of its date; needs a transaction.

    An entry whose reference, charge or line of a sale is recorded is returned unchanged, also when the amount
    differs: to change an entry, void it first. An entry above the maximum of its domain or of the portfolio is
    refused. Return one for each given entry, in their order.

    The caller holds the locks of the domains or, exclusively, that of the base currency: then the number of the
    entries of a domain does not change meanwhile.
    """
    base_currency = await currencies.lock_base_currency(conn, account_id=account_id)
    refused = await _list_refused(conn, account_id=account_id, entries=entries)
    posted = {at: PostedEntry(entry=None, is_new=False) for at in refused}
    while missing := [at for at in range(len(entries)) if at not in posted]:
        given = [entries[at] for at in missing]
        inserted = await store.insert_entries(
            conn, account_id=account_id, base_currency=base_currency, entries=given, now=clock.now()
        )
        posted |= {
            at: PostedEntry(entry=entry, is_new=True)
            for at, entry in zip(missing, inserted, strict=True)
            if entry is not None
        }
        if len(posted) < len(entries):
            # An entry that is voided between the two statements is in neither, and is recorded again.
            existing = await _find_existing(conn, account_id=account_id, entries=given)
            posted = {
                at: PostedEntry(entry=existing[key], is_new=False)
                for at, key in ((at, unique_key(entries[at])) for at in missing)
                if key in existing
            } | posted
    return [posted[at] for at in range(len(entries))]


async def _list_refused(conn: Conn, *, account_id: UUID, entries: Sequence[NewEntry]) -> Collection[int]:
    """Return the indexes of the entries that their domains or the portfolio cannot hold."""
    capacity = await list_capacity(conn, account_id=account_id, domain_ids={each.domain_id for each in entries})
    counts = Counter(each.domain_id for each in entries)
    free = await CAPACITY.take(conn, account_id=account_id, rows=len(entries))
    if free == len(entries) and all(count <= capacity[domain_id] for domain_id, count in counts.items()):
        return ()
    known = {*await _find_existing(conn, account_id=account_id, entries=entries)}
    refused: set[int] = set()
    for at, entry in enumerate(entries):
        key = unique_key(entry)
        if key is not None and key in known:
            continue
        if capacity[entry.domain_id] == 0 or free == 0:
            refused.add(at)
        else:
            capacity[entry.domain_id] -= 1
            free -= 1
            known.add(key)
    return refused


async def list_capacity(conn: Conn, *, account_id: UUID, domain_ids: Collection[UUID]) -> dict[UUID, int]:
    """Return how many entries can be added to each of the domains; in one statement."""
    counts = await store.count_entries(conn, account_id=account_id, domain_ids=domain_ids)
    return {each: max(MAX_ENTRIES - counts.get(each, 0), 0) for each in domain_ids}


def require_recorded(posted: PostedEntry) -> Entry:
    """Return the entry. Raise EntryLimitReached when it was refused."""
    if posted.entry is None:
        raise EntryLimitReached
    return posted.entry


async def _find_existing(
    conn: Conn, *, account_id: UUID, entries: Sequence[NewEntry]
) -> Mapping[UniqueKey | None, Entry]:
    found = await store.list_present(conn, account_id=account_id, entries=entries)
    # An entry of a charge or a sale has no reference, so that its key is the one that it was found by.
    return {unique_key(each): each for each in found}


async def void_entries(
    conn: Conn,
    *,
    account_id: UUID,
    ids: Sequence[UUID] = (),
    domain_ids: Sequence[UUID] = (),
    reason: str,
    voided_by: UUID | None = None,
) -> Sequence[UUID]:
    """Void entries, or all of domains: they count in no total. Return those that were not void before."""
    return await store.void_entries(
        conn,
        account_id=account_id,
        ids=ids,
        domain_ids=domain_ids,
        reason=reason,
        voided_by=voided_by,
        now=clock.now(),
    )


async def list_entries_by_domain(
    conn: Conn, *, account_id: UUID, domain_ids: Sequence[UUID]
) -> Mapping[UUID, Sequence[Entry]]:
    """Return the entries of domains, void ones too, each domain's by date; in one statement."""
    found = await store.list_entries_of(conn, account_id=account_id, domain_ids=domain_ids)
    by_domain = groupby(found, key=lambda each: each.domain_id)
    return {domain_id: list(entries) for domain_id, entries in by_domain}


async def list_entries(
    conn: Conn,
    *,
    account_id: UUID,
    domain_id: UUID | None,
    filters: EntryFilters,
    sort: EntrySort,
    page: PageRequest,
) -> Page[Entry]:
    """Return a page of the entries of a domain, or of a portfolio for None, by day."""
    first = (date.max, ids.LAST) if sort is EntrySort.DAY_DESC else (date.min, ids.NIL)
    day, after = page.position(date.fromisoformat, UUID) or first
    found = await store.list_page(
        conn,
        account_id=account_id,
        domain_id=domain_id,
        filters=filters,
        sort=sort,
        position=(day, after),
        limit=page.limit + 1,
    )
    return page.cut(found, lambda each: (each.occurred_on.isoformat(), str(each.id)))


async def count_entries(conn: Conn, *, account_id: UUID, domain_id: UUID | None, filters: EntryFilters) -> int:
    """Return the number of entries of a domain, or of a portfolio, that a list with these filters has."""
    return await store.count_listed(conn, account_id=account_id, domain_id=domain_id, filters=filters)


async def list_totals(
    conn: Conn, *, account_id: UUID, domain_ids: Sequence[UUID], today: date
) -> Mapping[UUID, Totals]:
    """Return the totals of each of the domains, in the base currency; in one statement.

    They are those of its finance: of the entries up to today in the present holding period.
    """
    return await totals.list_totals(conn, account_id=account_id, domain_ids=domain_ids, today=today)


async def list_kind_sums(
    conn: Conn, *, account_id: UUID, domain_id: UUID, limit: int
) -> Sequence[tuple[EntryKind, Money]]:
    """Return the sums of the entries of a domain by kind and currency, the first ones; void ones excluded."""
    found = await store.sum_by_kind(conn, account_id=account_id, domain_id=domain_id, limit=limit)
    return [(EntryKind(kind), Money(amount, currency)) for kind, currency, amount in found]


async def get_statement(
    conn: Conn,
    *,
    account_id: UUID,
    domain_id: UUID,
    prices: Sequence[Money | None],
    on: date,
    currency: str | None = None,
) -> Statement:
    """Return the entries of a domain, and prices at the rates of a day, in one statement.

    Both are in the base currency, or in `currency`: then at the rate of each entry's date. Raise Invalid for a
    currency without exchange rates.
    """
    statement = await store.get_statement(
        conn, account_id=account_id, domain_id=domain_id, currency=currency, prices=prices, on=on
    )
    if currency is not None and not statement.is_quoted:
        raise currencies.unquoted(currency, ("query", "base_currency"))
    return statement


async def list_last_renewals(conn: Conn, *, account_id: UUID, domain_ids: Sequence[UUID]) -> Mapping[UUID, Money]:
    """Return the price of a year of the last renewal, for each renewed domain."""
    if not domain_ids:
        return {}
    found = await store.list_last_renewals(conn, account_id=account_id, domain_ids=domain_ids)
    return {domain_id: Money(amount / years, currency).quantized() for domain_id, amount, currency, years in found}


async def count_same(conn: Conn, *, account_id: UUID, entries: Sequence[NewEntry]) -> Counter[EntryKey]:
    """Return how many present entries, from any source, are the same as new ones; in one statement."""
    return await store.count_same(conn, account_id=account_id, entries=entries)


async def list_like(
    conn: Conn, *, account_id: UUID, entries: Sequence[NewEntry], likeness: Likeness
) -> Sequence[Entry]:
    """Return the entries that are like new ones and not void, in one statement: of many, the closest."""
    return (
        await store.list_like(conn, account_id=account_id, entries=entries, likeness=likeness) if entries else ()
    )
