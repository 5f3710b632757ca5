"""What many domains cost and earned, for reports: each in one statement."""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import date
from decimal import Decimal
from typing import TypeAlias
from uuid import UUID

from builders.kit.db.connections import Conn
from builders.kit.values.money import Money
from builders.portfolio.ledger.likeness import Likeness
from builders.portfolio.ledger.records import Entry, EntryKind, KindTotal, NewEntry
from builders.portfolio.ledger.store import holdings as store

EntryKey: TypeAlias = tuple[UUID, EntryKind, date, Decimal, str]  # domain, kind, day, amount and currency
MAX_LIKE = 20_000  # entries that are compared with those of a batch


async def list_kind_totals(
    conn: Conn, *, account_id: UUID, domain_ids: Sequence[UUID], since: date, until: date
) -> Sequence[KindTotal]:
    """Return the sums of the entries of domains by kind and source, up to a day and of the time after `since`.

    In the base currency. Entries without an exchange rate are in no sum.
    """
    return await store.list_kind_totals(
        conn, account_id=account_id, domain_ids=domain_ids, since=since, until=until
    )


async def list_last_renewals(conn: Conn, *, account_id: UUID, domain_ids: Sequence[UUID]) -> Mapping[UUID, Money]:
    """Return the price of a year of the last renewal, for each renewed domain."""
    if not domain_ids:
        return {}
    found = await store.list_last_renewals(conn, account_id=account_id, domain_ids=domain_ids)
    return {domain_id: Money(amount / years, currency).quantized() for domain_id, amount, currency, years in found}


async def list_last_sales(conn: Conn, *, account_id: UUID, domain_ids: Sequence[UUID]) -> Mapping[UUID, date]:
    """Return the day of the last sale of each domain that has one, in one statement."""
    if not domain_ids:
        return {}
    return await store.list_last_sales(conn, account_id=account_id, domain_ids=domain_ids)


async def count_same(conn: Conn, *, account_id: UUID, entries: Sequence[NewEntry]) -> Counter[EntryKey]:
    """Return how many present entries, from any source, are the same as new ones; in one statement."""
    found = await store.count_same(conn, account_id=account_id, entries=entries)
    return Counter(
        {
            (domain_id, EntryKind(kind), occurred_on, amount, currency): count
            for domain_id, kind, occurred_on, amount, currency, count in found
        }
    )


async def list_like(
    conn: Conn, *, account_id: UUID, entries: Sequence[NewEntry], likeness: Likeness
) -> Sequence[Entry]:
    """Return the entries that are like new ones and not void, in one statement.

    Of more than MAX_LIKE, those that are the closest by day and amount.
    """
    if not entries:
        return ()
    return await store.list_like(conn, account_id=account_id, entries=entries, likeness=likeness, limit=MAX_LIKE)
