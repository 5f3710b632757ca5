"""What is sent as a table: a CSV file, rows of JSON, a list of names, or names in a text."""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from itertools import islice
from typing import Any

from pydantic_core import from_json

from builders.kit.sheets.csv_files import find_encoding, find_layout, normalize_header, read_lines, records
from builders.kit.sheets.kinds import TableKind

_NAMES = re.compile(r"[^\s,;|\"'<>()\[\]]+")
_AROUND_NAME = ".-*•"
_BREAK = re.compile(r"[\r\n]")
_NUL = "\0"  # no column of text can hold it
Records = Iterator[tuple[int, Sequence[str] | None]]


class Source(StrEnum):
    """What an import reads."""

    FILE = "file"
    TEXT = "text"
    ROWS = "rows"
    NAMES = "names"

    @property
    def has_lines(self) -> bool:
        """Return whether rows have lines, from 1; else they have indexes, from 0."""
        return self in {Source.FILE, Source.TEXT}


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Rows below a header, with their positions. `read` starts from the first row each time."""

    header: Sequence[str]
    read: Callable[[], Records]  # None for a row that cannot be parted into cells
    is_list: bool = False  # of names without anything else
    encoding: str | None = None  # of a file
    delimiter: str | None = None
    header_line: int | None = None


def open_table(source: Source, content: bytes, kind: TableKind[Any], mapping: Mapping[str, str]) -> Table:
    """Return a source as a table: a file, a text in UTF-8, or JSON."""
    match source:
        case Source.FILE:
            return _table_of_file(content, kind, mapping)
        case Source.ROWS:
            return _table_of_rows([*map(_flat, from_json(content))], kind.key)
        case Source.TEXT:
            lines = enumerate(content.decode().split("\n"), start=1)
            found = [
                (at, each.group().strip(_AROUND_NAME)) for at, line in lines for each in _NAMES.finditer(line)
            ]
        case Source.NAMES:
            found = list(enumerate(from_json(content)))
    named = [(at, [name]) for at, name in found if name or source is Source.NAMES]
    return Table(header=[kind.key or ""], read=lambda: iter(named), is_list=True)


def _table_of_file(content: bytes, kind: TableKind[Any], mapping: Mapping[str, str]) -> Table:
    """Return the table of a CSV file of any encoding, delimiter and header."""
    encoding = find_encoding(content)
    mapped = {normalize_header(each.partition("#")[0]) for each in mapping.values()}
    layout = find_layout(
        read_lines(content, encoding),
        is_known=lambda text: kind.is_header(text, mapped),
        is_key=lambda text: kind.is_key_header(text, mapped),
    )
    header = layout.header or [kind.key or "", *("" for _ in range(layout.width - 1))]
    one_line = [
        at for at, each in enumerate(header) if kind.multiline and normalize_header(each) not in kind.multiline
    ]

    def read() -> Records:
        lines = islice(read_lines(content, encoding), layout.header_line, None)
        found = records(
            (line.replace(_NUL, "") for line in lines),
            may_break=lambda cells: (
                len(cells) == len(header) and not any(_BREAK.search(cells[at]) for at in one_line)
            ),
            delimiter=layout.delimiter,
            after=layout.header_line,
        )
        return ((at, cells) for at, cells in found if cells is None or any(map(str.strip, cells)))

    return Table(
        header=header,
        read=read,
        is_list=not layout.header and len(header) == 1,
        encoding=encoding,
        delimiter=layout.delimiter if len(header) > 1 else None,
        header_line=layout.header_line or None,
    )


def _table_of_rows(rows: Sequence[Mapping[str, Any]], key: str | None) -> Table:
    """Return the table of rows of JSON; the members of all rows are its columns."""
    header = list(dict.fromkeys(name for row in rows for name in row))

    def read() -> Records:
        return ((at, [_cell(row.get(name)) for name in header]) for at, row in enumerate(rows))

    return Table(header=header or [key or ""], read=read)


def _flat(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a row in which each member of a nested object, such as a period, is a member; amounts stay."""
    if not any(isinstance(each, dict) for each in row.values()):
        return row
    flat: dict[str, Any] = {}
    for name, value in row.items():
        is_nested = isinstance(value, dict) and value and "amount" not in value
        flat |= {f"{name} {inner}": each for inner, each in value.items()} if is_nested else {name: value}
    return flat


def _cell(value: Any) -> str:
    """Return a JSON value of a row as the text of a cell."""
    match value:
        case None:
            text = ""
        case bool():
            text = "yes" if value else "no"
        case {"amount": amount}:
            text = f"{_cell(amount)} {value.get('currency') or ''}".strip()
        case [*items] if not any(isinstance(each, Mapping) for each in items):
            text = ", ".join(map(_cell, items))
        case float():
            text = f"{Decimal(str(value)):f}"
        case str() | int():
            text = str(value)
        case _:
            text = json.dumps(value)
    return text
