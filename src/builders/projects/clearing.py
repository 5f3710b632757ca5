"""A sandbox without projects."""

from uuid import UUID

from builders.identity import service as identity
from builders.kit.db.connections import Conn
from builders.projects import store


async def count(conn: Conn, *, account_id: UUID) -> int:
    """How many active projects the account has. One statement."""
    return len(await store.list_slugs(conn, account_id=account_id))


async def clear(conn: Conn, *, account_id: UUID) -> int:
    """Deletes a sandbox account's projects, archived ones too, without a word; how many there were.

    Raises ValueError for a live account, whose projects are archived and stay.
    """
    await identity.require_twin(conn, account_id=account_id)
    return await store.clear(conn, account_id=account_id)
