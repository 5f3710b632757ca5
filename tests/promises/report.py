"""Says how each promise ended, a line each."""

import http.client
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from tests.promises.stranger import Broken


class Told(Exception):
    """A promise does not hold, and a line has said so: what needs it is not run."""


def say(text: str) -> None:
    """Print a line at once."""
    sys.stdout.write(f"promises: {text}\n")
    sys.stdout.flush()


class Report:
    """Collects what does not hold."""

    def __init__(self) -> None:
        self.broken: list[str] = []
        self.held = 0

    @contextmanager
    def promise(self, name: str) -> Iterator[None]:
        """Say whether the block holds the promise, and how long it took. Raise Told if it does not."""
        begin = time.monotonic()
        try:
            yield
        except (Broken, OSError, http.client.HTTPException) as error:
            self.note_broken(name, str(error))
            raise Told(name) from error
        self.held += 1
        say(f"{name}: holds ({time.monotonic() - begin:.1f} s)")

    def note_broken(self, name: str, reason: str) -> None:
        """Say that a promise does not hold."""
        self.broken.append(name)
        say(f"{name}: BROKEN\n{reason}")
