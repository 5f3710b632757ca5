"""The processor time that a request takes on the event loop of the test."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass

MOST_S = 0.2  # of a hostile request; others wait meanwhile


@dataclass(slots=True)
class LoopTime:
    """What a block took."""

    seconds: float = 0.0  # of this thread, so neither waits nor other processes count


@contextmanager
def loop_time() -> Iterator[LoopTime]:
    """Measure the processor time of the loop, which runs in this thread."""
    found, before = LoopTime(), time.thread_time()
    yield found
    found.seconds = time.thread_time() - before


@asynccontextmanager
async def longest_turn() -> AsyncIterator[LoopTime]:
    """Measure the processor time of the longest turn of the loop: what waits is not called before it ends."""
    found = LoopTime()

    async def watch() -> None:
        while True:
            before = time.thread_time()
            await asyncio.sleep(0)
            found.seconds = max(found.seconds, time.thread_time() - before)

    watching = asyncio.create_task(watch())
    yield found
    watching.cancel()
