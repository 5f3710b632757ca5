"""A sandbox without invoices."""

from uuid import UUID

from builders.identity import service as identity
from builders.invoices.store import clearing as store
from builders.kit.db.connections import Conn


async def clear(conn: Conn, *, account_id: UUID) -> int:
    """Deletes the invoices of a sandbox account, with all that is of them; how many there were.

    Raises ValueError for a live account, whose invoices are kept for ever.
    """
    await identity.require_sandbox_account(conn, account_id=account_id)
    return await store.clear(conn, account_id=account_id)
