"""A sandbox without webhooks."""

from uuid import UUID

from builders.identity import service as identity
from builders.kit.db.connections import Conn
from builders.webhooks.store import clearing as store


async def count_destinations(conn: Conn, *, account_id: UUID) -> int:
    """How many destinations the account has. One statement."""
    return await store.count(conn, account_id=account_id)


async def clear(conn: Conn, *, account_id: UUID) -> tuple[int, int]:
    """Deletes a sandbox account's destinations and all deliveries; how many of each there were.

    What is being sent right now arrives, and is written down nowhere. Raises ValueError for a live account.
    """
    await identity.require_twin(conn, account_id=account_id)
    return await store.clear(conn, account_id=account_id)
