"""HTTP/1.1 by uvicorn and httptools, with limits on time, bytes and memory that neither of them has.

The application limits a request from its complete head to its response. It does not see an incomplete head, or
what a client sends or leaves unread afterwards. Those are limited here: bytes on arrival, times by a check of all
connections each second. Decision 0014 has the reasons for uvicorn; a test lists the internals that are used.
"""

import asyncio
from collections.abc import Callable, Collection, Mapping
from enum import Enum
from itertools import chain
from typing import Any, ClassVar

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from builders.kit.errors import BadRequest, BodyStalled, BodyTooLarge, HeadTooLarge, Problem
from builders.kit.values import clock

HEAD_BYTES = 64 * 1024  # of request line and headers
HEAD_S = 15.0  # from the first to the last byte of a head
STALLED_S = 15.0  # without a byte of a body that the application waits for
REST_S = 15.0  # for the rest of a body after its response
LINGER_S = 15.0  # for a client that is still sending to read the last response
LINGER_BYTES = 8 * 1024 * 1024  # that it may send in that time
UNREAD_S = 60.0  # for a client to read a response
UNREAD_BYTES = 64 * 1024 * 1024  # of unread responses of all connections
PIPELINE_REQUESTS = 200  # of a connection that wait for an earlier response
FRAMING = 8  # times: the smallest chunks take six bytes for each byte of a body
CHECK_S = 1.0  # between two checks of all connections
_REQUEST_LINE = len("  HTTP/1.1\r\n\r\n")  # with the end of the head, without method and target
_HEADER = len(": \r\n")  # without name and value
_HEAD_TOO_LARGE = f"Request line and headers are larger than {HEAD_BYTES} bytes."
_NOT_HTTP = "This is not a well-formed HTTP request."

# The part of a request that a connection receives; REST is that of a body after the response.
_Phase = Enum("_Phase", ["IDLE", "HEAD", "BODY", "REST"])
_IDLE, _HEAD, _BODY, _REST = _Phase


class _Discarded(list[tuple[bytes, bytes]]):
    """Trailers, which are dropped: they must not count as headers (RFC 9110, 6.5.1)."""

    def append(self, header: tuple[bytes, bytes], /) -> None:
        """Discard it."""


_DISCARDED = _Discarded()


class _Transport:
    """A transport that sends head and body of a response together, and whose close keeps it readable.

    uvicorn writes head and body separately, and uvloop sends at once what is written: a call of the system takes
    5 % of an open. So the first bytes wait for the next ones, or for the end of the turn of the loop.

    TCP resets a connection that is closed with unread bytes, and a client that is still sending then loses the
    response before it has read it (RFC 9112, 9.6). So the sending half is closed first, and received bytes are
    discarded until the client closes its half.
    """

    def __init__(
        self, inner: asyncio.Transport, loop: asyncio.AbstractEventLoop, *, is_sending: Callable[[], bool]
    ) -> None:
        self._inner, self._loop, self._is_sending = inner, loop, is_sending
        self._held = b""  # written in this turn of the loop, and not sent yet
        self._is_due = False  # whether `_send` is called at the end of the turn
        self.closed_at: float | None = None
        self._discarded = 0

    def __getattr__(self, name: str) -> Any:  # the other members of a transport
        return getattr(self._inner, name)

    def write(self, data: bytes) -> None:
        """Send with the bytes before, or with the next ones of this turn; discard after close."""
        if self.closed_at is not None:
            return
        held, self._held = self._held, b""
        if held:
            self._inner.writelines((held, data))
            return
        self._held = data
        if not self._is_due:
            self._is_due = True
            self._loop.call_soon(self._send)

    def _send(self) -> None:
        """Send what waits for more."""
        self._is_due = False
        held, self._held = self._held, b""
        if held:
            self._inner.write(held)

    def is_closing(self) -> bool:
        """Return whether the transport is closed for writes."""
        return self.closed_at is not None or self._inner.is_closing()

    def close(self) -> None:
        """Close after the written bytes; only the sending half while the client may be sending."""
        if self.is_closing():
            return
        self._send()
        self._end()
        if self._is_sending():
            self._inner.resume_reading()
            self._inner.write_eof()
        else:
            self._inner.close()

    def abort(self) -> None:
        """Close immediately, with a reset."""
        self._end()
        self._inner.abort()

    def lose(self) -> None:
        """Discard data that is written to a lost connection."""
        self._end()
        self._is_sending = bool  # drops the reference to the protocol

    def discard(self, size: int) -> None:
        """Count bytes that arrive after close; abort beyond the limit."""
        self._discarded += size
        if self._discarded > LINGER_BYTES:
            self._inner.abort()

    def _end(self) -> None:
        self._held = b""
        if self.closed_at is None:
            self.closed_at = clock.monotonic()


class _Watch:
    """The timer of all connections of a process, and their unread bytes."""

    def __init__(self, *, check_s: float, max_unread_bytes: int) -> None:
        self._check_s = check_s
        self._max_unread_bytes = max_unread_bytes
        self._timer: asyncio.TimerHandle | None = None
        self._unread: dict[Protocol, int] = {}  # the longest unread first
        self._unread_bytes = 0

    def start(self, loop: asyncio.AbstractEventLoop, connections: Collection[Any]) -> None:
        """Check the connections each second while there are any."""
        if self._timer is None:
            self._timer = loop.call_later(self._check_s, self._check, loop, connections)

    def _check(self, loop: asyncio.AbstractEventLoop, connections: Collection["Protocol"]) -> None:
        now = clock.monotonic()
        for each in tuple(connections):
            each.check(now)
        self._timer = loop.call_later(self._check_s, self._check, loop, connections) if connections else None

    def add_unread(self, connection: "Protocol", size: int) -> None:
        """Count unread bytes of a client; beyond the limit abort the connections that are unread longest."""
        self._unread[connection] = size
        self._unread_bytes += size
        while self._unread_bytes > self._max_unread_bytes:
            longest = next(iter(self._unread))
            self.remove_unread(longest)
            longest.loop.call_soon(longest.transport.abort)

    def remove_unread(self, connection: "Protocol") -> None:
        """Stop counting a client that has read or disconnected."""
        self._unread_bytes -= self._unread.pop(connection, 0)


class Protocol(HttpToolsProtocol):
    """One connection."""

    message_bytes: ClassVar[int]  # of one request
    large_bytes: ClassVar[Mapping[str, int]]  # of one request to a path whose bodies may be larger
    head_s: ClassVar[float]  # from the first byte of a head to its last
    watch: ClassVar[_Watch]

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # of uvicorn
        super().__init__(*args, **kwargs)
        self._phase = _IDLE
        self._since = clock.monotonic()  # when the phase began, or the last byte of a body arrived
        self._received = 0  # bytes of the message, without the read that began it
        self._limit = self.message_bytes
        self._unread_since: float | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn has it
        """Wrap the transport."""
        self._bounded = _Transport(transport, self.loop, is_sending=self._is_sending)
        super().connection_made(self._bounded)  # type: ignore[arg-type] # it is all of one that uvicorn uses
        self.watch.start(self.loop, self.connections)

    def connection_lost(self, exc: Exception | None) -> None:
        """Release the connection."""
        self.watch.remove_unread(self)
        self._bounded.lose()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """Count a response that is not read."""
        super().pause_writing()
        self.watch.add_unread(self, self.transport.get_write_buffer_size())

    def resume_writing(self) -> None:
        """Stop counting: the client reads."""
        self.watch.remove_unread(self)
        super().resume_writing()

    def data_received(self, data: bytes) -> None:
        """Parse received bytes within the limits of the message."""
        if self._bounded.closed_at is not None:
            self._bounded.discard(len(data))
            return
        if self._phase is _BODY:
            self._since = clock.monotonic()
        self._received += len(data)
        super().data_received(data)
        if self._phase is _HEAD and self._received > HEAD_BYTES:
            self._refuse(HeadTooLarge(_HEAD_TOO_LARGE))
        elif self._received > self._limit:
            self._abandon(BodyTooLarge("The request is larger than the largest accepted body."))

    def on_message_begin(self) -> None:
        """Start a request at its first byte."""
        if len(self.pipeline) >= PIPELINE_REQUESTS:
            raise ValueError("too many requests are queued")  # the parser stops, as at a malformed request
        self._phase, self._since, self._received = _HEAD, clock.monotonic(), 0
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Start the body after a complete head. Raise ValueError for one that is too large."""
        if self._is_head_too_large():  # a head that arrives with the end of it in one read
            raise ValueError("the head is too large")
        super().on_headers_complete()
        self.headers = _DISCARDED
        self._limit = self.large_bytes.get(self.scope["path"], self.message_bytes)
        self._phase = _BODY

    def on_message_complete(self) -> None:
        """End the request."""
        if self._phase is _REST:
            self._since = clock.monotonic()
        self._phase = _IDLE
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Record a written response, which may precede the end of the request."""
        self._since = clock.monotonic()
        if self._phase is _BODY and self.cycle.response_complete:
            self._phase = _REST
        super().on_response_complete()

    def announce_close(self, headers: list[tuple[bytes, bytes]]) -> None:
        """Add headers, such as `Connection: close`, to the response of a running request."""
        for cycle in filter(None, (self.cycle, *(waiting for waiting, _ in self.pipeline))):
            cycle.default_headers = headers

    def shutdown(self) -> None:
        """Close after the running request, also one whose head has arrived in part."""
        if self._phase is not _HEAD:
            super().shutdown()

    def send_400_response(self, msg: str) -> None:
        """Refuse malformed HTTP, with a problem document."""
        del msg
        is_too_large = self._phase is _HEAD and self._is_head_too_large()
        self._refuse(HeadTooLarge(_HEAD_TOO_LARGE) if is_too_large else BadRequest(_NOT_HTTP))

    def check(self, now: float) -> None:
        """End a connection that exceeds a time limit."""
        closed_at = self._bounded.closed_at
        if self.transport.get_write_buffer_size():
            self._unread_since = self._unread_since or now
            if now - self._unread_since > UNREAD_S:
                self.transport.abort()
            return
        self._unread_since = None
        if closed_at is not None:
            if now - closed_at > LINGER_S:
                self.transport.abort()
        elif now - self._since > self._timeout_s() and not self._is_waiting_for_application():
            if self._phase is _BODY:
                self._abandon(BodyStalled(f"The request body made no progress for {STALLED_S:.0f} seconds."))
            else:
                self.transport.close()

    def _is_head_too_large(self) -> bool:
        """Return whether the parsed head is, as clients write it: `name: value`, without other white space."""
        size = len(self.parser.get_method() + self.url) + _REQUEST_LINE + _HEADER * len(self.headers)
        return size + sum(map(len, chain.from_iterable(self.headers))) > HEAD_BYTES

    def _timeout_s(self) -> float:
        return {_IDLE: self.timeout_keep_alive, _HEAD: self.head_s, _BODY: STALLED_S, _REST: REST_S}[self._phase]

    def _is_waiting_for_application(self) -> bool:
        """Return whether the application has not responded, or does not read the body yet."""
        if self._phase is _BODY:
            return self.flow.read_paused
        return self.cycle is not None and not self.cycle.response_complete

    def _is_sending(self) -> bool:
        """Return whether the client may be sending a request."""
        return self._phase is not _IDLE

    def _refuse(self, problem: Problem) -> None:
        """End the connection with this response, or after the responses to earlier requests."""
        last = self.cycle  # the last request whose head was complete
        is_current = self._phase in {_BODY, _REST}
        if last is not None and not last.response_complete and not is_current:
            last.keep_alive = False
            self.flow.pause_reading()
            return
        if not is_current or not (last.response_started or self.pipeline):
            self._write(problem)
        self.transport.close()

    def _abandon(self, problem: Problem) -> None:
        """Refuse, and end the wait of the application for the body."""
        self._refuse(problem)
        self.cycle.disconnected = True
        self.cycle.message_event.set()

    def _write(self, problem: Problem) -> None:
        response = problem.response()
        headers = [*self.server_state.default_headers, *response.raw_headers, (b"connection", b"close")]
        lines = [name + b": " + value + b"\r\n" for name, value in headers]
        self.transport.write(b"".join([STATUS_LINE[problem.status], *lines, b"\r\n", bytes(response.body)]))


def bounded(
    body_limit: int,
    large_bodies: Mapping[str, int] | None = None,
    *,
    check_s: float = CHECK_S,
    head_s: float = HEAD_S,
    max_unread_bytes: int = UNREAD_BYTES,
) -> type[Protocol]:
    """Return the protocol of a process with this limit of request bodies; larger ones are by path."""
    large = {path: HEAD_BYTES + FRAMING * limit for path, limit in (large_bodies or {}).items()}
    limits = {"message_bytes": HEAD_BYTES + FRAMING * body_limit, "large_bytes": large, "head_s": head_s}
    watch = _Watch(check_s=check_s, max_unread_bytes=max_unread_bytes)
    return type("Bounded", (Protocol,), {**limits, "watch": watch})
