"""Whose turn it is to promote."""

from uuid import UUID

from builders.kit.db.connections import Conn

# The row that is there is locked and stays as it is: a look at the promotion it names comes after.
TAKE = """
    INSERT INTO sandbox_turns AS turn (account_id, promotion_id) VALUES (%(account_id)s, %(promotion_id)s)
    ON CONFLICT (account_id) DO UPDATE SET promotion_id = turn.promotion_id
    RETURNING promotion_id
"""
IS_RUNNING = """
    SELECT FROM sandbox_promotions
    WHERE account_id = %(account_id)s AND id = %(promotion_id)s AND status = 'running'
"""
HAND_OVER = """
    UPDATE sandbox_turns SET promotion_id = %(promotion_id)s WHERE account_id = %(account_id)s
"""


async def take(conn: Conn, *, account_id: UUID, promotion_id: UUID) -> UUID:
    """Whose turn it is, or was last; until the transaction ends nobody else takes it."""
    row = {"account_id": account_id, "promotion_id": promotion_id}
    found = await (await conn.execute(TAKE, row)).fetchone()
    assert found is not None  # noqa: S101 - RETURNING
    holder: UUID = found[0]
    return holder


async def is_running(conn: Conn, *, account_id: UUID, promotion_id: UUID) -> bool:
    """Whether a promotion still runs."""
    row = {"account_id": account_id, "promotion_id": promotion_id}
    return await (await conn.execute(IS_RUNNING, row)).fetchone() is not None


async def pass_on(conn: Conn, *, account_id: UUID, promotion_id: UUID) -> None:
    """Makes it another promotion's turn."""
    await conn.execute(HAND_OVER, {"account_id": account_id, "promotion_id": promotion_id})
