"""How many destinations an account has, and the end of all that a sandbox has."""

from uuid import UUID

from builders.kit.db.connections import Conn

COUNT = "SELECT count(*) FROM webhooks_destinations WHERE account_id = %(account_id)s"
CLEAR = """
    WITH due AS (
        DELETE FROM webhooks_due WHERE account_id = %(account_id)s
    ), attempt AS (
        DELETE FROM webhooks_attempts WHERE account_id = %(account_id)s
    ), payload AS (
        DELETE FROM webhooks_payloads WHERE account_id = %(account_id)s
    ), delivery AS (
        DELETE FROM webhooks_deliveries WHERE account_id = %(account_id)s RETURNING id
    ), destination AS (
        DELETE FROM webhooks_destinations WHERE account_id = %(account_id)s RETURNING id
    )
    SELECT (SELECT count(*) FROM destination), (SELECT count(*) FROM delivery)
"""


async def count(conn: Conn, *, account_id: UUID) -> int:
    """How many destinations the account has."""
    found = await (await conn.execute(COUNT, {"account_id": account_id})).fetchone()
    return 0 if found is None else int(found[0])


async def clear(conn: Conn, *, account_id: UUID) -> tuple[int, int]:
    """Deletes every row of a sandbox account; how many destinations and deliveries it had."""
    found = await (await conn.execute(CLEAR, {"account_id": account_id})).fetchone()
    return (0, 0) if found is None else (int(found[0]), int(found[1]))
