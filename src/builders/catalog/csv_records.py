"""The records of a CSV text, one by one: a quote left open spoils its line and not the rest of the file."""

import csv
from collections import deque
from collections.abc import Iterable, Iterator, Sequence

_MAX_LINES = 200  # of one record; a quote that is open for longer was never closed


class _Lines:
    """Physical lines, which can be given back."""

    def __init__(self, lines: Iterable[str]) -> None:
        self._lines = iter(lines)
        self._back: deque[str] = deque()
        self.number = 0  # of the line last taken, counted from 1

    def take(self) -> str | None:
        """The next line, None at the end."""
        line = self._back.popleft() if self._back else next(self._lines, None)
        self.number += line is not None
        return line

    def give_back(self, lines: Sequence[str]) -> None:
        """Lets the last lines be taken again."""
        self._back.extendleft(reversed(lines))
        self.number -= len(lines)


def records(
    lines: Iterable[str], *, long_cell: int | None, after: int = 0
) -> Iterator[tuple[int, list[str] | None]]:
    """Each record with the number of its first line; None for a line that cannot be read.

    Only the cell at the index `long_cell` may hold line breaks (RFC 4180, 2.6); where another one does, a quote
    was left open: that line is bad, and the next is read anew. Numbers go on from `after`.
    """
    source = _Lines(lines)
    while (line := source.take()) is not None:
        start = source.number
        taken = [line]
        quotes = line.count('"')
        while quotes % 2 and len(taken) < _MAX_LINES and (line := source.take()) is not None:
            taken.append(line)
            quotes += line.count('"')
        cells = _parse(taken, long_cell)
        if cells is None:
            source.give_back(taken[1:])
        yield after + start, cells


def _parse(lines: Sequence[str], long_cell: int | None) -> list[str] | None:
    try:
        found = list(csv.reader(lines, strict=True))
    except csv.Error:
        return None
    cells = found[0] if found else []
    broken = any("\n" in cell or "\r" in cell for at, cell in enumerate(cells) if at != long_cell)
    return None if broken or len(found) > 1 else cells
