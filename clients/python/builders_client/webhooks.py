"""Verification of webhook requests (Standard Webhooks 1.0.0)."""

import base64
import hmac
import re
import time
from collections.abc import Mapping, Sequence

from pydantic import ValidationError

from builders_client.generated.models.webhooks import FeedEvent
from builders_client.problems import SecretInvalid, SignatureMismatch

TOLERANCE_S = 300.0
_PREFIX = "whsec_"
_VERSION = "v1"
_SECONDS = re.compile(r"[0-9]{1,12}")
_INCOMPLETE = "The request lacks a webhook-id, webhook-timestamp or webhook-signature."


def verify(
    body: bytes | str,
    headers: Mapping[str, str],
    secret: str | Sequence[str],
    *,
    tolerance: float = TOLERANCE_S,
    now: float | None = None,
) -> FeedEvent:
    """Return the event of a webhook request. Raise SignatureMismatch unless the service signed it.

    Raise SecretInvalid for a secret that is empty or blank, whose signatures anybody can make.

    `body` is the raw body, before any parsing. With a sequence of secrets, one of them must match: the old and
    the new one during a rotation. `tolerance` is the number of seconds by which the time of the request may differ
    from the clock. A request can arrive more than once: ignore an event with an `id` that you have processed.
    """
    keys = [_key(each) for each in ([secret] if isinstance(secret, str) else secret)]
    given = {name.lower(): value for name, value in headers.items()}
    try:
        raw = body.encode() if isinstance(body, str) else body
        event_id, sent_at = given["webhook-id"], given["webhook-timestamp"]
        signatures = given["webhook-signature"].encode().split()
        signed = f"{event_id}.{sent_at}.".encode() + raw
    except (KeyError, UnicodeEncodeError) as error:  # a byte that is not text becomes a lone surrogate in a header
        raise SignatureMismatch(_INCOMPLETE) from error
    if not _SECONDS.fullmatch(sent_at):
        raise SignatureMismatch(_INCOMPLETE)
    age = abs((time.time() if now is None else now) - int(sent_at))
    if age > tolerance:
        raise SignatureMismatch(
            f"The request was signed {age:.0f} s from now, which is more than {tolerance:.0f} s."
        )
    expected = [_sign(key, signed) for key in keys]
    # All pairs are compared, each in constant time.
    if not any([hmac.compare_digest(ours, theirs) for ours in expected for theirs in signatures]):  # noqa: C419 - all
        raise SignatureMismatch("The request was not signed with the secret.")
    try:
        return FeedEvent.model_validate_json(raw)
    except ValidationError as error:
        raise SignatureMismatch("The signed body is not an event.") from error


def sign(body: bytes, secret: str, *, event_id: str, now: float | None = None) -> dict[str, str]:
    """Return the headers that the service would send with the body, such as to test or to feed a receiver."""
    sent_at = str(int(time.time() if now is None else now))
    signature = _sign(_key(secret), f"{event_id}.{sent_at}.".encode() + body).decode()
    return {
        "content-type": "application/json",
        "webhook-id": event_id,
        "webhook-timestamp": sent_at,
        "webhook-signature": signature,
    }


def _sign(key: bytes, signed: bytes) -> bytes:
    return f"{_VERSION},".encode() + base64.b64encode(hmac.digest(key, signed, "sha256"))


def _key(secret: str) -> bytes:
    """Return the key of a secret: its text, or base64 after a prefix. Raise SecretInvalid."""
    text = secret.removeprefix(_PREFIX)
    try:
        key = text.encode() if text == secret else base64.b64decode(text, validate=True)
    except ValueError as error:
        raise SecretInvalid(f"the text after {_PREFIX} is not base64") from error
    if not key.strip() or all(each == " " or not each.isprintable() for each in text):
        raise SecretInvalid("the secret is empty")
    return key
