"""Notices of a new API key: whoever made it, the account's holder learns of it by email."""

from uuid import UUID

from procrastinate import JobContext

from builders.identity.store import accounts as account_store, keys as key_store
from builders.kit.db.connections import Conn
from builders.kit.jobs import queue
from builders.mail import service as mail
from builders.mail.records import ApiKeyCreated


async def enqueue(conn: Conn, *, account_id: UUID, key_id: UUID, replaced_id: UUID | None) -> None:
    """Enqueue the notice in the transaction that makes the key."""
    replaced = "" if replaced_id is None else str(replaced_id)
    await queue.defer(conn, mail_new_key, account_id=str(account_id), key_id=str(key_id), replaced_id=replaced)


@queue.app.task(name="identity.mail_new_key", retry=queue.RETRY, pass_context=True)
async def mail_new_key(context: JobContext, account_id: str, key_id: str, replaced_id: str) -> None:
    """Mail the account that it has a new API key; not to an address that is not confirmed."""
    owner = UUID(account_id)
    async with queue.database(context).transaction() as conn:
        account = await account_store.find_account(conn, account_id=owner)
        key = await key_store.find_key(conn, account_id=owner, key_id=UUID(key_id))
        # Whoever reads an address that was never confirmed may be a stranger.
        if account is None or key is None or account.email_verified_at is None:
            return
        replaced = None
        if replaced_id:
            replaced = await key_store.find_key(conn, account_id=owner, key_id=UUID(replaced_id))
        letter = ApiKeyCreated(
            label=key.label,
            kind=key.key_kind.value,
            preset=key.preset.value,
            prefix=key.prefix,
            replaced=None if replaced is None else replaced.prefix,
            made_at=f"{key.created_at:%Y-%m-%d %H:%M} UTC",
        )
        await mail.send(conn, keyring=queue.keyring(context), account_id=owner, to=account.email, letter=letter)
