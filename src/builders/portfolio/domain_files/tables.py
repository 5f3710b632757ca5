"""What an import reads, as a table: a file, rows of JSON, a list of names, or names in a text."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from builders.kit.sheets.csv_files import find_encoding, find_layout, normalize_header, read_lines, records
from builders.portfolio.domain_files.formats import is_header, is_key_header
from builders.portfolio.domain_files.records import Field, Options
from builders.portfolio.domain_files.rows import cell_text

_NAMES = re.compile(r"[^\s,;|\"'<>()\[\]]+")
_NUL = "\0"  # no column of text can hold it
Records = Iterator[tuple[int, Sequence[str] | None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Rows below a header, with their positions. `read` starts from the first row each time."""

    header: Sequence[str]
    read: Callable[[], Records]  # None for a row that cannot be parted into cells
    is_file: bool  # positions are lines, from 1; else indexes, from 0
    is_list: bool = False  # of names without anything else
    encoding: str | None = None
    delimiter: str | None = None
    header_line: int | None = None


def table_of_file(content: bytes, options: Options) -> Table:
    """Return the table of a CSV file of any encoding, delimiter and header."""
    encoding = find_encoding(content)
    mapped = {normalize_header(each.partition("#")[0]) for each in options.mapping.values()}
    layout = find_layout(
        read_lines(content, encoding),
        is_known=lambda text: is_header(text, mapped),
        is_key=lambda text: is_key_header(text, mapped),
    )
    header = layout.header or [Field.DOMAIN.value, *("" for _ in range(layout.width - 1))]

    def read() -> Records:
        lines = islice(read_lines(content, encoding), layout.header_line, None)
        return _without_blank(
            records(
                (line.replace(_NUL, "") for line in lines),
                may_break=lambda cells: len(cells) == len(header),
                delimiter=layout.delimiter,
                after=layout.header_line,
            )
        )

    return Table(
        header=header,
        read=read,
        is_file=True,
        is_list=not layout.header and len(header) == 1,
        encoding=encoding,
        delimiter=layout.delimiter if len(header) > 1 else None,
        header_line=layout.header_line or None,
    )


def table_of_rows(rows: Sequence[Mapping[str, Any]]) -> Table:
    """Return the table of rows of JSON; the members of all rows are its columns."""
    header = list(dict.fromkeys(name for row in rows for name in row))

    def read() -> Records:
        return ((at, [cell_text(row.get(name)) for name in header]) for at, row in enumerate(rows))

    return Table(header=header or [Field.DOMAIN.value], read=read, is_file=False)


def table_of_names(names: Sequence[str]) -> Table:
    """Return the table of a list of names."""

    def read() -> Records:
        return ((at, [name]) for at, name in enumerate(names))

    return Table(header=[Field.DOMAIN.value], read=read, is_file=False, is_list=True)


def table_of_text(text: str) -> Table:
    """Return the table of a text with names: separated by white space, commas or semicolons."""

    def read() -> Records:
        return (
            (at, [found.group().strip(".-*•")])
            for at, line in enumerate(text.split("\n"), start=1)
            for found in _NAMES.finditer(line)
            if found.group().strip(".-*•")
        )

    return Table(header=[Field.DOMAIN.value], read=read, is_file=True, is_list=True)


def _without_blank(found: Records) -> Records:
    return ((at, cells) for at, cells in found if cells is None or any(map(str.strip, cells)))
