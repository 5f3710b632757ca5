"""Requests within the process: a page or a tool calls an endpoint as a client would, without a socket."""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, NamedTuple

from starlette.types import ASGIApp, Message, Receive, Scope

from builders.kit.http.media_types import NDJSON


class Response(NamedTuple):
    """What an endpoint sent."""

    status: int
    headers: Mapping[bytes, bytes]
    content: bytes


@dataclass(frozen=True, slots=True)
class Answer:
    """The response of the API to one call."""

    status: int
    body: Any  # of JSON, or a text
    headers: Mapping[bytes, bytes] = field(default_factory=dict)

    @property
    def is_ok(self) -> bool:
        """Return whether the call succeeded."""
        return self.status < HTTPStatus.BAD_REQUEST

    @property
    def etag(self) -> str | None:
        """Return the version of what was read."""
        return self.headers[b"etag"].decode() if b"etag" in self.headers else None


async def call(endpoint: ASGIApp, scope: Scope, content: bytes, *, after: Receive | None = None) -> Answer:
    """Send a request, and return its response of JSON or NDJSON; `after` as of `exchange`."""
    status, headers, text = await exchange(endpoint, scope, content, after=after)
    if headers.get(b"content-type", b"").startswith(NDJSON.encode()):
        return Answer(status, text.decode(), headers)
    return Answer(status, json.loads(text) if text else None, headers)


async def exchange(endpoint: ASGIApp, scope: Scope, content: bytes, *, after: Receive | None = None) -> Response:
    """Send a request with this body, and return its response; `after` tells when the client disconnects.

    The endpoint runs in a task of its own: the time limit of a request is that of its task (kit/http/deadline.py).
    """
    left = [content]
    status, headers, parts = 0, dict[bytes, bytes](), list[bytes]()

    async def receive() -> Message:
        if left:
            return {"type": "http.request", "body": left.pop(), "more_body": False}
        if after is None:
            await asyncio.Event().wait()  # this client stays
        return {"type": "http.disconnect"} if after is None else await after()

    async def send(message: Message) -> None:
        nonlocal status, headers
        if message["type"] == "http.response.start":
            status, headers = message["status"], dict(message.get("headers", ()))
        else:
            parts.append(message.get("body", b""))

    async def run() -> None:
        await endpoint(scope, receive, send)

    await asyncio.create_task(run())
    return Response(status, headers, b"".join(parts))
