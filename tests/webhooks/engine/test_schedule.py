"""The retry schedule and Retry-After."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from hypothesis import given, strategies as st

from builders.webhooks import deliveries

NOW = datetime(2026, 11, 20, 10, 0, tzinfo=UTC)
FAR_OFF = [
    "Mon, 01 Jan 99999999999999999999 00:00:00 GMT",
    "Mon, 99999999999999999999 Jan 2026 00:00:00 GMT",
    "Mon, 01 Jan 2026 00:00:00 +99999999999999999999",
]


@given(failures=st.integers(1, len(deliveries.RETRY_WAITS)))
def test_a_retry_wait_is_the_scheduled_one_with_jitter(failures: int) -> None:
    planned, wait = deliveries.RETRY_WAITS[failures - 1], deliveries.retry_wait(failures)
    assert wait is not None
    assert planned * 0.85 <= wait <= planned * 1.15


@given(failures=st.one_of(st.integers(max_value=0), st.integers(min_value=len(deliveries.RETRY_WAITS) + 1)))
def test_the_schedule_ends(failures: int) -> None:
    assert deliveries.retry_wait(failures) is None


def test_waits_grow_and_add_up_to_three_days() -> None:
    assert list(deliveries.RETRY_WAITS) == sorted(deliveries.RETRY_WAITS)
    assert timedelta(days=3) < sum(deliveries.RETRY_WAITS, timedelta()) < timedelta(days=3.5)
    assert deliveries.MAX_ATTEMPTS == 10


def test_waits_are_random() -> None:
    assert len({deliveries.retry_wait(5) for _ in range(100)}) > 50


@given(failures=st.integers(1, len(deliveries.RETRY_WAITS)), seconds=st.integers(0, 86_400))
def test_retry_after_can_only_lengthen_the_wait(failures: int, seconds: int) -> None:
    hold = timedelta(seconds=seconds)
    wait = deliveries.retry_wait(failures, retry_after=hold)
    assert wait is not None
    assert wait >= max(hold, deliveries.RETRY_WAITS[failures - 1] * 0.85)
    assert wait <= max(hold, deliveries.RETRY_WAITS[failures - 1] * 1.15)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("120", 120),
        (" 0 ", 0),
        ("86401", 86_400),
        ("9" * 4000, 86_400),
        ("0000000000003600", 3600),
        ("0" * 20, 0),
        (format_datetime(NOW + timedelta(minutes=5), usegmt=True), 300),
        (format_datetime(NOW + timedelta(days=5), usegmt=True), 86_400),
        (format_datetime(NOW - timedelta(days=5), usegmt=True), 0),
        ("Fri, 20 Nov 2026 10:01:00", 60),
    ],
)
def test_retry_after_is_parsed_and_bounded(value: str, seconds: int) -> None:
    assert deliveries.parse_retry_after(value, now=NOW) == timedelta(seconds=seconds)


@pytest.mark.parametrize(
    "value", [None, "", "soon", "-5", "1.5", "٣", "Fri, 99 Nov 2026 10:01:00 GMT", "0x10", *FAR_OFF]
)
def test_an_invalid_retry_after_is_ignored(value: str | None) -> None:
    assert deliveries.parse_retry_after(value, now=NOW) is None


@given(value=st.text(max_size=60))
def test_any_retry_after_is_bounded(value: str) -> None:
    hold = deliveries.parse_retry_after(value, now=NOW)
    assert hold is None or timedelta() <= hold <= timedelta(days=1)
