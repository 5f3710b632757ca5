"""Names that are to be paid for anew."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from psycopg.rows import kwargs_row

from builders.aliases.records import PriceInterval
from builders.aliases.rows import Renewing
from builders.kit.db.connections import Conn
from builders.kit.values.money import Money

LIST_ACCOUNTS = """
    SELECT account_id FROM aliases
    WHERE renews_at IS NOT NULL AND status IN ('active', 'disabled') AND account_id > %(after)s
      AND (price_interval = 'year' AND renews_at <= %(year)s
           OR price_interval = 'month' AND renews_at <= %(month)s)
    GROUP BY account_id ORDER BY account_id LIMIT %(limit)s
"""
# Whoever has the lock first renews them; who waited for it finds them renewed.
LOCK_DUE = """
    SELECT id, local_part || '@' || domain AS address, price_amount, price_currency, price_interval AS interval,
           claimed_at, renews_at
    FROM aliases
    WHERE account_id = %(account_id)s AND renews_at IS NOT NULL AND status IN ('active', 'disabled')
      AND (price_interval = 'year' AND renews_at <= %(year)s
           OR price_interval = 'month' AND renews_at <= %(month)s)
    ORDER BY id LIMIT %(limit)s FOR UPDATE
"""
# The version stays: it is of what the owner says, and a plan made before holds.
ADVANCE = """
    UPDATE aliases AS alias SET renews_at = next.until
    FROM unnest(%(alias_ids)s::uuid[], %(untils)s::timestamptz[]) AS next (id, until)
    WHERE alias.account_id = %(account_id)s AND alias.id = next.id
"""


def _renewing(*, interval: str, price_amount: Decimal, price_currency: str, **columns: Any) -> Renewing:
    price = Money(price_amount, price_currency).quantized()
    return Renewing(price=price, interval=PriceInterval(interval), **columns)


async def list_accounts(conn: Conn, *, after: UUID, year: datetime, month: datetime, limit: int) -> Sequence[UUID]:
    """Accounts beyond that id whose names by the year, or month, renew by then."""
    row = {"after": after, "year": year, "month": month, "limit": limit}
    return [each[0] for each in await (await conn.execute(LIST_ACCOUNTS, row)).fetchall()]


async def lock_due(
    conn: Conn, *, account_id: UUID, year: datetime, month: datetime, limit: int
) -> Sequence[Renewing]:
    """Names of the account that renew by then, locked."""
    row = {"account_id": account_id, "year": year, "month": month, "limit": limit}
    async with conn.cursor(row_factory=kwargs_row(_renewing)) as cursor:
        await cursor.execute(LOCK_DUE, row)
        return await cursor.fetchall()


async def advance(
    conn: Conn, *, account_id: UUID, due: Sequence[Renewing], until: Mapping[UUID, datetime]
) -> None:
    """Moves renewals of names that were locked."""
    ids = [each.id for each in due]
    row = {"account_id": account_id, "alias_ids": ids, "untils": [until[each] for each in ids]}
    await conn.execute(ADVANCE, row)
