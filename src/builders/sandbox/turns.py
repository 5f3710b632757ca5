"""One promotion of an account at a time: whoever comes second is told so, and nobody waits."""

from uuid import UUID

from builders.kit.db.connections import Conn
from builders.sandbox.errors import PromotionRunning
from builders.sandbox.store import turns as store

RETRY_S = 2


async def take(conn: Conn, *, account_id: UUID, promotion_id: UUID) -> None:
    """Makes it this promotion's turn, decided by the account's row. Raises PromotionRunning."""
    holder = await store.take(conn, account_id=account_id, promotion_id=promotion_id)
    if holder == promotion_id:
        return
    if await store.is_running(conn, account_id=account_id, promotion_id=holder):
        raise PromotionRunning(
            "Another promotion of the account is running.",
            next_action="Read it until it has ended, then repeat: GET /v1/sandbox/promotions/{promotion_id}",
            retry_after=RETRY_S,
            promotion_id=str(holder),
        )
    await store.pass_on(conn, account_id=account_id, promotion_id=promotion_id)
