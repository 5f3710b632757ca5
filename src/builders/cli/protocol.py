"""HTTP/1.1 as uvicorn speaks it with httptools, with the bounds that neither of them sets.

The body limit and the time limit of a request are the application's. It sees neither a head before that is whole,
nor what a client goes on sending once it was answered: those are bounded here, so that nobody can fill the memory
or hold connections for ever with them.
"""

import asyncio
from typing import Any, ClassVar

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

from builders.cli.answering import Whole
from builders.kit.errors import BadRequest, HeadTooLarge, Problem

LONGEST_HEAD = 64 * 1024  # bytes of request line and headers, beyond which a read that is under way may go
PATIENCE_S = 15.0  # for a head that has begun, and for the rest of a request that was answered early
UNREAD_S = 60.0  # for an answer that the client does not read on
MOST_WAITING = 200  # requests of a connection whose turn has not come (HTTP pipelining)
FRAMING = 8  # times: the smallest chunks take six bytes for each of the body


class _Nowhere(list[tuple[bytes, bytes]]):
    """Where trailers go: nothing stays in it."""

    def append(self, header: tuple[bytes, bytes], /) -> None:
        """Forgets it."""


_NOWHERE = _Nowhere()


class Protocol(HttpToolsProtocol):
    """One connection."""

    longest_message: ClassVar[int] = 0  # bytes; what `bounded` sets

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # uvicorn's own
        super().__init__(*args, **kwargs)
        self._is_in_head = self._is_in_body = False
        self._received = 0  # bytes of the message, but for the read that began it
        self._deadline: asyncio.TimerHandle | None = None
        self._unread: asyncio.TimerHandle | None = None
        self._idle_since: float | None = None  # on the clock of the loop; None while something is asked

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn has it
        """A new connection may be idle as long as one between two requests."""
        super().connection_made(transport)
        # To hear at once of an answer that the client does not read, and not from 64 KiB on: to close, too, waits
        # for the last of it.
        transport.set_write_buffer_limits(high=0)
        self._allow_idleness()

    def connection_lost(self, exc: Exception | None) -> None:
        """The end."""
        self._forget_deadline()
        self._forget_unread()
        if self.timeout_keep_alive_task is not None:
            self.timeout_keep_alive_task.cancel()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """The client does not read; an answer is not kept for it without end."""
        super().pause_writing()
        # Not closed, which would be to wait for the very bytes that nobody reads.
        self._unread = self._unread or self.loop.call_later(UNREAD_S, self.transport.abort)

    def resume_writing(self) -> None:
        """The client reads on."""
        self._forget_unread()
        super().resume_writing()

    def data_received(self, data: bytes) -> None:
        """Reads on, while the message is neither too long nor too slow."""
        if self.transport.is_closing():
            return
        self._received += len(data)
        super().data_received(data)
        if self.transport.is_closing():
            return
        if self._is_in_head:
            if self._received > LONGEST_HEAD:
                self._refuse(HeadTooLarge(f"Request line and headers are larger than {LONGEST_HEAD} bytes."))
            elif self._deadline is None:
                self._deadline = self.loop.call_later(PATIENCE_S, self._give_head_up)
        elif self._received > self.longest_message:
            self.transport.close()
        elif not self._is_in_body and (self.cycle is None or self.cycle.response_complete):
            self._allow_idleness()

    def on_message_begin(self) -> None:
        """The first byte of a request; that too many are waiting is not well-formed, and the parser stops."""
        if len(self.pipeline) >= MOST_WAITING:
            raise ValueError("too many requests wait for their turn")
        self._is_in_head, self._received = True, 0
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """The head is whole; a trailer must not pass for a header, and goes nowhere (RFC 9110, 6.5.1)."""
        super().on_headers_complete()
        self.headers = _NOWHERE
        self._is_in_head, self._is_in_body = False, True
        if self._deadline is not None:
            self._forget_deadline()

    def on_message_complete(self) -> None:
        """The request is whole."""
        self._is_in_body = False
        if self._deadline is not None:
            self._forget_deadline()
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """The answer is given, perhaps before the request is whole."""
        # As uvicorn has it, but for its timer.
        self.server_state.total_requests += 1
        if self.transport.is_closing():
            return
        self.flow.resume_reading()
        if self.pipeline:
            self._start_asgi_task(*self.pipeline.pop())
        else:
            self._allow_idleness()
        if self._is_in_body and self.cycle.response_complete:
            self._deadline = self.loop.call_later(PATIENCE_S, self.transport.close)

    def send_400_response(self, msg: str) -> None:
        """Refuses what is not HTTP, in the form of all refusals."""
        del msg
        self._refuse(BadRequest("This is not a well-formed HTTP request."))

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:  # uvicorn's names for ASGI's types
        super()._start_asgi_task(cycle, Whole(app, cycle))  # type: ignore[arg-type] # as above

    def _give_head_up(self) -> None:
        if not self._ends_after_answers():
            self.transport.close()

    def _refuse(self, problem: Problem) -> None:
        """Ends the connection, with an answer if it is this request's turn to be answered."""
        if self._ends_after_answers():
            return
        last = self.cycle
        if last is None or not self._is_in_body or not (last.response_started or self.pipeline):
            self._write(problem)
        self.transport.close()

    def _ends_after_answers(self) -> bool:
        """Whether something was asked before, and well: that is answered first, and then nothing more."""
        last = self.cycle  # the last request whose head was whole
        if last is None or last.response_complete or self._is_in_body:
            return False
        last.keep_alive = self._is_in_head = False
        self._forget_deadline()
        self.flow.pause_reading()
        return True

    def _write(self, problem: Problem) -> None:
        response = problem.response()
        headers = [*self.server_state.default_headers, *response.raw_headers, (b"connection", b"close")]
        lines = [name + b": " + value + b"\r\n" for name, value in headers]
        self.transport.write(b"".join([STATUS_LINE[problem.status], *lines, b"\r\n", bytes(response.body)]))

    def timeout_keep_alive_handler(self) -> None:
        """Ends a connection that has been idle for the time; one that was not is looked at again."""
        self.timeout_keep_alive_task = None
        if self._idle_since is not None:
            left = self._idle_since + self.timeout_keep_alive - self.loop.time()
            if left > 0:
                self._look_in(left)
            else:
                self.transport.close()

    def _unset_keepalive_if_required(self) -> None:  # uvicorn's name for: something is asked
        self._idle_since = None

    def _allow_idleness(self) -> None:
        # One timer that looks again: uvicorn sets one after each answer and takes it back at the next request, at
        # 2 µs each time.
        self._idle_since = self.loop.time()
        if self.timeout_keep_alive_task is None:
            self._look_in(self.timeout_keep_alive)

    def _look_in(self, seconds: float) -> None:
        self.timeout_keep_alive_task = self.loop.call_later(seconds, self.timeout_keep_alive_handler)

    def _forget_unread(self) -> None:
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None

    def _forget_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


def bounded(body_limit: int) -> type[Protocol]:
    """The protocol for a service whose bodies have at most so many bytes."""
    return type("Bounded", (Protocol,), {"longest_message": LONGEST_HEAD + FRAMING * body_limit})
