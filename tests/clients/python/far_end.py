"""A server on loopback that answers as a test says, such as with failures."""

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

LONGEST_S = 60  # of an answer that drips


class Asked(NamedTuple):
    """A request that arrived."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


class Answer(NamedTuple):
    """An answer; without a status the connection is closed."""

    status: int | None = 200
    body: Any = None
    headers: Mapping[str, str] = {}  # an empty value removes a header
    pause: float = 0  # seconds after each byte of the body
    raw: bytes | None = None  # all bytes, in place of status, headers and body
    cut: int = 0  # bytes at the end that are not sent; the connection is closed
    silent: bool = False  # nothing is sent

    def head(self, content: bytes) -> bytes:
        """Return the bytes before the body."""
        kind = {} if isinstance(self.body, bytes) else {"Content-Type": "application/json"}
        headers = {"Content-Length": str(len(content)), **kind, **self.headers}
        lines = [f"HTTP/1.1 {self.status} Said", *(f"{name}: {value}" for name, value in headers.items() if value)]
        return "\r\n".join([*lines, "", ""]).encode("latin-1")


@dataclass
class FarEnd:
    """The server."""

    address: str = ""
    asked: list[Asked] = field(default_factory=list)


class _Handler(BaseHTTPRequestHandler):
    """Answers requests; a server has a subclass with its far end and its function."""

    protocol_version = "HTTP/1.1"
    far_end: FarEnd
    answer: Callable[[Asked], Answer]

    def log_message(self, *_: object) -> None:
        pass

    def handle(self) -> None:
        with suppress(ConnectionError):  # the client has had enough
            super().handle()

    def handle_any(self) -> None:
        length = int(self.headers.get("content-length") or 0)
        headers = {name.lower(): value for name, value in self.headers.items()}
        asked = Asked(self.command, self.path, headers, self.rfile.read(length))
        self.far_end.asked.append(asked)
        said = type(self).answer(asked)
        self.close_connection = said.status is None or said.raw is not None or bool(said.cut)
        if said.silent:
            self.connection.recv(1)  # until the client closes
        elif said.status is not None:
            self.send(said)

    def send(self, said: Answer) -> None:
        content = said.body if isinstance(said.body, bytes) else json.dumps(said.body).encode()
        head, body = (b"", said.raw) if said.raw is not None else (said.head(content), content)
        if not said.pause:
            self.wfile.write((head + body)[: len(head + body) - said.cut])
            return
        self.wfile.write(head)
        for at in range(min(len(body), int(LONGEST_S / said.pause))):
            self.wfile.write(body[at : at + 1])
            time.sleep(said.pause)

    do_GET = do_POST = do_PATCH = do_DELETE = do_PUT = handle_any  # noqa: N815 - names of the library


@contextmanager
def answering(answer: Callable[[Asked], Answer]) -> Iterator[FarEnd]:
    """Run a server that answers with the function."""
    far_end = FarEnd()
    handler = type("Handler", (_Handler,), {"far_end": far_end, "answer": staticmethod(answer)})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.daemon_threads = True
        far_end.address = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield far_end
        finally:
            server.shutdown()
            thread.join()


def in_turn(*answers: Answer) -> Callable[[Asked], Answer]:
    """Return a function that gives the answers in turn, and the last one again and again."""
    left = list(answers)
    return lambda _: left.pop(0) if len(left) > 1 else left[0]
