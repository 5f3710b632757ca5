from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from uuid import RFC_4122, UUID, uuid4

import pytest
from hypothesis import given, strategies as st

from builders.kit.values import clock, ids

MONTH = timedelta(days=31)


def _rises(made: list[UUID]) -> bool:
    return all(a < b for a, b in pairwise(made))


@pytest.fixture(autouse=True)
def _stamps_start_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ids, "_last", 0)


@pytest.fixture
def stopped(monkeypatch: pytest.MonkeyPatch) -> datetime:
    """A clock that stands still."""
    at = clock.now()
    monkeypatch.setattr(clock, "now", lambda: at)
    return at


def test_a_new_id_is_a_version_7_uuid_of_now() -> None:
    made = ids.new()
    assert (made.version, made.variant) == (7, RFC_4122)
    assert abs(ids.time_of(made) - clock.now()) < timedelta(seconds=10)


def test_the_bits_are_milliseconds_then_their_fraction(monkeypatch: pytest.MonkeyPatch) -> None:
    # The instant of the example in RFC 9562, appendix A.6, and a half of its millisecond.
    at = datetime(2022, 2, 22, 19, 22, 22, 500, tzinfo=UTC)
    monkeypatch.setattr(clock, "now", lambda: at)
    assert str(ids.new()).startswith("017f22e2-79b0-7800-")


def test_ids_increase_while_the_clock_stands_still(stopped: datetime) -> None:
    made = [ids.new() for _ in range(5000)]
    assert _rises(made)
    assert ids.time_of(made[0]) == stopped.replace(microsecond=stopped.microsecond // 1000 * 1000)


def test_ids_increase_in_each_thread_and_are_unique() -> None:
    with ThreadPoolExecutor(8) as pool:
        batches = list(pool.map(lambda _: [ids.new() for _ in range(2000)], range(8)))
    assert all(_rises(batch) for batch in batches)
    assert len({made for batch in batches for made in batch}) == 16_000


def test_two_threads_never_share_a_stamp(stopped: datetime) -> None:
    with ThreadPoolExecutor(8) as pool:
        batches = list(pool.map(lambda _: ids.new_many(500), range(16)))
    stamps = {made.int >> 64 for batch in batches for made in batch}
    assert len(stamps) == 8000
    assert stopped


def test_a_batch_increases_and_the_next_id_follows_it() -> None:
    before = ids.new()
    batch = ids.new_many(1000)
    assert len(batch) == 1000
    assert _rises([before, *batch, ids.new()])


def test_an_empty_batch_is_empty() -> None:
    assert ids.new_many(0) == []


def test_ids_follow_a_moved_clock() -> None:
    present = ids.new()
    with clock.moved(MONTH):
        later = ids.new()
        assert ids.time_of(later) - ids.time_of(present) >= MONTH
    again = ids.new()
    assert present < again < later
    assert ids.time_of(again) - ids.time_of(present) < timedelta(minutes=1)


def test_a_small_step_back_does_not_decrease_ids() -> None:
    first = ids.new()
    with clock.moved(timedelta(seconds=-5)):
        assert _rises([first, ids.new(), *ids.new_many(3), ids.new()])


@given(st.uuids(allow_nil=True))
def test_find_reads_the_canonical_form_in_either_case(uuid: UUID) -> None:
    assert ids.find(str(uuid)) == uuid
    assert ids.find(str(uuid).upper()) == uuid


@pytest.mark.parametrize(
    "text",
    [
        "",
        "nothing",
        "017f22e279b07800b000000000000000",
        "{017f22e2-79b0-7800-b000-000000000000}",
        "urn:uuid:017f22e2-79b0-7800-b000-000000000000",
        " 017f22e2-79b0-7800-b000-000000000000",
        "017f22e2-79b0-7800-b000-000000000000\n",
        "017f22e2-79b0-7800-b000-00000000000g",
        "017f22e2-79b0-7800-b000-00000000000\u0661",
        "017f22e279b0-7800-b000-0000-00000000",
        "017f22e2-79b0-7800-b000-000000000000\x00",
    ],
)
def test_find_gives_none_for_every_other_form(text: str) -> None:
    assert ids.find(text) is None


@given(st.text(alphabet="0123456789abcdefABCDEF-{}\n", max_size=40))
def test_a_parsed_id_has_the_same_text(text: str) -> None:
    found = ids.find(text)
    assert found is None or str(found) == text.lower()


def test_only_a_version_7_id_has_a_time() -> None:
    with pytest.raises(ValueError, match="UUIDv7"):
        ids.time_of(uuid4())


def test_a_time_out_of_range_is_a_value_error() -> None:
    with pytest.raises(ValueError, match="9999"):
        ids.time_of(UUID("ffffffff-ffff-7fff-bfff-ffffffffffff"))


def test_the_lowest_id_of_a_time_separates_earlier_from_later_ids() -> None:
    before = ids.new()
    clock.move(timedelta(seconds=1))
    bound = ids.lowest(clock.now())
    assert before < bound <= ids.new()


def test_a_time_out_of_range_bounds_all_ids_or_none() -> None:
    first, last = ids.lowest(datetime(1, 1, 1, tzinfo=UTC)), ids.lowest(datetime(9999, 12, 31, tzinfo=UTC))
    assert first == UUID(int=0)
    assert first < ids.new() < last


def test_an_id_made_of_a_time_and_a_seed_is_reproducible() -> None:
    at = datetime(2026, 1, 5, 9, 30, tzinfo=UTC)
    made = ids.made_of(at, b"some ten bytes")

    assert made == ids.made_of(at, b"some ten bytes") != ids.made_of(at, b"other ten bytes")
    assert (made.version, made.variant, ids.time_of(made)) == (7, RFC_4122, at)
    assert ids.find(str(made)) == made
