"""One connection at a time: how long it may take to say what, on a real socket."""

import asyncio
import gc
import weakref
from typing import Any

import pytest
from starlette.types import Receive, Scope, Send

from builders.cli import protocol
from tests.cli.connections import CLOSING, GET, POST, answered, ended, hasty, patient, serving


async def test_who_says_nothing_is_let_go() -> None:
    async with serving(hasty, idle_s=0.05) as connect, connect() as (reader, _):
        assert await ended(reader) == b""


async def test_a_connection_in_use_lasts_longer_than_one_may_be_idle() -> None:
    async with serving(hasty, idle_s=0.1) as connect, connect() as (reader, writer):
        loop = asyncio.get_running_loop()
        began = loop.time()
        while loop.time() - began < 0.3:
            writer.write(GET)
            await answered(reader)
            await asyncio.sleep(0.01)
        last = loop.time()
        assert await ended(reader) == b""
    assert loop.time() - last > 0.08


async def test_nothing_is_left_of_a_connection_that_ended() -> None:
    made: list[weakref.ref[protocol.Protocol]] = []

    class Watched(protocol.Protocol):
        longest_message = 1 << 20

        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            made.append(weakref.ref(self))

    async with serving(hasty, made_by=Watched) as connect, connect() as (reader, writer):
        writer.write(GET)
        await answered(reader)
    await asyncio.sleep(0)
    gc.collect()
    assert [each() for each in made] == [None]


@pytest.mark.parametrize("part", [b"G", GET[:20], GET[:-1], GET + GET[:-1]])
async def test_who_does_not_finish_a_head_is_let_go(part: bytes) -> None:
    async with serving(hasty, patience_s=0.05) as connect, connect() as (reader, writer):
        writer.write(part)
        said = await ended(reader)
        assert said.count(b"HTTP/1.1 200") == part.count(b"\r\n\r\n")


async def test_what_was_asked_before_an_unfinished_head_is_answered() -> None:
    asked, ready = asyncio.Event(), asyncio.Event()

    async def slow(scope: Scope, receive: Receive, send: Send) -> None:
        asked.set()
        await ready.wait()
        await hasty(scope, receive, send)

    async with (
        serving(slow, patience_s=0.05) as connect,
        connect() as (reader, writer),
        connect() as (later, other),
    ):
        writer.write(GET + GET + GET[:20])
        await asked.wait()
        other.write(GET[:20])
        assert await ended(later) == b""  # and the patience with both is over
        ready.set()
        said = await ended(reader)
    assert (said.count(b"HTTP/1.1 200"), said.count(b"connection: close")) == (2, 1)


async def test_another_line_of_a_head_gives_no_more_time() -> None:
    async with serving(hasty, patience_s=0.3) as connect, connect() as (reader, writer):
        writer.write(b"GET / HTTP/1.1\r\n")
        ending = asyncio.create_task(ended(reader))
        lines = 0
        while not (await asyncio.wait({ending}, timeout=0.02))[0]:
            writer.write(b"X: y\r\n")
            lines += 1
            assert lines < 200, "it goes on for ever"


async def test_who_was_answered_early_has_a_moment_for_the_rest() -> None:
    async with serving(hasty, patience_s=0.05) as connect, connect() as (reader, writer):
        writer.write(POST + b"12")
        assert (await ended(reader)).endswith(b"ok")


async def test_a_rest_that_comes_in_time_keeps_the_connection() -> None:
    async with serving(hasty) as connect, connect() as (reader, writer):
        for _ in range(3):
            writer.write(POST)
            await answered(reader)
            writer.write(b"1234")
        writer.write(GET)
        await answered(reader)


async def test_after_a_late_rest_a_silent_connection_is_let_go() -> None:
    async with serving(hasty, idle_s=0.3) as connect, connect() as (reader, writer):
        writer.write(POST)
        await answered(reader)
        writer.write(b"1234")
        assert await ended(reader) == b""


async def test_a_slow_body_is_the_applications_matter() -> None:
    async with (
        serving(patient, patience_s=0.05, idle_s=0.05) as connect,
        connect() as (idle, _),
        connect() as (reader, writer),
    ):
        writer.write(POST + b"12")
        await ended(idle)  # longer than any patience of the connection
        writer.write(b"34")
        await answered(reader)


async def test_a_fault_after_a_good_request_waits_for_its_answer() -> None:
    async with serving(hasty) as connect, connect() as (reader, writer):
        writer.write(GET + GET + b"nonsense\r\n\r\n")
        assert (await ended(reader)).count(b"HTTP/1.1 200") == 2


async def test_a_fault_after_an_early_answer_gets_no_second_one() -> None:
    async with serving(hasty) as connect, connect() as (reader, writer):
        writer.write(b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
        await answered(reader)
        writer.write(b"nonsense\r\n")
        assert await ended(reader) == b""


async def test_a_fault_in_a_body_that_is_waited_for_is_said() -> None:
    async with serving(patient) as connect, connect() as (reader, writer):
        writer.write(b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nnonsense\r\n")
        assert (await ended(reader)).startswith(b"HTTP/1.1 400")


async def test_a_fault_on_a_used_connection_is_said() -> None:
    async with serving(hasty) as connect, connect() as (reader, writer):
        writer.write(GET)
        await answered(reader)
        writer.write(b"GET http://[ HTTP/1.1\r\n\r\n")
        assert (await ended(reader)).startswith(b"HTTP/1.1 400")


async def test_more_than_a_request_can_hold_ends_the_connection() -> None:
    async with serving(hasty) as connect, connect() as (reader, writer):
        writer.write(b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
        await answered(reader)
        writer.write(b"400\r\n%s\r\n" % (b"a" * 1024) * 100)
        assert await ended(reader) == b""


async def test_fifty_requests_at_once_are_all_answered() -> None:
    async with serving(hasty) as connect, connect() as (reader, writer):
        writer.write(GET * 50)
        for _ in range(50):
            await answered(reader)


async def test_a_connection_has_so_many_requests_waiting_and_no_more() -> None:
    heard = 0

    async def counting(scope: Scope, receive: Receive, send: Send) -> None:
        nonlocal heard
        heard += 1
        await hasty(scope, receive, send)

    async with serving(counting) as connect, connect() as (reader, writer):
        writer.write(GET * 5000)
        said = await ended(reader)
    assert heard <= protocol.MOST_WAITING + 1
    assert said.count(b"HTTP/1.1 200") == heard


async def test_trailers_are_dropped_and_not_kept() -> None:
    kept: list[int] = []

    class Watched(protocol.Protocol):
        longest_message = 1 << 20

        def on_message_complete(self) -> None:
            kept.append(len(self.headers) + len(list(self.scope["headers"])))
            super().on_message_complete()

    async with serving(patient, made_by=Watched) as connect, connect() as (reader, writer):
        trailers = b"X-API-Key: guess\r\n" * 5000
        writer.write(b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n" + trailers + b"\r\n")
        await answered(reader)
    assert kept == [2]  # Host and Transfer-Encoding


@pytest.mark.parametrize("last", [b"", CLOSING], ids=["idle", "closing"])
async def test_who_does_not_read_the_last_of_an_answer_is_let_go(last: bytes) -> None:
    lost, untaken = asyncio.Event(), asyncio.Queue[int]()
    text = b"x" * 20_000  # as little as a transport keeps without a word

    class Leaving(protocol.Protocol):
        longest_message = 1 << 20

        def connection_lost(self, exc: Exception | None) -> None:
            lost.set()
            super().connection_lost(exc)

        def on_response_complete(self) -> None:
            super().on_response_complete()
            untaken.put_nowait(self.transport.get_write_buffer_size())

    async def brief(scope: Scope, receive: Receive, send: Send) -> None:
        del scope, receive
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"20000")]})
        await send({"type": "http.response.body", "body": text})

    async with serving(brief, made_by=Leaving, idle_s=0.05, unread_s=0.1) as connect, connect() as (_, writer):
        writer.transport.pause_reading()  # type: ignore[attr-defined] # which a writer's can as well
        async with asyncio.timeout(10):
            while True:
                writer.write(GET)
                if await untaken.get():
                    break
            writer.write(last)
            await lost.wait()


async def test_who_does_not_read_an_answer_is_let_go() -> None:
    lost = asyncio.Event()

    async def lavish(scope: Scope, receive: Receive, send: Send) -> None:
        del scope, receive
        await send({"type": "http.response.start", "status": 200, "headers": []})
        try:
            while not lost.is_set():
                await send({"type": "http.response.body", "body": b"x" * 65536, "more_body": True})
                await asyncio.sleep(0)
        finally:
            lost.set()

    class Leaving(protocol.Protocol):
        def connection_lost(self, exc: Exception | None) -> None:
            lost.set()
            super().connection_lost(exc)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(protocol, "bounded", lambda _: Leaving)
        async with serving(lavish, unread_s=0.05) as connect, connect() as (_, writer):
            writer.write(GET)
            async with asyncio.timeout(10):
                await lost.wait()
