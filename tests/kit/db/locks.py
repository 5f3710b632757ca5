"""The number of sessions that wait for a lock, for tests that continue once one does."""

from builders.kit.db.connections import Conn

WAITING = """
    SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
"""


async def waiting(conn: Conn) -> int:
    """Return how many sessions of the database wait for a lock."""
    row = await (await conn.execute(WAITING)).fetchone()
    assert row is not None
    return int(row[0])
