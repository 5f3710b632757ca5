"""The headers of a webhook, signed as Standard Webhooks 1.0.0 says: over the very bytes that are sent."""

import hmac
from base64 import b64encode
from collections.abc import Sequence
from datetime import datetime
from uuid import UUID


def signature(keys: Sequence[bytes], *, event_id: UUID, timestamp: int, body: bytes) -> str:
    """One entry for each key, the present one first: `v1,` and the base64 of an HMAC-SHA256."""
    signed = f"{event_id}.{timestamp}.".encode() + body
    return " ".join(f"v1,{b64encode(hmac.digest(key, signed, 'sha256')).decode('ascii')}" for key in keys)


def headers(
    keys: Sequence[bytes], *, event_id: UUID, body: bytes, n: int, test: bool, now: datetime
) -> dict[str, str]:
    """The headers of the n-th attempt; receivers refuse a timestamp that is minutes old, so sign when sending."""
    timestamp = int(now.timestamp())
    return {
        "content-type": "application/json",
        "webhook-id": str(event_id),
        "webhook-timestamp": str(timestamp),
        "webhook-signature": signature(keys, event_id=event_id, timestamp=timestamp, body=body),
        "webhook-attempt": str(n),
        **({"webhook-test": "true"} if test else {}),
    }
