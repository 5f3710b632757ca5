"""Connections: aiohttp with our resolver and our sockets, so that each address is judged where it is used.

All addresses of a name are judged by the resolver; the socket factory judges the one that is connected to, and so
sees the literal ones too, which aiohttp resolves by itself.
"""

import asyncio
import socket
import ssl
from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from ipaddress import IPv4Address, IPv6Address
from typing import Any, cast

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.connector import AddrInfoType, Connection
from aiohttp.http_exceptions import HttpProcessingError
from yarl import URL

from builders.kit.outbound.addresses import Address, is_loopback, is_public, read
from builders.kit.outbound.failures import Failure, OutboundFailed
from builders.kit.outbound.lookups import Lookups, find
from builders.kit.outbound.meter import Budget, ResponseMeter, budget
from builders.kit.outbound.targets import Target
from builders.kit.outbound.tls import tls_reason

MOST_CONNECTIONS = 1000  # at once; who waits for one waits at most as long as for a connection
MOST_HEADERS, MOST_LINE = 100, 8190  # fields of an answer, and bytes of one of them or of the status line
OF_FAMILY = 2  # addresses of each family that are tried: aiohttp tries all of them, less one, less two...
KEPT_S = 4  # that a connection to be used again is kept idle; many servers give up theirs after 5 s
RECEIVE_BUFFER = 32 * 1024  # bytes that a peer can have ready for one read; Linux doubles it
VERSIONS = (aiohttp.HttpVersion10, aiohttp.HttpVersion11)
STATUSES = range(200, 600)
NEVER = 1e9  # seconds: aiohttp rounds longer limits up to whole seconds


@dataclass(slots=True)
class Call:
    """One request under way."""

    target: Target
    budget: Budget = field(default_factory=lambda: budget(0))
    connection: asyncio.Transport | None = None
    meter: ResponseMeter | None = None
    is_new: bool = False  # the connection was made for this request

    def admits(self, address: Address) -> bool:
        """Whether the guard lets the request through to the address.

        A host that the operator opened may be this machine, or the very address it was opened as.
        """
        if is_public(address):
            return True
        return self.target.opened and (is_loopback(address) or address == self.target.literal)

    def close(self) -> None:
        """Abort the connection, unless it already serves another request: the peer may never close it."""
        if self.connection is not None and self.meter is not None and self.meter.serves(self.budget):
            self.connection.abort()

    def attach(self, connection: asyncio.Transport, handler: asyncio.Protocol) -> None:
        """Count on this connection what arrives for the request."""
        meter = connection.get_protocol()
        if not isinstance(meter, ResponseMeter):
            meter = ResponseMeter(connection, handler)
            connection.set_protocol(meter)
        if not meter.is_clean:
            raise _Spoilt
        meter.begin(self.budget)
        self.connection, self.meter = connection, meter


_call: ContextVar[Call] = ContextVar("outbound_call")


class _Blocked(OSError):
    """An address that is not let through; an OSError, which aiohttp hands on."""


class _Spoilt(Exception):
    """A connection on which the server has spoken before it was asked; nothing was sent."""


class _Request(aiohttp.ClientRequest):
    """Attach the call to its connection, which aiohttp has forgotten when the call must be aborted."""

    async def send(self, conn: Connection) -> aiohttp.ClientResponse:
        # What came while the connection was idle, aiohttp would take for the answer to the next request.
        if conn.protocol is None or conn.protocol.should_close:
            raise _Spoilt
        # uvloop's transports have the methods of asyncio's and not their type.
        _call.get().attach(cast("asyncio.Transport", conn.transport), conn.protocol)
        return await super().send(conn)


class _Resolver(AbstractResolver):
    """Gives aiohttp addresses that have all been judged."""

    def __init__(self, lookups: Lookups) -> None:
        self.lookups = lookups

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        del family
        call = _call.get()
        found = await find(self.lookups, call.target)
        if not all(map(call.admits, found)):
            raise OutboundFailed(Failure.BLOCKED_ADDRESS)
        tried: list[Address] = []
        for kind in (IPv4Address, IPv6Address):
            tried += [each for each in found if isinstance(each, kind)][:OF_FAMILY]
        return [_result(host, port, each) for each in found if each in tried]

    async def close(self) -> None:
        """Nothing of its own is open."""


def _result(host: str, port: int, address: Address) -> ResolveResult:
    family = socket.AF_INET if isinstance(address, IPv4Address) else socket.AF_INET6
    return {
        "hostname": host,
        "host": str(address),
        "port": port,
        "family": family,
        "proto": socket.IPPROTO_TCP,
        "flags": socket.AI_NUMERICHOST,
    }


def _socket(where: AddrInfoType) -> socket.socket:
    """A socket for an address that is let through."""
    family, kind, protocol, _, address = where
    call = _call.get()
    if not call.admits(read(str(address[0]))):
        raise _Blocked
    call.is_new = True
    made = socket.socket(family, kind, protocol)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER)
    return made


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What is sent, and how much of the answer is wanted."""

    method: str
    headers: Mapping[str, str]
    body: bytes | None
    connect_s: float
    max_bytes: int
    keep_bytes: int | None
    reuse: bool


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    truncated: bool


class Wire:
    """Sessions of one event loop: connections of one request each, or kept for the next one to the same host."""

    def __init__(self, tls: ssl.SSLContext, *, user_agent: str) -> None:
        self.lookups = Lookups()
        self._headers = {"User-Agent": user_agent, "Accept-Encoding": "identity"}
        self._tls = tls
        self._closing = self._session(force_close=True)
        # A GET whose connection breaks is sent once only; on a kept connection, which the server may have just
        # given up, aiohttp sends it once more.
        self._closing._retry_connection = False  # noqa: SLF001 - there is no public way
        self._keeping = self._session(keepalive_timeout=KEPT_S)

    def _session(self, **options: Any) -> aiohttp.ClientSession:  # aiohttp's own options
        connector = aiohttp.TCPConnector(
            resolver=_Resolver(self.lookups),
            use_dns_cache=False,
            socket_factory=_socket,
            ssl=self._tls,
            limit=MOST_CONNECTIONS,
            **options,
        )
        return aiohttp.ClientSession(
            connector=connector,
            headers=self._headers,
            skip_auto_headers=["Content-Type"],
            request_class=_Request,
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            trust_env=False,
            max_headers=MOST_HEADERS,
            max_line_size=MOST_LINE,
            max_field_size=MOST_LINE,
        )

    async def exchange(self, call: Call, asked: Asked) -> Answer:
        """One request and its answer. Raises OutboundFailed; has no limit of time but that of connecting."""
        call.budget = budget(asked.max_bytes)
        token = _call.set(call)
        whole = False
        try:
            async with await self._send(call, asked) as response:
                if call.meter is not None:
                    call.meter.watch(partial(_fail, response.content))
                answer, whole = await _read(response, asked, call.budget)
                return answer
        except (OutboundFailed, aiohttp.ClientError, HttpProcessingError, OSError) as error:
            raise _failed(error, call) from error
        finally:
            _call.reset(token)
            if not (asked.reuse and whole):
                call.close()
            if call.meter is not None:
                call.meter.end(call.budget)

    async def _send(self, call: Call, asked: Asked) -> aiohttp.ClientResponse:
        session = self._keeping if asked.reuse else self._closing
        while True:
            try:
                return await session.request(
                    asked.method,
                    URL(call.target.url, encoded=True),
                    headers=asked.headers,
                    data=asked.body,
                    timeout=aiohttp.ClientTimeout(connect=asked.connect_s, ceil_threshold=NEVER),
                    allow_redirects=False,
                )
            except _Spoilt:
                if call.is_new:
                    raise OutboundFailed(Failure.PROTOCOL) from None

    async def close(self) -> None:
        """Closes what is open."""
        await self._closing.close()
        await self._keeping.close()
        await self.lookups.close()


def _fail(content: aiohttp.StreamReader) -> None:
    """Fail the reader of a body whose connection has ended before it.

    aiohttp leaves the reader waiting when its parser refuses a body whose head it has passed on.
    """
    if not content.is_eof() and content.exception() is None:
        content.set_exception(aiohttp.ClientPayloadError("The connection ended before the body."))


async def _read(response: aiohttp.ClientResponse, asked: Asked, budget: Budget) -> tuple[Answer, bool]:
    """Return the response, and whether it was read to its end."""
    if response.version not in VERSIONS or response.status not in STATUSES:
        raise OutboundFailed(Failure.PROTOCOL)
    most, keep = asked.max_bytes, asked.keep_bytes
    if keep is None and (response.content_length or 0) > most and asked.method != "HEAD":
        raise OutboundFailed(Failure.TOO_LARGE)
    kept, size = bytearray(), 0
    try:
        async for part in response.content.iter_any():
            size += len(part)
            if size > most and keep is None:
                raise OutboundFailed(Failure.TOO_LARGE)
            kept += part[: max(0, (most if keep is None else keep) - len(kept))]
            if size > most:
                break
    except aiohttp.ClientError:
        if keep is None or not budget.is_exceeded:
            raise
    whole = size <= most and not budget.is_exceeded
    answer = Answer(response.status, response.headers, bytes(kept), truncated=size > len(kept) or not whole)
    return answer, whole


def _failed(error: Exception, call: Call) -> OutboundFailed:
    """What to say of an error of aiohttp's."""
    match error:
        case OutboundFailed():
            return error
        case aiohttp.ClientConnectorError(os_error=_Blocked()):
            return OutboundFailed(Failure.BLOCKED_ADDRESS)
        case aiohttp.ClientSSLError():
            return OutboundFailed(Failure.TLS, tls_reason(error))
        case aiohttp.ClientConnectorError(os_error=ConnectionResetError() | ConnectionAbortedError()) if (
            call.target.scheme == "https"
        ):
            return OutboundFailed(Failure.TLS)  # hung up on, in the handshake
        case aiohttp.ClientConnectorError() | aiohttp.ConnectionTimeoutError():
            return OutboundFailed(Failure.CONNECT)
        case _:
            return OutboundFailed(Failure.TOO_LARGE if call.budget.is_exceeded else Failure.PROTOCOL)
