"""Long computations in slices: other requests of the event loop run in between, and a cancellation ends them."""

import asyncio
from collections.abc import Generator, Iterable
from contextlib import closing
from typing import TypeVar

from builders.kit.db import connections
from builders.kit.values import clock

SLICE_S = 0.005
T = TypeVar("T")


async def run(steps: Generator[object, None, T], *, slice_s: float = SLICE_S) -> T:
    """Return the result of a generator, which yields where it can be interrupted.

    Raise RuntimeError if the task holds a connection: others would wait for it during all slices.
    """
    if any(connections.held_connections()):
        raise RuntimeError("Compute in slices before a connection is taken.")
    with closing(steps):
        ends_at = clock.monotonic() + slice_s
        while True:
            try:
                next(steps)
            except StopIteration as stop:
                result: T = stop.value
                return result
            if clock.monotonic() >= ends_at:
                await asyncio.sleep(0)
                ends_at = clock.monotonic() + slice_s


async def collect(items: Iterable[T]) -> list[T]:
    """Return the items, which are computed in slices."""
    collected = list[T]()

    def collecting() -> Generator[None, None, None]:
        for each in items:
            collected.append(each)
            yield

    await run(collecting())
    return collected


def run_at_once(steps: Generator[object, None, T]) -> T:
    """Return the result of a generator without interruption; for a job, in a thread."""
    while True:
        try:
            next(steps)
        except StopIteration as stop:
            result: T = stop.value
            return result
