"""Limits on time and bytes of a connection, on a socket with a clock that tests move."""

import asyncio
import gc
import json
import weakref
from collections.abc import Iterable
from typing import Any

import pytest
from starlette.types import Receive, Scope, Send

from builders.cli import protocol
from builders.cli.protocol import HEAD_S, REST_S, STALLED_S
from tests.cli.connections import (
    CHUNKED,
    GET,
    IDLE_S,
    POST,
    answered,
    ended,
    hasty,
    patient,
    serving,
)


async def test_a_connection_that_sends_nothing_is_closed() -> None:
    async with serving(hasty) as server, server.connect() as (reader, _):
        await server.receives("IDLE")
        await server.after(IDLE_S - 1)
        await server.receives("IDLE")
        await server.after(2)
        assert await ended(reader) == b""


async def test_the_server_checks_its_connections_periodically() -> None:
    async with (
        serving(hasty, kind=protocol.bounded(1, check_s=0.01, head_s=0.01)) as server,
        server.connect() as (reader, writer),
    ):
        writer.write(b"G")
        assert await ended(reader) == b""


async def test_a_connection_in_use_outlasts_the_idle_time() -> None:
    async with serving(hasty) as server, server.connect() as (reader, writer):
        for _ in range(4):
            writer.write(GET)
            await answered(reader)
            await server.after(IDLE_S - 1)
        await server.after(2)
        assert await ended(reader) == b""


class Recorded:
    """A transport that records each call that sends."""

    def __init__(self) -> None:
        self.sent: list[bytes] = []

    def write(self, data: bytes) -> None:
        self.sent.append(data)

    def writelines(self, parts: Iterable[bytes]) -> None:
        self.sent.append(b"".join(parts))

    def is_closing(self) -> bool:
        return False

    def close(self) -> None:
        self.sent.append(b"closed")


def recording() -> tuple[protocol._Transport, list[bytes]]:
    inner: Any = Recorded()
    transport = protocol._Transport(inner, asyncio.get_running_loop(), is_sending=bool)
    return transport, inner.sent


async def test_head_and_body_of_a_response_are_sent_together() -> None:
    transport, sent = recording()
    for part in (b"head", b"body", b"next head", b"next body"):
        transport.write(part)
    await asyncio.sleep(0)
    assert sent == [b"headbody", b"next headnext body"]


async def test_a_head_does_not_wait_longer_than_a_turn_of_the_loop() -> None:
    transport, sent = recording()
    transport.write(b"head")
    await asyncio.sleep(0)
    assert sent == [b"head"]


async def test_what_was_written_is_sent_before_the_end() -> None:
    transport, sent = recording()
    transport.write(b"last")
    transport.close()
    transport.write(b"late")
    await asyncio.sleep(0)
    assert sent == [b"last", b"closed"]


async def test_an_ended_connection_is_released() -> None:
    made: list[weakref.ref[protocol.Protocol]] = []

    class Watched(protocol.bounded(1024)):  # type: ignore[misc] # a class per process
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            made.append(weakref.ref(self))

    async with serving(hasty, kind=Watched) as server, server.connect() as (reader, writer):
        writer.write(GET)
        await answered(reader)
    await asyncio.sleep(0)
    gc.collect()
    assert [each() for each in made] == [None]


@pytest.mark.parametrize("part", [b"G", GET[:20], GET[:-1], GET + GET[:-1]])
async def test_an_unfinished_head_times_out(part: bytes) -> None:
    async with serving(hasty) as server, server.connect() as (reader, writer):
        writer.write(part)
        await server.receives("HEAD")
        for _ in range(part.count(b"\r\n\r\n")):
            await answered(reader)
        await server.after(HEAD_S + 1)
        assert await ended(reader) == b""


async def test_a_further_header_does_not_extend_the_time() -> None:
    async with serving(hasty) as server, server.connect() as (reader, writer):
        writer.write(b"GET / HTTP/1.1\r\n")
        await server.receives("HEAD")
        await server.after(HEAD_S - 1)
        writer.write(b"X: y\r\n")
        await server.until(lambda each: each._received == len(b"X: y\r\n"))
        await server.after(2)
        assert await ended(reader) == b""


async def test_requests_before_an_unfinished_head_are_answered() -> None:
    asked, ready = asyncio.Event(), asyncio.Event()

    async def slow(scope: Scope, receive: Receive, send: Send) -> None:
        asked.set()
        await ready.wait()
        await hasty(scope, receive, send)

    async with serving(slow) as server, server.connect() as (reader, writer):
        writer.write(GET + GET + GET[:20])
        await asked.wait()
        await server.receives("HEAD")
        await server.after(HEAD_S + 1)
        ready.set()
        await answered(reader)
        await answered(reader)
        await server.after(HEAD_S + 1)
        assert await ended(reader) == b""


async def test_a_client_has_time_for_the_rest_after_an_early_response() -> None:
    async with serving(hasty) as server, server.connect() as (reader, writer):
        writer.write(POST + b"1")
        await answered(reader)
        await server.after(REST_S - 1)
        writer.write(b"2")
        await server.until(lambda each: each._received == 1)
        await server.after(2)
        assert await ended(reader) == b""


async def test_a_timely_rest_keeps_the_connection() -> None:
    async with serving(hasty) as server, server.connect() as (reader, writer):
        for _ in range(3):
            writer.write(POST)
            await answered(reader)
            await server.after(REST_S - 1)
            writer.write(b"1234")
            await server.receives("IDLE")
        await server.after(IDLE_S - 1)
        writer.write(GET)
        await answered(reader)


async def test_after_a_late_rest_a_silent_connection_is_closed() -> None:
    async with serving(hasty) as server, server.connect() as (reader, writer):
        writer.write(POST)
        await answered(reader)
        writer.write(b"1234")
        await server.receives("IDLE")
        await server.after(IDLE_S + 1)
        assert await ended(reader) == b""


async def test_a_body_that_progresses_has_no_time_limit() -> None:
    async with serving(patient) as server, server.connect() as (reader, writer):
        writer.write(POST)
        await server.receives("BODY")
        for n, byte in enumerate((b"1", b"2", b"3"), 1):
            await server.after(STALLED_S - 1)
            writer.write(byte)
            await server.until(lambda each, n=n: each._received == n)  # type: ignore[misc] # the number at this time
        writer.write(b"4")
        await answered(reader)


async def test_a_stalled_body_is_refused() -> None:
    heard = asyncio.Queue[str]()

    async def listening(scope: Scope, receive: Receive, send: Send) -> None:
        del scope, send
        while True:
            message = await receive()
            heard.put_nowait(message["type"])
            if message["type"] == "http.disconnect":
                return

    async with serving(listening) as server, server.connect() as (reader, writer):
        writer.write(POST + b"12")
        assert await heard.get() == "http.request"
        await server.after(STALLED_S + 1)
        head, _, body = (await ended(reader)).partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 408 ")
        assert json.loads(body)["code"] == "body_stalled"
        assert await heard.get() == "http.disconnect"


async def test_a_body_that_the_application_does_not_read_has_no_time_limit() -> None:
    ready = asyncio.Event()

    async def busy(scope: Scope, receive: Receive, send: Send) -> None:
        await ready.wait()
        await patient(scope, receive, send)

    size = 1 << 20
    async with serving(busy, kind=protocol.bounded(size)) as server, server.connect() as (reader, writer):
        writer.write(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % size + b"x" * size)
        await server.until(lambda each: each.flow is not None and each.flow.read_paused)
        await server.after(STALLED_S + 1)
        ready.set()
        await answered(reader)


async def test_a_malformed_request_waits_for_the_earlier_response() -> None:
    async with serving(hasty) as server, server.connect() as (reader, writer):
        writer.write(GET + GET + b"nonsense\r\n\r\n")
        assert (await ended(reader)).count(b"HTTP/1.1 200") == 2


async def test_a_malformed_body_after_a_response_gets_none() -> None:
    async with serving(hasty) as server, server.connect() as (reader, writer):
        writer.write(CHUNKED)
        await answered(reader)
        writer.write(b"nonsense\r\n")
        assert await ended(reader) == b""


async def test_a_malformed_body_is_refused() -> None:
    async with serving(patient) as server, server.connect() as (reader, writer):
        writer.write(CHUNKED + b"nonsense\r\n")
        assert (await ended(reader)).startswith(b"HTTP/1.1 400")


async def test_a_malformed_request_on_a_used_connection_is_refused() -> None:
    async with serving(hasty) as server, server.connect() as (reader, writer):
        writer.write(GET)
        await answered(reader)
        writer.write(b"GET http://[ HTTP/1.1\r\n\r\n")
        assert (await ended(reader)).startswith(b"HTTP/1.1 400")


@pytest.mark.parametrize(
    "framing",
    [b"Content-Length: 4\r\nTransfer-Encoding: chunked", b"Content-Length: 4\r\nContent-Length: 5"],
)
async def test_a_body_with_two_ends_is_refused(framing: bytes) -> None:
    async with serving(patient) as server, server.connect() as (reader, writer):
        writer.write(b"POST / HTTP/1.1\r\nHost: x\r\n" + framing + b"\r\n\r\n0\r\n\r\n" + GET)
        said = await ended(reader)
    assert said.startswith(b"HTTP/1.1 400")
    assert said.count(b"HTTP/1.1 ") == 1


@pytest.mark.parametrize(
    "flood", [b"400\r\n%s\r\n" % (b"a" * 1024), b"1;" + b"a" * 1024, b"0" * 1024, b"0\r\n" + b"X: y\r\n" * 200]
)
@pytest.mark.parametrize("app", [hasty, patient])
async def test_a_too_large_request_ends_the_connection(app: Any, flood: bytes) -> None:
    async with serving(app) as server, server.connect() as (reader, writer):
        writer.write(CHUNKED + flood * 1000)
        assert (await ended(reader)).count(b"HTTP/1.1 ") == 1


async def test_fifty_pipelined_requests_are_answered() -> None:
    async with serving(hasty) as server, server.connect() as (reader, writer):
        writer.write(GET * 50)
        for _ in range(50):
            await answered(reader)


async def test_pipelined_requests_are_limited() -> None:
    heard = 0

    async def counting(scope: Scope, receive: Receive, send: Send) -> None:
        nonlocal heard
        heard += 1
        await hasty(scope, receive, send)

    async with serving(counting) as server, server.connect() as (reader, writer):
        writer.write(GET * 5000)
        said = await ended(reader)
    assert heard <= protocol.PIPELINE_REQUESTS + 1
    assert said.count(b"HTTP/1.1 200") == heard


async def test_trailers_are_dropped() -> None:
    kept: list[int] = []

    class Watched(protocol.bounded(1 << 20)):  # type: ignore[misc] # a class per process
        def on_message_complete(self) -> None:
            kept.append(len(self.headers) + len(list(self.scope["headers"])))
            super().on_message_complete()

    async with serving(patient, kind=Watched) as server, server.connect() as (reader, writer):
        writer.write(CHUNKED + b"0\r\n" + b"X-API-Key: guess\r\n" * 5000 + b"\r\n")
        await answered(reader)
    assert kept == [2]  # Host and Transfer-Encoding
