"""The processor time that a request takes on the event loop of the test."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
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
