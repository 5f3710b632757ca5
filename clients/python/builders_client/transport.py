"""HTTP: the only module that knows the library (httpx2)."""

import asyncio
import time
from collections.abc import Mapping
from typing import NamedTuple

import httpx2

from builders_client.problems import ReplyInvalid, RequestInvalid

AsyncHttp = httpx2.AsyncBaseTransport
Http = httpx2.BaseTransport
MOST_BYTES = 512 << 20  # of an answer; the largest exports have less
_TOO_LONG = "The answer is too long."


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
    timed_out: bool


class AsyncTransport:
    """Sends requests; a lost one is a value, not an exception."""

    def __init__(self, http: AsyncHttp | None, *, most_bytes: int = MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._client = httpx2.AsyncClient(transport=http)

    async def send(self, request: Request, *, idle: float, end: float) -> Response | Lost:
        """Return the response, within `idle` seconds without a byte and until the monotonic time `end`.

        Raise RequestInvalid, and ReplyInvalid for an answer that would fill the memory.
        """
        try:
            async with self._client.stream(
                request.method, request.url, headers=request.headers, content=request.content, timeout=idle
            ) as response:
                content = bytearray()
                async for chunk in response.aiter_bytes():
                    content += chunk
                    if time.monotonic() > end:
                        return _LATE
                    if len(content) > self._most_bytes:
                        raise ReplyInvalid(_TOO_LONG)
        except httpx2.RequestError as error:
            return _lost(error)
        except httpx2.InvalidURL as error:
            raise RequestInvalid(str(error)) from error
        return _read(response, content)

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await asyncio.sleep(seconds)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.aclose()


class Transport:
    """Sends requests; a lost one is a value, not an exception."""

    def __init__(self, http: Http | None, *, most_bytes: int = MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._client = httpx2.Client(transport=http)

    def send(self, request: Request, *, idle: float, end: float) -> Response | Lost:
        """Return the response, within `idle` seconds without a byte and until the monotonic time `end`.

        Raise RequestInvalid, and ReplyInvalid for an answer that would fill the memory.
        """
        try:
            with self._client.stream(
                request.method, request.url, headers=request.headers, content=request.content, timeout=idle
            ) as response:
                content = bytearray()
                for chunk in response.iter_bytes():
                    content += chunk
                    if time.monotonic() > end:
                        return _LATE
                    if len(content) > self._most_bytes:
                        raise ReplyInvalid(_TOO_LONG)
        except httpx2.RequestError as error:
            return _lost(error)
        except httpx2.InvalidURL as error:
            raise RequestInvalid(str(error)) from error
        return _read(response, content)

    def sleep(self, seconds: float) -> None:
        """Wait."""
        time.sleep(seconds)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()


_LATE = Lost("the answer was not complete in time", timed_out=True)


def _read(response: httpx2.Response, content: bytearray) -> Response:
    headers = {name.lower(): value for name, value in response.headers.items()}
    return Response(response.status_code, headers, bytes(content))


def _lost(error: httpx2.RequestError) -> Lost:
    """Return the request without an answer. Raise RequestInvalid if it cannot be sent."""
    if isinstance(error, httpx2.LocalProtocolError | httpx2.UnsupportedProtocol):
        # The text of the library contains headers, such as the API key.
        raise RequestInvalid("A header or the address of the request is not valid.") from None
    return Lost(f"{type(error).__name__}: {error}", timed_out=isinstance(error, httpx2.TimeoutException))
