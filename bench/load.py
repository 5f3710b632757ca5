"""An HTTP load generator: keep-alive connections, each with one request in flight.

It uses raw sockets, because a client library would cost more than the server under test.
"""

import asyncio
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import cast

_END_OF_HEAD = b"\r\n\r\n"
_LENGTH = b"\r\ncontent-length:"
HOST = "127.0.0.1"
STALLED_S = 30  # after the end of the load, until the server counts as hanging


class LoadFailed(Exception):
    """The server sent an unexpected response or none, so the run has no valid figure."""


@dataclass(frozen=True, slots=True)
class LoadResult:
    """The outcome of a load."""

    answers: int
    seconds: float
    took: Sequence[float] = ()  # seconds of each response

    @property
    def rate(self) -> float:
        """Return responses per second."""
        return self.answers / self.seconds


@dataclass(slots=True)
class _Load:
    """State that the connections of one load share."""

    requests: Iterator[bytes]
    finished: asyncio.Future[None]
    running: int  # connections with a request in flight
    statuses: tuple[bytes, ...]  # beginnings of valid responses
    answers: int = 0
    over: bool = False
    took: list[float] = field(default_factory=list)  # seconds of each response


@dataclass(slots=True, eq=False)
class _Connection(asyncio.Protocol):
    load: _Load
    buffer: bytes = b""
    sent_at: float = 0.0
    ends_at: int = 0  # end of the response in the buffer; 0 while its head is incomplete
    transport: asyncio.Transport = field(init=False)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)  # that of uvloop does not inherit from it

    def send(self) -> None:
        """Send the next request, or none when the load is over."""
        if not self.load.over:
            self.sent_at = time.perf_counter()
            self.transport.write(next(self.load.requests))
            return
        self.load.running -= 1
        if not self.load.running and not self.load.finished.done():
            self.load.finished.set_result(None)

    def data_received(self, data: bytes) -> None:
        self.buffer = self.buffer + data if self.buffer else data
        if not self.ends_at and not self._read_head():
            return
        if len(self.buffer) >= self.ends_at:
            self.buffer, self.ends_at = b"", 0
            self.load.answers += 1
            self.load.took.append(time.perf_counter() - self.sent_at)
            self.send()

    def _read_head(self) -> bool:
        end = self.buffer.find(_END_OF_HEAD)
        if end < 0:
            return False
        head = self.buffer[: end + 2].lower()
        at = head.find(_LENGTH) + len(_LENGTH)
        if not head.startswith(self.load.statuses) or at < len(_LENGTH):
            self._fail(f"the server answered {head.decode('latin-1')!r}")
            return False
        self.ends_at = end + len(_END_OF_HEAD) + int(head[at : head.index(b"\r\n", at)])
        return True

    def connection_lost(self, exc: Exception | None) -> None:
        self._fail(f"the server closed a connection: {exc}")

    def _fail(self, reason: str) -> None:
        if not self.load.finished.done():
            self.load.finished.set_exception(LoadFailed(reason))


async def run(
    port: int,
    requests: Iterator[bytes],
    *,
    seconds: float,
    connections: int = 16,
    statuses: Sequence[int] = (200,),
) -> LoadResult:
    """Send requests from an endless iterator for about `seconds`. Raises LoadFailed.

    The measured time includes the last responses, so no request is in flight afterwards.
    """
    loop = asyncio.get_running_loop()
    good = tuple(b"http/1.1 %d " % each for each in statuses)
    load = _Load(requests, loop.create_future(), running=connections, statuses=good)
    opened = [await loop.create_connection(lambda: _Connection(load), HOST, port) for _ in range(connections)]
    try:
        began = time.perf_counter()
        for _, connection in opened:
            connection.send()
        loop.call_later(seconds, setattr, load, "over", True)
        async with asyncio.timeout(seconds + STALLED_S):
            await load.finished
        return LoadResult(load.answers, time.perf_counter() - began, load.took)
    except TimeoutError:
        raise LoadFailed("the server hangs") from None
    finally:
        for transport, _ in opened:
            transport.close()
