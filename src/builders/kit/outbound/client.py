"""The only HTTP client of the service, opened once a process.

Callers hand it addresses that strangers gave. So nothing but public addresses is reached (decision 0010), no
redirect is followed, nothing is unpacked, no proxy, cookie or password of the environment is used, and each
request is bounded in time and size. What a failure says may be shown to whoever gave the URL.
"""

import asyncio
import re
import secrets
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

from structlog.contextvars import get_contextvars

from builders.kit.db import connections
from builders.kit.outbound import targets, tls
from builders.kit.outbound.connections import Asked, Call, Wire
from builders.kit.outbound.failures import Failure, OutboundFailed
from builders.kit.outbound.lookups import find
from builders.kit.outbound.targets import Rule, Target, UrlRefused
from builders.kit.process.settings import Settings
from builders.kit.process.version import REVISION

__all__ = ["Failure", "Outbound", "OutboundFailed", "Response", "Rule", "Target", "UrlRefused", "opened"]

MOST_BODY = 1024 * 1024  # bytes that are sent with one request
TRACEPARENT = "traceparent"
# Headers that the client writes itself.
OURS = frozenset(
    (
        *("host", "content-length", "transfer-encoding", "connection", "accept-encoding", "expect", "te"),
        *("trailer", "upgrade", "keep-alive", "proxy-authorization", "proxy-connection", TRACEPARENT),
    )
)

_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")  # RFC 9110, 5.6.2
_VALUE = re.compile(r"(?:[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?)?")  # RFC 9110, 5.5, in ASCII


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """An answer of whatever status; a redirect is one like others."""

    status: int
    headers: Mapping[str, str] = field(repr=False)  # names in any case
    body: bytes = field(repr=False)  # as it came: packed, when Content-Encoding says so against our asking
    elapsed_ms: int
    truncated: bool  # whether there was more than the body holds


class Outbound:
    """The client; a context manager. One for each event loop."""

    def __init__(self, settings: Settings) -> None:
        self._opened = frozenset(map(targets.read_host, settings.outbound_allow))
        self._own_host = _own_host(settings.url)
        self._ca = settings.outbound_ca
        self._user_agent = f"Builders/{REVISION} (+{settings.url})"
        self._wire: Wire | None = None
        self._target = lru_cache(maxsize=1024)(self.judge_url)  # a receiver is called many times

    async def __aenter__(self) -> Self:
        self._wire = Wire(tls.context(self._ca), user_agent=self._user_agent)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        wire, self._wire = self._wire, None
        if wire is not None:
            await wire.close()

    def judge_url(self, url: str, *, https_only: bool = False) -> Target:
        """The target of a URL; its `url` is what to store. Raises UrlRefused; looks nothing up."""
        return targets.judge_url(url, https_only=https_only, own_host=self._own_host, opened=self._opened)

    async def judge_host(self, target: Target) -> None:
        """Refuses a target whose host has, at this moment, an address that is not public. Raises UrlRefused.

        A courtesy to whoever stores the URL: each connection judges anew.
        """
        _outside_transactions()
        try:
            found = await find(self._running.lookups, target)
        except OutboundFailed as error:
            raise UrlRefused(Rule.UNRESOLVED, "The URL's host name could not be resolved.") from error
        if not all(map(Call(target).admits, found)):
            raise UrlRefused(Rule.ADDRESS, "The URL's host has an address that is not a public one.")

    async def request(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
        total_s: float = 15,
        connect_s: float = 5,
        max_bytes: int = 65_536,
        keep_bytes: int | None = None,
        reuse: bool = False,
    ) -> Response:
        """Sends one request. Raises OutboundFailed, and RuntimeError while this task holds a transaction open.

        An answer of more than `max_bytes` fails as too large; with `keep_bytes` it never does, but is cut to
        its first `keep_bytes`, and read no further than `max_bytes`. `reuse` keeps the connection, on its
        address, for the next request to the same host.
        """
        _outside_transactions()
        asked = Asked(
            method=_checked(method),
            headers=_headers(headers or {}),
            body=_bounded(body),
            connect_s=connect_s,
            max_bytes=max_bytes,
            keep_bytes=keep_bytes,
            reuse=reuse,
        )
        began = time.perf_counter()
        try:
            call = Call(self._target(url))
        except UrlRefused as error:
            raise OutboundFailed(Failure.BLOCKED_ADDRESS, error.message) from error
        try:
            async with asyncio.timeout(total_s):
                answer = await self._running.exchange(call, asked)
        except TimeoutError as error:
            raise OutboundFailed(Failure.TIMEOUT if call.connection else Failure.CONNECT) from error
        return Response(
            status=answer.status,
            headers=answer.headers,
            body=answer.body,
            elapsed_ms=round((time.perf_counter() - began) * 1000),
            truncated=answer.truncated,
        )

    @property
    def _running(self) -> Wire:
        if self._wire is None:
            raise RuntimeError("Outbound is not open: use `async with`.")
        return self._wire


@asynccontextmanager
async def opened(settings: Settings) -> AsyncIterator[Outbound]:
    """An open client; in a job `await jobs.shared(context, outbound.opened)`."""
    async with Outbound(settings) as outbound:
        yield outbound


def _own_host(url: str) -> str | None:
    """The host that the service is known by; None when a target cannot be called so."""
    host = urlsplit(url).hostname or ""
    try:
        return targets.read_host(f"[{host}]:443" if ":" in host else f"{host}:443")[0]
    except ValueError:
        return None


def _outside_transactions() -> None:
    if connections.in_transaction():
        raise RuntimeError("A transaction is open: read, call, then write in a second one (decision 0010).")


def _checked(method: str) -> str:
    if not _TOKEN.fullmatch(method) or method == "CONNECT":
        raise ValueError(f"{method!r} is not a method that can be sent.")
    return method


def _headers(given: Mapping[str, str]) -> dict[str, str]:
    """What the caller wants sent, and the trace that the present request is part of."""
    for name, value in given.items():
        if not _TOKEN.fullmatch(name) or name.lower() in OURS:
            raise ValueError(f"{name!r} is not a header that a caller can set.")
        if not _VALUE.fullmatch(value):
            raise ValueError(f"The value of the header {name} holds what no header can hold.")  # maybe a secret
    trace = get_contextvars().get(TRACEPARENT)
    if trace is None:
        return dict(given)
    version, trace_id, _, flags = trace.split("-")
    return {**given, TRACEPARENT: f"{version}-{trace_id}-{secrets.token_hex(8)}-{flags}"}


def _bounded(body: bytes | None) -> bytes | None:
    if body is not None and len(body) > MOST_BODY:
        raise ValueError(f"A body of more than {MOST_BODY} bytes is not sent.")
    return body
