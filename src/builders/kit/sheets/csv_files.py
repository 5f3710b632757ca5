"""CSV files: their records, and the layout of tables (delimiter and header)."""

import csv
import re
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

_MAX_LINES = 200  # of one record; a quote that is open for longer was never closed
MAX_CELL = 1_000_000  # characters; the module's own limit of 128 KiB is too small for the entries of a domain

csv.field_size_limit(MAX_CELL)  # of the process


class _Lines:
    """The physical lines; a line that was taken can be put back."""

    def __init__(self, lines: Iterable[str]) -> None:
        self._lines = iter(lines)
        self._back: deque[str] = deque()
        self.number = 0  # of the line last taken, counted from 1

    def take(self) -> str | None:
        """Return the next line, None at the end."""
        line = self._back.popleft() if self._back else next(self._lines, None)
        self.number += line is not None
        return line

    def put_back(self, lines: Sequence[str]) -> None:
        """Put back the last lines."""
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

    `may_break` decides whether a record can have these cells over several lines (RFC 4180, 2.6). If not, its quote
    was not closed: the line is unreadable, and the next line starts a new record.
    """
    source = _Lines(lines)
    while (line := source.take()) is not None:
        start = source.number
        if not line.strip("\r\n"):  # the file has no other layout
            yield after + start, []
            continue
        taken = [line]
        quotes = line.count('"')
        while quotes % 2 and len(taken) < _MAX_LINES and (line := source.take()) is not None:
            taken.append(line)
            quotes += line.count('"')
        cells = _parse(taken, delimiter)
        if cells is not None and len(taken) > 1 and not may_break(cells):
            cells = None
        if cells is None:
            source.put_back(taken[1:])
        yield after + start, cells


def _parse(lines: Sequence[str], delimiter: str) -> list[str] | None:
    try:
        found = list(csv.reader(lines, delimiter=delimiter, strict=True))
    except csv.Error:
        return None
    return (found[0] if found else []) if len(found) < 2 else None  # noqa: PLR2004 - one record


DELIMITERS = (",", ";", "\t", "|")
MAX_HEADER_LINE = 1_000
SAMPLE_LINES = 20
MAX_BANNER_LINES = 20  # before the header: a title, sums and filters
MAX_HEADER = 200  # characters of a header that count
_UNIT = re.compile(r"(?P<header>[^(\[]*[^(\[\s])\s*[(\[](?P<unit>[^()\[\]]*)[)\]]\s*")
MAX_COLUMNS = 500  # of a sheet
_ENOUGH = 2  # known headers in a row make it a header


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """How the cells of a sheet are arranged."""

    delimiter: str
    header: Sequence[str]  # as written; empty when the first line is a row already
    header_line: int  # from 1; 0 without a header
    width: int  # cells of most rows
    rival: str | None = None  # another delimiter that parts the rows as well


@dataclass(frozen=True, slots=True)
class _Candidate:
    known: int  # headers
    stable: int  # rows of the most frequent width
    layout: Layout

    @property
    def rank(self) -> tuple[int, int]:
        """Return how well the delimiter parts the rows."""
        return self.known, self.stable if self.layout.width > 1 else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """Which cells show what their row is."""

    is_known: Callable[[str], bool]  # a normalized cell is a header
    is_key: Callable[[str], bool]  # a normalized cell alone is the header
    is_value: Callable[[str], bool] | None = None  # a cell is a value of the first column without a header


def normalize_header(text: str) -> str:
    """Return a header in the form in which it is compared: lower case, words separated by one space."""
    written = text[:MAX_HEADER].casefold().replace("%", " percent ")
    plain = "".join(each if each.isalnum() else " " for each in written)
    return " ".join(plain.split())


def part_unit(header: str) -> tuple[str, str]:
    """Return a header without the unit in brackets at its end, and the unit; a percentage is not a unit."""
    found = _UNIT.fullmatch(header[:MAX_HEADER])
    return (header, "") if found is None or "%" in found["unit"] else (found["header"], found["unit"])


def detect_layout(
    lines: Iterable[str], words: Words, *, delimiter: str | None = None, header_line: int | None = None
) -> Layout:
    """Return the layout of the lines of a file; a named delimiter, and a named line of the header, are no guess.

    `header_line` is 0 for a file without a header. Raise ValueError for a line that the file does not have.
    """
    sample = list(islice(lines, _sample_size(header_line)))
    delimiters = DELIMITERS if delimiter is None else [delimiter]
    parted = {each: [(at, _split(line, each)) for at, line in enumerate(sample, 1)] for each in delimiters}
    found = [_try(rows, each, words, header_line) for each, rows in parted.items()]
    best = max(found, key=lambda each: (*each.rank, each.layout.width))
    rival = next((each.layout for each in found if each is not best and each.rank == best.rank), None)
    is_rival = rival is not None and min(rival.width, best.layout.width) > 1
    return replace(best.layout, rival=rival.delimiter if rival is not None and is_rival else None)


def detect_header(
    rows: Iterable[tuple[int, Sequence[str]]], words: Words, *, header_line: int | None = None
) -> Layout:
    """Return the layout of rows that are parted into cells, with their numbers. Raise ValueError."""
    return _try(list(islice(rows, _sample_size(header_line))), "", words, header_line).layout


def _sample_size(header_line: int | None) -> int:
    return max(SAMPLE_LINES + MAX_BANNER_LINES, header_line or 0)


def _try(
    numbered: Sequence[tuple[int, Sequence[str]]], delimiter: str, words: Words, header_line: int | None
) -> _Candidate:
    """Return the layout with a delimiter.

    Of the first MAX_BANNER_LINES + 1 rows, the one with the most known headers is the header: at least two, or one
    that `is_key` accepts alone. Without one, the first row of several cells is a header of unknown words if it
    cannot be a row.
    """
    rows = [(at, cells) for at, cells in numbered if len(cells) > 1 or any(map(str.strip, cells))]
    widths = Counter(len(cells) for _, cells in rows)
    width = max(widths, key=lambda each: (widths[each], each), default=1)
    best = _Candidate(0, widths[width], _layout(delimiter, (), 0, width))
    if header_line is not None:
        return _with_header(rows, header_line, best, words) if header_line else best
    for at, cells in rows[: MAX_BANNER_LINES + 1]:
        headers = [_known_form(cell, words.is_known) for cell in cells[: MAX_COLUMNS + 1]]
        known = sum(map(words.is_known, headers))
        if known > best.known and (known >= _ENOUGH or any(map(words.is_key, headers))):
            best = _Candidate(known, widths[width], _layout(delimiter, cells, at, width))
    if not best.known and width > 1:
        several = (
            (at, cells) for at, cells in rows[: MAX_BANNER_LINES + 1] if sum(map(bool, map(str.strip, cells))) > 1
        )
        at, first = next(several, (0, ()))
        if first and words.is_value is not None and not words.is_value(first[0].strip()):
            return _Candidate(0, widths[width], _layout(delimiter, first, at, width))
    return best


def _with_header(
    rows: Sequence[tuple[int, Sequence[str]]], line: int, best: _Candidate, words: Words
) -> _Candidate:
    """Return the layout with the header in a line."""
    cells = next((cells for at, cells in rows if at == line), None)
    if cells is None:
        raise ValueError(f"The table has no line {line} with cells.")
    known = sum(words.is_known(_known_form(each, words.is_known)) for each in cells[: MAX_COLUMNS + 1])
    return replace(best, known=known, layout=_layout(best.layout.delimiter, cells, line, best.layout.width))


def _known_form(header: str, is_known: Callable[[str], bool]) -> str:
    """Return a header with its unit if it is known with it, else without."""
    whole = normalize_header(header)
    return whole if is_known(whole) else normalize_header(part_unit(header)[0])


def _layout(delimiter: str, header: Sequence[str], line: int, width: int) -> Layout:
    return Layout(
        delimiter=delimiter,
        header=[cell.strip() for cell in header],
        header_line=line,
        width=len(header) or width,
    )


def _split(line: str, delimiter: str) -> list[str]:
    try:
        return next(csv.reader([line], delimiter=delimiter), [])
    except csv.Error:
        return [line]
