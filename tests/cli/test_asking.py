"""A service is asked whether it lives; another program at its port is told from it."""

import socket
from collections.abc import Callable, Iterator
from threading import Thread

import pytest

from builders.cli import asking

Answerer = Callable[[bytes], int]


@pytest.fixture
def answerer() -> Iterator[Answerer]:
    """Gives the port where one request is answered so."""
    threads: list[Thread] = []

    def start(answer: bytes) -> int:
        listener = socket.create_server(("127.0.0.1", 0))

        def serve() -> None:
            with listener, listener.accept()[0] as client:
                client.recv(4096)
                client.sendall(answer)

        threads.append(Thread(target=serve))
        threads[-1].start()
        return int(listener.getsockname()[1])

    yield start
    for thread in threads:
        thread.join(timeout=5)


def http(status: str, body: str) -> bytes:
    return f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode()


@pytest.mark.parametrize(
    ("answer", "ours"),
    [
        (http("200 OK", '{"status":"ok"}'), True),
        (http("200 OK", '{"status":"ok"} and more'), False),
        (http("200 OK", "<html>"), False),
        (http("404 Not Found", '{"status":"ok"}'), False),
        (b"SSH-2.0-OpenSSH_9.6\r\n", False),
        (b"", False),
    ],
)
@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0"])  # noqa: S104 - asked, not bound
def test_only_our_own_answer_is_ours(answerer: Answerer, host: str, answer: bytes, *, ours: bool) -> None:
    assert asking.is_ours(host, answerer(answer)) == ours


@pytest.mark.parametrize(("status", "ready"), [("200 OK", True), ("503 Service Unavailable", False)])
def test_what_is_not_ready_says_so(answerer: Answerer, status: str, *, ready: bool) -> None:
    assert asking.is_ready("127.0.0.1", answerer(http(status, "{}"))) == ready


@pytest.mark.parametrize("host", ["127.0.0.1", "x" * 64])
def test_nobody_is_not_ours(host: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    assert not asking.is_ours(host, port)
    assert not asking.is_ready(host, port)
