"""Who wants no more of what: links to say so, and the list that is asked before anything is sent.

A link is self-contained, so it works for as long as the mail lies in somebody's inbox.
"""

import json
from base64 import urlsafe_b64encode
from dataclasses import dataclass
from uuid import UUID

from builders.kit.db.connections import Conn, Database
from builders.kit.process.secret_keys import Keyring, Resealed, Unsealable
from builders.kit.values import clock
from builders.mail import addresses, store
from builders.mail.links import decoded
from builders.mail.records import Topic
from builders.mail.store import Optout

PATH = "/v1/mail/unsubscribe/"
REHASHED_AT_ONCE = 500
_LINK, _LIST = "mail.unsubscribe", "mail.optouts"


@dataclass(frozen=True, slots=True, kw_only=True)
class Subscription:
    """What an unsubscribe link is about."""

    account_id: UUID
    topic: Topic
    address: str


def link(keyring: Keyring, *, base_url: str, subscription: Subscription) -> str:
    """Where the reader ends it."""
    fields = [str(subscription.account_id), subscription.topic, subscription.address]
    sealed = keyring.seal(_LINK, json.dumps(fields).encode(), context=b"")
    return f"{base_url}{PATH}{urlsafe_b64encode(sealed).rstrip(b'=').decode()}"


def find_subscription(keyring: Keyring, token: str) -> Subscription | None:
    """What the link of this token is about; None for what was not made here."""
    try:
        account_id, topic, address = json.loads(keyring.unseal(_LINK, decoded(token), context=b""))
        return Subscription(account_id=UUID(account_id), topic=Topic(topic), address=address)
    except (Unsealable, ValueError):  # of a topic that is no more
        return None


async def is_out(conn: Conn, keyring: Keyring, *, address: str, topic: Topic) -> bool:
    """Whether the reader wants no more of the topic."""
    return await store.has_optout(conn, hashes=keyring.hashes(_LIST, _named(address, topic)))


async def add(conn: Conn, keyring: Keyring, *, address: str, topic: Topic) -> bool:
    """Takes the reader at their word; False when it was known."""
    if await is_out(conn, keyring, address=address, topic=topic):
        return False
    named = _named(address, topic)
    return await store.add_optout(
        conn,
        digest=keyring.hash_token(_LIST, named),
        topic=topic,
        address=keyring.seal(_LIST, address.encode(), context=topic.encode()),
        now=clock.now(),
    )


async def drop(conn: Conn, keyring: Keyring, *, address: str, topic: Topic) -> None:
    """The reader wants the topic again."""
    await store.drop_optout(conn, hashes=keyring.hashes(_LIST, _named(address, topic)))


async def rehash(database: Database, keyring: Keyring) -> Resealed:
    """Has the first secret hash and seal what others did."""
    done: list[bool | None] = []
    after: bytes | None = b""
    while after is not None:
        async with database.transaction() as conn:
            batch = await store.list_stale_optouts(
                conn, header=keyring.seal_header, after=after, limit=REHASHED_AT_ONCE
            )
            done += [await _rehash(conn, keyring, each) for each in batch]
        after = batch[-1].hash if batch else None
    return Resealed(renewed=done.count(True), lost=done.count(None))


async def _rehash(conn: Conn, keyring: Keyring, old: Optout) -> bool | None:
    """Whether it was; None when it cannot be opened."""
    context = old.topic.encode()
    try:
        address = keyring.unseal(_LIST, old.address, context=context)
    except Unsealable:
        return None
    digest = keyring.hash_token(_LIST, _named(address.decode(), old.topic))
    sealed = keyring.seal(_LIST, address, context=context)
    return await store.rehash_optout(conn, digest=old.hash, new_digest=digest, new_address=sealed)


def _named(address: str, topic: str) -> str:
    """For destinations without a tag: else who names readers by ever new tags would be rid of the list."""
    address = addresses.normal(address)
    return f"{topic}\n{addresses.untagged(address) if topic == Topic.DESTINATIONS else address}"
