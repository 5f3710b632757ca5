"""The operator's look at everybody's destinations."""

from collections.abc import Sequence

from psycopg.rows import class_row

from builders.kit.db.connections import Conn
from builders.webhooks.records import Troubled

LIST_TROUBLED = """
    SELECT account_id, id, url, failures, failing_since, open_until, last_failure_status, last_failure_error,
           (SELECT count(*) FROM (
               SELECT FROM webhooks_due AS due
               WHERE due.account_id = destination.account_id AND due.destination_id = destination.id LIMIT 10000
           ) AS counted)::int AS pending
    FROM webhooks_destinations AS destination
    WHERE enabled AND failures > 0 ORDER BY failing_since LIMIT %(limit)s
"""


async def list_troubled(conn: Conn, *, limit: int) -> Sequence[Troubled]:
    """Destinations whose last attempt failed, whosever they are, those first that fail longest."""
    async with conn.cursor(row_factory=class_row(Troubled)) as cursor:
        await cursor.execute(LIST_TROUBLED, {"limit": limit})
        return await cursor.fetchall()
