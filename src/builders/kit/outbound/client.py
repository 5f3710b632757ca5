"""The HTTP client for all outgoing requests, safe for URLs that users give.

It connects to public addresses only (decision 0010), follows no redirects, does not decompress, ignores proxies,
cookies and passwords of the environment, and limits the time and size of each request. Error messages may be shown
to the user who gave the URL.
"""

import asyncio
import re
import secrets
from collections.abc import Mapping
from functools import lru_cache
from typing import Self
from urllib.parse import urlsplit

from structlog.contextvars import get_contextvars

from builders.kit.db import connections
from builders.kit.outbound import targets, tls
from builders.kit.outbound.connections import (
    Exchange,
    Failure,
    HttpSessions,
    OutboundFailed,
    Response,
    resolve_target,
)
from builders.kit.outbound.meter import Budget
from builders.kit.outbound.targets import Rule, Target, UrlRefused
from builders.kit.process import traces
from builders.kit.process.settings import Settings
from builders.kit.process.traces import TRACEPARENT
from builders.kit.process.version import VERSION

__all__ = ["Failure", "Outbound", "OutboundFailed", "Response", "Rule", "Target", "UrlRefused"]

_VALUE = re.compile(r"(?:[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?)?")  # RFC 9110, 5.5, in ASCII


class Outbound:
    """The client; an asynchronous context manager. Open one per event loop.

    A job calls `await queue.get_shared(context, Outbound)`.
    """

    def __init__(self, settings: Settings) -> None:
        self._allowed_hosts = frozenset(map(targets.parse_host_port, settings.outbound_allow))
        self._own_host = _own_host(settings.url)
        self._ca = settings.outbound_ca
        self.ip = None if settings.outbound_ip is None else str(settings.outbound_ip)  # that calls come from
        self._user_agent = f"Builders/{VERSION} (+{settings.url})"
        self._sessions: HttpSessions | None = None
        self._target = lru_cache(maxsize=1024)(self.validate_url)  # the same URL is requested many times

    async def __aenter__(self) -> Self:
        self._sessions = HttpSessions(tls.context(self._ca), user_agent=self._user_agent)
        return self

    async def __aexit__(self, *_: object) -> None:
        sessions, self._sessions = self._sessions, None
        if sessions is not None:
            await sessions.close()

    def validate_url(self, url: str, *, https_only: bool = False) -> Target:
        """Parse and validate a URL without DNS; store the `url` of the returned target. Raise UrlRefused."""
        return targets.validate_url(
            url, https_only=https_only, own_host=self._own_host, allowed_hosts=self._allowed_hosts
        )

    async def validate_host(self, target: Target) -> None:
        """Resolve the target's host. Raise UrlRefused if it has no address or one that is not public.

        This reports a bad URL early; each connection checks its address again.
        """
        _refuse_open_transaction()
        try:
            found = await resolve_target(target)
        except OutboundFailed as error:
            raise UrlRefused(Rule.UNRESOLVED, "The URL's host name could not be resolved.") from error
        if not all(map(target.allows, found)):
            raise UrlRefused(Rule.ADDRESS, "The URL's host has an address that is not public.")

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
        """Send one request. Raise OutboundFailed, and RuntimeError if this task has an open transaction.

        A response body longer than `max_bytes` raises OutboundFailed. With `keep_bytes` it does not: the body is
        truncated to `keep_bytes`, and reading stops at `max_bytes`. `reuse` keeps the connection alive for the
        next request to the same host.
        """
        _refuse_open_transaction()
        if self._sessions is None:
            raise RuntimeError("Outbound is not open: use `async with`.")
        built = _build_headers(headers or {})
        try:
            target = self._target(url)
        except UrlRefused as error:
            raise OutboundFailed(Failure.BLOCKED_ADDRESS, error.message) from error
        exchange = Exchange(
            target=target,
            method=method,
            headers=built,
            body=body,
            connect_s=connect_s,
            max_bytes=max_bytes,
            keep_bytes=keep_bytes,
            reuse=reuse,
            budget=Budget(max_bytes),
        )
        try:
            with traces.span("outbound.request", "client", method=method) as span:
                async with asyncio.timeout(total_s):
                    response = await self._sessions.exchange(exchange)
                span.set(status=response.status)
                return response
        except TimeoutError as error:
            raise OutboundFailed(Failure.TIMEOUT if exchange.connection else Failure.CONNECT) from error


def _own_host(url: str) -> str | None:
    """Return the service's own host, or None if it is not a valid target host."""
    host = urlsplit(url).hostname or ""
    try:
        return targets.parse_host_port(f"[{host}]:443" if ":" in host else f"{host}:443")[0]
    except ValueError:
        return None


def _refuse_open_transaction() -> None:
    if connections.in_transaction():
        raise RuntimeError("A transaction is open: read, call, then write in a second one (decision 0010).")


def _build_headers(given: Mapping[str, str]) -> dict[str, str]:
    """Validate the values, which can be credentials of users, and add the trace context of the current request."""
    for name, value in given.items():
        if not _VALUE.fullmatch(value):
            raise ValueError(f"The value of the header {name} is not valid.")  # not quoted: it may be a secret
    trace = get_contextvars().get(TRACEPARENT)
    if trace is None:
        return dict(given)
    if traces.is_on():  # that of the span of this task
        return {**given, TRACEPARENT: trace}
    version, trace_id, _, flags = trace.split("-")
    return {**given, TRACEPARENT: f"{version}-{trace_id}-{secrets.token_hex(8)}-{flags}"}
