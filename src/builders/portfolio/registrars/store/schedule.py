"""Which connections of all portfolios are due for a sync."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from builders.kit.db.connections import Conn
from builders.kit.values import ids

# After a failure it is tried each hour, and where the user has to do something, at the next interval.
LIST_DUE = """
    SELECT account_id, id FROM portfolio_registrars_connections AS connection
    WHERE (account_id, id) > (%(account_id)s, %(id)s) AND is_enabled AND disconnected_at IS NULL
      AND credentials IS NOT NULL
      AND (next_allowed_at IS NULL OR next_allowed_at <= %(now)s)
      AND (last_sync_at IS NULL OR last_sync_at <= %(now)s - make_interval(hours => sync_interval_hours))
      AND NOT EXISTS (
        SELECT FROM portfolio_runs_parts AS part
        WHERE part.account_id = connection.account_id AND part.subject_id = connection.id AND part.kind = 'sync'
          AND part.created_at > %(now)s - make_interval(
              hours => CASE WHEN status IN ('auth_failed', 'restricted') THEN sync_interval_hours ELSE 1 END
          )
      )
    ORDER BY account_id, id LIMIT %(limit)s
"""


async def list_due(
    conn: Conn, *, after: tuple[UUID, UUID] | None, limit: int, now: datetime
) -> Sequence[tuple[UUID, UUID]]:
    """Return account and id of connections that are due, in their order."""
    account_id, connection_id = after or (ids.NIL, ids.NIL)
    row = {"account_id": account_id, "id": connection_id, "limit": limit, "now": now}
    return await (await conn.execute(LIST_DUE, row)).fetchall()
