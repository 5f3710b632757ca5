"""Count the bytes of a response where they arrive, before a parser sees them.

A parser discards bytes that never reach the caller: informational responses, chunk sizes and extensions, trailers.
With a limit on the body alone, a peer could send them at line rate until the timeout, and each byte would be
parsed on the event loop. The meter is between the transport and aiohttp's protocol. It passes on at most the
budget of the request, in slices between which the event loop serves other requests; then it aborts the connection.
"""

import asyncio
import re
from collections.abc import Callable

MAX_HEAD_BYTES = 32 * 1024  # status line, fields and informational responses of one exchange
MAX_INFORMATIONAL = 3  # responses of status 1xx before the final one
FRAMING_BYTES = 4 * 1024  # chunk sizes, extensions and trailers of a body, in addition to a quarter of its size
SLICE_BYTES = 4 * 1024  # parsed at once: the costliest input, whole responses of 20 bytes, takes about 1 ms

_PROTOCOL = b"HTTP/"
_INFORMATIONAL = re.compile(rb"HTTP/\d\.\d 1(?!01)\d\d")  # 101 is final: the client never requests it
_HEAD_END = re.compile(rb"\n\r?\n")
_MAX_END_BYTES = 3  # bytes
_BLANKS = (b"\r", b"\n")


class Budget:
    """What one exchange may still receive, whose caller wants at most `max_bytes` of a body."""

    def __init__(self, max_bytes: int) -> None:
        self.head = MAX_HEAD_BYTES
        self.body = max_bytes + max_bytes // 4 + FRAMING_BYTES
        self.informational = MAX_INFORMATIONAL
        self.is_exceeded = False  # more bytes came


class ResponseMeter(asyncio.Protocol):
    """Forward the bytes that the budget of the current exchange allows; abort the connection otherwise.

    Informational responses are counted and dropped. Bytes that arrive between two exchanges abort the connection.
    """

    def __init__(self, transport: asyncio.Transport, handler: asyncio.Protocol) -> None:
        self._transport = transport
        self._handler = handler
        self._budget: Budget | None = None
        self._head = bytearray()
        self._in_head = True
        self._queue = bytearray()  # of the body, not yet parsed
        self._is_scheduled = False
        self._fail: Callable[[], None] | None = None
        self._is_lost = False

    def begin(self, budget: Budget) -> bool:
        """Start an exchange; return False if bytes of an earlier response remain."""
        if self._queue:
            return False
        self._budget = budget
        self._head.clear()
        self._in_head = True
        self._fail = None
        return True

    def watch(self, fail: Callable[[], None]) -> None:
        """Call this when the connection of the present exchange has ended, or at once if it has."""
        self._fail = fail
        if self._is_lost:
            fail()

    def end(self, budget: Budget, *, is_reusable: bool) -> None:
        """End the exchange of this budget, and abort its connection unless it can serve another one.

        Do nothing if the connection already serves the next exchange.
        """
        if self._budget is budget:
            self._budget = None
            if self._queue or not is_reusable:  # bytes behind the response, or of the rest of it
                self._transport.abort()

    def data_received(self, data: bytes) -> None:
        """Count the received bytes and forward the allowed ones."""
        if self._budget is None or self._transport.is_closing():
            self._transport.abort()
        elif self._in_head:
            self._read_head(self._budget, data)
        else:
            self._read_body(self._budget, data)

    def eof_received(self) -> bool | None:
        """Pass on the end of the peer's stream."""
        return self._handler.eof_received()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forward the remaining bytes, and the end of the connection."""
        if self._queue and self._budget is not None:
            self._handler.data_received(bytes(self._queue))
        self._queue.clear()
        self._handler.connection_lost(exc)
        self._is_lost = True
        if self._fail is not None:
            self._fail()

    def pause_writing(self) -> None:
        """Pass on that the write buffer is full."""
        self._handler.pause_writing()

    def resume_writing(self) -> None:
        """Pass on that the write buffer has drained."""
        self._handler.resume_writing()

    def _read_head(self, budget: Budget, data: bytes) -> None:
        searched = max(0, len(self._head) - _MAX_END_BYTES)
        self._head += data
        while True:
            blank = len(self._head) - len(self._head.lstrip(b"\r\n")) if self._head[:1] in _BLANKS else 0
            self._take_head(budget, blank)
            if not self._head.startswith(_PROTOCOL[: len(self._head)]):
                return self._pass_on_from_head(budget, 0)  # not HTTP: the parser rejects it immediately
            end = _HEAD_END.search(self._head, 0 if blank else searched)
            if end is None or end.end() > budget.head:
                if len(self._head) > budget.head:
                    self._exceed(budget)
                return None
            if not _INFORMATIONAL.match(self._head):
                return self._pass_on_from_head(budget, end.end())
            if not budget.informational:
                return self._transport.abort()
            budget.informational -= 1
            self._take_head(budget, end.end())
            searched = 0

    def _take_head(self, budget: Budget, size: int) -> None:
        del self._head[:size]
        budget.head -= size

    def _pass_on_from_head(self, budget: Budget, end: int) -> None:
        """Pass on the final head, and what arrived behind it as body."""
        head, self._in_head = bytes(self._head), False
        self._head.clear()
        if end:
            self._handler.data_received(head[:end])
        if len(head) > end:
            self._read_body(budget, head[end:])

    def _read_body(self, budget: Budget, data: bytes) -> None:
        self._queue += data[: max(0, budget.body)]
        budget.body -= len(data)
        if not self._is_scheduled:
            self._parse_slice()

    def _parse_slice(self) -> None:
        """Pass on one slice of the body; continue in the next iteration of the event loop."""
        was_paused, self._is_scheduled = self._is_scheduled, False
        budget = self._budget
        if budget is None or self._transport.is_closing():
            return
        part = bytes(self._queue[:SLICE_BYTES])
        del self._queue[:SLICE_BYTES]
        self._handler.data_received(part)
        if self._queue:
            self._is_scheduled = True
            self._transport.pause_reading()
            asyncio.get_running_loop().call_soon(self._parse_slice)
        elif budget.body < 0:
            self._exceed(budget)
        elif was_paused:
            self._transport.resume_reading()

    def _exceed(self, budget: Budget) -> None:
        budget.is_exceeded = True
        self._transport.abort()
