"""Closing of connections: unread responses, and a close that loses no response."""

import asyncio
from contextlib import AsyncExitStack, suppress

import pytest
from starlette.types import Receive, Scope, Send

from builders.cli import protocol
from builders.cli.protocol import LINGER_S, UNREAD_S
from tests.cli.connections import CLOSING, GET, POST, ended, endless, hasty, refusing, serving


@pytest.mark.parametrize("last", [b"", CLOSING], ids=["idle", "closing"])
async def test_a_client_that_does_not_read_the_end_of_a_response_is_aborted(last: bytes) -> None:
    text = b"x" * 20_000  # too short for pause_writing

    async def brief(scope: Scope, receive: Receive, send: Send) -> None:
        del scope, receive
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"20000")]})
        await send({"type": "http.response.body", "body": text})

    async with serving(brief) as server, server.connect() as (_, writer):
        writer.transport.pause_reading()  # type: ignore[attr-defined] # which a writer's can as well
        for n in range(1, 10_000):
            writer.write(GET)
            await server.until(lambda each, n=n: each.server_state.total_requests == n)  # type: ignore[misc] # as above
            if any(each.transport.get_write_buffer_size() for each in server.connections):
                break
        writer.write(last)
        await server.after(0)
        await server.after(UNREAD_S - 1)
        assert server.connections
        await server.after(2)
        await server.until(lambda _: True, count=0)


async def test_a_client_that_does_not_read_a_response_is_aborted() -> None:
    async with serving(endless) as server, server.connect() as (_, writer):
        writer.write(GET)
        await server.until(lambda each: each.flow.write_paused)
        await server.after(0)
        await server.after(UNREAD_S + 1)
        await server.until(lambda _: True, count=0)


async def test_beyond_the_unread_limit_the_longest_unread_is_aborted() -> None:
    limit = 200_000  # 64 to 128 KiB of each are unread when it is noticed
    paused: list[protocol.Protocol] = []

    class Noting(protocol.bounded(1024, max_unread_bytes=limit)):  # type: ignore[misc] # a class per process
        def pause_writing(self) -> None:
            paused.append(self)
            super().pause_writing()

    async with serving(endless, kind=Noting) as server, AsyncExitStack() as clients:
        for n in range(1, 5):
            _, writer = await clients.enter_async_context(server.connect())
            writer.write(GET)
            async with asyncio.timeout(60):
                while len(set(paused)) < n:  # noqa: ASYNC110 - there is no event
                    await asyncio.sleep(0)
        await server.until(lambda each: each is paused[0], count=0)
        assert paused[-1] in server.connections


async def test_a_response_to_a_lost_connection_is_discarded() -> None:
    failed: list[Exception] = []

    async def late(scope: Scope, receive: Receive, send: Send) -> None:
        for each in tuple(server.connections):
            each.transport.abort()
        try:
            await hasty(scope, receive, send)
        except Exception as error:  # noqa: BLE001 - any error
            failed.append(error)

    async with serving(late) as server, server.connect() as (reader, writer):
        writer.write(GET * 3)
        with suppress(ConnectionError):
            await ended(reader)
    assert not failed


async def test_after_an_early_response_the_rest_is_discarded() -> None:
    size = 3_000_000
    async with serving(refusing) as server, server.connect() as (reader, writer):
        writer.write(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % size)
        said = await ended(reader)
        writer.write(b"x" * size)
        async with asyncio.timeout(60):
            await writer.drain()  # raises after a reset
        assert said.endswith(b"refused")
        assert server.connections
        writer.write_eof()
        await server.until(lambda _: True, count=0)


async def test_a_client_that_keeps_sending_after_the_last_response_is_aborted() -> None:
    async with serving(refusing) as server, server.connect() as (reader, writer):
        writer.write(POST)
        await ended(reader)
        await server.after(LINGER_S + 1)
        await server.until(lambda _: True, count=0)


async def send_endlessly(writer: asyncio.StreamWriter) -> None:
    while True:
        writer.write(b"x" * 10_000)
        await writer.drain()


async def test_discarded_bytes_after_the_last_response_are_limited() -> None:
    async with serving(refusing) as server, server.connect() as (reader, writer):
        writer.write(POST)
        await ended(reader)
        with pytest.raises(ConnectionError):
            await send_endlessly(writer)
        await server.until(lambda _: True, count=0)
