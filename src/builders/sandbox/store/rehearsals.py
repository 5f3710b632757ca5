"""The turn of a sandbox account."""

from uuid import UUID

from builders.kit.db.connections import Conn

TAKE_TURN = "SELECT pg_advisory_xact_lock(hashtextextended('sandbox_rehearsals ' || %(account_id)s::uuid, 0))"


async def take_turn(conn: Conn, *, account_id: UUID) -> None:
    """Until the transaction ends nobody else rehearses there, or empties it."""
    await conn.execute(TAKE_TURN, {"account_id": account_id})
