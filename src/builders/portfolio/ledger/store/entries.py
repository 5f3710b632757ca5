"""Entries and their sums."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg.rows import class_row, kwargs_row, scalar_row

from builders.kit.db.connections import Conn
from builders.kit.values import ids
from builders.kit.values.money import decimals_of
from builders.portfolio.ledger.records import (
    DEFAULT_BASE_CURRENCY,
    EURO,
    INCOME_KINDS,
    SALE_KINDS,
    Entry,
    EntryKind,
    EntrySource,
    NewEntry,
    Totals,
)
from builders.portfolio.ledger.store.rates import RATES

COLUMNS = """
    id, domain_id, kind, amount, currency, occurred_on, years, registrar, memo, source, reference, created_by,
    created_at, base_currency, fx_rate, fx_date, base_amount, voided_at, voided_by, void_reason
"""
# In one order for all, so that two calls with the same references do not wait for each other.
INSERT_ENTRIES = f"""
    WITH new AS (
        SELECT * FROM unnest(
            %(ids)s::uuid[], %(domain_ids)s::uuid[], %(kinds)s::text[], %(amounts)s::numeric[],
            %(currencies)s::text[], %(dates)s::date[], %(years)s::smallint[], %(registrars)s::text[],
            %(memos)s::text[], %(sources)s::text[], %(references)s::text[], %(authors)s::uuid[]
        ) AS entry (
            id, domain_id, kind, amount, currency, occurred_on, years, registrar, memo, source, reference,
            created_by
        )
    ), needed AS (
        SELECT DISTINCT currency, occurred_on, %(base_currency)s::text AS base_currency FROM new
    ), {RATES}
    INSERT INTO portfolio_ledger_entries (
        account_id, id, domain_id, kind, amount, currency, occurred_on, years, registrar, memo, source, reference,
        created_by, created_at, base_currency, fx_rate, fx_date, base_amount, awaits_rates
    )
    SELECT %(account_id)s, id, domain_id, kind, amount, currency, occurred_on, years, registrar, memo, source,
        reference, created_by, %(now)s, base_currency, fx_rate, fx_date,
        portfolio_ledger_round(amount * fx_rate, %(decimals)s::int), awaits_rates
    FROM new JOIN rates USING (currency, occurred_on)
    ORDER BY source, reference, id
    ON CONFLICT (account_id, source, reference) WHERE reference IS NOT NULL AND voided_at IS NULL DO NOTHING
    RETURNING {COLUMNS}
"""
# Up to the limit, so that a domain with more of them costs no more.
COUNT_ENTRIES = """
    SELECT wanted.domain_id, (
        SELECT count(*) FROM (
            SELECT FROM portfolio_ledger_entries
            WHERE account_id = %(account_id)s AND domain_id = wanted.domain_id LIMIT %(limit)s
        ) AS counted
    )
    FROM unnest(%(domain_ids)s::uuid[]) AS wanted (domain_id)
"""
LIST_BY_REFERENCE = f"""
    SELECT {COLUMNS} FROM portfolio_ledger_entries
    JOIN unnest(%(sources)s::text[], %(references)s::text[]) AS wanted (source, reference)
      USING (source, reference)
    WHERE account_id = %(account_id)s AND voided_at IS NULL
"""
VOID_ENTRIES = """
    UPDATE portfolio_ledger_entries SET voided_at = %(now)s, voided_by = %(voided_by)s, void_reason = %(reason)s
    WHERE account_id = %(account_id)s AND voided_at IS NULL AND id IN (
        SELECT id FROM portfolio_ledger_entries
        WHERE account_id = %(account_id)s AND voided_at IS NULL AND id = ANY(%(ids)s::uuid[])
        ORDER BY id FOR UPDATE
    ) RETURNING id
"""
VOID_REFERENCES = """
    UPDATE portfolio_ledger_entries SET voided_at = %(now)s, voided_by = %(voided_by)s, void_reason = %(reason)s
    WHERE account_id = %(account_id)s AND voided_at IS NULL AND id IN (
        SELECT id FROM portfolio_ledger_entries
        WHERE account_id = %(account_id)s AND voided_at IS NULL AND source = %(source)s
          AND reference = ANY(%(references)s::text[])
        ORDER BY id FOR UPDATE
    ) RETURNING id
"""
VOID_DOMAINS = """
    UPDATE portfolio_ledger_entries SET voided_at = %(now)s, voided_by = %(voided_by)s, void_reason = %(reason)s
    WHERE account_id = %(account_id)s AND voided_at IS NULL AND id IN (
        SELECT id FROM portfolio_ledger_entries
        WHERE account_id = %(account_id)s AND voided_at IS NULL AND domain_id = ANY(%(domain_ids)s::uuid[])
        ORDER BY id FOR UPDATE
    ) RETURNING id
"""
# An entry in another base currency than the portfolio's is not converted yet.
LIST_ENTRIES = """
    SELECT id, domain_id, kind, amount, currency, occurred_on, years, registrar, memo, source, reference,
        created_by, created_at, present.base AS base_currency,
        CASE WHEN base_currency = present.base THEN fx_rate END AS fx_rate,
        CASE WHEN base_currency = present.base THEN fx_date END AS fx_date,
        CASE WHEN base_currency = present.base THEN base_amount END AS base_amount,
        voided_at, voided_by, void_reason
    FROM portfolio_ledger_entries
    CROSS JOIN (
        SELECT base_currency FROM portfolio_ledger_settings WHERE account_id = %(account_id)s
    ) AS present (base)
    WHERE account_id = %(account_id)s AND domain_id = %(domain_id)s ORDER BY occurred_on, id
"""
LIST_ENTRIES_OF = f"""
    SELECT {COLUMNS} FROM portfolio_ledger_entries
    WHERE account_id = %(account_id)s AND domain_id = ANY(%(domain_ids)s::uuid[]) AND voided_at IS NULL
    ORDER BY domain_id, occurred_on, id
"""
# The entries of one domain, in a currency other than the base currency.
LIST_ENTRIES_IN = f"""
    WITH entry AS (
        SELECT * FROM portfolio_ledger_entries
        WHERE account_id = %(account_id)s AND domain_id = %(domain_id)s
    ), needed AS (
        SELECT DISTINCT currency, occurred_on, %(base_currency)s::text AS base_currency FROM entry
    ), {RATES}
    SELECT id, domain_id, kind, amount, currency, occurred_on, years, registrar, memo, source, reference,
        created_by, created_at, rates.base_currency, rates.fx_rate, rates.fx_date,
        portfolio_ledger_round(amount * rates.fx_rate, %(decimals)s::int) AS base_amount,
        voided_at, voided_by, void_reason
    FROM entry JOIN rates USING (currency, occurred_on)
    ORDER BY occurred_on, id
"""
# Each entry is in exactly one of the sums, by records.group_of.
LIST_TOTALS = """
    WITH present AS (
        SELECT coalesce(
            (SELECT base_currency FROM portfolio_ledger_settings WHERE account_id = %(account_id)s), %(default)s
        ) AS base
    )
    SELECT wanted.domain_id, present.base AS base_currency, total.cost, total.income, total.sale, total.entries,
        total.unconverted
    FROM unnest(%(domain_ids)s::uuid[]) AS wanted (domain_id)
    CROSS JOIN present
    CROSS JOIN LATERAL (
        SELECT count(*) AS entries, count(*) FILTER (WHERE base_amount IS NULL) AS unconverted,
            coalesce(-sum(signed) FILTER (WHERE NOT of_sale AND NOT of_holding), 0) AS cost,
            coalesce(sum(signed) FILTER (WHERE NOT of_sale AND of_holding), 0) AS income,
            coalesce(sum(signed) FILTER (WHERE of_sale), 0) AS sale
        FROM (
            SELECT amount.base AS base_amount,
                CASE WHEN kind = ANY(%(income_kinds)s::text[]) THEN amount.base ELSE -amount.base END AS signed,
                kind = ANY(%(sale_kinds)s::text[]) OR source = %(sale)s AS of_sale,
                kind = ANY(%(income_kinds)s::text[]) AND kind <> %(refund)s AS of_holding
            FROM portfolio_ledger_entries
            CROSS JOIN LATERAL (
                SELECT CASE WHEN base_currency = present.base THEN base_amount END AS base
            ) AS amount
            WHERE account_id = %(account_id)s AND domain_id = wanted.domain_id AND voided_at IS NULL
        ) AS entry
    ) AS total
"""
KINDS = {
    "income_kinds": sorted(INCOME_KINDS),
    "sale_kinds": sorted(SALE_KINDS),
    "sale": EntrySource.SALE,
    "refund": EntryKind.REFUND,
}


async def insert_entries(
    conn: Conn, *, account_id: UUID, base_currency: str, entries: Sequence[NewEntry], now: datetime
) -> Sequence[Entry | None]:
    """Add entries, converted to the base currency; None for each whose reference there is already."""
    new_ids = ids.new_many(len(entries))
    row: dict[str, Any] = {
        "account_id": account_id,
        "base_currency": base_currency,
        "decimals": decimals_of(base_currency),
        "euro": EURO,
        "now": now,
        "ids": new_ids,
        "domain_ids": [each.domain_id for each in entries],
        "kinds": [each.kind for each in entries],
        "amounts": [each.money.quantized().amount for each in entries],
        "currencies": [each.money.currency for each in entries],
        "dates": [each.occurred_on for each in entries],
        "years": [each.years for each in entries],
        "registrars": [each.registrar for each in entries],
        "memos": [each.memo for each in entries],
        "sources": [each.source for each in entries],
        "references": [each.reference for each in entries],
        "authors": [each.created_by for each in entries],
    }
    async with conn.cursor(row_factory=class_row(Entry)) as cursor:
        await cursor.execute(INSERT_ENTRIES, row)
        inserted = {each.id: each for each in await cursor.fetchall()}
    return [inserted.get(each) for each in new_ids]


async def count_entries(
    conn: Conn, *, account_id: UUID, domain_ids: Collection[UUID], limit: int
) -> Mapping[UUID, int]:
    """Return the number of entries of each of the domains, void ones too, up to a limit."""
    row = {"account_id": account_id, "domain_ids": list(domain_ids), "limit": limit}
    return dict(await (await conn.execute(COUNT_ENTRIES, row)).fetchall())


async def list_by_reference(
    conn: Conn, *, account_id: UUID, references: Sequence[tuple[EntrySource, str]]
) -> Sequence[Entry]:
    """Return the entries of references of their sources that are not void."""
    row = {
        "account_id": account_id,
        "sources": [source for source, _ in references],
        "references": [reference for _, reference in references],
    }
    async with conn.cursor(row_factory=class_row(Entry)) as cursor:
        await cursor.execute(LIST_BY_REFERENCE, row)
        return await cursor.fetchall()


async def void_entries(
    conn: Conn, *, account_id: UUID, ids: Sequence[UUID], reason: str, voided_by: UUID | None, now: datetime
) -> Sequence[UUID]:
    """Void entries by their ids."""
    row = {"account_id": account_id, "ids": list(ids), "reason": reason, "voided_by": voided_by, "now": now}
    async with conn.cursor(row_factory=scalar_row) as cursor:
        await cursor.execute(VOID_ENTRIES, row)
        return await cursor.fetchall()


async def void_references(
    conn: Conn,
    *,
    account_id: UUID,
    source: EntrySource,
    references: Sequence[str],
    reason: str,
    voided_by: UUID | None,
    now: datetime,
) -> Sequence[UUID]:
    """Void the entries of references of a source."""
    row: dict[str, Any] = {"account_id": account_id, "source": source, "references": list(references)}
    row |= {"reason": reason, "voided_by": voided_by, "now": now}
    async with conn.cursor(row_factory=scalar_row) as cursor:
        await cursor.execute(VOID_REFERENCES, row)
        return await cursor.fetchall()


async def void_domains(
    conn: Conn,
    *,
    account_id: UUID,
    domain_ids: Sequence[UUID],
    reason: str,
    voided_by: UUID | None,
    now: datetime,
) -> Sequence[UUID]:
    """Void all entries of domains."""
    row: dict[str, Any] = {"account_id": account_id, "domain_ids": list(domain_ids)}
    row |= {"reason": reason, "voided_by": voided_by, "now": now}
    async with conn.cursor(row_factory=scalar_row) as cursor:
        await cursor.execute(VOID_DOMAINS, row)
        return await cursor.fetchall()


async def list_entries(conn: Conn, *, account_id: UUID, domain_id: UUID, currency: str | None) -> Sequence[Entry]:
    """Return the entries of a domain, void ones too; in `currency` instead of the base currency unless None."""
    row: dict[str, Any] = {"account_id": account_id, "domain_id": domain_id}
    async with conn.cursor(row_factory=class_row(Entry)) as cursor:
        if currency is None:
            await cursor.execute(LIST_ENTRIES, row)
        else:
            row |= {"base_currency": currency, "decimals": decimals_of(currency), "euro": EURO}
            await cursor.execute(LIST_ENTRIES_IN, row)
        return await cursor.fetchall()


async def list_entries_of(conn: Conn, *, account_id: UUID, domain_ids: Sequence[UUID]) -> Sequence[Entry]:
    """Return the entries of domains that are not void, by domain and date."""
    async with conn.cursor(row_factory=class_row(Entry)) as cursor:
        await cursor.execute(LIST_ENTRIES_OF, {"account_id": account_id, "domain_ids": list(domain_ids)})
        return await cursor.fetchall()


async def list_totals(conn: Conn, *, account_id: UUID, domain_ids: Sequence[UUID]) -> Mapping[UUID, Totals]:
    """Return the totals of each domain."""
    row = {"account_id": account_id, "domain_ids": list(domain_ids), "default": DEFAULT_BASE_CURRENCY, **KINDS}
    async with conn.cursor(row_factory=kwargs_row(_domain_totals)) as cursor:
        await cursor.execute(LIST_TOTALS, row)
        return dict(await cursor.fetchall())


def _domain_totals(*, domain_id: UUID, **columns: Any) -> tuple[UUID, Totals]:
    return domain_id, Totals(**columns)
