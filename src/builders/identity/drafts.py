"""What a person typed into a form whose session had ended, sealed for the next session of the same account."""

from datetime import timedelta
from uuid import UUID

from builders.identity.store import sessions as store
from builders.kit.db import account_tables
from builders.kit.db.connections import Conn
from builders.kit.limits import maximums
from builders.kit.process.secret_keys import Keyring, Unsealable
from builders.kit.values import clock, ids

LIFETIME = timedelta(hours=1)
MAX_BYTES = 128 * 1024  # of one draft
MAX_DRAFTS = maximums.declare_kept(
    "form_drafts", 10, of="account", counts="Forms whose session had ended before they were sent; for an hour."
)
_PURPOSE = "identity-draft"


async def keep(conn: Conn, *, keyring: Keyring, account_id: UUID, content: bytes) -> UUID:
    """Keep a draft of a real account; return its id."""
    draft_id = ids.new()
    sealed = keyring.seal(_PURPOSE, content, context=_context(account_id, draft_id))
    row = {"account_id": account_id, "id": draft_id, "content": sealed, "now": clock.now()}
    await store.insert_draft(conn, **row, others=MAX_DRAFTS - 1)
    return draft_id


async def find(conn: Conn, *, keyring: Keyring, account_id: UUID, draft_id: UUID) -> bytes | None:
    """Return a draft of the account; None after LIFETIME, and for that of another account."""
    since = clock.now() - LIFETIME
    sealed = await store.find_draft(conn, account_id=account_id, draft_id=draft_id, since=since)
    try:
        return sealed and keyring.unseal(_PURPOSE, sealed, context=_context(account_id, draft_id))
    except Unsealable:  # its secret key was removed
        return None


def _context(account_id: UUID, draft_id: UUID) -> bytes:
    return account_id.bytes + draft_id.bytes


account_tables.declare_sealed(
    "identity_drafts", "content", purpose=_PURPOSE, context=_context, of=("account_id", "id")
)
