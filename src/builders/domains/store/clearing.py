"""The end of all account domains of a sandbox."""

from uuid import UUID

from builders.kit.db.connections import Conn

CLEAR = """
    WITH holder AS (
        DELETE FROM domains_holders WHERE account_id = %(account_id)s AND realm = %(account_id)s
    ), gone AS (
        DELETE FROM domains_domains WHERE account_id = %(account_id)s RETURNING status
    )
    SELECT count(*) FROM gone WHERE status <> 'released'
"""


async def clear(conn: Conn, *, account_id: UUID) -> int:
    """Deletes every row of a sandbox account; how many domains it had."""
    found = await (await conn.execute(CLEAR, {"account_id": account_id})).fetchone()
    return 0 if found is None else int(found[0])
