"""What takes too long is ended, and nothing else is."""

import asyncio

import pytest

from builders.kit.errors import RequestTimeout
from builders.kit.http.deadline import Deadlines

SOON_S, LATE_S = 0.02, 30.0


async def never() -> None:
    await asyncio.Event().wait()


async def test_what_is_ready_in_time_is_given_back() -> None:
    async def work() -> int:
        await asyncio.sleep(0)
        return 5

    assert await Deadlines().run(work(), timeout_s=LATE_S) == 5


async def test_what_fails_fails_as_it_did() -> None:
    async def work() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await Deadlines().run(work(), timeout_s=LATE_S)


async def test_what_takes_too_long_is_ended_and_the_task_goes_on() -> None:
    with pytest.raises(RequestTimeout) as refusal:
        await Deadlines().run(never(), timeout_s=SOON_S)
    assert refusal.value.headers == {"Retry-After": "5"}

    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0
    await asyncio.sleep(0)  # would raise, were the task still cancelled


async def test_each_has_its_own_end_whatever_the_order() -> None:
    patience, ended = Deadlines(), []

    async def ask(name: str, timeout_s: float) -> None:
        with pytest.raises(RequestTimeout):
            await patience.run(never(), timeout_s=timeout_s)
        ended.append(name)

    await asyncio.gather(ask("third", 0.09), ask("first", 0.03), ask("second", 0.06))
    assert ended == ["first", "second", "third"]


async def test_one_that_was_answered_leaves_the_others_their_time() -> None:
    patience = Deadlines()
    await patience.run(asyncio.sleep(0), timeout_s=SOON_S)  # its end is the one the timer is set to

    async def slow() -> str:
        await asyncio.sleep(2 * SOON_S)
        return "answered"

    assert await patience.run(slow(), timeout_s=LATE_S) == "answered"


async def test_a_cancellation_by_somebody_else_stays_one() -> None:
    patience = Deadlines()
    asking = asyncio.create_task(patience.run(never(), timeout_s=LATE_S))
    await asyncio.sleep(0)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking


async def test_a_cancellation_by_somebody_else_wins_over_the_time_limit() -> None:
    patience = Deadlines()
    begun = asyncio.Event()

    async def stubborn() -> None:
        try:
            await never()
        finally:
            begun.set()
            await asyncio.sleep(SOON_S)

    asking = asyncio.create_task(patience.run(stubborn(), timeout_s=SOON_S))
    await begun.wait()  # the limit has struck, and the work is clearing up
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking


async def test_work_that_is_done_in_spite_of_its_end_is_not_thrown_away() -> None:
    async def stubborn() -> str:
        try:
            await never()
        except asyncio.CancelledError:
            return "done"
        return "never"

    assert await Deadlines().run(stubborn(), timeout_s=SOON_S) == "done"
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0


async def test_a_time_limit_of_the_works_own_is_not_taken_for_ours() -> None:
    async def work() -> None:
        async with asyncio.timeout(SOON_S):
            await never()

    with pytest.raises(TimeoutError):
        await Deadlines().run(work(), timeout_s=LATE_S)


def test_one_loop_after_another_is_served() -> None:
    patience = Deadlines()
    for _ in range(2):
        with pytest.raises(RequestTimeout):
            asyncio.run(patience.run(never(), timeout_s=SOON_S))
    asyncio.run(patience.run(asyncio.sleep(0), timeout_s=LATE_S))
    with pytest.raises(RequestTimeout):
        asyncio.run(patience.run(never(), timeout_s=LATE_S / 1000))
