"""Decides whether and when a request is repeated: after an answer that asks for it, or none, within a deadline."""

import random
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import NamedTuple

from builders_client.transport import Lost, Response

REPEATED = frozenset({408, 425, 429, 500, 502, 503, 504})
IN_FLIGHT = b'"idempotency_in_flight"'
_CONFLICT = 409
_SHORTEST = 0.001
_LONGEST = 86_400.0  # a header without sense must not stop a reader without a deadline for ever
_SECONDS = re.compile(r"[0-9]{1,10}")


class Waiting(NamedTuple):
    """A request that will be repeated."""

    reason: str
    seconds: float
    attempt: int
    connected: bool = True
    """False: nobody was reached at the address."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Retries:
    """When requests are repeated.

    Only requests whose repetition has no further effect are: GET, PUT, PATCH, DELETE, and those with an
    Idempotency-Key, which every POST that supports one has.
    """

    deadline: float | None = 60.0
    """Seconds for all attempts of a request and the waits between them; None: without an end."""
    idle: float = 30.0
    """Seconds without a byte of the answer, after which an attempt is lost."""
    first_wait: float = 0.5
    """Seconds before the second attempt, on average; each further wait is twice as long."""
    longest_wait: float = 20.0
    """Seconds between two attempts at most; `Retry-After` of the service can be longer, up to a day."""
    on_wait: Callable[[Waiting], None] | None = None
    """Called before each wait, such as to tell a person; an error that it raises ends the call."""


class Patience:
    """The attempts of one request."""

    def __init__(self, retries: Retries, *, is_repeatable: bool) -> None:
        self._retries = retries
        self._is_repeatable = is_repeatable
        # The monotonic time after which no attempt is begun or continued.
        self.end = float("inf") if retries.deadline is None else time.monotonic() + retries.deadline
        self._attempt = 1

    @property
    def idle(self) -> float:
        """Return the seconds that the next attempt may wait for a byte."""
        return min(self._retries.idle, max(self.end - time.monotonic(), _SHORTEST))

    def wait_after(self, outcome: Response | Lost) -> float | None:
        """Return the seconds to wait before the next attempt, or None if there is none."""
        if not self._is_repeatable or not _asks_for_another(outcome):
            return None
        asked = min(retry_after(outcome) or 0.0, _LONGEST)
        wait = max(self._backoff(), asked + random.uniform(0, 0.1) * asked)  # noqa: S311 - not secret
        if time.monotonic() + wait >= self.end:
            return None
        if self._retries.on_wait is not None:
            reason = outcome.reason if isinstance(outcome, Lost) else f"HTTP {outcome.status}"
            connected = not isinstance(outcome, Lost) or outcome.connected
            self._retries.on_wait(Waiting(reason, wait, self._attempt, connected))
        self._attempt += 1
        return wait

    def _backoff(self) -> float:
        """Return a random wait, so that clients that failed together do not return together."""
        most = min(self._retries.first_wait * 2 ** min(self._attempt, 30), self._retries.longest_wait)
        return random.uniform(0, most)  # noqa: S311 - not secret


def retry_after(outcome: Response | Lost) -> float | None:
    """Return the seconds of Retry-After (RFC 9110), 0 for a time that is past; None for another value."""
    text = "" if isinstance(outcome, Lost) else outcome.headers.get("retry-after", "").strip()
    if _SECONDS.fullmatch(text):
        return float(text)
    if not text[:1].isalpha():  # each form of a date begins with the day of the week
        return None
    try:
        time_ = parsedate_to_datetime(text)
        return max(time_.replace(tzinfo=time_.tzinfo or UTC).timestamp() - time.time(), 0.0)
    except (ValueError, OverflowError, IndexError):
        return None


def _asks_for_another(outcome: Response | Lost) -> bool:
    if isinstance(outcome, Lost) or outcome.status in REPEATED:
        return True
    return outcome.status == _CONFLICT and IN_FLIGHT in outcome.content
