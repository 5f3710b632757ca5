"""Receivers of webhooks with endless responses, in a separate process that blocks no event loop.

    python -m tests.webhooks.endless_receivers [PORT]

Prints its port. The path selects the kind: `/informational`, `/zeros`... Each connection has a thread, which sends
at line rate until the peer closes.
"""

import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

HOST = "127.0.0.1"
HEAD = b"HTTP/1.1 200 OK\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
# Bytes that are sent once, and bytes that are repeated.
KINDS = {
    "informational": (b"", b"HTTP/1.1 100 \r\n\r\n" * 4_000),
    "hints": (b"", b"HTTP/1.1 103 \r\nLink: <a>\r\n\r\n" * 2_000),
    "blanks": (b"", b"\r\n" * 30_000),
    "responses": (b"", b"HTTP/1.1 304 \r\n\r\n" * 4_000),
    "fields": (HEAD, b"A: b\r\n" * 10_000),
    "chunks": (CHUNKED, b"1\r\na\r\n" * 10_000),
    "extensions": (CHUNKED + b"5;a=", b"a" * 65_536),
    "zeros": (CHUNKED, b"0" * 65_536),
    "trailers": (CHUNKED + b"0\r\n", b"A: b\r\n" * 10_000),
    "body": (HEAD + b"\r\n", b"a" * 65_536),
}
ORDINARY = {"ordinary": (HEAD + b"Content-Length: 2\r\nConnection: close\r\n\r\nok", b"")}  # a control
_HEAD_LIMIT = 65_536  # bytes of a request that are read


def serve(port: int) -> None:
    """Serve until the process ends."""
    server = socket.create_server((HOST, port), backlog=256)
    print(server.getsockname()[1], flush=True)  # noqa: T201 - the parent process reads it
    while True:
        peer, _ = server.accept()
        threading.Thread(target=_flood, args=(peer,), daemon=True).start()


def _flood(peer: socket.socket) -> None:
    with peer, suppress(OSError, KeyError):
        once, again = (KINDS | ORDINARY)[peer.recv(_HEAD_LIMIT).split(b" ", 2)[1].decode().strip("/")]
        peer.sendall(once)
        while again:
            peer.sendall(again)


@contextmanager
def serving(port: int = 0) -> Iterator[int]:
    """Run the receivers in a separate process; yield their port."""
    command = [sys.executable, "-m", "tests.webhooks.endless_receivers", str(port)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        try:
            if process.stdout is None:
                raise RuntimeError("The receivers have no output.")
            yield int(process.stdout.readline())
        finally:
            process.kill()


if __name__ == "__main__":
    serve(int(sys.argv[1]) if len(sys.argv) > 1 else 0)
