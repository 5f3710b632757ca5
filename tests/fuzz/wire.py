"""A raw HTTP client, which can send malformed bytes."""

import json
import re
import socket
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from email.message import Message
from http.client import HTTPResponse
from io import BytesIO
from typing import Any

TIMEOUT_S = 30
TRACE = re.compile(rb"Traceback|File \"|\.py\b|site-packages")
CLOSE = b"Connection: close\r\n"


@dataclass(frozen=True, slots=True)
class Answer:
    """A response of the server."""

    status: int
    headers: Message
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


class _Kept(BytesIO):
    """The received bytes, which an HTTPResponse cannot close."""

    def makefile(self, mode: str) -> "_Kept":
        del mode
        return self

    def close(self) -> None:
        pass


def talk(port: int, *parts: bytes, method: str = "GET") -> list[Answer]:
    """Return the responses to these bytes until the server closes the connection.

    Raises TimeoutError when it leaves the connection open.
    """
    with socket.create_connection(("127.0.0.1", port), timeout=TIMEOUT_S) as connection:
        send(connection, parts)
        return answers(connection, method=method)


def ask(port: int, head: bytes, body: bytes = b"") -> Answer:
    """Return the response to a request line, headers and a body, whose length is added."""
    length = b"Content-Length: %d\r\n" % len(body) if body else b""
    method = head.split(b" ", 1)[0].decode()
    (answer,) = talk(port, head + b"Host: builders.test\r\n" + CLOSE + length + b"\r\n" + body, method=method)
    return answer


def send(connection: socket.socket, parts: Iterable[bytes]) -> int:
    """Send all bytes, or as many as the server accepts; return their number."""
    sent = 0
    with suppress(ConnectionResetError, BrokenPipeError):
        for part in parts:
            connection.sendall(part)
            sent += len(part)
    return sent


def answers(connection: socket.socket, *, method: str = "GET") -> list[Answer]:
    """Read all responses until the server closes the connection; assert that none shows an internal error."""
    received = b""
    with suppress(ConnectionResetError):
        while part := connection.recv(65536):
            received += part
    return list(_answers(received, method))


def _answers(received: bytes, method: str) -> Iterator[Answer]:
    stream = _Kept(received)
    while stream.tell() < len(received):
        response = HTTPResponse(stream, method=method)  # type: ignore[arg-type] # makefile is all it asks of a socket
        response.begin()
        answer = Answer(response.status, response.headers, response.read())
        assert answer.status < 500, answer
        assert not TRACE.search(answer.body), answer
        yield answer
