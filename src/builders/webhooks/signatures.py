"""Signing secrets of destinations, and requests signed with them (Standard Webhooks 1.0.0).

A secret that begins with `whsec_` is the base64 of the key; of any other secret, the UTF-8 bytes are the key.
Secrets are stored sealed: encrypted under a secret key of the service.
"""

import binascii
import hmac
import os
from base64 import b64decode, b64encode
from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from builders.kit.db import account_tables
from builders.kit.db.connections import Conn, Database
from builders.kit.process.secret_keys import Keyring, Resealed, Unsealable
from builders.kit.values import clock, texts
from builders.webhooks.records import SignedRequest
from builders.webhooks.store import destinations as store
from builders.webhooks.store.destinations import Receiver, StoredSecret

SECRET_PREFIX = "whsec_"  # noqa: S105 - what a secret begins with
MIN_KEY_BYTES, NEW_KEY_BYTES, MAX_KEY_BYTES = 24, 32, 64  # of a key, after the prefix
MIN_LENGTH, MAX_LENGTH = 16, 256  # characters of a secret without the prefix
MIN_VISIBLE = 8  # of these; blanks are a secret that anybody tries
PURPOSE = "webhooks/secret"
_HINT_LENGTH, _MIN_HINTED_LENGTH = 4, 32  # characters shown, and of a secret that is long enough for a hint
RESEAL_BATCH = 200  # destinations per transaction
_FIRST = UUID(int=0), UUID(int=0)  # (account id, destination id) before all others


def sign(keys: Sequence[bytes], *, event_id: UUID, timestamp: int, body: bytes) -> str:
    """Return the signature: for each key, the current one first, `v1,` and the base64 of an HMAC-SHA256."""
    signed = f"{event_id}.{timestamp}.".encode() + body
    return " ".join(f"v1,{b64encode(hmac.digest(key, signed, 'sha256')).decode('ascii')}" for key in keys)


def signed_headers(
    keys: Sequence[bytes], *, event_id: UUID, body: bytes, n: int, test: bool, now: datetime
) -> dict[str, str]:
    """Return the headers of attempt `n`. Sign just before sending: receivers reject an old timestamp."""
    timestamp = int(now.timestamp())
    return {
        "content-type": "application/json",
        "webhook-id": str(event_id),
        "webhook-timestamp": str(timestamp),
        "webhook-signature": sign(keys, event_id=event_id, timestamp=timestamp, body=body),
        "webhook-attempt": str(n),
        **({"webhook-test": "true"} if test else {}),
    }


def generate_secret() -> str:
    """Return a new secret of 32 random bytes."""
    return SECRET_PREFIX + b64encode(os.urandom(NEW_KEY_BYTES)).decode("ascii")


def find_secret_error(text: str) -> str | None:
    """Return the error of a secret from a user, without quoting it, or None when it is valid."""
    error = _find_form_error(text)
    if error is None and len(texts.visible(text)) < MIN_VISIBLE:
        error = f"A secret must have at least {MIN_VISIBLE} visible characters."
    return error


def _find_form_error(text: str) -> str | None:
    if text.startswith(SECRET_PREFIX):
        decoded = _decode(text)
        if decoded is None:
            return f"The text after {SECRET_PREFIX} must be base64, in the standard alphabet and padded."
        if not MIN_KEY_BYTES <= len(decoded) <= MAX_KEY_BYTES:
            return (
                f"The text after {SECRET_PREFIX} must be the base64 of {MIN_KEY_BYTES} to {MAX_KEY_BYTES} bytes."
            )
        return None
    if not MIN_LENGTH <= len(text) <= MAX_LENGTH:
        return f"A secret has {MIN_LENGTH} to {MAX_LENGTH} characters, or is {SECRET_PREFIX} and base64."
    return None if text.isprintable() else "A secret must have only printable characters."


def key_of(text: str) -> bytes:
    """Return the key of a secret. Raise ValueError for one that is not valid."""
    error = _find_form_error(text)
    if error is not None:
        raise ValueError(error)
    return (_decode(text) or b"") if text.startswith(SECRET_PREFIX) else text.encode()


def hint_of(text: str) -> str:
    """Return the last characters of the secret, for its owner to recognize it; none of a short one."""
    return text.rstrip("=")[-_HINT_LENGTH:] if len(text) >= _MIN_HINTED_LENGTH else ""  # without the padding


def seal_secret(keyring: Keyring, text: str, *, account_id: UUID, destination_id: UUID) -> bytes:
    """Return the secret encrypted for this destination alone."""
    return keyring.seal(PURPOSE, text.encode(), context=_context(account_id, destination_id))


def stored_secret(
    keyring: Keyring, text: str, *, account_id: UUID, destination_id: UUID, is_unseen: bool = False
) -> StoredSecret:
    """Return the stored form of the secret of a new destination."""
    sealed = seal_secret(keyring, text, account_id=account_id, destination_id=destination_id)
    return StoredSecret(sealed=sealed, hint=hint_of(text), is_unseen=is_unseen)


def unseal_secret(keyring: Keyring, sealed: bytes, *, account_id: UUID, destination_id: UUID) -> str:
    """Return the decrypted secret. Raise Unsealable."""
    return keyring.unseal(PURPOSE, sealed, context=_context(account_id, destination_id)).decode()


def _context(account_id: UUID, destination_id: UUID) -> bytes:
    return account_id.bytes + destination_id.bytes


def _decode(text: str) -> bytes | None:
    try:
        return b64decode(text.removeprefix(SECRET_PREFIX), validate=True)
    except (binascii.Error, ValueError):
        return None


def render_request(
    keyring: Keyring, receiver: Receiver, *, event_id: UUID, body: str, n: int, test: bool = False, now: datetime
) -> SignedRequest:
    """Return the request of attempt `n`, signed with the time `now`. Raise Unsealable."""
    owner = {"account_id": receiver.account_id, "destination_id": receiver.destination_id}
    sealed = [each for each in (receiver.secret, receiver.old_secret) if each is not None]
    keys = [key_of(unseal_secret(keyring, each, **owner)) for each in sealed]
    headers = signed_headers(keys, event_id=event_id, body=body.encode(), n=n, test=test, now=now)
    return SignedRequest(
        webhook_id=receiver.destination_id, method="POST", url=receiver.url, headers=headers, body=body
    )


async def reseal_secrets(database: Database, *, keyring: Keyring, batch_size: int = RESEAL_BATCH) -> Resealed:
    """Seal all signing secrets under the first secret key, in batches. Idempotent; keeps concurrent rotations."""
    done: list[bool | None] = []
    after: tuple[UUID, UUID] | None = _FIRST
    while after is not None:
        async with database.transaction() as conn:
            batch = await store.list_stale(
                conn,
                header=keyring.seal_header,
                after_account=after[0],
                after_destination=after[1],
                limit=batch_size,
                now=clock.now(),
            )
            done += [
                await _reseal_secret(conn, keyring, each, secret)
                for each in batch
                for secret in (each.secret, each.old_secret)
                if secret is not None and keyring.needs_reseal(secret)
            ]
        after = (batch[-1].account_id, batch[-1].destination_id) if batch else None
    return Resealed(renewed=done.count(True), lost=done.count(None))


async def _reseal_secret(conn: Conn, keyring: Keyring, of: Receiver, secret: bytes) -> bool | None:
    """Return whether the secret was replaced, or None when no secret key unseals it."""
    owner = {"account_id": of.account_id, "destination_id": of.destination_id}
    try:
        again = seal_secret(keyring, unseal_secret(keyring, secret, **owner), **owner)
    except Unsealable:
        return None
    return await store.reseal(conn, **owner, before=secret, after=again)


account_tables.declare_sealed(
    "webhooks_destinations", "secret", "old_secret", purpose=PURPOSE, context=_context, of=("account_id", "id")
)
