"""A sandbox without names."""

from uuid import UUID

from builders.aliases.store import clearing as store
from builders.identity import service as identity
from builders.kit.db.connections import Conn


async def count(conn: Conn, *, account_id: UUID) -> int:
    """How many aliases the account has, suspended ones too. One statement."""
    return await store.count(conn, account_id=account_id)


async def clear(conn: Conn, *, account_id: UUID) -> int:
    """Takes all names from a sandbox account, at once and without a word; how many aliases it had.

    Nothing of them is left: no quarantine, no destination, no event. Raises ValueError for a live account.
    """
    await identity.require_sandbox_account(conn, account_id=account_id)
    return await store.clear(conn, account_id=account_id)
