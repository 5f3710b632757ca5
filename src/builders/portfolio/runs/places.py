"""Limit the concurrent jobs of a worker by name, such as those for one registrar.

What hangs takes its own places alone: the others of the lane stay free.
"""

from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager

from builders.kit.process.settings import Settings


class Places:
    """The places that jobs of a worker have taken."""

    def __init__(self) -> None:
        self._taken = Counter[str]()

    @contextmanager
    def take(self, limits: Mapping[str, int]) -> Iterator[bool]:
        """Take a place of each name until the end of the block; yield False when a name has no free place."""
        is_free = all(self._taken[name] < limit for name, limit in limits.items())
        taken = limits if is_free else ()
        self._taken.update(list(taken))
        try:
            yield is_free
        finally:
            self._taken.subtract(list(taken))
            self._taken = +self._taken  # without those that are zero


@asynccontextmanager
async def open_places(settings: Settings) -> AsyncIterator[Places]:
    """Open the places of a worker."""
    del settings
    yield Places()
