"""Repeated warnings: the first is written at once, the number of later ones once a minute."""

from collections import OrderedDict
from collections.abc import Callable
from threading import RLock
from typing import Any

import structlog
from structlog.typing import EventDict

from builders.kit.values import clock

WINDOW_S = 60
MOST = 1_000  # different warnings that are remembered; then the oldest is removed
_MEMBERS = 256  # characters of a member that are compared
# Members that differ between two equal warnings, and those that logging adds.
_OWN = frozenset({"timestamp", "request_id", "traceparent", "_record", "_from_structlog"})


class _Window:
    __slots__ = ("ends", "event", "repeated")

    def __init__(self, event: EventDict, ends: float) -> None:
        self.event, self.ends = event, ends
        self.repeated = 0


class Repeats:
    """A step of structlog that drops repeated warnings; `write` writes their number after a minute.

    The end of a minute is noticed at the next log line.
    """

    def __init__(self, write: Callable[[EventDict], None], read: Callable[[object], str]) -> None:
        self._write = write
        self._read = read  # the text of any object
        self._windows: OrderedDict[int, _Window] = OrderedDict()  # in the order of their ends
        self._lock = RLock()  # a collected object may log while its thread is here

    def __call__(self, _logger: Any, _method: str, event: EventDict) -> EventDict:
        """Return the event. Raise DropEvent for a warning that was written within the last minute."""
        now = clock.monotonic()
        with self._lock:
            over = self._end_windows(now)
            is_dropped = event.get("level") == "warning" and self._is_repeated(event, now)
        for each in over:
            self._write(each)
        if is_dropped:
            raise structlog.DropEvent
        return event

    def __len__(self) -> int:
        """Return the number of different warnings that are remembered."""
        return len(self._windows)

    def clear(self) -> None:
        """Remove all."""
        with self._lock:
            self._windows.clear()

    def _is_repeated(self, event: EventDict, now: float) -> bool:
        members = {name: value for name, value in event.items() if name not in _OWN and name != "exc_info"}
        key = hash(tuple(sorted((name, self._read(value)[:_MEMBERS]) for name, value in members.items())))
        window = self._windows.get(key)
        if window is not None:
            window.repeated += 1
            return True
        self._windows[key] = _Window(members, now + WINDOW_S)
        if len(self._windows) > MOST:
            self._windows.popitem(last=False)
        return False

    def _end_windows(self, now: float) -> list[EventDict]:
        """Return the numbers of the minutes that have ended; a warning with repeats starts another minute."""
        over: list[EventDict] = []
        while self._windows:
            key, window = next(iter(self._windows.items()))
            if window.ends > now:
                break
            del self._windows[key]
            if window.repeated:
                over.append({**window.event, "repeated": window.repeated})
                self._windows[key] = _Window(window.event, now + WINDOW_S)
        return over
