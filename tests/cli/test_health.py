"""Health checks distinguish a Builders service from another program at its port."""

import socket
from collections.abc import Callable, Iterator
from threading import Thread

import pytest

from builders.cli import serve

StartServer = Callable[[bytes], int]


@pytest.fixture
def start_server() -> Iterator[StartServer]:
    """Return a function that starts a server with one response, and gives its port."""
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
@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0"])  # noqa: S104 - not bound
def test_only_the_exact_response_is_of_builders(
    start_server: StartServer, host: str, answer: bytes, *, ours: bool
) -> None:
    assert serve.is_builders(host, start_server(answer)) == ours


@pytest.mark.parametrize(("status", "ready"), [("200 OK", True), ("503 Service Unavailable", False)])
def test_a_response_other_than_200_is_not_ready(start_server: StartServer, status: str, *, ready: bool) -> None:
    assert serve.is_ready("127.0.0.1", start_server(http(status, "{}"))) == ready


@pytest.mark.parametrize("host", ["127.0.0.1", "x" * 64])
def test_a_port_without_a_server_is_neither_ready_nor_builders(host: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    assert not serve.is_builders(host, port)
    assert not serve.is_ready(host, port)
