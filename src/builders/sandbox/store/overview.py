"""Open plans, by their names."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from psycopg.rows import class_row

from builders.kit.db.connections import Conn

LIST_OPEN = """
    SELECT id, manifest, status, created_at, expires_at FROM sandbox_plans
    WHERE account_id = %(account_id)s AND status = 'ready' AND expires_at > %(now)s
    ORDER BY id DESC LIMIT %(limit)s
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenPlan:
    """A plan that can be promoted."""

    id: UUID
    manifest: str
    status: str
    created_at: datetime
    expires_at: datetime


async def list_open(conn: Conn, *, account_id: UUID, limit: int, now: datetime) -> Sequence[OpenPlan]:
    """The account's newest plans that can be promoted."""
    async with conn.cursor(row_factory=class_row(OpenPlan)) as cursor:
        await cursor.execute(LIST_OPEN, {"account_id": account_id, "limit": limit, "now": now})
        return await cursor.fetchall()
