"""The statement of a domain: its entries and the value of its prices, in one currency, with one SQL statement."""

from collections.abc import Sequence
from dataclasses import fields
from datetime import date
from typing import Any
from uuid import UUID

from psycopg.rows import dict_row
from psycopg.types.json import Jsonb

from builders.kit.db.connections import Conn
from builders.kit.values.money import DECIMALS, Money
from builders.portfolio.ledger.records import DEFAULT_BASE_CURRENCY, EURO, Entry, Statement
from builders.portfolio.ledger.store.rates import RATES

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
    SELECT shown.currency AS base_currency,
        shown.currency = %(default)s OR EXISTS (
            SELECT FROM portfolio_ledger_rates WHERE currency = shown.currency
        ) AS is_quoted,
        ARRAY(
            SELECT price.amount * rates.fx_rate
            FROM price LEFT JOIN rates ON rates.currency = price.currency AND rates.occurred_on = %(on)s
            ORDER BY price.position
        ) AS prices,
        entry.id, entry.domain_id, entry.kind, entry.amount, entry.currency, entry.occurred_on, entry.years,
        entry.registrar, entry.memo, entry.source, entry.reference, entry.created_by, entry.created_at,
        CASE WHEN is_kept THEN entry.fx_rate ELSE rates.fx_rate END AS fx_rate,
        CASE WHEN is_kept THEN entry.fx_date ELSE rates.fx_date END AS fx_date,
        CASE WHEN is_kept THEN entry.base_amount
             ELSE portfolio_ledger_round(
                entry.amount * rates.fx_rate, coalesce((%(decimals)s::jsonb ->> shown.currency)::int, 2)
             ) END AS base_amount,
        entry.voided_at, entry.voided_by, entry.void_reason
    FROM shown LEFT JOIN entry ON true
    CROSS JOIN LATERAL (SELECT entry.base_currency = shown.currency) AS own (is_kept)
    LEFT JOIN rates
        ON NOT is_kept AND rates.currency = entry.currency AND rates.occurred_on = entry.occurred_on
    ORDER BY entry.occurred_on, entry.id
"""
_ENTRY = frozenset(each.name for each in fields(Entry))


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
    async with conn.cursor(row_factory=dict_row) as cursor:
        await cursor.execute(GET_STATEMENT, row)
        found = await cursor.fetchall()
    return Statement(
        base_currency=found[0]["base_currency"],
        is_quoted=found[0]["is_quoted"],
        entries=[_entry(each) for each in found if each["id"] is not None],
        prices=found[0]["prices"],
    )


def _entry(row: dict[str, Any]) -> Entry:
    return Entry(**{name: value for name, value in row.items() if name in _ENTRY})
