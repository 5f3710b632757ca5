"""Sources of tables, opened as rows of cells below a header: files, texts, and rows of JSON."""

import io
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from itertools import islice
from typing import Any, Generic, TypeVar

from pydantic_core import from_json

from builders.kit.errors import Invalid
from builders.kit.rows import RowProblem
from builders.kit.sheets.cells import shown
from builders.kit.sheets.csv_files import Layout, Words, detect_header, detect_layout, normalize_header, records
from builders.kit.sheets.detection import FileType
from builders.kit.sheets.encodings import Encoding, count_lines, detect_encoding, find_example, is_utf8, read_lines
from builders.kit.sheets.kinds import AUTO, TableKind
from builders.kit.sheets.numbers import NumberCell, is_ambiguous_number

_NAMES = re.compile(r"[^\s,;|\"'<>()\[\]]+")
_AROUND_NAME = ".-*•"
MAX_LINES = 1_048_576  # of a file, blank ones too: the rows of a sheet in spreadsheet programs
_BREAK = re.compile(r"[\r\n]")
_NUL = "\0"  # no column of text can hold it
Records = Iterator[tuple[int, Sequence[str] | None]]


class Source(StrEnum):
    """What an import reads."""

    FILE = "file"
    TEXT = "text"
    ROWS = "rows"
    NAMES = "names"
    WORKBOOK = "workbook"  # the lines that workbook_program.py writes

    @property
    def has_lines(self) -> bool:
        """Return whether rows have lines, from 1; else they have indexes, from 0."""
        return self in {Source.FILE, Source.TEXT, Source.WORKBOOK}


class DateNotation(StrEnum):
    """Order of day and month in numeric dates."""

    AUTO = "auto"
    YMD = "ymd"
    MDY = "mdy"
    DMY = "dmy"


class DecimalNotation(StrEnum):
    """The mark before the decimals of numbers."""

    AUTO = "auto"
    POINT = "point"
    COMMA = "comma"


class DelimiterNotation(StrEnum):
    """What parts the cells of a text."""

    AUTO = "auto"
    COMMA = "comma"
    SEMICOLON = "semicolon"
    TAB = "tab"
    BAR = "bar"

    @property
    def character(self) -> str | None:
        """Return the character; None if the text shows it."""
        return {"comma": ",", "semicolon": ";", "tab": "\t", "bar": "|"}.get(self.value)


@dataclass(frozen=True, slots=True, kw_only=True)
class TableOptions:
    """How a table is to be read."""

    format: str = AUTO
    mapping: Mapping[str, str] = field(default_factory=dict)  # the header of each column
    date_order: DateNotation = DateNotation.AUTO
    decimal_mark: DecimalNotation = DecimalNotation.AUTO
    encoding: str | None = None  # of a file; None: it is detected
    sheet: str | None = None  # of a workbook; None: the first visible one with cells
    delimiter: DelimiterNotation = DelimiterNotation.AUTO
    header_line: int | None = None  # of a file, from 1; 0: it has no header; None: it is detected
    currency: str | None = None  # of amounts without one
    home_currency: str | None = None  # of the account; it settles a symbol of several currencies


Options = TypeVar("Options", bound=TableOptions)


@dataclass(frozen=True, slots=True, kw_only=True)
class SentTable(Generic[Options]):
    """A table of a request: a file, a text in UTF-8, or JSON."""

    source: Source
    content: bytes
    options: Options


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Rows below a header, with their positions. `read` starts from the first row each time."""

    header: Sequence[str]
    # None for a row that cannot be parted into cells, no cells for a blank line of a file.
    read: Callable[[], Records]
    is_list: bool = False  # of names without anything else
    file_type: FileType | None = None  # None: JSON
    encoding: Encoding | None = None  # of a file that is text
    delimiter: str | None = None
    header_line: int | None = None
    sheet: str | None = None  # of a workbook
    omitted_sheets: Sequence[str] = ()
    hidden_sheets: Sequence[str] = ()
    merged_cells: Sequence[str] = ()
    warnings: Sequence[RowProblem] = ()

    def is_blank(self, cells: Sequence[str] | None) -> bool:
        """Return whether the cells are a blank line."""
        return cells is not None and not cells and self.file_type is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkbookFile:
    """The first line of a workbook that workbook_program.py writes."""

    file_type: FileType
    sheet: str
    sheets: list[str]
    hidden: list[str]
    merged: list[str]
    errors: list[str]  # cells
    empty_formulas: list[str]  # cells
    macros: bool
    links: bool


def open_table(sent: SentTable[Any], kind: TableKind[Any], mapping: Mapping[str, str]) -> Table:
    """Return a source as a table: a file, a text in UTF-8, or JSON. Raise Invalid."""
    match sent.source:
        case Source.FILE:
            return _table_of_file(sent.content, kind, mapping, sent.options)
        case Source.WORKBOOK:
            return _table_of_workbook(sent.content, kind, mapping, sent.options)
        case Source.ROWS:
            return _table_of_rows([*map(_flat, from_json(sent.content))], kind.key)
        case Source.TEXT:
            lines = enumerate(sent.content.decode().split("\n"), start=1)
            found = [
                (at, each.group().strip(_AROUND_NAME)) for at, line in lines for each in _NAMES.finditer(line)
            ]
        case Source.NAMES:
            found = list(enumerate(from_json(sent.content)))
    named = [(at, [name]) for at, name in found if name or sent.source is Source.NAMES]
    return Table(header=[kind.key or ""], read=lambda: iter(named), is_list=True)


def _table_of_file(
    content: bytes, kind: TableKind[Any], mapping: Mapping[str, str], options: TableOptions
) -> Table:
    """Return the table of a text with delimiters, in an encoding that is named or detected. Raise Invalid."""
    encoding = detect_encoding(content, options.encoding)
    layout = _layout_of_file(content, encoding.name, _words(kind, mapping), options)
    header = layout.header or [kind.key or "", *("" for _ in range(layout.width - 1))]
    one_line = [
        at for at, each in enumerate(header) if kind.multiline and normalize_header(each) not in kind.multiline
    ]

    def read() -> Records:
        lines = islice(read_lines(content, encoding.name), layout.header_line, None)
        rows = records(
            (line.replace(_NUL, "") for line in lines),
            may_break=lambda cells: (
                len(cells) == len(header) and not any(_BREAK.search(cells[at]) for at in one_line)
            ),
            delimiter=layout.delimiter,
            after=layout.header_line,
        )
        return ((at, cells if cells is None or any(map(str.strip, cells)) else ()) for at, cells in rows)

    return Table(
        header=header,
        read=read,
        is_list=not layout.header and len(header) == 1,
        file_type=FileType.CSV,
        encoding=encoding,
        delimiter=layout.delimiter if len(header) > 1 else None,
        header_line=layout.header_line or None,
        warnings=[
            *_encoding_warnings(content, encoding, options.encoding),
            *_layout_warnings(layout, is_header_named=options.header_line is not None),
        ],
    )


def _layout_of_file(content: bytes, encoding: str, words: Words, options: TableOptions) -> Layout:
    if count_lines(content, encoding) > MAX_LINES:
        raise Invalid(("body",), f"More than {MAX_LINES:,} lines. Import the file in parts.", "too_many_rows")
    lines, delimiter = read_lines(content, encoding), options.delimiter.character
    try:
        return detect_layout(lines, words, delimiter=delimiter, header_line=options.header_line)
    except ValueError as error:
        raise _header_refused(error) from None


def _header_refused(error: ValueError) -> Invalid:
    return Invalid(("body", "header_line"), str(error), "header_line_invalid")


def _table_of_workbook(
    content: bytes, kind: TableKind[Any], mapping: Mapping[str, str], options: TableOptions
) -> Table:
    """Return the table of a sheet of a workbook, whose first line is about the workbook. Raise Invalid."""
    book = WorkbookFile(**from_json(content.partition(b"\n")[0]))

    def lines(after: int) -> Records:
        rows = io.BytesIO(content)
        rows.readline()
        for line in rows:
            at, cells = from_json(line)
            if at > after:
                yield at, [NumberCell(each[0]) if isinstance(each, list) else each for each in cells]

    rows = ((at, cells or ()) for at, cells in lines(0))
    try:
        layout = detect_header(rows, _words(kind, mapping), header_line=options.header_line)
    except ValueError as error:
        raise _header_refused(error) from None
    header = layout.header or [kind.key or "", *("" for _ in range(layout.width - 1))]
    return Table(
        header=header,
        read=lambda: lines(layout.header_line),
        is_list=not layout.header and len(header) == 1,
        file_type=FileType(book.file_type),
        header_line=layout.header_line or None,
        sheet=book.sheet,
        omitted_sheets=[each for each in book.sheets if each != book.sheet],
        hidden_sheets=book.hidden,
        merged_cells=book.merged,
        warnings=[
            *_layout_warnings(layout, is_header_named=options.header_line is not None),
            *_workbook_warnings(book, layout, is_named=options.sheet is not None),
        ],
    )


def _workbook_warnings(book: WorkbookFile, layout: Layout, *, is_named: bool) -> Iterator[RowProblem]:
    """Yield the warnings of a workbook."""
    others = [each for each in book.sheets if each != book.sheet]
    if others and not is_named:
        message = (
            f"Only the sheet {shown(book.sheet)} was read, not {', '.join(map(shown, others))}. Send `sheet`."
        )
        yield RowProblem(code="sheets_omitted", message=message, field="sheet")
    if book.sheet in book.hidden:
        yield RowProblem(code="sheet_hidden", message=f"The sheet {shown(book.sheet)} is hidden.", field="sheet")
    if merged := [each for each in book.merged if int(re.sub(r".*?(\d+)$", r"\1", each)) > layout.header_line]:
        message = f"Of merged cells, only the first has the value: {', '.join(merged)}."
        yield RowProblem(code="cells_merged", message=message)
    if book.errors:
        message = f"Cells with an error were read as blank: {', '.join(book.errors)}."
        yield RowProblem(code="cell_error", message=message)
    if book.empty_formulas:
        message = (
            f"Formulas without a stored value were read as blank: {', '.join(book.empty_formulas)}. Open the file "
            "in a spreadsheet program and save it."
        )
        yield RowProblem(code="formula_empty", message=message)
    if book.macros:
        message = "The workbook has macros. They were not run; the stored values were read."
        yield RowProblem(code="workbook_macros", message=message)
    if book.links:
        message = "The workbook has links to other files. They were not opened; the stored values were read."
        yield RowProblem(code="workbook_links", message=message)


def _words(kind: TableKind[Any], mapping: Mapping[str, str]) -> Words:
    mapped = {normalize_header(each.partition("#")[0]) for each in mapping.values()}
    return Words(
        is_known=lambda text: kind.is_header(text, mapped),
        is_key=lambda text: kind.is_key_header(text, mapped),
        is_value=None if kind.key is None else kind.is_key_value,
    )


def _encoding_warnings(content: bytes, encoding: Encoding, named: str | None) -> Iterator[RowProblem]:
    """Yield the warnings of an encoding that the bytes do not prove, or that they contradict."""
    if encoding.is_guess:
        found = find_example(content, encoding)
        example = "" if found is None else f"; {shown(found[0])} would be {shown(found[2])} in {found[1]}"
        message = f"The bytes do not show the encoding. It was read as {encoding.name}{example}. Send `encoding`."
        yield RowProblem(code="encoding_guessed", message=message, field="encoding")
    elif named is not None and named.split("-")[:2] != encoding.name.split("-")[:2]:
        message = f"The file begins with the byte order mark of {encoding.name}, which counts before `encoding`."
        yield RowProblem(code="encoding_ignored", message=message, field="encoding")
    elif named == encoding.name and not named.startswith("utf") and is_utf8(content):
        message = f"The file was read as {named}, as the request says, and is valid UTF-8 too."
        yield RowProblem(code="encoding_unlikely", message=message, field="encoding")
    if encoding.bad_bytes:
        message = f"Some bytes are no character in {encoding.name}; each was read as U+FFFD."
        yield RowProblem(code="encoding_invalid", message=message, field="encoding")


def _layout_warnings(layout: Layout, *, is_header_named: bool) -> Iterator[RowProblem]:
    """Yield the warnings of a header and a delimiter that the text does not show."""
    if layout.rival is not None:
        message = (
            f"The cells were parted at {layout.delimiter!r}; {layout.rival!r} would part them as well. Send "
            "`delimiter`."
        )
        yield RowProblem(code="delimiter_guessed", message=message, field="delimiter")
    if not layout.header and layout.width > 1 and not is_header_named:
        message = (
            "No header was recognized, so only the first column was read, as names. Add a header, or send "
            "`header_line` if there is one."
        )
        yield RowProblem(code="header_missing", message=message, field="header_line")


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
            text = f"{_decimal(_cell(amount))} {value.get('currency') or ''}".strip()
        case [*items] if not any(isinstance(each, Mapping) for each in items):
            text = ", ".join(map(_cell, items))
        case float():
            text = _decimal(f"{Decimal(str(value)):f}")
        case str() | int():
            text = str(value)
        case _:
            text = json.dumps(value)
    return text


def _decimal(text: str) -> str:
    """Return a number of JSON, whose point is a decimal mark, as a cell that nobody takes for thousands."""
    return f"{text}0" if is_ambiguous_number(text) else text
