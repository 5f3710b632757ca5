from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from builders.kit.values import clock

DAY = timedelta(days=1)
SOON = timedelta(minutes=1)


@pytest.fixture(autouse=True)
def _clock_is_put_back() -> Iterator[None]:
    yield
    clock.reset()


def _ahead() -> timedelta:
    return clock.now() - datetime.now(UTC)


def test_now_is_the_aware_utc_time_of_the_machine() -> None:
    assert clock.now().tzinfo is UTC
    assert abs(_ahead()) < SOON


def test_moves_of_the_clock_add_up_until_it_is_reset() -> None:
    clock.move(DAY)
    clock.move(2 * DAY)
    assert abs(_ahead() - 3 * DAY) < SOON
    clock.move(-4 * DAY)
    assert abs(_ahead() + DAY) < SOON
    clock.reset()
    assert abs(_ahead()) < SOON


def test_durations_follow_the_moved_clock() -> None:
    before = clock.monotonic()
    clock.move(DAY)
    moved = clock.monotonic() - DAY.total_seconds()
    clock.reset()
    assert before <= moved <= clock.monotonic()


def test_the_clock_is_restored_even_after_an_error() -> None:
    clock.move(DAY)
    with pytest.raises(ZeroDivisionError), clock.moved(DAY):
        _fail_after_a_move()
    assert abs(_ahead() - DAY) < SOON


def _fail_after_a_move() -> None:
    assert abs(_ahead() - 2 * DAY) < SOON
    clock.move(DAY)
    raise ZeroDivisionError
