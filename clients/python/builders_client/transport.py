"""HTTP: the only module that knows the library (httpx2)."""

import asyncio
import time
from collections.abc import Mapping
from typing import NamedTuple

import httpx2

AsyncHttp = httpx2.AsyncBaseTransport
Http = httpx2.BaseTransport


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

    def __init__(self, http: AsyncHttp | None) -> None:
        self._client = httpx2.AsyncClient(transport=http)

    async def send(self, request: Request, *, timeout: float) -> Response | Lost:  # noqa: ASYNC109 - of the library
        """Return the response."""
        try:
            response = await self._client.request(
                request.method, request.url, headers=request.headers, content=request.content, timeout=timeout
            )
        except httpx2.TransportError as error:
            return _lost(error)
        return _read(response)

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await asyncio.sleep(seconds)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.aclose()


class Transport:
    """Sends requests; a lost one is a value, not an exception."""

    def __init__(self, http: Http | None) -> None:
        self._client = httpx2.Client(transport=http)

    def send(self, request: Request, *, timeout: float) -> Response | Lost:
        """Return the response."""
        try:
            response = self._client.request(
                request.method, request.url, headers=request.headers, content=request.content, timeout=timeout
            )
        except httpx2.TransportError as error:
            return _lost(error)
        return _read(response)

    def sleep(self, seconds: float) -> None:
        """Wait."""
        time.sleep(seconds)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()


def _read(response: httpx2.Response) -> Response:
    headers = {name.lower(): value for name, value in response.headers.items()}
    return Response(response.status_code, headers, response.content)


def _lost(error: httpx2.TransportError) -> Lost:
    return Lost(f"{type(error).__name__}: {error}", isinstance(error, httpx2.TimeoutException))
