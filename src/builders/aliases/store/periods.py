"""Released names that were charged for, and claims that were undone."""

from collections.abc import Collection, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from psycopg.rows import class_row, kwargs_row

from builders.aliases.records import Name, PriceInterval
from builders.aliases.rows import Claim, ReleasedName
from builders.kit.db.connections import Conn
from builders.kit.values.money import Money

# `renews_at` is never before the end of what was billed; without it the name is paid once.
_RELEASED = """
    SELECT alias.id, alias.domain, alias.key, alias.price_amount, alias.price_currency,
           alias.price_interval AS interval, alias.claimed_at, alias.renews_at
    FROM unnest(%(domains)s::text[], %(keys)s::text[]) AS wanted (domain, key)
    JOIN aliases AS alias ON alias.account_id = %(account_id)s AND alias.domain = wanted.domain
     AND alias.key = wanted.key AND alias.status = 'deleted' AND alias.price_amount > 0
     AND coalesce(alias.renews_at, 'infinity') > %(now)s AND NOT EXISTS (
         SELECT FROM aliases_undone AS undone
         WHERE undone.account_id = alias.account_id AND undone.alias_id = alias.id
     )
    ORDER BY alias.id
"""
LIST_RELEASED = _RELEASED
LOCK_RELEASED = f"{_RELEASED} FOR UPDATE OF alias"
LIST_USED = """
    SELECT undone.domain, undone.key FROM aliases_undone AS undone
    JOIN unnest(%(domains)s::text[], %(keys)s::text[]) AS wanted (domain, key)
      ON undone.domain = wanted.domain AND undone.key = wanted.key
    WHERE undone.account_id = %(account_id)s
"""
IS_UNDONE = "SELECT FROM aliases_undone WHERE account_id = %(account_id)s AND alias_id = %(alias_id)s"
MARK_UNDONE = """
    INSERT INTO aliases_undone (account_id, domain, key, alias_id, undone_at)
    SELECT account_id, domain, key, id, %(now)s FROM aliases
    WHERE account_id = %(account_id)s AND id = ANY(%(alias_ids)s::uuid[]) ORDER BY id
    ON CONFLICT (account_id, domain, key) DO NOTHING
    RETURNING alias_id
"""
LOCK_CLAIMS = """
    SELECT FROM aliases WHERE account_id = %(account_id)s AND id = ANY(%(alias_ids)s::uuid[])
    ORDER BY id FOR UPDATE
"""
# Not `renews_at`: a renewal that was billed meanwhile has moved it.
LIST_CLAIMS = """
    SELECT alias.id, alias.claimed_at,
           CASE alias.price_interval WHEN 'year' THEN alias.claimed_at + interval '1 year'
                                     WHEN 'month' THEN alias.claimed_at + interval '1 month' END AS period_end,
           undone.alias_id IS NOT NULL AS is_undone
    FROM aliases AS alias
    LEFT JOIN aliases_undone AS undone ON undone.account_id = alias.account_id AND undone.alias_id = alias.id
    WHERE alias.account_id = %(account_id)s AND alias.id = ANY(%(alias_ids)s::uuid[])
"""


def _released(*, interval: str, price_amount: Decimal, price_currency: str, **columns: Any) -> ReleasedName:
    price = Money(price_amount, price_currency).quantized()
    return ReleasedName(price=price, interval=PriceInterval(interval), **columns)


async def list_released(
    conn: Conn, *, account_id: UUID, names: Collection[Name], now: datetime, lock: bool
) -> Sequence[ReleasedName]:
    """Return the account's released aliases of these names whose last period has not ended, and was not undone."""
    row = {"account_id": account_id, "now": now, **_columns(names)}
    async with conn.cursor(row_factory=kwargs_row(_released)) as cursor:
        await cursor.execute(LOCK_RELEASED if lock else LIST_RELEASED, row)
        return await cursor.fetchall()


async def list_used(conn: Conn, *, account_id: UUID, names: Collection[Name]) -> frozenset[Name]:
    """Return those of the names of which the account has undone a claim."""
    cursor = await conn.execute(LIST_USED, {"account_id": account_id, **_columns(names)})
    return frozenset(Name(*found) for found in await cursor.fetchall())


async def is_undone(conn: Conn, *, account_id: UUID, alias_id: UUID) -> bool:
    """Return whether the release of the alias undid its claim."""
    found = await conn.execute(IS_UNDONE, {"account_id": account_id, "alias_id": alias_id})
    return await found.fetchone() is not None


async def mark_undone(
    conn: Conn, *, account_id: UUID, alias_ids: Collection[UUID], now: datetime
) -> frozenset[UUID]:
    """Record that claims are undone; return those of names that had none undone before."""
    row = {"account_id": account_id, "alias_ids": list(alias_ids), "now": now}
    return frozenset(found[0] for found in await (await conn.execute(MARK_UNDONE, row)).fetchall())


async def lock_claims(conn: Conn, *, account_id: UUID, alias_ids: Collection[UUID]) -> Sequence[Claim]:
    """Lock aliases, also released ones, and return how they were claimed."""
    row = {"account_id": account_id, "alias_ids": list(alias_ids)}
    await conn.execute(LOCK_CLAIMS, row)
    async with conn.cursor(row_factory=class_row(Claim)) as cursor:
        await cursor.execute(LIST_CLAIMS, row)  # sees what whoever had the lock has done
        return await cursor.fetchall()


def _columns(names: Collection[Name]) -> dict[str, list[str]]:
    return {"domains": [name.domain for name in names], "keys": [name.key for name in names]}
