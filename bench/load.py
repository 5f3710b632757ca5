"""A load of HTTP requests: some keep-alive connections, each with one request under way at any time.

Raw sockets, since a client library would cost more than the server that is measured.
"""

import asyncio
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import cast

_END_OF_HEAD = b"\r\n\r\n"
_LENGTH = b"\r\ncontent-length:"
HOST = "127.0.0.1"
STALLED_S = 30  # without the last answers: then the server hangs


class LoadFailed(Exception):
    """The server answered something else than it should, or not at all; a figure from such a run means nothing."""


@dataclass(frozen=True, slots=True)
class Ran:
    """What a load did."""

    answers: int
    seconds: float
    took: Sequence[float] = ()  # seconds of each answer

    @property
    def rate(self) -> float:
        """Answers a second."""
        return self.answers / self.seconds


@dataclass(slots=True)
class _Load:
    """What the connections of one load share."""

    requests: Iterator[bytes]
    finished: asyncio.Future[None]
    running: int  # connections that have a request under way
    statuses: tuple[bytes, ...]  # that are good answers
    answers: int = 0
    over: bool = False
    took: list[float] = field(default_factory=list)  # seconds of each answer


@dataclass(slots=True, eq=False)
class _Connection(asyncio.Protocol):
    load: _Load
    buffer: bytes = b""
    sent_at: float = 0.0
    ends_at: int = 0  # where the answer in the buffer ends; 0 while its head is not complete
    transport: asyncio.Transport = field(init=False)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)  # uvloop's is one without saying so

    def send(self) -> None:
        """Sends the next request, or nothing more when the load is over."""
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
) -> Ran:
    """Sends the requests in turn for about so many seconds; there must be no end of them. Raises LoadFailed.

    The time is that of all answers, the last ones too, so nothing is left under way for whoever is next.
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
        return Ran(load.answers, time.perf_counter() - began, load.took)
    except TimeoutError:
        raise LoadFailed("the server hangs") from None
    finally:
        for transport, _ in opened:
            transport.close()
