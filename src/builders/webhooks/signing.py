"""The headers of a webhook, signed as Standard Webhooks 1.0.0 says: over the very bytes that are sent."""

import binascii
import hmac
import os
from base64 import b64decode, b64encode
from collections.abc import Sequence
from datetime import datetime
from typing import Protocol
from uuid import UUID

from builders.kit.db.connections import Conn, Database
from builders.kit.process.secret_keys import Keyring, Resealed, Unsealable
from builders.kit.values import clock
from builders.webhooks.records import SignedRequest
from builders.webhooks.store import secrets as store
from builders.webhooks.store.secrets import SealedSecrets, StoredSecret


def sign(keys: Sequence[bytes], *, event_id: UUID, timestamp: int, body: bytes) -> str:
    """One entry for each key, the present one first: `v1,` and the base64 of an HMAC-SHA256."""
    signed = f"{event_id}.{timestamp}.".encode() + body
    return " ".join(f"v1,{b64encode(hmac.digest(key, signed, 'sha256')).decode('ascii')}" for key in keys)


def signed_headers(
    keys: Sequence[bytes], *, event_id: UUID, body: bytes, n: int, test: bool, now: datetime
) -> dict[str, str]:
    """The headers of the n-th attempt; receivers refuse a timestamp that is minutes old, so sign when sending."""
    timestamp = int(now.timestamp())
    return {
        "content-type": "application/json",
        "webhook-id": str(event_id),
        "webhook-timestamp": str(timestamp),
        "webhook-signature": sign(keys, event_id=event_id, timestamp=timestamp, body=body),
        "webhook-attempt": str(n),
        **({"webhook-test": "true"} if test else {}),
    }


SECRET_PREFIX = "whsec_"  # noqa: S105 - what a secret begins with
MIN_KEY_BYTES, NEW_KEY_BYTES, MAX_KEY_BYTES = 24, 32, 64  # of a key behind the prefix
MIN_LENGTH, MAX_LENGTH = 16, 256  # characters of another text
PURPOSE = "webhooks/secret"
_HINT_LENGTH, _MIN_HINTED_LENGTH = 4, 32  # characters that may be shown, of a secret that has so many


def generate_secret() -> str:
    """A new secret: 32 random bytes."""
    return SECRET_PREFIX + b64encode(os.urandom(NEW_KEY_BYTES)).decode("ascii")


def find_secret_error(text: str) -> str | None:
    """What is wrong with a secret that was given, without a word of it; None when it will do."""
    if text.startswith(SECRET_PREFIX):
        decoded = _decode(text)
        if decoded is None:
            return f"What follows {SECRET_PREFIX} must be base64, in the standard alphabet and padded."
        if not MIN_KEY_BYTES <= len(decoded) <= MAX_KEY_BYTES:
            return f"What follows {SECRET_PREFIX} must be the base64 of {MIN_KEY_BYTES} to {MAX_KEY_BYTES} bytes."
        return None
    if not MIN_LENGTH <= len(text) <= MAX_LENGTH:
        return f"A secret has {MIN_LENGTH} to {MAX_LENGTH} characters, or is {SECRET_PREFIX} and base64."
    return None if text.isprintable() else "A secret is of printable characters."


def key_of(text: str) -> bytes:
    """The bytes that sign. Raises ValueError for what `refusal` refuses."""
    wrong = find_secret_error(text)
    if wrong is not None:
        raise ValueError(wrong)
    return (_decode(text) or b"") if text.startswith(SECRET_PREFIX) else text.encode()


def hint_of(text: str) -> str:
    """The end of the secret, by which its owner knows it; nothing of a short one, which it would help to guess."""
    return text.rstrip("=")[-_HINT_LENGTH:] if len(text) >= _MIN_HINTED_LENGTH else ""  # the padding says nothing


def seal_secret(keyring: Keyring, text: str, *, account_id: UUID, destination_id: UUID) -> bytes:
    """The secret as it is kept; it opens for this destination alone."""
    return keyring.seal(PURPOSE, text.encode(), context=_context(account_id, destination_id))


def stored_secret(
    keyring: Keyring, text: str, *, account_id: UUID, destination_id: UUID, is_unseen: bool = False
) -> StoredSecret:
    """Return the secret of a new destination as it is stored."""
    sealed = seal_secret(keyring, text, account_id=account_id, destination_id=destination_id)
    return StoredSecret(sealed=sealed, hint=hint_of(text), is_unseen=is_unseen)


def unseal_secret(keyring: Keyring, sealed: bytes, *, account_id: UUID, destination_id: UUID) -> str:
    """The secret again. Raises Unsealable."""
    return keyring.unseal(PURPOSE, sealed, context=_context(account_id, destination_id)).decode()


def _context(account_id: UUID, destination_id: UUID) -> bytes:
    return account_id.bytes + destination_id.bytes


def _decode(text: str) -> bytes | None:
    try:
        return b64decode(text.removeprefix(SECRET_PREFIX), validate=True)
    except (binascii.Error, ValueError):
        return None


class Receiver(Protocol):
    """Where a request goes, and what signs it: a claim, or a destination that is only shown what it would get."""

    @property
    def account_id(self) -> UUID:
        """Whose destination it is."""

    @property
    def destination_id(self) -> UUID:
        """The destination."""

    @property
    def url(self) -> str:
        """Where it goes."""

    @property
    def secret(self) -> bytes:
        """Sealed."""

    @property
    def old_secret(self) -> bytes | None:
        """Sealed; signs too. None when its time is over."""


def render_request(
    keyring: Keyring, receiver: Receiver, *, event_id: UUID, body: str, n: int, test: bool = False, now: datetime
) -> SignedRequest:
    """The n-th request for an event, signed as of now. Raises Unsealable."""
    headers = signed_headers(
        _signing_keys(keyring, receiver), event_id=event_id, body=body.encode(), n=n, test=test, now=now
    )
    return SignedRequest(
        webhook_id=receiver.destination_id, method="POST", url=receiver.url, headers=headers, body=body
    )


def _signing_keys(keyring: Keyring, receiver: Receiver) -> list[bytes]:
    owner = {"account_id": receiver.account_id, "destination_id": receiver.destination_id}
    sealed = [each for each in (receiver.secret, receiver.old_secret) if each is not None]
    return [key_of(unseal_secret(keyring, each, **owner)) for each in sealed]


RESEAL_BATCH = 200  # destinations in a transaction
_FIRST = UUID(int=0), UUID(int=0)  # before every destination


async def reseal_secrets(database: Database, *, keyring: Keyring) -> Resealed:
    """Has the first secret key seal what others did; can be repeated. A rotation meanwhile is not undone."""
    done: list[bool | None] = []
    after: tuple[UUID, UUID] | None = _FIRST
    while after is not None:
        async with database.transaction() as conn:
            batch = await store.list_stale(
                conn, header=keyring.seal_header, after=after, limit=RESEAL_BATCH, now=clock.now()
            )
            done += [
                await _reseal_secret(conn, keyring, each, secret)
                for each in batch
                for secret in (each.secret, each.old_secret)
                if secret is not None and keyring.needs_reseal(secret)
            ]
        after = (batch[-1].account_id, batch[-1].id) if batch else None
    return Resealed(renewed=done.count(True), lost=done.count(None))


async def _reseal_secret(conn: Conn, keyring: Keyring, of: SealedSecrets, secret: bytes) -> bool | None:
    """Whether it was; None when it cannot be opened."""
    try:
        text = unseal_secret(keyring, secret, account_id=of.account_id, destination_id=of.id)
    except Unsealable:
        return None
    again = seal_secret(keyring, text, account_id=of.account_id, destination_id=of.id)
    return await store.reseal(conn, account_id=of.account_id, destination_id=of.id, before=secret, after=again)
