"""The door of mail: send a letter, ask what became of it, and what its reader did with its links."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from uuid import UUID

from builders.kit.db.connections import Conn, Database
from builders.kit.errors import TokenInvalid
from builders.kit.events import outbox
from builders.kit.process.secret_keys import Keyring, Resealed
from builders.kit.values import clock, ids
from builders.kit.values.accounts import AccountSelection
from builders.mail import addresses, delivery, optouts, sealed, store
from builders.mail.addresses import (
    mask as mask,
)
from builders.mail.events import MAIL_FORGOTTEN, MAIL_UNSUBSCRIBED, MailForgotten, MailUnsubscribed
from builders.mail.folder import Folder
from builders.mail.letters import (
    write as write,
)
from builders.mail.links import (
    is_target as is_target,
    message_of as message_of,
    mint_links as mint_links,
    read_token as read_token,
)
from builders.mail.optouts import Subscription
from builders.mail.portfolio_notices import (
    PortfolioEvent as PortfolioEvent,
    Renewal as Renewal,
    RenewalNotice as RenewalNotice,
)
from builders.mail.records import Letter, Message, Origin, Status, Topic
from builders.mail.store import (
    KEPT as KEPT,
    Key,
    Reply,
)

# Tracked links, as the tracking room redeems them.


async def send(
    conn: Conn, *, keyring: Keyring, account_id: UUID, to: str, letter: Letter, expires_at: datetime | None = None
) -> UUID:
    """Has the letter sent once the transaction of `conn` commits; the message's id.

    After `expires_at` it is not sent any more: a code that no longer works helps nobody. A reader who wants no
    more of the letter's topic gets nothing, and the message is `suppressed`.
    """
    key = Key(account_id=account_id, id=ids.new())
    out = letter.topic is not None and await optouts.is_out(conn, keyring, address=to, topic=letter.topic)
    await store.insert(
        conn,
        key=key,
        letter=letter.name,
        category=letter.category,
        recipient=addresses.mask(to),
        content=None if out else sealed.seal(keyring, key=key, to=to, letter=letter),
        status=Status.SUPPRESSED if out else Status.QUEUED,
        expires_at=expires_at,
        next_try_at=None if out else clock.now() + delivery.AGAIN,
    )
    if not out:
        await delivery.enqueue(conn, key)
    return key.id


async def withdraw(conn: Conn, *, account_id: UUID, message_id: UUID) -> bool:
    """Stops a message that is not sent yet, and forgets what was to be said; False when it was final."""
    key = Key(account_id=account_id, id=message_id)
    return await store.finish(conn, key=key, status=Status.SUPPRESSED, reply=Reply())


async def forget(conn: Conn, *, account_id: UUID, address: str, message_ids: Collection[UUID]) -> None:
    """Removes the messages, and what was told of their address; publishes mail.forgotten.

    That the address wants no more of a topic is kept, sealed: else it would get more.
    """
    await store.forget(conn, account_id=account_id, message_ids=message_ids)
    await outbox.delete_events(conn, MAIL_UNSUBSCRIBED, account_id=account_id, member="address", value=address)
    if message_ids:
        data = MailForgotten(message_ids=list(message_ids))
        await outbox.publish(conn, MAIL_FORGOTTEN, account_id=account_id, data=data)


async def find_message(conn: Conn, *, account_id: UUID, message_id: UUID) -> Message | None:
    """A message of the account, and where it stands; kept for 90 days."""
    return await store.find(conn, key=Key(account_id=account_id, id=message_id))


async def list_messages(
    conn: Conn, *, account_id: AccountSelection, status: Status | None = None, limit: int = 50
) -> Sequence[Message]:
    """The newest messages of the account; for the operator, of all accounts."""
    return await store.list_newest(conn, account_id=account_id, status=status, limit=limit)


def list_outbox(data_dir: Path) -> Sequence[Path]:
    """The messages of the dev outbox, oldest first, as `.eml` files."""
    return Folder(data_dir).list_files()


def unsubscribe_link(keyring: Keyring, *, base_url: str, account_id: UUID, topic: Topic, address: str) -> str:
    """Where a reader ends mail of the topic, for mail that leaves by other ways than ours."""
    about = Subscription(account_id=account_id, topic=topic, address=address)
    return optouts.link(keyring, base_url=base_url, subscription=about)


async def find_origins(conn: Conn, *, message_ids: Collection[UUID]) -> Mapping[UUID, Origin]:
    """The accounts of messages, and when they were sent; without those that are gone. One statement."""
    return await store.find_origins(conn, message_ids=message_ids)


async def list_notices(conn: Conn, *, account_id: UUID, before: UUID, limit: int) -> Sequence[Message]:
    """The account's notices with ids below `before`, newest first; kept for 90 days."""
    return await store.list_notices(conn, account_id=account_id, before=before, limit=limit)


def get_subscription(keyring: Keyring, *, token: str) -> Subscription:
    """What an unsubscribe link is about. Raises TokenInvalid."""
    found = optouts.find_subscription(keyring, token)
    if found is None:
        raise TokenInvalid("The link is not one of ours, or it was cut on its way.")
    return found


async def unsubscribe(conn: Conn, *, keyring: Keyring, token: str) -> Subscription:
    """Ends what the link is about, at once and for good; can be repeated. Raises TokenInvalid."""
    ended = get_subscription(keyring, token=token)
    if await optouts.add(conn, keyring, address=ended.address, topic=ended.topic):
        data = MailUnsubscribed(topic=ended.topic, address=ended.address)
        await outbox.publish(conn, MAIL_UNSUBSCRIBED, account_id=ended.account_id, data=data)
    return ended


async def subscribe(conn: Conn, *, keyring: Keyring, address: str, topic: Topic) -> None:
    """Forgets that the reader wanted no more of the topic: they have asked for it again."""
    await optouts.drop(conn, keyring, address=address, topic=topic)


async def rehash_optouts(database: Database, *, keyring: Keyring) -> Resealed:
    """Has the first secret keep who wants no mail, so that those before may go; can be repeated."""
    return await optouts.rehash(database, keyring)
