"""The outermost ASGI middleware, which every request passes.

It sets the request id, limits the body, adds security headers, writes one log line, and turns an uncaught
exception into a 500 without a stack trace.
"""

import itertools
import re
import secrets
import time
from collections.abc import Awaitable, Mapping, Sequence
from ipaddress import IPv4Network
from typing import cast

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from structlog.contextvars import bind_contextvars, unbind_contextvars
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from builders.kit.errors import BadRequest, InternalError, Invalid, NotFound, Problem
from builders.kit.http import access_log, error_pages, request_metrics
from builders.kit.http.body_limits import BODY_BUDGET, BodyBudget, too_large
from builders.kit.limits.rate_limiter import RATE_LIMIT_HEADERS as LIMIT_HEADERS
from builders.kit.process import log, traces, waits
from builders.kit.process.hosts import UNIX, read_networks


class Proxies:
    """ASGI middleware: sets the client and the scheme of a request that a trusted proxy passes on."""

    def __init__(self, app: ASGIApp, trusted: Sequence[str]) -> None:
        networks = read_networks(trusted)
        # The form of an IPv4 peer on a socket of IPv6.
        mapped = [
            f"::ffff:{each.network_address}/{96 + each.prefixlen}"
            for each in networks
            if isinstance(each, IPv4Network)
        ]
        hosts = [*map(str, networks), *mapped, *(each for each in trusted if each == UNIX)]
        self._app = cast("ASGIApp", ProxyHeadersMiddleware(app, hosts))  # type: ignore[arg-type] # own ASGI types

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on; a peer on a Unix socket has no address."""
        client = scope.get("client")
        if scope["type"] == "http" and not (client and client[0]):
            scope["client"] = (UNIX, 0)
        await self._app(scope, receive, send)


_LONGEST_LENGTH = 18  # digits of Content-Length; Python refuses to parse more than 4300
# An id must be unique and is no secret: one random prefix for the process suffices.
_PROCESS, _requests = secrets.token_hex(10), itertools.count()
_REQUEST_ID = re.compile(rb"[A-Za-z0-9._-]{8,128}")
_HEADERS = [(b"x-content-type-options", b"nosniff"), (b"x-frame-options", b"DENY")]
_DEFAULTS = [  # unless the response has its own
    (b"cache-control", b"private, no-store"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"referrer-policy", b"no-referrer"),
]
_VERSIONS = frozenset({"1.0", "1.1", "2", "3"})  # "2.0" occurs only in a malformed HTTP/1 request line
_LAST = {"Connection": "close"}  # the rest of the connection cannot be parsed safely
_DEFAULT_NAMES = frozenset(name for name, _ in _DEFAULTS)
_HSTS = (b"strict-transport-security", b"max-age=31536000")

_log = log.get_logger()


class CodingUnsupported(Problem):
    """The transfer coding is not supported."""

    status, code = 501, "transfer_coding_unsupported"


class VersionUnsupported(Problem):
    """The HTTP version is not supported."""

    status, code = 505, "http_version_unsupported"


class RequestMiddleware:
    """Wraps the whole application."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        body_limit: int,
        body_budget: int = 64 * 1024 * 1024,
        large_bodies: Mapping[str, int] | None = None,
        secret_paths: tuple[str, ...] = (),
        log_requests: bool = True,
    ) -> None:
        self.app = app
        self.bodies = BodyBudget(limit=body_limit, total=body_budget)
        self.large_bodies = large_bodies or {}  # the limit of a path whose bodies may be above `body_limit`
        self.secret_paths = secret_paths  # prefixes of paths whose rest must not be logged
        self.log_requests = log_requests

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Respond to one request; pass lifespan events on."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        exchange = _Exchange(scope, receive, send, self)
        try:
            exchange.refuse_early()
            scope[BODY_BUDGET] = self.bodies
            await self.app(scope, receive, exchange.send)
        except (Problem, Invalid) as refusal:
            await exchange.refuse(refusal)
        except ClientDisconnect:
            pass  # the client has disconnected; the log line has status 0
        except Exception:  # noqa: BLE001 - outermost: the client gets a 500, the log the stack trace
            _log.exception("request_failed", method=scope["method"], path=exchange.path)
            await exchange.refuse(InternalError("An internal error occurred; it was logged."))
        finally:
            if self.log_requests:
                seconds, status = time.perf_counter() - exchange.began, exchange.status
                id_, path, ms, waits_ms = exchange.id, exchange.path, seconds * 1000, exchange.waits_ms
                request_metrics.count(scope, status=status, seconds=seconds, waits_ms=waits_ms)
                access_log.log_request(scope, request_id=id_, path=path, status=status, ms=ms, waits_ms=waits_ms)


class _Exchange:
    """One request and its response."""

    __slots__ = (
        *("_receive", "_send", "began", "id", "length", "limit"),
        *("path", "scope", "sent", "status", "waits_ms"),
    )

    def __init__(self, scope: Scope, receive: Receive, send: Send, middleware: RequestMiddleware) -> None:
        self.began = time.perf_counter()
        self.scope, self._receive, self._send = scope, receive, send
        self.status, self.waits_ms = 0, waits.start()
        self.limit = middleware.large_bodies.get(scope["path"], middleware.bodies.limit)
        self.sent = sent = dict[bytes, bytes](scope["headers"])
        given = sent.get(b"x-request-id")
        is_valid = given is not None and _REQUEST_ID.fullmatch(given) is not None
        self.id = given.decode() if given and is_valid else f"{_PROCESS}{next(_requests):012x}"
        bind_contextvars(request_id=self.id)
        trace = sent.get(b"traceparent", b"").decode("latin-1")
        if traces.VALID.fullmatch(trace):
            bind_contextvars(**{traces.TRACEPARENT: trace})  # kit/outbound/client.py passes it on
        else:
            unbind_contextvars(traces.TRACEPARENT)
        self.path: str = scope["path"]
        if self.path.startswith(middleware.secret_paths):
            self.path = next(f"{each}…" for each in middleware.secret_paths if self.path.startswith(each))
        self.length = sent.get(b"content-length", b"")

    def refuse_early(self) -> None:
        """Refuse a malformed or too large request before its body is read.

        Two servers could parse some of them differently (RFC 9112, 2.3, 3.2 and 6.1).
        """
        scope, length = self.scope, self.length
        version = scope.get("http_version", "1.1")
        if version not in _VERSIONS:
            raise VersionUnsupported(f"This service supports HTTP/1.1, not HTTP/{version}.", headers=_LAST)
        hosts = [name for name, _ in scope["headers"]].count(b"host")
        if hosts > 1 or (not hosts and version == "1.1"):
            raise BadRequest(f"A request must have one Host header; this request has {hosts}.", headers=_LAST)
        coding = self.sent.get(b"transfer-encoding")
        if coding is not None and coding.strip().lower() != b"chunked":
            raise CodingUnsupported("The only supported transfer coding is chunked.", headers=_LAST)
        if b"%2f" in scope.get("raw_path", b"").lower():
            raise NotFound("The API has no such path: %2F does not separate path segments.")
        if length and not length.isdigit():
            raise BadRequest("The Content-Length header is not a number.")
        if length and (len(length) > _LONGEST_LENGTH or int(length) > self.limit):
            raise too_large(self.limit)
        if "\0" in scope["path"] or b"%00" in scope["query_string"]:
            place = "path" if "\0" in scope["path"] else "query"
            raise Invalid((place,), "Text must not contain the character NUL (%00).", "nul_character")

    def send(self, message: Message) -> Awaitable[None]:
        """Send a message of the response; add headers to its start."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = [*message.get("headers", ())]
            given = [name for name, _ in headers]
            absent = _DEFAULTS if _DEFAULT_NAMES.isdisjoint(given) else [h for h in _DEFAULTS if h[0] not in given]
            headers += (*_HEADERS, *absent, *self.scope.get(LIMIT_HEADERS, ()))
            headers.append((b"x-request-id", self.id.encode()))
            if self.scope.get("scheme") == "https":
                headers.append(_HSTS)
            message = {**message, "headers": headers}
        return self._send(message)

    async def refuse(self, refusal: Problem | Invalid) -> None:
        """Send the error response, unless a response has started."""
        if not self.status:
            response = error_pages.respond(self.scope, refusal)
            await response(self.scope, self._receive, self.send)
