"""Send an email, withdraw it, and read its delivery state."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from uuid import UUID

from builders.kit.db.connections import Conn
from builders.kit.events import outbox
from builders.kit.process.secret_keys import Keyring
from builders.kit.values import clock, ids
from builders.kit.values.ids import AccountSelection
from builders.mail import addresses, delivery, optouts, store
from builders.mail.events import MAIL_FORGOTTEN, MAIL_UNSUBSCRIBED, MailForgotten
from builders.mail.records import Message, Origin, Status
from builders.mail.store import Key
from builders.mail.templates import EmailTemplate
from builders.mail.transports import FolderTransport


async def send(
    conn: Conn,
    *,
    keyring: Keyring,
    account_id: UUID,
    to: str,
    template: EmailTemplate,
    expires_at: datetime | None = None,
) -> UUID:
    """Enqueue an email, which is sent after the transaction of `conn` commits; return the message's id.

    It is not sent after `expires_at`, as when its code has expired. When the recipient is opted out of its topic,
    the message is `suppressed`.
    """
    key = Key(account_id, ids.new())
    is_out = template.topic is not None and await optouts.is_opted_out(
        conn, keyring=keyring, address=to, topic=template.topic
    )
    await store.insert(
        conn,
        key=key,
        template=template.name,
        category=template.category,
        recipient=addresses.mask(to),
        content=None if is_out else delivery.seal(keyring, key=key, to=to, template=template),
        status=Status.SUPPRESSED if is_out else Status.QUEUED,
        expires_at=expires_at,
        next_try_at=None if is_out else clock.now() + delivery.REQUEUE_AFTER,
    )
    if not is_out:
        await delivery.enqueue(conn, key=key)
    return key.id


async def withdraw(conn: Conn, *, account_id: UUID, message_id: UUID) -> bool:
    """Suppress a message that is not sent yet, and delete its content; False when it was final."""
    return await store.finish(conn, key=Key(account_id, message_id), status=Status.SUPPRESSED)


async def forget(conn: Conn, *, account_id: UUID, address: str, message_ids: Collection[UUID]) -> None:
    """Delete the messages and published events with their address; publish mail.forgotten.

    Opt-outs of the address stay, sealed, because they prevent further email.
    """
    await store.delete_messages(conn, account_id=account_id, message_ids=message_ids)
    await outbox.delete_events(conn, MAIL_UNSUBSCRIBED, account_id=account_id, member="address", value=address)
    if message_ids:
        data = MailForgotten(message_ids=list(message_ids))
        await outbox.publish(conn, MAIL_FORGOTTEN, account_id=account_id, data=data)


async def find_message(conn: Conn, *, account_id: UUID, message_id: UUID) -> Message | None:
    """Return a message of the account; kept for 90 days."""
    return await store.find(conn, key=Key(account_id, message_id))


async def list_messages(
    conn: Conn, *, account_id: AccountSelection, status: Status | None = None, limit: int = 50
) -> Sequence[Message]:
    """Return the newest messages of the account, or of all accounts for the operator."""
    return await store.list_newest(conn, account_id=account_id, status=status, limit=limit)


def list_outbox(data_dir: Path) -> Sequence[Path]:
    """Return the `.eml` files of the development outbox, oldest first."""
    return FolderTransport(data_dir).list_files()


async def find_origins(conn: Conn, *, message_ids: Collection[UUID]) -> Mapping[UUID, Origin]:
    """Return the accounts and sending times of those messages that still exist. One statement."""
    return await store.find_origins(conn, message_ids=message_ids)


async def list_notices(conn: Conn, *, account_id: UUID, before: UUID, limit: int) -> Sequence[Message]:
    """Return the account's notices with ids below `before`, newest first; kept for 90 days."""
    return await store.list_notices(conn, account_id=account_id, before=before, limit=limit)
