"""CSV files: their encoding, lines and records, and their layout (delimiter and header)."""

import codecs
import csv
import io
import re
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

_BLOCK = 64 * 1024  # bytes that are decoded at once: another thread waits no longer than for one block
_SAMPLE = 4096  # bytes
MAX_LINE = 1_000_000  # characters
_BOMS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
FALLBACK = "cp1252"  # of Windows programs; it decodes nearly any bytes
# Of 100 bytes at odd or even positions, how many are zero when Western text is UTF-16.
_ZERO_PERCENT = 40


def detect_encoding(content: bytes) -> str:
    """Return the encoding by the byte order mark or zero bytes (UTF-16), else UTF-8 if valid, else cp1252."""
    for mark, encoding in _BOMS:
        if content.startswith(mark):
            return encoding
    sample = content[:_SAMPLE]
    for encoding, zeros in (("utf-16-le", sample[1::2]), ("utf-16-be", sample[0::2])):
        if zeros and zeros.count(0) * 100 >= len(zeros) * _ZERO_PERCENT:
            return encoding
    return "utf-8" if _is_utf8(content) else FALLBACK


def read_lines(content: bytes, encoding: str) -> Iterator[str]:
    """Yield the lines of a text with their ends, decoded while they are read.

    Bytes that the encoding lacks become U+FFFD. A line over MAX_LINE characters is cut into several.
    """
    text = io.TextIOWrapper(io.BytesIO(content), encoding=encoding, errors="replace", newline="")
    return iter(lambda: text.readline(MAX_LINE), "")


def _is_utf8(content: bytes) -> bool:
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        view = memoryview(content)
        for at in range(0, len(view), _BLOCK):
            decoder.decode(view[at : at + _BLOCK])
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True


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
SAMPLE_LINES = 20
MAX_BANNER_LINES = 5  # before the header
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


@dataclass(frozen=True, slots=True)
class _Candidate:
    known: int  # headers
    stable: int  # rows of the most frequent width
    layout: Layout


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
    lines: Iterable[str],
    *,
    is_known: Callable[[str], bool],
    is_key: Callable[[str], bool],
) -> Layout:
    """Return the layout of a sheet; `is_known` decides whether a normalized cell is a header.

    Of the first MAX_BANNER_LINES + 1 rows, the one with the most known headers is the header: at least two, or one
    that `is_key` accepts alone.
    """
    sample = list(islice(lines, SAMPLE_LINES + MAX_BANNER_LINES))
    found = [_try(sample, delimiter, is_known, is_key) for delimiter in DELIMITERS]
    best = max(
        found, key=lambda each: (each.known, each.stable if each.layout.width > 1 else 0, each.layout.width)
    )
    return best.layout


def _try(
    sample: Sequence[str], delimiter: str, is_known: Callable[[str], bool], is_key: Callable[[str], bool]
) -> _Candidate:
    rows = [(at, _split(line, delimiter)) for at, line in enumerate(sample, start=1) if line.strip()]
    widths = Counter(len(cells) for _, cells in rows)
    width = max(widths, key=lambda each: (widths[each], each), default=1)
    best = _Candidate(0, widths[width], _layout(delimiter, (), 0, width))
    for at, cells in rows[: MAX_BANNER_LINES + 1]:
        headers = [_known_form(cell, is_known) for cell in cells[: MAX_COLUMNS + 1]]
        known = sum(map(is_known, headers))
        if known > best.known and (known >= _ENOUGH or any(map(is_key, headers))):
            best = _Candidate(known, widths[width], _layout(delimiter, cells, at, width))
    return best


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
