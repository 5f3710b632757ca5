"""A client that sends an ASGI application exactly the given request, malformed or not."""

import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from starlette.types import ASGIApp, Message, Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A response."""

    status: int
    headers: list[tuple[bytes, bytes]]
    body: bytes

    def header(self, name: str) -> str | None:
        """Return the first header of this name."""
        found = (value.decode() for key, value in self.headers if key == name.encode())
        return next(found, None)

    def json(self) -> Any:
        return json.loads(self.body)


async def ask(
    app: ASGIApp,
    method: str,
    target: str,
    *,
    headers: Sequence[tuple[str, str]] = (),
    body: bytes | Sequence[bytes] = b"",
    scheme: str = "http",
    at_start: Callable[[], Awaitable[None]] | None = None,
    version: str = "1.1",
    without_host: bool = False,
) -> Answer:
    """Send one request, its body in the given parts; the path is decoded as uvicorn does it.

    `at_start` is called when the response starts.
    """
    has_host = without_host or any(name.lower() == "host" for name, _ in headers)
    scope = request_scope(method, target, [*headers, *([] if has_host else [("Host", "builders.test")])], scheme)
    scope["http_version"] = version
    parts = [body] if isinstance(body, bytes) else list(body)
    sent: list[Message] = []

    async def receive() -> Message:
        if not parts:
            return {"type": "http.disconnect"}
        return {"type": "http.request", "body": parts.pop(0), "more_body": bool(parts)}

    async def send(message: Message) -> None:
        if at_start is not None and message["type"] == "http.response.start":
            await at_start()
        sent.append(message)

    await app(scope, receive, send)
    whole = b"".join(each.get("body", b"") for each in sent)
    return Answer(status=sent[0]["status"], headers=list(sent[0]["headers"]), body=whole)


def request_scope(method: str, target: str, headers: Sequence[tuple[str, str]], scheme: str = "http") -> Scope:
    """Return the scope of a request."""
    path, _, query = target.partition("?")
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": scheme,
        "path": unquote(path),
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "root_path": "",
        "headers": [(name.lower().encode(), value.encode("latin-1")) for name, value in headers],
        "client": ("192.0.2.1", 40000),
        "server": ("builders.test", 80),
    }
