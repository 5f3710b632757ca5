"""The public interface of mail: send an email, read its delivery state, unsubscribe, and check tracked links."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from uuid import UUID

from builders.kit.db.connections import Conn, Database
from builders.kit.errors import TokenInvalid
from builders.kit.events import outbox
from builders.kit.process.secret_keys import Keyring, Resealed
from builders.kit.values import clock, ids
from builders.kit.values.ids import AccountSelection
from builders.mail import addresses, delivery, optouts, store
from builders.mail.events import MAIL_FORGOTTEN, MAIL_UNSUBSCRIBED, MailForgotten, MailUnsubscribed
from builders.mail.optouts import Subscription
from builders.mail.records import Message, Origin, Status, Topic
from builders.mail.store import Key, Reply
from builders.mail.templates import (
    EmailTemplate,
)
from builders.mail.transport import FolderTransport


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
    key = Key(account_id=account_id, id=ids.new())
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
    key = Key(account_id=account_id, id=message_id)
    return await store.finish(conn, key=key, status=Status.SUPPRESSED, reply=Reply())


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
    return await store.find(conn, key=Key(account_id=account_id, id=message_id))


async def list_messages(
    conn: Conn, *, account_id: AccountSelection, status: Status | None = None, limit: int = 50
) -> Sequence[Message]:
    """Return the newest messages of the account, or of all accounts for the operator."""
    return await store.list_newest(conn, account_id=account_id, status=status, limit=limit)


def list_outbox(data_dir: Path) -> Sequence[Path]:
    """Return the `.eml` files of the development outbox, oldest first."""
    return FolderTransport(data_dir).list_files()


def unsubscribe_link(keyring: Keyring, *, base_url: str, account_id: UUID, topic: Topic, address: str) -> str:
    """Return the unsubscribe link of a topic, for email that other systems send."""
    about = Subscription(account_id=account_id, topic=topic, address=address)
    return optouts.link(keyring, base_url=base_url, subscription=about)


async def find_origins(conn: Conn, *, message_ids: Collection[UUID]) -> Mapping[UUID, Origin]:
    """Return the accounts and sending times of those messages that still exist. One statement."""
    return await store.find_origins(conn, message_ids=message_ids)


async def list_notices(conn: Conn, *, account_id: UUID, before: UUID, limit: int) -> Sequence[Message]:
    """Return the account's notices with ids below `before`, newest first; kept for 90 days."""
    return await store.list_notices(conn, account_id=account_id, before=before, limit=limit)


def get_subscription(keyring: Keyring, *, token: str) -> Subscription:
    """Return the subscription of an unsubscribe link. Raise TokenInvalid."""
    found = optouts.find_subscription(keyring, token)
    if found is None:
        raise TokenInvalid("The unsubscribe link is not valid; it may be incomplete.")
    return found


async def unsubscribe(conn: Conn, *, keyring: Keyring, token: str) -> Subscription:
    """Opt the address of the link out of its topic; can be repeated. Raise TokenInvalid."""
    ended = get_subscription(keyring, token=token)
    if await optouts.add(conn, keyring=keyring, address=ended.address, topic=ended.topic):
        data = MailUnsubscribed(topic=ended.topic, address=ended.address)
        await outbox.publish(conn, MAIL_UNSUBSCRIBED, account_id=ended.account_id, data=data)
    return ended


async def subscribe(conn: Conn, *, keyring: Keyring, address: str, topic: Topic) -> None:
    """Delete the opt-out of an address that requested email of the topic again."""
    await optouts.delete(conn, keyring=keyring, address=address, topic=topic)


async def rehash_optouts(
    database: Database, *, keyring: Keyring, batch_size: int = optouts.REHASH_BATCH
) -> Resealed:
    """Protect the opt-outs by the first secret, so that older secrets can be removed; can be repeated."""
    return await optouts.rehash(database, keyring=keyring, batch_size=batch_size)
