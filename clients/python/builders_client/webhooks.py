"""Verification of webhook requests (Standard Webhooks 1.0.0)."""

import base64
import binascii
import hmac
import time
from collections.abc import Mapping, Sequence

from pydantic import ValidationError

from builders_client.generated.models.webhooks import FeedEvent
from builders_client.problems import SignatureMismatch

TOLERANCE_S = 300.0
_PREFIX = "whsec_"
_VERSION = "v1"


def verify(
    body: bytes | str,
    headers: Mapping[str, str],
    secret: str | Sequence[str],
    *,
    tolerance: float = TOLERANCE_S,
    now: float | None = None,
) -> FeedEvent:
    """Return the event of a webhook request. Raise SignatureMismatch unless the service signed it.

    `body` is the raw body, before any parsing. With a sequence of secrets, one of them must match: the old and
    the new one during a rotation. `tolerance` is the number of seconds by which the time of the request may differ
    from the clock. A request can arrive more than once: ignore an event with an `id` that you have processed.
    """
    raw = body.encode() if isinstance(body, str) else body
    given = {name.lower(): value for name, value in headers.items()}
    try:
        event_id, sent_at = given["webhook-id"], given["webhook-timestamp"]
        signatures = given["webhook-signature"].split()
        age = abs((time.time() if now is None else now) - int(sent_at))
    except (KeyError, ValueError) as error:
        raise SignatureMismatch(
            "The request lacks a webhook-id, webhook-timestamp or webhook-signature."
        ) from error
    if age > tolerance:
        raise SignatureMismatch(
            f"The request was signed {age:.0f} s from now, which is more than {tolerance:.0f} s."
        )
    signed = f"{event_id}.{sent_at}.".encode() + raw
    expected = [_sign(each, signed) for each in ([secret] if isinstance(secret, str) else secret)]
    # All pairs are compared, each in constant time.
    if not any([hmac.compare_digest(ours, theirs.encode()) for ours in expected for theirs in signatures]):  # noqa: C419 - all
        raise SignatureMismatch("The request was not signed with the secret.")
    try:
        return FeedEvent.model_validate_json(raw)
    except ValidationError as error:
        raise SignatureMismatch("The signed body is not an event.") from error


def sign(body: bytes, secret: str, *, event_id: str, now: float | None = None) -> dict[str, str]:
    """Return the headers that the service would send with the body, such as to test or to feed a receiver."""
    sent_at = str(int(time.time() if now is None else now))
    signature = _sign(secret, f"{event_id}.{sent_at}.".encode() + body).decode()
    return {
        "content-type": "application/json",
        "webhook-id": event_id,
        "webhook-timestamp": sent_at,
        "webhook-signature": signature,
    }


def _sign(secret: str, signed: bytes) -> bytes:
    return f"{_VERSION},".encode() + base64.b64encode(hmac.digest(_key(secret), signed, "sha256"))


def _key(secret: str) -> bytes:
    """Return the key of a secret: its text, or base64 after a prefix."""
    if not secret.startswith(_PREFIX):
        return secret.encode()
    try:
        return base64.b64decode(secret.removeprefix(_PREFIX), validate=True)
    except binascii.Error as error:
        raise ValueError(f"the text after {_PREFIX} is not base64") from error
