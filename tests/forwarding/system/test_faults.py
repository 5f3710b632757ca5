"""Faults of the chain: no mail is lost, or refused for a temporary cause: tests/forwarding/system/check."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from builders.app import Service
from builders.forwarding.recipients import Recipients
from builders.kit.db.connections import Database
from builders.kit.process.settings import Settings
from tests.cast import Person
from tests.forwarding.conftest import OPERATOR, serving
from tests.forwarding.heads import head_of
from tests.forwarding.system.chain import LIST, TIMEOUT_S, Names, Received, Sink, publish_key, send, write
from tests.forwarding.system.conftest import FILTER_SOCKET, SOCKET, restart, run
from tests.plans.make import alias, apply

READER = f"reader@{LIST}"
SLOW_S = 2.0
END_OF_MESSAGE = b"\r\n.\r\n"
Pass = Callable[[bytes], Awaitable[bool]]


@pytest.fixture
async def name(alice: Person, shared: str) -> str:
    """Return a name that forwards to Alice."""
    await apply(alice, alias(f"ada@{shared}", alice.account.email))
    return f"ada@{shared}"


@pytest.fixture
async def replying(alice: Person, shared: str, service: Service, settings: Settings, names: Names) -> str:
    """Return a name whose mail passes the filter."""
    await publish_key(service, settings, names, shared)
    await apply(alice, alias(f"shopkeeper@{shared}", alice.account.email, reply=True))
    return f"shopkeeper@{shared}"


@asynccontextmanager
async def away(path: Path) -> AsyncIterator[Path]:
    """Take a server's socket away; yield where it is. Daemons of Postfix that are connected start again."""
    moved = path.with_suffix(".away")
    await run("mv", path, moved)
    await restart()
    try:
        yield moved
    finally:
        await run("mv", "-f", moved, path)
        await restart()


@asynccontextmanager
async def between(path: Path, *, forth: Pass, back: Pass) -> AsyncIterator[None]:
    """Stand between Postfix and a server: what a function refuses to pass ends the connection."""

    async def copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, is_passed: Pass) -> None:
        with suppress(OSError):
            while chunk := await reader.read(65_536):
                if not await is_passed(chunk):
                    break
                writer.write(chunk)
                await writer.drain()
        writer.close()

    async with away(path) as real:

        async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            server_reader, server_writer = await asyncio.open_unix_connection(real)
            done, _ = await asyncio.wait(
                [
                    asyncio.create_task(copy(reader, server_writer, forth)),
                    asyncio.create_task(copy(server_reader, writer, back)),
                ],
                return_when=asyncio.FIRST_COMPLETED,
            )
            assert done
            writer.close()
            server_writer.close()

        server = await asyncio.start_unix_server(accept, path)
        await run("chmod", "666", path)
        yield
        server.close()


async def everything(chunk: bytes) -> bool:
    """Pass all."""
    del chunk
    return True


async def flushed(sink: Sink) -> Received:
    """Let Postfix try again all that it has in its queue; return the message that arrives."""
    async with asyncio.timeout(TIMEOUT_S):
        while sink.received.empty():  # a queue manager that starts forgets the request
            await run("postqueue", "-f")
            await asyncio.sleep(0.5)
    return await sink.next()


async def deferred() -> None:
    """Wait until a message is deferred."""
    async with asyncio.timeout(TIMEOUT_S):
        while True:  # Postfix tells nobody
            if "deferred" in await run("postqueue", "-j"):
                return
            await asyncio.sleep(0.1)


async def test_mail_waits_with_its_sender_while_the_look_up_server_is_away(name: str, sink: Sink) -> None:
    async with away(SOCKET):
        refused = await send(write(READER, name), READER, name)
    assert {code for code, _ in refused.values()} == {451}
    assert await send(write(READER, name), READER, name) == {}
    assert await sink.next()


async def test_mail_is_accepted_while_look_ups_are_slow(name: str, sink: Sink) -> None:
    async def slowly(chunk: bytes) -> bool:
        await asyncio.sleep(SLOW_S)
        return bool(chunk)

    async with between(SOCKET, forth=everything, back=slowly):
        assert await send(write(READER, name), READER, name) == {}
        assert await sink.next()


async def test_mail_waits_with_its_sender_while_the_database_is_away(
    name: str, sink: Sink, settings: Settings
) -> None:
    del sink
    database = Database("host=127.0.0.1 port=1", settings.model_copy(update={"pool_timeout_s": 0.05}))
    await database.open()
    async with away(SOCKET), serving(Recipients(database, operator=OPERATOR), SOCKET):
        await run("chmod", "666", SOCKET)
        refused = await send(write(READER, name), READER, name)
    await database.close()
    assert {code for code, _ in refused.values()} == {451}


async def test_accepted_mail_waits_while_the_filter_is_away(replying: str, sink: Sink) -> None:
    async with away(FILTER_SOCKET):
        assert await send(write(READER, replying), READER, replying) == {}
        await deferred()
    assert await flushed(sink)


async def test_mail_that_the_filter_lost_before_its_end_is_handed_over_again(replying: str, sink: Sink) -> None:
    async def until_the_end(chunk: bytes) -> bool:
        return END_OF_MESSAGE not in chunk

    async with between(FILTER_SOCKET, forth=until_the_end, back=everything):
        assert await send(write(READER, replying), READER, replying) == {}
        await deferred()
    assert await flushed(sink)


async def test_mail_whose_result_was_lost_arrives_twice_with_one_id(replying: str, sink: Sink) -> None:
    async def without_result(chunk: bytes) -> bool:
        return b"queued as" not in chunk

    async with between(FILTER_SOCKET, forth=everything, back=without_result):
        assert await send(write(READER, replying), READER, replying) == {}
        first = await sink.next()
        await deferred()
    second = await flushed(sink)
    assert head_of(first.content)["Message-ID"] == head_of(second.content)["Message-ID"]


async def test_mail_waits_for_a_destination_that_refuses_for_a_time(alice: Person, name: str, sink: Sink) -> None:
    sink.replies[alice.account.email] = "451 4.3.2 Try again later"
    assert await send(write(READER, name), READER, name) == {}
    await deferred()
    sink.replies.clear()
    assert (await flushed(sink)).recipients == [alice.account.email]


async def test_mail_waits_with_its_sender_while_the_queue_has_no_space(name: str, sink: Sink) -> None:
    await run("postconf", "queue_minfree=1000000000000000")
    await restart()
    try:
        refused = await send(write(READER, name), READER, name)
    finally:
        await run("postconf", "-X", "queue_minfree")
        await restart()
    assert {code for code, _ in refused.values()} == {452}
    assert await send(write(READER, name), READER, name) == {}
    assert await sink.next()
