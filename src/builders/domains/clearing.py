"""A sandbox without domains."""

from uuid import UUID

from builders.domains.store import clearing as store
from builders.identity import service as identity
from builders.kit.db.connections import Conn


async def clear(conn: Conn, *, account_id: UUID) -> int:
    """Takes all domains from a sandbox account, without a word; how many it had.

    Raises ValueError for a live account.
    """
    await identity.require_sandbox_account(conn, account_id=account_id)
    return await store.clear(conn, account_id=account_id)
