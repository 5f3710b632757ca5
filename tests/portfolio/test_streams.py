"""Clients of streamed responses that read slowly or disconnect."""

import asyncio
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager

import pytest
from starlette.types import Message

from builders.kit.http.heavy_requests import HeavyLoop
from builders.portfolio.imports import export
from tests.cast import Person, replaced
from tests.kit.asgi import request_scope
from tests.portfolio.imports.make import EXPORT, JSON_EXPORT, counts, load
from tests.portfolio.parking.make import PARKING, day, record
from tests.portfolio.team.make import code

DOMAINS = export.FEW_DOMAINS + 3  # the export of a portfolio reads them in two parts
PATHS = (EXPORT, JSON_EXPORT, f"{PARKING}.csv")
WITHIN_S = 60

pytestmark = pytest.mark.parametrize("path", PATHS)


class Reader:
    """A client that reads up to the first rows of a response, and the rest when it may."""

    def __init__(self) -> None:
        self.waits, self.may_read, self.leaves = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self.messages: list[Message] = []

    @property
    def body(self) -> bytes:
        return b"".join(each.get("body", b"") for each in self.messages)

    def is_complete(self) -> bool:
        return not self.messages[-1].get("more_body", False)

    async def receive(self) -> Message:
        await self.leaves.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        self.messages.append(message)
        if len(self.messages) > 2:  # the start, the header, rows
            self.waits.set()
            await self.may_read.wait()


@asynccontextmanager
async def reading_slowly(owner: Person, path: str) -> AsyncIterator[tuple[Reader, Awaitable[None]]]:
    """Provide a client that waits in the middle of a response, and the end of its request."""
    reader = Reader()
    scope = request_scope("GET", path, [("X-API-Key", owner.key), ("Host", "builders.test")])
    request = asyncio.ensure_future(owner.service(scope, reader.receive, reader.send))
    async with asyncio.timeout(WITHIN_S):
        await reader.waits.wait()
        yield reader, request
        await request


def held_connections(owner: Person) -> int:
    state = owner.service.api.state
    return int(state.database.held + state.heavy._database.held)


async def connections_are_free(owner: Person) -> bool:
    """Wait for work that goes on after a response, such as that of a key's last use."""
    async with asyncio.timeout(WITHIN_S):
        while held_connections(owner):  # noqa: ASYNC110 - another thread changes it
            await asyncio.sleep(0.01)
    return True


@asynccontextmanager
async def own_loop(owner: Person, **limits: float) -> AsyncIterator[HeavyLoop]:
    """Replace the second loop by one with these limits."""
    state = owner.service.api.state
    loop = HeavyLoop(state.settings, **limits)
    with replaced(owner.service, heavy=loop):
        yield loop
    await loop.close()


@pytest.fixture
async def alice(alice: Person) -> Person:
    """Alice, with more domains than the first part of an export."""
    rows = [{"domain": f"port-{at:02}.com", "notes": "x"} for at in range(DOMAINS)]
    assert counts(await load(alice, rows)) == {"created": DOMAINS}
    revenue = [{"domain": each["domain"], "date": day(1), "amount": "1.00", "currency": "USD"} for each in rows]
    assert (await record(alice, {"rows": revenue, "provider": "sedo"}))["summary"]["created"] == DOMAINS
    return alice


async def test_a_slow_reader_holds_no_connection_and_delays_no_other_account(
    alice: Person, bob: Person, path: str
) -> None:
    whole = (await alice.get(path)).content
    async with reading_slowly(alice, path) as (reader, _):
        assert await connections_are_free(alice)
        assert (await bob.get(path)).status_code == 200
        assert not reader.is_complete()
        reader.may_read.set()
    assert reader.is_complete()
    assert reader.body == whole
    assert whole.count(b"port-") >= DOMAINS


async def test_an_account_has_one_stream_at_a_time(alice: Person, path: str) -> None:
    async with own_loop(alice, wait_s=0.01), reading_slowly(alice, path) as (reader, _):
        assert code(await alice.get(path)) == (429, "heavy_request_running")
        reader.may_read.set()


async def test_a_client_that_disconnects_frees_its_account(alice: Person, path: str) -> None:
    async with reading_slowly(alice, path) as (reader, request):
        reader.leaves.set()
        await request
        assert (await alice.get(path)).status_code == 200
    assert not reader.is_complete()
    assert await connections_are_free(alice)


async def test_a_client_that_reads_too_slowly_frees_its_account(alice: Person, path: str) -> None:
    async with own_loop(alice) as loop:
        await alice.get(path)  # starts the loop
        loop.stream_timeout_s = 0.5
        async with reading_slowly(alice, path) as (reader, request):
            await request
        loop.stream_timeout_s = WITHIN_S
        assert not reader.is_complete()
        assert (await alice.get(path)).status_code == 200
        assert await connections_are_free(alice)
