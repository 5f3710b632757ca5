"""Receivers of webhooks that never end a response, in a process of their own so that they slow no event loop.

    python -m soak.hostile [PORT]

Prints its port. The path says the kind: `/informational`, `/zeros`... Each connection has a thread, which sends at
line rate until the peer closes.
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
# What is sent once, and what is sent again and again.
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
ORDINARY = {"ordinary": (HEAD + b"Content-Length: 2\r\nConnection: close\r\n\r\nok", b"")}  # a control: it ends
_HEAD_LIMIT = 65_536  # bytes of a request that are read


def serve(port: int) -> None:
    """Serve until the process is ended."""
    server = socket.create_server((HOST, port), backlog=256)
    print(server.getsockname()[1], flush=True)
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
    """Run the receivers in a process of their own; give their port."""
    command = [sys.executable, "-m", "soak.hostile", str(port)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        try:
            if process.stdout is None:
                raise RuntimeError("The receivers have no output.")
            yield int(process.stdout.readline())
        finally:
            process.kill()


if __name__ == "__main__":
    serve(int(sys.argv[1]) if len(sys.argv) > 1 else 0)
