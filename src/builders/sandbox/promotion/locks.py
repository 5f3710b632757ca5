"""One promotion of an account at a time, and one request to its sandbox account at a time in a process."""

import asyncio
from uuid import UUID
from weakref import WeakValueDictionary

from builders.kit.db.connections import Conn
from builders.sandbox.errors import PromotionRunning
from builders.sandbox.store import promotions as store

RETRY_S = 2
_locks: WeakValueDictionary[tuple[UUID, asyncio.AbstractEventLoop], asyncio.Lock] = WeakValueDictionary()


def account_lock(account_id: UUID) -> asyncio.Lock:
    """Return the lock of a real account's sandbox, deleted when nobody holds it.

    Requests wait here before they take a connection: twenty requests of one client would otherwise take all
    connections of the pool to wait with. Other event loops and processes wait at the database.
    """
    return _locks.setdefault((account_id, asyncio.get_running_loop()), asyncio.Lock())


async def reserve_promotion(conn: Conn, *, account_id: UUID, promotion_id: UUID) -> None:
    """Make this promotion the account's running one. Raise PromotionRunning if another runs."""
    holder = await store.reserve(conn, account_id=account_id, promotion_id=promotion_id)
    if holder == promotion_id:
        return
    if await store.is_running(conn, account_id=account_id, promotion_id=holder):
        raise PromotionRunning(
            "Another promotion of the account is running.",
            next_action="Read it until it has ended, then repeat: GET /v1/sandbox/promotions/{promotion_id}",
            retry_after=RETRY_S,
            promotion_id=str(holder),
        )
    await store.hand_over(conn, account_id=account_id, promotion_id=promotion_id)
