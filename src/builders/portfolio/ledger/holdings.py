"""What many domains cost and earned, for reports: each in one statement."""

from collections.abc import Mapping, Sequence
from datetime import date
from itertools import groupby
from uuid import UUID

from builders.kit.db.connections import Conn
from builders.kit.values.money import Money
from builders.portfolio.ledger.records import Entry, EntrySource, KindTotal
from builders.portfolio.ledger.store import holdings as store


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


async def list_entries_between(
    conn: Conn,
    *,
    account_id: UUID,
    domain_ids: Sequence[UUID],
    sources: Sequence[EntrySource],
    since: date,
    until: date,
) -> Mapping[UUID, Sequence[Entry]]:
    """Return the entries of domains from some sources and days that are not void, each domain's by date.

    In one statement; both days are included.
    """
    found = await store.list_entries_between(
        conn, account_id=account_id, domain_ids=domain_ids, sources=sources, since=since, until=until
    )
    return {domain_id: list(entries) for domain_id, entries in groupby(found, key=lambda each: each.domain_id)}
