"""The layout of a sheet: its delimiter, its header and the line of the header, found in its first lines."""

import csv
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

DELIMITERS = (",", ";", "\t", "|")
SAMPLE_LINES = 20
MAX_BANNER_LINES = 5  # before the header
MAX_HEADER = 200  # characters of a header that count
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
    plain = "".join(each if each.isalnum() else " " for each in text[:MAX_HEADER].casefold())
    return " ".join(plain.split())


def _none(header: str) -> bool:
    del header
    return False


def find_layout(
    lines: Iterable[str],
    *,
    is_known: Callable[[str], bool],
    is_key: Callable[[str], bool] = _none,
    delimiters: Sequence[str] = DELIMITERS,
) -> Layout:
    """Return the layout of a sheet; `is_known` decides whether a normalized cell is a header.

    Of the first MAX_BANNER_LINES + 1 rows, the one with the most known headers is the header: at least two, or
    one that `is_key` says to suffice.
    """
    sample = list(islice(lines, SAMPLE_LINES + MAX_BANNER_LINES))
    found = [_try(sample, delimiter, is_known, is_key) for delimiter in delimiters]
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
        headers = [normalize_header(cell) for cell in cells]
        known = sum(map(is_known, headers))
        if known > best.known and (known >= _ENOUGH or any(map(is_key, headers))):
            best = _Candidate(known, widths[width], _layout(delimiter, cells, at, width))
    return best


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
