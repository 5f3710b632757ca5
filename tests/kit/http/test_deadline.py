"""A call over its deadline is cancelled, and no other."""

import asyncio

import pytest

from builders.kit.errors import RequestTimeout
from builders.kit.http.deadline import Deadlines

SOON_S, LATE_S = 0.02, 30.0


async def never() -> None:
    await asyncio.Event().wait()


async def test_a_result_in_time_is_returned() -> None:
    async def work() -> int:
        await asyncio.sleep(0)
        return 5

    assert await Deadlines().run(work(), timeout_s=LATE_S) == 5


async def test_an_exception_is_passed_on() -> None:
    async def work() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await Deadlines().run(work(), timeout_s=LATE_S)


async def test_a_slow_call_is_cancelled_and_the_task_continues() -> None:
    with pytest.raises(RequestTimeout) as refusal:
        await Deadlines().run(never(), timeout_s=SOON_S)
    assert refusal.value.headers == {"Retry-After": "5"}

    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0
    await asyncio.sleep(0)  # would raise, were the task still cancelled


async def test_deadlines_are_independent_of_their_order() -> None:
    deadlines, ended = Deadlines(), []

    async def ask(name: str, timeout_s: float) -> None:
        with pytest.raises(RequestTimeout):
            await deadlines.run(never(), timeout_s=timeout_s)
        ended.append(name)

    await asyncio.gather(ask("third", 0.09), ask("first", 0.03), ask("second", 0.06))
    assert ended == ["first", "second", "third"]


async def test_a_completed_call_does_not_change_other_deadlines() -> None:
    deadlines = Deadlines()
    await deadlines.run(asyncio.sleep(0), timeout_s=SOON_S)  # its end is the one the timer is set to

    async def slow() -> str:
        await asyncio.sleep(2 * SOON_S)
        return "answered"

    assert await deadlines.run(slow(), timeout_s=LATE_S) == "answered"


async def test_a_cancellation_by_another_task_is_passed_on() -> None:
    deadlines = Deadlines()
    asking = asyncio.create_task(deadlines.run(never(), timeout_s=LATE_S))
    await asyncio.sleep(0)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking


async def test_a_cancellation_by_another_task_wins_over_the_deadline() -> None:
    deadlines = Deadlines()
    begun = asyncio.Event()

    async def stubborn() -> None:
        try:
            await never()
        finally:
            begun.set()
            await asyncio.sleep(SOON_S)

    asking = asyncio.create_task(deadlines.run(stubborn(), timeout_s=SOON_S))
    await begun.wait()  # the limit has struck, and the work is clearing up
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking


async def test_a_result_returned_despite_the_cancellation_is_kept() -> None:
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


async def test_a_timeout_inside_the_call_is_passed_on() -> None:
    async def work() -> None:
        async with asyncio.timeout(SOON_S):
            await never()

    with pytest.raises(TimeoutError):
        await Deadlines().run(work(), timeout_s=LATE_S)


def test_one_event_loop_after_another_is_served() -> None:
    deadlines = Deadlines()
    for _ in range(2):
        with pytest.raises(RequestTimeout):
            asyncio.run(deadlines.run(never(), timeout_s=SOON_S))
    asyncio.run(deadlines.run(asyncio.sleep(0), timeout_s=LATE_S))
    with pytest.raises(RequestTimeout):
        asyncio.run(deadlines.run(never(), timeout_s=LATE_S / 1000))
