"""A receiver can be slow, endless or broken: each request ends in time, holds little, and leaves nothing open."""

import asyncio
import gzip
import tracemalloc
from collections.abc import AsyncIterator
from contextlib import suppress

import pytest

from builders.kit.outbound.client import Failure, Outbound, OutboundFailed
from tests.kit.outbound.receivers import OK, Answer, Reader, Receiver, Writer, calling, receiving, saying

HEAD = b"HTTP/1.1 200 OK\r\n"


async def hang(reader: Reader, writer: Writer) -> None:
    del writer
    await reader.read()  # until the client goes


async def hang_after_head(reader: Reader, writer: Writer) -> None:
    writer.write(HEAD + b"Content-Length: 5\r\n\r\n")
    await hang(reader, writer)


def endless(beginning: bytes, more: bytes, *, pause_s: float = 0) -> Answer:
    async def answer(reader: Reader, writer: Writer) -> None:
        del reader
        writer.write(beginning)
        while True:
            writer.write(more)
            await writer.drain()
            await asyncio.sleep(pause_s)

    return answer


CHUNK = b"%x\r\n%s\r\n" % (65_536, b"a" * 65_536)
ENDLESS = {
    "headers": endless(HEAD, b"X-More: again\r\n"),
    "a header": endless(HEAD + b"X-More: ", b"a" * 65_536),
    "the status line": endless(b"HTTP/1.1 200 ", b"a" * 65_536),
    "no HTTP": endless(b"", b"a" * 65_536),
    "no line": endless(b"", b"\r\n" * 1_000),
    "informational answers": endless(b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    "early hints": endless(b"", b"HTTP/1.1 103 Early Hints\r\nLink: <a>; rel=preload\r\n\r\n" * 100),
    "a body": endless(HEAD + b"\r\n", b"a" * 65_536),
    "a body with a length": endless(HEAD + b"Content-Length: 104857600\r\n\r\n", b"a" * 65_536),
    "chunks": endless(HEAD + b"Transfer-Encoding: chunked\r\n\r\n", CHUNK),
    "tiny chunks": endless(HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\na\r\n" * 1_000),
    "a chunk's length": endless(HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"0" * 65_536),
    "a chunk's extension": endless(HEAD + b"Transfer-Encoding: chunked\r\n\r\n5;a=", b"a" * 65_536),
    "trailers": endless(HEAD + b"Transfer-Encoding: chunked\r\n\r\n0\r\n", b"X-More: again\r\n" * 100),
    "a trailer": endless(HEAD + b"Transfer-Encoding: chunked\r\n\r\n0\r\nX-More: ", b"a" * 65_536),
}
SLOW = {
    "nothing": hang,
    "a head alone": hang_after_head,
    "drops of a head": endless(HEAD, b"X", pause_s=0.01),
    "drops of a body": endless(HEAD + b"Content-Length: 50000\r\n\r\n", b"a", pause_s=0.01),
    "drops of chunks": endless(HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\na\r\n", pause_s=0.01),
}


async def failure(
    outbound: Outbound, receiver: Receiver, *, total_s: float = 2, max_bytes: int = 65_536, reuse: bool = False
) -> Failure:
    with pytest.raises(OutboundFailed) as failed:
        await outbound.request("POST", receiver.url, body=b"{}", total_s=total_s, max_bytes=max_bytes, reuse=reuse)
    assert receiver.url not in str(failed.value)
    assert "127.0.0.1" not in str(failed.value)
    return failed.value.kind


@pytest.mark.parametrize("what", SLOW)
@pytest.mark.parametrize("reuse", [False, True])
async def test_a_slow_response_is_cut_off_at_the_total_timeout(what: str, reuse: bool) -> None:
    async with receiving(SLOW[what]) as receiver, calling(receiver) as outbound:
        began = asyncio.get_running_loop().time()
        assert await failure(outbound, receiver, total_s=0.2, reuse=reuse) is Failure.TIMEOUT
        assert asyncio.get_running_loop().time() - began < 2
    assert receiver.connections == 1


@pytest.mark.parametrize("what", ENDLESS)
@pytest.mark.parametrize("keep_bytes", [None, 100])
async def test_an_endless_response_is_cut_off_and_uses_little_memory(what: str, keep_bytes: int | None) -> None:
    async with receiving(ENDLESS[what]) as receiver, calling(receiver) as outbound:
        tracemalloc.start()
        answer = None
        with suppress(OutboundFailed):
            answer = await outbound.request(
                "GET", receiver.url, max_bytes=10_000, keep_bytes=keep_bytes, total_s=0.2
            )
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 6_000_000
        assert answer is None or (answer.truncated and len(answer.body) <= (keep_bytes or 0))
    assert receiver.connections == 1


async def test_a_large_response_fails_when_it_is_wanted_whole() -> None:
    for said in (HEAD + b"Content-Length: 101\r\n\r\n", HEAD + b"\r\n" + b"a" * 101):
        async with receiving(saying(said)) as receiver, calling(receiver) as outbound:
            assert await failure(outbound, receiver, max_bytes=100) is Failure.TOO_LARGE


async def test_a_response_of_the_allowed_size_is_returned_whole() -> None:
    said = HEAD + b"Content-Length: 100\r\n\r\n" + b"a" * 100
    async with receiving(saying(said)) as receiver, calling(receiver) as outbound:
        for keep_bytes in (None, 100, 101):
            answer = await outbound.request("GET", receiver.url, max_bytes=100, keep_bytes=keep_bytes)
            assert (len(answer.body), answer.truncated) == (100, False)


async def test_the_beginning_of_a_large_response_can_be_kept() -> None:
    said = HEAD + b"Content-Length: 100\r\n\r\n" + b"0123456789" * 10
    async with receiving(saying(said)) as receiver, calling(receiver) as outbound:
        for max_bytes in (50, 100):
            answer = await outbound.request("GET", receiver.url, max_bytes=max_bytes, keep_bytes=12)
            assert (answer.status, answer.body, answer.truncated) == (200, b"012345678901", True)
        assert (await outbound.request("GET", receiver.url, keep_bytes=0)).body == b""


async def test_a_hundred_megabytes_are_not_read() -> None:
    sent = 0

    async def flood(reader: Reader, writer: Writer) -> None:
        nonlocal sent
        del reader
        writer.write(HEAD + b"Content-Length: 104857600\r\n\r\n")
        while sent < 104_857_600:
            writer.write(b"a" * 65_536)
            sent += 65_536
            await writer.drain()

    async with receiving(flood) as receiver, calling(receiver) as outbound:
        answer = await outbound.request("GET", receiver.url, max_bytes=16_384, keep_bytes=2_048)
        assert (len(answer.body), answer.truncated) == (2_048, True)
    assert sent < 30_000_000


async def test_a_compressed_response_is_not_decompressed() -> None:
    bomb = gzip.compress(b"\0" * 10_000_000)
    said = HEAD + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(bomb) + bomb
    async with receiving(saying(said)) as receiver, calling(receiver) as outbound:
        tracemalloc.start()
        answer = await outbound.request("GET", receiver.url)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert answer.body == bomb
    assert peak < 2_000_000


@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"hello\r\n\r\n",
        b"SSH-2.0-OpenSSH_9.9\r\n",
        b"HTTP/1.1\r\n\r\n",
        b"HTTP/1.1 OK\r\n\r\n",
        b"HTTP/1.1 20 OK\r\n\r\n",
        b"HTTP/1.1 2000 OK\r\n\r\n",
        b"HTTP/1.1 +20 OK\r\n\r\n",
        b"HTTP/1.1 099 Odd\r\n\r\n",
        b"HTTP/1.1 600 Odd\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 999 Odd\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/2.0 200 OK\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/0.9 200 OK\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\n",
        HEAD + b"Content-Length: -1\r\n\r\n",
        HEAD + b"Content-Length: 1_0\r\n\r\n",
        HEAD + b"Content-Length: 99999999999999999999999\r\n\r\n",
        HEAD + b"Content-Length: 5\r\n\r\nab",
        HEAD + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nabcdef",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n5\r\nab",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n-5\r\nabcde\r\n0\r\n\r\n",
        HEAD + b"Bad Header\r\n\r\n",
        HEAD + b"X: a\0b\r\n\r\n",
        HEAD + b"X-Many: a\r\n" * 101 + b"\r\n",
        HEAD + b"X-Long: " + b"a" * 9_000 + b"\r\n\r\n",
    ],
)
async def test_a_malformed_response_is_reported(said: bytes) -> None:
    async with receiving(saying(said)) as receiver, calling(receiver) as outbound:
        assert await failure(outbound, receiver, total_s=2) is Failure.PROTOCOL
    assert receiver.connections == 1


@pytest.mark.parametrize("method", ["GET", "PUT", "POST"])
@pytest.mark.parametrize("said", [b"", HEAD])
async def test_a_broken_connection_is_not_retried(method: str, said: bytes) -> None:
    async def reset(reader: Reader, writer: Writer) -> None:
        del reader
        writer.write(said)
        writer.transport.abort()

    async with receiving(reset) as receiver, calling(receiver) as outbound:
        with pytest.raises(OutboundFailed) as failed:
            await outbound.request(method, receiver.url)
    assert failed.value.kind is Failure.PROTOCOL
    assert receiver.connections == 1


async def test_a_closed_port_and_a_silent_one_look_alike(silent: int) -> None:
    async with receiving(saying(OK)) as receiver:
        closed = receiver.port
    said = []
    for port, limits in ((closed, (2, 2)), (silent, (2, 0.05)), (silent, (0.05, 2))):
        receiver.port = port
        async with calling(receiver) as outbound:
            with pytest.raises(OutboundFailed) as failed:
                await outbound.request("GET", receiver.url, total_s=limits[0], connect_s=limits[1])
        said.append((failed.value.kind, str(failed.value)))
    assert said == [(Failure.CONNECT, "No connection could be made.")] * 3


@pytest.fixture
async def silent() -> AsyncIterator[int]:
    """A port that takes no more connections: its queue is full and nobody accepts."""
    server = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0, backlog=1, start_serving=False)
    [listening] = server.sockets
    port: int = listening.getsockname()[1]
    listening._sock.listen(0)  # type: ignore[attr-defined] # asyncio's wrapper hides it
    filling = [asyncio.create_task(asyncio.open_connection("127.0.0.1", port)) for _ in range(4)]
    await asyncio.wait(filling, timeout=0.05)
    yield port
    for task in filling:
        if task.done():
            task.result()[1].transport.abort()
        task.cancel()
    await asyncio.gather(*filling, return_exceptions=True)
    server.close()
    await server.wait_closed()
