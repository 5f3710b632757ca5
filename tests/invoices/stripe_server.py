"""A fake Stripe server: Checkout sessions, idempotency keys, error bodies and signed webhooks.

docs.stripe.com: /api/checkout/sessions/create, /api/idempotent_requests, /api/errors, /webhooks/signature.
"""

import asyncio
import hashlib
import hmac
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import parse_qsl

from pydantic import SecretStr

from builders.app import Service
from builders.kit.values import clock, ids
from tests.kit.outbound.receivers import Receiver
from tests.webhooks.reaching import reachable

KEY = "sk_test_51NotARealKeyOfAnybody"
SECRET = "whsec_of_these_tests_alone"
COMPLETED = "checkout.session.completed"
SESSIONS = "/v1/checkout/sessions"

Json = dict[str, Any]


class StripeServer:
    """Answers like Stripe, and records the requests."""

    def __init__(self) -> None:
        self.url = ""
        self.asked: list[Json] = []  # parameters of each request for a session
        self.heads: list[dict[str, str]] = []
        self.sessions: list[Json] = []
        self.others: list[bytes] = []  # requests to other paths: delivered webhooks
        self.failures: list[tuple[int, Json]] = []  # returned first, one per request
        self.unanswered = 0  # number of sessions to create without a response
        self.receiver: Receiver | None = None
        self._kept: dict[str, tuple[Json, int, Json]] = {}  # by idempotency key

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the request that the receiver has read."""
        del reader
        assert self.receiver is not None
        raw = self.receiver.requests[-1]
        head, _, body = raw.partition(b"\r\n\r\n")
        if SESSIONS.encode() not in head.split(b"\r\n")[0]:
            self.others.append(raw)
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")
            writer.close()
            return
        status, reply = (
            self._list(_fields(head))
            if head.startswith(b"GET ")
            else self._create(_fields(head), dict(parse_qsl(body.decode())))
        )
        if self.unanswered:
            self.unanswered -= 1
            writer.close()
            return
        text = json.dumps(reply).encode()
        writer.write(
            b"HTTP/1.1 %d X\r\nContent-Type: application/json\r\nRequest-Id: req_1\r\nContent-Length: %d\r\n"
            b"Connection: close\r\n\r\n" % (status, len(text))
        )
        writer.write(text)
        writer.close()

    def _list(self, fields: dict[str, str]) -> tuple[int, Json]:
        if fields.get("authorization") != f"Bearer {KEY}":
            return 401, failure("invalid_request_error", "Invalid API Key provided: sk_test_***")
        return self.failures.pop(0) if self.failures else (200, {"object": "list", "data": self.sessions[:1]})

    def _create(self, fields: dict[str, str], sent: Json) -> tuple[int, Json]:
        self.heads.append(fields)
        self.asked.append(sent)
        if fields.get("authorization") != f"Bearer {KEY}":
            return 401, failure("invalid_request_error", "Invalid API Key provided: sk_test_***")
        if self.failures:
            return self.failures.pop(0)
        key = fields.get("idempotency-key", "")
        if key in self._kept:
            before, status, reply = self._kept[key]
            if before != sent:
                return 400, failure("idempotency_error", "Keys for idempotent requests can only be used ...")
            return status, reply
        session = _session(sent, f"cs_test_{ids.new().hex}")
        self.sessions.append(session)
        self._kept[key] = (sent, 200, session)
        return 200, session


def _fields(head: bytes) -> dict[str, str]:
    lines = head.decode().split("\r\n")[1:]
    return {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}


def _session(sent: Json, session_id: str) -> Json:
    price = "line_items[0][price_data]"
    about = {
        name.removeprefix("metadata[")[:-1]: value for name, value in sent.items() if name.startswith("metadata[")
    }
    return {
        "id": session_id,
        "object": "checkout.session",
        "amount_total": int(sent[f"{price}[unit_amount]"]) * int(sent["line_items[0][quantity]"]),
        "currency": sent[f"{price}[currency]"],
        "client_reference_id": sent["client_reference_id"],
        "metadata": about,
        "mode": sent["mode"],
        "status": "open",
        "payment_status": "unpaid",
        "expires_at": int(sent["expires_at"]),
        "url": f"https://checkout.stripe.com/c/pay/{session_id}",
    }


def failure(kind: str, message: str, **more: Any) -> Json:
    """Return the body of an error."""
    return {"error": {"type": kind, "message": message, **more}}


def event(session: Json, kind: str = COMPLETED, *, event_id: str | None = None, **changes: Any) -> bytes:
    """Return the body of an event about a session."""
    content = {**session, "status": "complete", "payment_status": "paid", "payment_intent": "pi_1", **changes}
    return json.dumps(
        {
            "id": event_id or f"evt_{ids.new().hex}",
            "object": "event",
            "api_version": "2026-01-28",
            "created": int(clock.now().timestamp()),
            "type": kind,
            "livemode": False,
            "data": {"object": content},
        }
    ).encode()


def sign(payload: bytes, *, secret: str = SECRET, at: float | None = None) -> dict[str, str]:
    """Return the signature header. Its time is of the machine's clock, which the `stripe` package uses."""
    stamp = int(time.time() if at is None else at)
    mac = hmac.new(secret.encode(), b"%d.%b" % (stamp, payload), hashlib.sha256).hexdigest()
    return {"Stripe-Signature": f"t={stamp},v1={mac},v0=old"}


@asynccontextmanager
async def serving(service: Service) -> AsyncIterator[StripeServer]:
    """Run a fake Stripe server, and configure the service to use it."""
    state = service.api.state
    before = state.settings
    server = StripeServer()
    async with reachable(service) as receiver:
        server.url = receiver.url.rstrip("/")
        server.receiver, receiver.answer = receiver, server.answer
        update = {
            "stripe_key": SecretStr(KEY),
            "stripe_webhook_secret": SecretStr(SECRET),
            "stripe_api_base": server.url,
        }
        state.settings = before.model_copy(update=update)
        try:
            yield server
        finally:
            state.settings = before
