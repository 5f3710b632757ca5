"""aiohttp sessions with a custom resolver and socket factory that check each address before a connection.

The resolver checks all addresses of a host name. The socket factory checks the address of each connection,
including IP literals, which aiohttp does not pass to the resolver.
"""

import asyncio
import socket
import ssl
import time
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Any, cast

import aiohttp
import dns.asyncresolver
import dns.exception
from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.connector import AddrInfoType, Connection
from aiohttp.http_exceptions import HttpProcessingError
from yarl import URL

from builders.kit.outbound.meter import Budget, ResponseMeter
from builders.kit.outbound.targets import Address, Target
from builders.kit.outbound.tls import tls_reason


class Failure(StrEnum):
    """The stage at which a request failed."""

    DNS = "dns"
    BLOCKED_ADDRESS = "blocked_address"
    CONNECT = "connect"
    TLS = "tls"
    TIMEOUT = "timeout"
    TOO_LARGE = "too_large"
    PROTOCOL = "protocol"


_MESSAGES = {
    Failure.DNS: "The host name could not be resolved.",
    Failure.BLOCKED_ADDRESS: "The host has an address that is not public.",
    Failure.CONNECT: "No connection could be made.",
    Failure.TLS: "The TLS handshake failed.",
    Failure.TIMEOUT: "No complete response arrived in time.",
    Failure.TOO_LARGE: "The response is too large.",
    Failure.PROTOCOL: "The connection was lost, or the response is not valid HTTP.",
}


class OutboundFailed(Exception):
    """A request without a usable response; the message may be shown to users."""

    def __init__(self, kind: Failure, text: str | None = None) -> None:
        super().__init__(text or _MESSAGES[kind])
        self.kind = kind


class BlockedAddress(OSError):
    """The address is not allowed; an OSError, because aiohttp passes on no other exception."""


LOOKUP_TIMEOUT_S = 3.0
TRY_TIMEOUT_S = 1.0  # for one response of one name server
RECORD_TYPES = ("A", "AAAA")


async def query_dns(host: str, *, timeout_s: float) -> Sequence[str]:
    """Return the addresses of a host by its DNS records, without search domains and /etc/hosts; maybe none."""
    try:
        resolver = dns.asyncresolver.Resolver()  # reads the name servers of the system, which can change
    except dns.exception.DNSException:  # the system has none
        return ()
    resolver.timeout, resolver.lifetime = TRY_TIMEOUT_S, timeout_s
    answers = await asyncio.gather(*(_query(resolver, host, each) for each in RECORD_TYPES))
    return [each for answer in answers for each in answer]


async def _query(resolver: dns.asyncresolver.Resolver, host: str, record_type: str) -> Sequence[str]:
    try:
        return [each.to_text() for each in await resolver.resolve(host, record_type, search=False)]
    except dns.exception.DNSException:  # the other record type may exist
        return ()


async def query_system(host: str) -> Sequence[str]:
    """Return the addresses of a host that the operator allowed; it may be in /etc/hosts. Raise OSError."""
    found = await asyncio.get_running_loop().getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return [str(sockaddr[0]) for *_, sockaddr in found]


async def resolve_target(target: Target, *, timeout_s: float = LOOKUP_TIMEOUT_S) -> Sequence[Address]:
    """Return all addresses of the target's host, at least one. Raise OutboundFailed."""
    if target.literal:
        return (target.literal,)
    host = target.host
    try:
        async with asyncio.timeout(timeout_s):
            found = await (query_system(host) if target.is_allowed else query_dns(host, timeout_s=timeout_s))
        addresses = tuple(dict.fromkeys(map(ip_address, found)))
    except (OSError, ValueError) as error:  # a TimeoutError is an OSError
        raise OutboundFailed(Failure.DNS) from error
    if not addresses:
        raise OutboundFailed(Failure.DNS)
    return addresses


MAX_CONNECTIONS = 1000  # at once; waiting for a free one counts towards the connect timeout
MAX_HEADERS, MAX_LINE_BYTES = 100, 8190  # fields of a response, and bytes of a field or the status line
MAX_ADDRESSES_PER_FAMILY = 2  # because aiohttp retries every address it is given
KEEPALIVE_S = 4  # idle time of a reusable connection; many servers close theirs after 5 s
RECEIVE_BUFFER = 32 * 1024  # bytes; Linux doubles it
VERSIONS = (aiohttp.HttpVersion10, aiohttp.HttpVersion11)
STATUSES = range(200, 600)
NEVER_ROUNDED_S = 1e9  # aiohttp rounds timeouts above this threshold up to complete seconds


@dataclass(slots=True, kw_only=True)
class Exchange:
    """One request, the limits of its response, and its state."""

    target: Target
    method: str
    headers: Mapping[str, str]
    body: bytes | None
    connect_s: float
    max_bytes: int
    keep_bytes: int | None
    reuse: bool
    budget: Budget
    connection: asyncio.Transport | None = None
    meter: ResponseMeter | None = None
    is_new: bool = False  # the connection was made for this request

    def failure(self, error: Exception) -> OutboundFailed:
        """Return the failure for an error of aiohttp."""
        os_error = error.os_error if isinstance(error, aiohttp.ClientConnectorError) else None
        is_reset = isinstance(os_error, ConnectionResetError | ConnectionAbortedError)
        match error:
            case OutboundFailed():
                return error
            case aiohttp.ClientConnectorError() if isinstance(os_error, BlockedAddress):
                return OutboundFailed(Failure.BLOCKED_ADDRESS)
            case aiohttp.ClientSSLError():
                return OutboundFailed(Failure.TLS, tls_reason(error))
            case aiohttp.ClientConnectorError() if is_reset and self.target.scheme == "https":
                return OutboundFailed(Failure.TLS)  # reset during the handshake
            case aiohttp.ClientConnectorError() | aiohttp.ConnectionTimeoutError():
                return OutboundFailed(Failure.CONNECT)
            case _:
                return OutboundFailed(Failure.TOO_LARGE if self.budget.is_exceeded else Failure.PROTOCOL)


_exchange: ContextVar[Exchange] = ContextVar("outbound_call")


class _StaleConnection(Exception):
    """The server sent data on the connection before the request, which was not sent."""


class _Request(aiohttp.ClientRequest):
    """Count the bytes that a connection receives for its exchange; aiohttp discards it when one is aborted."""

    async def send(self, conn: Connection) -> aiohttp.ClientResponse:
        # aiohttp would treat data received on an idle connection as the response to the next request.
        if conn.protocol is None or conn.protocol.should_close:
            raise _StaleConnection
        # uvloop's transports have asyncio's methods but are not subclasses.
        exchange, connection = _exchange.get(), cast("asyncio.Transport", conn.transport)
        meter = connection.get_protocol()
        if not isinstance(meter, ResponseMeter):
            meter = ResponseMeter(connection, conn.protocol)
            connection.set_protocol(meter)
        if not meter.begin(exchange.budget):
            raise _StaleConnection
        exchange.connection, exchange.meter = connection, meter
        return await super().send(conn)


class _Resolver(AbstractResolver):
    """Resolves host names for aiohttp and refuses a host with an address that is not allowed."""

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        del family
        exchange = _exchange.get()
        addresses = await resolve_target(exchange.target)
        if not all(map(exchange.target.allows, addresses)):
            raise OutboundFailed(Failure.BLOCKED_ADDRESS)
        tried: list[Address] = []
        for kind in (IPv4Address, IPv6Address):
            tried += [each for each in addresses if isinstance(each, kind)][:MAX_ADDRESSES_PER_FAMILY]
        return [
            {
                "hostname": host,
                "host": str(each),
                "port": port,
                "family": socket.AF_INET if isinstance(each, IPv4Address) else socket.AF_INET6,
                "proto": socket.IPPROTO_TCP,
                "flags": socket.AI_NUMERICHOST,
            }
            for each in addresses
            if each in tried
        ]

    async def close(self) -> None:
        """Do nothing: it keeps nothing open."""


def _create_socket(where: AddrInfoType) -> socket.socket:
    """Create a socket for an allowed address. Raise BlockedAddress for any other."""
    family, kind, protocol, _, address = where
    exchange = _exchange.get()
    if not exchange.target.allows(ip_address(str(address[0]))):
        raise BlockedAddress
    exchange.is_new = True
    made = socket.socket(family, kind, protocol)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER)
    return made


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """A response of any status, redirects included."""

    status: int
    headers: Mapping[str, str] = field(repr=False)  # case-insensitive
    body: bytes = field(repr=False)  # not decoded, even if Content-Encoding is set although identity was requested
    elapsed_ms: int
    truncated: bool  # the response was longer than the body


class HttpSessions:
    """The sessions of one event loop: one closes its connections after a request, one keeps them alive."""

    def __init__(self, tls_context: ssl.SSLContext, *, user_agent: str) -> None:
        self._headers = {"User-Agent": user_agent, "Accept-Encoding": "identity"}
        self._tls = tls_context
        self._single_use = self._session(_send_once, force_close=True)
        self._keep_alive = self._session(keepalive_timeout=KEEPALIVE_S)

    def _session(self, *middlewares: aiohttp.ClientMiddlewareType, **options: Any) -> aiohttp.ClientSession:
        """Return a session; the options are those of aiohttp.TCPConnector."""
        connector = aiohttp.TCPConnector(
            resolver=_Resolver(),
            use_dns_cache=False,
            socket_factory=_create_socket,
            ssl=self._tls,
            limit=MAX_CONNECTIONS,
            **options,
        )
        return aiohttp.ClientSession(
            connector=connector,
            headers=self._headers,
            skip_auto_headers=["Content-Type"],
            request_class=_Request,
            middlewares=middlewares,
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            trust_env=False,
            max_headers=MAX_HEADERS,
            max_line_size=MAX_LINE_BYTES,
            max_field_size=MAX_LINE_BYTES,
        )

    async def exchange(self, exchange: Exchange) -> Response:
        """Send a request and read its response, without a total timeout. Raise OutboundFailed."""
        began = time.perf_counter()
        token = _exchange.set(exchange)
        complete = False
        try:
            async with await self._send(exchange) as response:
                if exchange.meter is not None:
                    exchange.meter.watch(partial(_fail_body, response.content))
                body, complete, truncated = await _read_body(response, exchange)
                return Response(
                    status=response.status,
                    headers=response.headers,
                    body=body,
                    elapsed_ms=round((time.perf_counter() - began) * 1000),
                    truncated=truncated,
                )
        except (OutboundFailed, aiohttp.ClientError, HttpProcessingError, OSError) as error:
            raise exchange.failure(error) from error
        finally:
            _exchange.reset(token)
            if exchange.meter is not None:  # the peer might never close the connection
                exchange.meter.end(exchange.budget, is_reusable=exchange.reuse and complete)

    async def _send(self, exchange: Exchange) -> aiohttp.ClientResponse:
        session = self._keep_alive if exchange.reuse else self._single_use
        while True:
            try:
                return await session.request(
                    exchange.method,
                    URL(exchange.target.url, encoded=True),
                    headers=exchange.headers,
                    data=exchange.body,
                    timeout=aiohttp.ClientTimeout(connect=exchange.connect_s, ceil_threshold=NEVER_ROUNDED_S),
                    allow_redirects=False,
                )
            except _StaleConnection:
                if exchange.is_new:
                    raise OutboundFailed(Failure.PROTOCOL) from None

    async def close(self) -> None:
        """Close the sessions."""
        await self._single_use.close()
        await self._keep_alive.close()


async def _send_once(request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType) -> aiohttp.ClientResponse:
    """Do not resend a GET whose connection breaks, which aiohttp does for its own errors.

    The session with kept connections may: a server can close a kept connection.
    """
    try:
        return await handler(request)
    except (aiohttp.ClientOSError, aiohttp.ServerDisconnectedError) as error:
        raise _exchange.get().failure(error) from error


def _fail_body(content: aiohttp.StreamReader) -> None:
    """Fail the body of a response whose connection ended before its end.

    aiohttp does not, if its parser rejects the body after it accepted the head; the read would wait forever.
    """
    if not content.is_eof() and content.exception() is None:
        content.set_exception(aiohttp.ClientPayloadError("The connection ended before the end of the body."))


async def _read_body(response: aiohttp.ClientResponse, exchange: Exchange) -> tuple[bytes, bool, bool]:
    """Return the body, whether it was read completely, and whether it was longer."""
    if response.version not in VERSIONS or response.status not in STATUSES:
        raise OutboundFailed(Failure.PROTOCOL)
    max_bytes, keep, budget = exchange.max_bytes, exchange.keep_bytes, exchange.budget
    if keep is None and (response.content_length or 0) > max_bytes and exchange.method != "HEAD":
        raise OutboundFailed(Failure.TOO_LARGE)
    kept, size = bytearray(), 0
    try:
        async for part in response.content.iter_any():
            size += len(part)
            if size > max_bytes and keep is None:
                raise OutboundFailed(Failure.TOO_LARGE)
            kept += part[: max(0, (max_bytes if keep is None else keep) - len(kept))]
            if size > max_bytes:
                break
    except aiohttp.ClientError:
        if keep is None or not budget.is_exceeded:
            raise
    complete = size <= max_bytes and not budget.is_exceeded
    return bytes(kept), complete, size > len(kept) or not complete
