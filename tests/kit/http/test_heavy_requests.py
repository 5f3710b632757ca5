"""Heavy requests run on a second loop: one of an account at a time, and the accounts in turn."""

import asyncio
import gc
import threading
import weakref
from collections.abc import AsyncIterator, Awaitable, Callable, Generator
from contextlib import suppress
from functools import partial
from types import SimpleNamespace
from typing import TypeVar

import pytest
from fastapi import Request
from psycopg_pool import AsyncConnectionPool
from starlette.datastructures import State

from builders.kit.db.connections import Database
from builders.kit.http import slices
from builders.kit.http.heavy_requests import MAX_WAITING, HeavyLoop, HeavyRequestRunning
from builders.kit.process.settings import Settings

STEPS = 50
T = TypeVar("T")


@pytest.fixture
async def loop(settings: Settings) -> AsyncIterator[HeavyLoop]:
    heavy_loop = HeavyLoop(settings)
    yield heavy_loop
    await heavy_loop.close()


def running(loop: HeavyLoop, account: str, work: Callable[[], Awaitable[T]]) -> "asyncio.Task[T]":
    """Start the work of a request of an account."""
    request = Request({"type": "http", "app": SimpleNamespace(state=State({}))})
    return asyncio.ensure_future(loop.run(request, work, alone=account))


class Holding:
    """Work that begins, and ends when it may; a cancellation does not end it earlier, as a call into C."""

    def __init__(self) -> None:
        self.begun, self.may_end = threading.Event(), threading.Event()
        self.has_ended = False

    async def __call__(self) -> None:
        self.begun.set()
        try:
            await asyncio.Event().wait() if not self.may_end.is_set() else None
        finally:
            while not self.may_end.is_set():  # noqa: ASYNC110 - another thread changes it
                await asyncio.sleep(0)
            self.has_ended = True


async def until(is_true: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not is_true():  # noqa: ASYNC110 - another thread changes it
            await asyncio.sleep(0)


async def test_long_computations_of_two_accounts_take_turns(loop: HeavyLoop) -> None:
    steps: list[str] = []
    begun: set[str] = set()

    def compute(account: str) -> Generator[None, None, None]:
        for _ in range(STEPS):
            steps.append(account)
            yield

    async def work(account: str) -> None:
        begun.add(account)
        while len(begun) < 2:  # noqa: ASYNC110 - without another turn in between
            await asyncio.sleep(0)
        await slices.run(compute(account), slice_s=0)

    await asyncio.gather(*(running(loop, each, partial(work, each)) for each in ("alice", "bob")))
    assert steps[: 2 * STEPS - 2 : 2] == [steps[0]] * (STEPS - 1)
    assert steps[1 : 2 * STEPS - 2 : 2] == [steps[1]] * (STEPS - 1)
    assert steps[0] != steps[1]


async def test_a_cancelled_request_keeps_the_turn_of_its_account_until_its_work_has_ended(loop: HeavyLoop) -> None:
    first = Holding()

    async def second() -> bool:
        return first.has_ended

    cancelled = running(loop, "alice", first)
    await until(first.begun.is_set)
    cancelled.cancel()
    with pytest.raises(asyncio.CancelledError):
        await cancelled  # at once: the client does not wait for the rest of the work
    assert not first.has_ended
    waiting = running(loop, "alice", second)
    assert await running(loop, "bob", second) is False  # another account does not wait
    first.may_end.set()
    assert await waiting is True


async def test_a_cancelled_computation_ends(loop: HeavyLoop) -> None:
    begun, ended = threading.Event(), threading.Event()

    def endless() -> Generator[None, None, None]:
        try:
            while True:
                begun.set()
                yield
        finally:
            ended.set()

    request = running(loop, "alice", lambda: slices.run(endless()))
    await until(begun.is_set)
    request.cancel()
    await until(ended.is_set)

    async def next_one() -> int:
        return 5

    assert await running(loop, "alice", next_one) == 5


@pytest.mark.maximum("waiting_heavy_requests")
async def test_a_request_over_the_waiting_ones_of_an_account_is_refused_at_once(loop: HeavyLoop) -> None:
    holding = Holding()
    requests = [running(loop, "alice", holding)]
    await until(holding.begun.is_set)
    requests += [running(loop, "alice", holding) for _ in range(MAX_WAITING)]
    await asyncio.sleep(0)
    with pytest.raises(HeavyRequestRunning) as refusal:
        await running(loop, "alice", holding)
    assert refusal.value.headers == {"Retry-After": "1"}
    holding.may_end.set()
    requests[0].cancel()
    done = await asyncio.gather(*requests, return_exceptions=True)
    assert done[1:] == [None] * MAX_WAITING


async def test_a_request_waits_for_a_limited_time(settings: Settings) -> None:
    loop, holding = HeavyLoop(settings, wait_s=0.01), Holding()
    first = running(loop, "alice", holding)
    await until(holding.begun.is_set)
    with pytest.raises(HeavyRequestRunning):
        await running(loop, "alice", holding)
    holding.may_end.set()
    first.cancel()
    await until(lambda: holding.has_ended)
    loop._wait_s = 60  # the place is free a moment later
    await running(loop, "alice", holding)
    await loop.close()


@pytest.mark.parametrize("failing", [(threading.Thread, "start"), (AsyncConnectionPool, "open")])
async def test_a_start_that_fails_is_repeated_by_the_next_request(
    loop: HeavyLoop, failing: tuple[type, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_args: object, **_options: object) -> None:
        raise RuntimeError("can't start new thread")

    async def work() -> str:
        return threading.current_thread().name

    before = set(threading.enumerate())
    with monkeypatch.context() as patch:
        patch.setattr(*failing, fail)
        with pytest.raises(RuntimeError, match="new thread"):
            await running(loop, "alice", work)
    assert {each for each in threading.enumerate() if each.name == "heavy"} <= before
    assert await running(loop, "alice", work) == "heavy"


async def test_an_error_of_the_work_is_passed_on(loop: HeavyLoop) -> None:
    async def fail() -> None:
        raise ZeroDivisionError

    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            await running(loop, "alice", fail)


async def test_what_a_refused_request_held_is_free_without_a_garbage_collection(loop: HeavyLoop) -> None:
    held: list[weakref.ref[set[int]]] = []

    async def refuse() -> None:
        body = {1}
        held.append(weakref.ref(body))
        raise HeavyRequestRunning(f"{len(body)} requests are running.")

    gc.disable()
    try:
        with suppress(HeavyRequestRunning):  # pytest.raises would keep the traceback
            await running(loop, "alice", refuse)
        await until(lambda: held[0]() is None)
    finally:
        gc.enable()


async def test_rows_are_not_read_while_a_connection_is_held(database: Database) -> None:
    async with database.connection():
        with pytest.raises(RuntimeError, match="before a connection is taken"):
            await slices.collect(range(3))


async def test_collected_items_are_returned_in_their_order() -> None:
    assert await slices.collect(iter("abc")) == ["a", "b", "c"]
    assert slices.run_at_once(_five()) == 5


def _five() -> Generator[None, None, int]:
    yield
    return 5
