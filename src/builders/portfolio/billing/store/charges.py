"""Charges: recorded, found and matched, any number with one statement."""

from collections.abc import Collection, Mapping, Sequence
from datetime import date, datetime
from typing import Any
from uuid import UUID

from psycopg.rows import class_row, kwargs_row, scalar_row
from pydantic_core import to_json

from builders.kit.db.connections import Conn
from builders.kit.values import ids
from builders.portfolio.billing.records import Charge, ChargeSource, NewCharge

COLUMNS = """
    id, provider, connection_id, order_id, line_id, parent_order_id, charged_on, description, domain_raw,
    name_origin, domain, kind, years, total, tax, fees, currency, source, run_id, imported_at, refund_of,
    domain_id, confidence, method, candidates, applied_at, entry_id, is_linked, is_ignored, state,
    reason
"""
# Two calls about the charges of a portfolio write them one after the other.
LOCK_PORTFOLIO = "SELECT pg_advisory_xact_lock(hashtextextended('portfolio_billing ' || %(account_id)s::uuid, 0))"
INSERT = f"""
    INSERT INTO portfolio_billing_charges (
        account_id, id, key, provider, connection_id, order_id, line_id, parent_order_id, charged_on, description,
        domain_raw, name_origin, domain, kind, years, total, tax, fees, currency, source, run_id, imported_at
    )
    SELECT %(account_id)s, new.*, %(source)s, %(run_id)s, %(now)s FROM unnest(
        %(ids)s::uuid[], %(keys)s::bytea[], %(providers)s::text[], %(connection_ids)s::uuid[], %(orders)s::text[],
        %(lines)s::text[], %(parents)s::text[], %(dates)s::date[], %(descriptions)s::text[], %(raws)s::text[],
        %(origins)s::text[], %(domains)s::text[], %(kinds)s::text[], %(years)s::smallint[], %(totals)s::numeric[],
        %(taxes)s::numeric[], %(fees)s::numeric[], %(currencies)s::text[]
    ) AS new
    ON CONFLICT (account_id, key) DO NOTHING
    RETURNING key, {COLUMNS}
"""
# How many charges the other source has of the same order (or day, without one), domain and amount.
COUNT_UP_TO = """
    SELECT count(*) FROM (
        SELECT FROM portfolio_billing_charges WHERE account_id = %(account_id)s LIMIT %(most)s
    ) AS charge
"""
COUNT_DUPLICATES = """
    SELECT wanted.number, count(*) FROM unnest(
        %(numbers)s::int[], %(providers)s::text[], %(orders)s::text[], %(domains)s::text[], %(totals)s::numeric[],
        %(currencies)s::text[], %(dates)s::date[]
    ) AS wanted (number, provider, order_id, domain, total, currency, charged_on)
    JOIN portfolio_billing_charges AS charge USING (provider, order_id, domain, total, currency)
    WHERE charge.account_id = %(account_id)s AND charge.source <> %(source)s
      AND (charge.order_id <> '' OR charge.charged_on = wanted.charged_on)
    GROUP BY wanted.number
"""
LIST_PAID = """
    SELECT order_id, domain, sum(total) FROM portfolio_billing_charges
    WHERE account_id = %(account_id)s AND provider = %(provider)s AND order_id = ANY(%(orders)s::text[])
      AND domain IS NOT NULL AND total > 0
    GROUP BY order_id, domain
"""
FIND = f"""
    SELECT {COLUMNS} FROM portfolio_billing_charges WHERE account_id = %(account_id)s AND id = %(id)s
"""
# The oldest first, so that a charge is matched before its refund.
LIST_OPEN = f"""
    SELECT {COLUMNS} FROM portfolio_billing_charges
    WHERE account_id = %(account_id)s AND state = ANY(%(states)s::text[])
      AND (%(ids)s::uuid[] IS NULL OR id = ANY(%(ids)s::uuid[]))
      AND (charged_on, id) > (%(after_on)s, %(after_id)s)
    ORDER BY charged_on, id LIMIT %(limit)s
"""
# Charges that refunds can reverse: those of their orders, and those of their domains within some days.
LIST_EARLIER = f"""
    SELECT {COLUMNS} FROM portfolio_billing_charges
    WHERE account_id = %(account_id)s AND total > 0 AND order_id = ANY(%(orders)s::text[])
    UNION
    SELECT {COLUMNS} FROM portfolio_billing_charges
    WHERE account_id = %(account_id)s AND total > 0 AND domain = ANY(%(domains)s::text[])
      AND charged_on BETWEEN %(since)s AND %(until)s
"""
LIST_TAKEN = """
    SELECT entry_id FROM portfolio_billing_charges
    WHERE account_id = %(account_id)s AND entry_id = ANY(%(ids)s::uuid[]) AND applied_at IS NOT NULL
"""
UPDATE = """
    UPDATE portfolio_billing_charges AS charge
    SET domain_id = new.domain_id, confidence = new.confidence, method = new.method,
        candidates = coalesce(new.candidates, '[]'), refund_of = new.refund_of, years = new.years,
        is_ignored = new.is_ignored, applied_at = new.applied_at, entry_id = new.entry_id,
        is_linked = new.is_linked, reason = new.reason
    FROM jsonb_to_recordset(%(rows)s::jsonb) AS new (
        id uuid, domain_id uuid, confidence numeric, method text, candidates jsonb, refund_of uuid, years smallint,
        is_ignored boolean, applied_at timestamptz, entry_id uuid, is_linked boolean,
        reason text
    )
    WHERE charge.account_id = %(account_id)s AND charge.id = new.id
"""


async def lock_portfolio(conn: Conn, *, account_id: UUID) -> None:
    """Lock the charges of the portfolio until the transaction ends."""
    await conn.execute(LOCK_PORTFOLIO, {"account_id": account_id})


async def insert(
    conn: Conn,
    *,
    account_id: UUID,
    charges: Sequence[NewCharge],
    source: ChargeSource,
    run_id: UUID,
    now: datetime,
) -> Sequence[tuple[bytes, Charge]]:
    """Add charges; return those whose key is new, with it."""
    row = {
        "account_id": account_id,
        "source": source,
        "run_id": run_id,
        "now": now,
        "ids": ids.new_many(len(charges)),
        "keys": [each.key for each in charges],
        "connection_ids": [each.connection_id for each in charges],
        "lines": [each.line_id for each in charges],
        "parents": [each.parent_order_id for each in charges],
        "descriptions": [each.description for each in charges],
        "raws": [each.domain_raw for each in charges],
        "origins": [each.name_origin for each in charges],
        "kinds": [each.kind for each in charges],
        "years": [each.years for each in charges],
        "taxes": [each.tax for each in charges],
        "fees": [each.fees for each in charges],
        **_identity(charges),
    }
    async with conn.cursor(row_factory=kwargs_row(_keyed)) as cursor:
        await cursor.execute(INSERT, row)
        return await cursor.fetchall()


def _keyed(*, key: bytes, **columns: Any) -> tuple[bytes, Charge]:
    return key, Charge(**columns)


def _identity(charges: Sequence[NewCharge]) -> dict[str, Any]:
    return {
        "providers": [each.provider for each in charges],
        "orders": [each.order_id for each in charges],
        "domains": [each.domain for each in charges],
        "totals": [each.total for each in charges],
        "currencies": [each.currency for each in charges],
        "dates": [each.charged_on for each in charges],
    }


async def count_up_to(conn: Conn, *, account_id: UUID, most: int) -> int:
    """Return how many charges a portfolio has; `most` for more."""
    found = await conn.execute(COUNT_UP_TO, {"account_id": account_id, "most": most})
    [(count,)] = await found.fetchall()
    return int(count)


async def count_duplicates(
    conn: Conn, *, account_id: UUID, charges: Sequence[NewCharge], source: ChargeSource
) -> Mapping[int, int]:
    """Return how many charges of the other source are the same, by the index of each charge that has any."""
    row = {
        "account_id": account_id,
        "source": source,
        "numbers": list(range(len(charges))),
        **_identity(charges),
    }
    found = await conn.execute(COUNT_DUPLICATES, row)
    return dict(await found.fetchall())


async def list_paid(
    conn: Conn, *, account_id: UUID, provider: str, orders: Collection[str]
) -> Sequence[tuple[str, str, Any]]:
    """Return order, domain and the sum of its charges."""
    row = {"account_id": account_id, "provider": provider, "orders": list(orders)}
    return await (await conn.execute(LIST_PAID, row)).fetchall()


async def find(conn: Conn, *, account_id: UUID, charge_id: UUID) -> Charge | None:
    """Return a charge."""
    async with conn.cursor(row_factory=class_row(Charge)) as cursor:
        await cursor.execute(FIND, {"account_id": account_id, "id": charge_id})
        return await cursor.fetchone()


async def list_open(
    conn: Conn,
    *,
    account_id: UUID,
    states: Collection[str],
    charge_ids: Sequence[UUID] | None,
    after: Charge | None,
    limit: int,
) -> Sequence[Charge]:
    """Return charges in some states, behind a charge: of those with the ids, or of all for None."""
    row: dict[str, Any] = {
        "account_id": account_id,
        "states": list(states),
        "ids": None if charge_ids is None else list(charge_ids),
        "limit": limit,
        "after_on": date.min if after is None else after.charged_on,
        "after_id": ids.NIL if after is None else after.id,
    }
    async with conn.cursor(row_factory=class_row(Charge)) as cursor:
        await cursor.execute(LIST_OPEN, row, prepare=False)
        return await cursor.fetchall()


async def list_earlier(
    conn: Conn, *, account_id: UUID, orders: Collection[str], domains: Collection[str], since: date, until: date
) -> Sequence[Charge]:
    """Return the charges of orders, and those of domains within some days; no refunds."""
    row = {
        "account_id": account_id,
        "orders": list(orders),
        "domains": list(domains),
        "since": since,
        "until": until,
    }
    async with conn.cursor(row_factory=class_row(Charge)) as cursor:
        await cursor.execute(LIST_EARLIER, row)
        return await cursor.fetchall()


async def list_taken(conn: Conn, *, account_id: UUID, entry_ids: Collection[UUID]) -> Sequence[UUID]:
    """Return those of the entries that belong to charges."""
    async with conn.cursor(row_factory=scalar_row) as cursor:
        await cursor.execute(LIST_TAKEN, {"account_id": account_id, "ids": list(entry_ids)})
        return await cursor.fetchall()


async def update(conn: Conn, *, account_id: UUID, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write the matches of charges; the members of a row are the columns of UPDATE."""
    await conn.execute(UPDATE, {"account_id": account_id, "rows": to_json(rows).decode()})
