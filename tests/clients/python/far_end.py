"""A server on loopback that answers as a test says, such as with failures."""

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple


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
    headers: Mapping[str, str] = {}
    pause: float = 0  # seconds after each byte


@dataclass
class FarEnd:
    """The server."""

    address: str = ""
    asked: list[Asked] = field(default_factory=list)


@contextmanager
def answering(answer: Callable[[Asked], Answer]) -> Iterator[FarEnd]:
    """Run a server that answers with the function."""
    far_end = FarEnd()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            pass

        def handle_any(self) -> None:
            length = int(self.headers.get("content-length") or 0)
            headers = {name.lower(): value for name, value in self.headers.items()}
            asked = Asked(self.command, self.path, headers, self.rfile.read(length))
            far_end.asked.append(asked)
            said = answer(asked)
            if said.status is None:
                self.close_connection = True
                return
            content = said.body if isinstance(said.body, bytes) else json.dumps(said.body).encode()
            self.send_response(said.status)
            for name, value in {"Content-Length": str(len(content)), **said.headers}.items():
                self.send_header(name, value)
            self.end_headers()
            for part in (content,) if not said.pause else (content[at : at + 1] for at in range(len(content))):
                self.wfile.write(part)
                time.sleep(said.pause)

        do_GET = do_POST = do_PATCH = do_DELETE = do_PUT = handle_any  # noqa: N815 - names of the library

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
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
