"""Garbage collections of a process that serves stop all its requests, and are short."""

import gc
from collections.abc import Iterator

import pytest

from builders.app import settle

LARGE = 300_000  # objects: several bills of 10,000 lines
FEW = 50_000  # objects, through which a collection looks for about 10 ms


@pytest.fixture
def settled() -> Iterator[None]:
    """Set the collector as in an HTTP process."""
    thresholds = gc.get_threshold()
    settle()
    yield
    gc.set_threshold(*thresholds)  # what is frozen stays so, as tests/conftest.py froze what is imported


@pytest.mark.usefixtures("settled")
def test_no_collection_looks_through_all_objects_of_a_large_request() -> None:
    seen = list[int]()

    def count(phase: str, info: dict[str, int]) -> None:
        if phase == "start":
            seen.append(sum(len(gc.get_objects(generation=each)) for each in range(info["generation"] + 1)))

    gc.callbacks.append(count)
    try:
        kept = [[n] for n in range(LARGE)]
    finally:
        gc.callbacks.remove(count)

    assert len(kept) == LARGE
    assert seen
    assert max(seen) < FEW
