"""Unsubscribe links, and the opt-out list, which is checked before an email is sent.

A link is self-contained, so it never expires.
"""

import json
from base64 import urlsafe_b64encode
from dataclasses import dataclass
from uuid import UUID

from builders.kit.db.connections import Conn, Database
from builders.kit.errors import TokenInvalid
from builders.kit.events import outbox
from builders.kit.process.secret_keys import Keyring, Resealed, Unsealable
from builders.kit.values import clock
from builders.mail import addresses, store
from builders.mail.events import MAIL_UNSUBSCRIBED, MailUnsubscribed
from builders.mail.links import decode_base64url
from builders.mail.records import Topic
from builders.mail.store import Optout

PATH = "/v1/mail/unsubscribe/"
REHASH_BATCH = 500
_LINK, _LIST = "mail.unsubscribe", "mail.optouts"


@dataclass(frozen=True, slots=True, kw_only=True)
class Subscription:
    """The topic and the address of an unsubscribe link."""

    account_id: UUID
    topic: Topic
    address: str


def link(keyring: Keyring, *, base_url: str, subscription: Subscription) -> str:
    """Return the unsubscribe link of a subscription."""
    fields = [str(subscription.account_id), subscription.topic, subscription.address]
    sealed = keyring.seal(_LINK, json.dumps(fields).encode(), context=b"")
    return f"{base_url}{PATH}{urlsafe_b64encode(sealed).rstrip(b'=').decode()}"


def get_subscription(keyring: Keyring, *, token: str) -> Subscription:
    """Return the subscription of an unsubscribe link. Raise TokenInvalid."""
    try:
        account_id, topic, address = json.loads(keyring.unseal(_LINK, decode_base64url(token), context=b""))
        return Subscription(account_id=UUID(account_id), topic=Topic(topic), address=address)
    except (Unsealable, ValueError):  # a removed topic is a ValueError
        raise TokenInvalid("The unsubscribe link is not valid; it may be incomplete.") from None


async def unsubscribe(conn: Conn, *, keyring: Keyring, token: str) -> Subscription:
    """Opt the address of the link out of its topic; can be repeated. Raise TokenInvalid."""
    ended = get_subscription(keyring, token=token)
    if await add(conn, keyring=keyring, address=ended.address, topic=ended.topic):
        data = MailUnsubscribed(topic=ended.topic, address=ended.address)
        await outbox.publish(conn, MAIL_UNSUBSCRIBED, account_id=ended.account_id, data=data)
    return ended


async def subscribe(conn: Conn, *, keyring: Keyring, address: str, topic: Topic) -> None:
    """Delete the opt-out of an address that requested email of the topic again."""
    await store.delete_optout(conn, hashes=keyring.hashes(_LIST, _hashed_text(address, topic)))


async def is_opted_out(conn: Conn, *, keyring: Keyring, address: str, topic: Topic) -> bool:
    """Return whether the address is opted out of the topic."""
    return await store.has_optout(conn, hashes=keyring.hashes(_LIST, _hashed_text(address, topic)))


async def add(conn: Conn, *, keyring: Keyring, address: str, topic: Topic) -> bool:
    """Opt the address out of the topic; False when it was opted out already."""
    if await is_opted_out(conn, keyring=keyring, address=address, topic=topic):
        return False
    text = _hashed_text(address, topic)
    return await store.add_optout(
        conn,
        digest=keyring.hash_token(_LIST, text),
        topic=topic,
        address=keyring.seal(_LIST, address.encode(), context=topic.encode()),
        now=clock.now(),
    )


async def rehash(database: Database, *, keyring: Keyring, batch_size: int = REHASH_BATCH) -> Resealed:
    """Protect the opt-outs by the first secret, so that older secrets can be removed; can be repeated."""
    done: list[bool | None] = []
    after: bytes | None = b""
    while after is not None:
        async with database.transaction() as conn:
            batch = await store.list_stale_optouts(conn, header=keyring.seal_header, after=after, limit=batch_size)
            done += [await _rehash(conn, keyring, each) for each in batch]
        after = batch[-1].hash if batch else None
    return Resealed(renewed=done.count(True), lost=done.count(None))


async def _rehash(conn: Conn, keyring: Keyring, old: Optout) -> bool | None:
    """Return whether the opt-out was rehashed; None when its secret is missing."""
    context = old.topic.encode()
    try:
        address = keyring.unseal(_LIST, old.address, context=context)
    except Unsealable:
        return None
    digest = keyring.hash_token(_LIST, _hashed_text(address.decode(), old.topic))
    sealed = keyring.seal(_LIST, address, context=context)
    return await store.rehash_optout(conn, digest=old.hash, new_digest=digest, new_address=sealed)


def _hashed_text(address: str, topic: str) -> str:
    """Return the text that is hashed. Destinations lose their tag: new tags must not evade the opt-out."""
    address = addresses.normal(address)
    return f"{topic}\n{addresses.untagged(address) if topic == Topic.DESTINATIONS else address}"
