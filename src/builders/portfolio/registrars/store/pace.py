"""The rate limit of a connection, which all processes share: one statement for each request."""

from datetime import datetime, timedelta
from uuid import UUID

from builders.kit.db.connections import Conn

# No row: the connection does not exist, the registrar is blocked, or the next slot is after `latest`.
RESERVE = """
    UPDATE portfolio_registrars_connections
    SET paced_until = greatest(paced_until, %(now)s::timestamptz) + %(interval)s::interval
    WHERE account_id = %(account_id)s AND id = %(id)s AND disconnected_at IS NULL
      AND coalesce(next_allowed_at <= %(now)s, true)
      AND greatest(paced_until, %(now)s::timestamptz) + %(interval)s::interval <= %(latest)s
    RETURNING paced_until
"""
FIND = """
    SELECT greatest(paced_until, next_allowed_at) FROM portfolio_registrars_connections
    WHERE account_id = %(account_id)s AND id = %(id)s AND disconnected_at IS NULL
"""


async def reserve(
    conn: Conn, *, account_id: UUID, connection_id: UUID, interval: timedelta, latest: datetime, now: datetime
) -> datetime | None:
    """Count one more request; return the time up to which the limit is then used up, or None when refused."""
    row = {"account_id": account_id, "id": connection_id, "interval": interval, "latest": latest, "now": now}
    found = await (await conn.execute(RESERVE, row)).fetchone()
    return None if found is None else found[0]


async def find(conn: Conn, *, account_id: UUID, connection_id: UUID) -> datetime | None:
    """Return the time up to which no request is allowed; None without the connection."""
    found = await (await conn.execute(FIND, {"account_id": account_id, "id": connection_id})).fetchone()
    return None if found is None else found[0]
