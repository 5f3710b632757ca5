"""HTTP: the only module that knows the library (httpx2)."""

import asyncio
import ipaddress
import math
import os
import socket
import ssl
import time
from collections.abc import Callable, Mapping
from functools import lru_cache
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import NamedTuple
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import httpx2

from builders_client import loops
from builders_client.problems import EnvironmentInvalid, ReplyInvalid, RequestInvalid

# Makes what sends the requests: for each event loop of each process, which must not share connections.
MakeHttp = Callable[[], httpx2.AsyncBaseTransport]
MOST_BYTES = 512 << 20  # of an answer; the largest exports have less


class Request(NamedTuple):
    """A request."""

    method: str
    url: str
    headers: Mapping[str, str]
    content: bytes | None


class Response(NamedTuple):
    """A whole response."""

    status: int
    headers: Mapping[str, str]  # names in lower case
    content: bytes


class Lost(NamedTuple):
    """A request without an answer."""

    reason: str
    timed_out: bool = False
    connected: bool = True
    """False: nobody was reached, so nothing was executed."""


_LATE = Lost("the answer was not complete in time", timed_out=True)


class AsyncTransport:
    """Sends requests; a lost one is a value, not an exception."""

    def __init__(self, make_http: MakeHttp | None, *, most_bytes: int = MOST_BYTES) -> None:
        if make_http is not None and not callable(make_http):
            raise TypeError("http is a function that returns a transport, such as httpx2.AsyncHTTPTransport")
        self._make_http, self._most_bytes = make_http, most_bytes
        self._clients: dict[tuple[int, asyncio.AbstractEventLoop], httpx2.AsyncClient] = {}

    async def send(self, request: Request, *, idle: float, end: float) -> Response | Lost:
        """Return the response, within `idle` seconds without a byte and until the monotonic time `end`.

        Raise RequestInvalid, EnvironmentInvalid, and ReplyInvalid for an answer that would fill the memory.
        """
        left = None if math.isinf(end) else max(end - time.monotonic(), 0.0)
        try:
            async with asyncio.timeout(left):
                return await self._exchange(request, idle)
        except TimeoutError:
            return _LATE
        except httpx2.RequestError as error:
            return _lost(error)
        except (httpx2.InvalidURL, UnicodeError):
            # The texts of the libraries contain headers, such as the API key.
            raise RequestInvalid("A header or the address of the request is not valid.") from None

    async def _exchange(self, request: Request, idle: float) -> Response:
        async with self._client(request.url).stream(
            request.method, request.url, headers=request.headers, content=request.content, timeout=idle
        ) as response:
            content = bytearray()
            async for chunk in response.aiter_bytes():
                content += chunk
                if len(content) > self._most_bytes:
                    raise ReplyInvalid("The answer is too long.")
        headers = {name.lower(): value for name, value in response.headers.items()}
        return Response(response.status_code, headers, bytes(content))

    def _client(self, url: str) -> httpx2.AsyncClient:
        """Return the client with the connections of this process and this event loop."""
        place = os.getpid(), asyncio.get_running_loop()
        if (found := self._clients.get(place)) is None:
            for other in [*self._clients]:
                if other[1].is_closed():
                    self._clients.pop(other, None)
            made = None if self._make_http is None else self._make_http()
            found = self._clients[place] = _open(url, made)
        return found

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await asyncio.sleep(seconds)

    async def aclose(self) -> None:
        """Close the connections of this process and this event loop; a later request opens new ones."""
        client = self._clients.pop((os.getpid(), asyncio.get_running_loop()), None)
        if client is not None:
            await client.aclose()


class Transport:
    """The same without `await`."""

    def __init__(self, make_http: MakeHttp | None, *, most_bytes: int = MOST_BYTES) -> None:
        self._inner = AsyncTransport(make_http, most_bytes=most_bytes)

    def send(self, request: Request, *, idle: float, end: float) -> Response | Lost:
        """Return the response, as AsyncTransport does."""
        return loops.run(self._inner.send(request, idle=idle, end=end))

    def sleep(self, seconds: float) -> None:
        """Wait."""
        time.sleep(seconds)

    def close(self) -> None:
        """Close the connections of this process; a later request opens new ones."""
        loops.finish(self._inner.aclose())


def _open(url: str, http: httpx2.AsyncBaseTransport | None) -> httpx2.AsyncClient:
    """Return a client for an address. Raise EnvironmentInvalid."""
    cookies = CookieJar(DefaultCookiePolicy(allowed_domains=()))  # a client has its keys; it keeps no session
    if http is not None:
        return httpx2.AsyncClient(transport=http, cookies=cookies)
    try:
        trusted = _trusted(os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))
        try:
            return httpx2.AsyncClient(cookies=cookies, verify=trusted)
        except (ImportError, ValueError, httpx2.InvalidURL):  # of a proxy, even if the address is not for it
            if not _goes_direct(url):
                raise
            return httpx2.AsyncClient(cookies=cookies, verify=trusted, trust_env=False)
    except (ImportError, ValueError, OSError, httpx2.InvalidURL) as error:
        raise EnvironmentInvalid(f"The proxy or the certificates of the environment: {error}") from error


@lru_cache(maxsize=1)
def _trusted(*_: str | None) -> ssl.SSLContext:
    """Return the certificates that the environment names: reading them takes longer than a request."""
    return httpx2.create_ssl_context()


def _goes_direct(url: str) -> bool:
    """Return whether NO_PROXY names the host, also by its network."""
    host = urlsplit(url).hostname or ""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return bool(proxy_bypass(host))
    return bool(proxy_bypass(host)) or any(
        address in network for network in _networks(getproxies().get("no", "").split(","))
    )


def _networks(names: list[str]) -> list[ipaddress.IPv4Network | ipaddress.IPv6Network]:
    found = []
    for name in names:
        try:
            found.append(ipaddress.ip_network(name.strip(), strict=False))
        except ValueError:
            continue  # the name of a host
    return found


def _lost(error: httpx2.RequestError) -> Lost:
    """Return the request without an answer. Raise RequestInvalid if it cannot be sent."""
    if isinstance(error, httpx2.LocalProtocolError | httpx2.UnsupportedProtocol):
        # The text of the library contains headers, such as the API key.
        raise RequestInvalid("A header or the address of the request is not valid.") from None
    return Lost(
        f"{type(error).__name__}: {_said(error)}",
        timed_out=isinstance(error, httpx2.TimeoutException),
        connected=not isinstance(error, httpx2.ConnectError),
    )


def _said(error: BaseException) -> str:
    """Return the text of the first cause: the library itself says only that all attempts failed."""
    below = error.__cause__ or error.__context__
    if isinstance(error, BaseExceptionGroup):
        below = error.exceptions[0]
    if below is not None:
        return _said(below)
    if isinstance(error, OSError) and not isinstance(error, ssl.SSLError | socket.gaierror) and error.errno:
        return os.strerror(error.errno)
    return str(error)
