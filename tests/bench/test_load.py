"""The load generator counts each response once, and fails on invalid responses."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

from bench import load

REQUEST = b"GET / HTTP/1.1\r\nhost: here\r\n\r\n"
Respond = Callable[[int], bytes]  # to the nth request


@asynccontextmanager
async def serving(answer: Respond) -> AsyncIterator[tuple[int, list[int]]]:
    """Serve raw responses; yield the port and the number of requests."""
    seen = [0]

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await reader.readline():
            while await reader.readline() not in {b"", b"\r\n"}:
                pass
            seen[0] += 1
            for part in answer(seen[0]).split(b"|"):  # a bar stands for a pause within an answer
                writer.write(part)
                await writer.drain()
                await asyncio.sleep(0)
        writer.close()

    server = await asyncio.start_server(talk, load.HOST, 0)
    try:
        yield server.sockets[0].getsockname()[1], seen
    finally:
        server.close()


def response(status: str = "200 OK", body: bytes = b"hello") -> bytes:
    return b"HTTP/1.1 %s\r\nContent-Length: %d\r\n\r\n%s" % (status.encode(), len(body), body)


@pytest.mark.parametrize("pause", [b"", b"HTTP", b"\r\nCont", b"\r\n\r\n", b"hel"])
async def test_a_response_in_parts_counts_once(pause: bytes) -> None:
    async with serving(lambda _: response().replace(pause, pause + b"|") if pause else response()) as (port, seen):
        result = await load.run(port, itertools.repeat(REQUEST), seconds=0.05, connections=3)
    assert result.answers == seen[0] > 3
    assert result.rate == pytest.approx(result.answers / result.seconds)


async def test_requests_are_sent_in_turn() -> None:
    asked: list[bytes] = []

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while line := await reader.readline():
            asked.append(line.split()[1])
            while await reader.readline() not in {b"", b"\r\n"}:
                pass
            writer.write(response())
        writer.close()

    server = await asyncio.start_server(talk, load.HOST, 0)
    requests = itertools.cycle([b"GET /%d HTTP/1.1\r\n\r\n" % n for n in range(3)])
    await load.run(server.sockets[0].getsockname()[1], requests, seconds=0.02, connections=1)
    server.close()

    assert asked == [b"/%d" % (n % 3) for n in range(len(asked))]


@pytest.mark.parametrize(
    "answer", [response("500 Oops"), response("404 Not Found"), b"HTTP/1.1 200 OK\r\n\r\n", b"SSH-2.0\r\n\r\n"]
)
async def test_an_invalid_response_fails_the_load(answer: bytes) -> None:
    async with serving(lambda n: answer if n == 5 else response()) as (port, _):
        with pytest.raises(load.LoadFailed, match="answered"):
            await load.run(port, itertools.repeat(REQUEST), seconds=5, connections=2)


async def test_a_closed_connection_fails_the_load() -> None:
    async def leave(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    server = await asyncio.start_server(leave, load.HOST, 0)
    with pytest.raises(load.LoadFailed, match="closed"):
        await load.run(server.sockets[0].getsockname()[1], itertools.repeat(REQUEST), seconds=5, connections=1)
    server.close()
