"""The records of a CSV text, one by one: a quote left open spoils its line and not the rest of the file."""

import csv
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence

_MAX_LINES = 200  # of one record; a quote that is open for longer was never closed
MAX_CELL = 1_000_000  # characters; the module's own limit of 128 KiB is too small for the entries of a domain

csv.field_size_limit(MAX_CELL)  # of the process


class _Lines:
    """Physical lines, which can be given back."""

    def __init__(self, lines: Iterable[str]) -> None:
        self._lines = iter(lines)
        self._back: deque[str] = deque()
        self.number = 0  # of the line last taken, counted from 1

    def take(self) -> str | None:
        """Return the next line, None at the end."""
        line = self._back.popleft() if self._back else next(self._lines, None)
        self.number += line is not None
        return line

    def give_back(self, lines: Sequence[str]) -> None:
        """Let the last lines be taken again."""
        self._back.extendleft(reversed(lines))
        self.number -= len(lines)


def records(
    lines: Iterable[str],
    *,
    may_break: Callable[[Sequence[str]], bool],
    delimiter: str = ",",
    after: int = 0,
) -> Iterator[tuple[int, list[str] | None]]:
    """Yield each record with the number of its first line, counted from `after`; None for an unreadable line.

    `may_break` decides whether the cells of a record over several lines can be meant (RFC 4180, 2.6). If not, a
    quote was left open: its line is unreadable, and the next line is read anew.
    """
    source = _Lines(lines)
    while (line := source.take()) is not None:
        start = source.number
        taken = [line]
        quotes = line.count('"')
        while quotes % 2 and len(taken) < _MAX_LINES and (line := source.take()) is not None:
            taken.append(line)
            quotes += line.count('"')
        cells = _parse(taken, delimiter)
        if cells is not None and len(taken) > 1 and not may_break(cells):
            cells = None
        if cells is None:
            source.give_back(taken[1:])
        yield after + start, cells


def _parse(lines: Sequence[str], delimiter: str) -> list[str] | None:
    try:
        found = list(csv.reader(lines, delimiter=delimiter, strict=True))
    except csv.Error:
        return None
    return (found[0] if found else []) if len(found) < 2 else None  # noqa: PLR2004 - one record
