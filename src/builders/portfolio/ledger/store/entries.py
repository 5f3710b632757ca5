"""Entries and their sums."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from datetime import date, datetime
from decimal import Decimal
from typing import Any, LiteralString
from uuid import UUID

from psycopg import AsyncCursor
from psycopg.rows import dict_row, kwargs_row
from psycopg.types.json import Jsonb

from builders.kit.db.columns import columns_of
from builders.kit.db.connections import Conn
from builders.kit.db.queries import constructor, query
from builders.kit.values import ids
from builders.kit.values.money import DECIMALS, Money, decimals_of
from builders.portfolio.ledger.records import (
    DEFAULT_BASE_CURRENCY,
    EURO,
    Entry,
    EntryFilters,
    EntryKey,
    EntrySort,
    Likeness,
    NewEntry,
    Statement,
)
from builders.portfolio.ledger.store.copies import OUTDATED
from builders.portfolio.ledger.store.rates import RATES

NEW_COLUMNS = (
    "domain_id, kind, amount, currency, occurred_on, years, registrar, memo, source, reference, order_ref, "
    "charge_id, charge_key, sale_id, sale_line, sale_role, created_by, voided_at, void_reason"
)
COLUMNS = columns_of(Entry)
# In one order for all, so that two calls with the same references do not wait for each other. A conflict can be
# that of the reference, of the charge or of the line of a sale.
INSERT_ENTRIES = f"""
    WITH new AS (
        SELECT * FROM unnest(
            %(id)s::uuid[], %(domain_id)s::uuid[], %(kind)s::text[], %(amount)s::numeric[], %(currency)s::text[],
            %(occurred_on)s::date[], %(years)s::smallint[], %(registrar)s::text[], %(memo)s::text[],
            %(source)s::text[], %(reference)s::text[], %(order_ref)s::text[], %(charge_id)s::uuid[],
            %(charge_key)s::bytea[], %(sale_id)s::uuid[], %(sale_line)s::smallint[], %(sale_role)s::text[],
            %(created_by)s::uuid[], %(voided_at)s::timestamptz[], %(void_reason)s::text[]
        ) AS entry (id, {NEW_COLUMNS})
    ), needed AS (
        SELECT DISTINCT currency, occurred_on, %(base_currency)s::text AS base_currency FROM new
    ), {RATES}, changed AS (
        INSERT INTO portfolio_ledger_entries (
            account_id, id, {NEW_COLUMNS}, created_at, base_currency, fx_rate, fx_date, is_own_rate,
            base_amount, awaits_rates
        )
        SELECT %(account_id)s, id, {NEW_COLUMNS}, %(now)s, base_currency, fx_rate, fx_date, is_own_rate,
            portfolio_ledger_round(amount * fx_rate, %(decimals)s::int), awaits_rates
        FROM new JOIN rates USING (currency, occurred_on)
        ORDER BY source, reference, charge_id, id
        ON CONFLICT DO NOTHING
        RETURNING {COLUMNS}
    ), {OUTDATED}
    SELECT * FROM changed
"""
# The entries in whose place new ones would be, each by its unique index.
LIST_PRESENT = f"""
    SELECT {COLUMNS} FROM portfolio_ledger_entries
    WHERE account_id = %(account_id)s AND id IN (
        SELECT id FROM portfolio_ledger_entries
        JOIN unnest(%(sources)s::text[], %(references)s::text[]) AS wanted (source, reference)
          USING (source, reference)
        WHERE account_id = %(account_id)s AND voided_at IS NULL
        UNION ALL SELECT id FROM portfolio_ledger_entries
        WHERE account_id = %(account_id)s AND voided_at IS NULL AND charge_id = ANY(%(charge_ids)s::uuid[])
        UNION ALL SELECT id FROM portfolio_ledger_entries
        WHERE account_id = %(account_id)s AND voided_at IS NULL AND sale_id = ANY(%(sale_ids)s::uuid[])
    )
"""


COUNT_UP_TO = """
    SELECT count(*) FROM (
        SELECT FROM portfolio_ledger_entries WHERE account_id = %(account_id)s LIMIT %(most)s
    ) AS counted
"""
# One row for each entry, and one without an entry when there is none. An entry in the base currency keeps the rate
# that it was recorded with.
GET_STATEMENT = f"""
    WITH shown AS (
        SELECT coalesce(
            %(currency)s,
            (SELECT base_currency FROM portfolio_ledger_settings WHERE account_id = %(account_id)s),
            %(default)s
        ) AS currency
    ), entry AS (
        SELECT * FROM portfolio_ledger_entries WHERE account_id = %(account_id)s AND domain_id = %(domain_id)s
    ), price AS (
        SELECT * FROM unnest(%(amounts)s::numeric[], %(currencies)s::text[])
        WITH ORDINALITY AS price (amount, currency, position)
    ), needed AS (
        SELECT DISTINCT used.currency, used.occurred_on, shown.currency AS base_currency
        FROM shown CROSS JOIN (
            SELECT currency, occurred_on, base_currency FROM entry
            UNION ALL SELECT currency, %(on)s::date, NULL FROM price WHERE amount IS NOT NULL
        ) AS used
        WHERE used.base_currency IS DISTINCT FROM shown.currency
    ), {RATES}
    SELECT entry.*, shown.currency AS base_currency, -- of two columns with a name, the later one counts
        shown.currency = %(default)s OR EXISTS (
            SELECT FROM portfolio_ledger_rates WHERE currency = shown.currency
        ) AS is_quoted,
        ARRAY(
            SELECT price.amount * rates.fx_rate
            FROM price LEFT JOIN rates ON rates.currency = price.currency AND rates.occurred_on = %(on)s
            ORDER BY price.position
        ) AS prices,
        CASE WHEN is_kept THEN entry.fx_rate ELSE rates.fx_rate END AS fx_rate,
        CASE WHEN is_kept THEN entry.fx_date ELSE rates.fx_date END AS fx_date,
        CASE WHEN is_kept THEN entry.is_own_rate ELSE coalesce(rates.is_own_rate, false) END AS is_own_rate,
        CASE WHEN is_kept THEN entry.base_amount
             ELSE portfolio_ledger_round(
                entry.amount * rates.fx_rate, coalesce((%(decimals)s::jsonb ->> shown.currency)::int, 2)
             ) END AS base_amount
    FROM shown LEFT JOIN entry ON true
    CROSS JOIN LATERAL (SELECT entry.base_currency = shown.currency) AS own (is_kept)
    LEFT JOIN rates
        ON NOT is_kept AND rates.currency = entry.currency AND rates.occurred_on = entry.occurred_on
    ORDER BY entry.occurred_on, entry.id
"""
COUNT_SAME = """
    SELECT wanted.domain_id, wanted.kind, wanted.occurred_on, wanted.amount, wanted.currency, wanted.is_void,
        count(*)
    FROM (
        SELECT DISTINCT * FROM unnest(
            %(domain_id)s::uuid[], %(kind)s::text[], %(occurred_on)s::date[], %(amount)s::numeric[],
            %(currency)s::text[], %(is_void)s::boolean[]
        ) AS each (domain_id, kind, occurred_on, amount, currency, is_void)
    ) AS wanted
    JOIN portfolio_ledger_entries AS entry
      ON entry.account_id = %(account_id)s AND entry.domain_id = wanted.domain_id
     AND (entry.voided_at IS NOT NULL) = wanted.is_void AND entry.kind = wanted.kind
     AND entry.occurred_on = wanted.occurred_on AND entry.amount = wanted.amount
     AND entry.currency = wanted.currency
    GROUP BY wanted.domain_id, wanted.kind, wanted.occurred_on, wanted.amount, wanted.currency, wanted.is_void
"""
LIST_LIKE = f"""
    SELECT {COLUMNS} FROM portfolio_ledger_entries
    WHERE account_id = %(account_id)s AND id IN (
        SELECT entry.id
        FROM unnest(
            %(domain_id)s::uuid[], %(kind)s::text[], %(occurred_on)s::date[], %(amount)s::numeric[],
            %(currency)s::text[], %(years)s::int[], %(charge_key)s::bytea[]
        ) AS wanted (domain_id, kind, occurred_on, amount, currency, years, charge_key)
        JOIN portfolio_ledger_entries AS entry
          ON entry.account_id = %(account_id)s AND entry.domain_id = wanted.domain_id AND entry.voided_at IS NULL
         AND entry.source = ANY(%(sources)s::text[]) AND (
            entry.charge_key = wanted.charge_key
            OR entry.currency = wanted.currency
            AND (entry.kind = wanted.kind
                 OR entry.kind = ANY(%(same_kinds)s::text[]) AND wanted.kind = ANY(%(same_kinds)s::text[]))
            AND coalesce(entry.years, 1) = coalesce(wanted.years, 1)
            AND abs(entry.occurred_on - wanted.occurred_on) <= %(days)s
            AND abs(entry.amount - wanted.amount) <= wanted.amount * %(share)s
         )
        GROUP BY entry.id
        ORDER BY min(abs(entry.occurred_on - wanted.occurred_on)), min(abs(entry.amount - wanted.amount)), entry.id
        LIMIT %(limit)s
    )
"""
# The indexes have all columns of the filters: the rows of other entries are not read.
_LISTED = """
    FROM portfolio_ledger_entries
    WHERE account_id = %(account_id)s AND (%(domain_id)s::uuid IS NULL OR domain_id = %(domain_id)s)
      AND (%(since)s::date IS NULL OR occurred_on >= %(since)s)
      AND (%(until)s::date IS NULL OR occurred_on <= %(until)s)
      AND (%(kind)s::text IS NULL OR kind = %(kind)s) AND (%(source)s::text IS NULL OR source = %(source)s)
      AND (%(currency)s::text IS NULL OR currency = %(currency)s)
      AND (%(voided)s::boolean IS NULL OR (voided_at IS NOT NULL) = %(voided)s)
"""
LIST_PAGE: Mapping[EntrySort, LiteralString] = {
    EntrySort.DAY: f"""
        SELECT {COLUMNS} FROM portfolio_ledger_entries WHERE account_id = %(account_id)s AND id = ANY(ARRAY(
            SELECT id {_LISTED} AND (occurred_on, id) > (%(day)s::date, %(after)s::uuid)
            ORDER BY occurred_on, id LIMIT %(limit)s
        )) ORDER BY occurred_on, id
    """,
    EntrySort.DAY_DESC: f"""
        SELECT {COLUMNS} FROM portfolio_ledger_entries WHERE account_id = %(account_id)s AND id = ANY(ARRAY(
            SELECT id {_LISTED} AND (occurred_on, id) < (%(day)s::date, %(after)s::uuid)
            ORDER BY occurred_on DESC, id DESC LIMIT %(limit)s
        )) ORDER BY occurred_on DESC, id DESC
    """,
}
COUNT_LISTED = f"SELECT count(*) {_LISTED}"
_ENTRY, _make = frozenset(each.name for each in fields(Entry)), constructor(Entry)
MAX_LIKE = 20_000  # entries that are compared with those of a batch


async def insert_entries(
    conn: Conn, *, account_id: UUID, base_currency: str, entries: Sequence[NewEntry], now: datetime
) -> Sequence[Entry | None]:
    """Add entries, converted to the base currency; None for each that conflicts with a present one."""
    new_ids = ids.new_many(len(entries))
    row: dict[str, Any] = {"account_id": account_id, "id": new_ids, **_columns(entries), "now": now, "euro": EURO}
    row |= {"base_currency": base_currency, "decimals": decimals_of(base_currency)}
    cursor = await _cursor(conn).execute(INSERT_ENTRIES, row)
    inserted = {each.id: each for each in await cursor.fetchall()}
    return [inserted.get(each) for each in new_ids]


# A domain without entries is absent. One condition for all domains: a count of each one would read all entries of
# the account for each, by the index of days, when the statistics are older than a large import.
count_entries = query("""
    SELECT domain_id, count(*) FROM portfolio_ledger_entries
    WHERE account_id = %(account_id)s AND domain_id = ANY(%(domain_ids)s::uuid[])
    GROUP BY domain_id
""").pairs(UUID, int)


async def list_present(conn: Conn, *, account_id: UUID, entries: Sequence[NewEntry]) -> Sequence[Entry]:
    """Return the entries that are not void and have a reference, a charge or a sale of new ones."""
    referenced = {(each.source, each.reference) for each in entries if each.reference is not None}
    row = {
        "account_id": account_id,
        "sources": [source for source, _ in referenced],
        "references": [reference for _, reference in referenced],
        "charge_ids": [each.charge_id for each in entries if each.charge_id is not None],
        "sale_ids": list({each.sale_id for each in entries if each.sale_id is not None}),
    }
    return await (await _cursor(conn).execute(LIST_PRESENT, row)).fetchall()


void_entries = query(f"""
    WITH named AS (
        SELECT id FROM portfolio_ledger_entries
        WHERE account_id = %(account_id)s AND voided_at IS NULL
          AND (id = ANY(%(ids)s::uuid[]) OR domain_id = ANY(%(domain_ids)s::uuid[]))
        ORDER BY id FOR UPDATE
    ), changed AS (
        UPDATE portfolio_ledger_entries
        SET voided_at = %(now)s, voided_by = %(voided_by)s, void_reason = %(reason)s
        WHERE account_id = %(account_id)s AND voided_at IS NULL AND id IN (SELECT id FROM named)
        RETURNING id, domain_id, occurred_on
    ), {OUTDATED}
    SELECT id FROM changed
""").scalars(UUID)


list_entries_of = query(f"""
    SELECT {COLUMNS} FROM portfolio_ledger_entries
    WHERE account_id = %(account_id)s AND domain_id = ANY(%(domain_ids)s::uuid[])
    ORDER BY domain_id, occurred_on, id
""").all(Entry)


async def list_page(
    conn: Conn,
    *,
    account_id: UUID,
    domain_id: UUID | None,
    filters: EntryFilters,
    sort: EntrySort,
    position: tuple[date, UUID],
    limit: int,
) -> Sequence[Entry]:
    """Return up to `limit` entries behind a day and an id."""
    day, after = position
    row = {**_filtered(account_id, domain_id, filters), "day": day, "after": after, "limit": limit}
    return await (await _cursor(conn).execute(LIST_PAGE[sort], row, prepare=False)).fetchall()


async def count_listed(conn: Conn, *, account_id: UUID, domain_id: UUID | None, filters: EntryFilters) -> int:
    """Return the number of entries that a list with these filters has."""
    row = _filtered(account_id, domain_id, filters)
    [(count,)] = await (await conn.execute(COUNT_LISTED, row, prepare=False)).fetchall()
    return int(count)


def _filtered(account_id: UUID, domain_id: UUID | None, filters: EntryFilters) -> dict[str, Any]:
    return {"account_id": account_id, "domain_id": domain_id, **asdict(filters)}


# Kind, currency and sum.
sum_by_kind = query("""
    SELECT kind, currency, sum(amount) FROM portfolio_ledger_entries
    WHERE account_id = %(account_id)s AND domain_id = %(domain_id)s AND voided_at IS NULL
    GROUP BY kind, currency ORDER BY kind, currency LIMIT %(limit)s
""").all(tuple[str, str, Decimal])


async def count_up_to(conn: Conn, account_id: UUID, most: int) -> int:
    """Return the number of entries of a portfolio, up to `most`."""
    [(count,)] = await (await conn.execute(COUNT_UP_TO, {"account_id": account_id, "most": most})).fetchall()
    return int(count)


async def get_statement(
    conn: Conn,
    *,
    account_id: UUID,
    domain_id: UUID,
    currency: str | None,
    prices: Sequence[Money | None],
    on: date,
) -> Statement:
    """Return the statement of a domain in `currency`, or in the base currency for None."""
    row: dict[str, Any] = {
        "account_id": account_id,
        "domain_id": domain_id,
        "currency": currency,
        "default": DEFAULT_BASE_CURRENCY,
        "euro": EURO,
        "decimals": Jsonb(DECIMALS),
        "amounts": [None if each is None else each.amount for each in prices],
        "currencies": [None if each is None else each.currency for each in prices],
        "on": on,
    }
    found = await (await conn.cursor(row_factory=dict_row).execute(GET_STATEMENT, row)).fetchall()
    return Statement(
        base_currency=found[0]["base_currency"],
        is_quoted=found[0]["is_quoted"],
        entries=[_make(**{name: each[name] for name in _ENTRY}) for each in found if each["id"] is not None],
        prices=found[0]["prices"],
    )


# Domain, amount, currency and years of each last renewal.
# The kind is a constant of the partial index.
list_last_renewals = query("""
    SELECT wanted.domain_id, last.amount, last.currency, coalesce(last.years, 1)
    FROM unnest(%(domain_ids)s::uuid[]) AS wanted (domain_id)
    CROSS JOIN LATERAL (
        SELECT amount, currency, years FROM portfolio_ledger_entries
        WHERE account_id = %(account_id)s AND domain_id = wanted.domain_id AND kind = 'renewal'
          AND voided_at IS NULL
        ORDER BY occurred_on DESC, id DESC LIMIT 1
    ) AS last
""").all(tuple[UUID, Decimal, str, int])


async def count_same(conn: Conn, *, account_id: UUID, entries: Sequence[NewEntry]) -> Counter[EntryKey]:
    """Return the number of present entries that are the same as new ones, by what is equal."""
    row = {"account_id": account_id, **_columns(entries), "is_void": [each.is_void for each in entries]}
    found = await (await conn.execute(COUNT_SAME, row)).fetchall()
    return Counter({tuple(key): count for *key, count in found})


async def list_like(
    conn: Conn, *, account_id: UUID, entries: Sequence[NewEntry], likeness: Likeness
) -> Sequence[Entry]:
    """Return entries that are like new ones and not void: up to MAX_LIKE, the closest by day and amount."""
    row = {
        "account_id": account_id,
        **_columns(entries),
        "sources": sorted(likeness.sources),
        "same_kinds": sorted(likeness.same_kinds),
        "days": likeness.period.days,
        "share": likeness.share,
        "limit": MAX_LIKE,
    }
    return await (await _cursor(conn).execute(LIST_LIKE, row)).fetchall()


def _columns(entries: Sequence[NewEntry]) -> dict[str, Any]:
    """Return the values of new entries by column."""
    return {name: [getattr(each, name) for each in entries] for name in NEW_COLUMNS.split(", ")}


def _cursor(conn: Conn) -> AsyncCursor[Entry]:
    return conn.cursor(row_factory=kwargs_row(_make))
