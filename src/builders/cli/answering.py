"""A request that is there as a whole is read at once; an answer that comes in one piece goes out in one write.

uvicorn looks at each header of each answer by two patterns and writes head and body apart. Here the head is put
together at once and looked at as a whole, which with fifteen headers is much of what an answer costs. All else (a
body in parts, an answer in parts, to HEAD, without its length) is uvicorn's, as is every refusal of what is not
well-formed.
"""

from collections.abc import Awaitable, Sequence

from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, RequestResponseCycle

_CONTROLS = bytes([*range(9), *range(10, 32), 127])  # that no header may hold; a tab it may (RFC 9110, 5.5)
_LAST_LINE = b"\r\nconnection: close\r\n\r\n"
# Headers of how a message goes on the wire, which are for uvicorn to follow; ASGI has names in lower case.
_CONNECTION, _TRANSFER_ENCODING = b"connection: ", b"transfer-encoding: "


class Whole:
    """The application as one request asks it."""

    __slots__ = ("_app", "_cycle", "_head")

    def __init__(self, app: ASGIApp, cycle: RequestResponseCycle) -> None:
        self._app, self._cycle = app, cycle
        self._head: Message | None = None  # while it waits for the body

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        """Answers; what it asks for and what it sends comes here first."""
        del receive, send
        return self._app(scope, self.receive, self.send)

    async def receive(self) -> Message:
        """What uvicorn says; where a whole request is there already, without its ways of waiting for it."""
        cycle = self._cycle
        if (
            cycle.more_body
            or cycle.response_complete
            or cycle.disconnected
            or cycle.waiting_for_100_continue
            or not cycle.message_event.is_set()
        ):
            return await cycle.receive()  # type: ignore[return-value] # uvicorn's name for the same mapping
        cycle.message_event.clear()
        body, cycle.body = bytes(cycle.body), bytearray()
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(self, message: Message) -> None:
        """Keeps the head until the first of the body is there, then writes them."""
        cycle, head = self._cycle, self._head
        if head is None:
            if message["type"] == "http.response.start" and not cycle.response_started:
                self._head = message
            else:
                await cycle.send(message)  # type: ignore[arg-type] # uvicorn's names for the same mappings
            return
        self._head = None
        if not self._write(head, message):
            await cycle.send(head)  # type: ignore[arg-type] # as above
            await cycle.send(message)  # type: ignore[arg-type] # as above

    def _write(self, head: Message, message: Message) -> bool:
        """Whether it was an answer in one piece, and is written."""
        cycle = self._cycle
        body: bytes = message.get("body", b"")
        headers = [*cycle.default_headers, *head.get("headers", ())]
        if (
            message["type"] != "http.response.body"
            or message.get("more_body")
            or cycle.disconnected
            or cycle.flow.write_paused
            or cycle.access_log
            or cycle.scope["method"] == "HEAD"
            or (b"content-length", b"%d" % len(body)) not in headers
        ):
            return False
        lines = joined(headers)
        if lines is None or _CONNECTION in lines or _TRANSFER_ENCODING in lines:
            return False
        ending = b"\r\n\r\n" if cycle.keep_alive else _LAST_LINE
        cycle.transport.write(b"".join((STATUS_LINE[head["status"]], lines, ending, body)))
        cycle.response_started = cycle.response_complete = True
        cycle.waiting_for_100_continue = False
        cycle.message_event.set()
        if not cycle.keep_alive:
            cycle.transport.close()
        cycle.on_response()
        return True


def joined(headers: Sequence[tuple[bytes, bytes]]) -> bytes | None:
    """The headers as lines, without the last line's end; None unless each is one line."""
    lines = b"\r\n".join(map(b": ".join, headers))
    breaks = len(headers) - 1
    is_clean = len(lines) - len(lines.translate(None, _CONTROLS)) == 2 * breaks and lines.count(b"\r\n") == breaks
    return lines if is_clean else None
