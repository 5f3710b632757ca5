"""SQL of notification preferences."""

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb

from builders.kit.db.connections import Conn

FIND_SETTINGS = """
    SELECT settings FROM portfolio_notifications_preferences
    WHERE account_id = %(account_id)s AND member_id = %(member_id)s
"""
LIST_SETTINGS = """
    SELECT account_id, member_id, settings FROM portfolio_notifications_preferences
    WHERE account_id = ANY(%(account_ids)s::uuid[])
"""
# Afterwards the row exists and is locked, so that no concurrent patch is lost.
LOCK_SETTINGS = """
    INSERT INTO portfolio_notifications_preferences (account_id, member_id, settings, updated_at)
    VALUES (%(account_id)s, %(member_id)s, '{}', %(now)s)
    ON CONFLICT (account_id, member_id) DO UPDATE SET updated_at = excluded.updated_at
    RETURNING settings
"""
SAVE_SETTINGS = """
    UPDATE portfolio_notifications_preferences SET settings = %(settings)s, updated_at = %(now)s
    WHERE account_id = %(account_id)s AND member_id = %(member_id)s
"""

Settings = Mapping[str, Any]  # a JSON object


async def find_settings(conn: Conn, *, account_id: UUID, member_id: UUID) -> Settings | None:
    """Return the settings of a member in a portfolio."""
    found = await conn.execute(FIND_SETTINGS, {"account_id": account_id, "member_id": member_id})
    row = await found.fetchone()
    return None if row is None else row[0]


async def list_settings(conn: Conn, *, account_ids: Collection[UUID]) -> Mapping[tuple[UUID, UUID], Settings]:
    """Return what members have set, by the account of the portfolio and the member."""
    found = await conn.execute(LIST_SETTINGS, {"account_ids": list(account_ids)})
    return {(account_id, member_id): settings async for account_id, member_id, settings in found}


async def lock_settings(conn: Conn, *, account_id: UUID, member_id: UUID, now: datetime) -> Settings:
    """Return the settings of a member; the row is locked until the transaction ends."""
    found = await conn.execute(LOCK_SETTINGS, {"account_id": account_id, "member_id": member_id, "now": now})
    [(settings,)] = await found.fetchall()
    stored: Settings = settings
    return stored


async def save_settings(
    conn: Conn, *, account_id: UUID, member_id: UUID, settings: Settings, now: datetime
) -> None:
    """Store the settings of a member; needs the lock."""
    row = {"account_id": account_id, "member_id": member_id, "settings": Jsonb(settings), "now": now}
    await conn.execute(SAVE_SETTINGS, row)
