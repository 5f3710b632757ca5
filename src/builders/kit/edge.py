"""The edge: what every request passes on its way in and out, as one plain ASGI layer.

Request id, body limit, security headers, one log line, and a 500 without a stack trace for the uncaught.
"""

import itertools
import re
import secrets
import time
from typing import Any

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from structlog.contextvars import bind_contextvars, clear_contextvars

from builders.kit import access, bodies, log
from builders.kit.allowances import HEADERS as LIMIT_HEADERS
from builders.kit.errors import BadRequest, Invalid, Problem, Unexpected
from builders.kit.proxies import Proxies

_LONGEST_LENGTH = 18  # digits; Python refuses to read an endless number
# An id is to be told from others and no secret, so the system is asked for chance once and not for each request.
_PROCESS, _requests = secrets.token_hex(10), itertools.count()
_REQUEST_ID = re.compile(rb"[A-Za-z0-9._-]{8,128}")
_TRACEPARENT = re.compile(rb"00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}")  # W3C Trace Context
_HEADERS = [
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
]
_DEFAULTS = [  # unless the answer has its own
    (b"cache-control", b"private, no-store"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"referrer-policy", b"no-referrer"),
]
_DEFAULT_NAMES = frozenset(name for name, _ in _DEFAULTS)
_HSTS = (b"strict-transport-security", b"max-age=31536000")

_log = log.get_logger()


class Edge:
    """Wraps the whole application."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        body_limit: int,
        secret_paths: tuple[str, ...] = (),
        log_requests: bool = True,
        proxies: Proxies | None = None,
    ) -> None:
        self.app = app
        self.proxies = proxies  # None when nobody is believed
        self.body_limit = body_limit
        # Beginnings of paths whose rest belongs in no log, and what is there of them.
        self.secret_paths = [(each, f"{each}…") for each in secret_paths]
        self.log_requests = log_requests

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers one request; passes lifespan events on."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        if self.proxies is not None:
            self.proxies.resolve(scope)
        clear_contextvars()
        request = _Passing(scope, receive, send, self)
        bind_contextvars(request_id=request.id)
        try:
            request.refuse_early()
            await self.app(scope, request.receive, request.send)
        except (Problem, Invalid) as refusal:
            await request.answer(refusal)
        except ClientDisconnect:
            pass  # nobody is there to be answered; the log line has status 0
        except Exception:  # noqa: BLE001 - the outermost edge: the client gets a 500, the log the trace
            _log.exception("request_failed", method=scope["method"], path=request.path)
            await request.answer(Unexpected("Something went wrong on our side; it has been logged."))
        finally:
            if self.log_requests:
                request.write_log()


class _Passing:
    """One request on its way through."""

    __slots__ = ("_length", "_receive", "_send", "id", "left", "limit", "path", "scope", "started", "status")

    def __init__(self, scope: Scope, receive: Receive, send: Send, edge: Edge) -> None:
        self.scope = scope
        self._receive = receive
        self._send = send
        self.limit = self.left = edge.body_limit
        self.started = time.perf_counter()
        self.status = 0
        self.id, self._length = "", b""
        for name, value in scope["headers"]:
            if name == b"content-length":
                self._length = value
            elif name == b"x-request-id" and _REQUEST_ID.fullmatch(value):
                self.id = value.decode()
            elif name == b"traceparent" and _TRACEPARENT.fullmatch(value):
                bind_contextvars(traceparent=value.decode())  # in our log lines, and passed on by kit/outbound.py
        self.id = self.id or f"{_PROCESS}{next(_requests):012x}"
        self.path: str = scope["path"]
        for beginning, shown in edge.secret_paths:
            if self.path.startswith(beginning):
                self.path = shown

    def refuse_early(self) -> None:
        """Refuses what is too large or malformed before anything is read."""
        length = self._length
        if length and not length.isdigit():
            raise BadRequest("The Content-Length header is not a number.")
        if len(length) > _LONGEST_LENGTH or int(length or b"0") > self.limit:
            raise bodies.too_large(self.limit)
        if "\0" in self.scope["path"] or b"%00" in self.scope["query_string"]:
            place = "path" if "\0" in self.scope["path"] else "query"
            raise Invalid((place,), "Text must not contain the character NUL (%00).", "nul_character")

    async def receive(self) -> Message:
        """The next part of the body, counted."""
        message = await self._receive()
        if message["type"] == "http.request":
            self.left -= len(message.get("body", b""))
            if self.left < 0:
                raise bodies.too_large(self.limit)
        return message

    async def send(self, message: Message) -> None:
        """The answer's next part; its headers get ours."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            own = message.get("headers", ())
            given = [name for name, _ in own]
            headers: list[tuple[bytes, bytes]] = [
                *own,
                *_HEADERS,
                *(_DEFAULTS if _DEFAULT_NAMES.isdisjoint(given) else [h for h in _DEFAULTS if h[0] not in given]),
                *self.scope.get(LIMIT_HEADERS, ()),
                (b"x-request-id", self.id.encode()),
            ]
            if self.scope.get("scheme") == "https":
                headers.append(_HSTS)
            message = {**message, "headers": headers}
        await self._send(message)

    async def answer(self, refusal: Problem | Invalid) -> None:
        """Answers with the refusal, unless an answer has begun."""
        if not self.status:
            await refusal.response()(self.scope, self._receive, self.send)

    def write_log(self) -> None:
        """One line: who asked what, and how it went."""
        client: Any = self.scope.get("client")  # a (host, port) pair or None, by ASGI
        ms = round((time.perf_counter() - self.started) * 1000, 2)
        access.note(self.id, self.scope["method"], self.path, self.status, ms, client[0] if client else None)
