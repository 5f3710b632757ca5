"""A connection serves one request or, on request, the next one to the same host; none is leaked."""

import asyncio
import gc
import tracemalloc
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest
import uvloop

from builders.kit.outbound.client import Failure, OutboundFailed
from tests.kit.outbound.receivers import (
    OK,
    Reader,
    Writer,
    calling,
    connections_to,
    deafen,
    receiving,
    resolving,
    saying,
)

KEEP = saying(OK, close=False)


async def test_each_request_has_a_connection_of_its_own() -> None:
    async with receiving(KEEP) as receiver, calling(receiver) as outbound:
        for _ in range(5):
            await outbound.request("GET", receiver.url)
            assert await receiver.is_left_alone()
    assert receiver.connections == 5


async def test_a_connection_is_kept_on_request() -> None:
    async with receiving(KEEP) as receiver, calling(receiver) as outbound:
        for _ in range(5):
            await outbound.request("POST", receiver.url, body=b"{}", reuse=True)
        assert connections_to(receiver.port) == 1
        await outbound.request("GET", receiver.url)  # which must not ride on it
    assert receiver.connections == 2


async def test_a_kept_connection_serves_its_host_only(monkeypatch: pytest.MonkeyPatch) -> None:
    async with receiving(KEEP) as receiver, calling(receiver, names=("a.example", "b.example")) as outbound:
        with resolving(monkeypatch, a_example=["127.0.0.1"], b_example=["127.0.0.1"]):
            for host in ("a.example", "b.example", "127.0.0.1", "a.example"):
                await outbound.request("GET", f"http://{host}:{receiver.port}/", reuse=True)
    assert receiver.connections == 3


async def test_a_connection_with_an_unread_response_is_not_kept() -> None:
    async with receiving(KEEP) as receiver, calling(receiver) as outbound:
        with pytest.raises(OutboundFailed):
            await outbound.request("GET", receiver.url, reuse=True, max_bytes=1)
        assert (await outbound.request("GET", receiver.url, reuse=True, max_bytes=1, keep_bytes=1)).truncated
        assert await receiver.is_left_alone()
    assert receiver.connections == 2


async def test_a_connection_is_kept_after_a_truncated_but_fully_read_response() -> None:
    async with receiving(KEEP) as receiver, calling(receiver) as outbound:
        for _ in range(2):
            assert (await outbound.request("GET", receiver.url, reuse=True, keep_bytes=1)).truncated
    assert receiver.connections == 1


@pytest.mark.parametrize("late", [False, True])
async def test_an_unsolicited_response_is_not_used_for_the_next_request(late: bool) -> None:
    forged = b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged"
    sent = asyncio.Event()

    async def answer(reader: Reader, writer: Writer) -> None:
        del reader
        writer.write(OK if late else OK + forged)
        await writer.drain()
        if late:
            await asyncio.sleep(0.02)
            writer.write(forged)
            await writer.drain()
        sent.set()

    async with receiving(answer) as receiver, calling(receiver) as outbound:
        for _ in range(3):
            assert (await outbound.request("GET", receiver.url, reuse=True)).body == b"ok"
            await sent.wait()
            sent.clear()
            await asyncio.sleep(0.02)  # the client reads what arrived


@pytest.mark.parametrize("reuse", [False, True])
async def test_a_response_before_the_request_fails_at_most_that_request(reuse: bool) -> None:
    async with receiving(KEEP) as receiver, calling(receiver) as outbound:
        receiver.greeting = OK
        for _ in range(2):
            with suppress(OutboundFailed):  # or its greeting has come after the question and looks like an answer
                assert (await outbound.request("POST", receiver.url, reuse=reuse)).body == b"ok"
            await asyncio.sleep(0.01)
    assert receiver.connections == 2


async def test_a_kept_connection_that_the_server_closed_is_replaced() -> None:
    async with receiving(saying(OK)) as receiver, calling(receiver) as outbound:
        for _ in range(3):
            assert (await outbound.request("POST", receiver.url, reuse=True)).status == 200
            await asyncio.sleep(0.01)
    assert receiver.connections == 3


async def test_a_cancelled_request_leaves_no_connection() -> None:
    async def hang(reader: Reader, writer: Writer) -> None:
        del writer
        await reader.read()

    async with receiving(hang) as receiver, calling(receiver) as outbound:
        for reuse in (False, True):
            asking = asyncio.create_task(outbound.request("POST", receiver.url, body=b"a" * 500_000, reuse=reuse))
            await asyncio.sleep(0.03)
            asking.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asking
            assert await receiver.is_left_alone()


async def test_a_receiver_that_reads_nothing_holds_no_connection() -> None:
    async def deaf(reader: Reader, writer: Writer) -> None:
        del reader
        deafen(writer)
        await asyncio.Event().wait()

    async with receiving(deaf) as receiver, calling(receiver) as outbound:
        receiver_reads = receiver.requests
        with pytest.raises(OutboundFailed) as failed:
            await outbound.request("POST", receiver.url, body=b"a" * 1024 * 1024, total_s=0.2)
        assert failed.value.kind is Failure.TIMEOUT
        assert await receiver.is_left_alone()
    assert len(receiver_reads) <= 1


async def test_many_requests_are_served_while_some_hang() -> None:
    async def answer(reader: Reader, writer: Writer) -> None:
        if receiver.requests[-1].startswith(b"GET /hang"):
            await reader.read()
        writer.write(OK)
        writer.close()

    async with receiving(answer) as receiver, calling(receiver) as outbound:
        hanging = [
            asyncio.create_task(outbound.request("GET", f"{receiver.url}hang", total_s=20)) for _ in range(50)
        ]
        answers = await asyncio.gather(*(outbound.request("GET", receiver.url) for _ in range(100)))
        assert {each.status for each in answers} == {200}
        for task in hanging:
            task.cancel()
        await asyncio.gather(*hanging, return_exceptions=True)


def count_objects() -> Counter[str]:
    """Return how many objects of each type there are after a collection."""
    gc.collect()
    return Counter(type(each).__qualname__ for each in gc.get_objects())


@contextmanager
def tracing() -> Iterator[None]:
    """Count the bytes that Python allocates; the size of the whole process changes with every other test."""
    tracemalloc.start()
    try:
        yield
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("reuse", [False, True])
async def test_memory_stays_flat(reuse: bool) -> None:
    async with receiving(KEEP) as receiver, calling(receiver) as outbound:

        async def measure(times: int) -> tuple[int, Counter[str]]:
            """Return the bytes that Python holds, and its objects by type, after so many requests."""
            for _ in range(times):
                await outbound.request("POST", receiver.url, body=b"a" * 2_000, reuse=reuse)
            receiver.requests.clear()
            await asyncio.sleep(0.1)  # connections take a while to end
            objects = count_objects()
            return tracemalloc.get_traced_memory()[0], objects

        with tracing():
            size, objects = await measure(100)
            size_after, objects_after = await measure(400)

    grown = (objects_after - objects).most_common(5)
    assert all(count < 200 for _, count in grown), grown  # of no type an object for every second request
    assert size_after - size < 400_000  # half of a body for each request
    assert receiver.connections < 5 if reuse else receiver.connections == 500  # a slow machine may lose one


def test_connections_are_closed_on_uvloop_too() -> None:
    async def ask() -> None:
        async with receiving(KEEP) as receiver, calling(receiver) as outbound:
            for reuse in (False, True, True):
                assert (await outbound.request("POST", receiver.url, body=b"{}", reuse=reuse)).body == b"ok"
            with pytest.raises(OutboundFailed) as failed:
                await outbound.request("GET", f"http://127.0.0.2:{receiver.port}/")
            assert failed.value.kind is Failure.BLOCKED_ADDRESS
        assert receiver.connections == 2
        with pytest.raises(OutboundFailed) as failed:
            async with calling(receiver) as outbound:
                await outbound.request("GET", receiver.url)
        assert failed.value.kind is Failure.CONNECT

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(ask())
