"""What python-calamine does not tell of a sheet: percentages, errors, formulas without a value, merged cells.

The process that reads a workbook (workbook_program.py) imports it, so it imports nothing of the service.
"""

import io
import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import defusedxml.ElementTree

from builders.kit.sheets.workbook_records import PERCENTS, Book, is_percentage

MAX_COLUMNS = 501  # one more than a table can have
MAX_LISTED = 20  # cells and ranges in each list
_START = rb"<(?:\w+:)?c\b[^<>]*"  # of a cell
_CELL = re.compile(rb"""\br=["']([A-Z]{1,3})(\d{1,7})["']""")
_STYLED = re.compile(_START + rb"""\bs=["'](\d+)["'][^<>]*>""")
_ERROR = re.compile(_START + rb"""\bt=["']e["'][^<>]*>""")
_EMPTY_FORMULA = re.compile(  # a formula with an empty text as its value has t="str"
    _START.replace(rb"\b", rb"""\b(?![^<>]*\bt=["']str["'])""")
    + rb"""(?<!/)>\s*<(?:\w+:)?f\b(?:[^<>]*/>|[^<>]*>[^<]*</(?:\w+:)?f>)"""
    rb"""\s*(?:<(?:\w+:)?v\s*/>|<(?:\w+:)?v>\s*</(?:\w+:)?v>)?\s*</(?:\w+:)?c>"""
)
_NAMELESS = re.compile(_START.replace(rb"\b", rb"""\b(?![^<>]*\br=["'])""") + rb">")
_FIRST_CELLS = 64 * 1024  # bytes; a program names all cells or none
_ROW_OR_CELL = re.compile(rb"<(?:\w+:)?(?:(?P<row>row)|c)\b(?P<given>[^<>]*)>")
_ROW_NUMBER = re.compile(rb"""\br=["'](\d{1,7})["']""")
_ALPHABET = 26
# Of cells of OpenDocument with marks, and the attributes with their values (ODF 1.3, part 3, 19.385-19.389).
_ODS_MARKS = (b"percentage", b"-spanned=", b"formula=", b'value-type="error"')
_ODS_VALUES = frozenset({"value", "string-value", "date-value", "time-value", "boolean-value"})


class Marks:
    """The marks of the cells of a sheet; the lists have the first MAX_LISTED ones."""

    def __init__(self) -> None:
        self.percents = set[tuple[int, int]]()  # row and column, from 0
        self.errors = list[str]()
        self.empty_formulas = list[str]()
        self.merged = list[str]()

    def read(self, archive: zipfile.ZipFile, file_type: str, sheet: str) -> None:
        """Read the marks of a sheet. Raise SyntaxError, ValueError: XML is not well-formed, or has entities."""
        if file_type == "ods":
            self._read_ods(read_entry(archive, "content.xml"), sheet)
        else:
            self._read_xlsx(read_entry(archive, _part_of(archive, sheet)), _percent_styles(archive))

    def read_book(self, book: Book, sheet: int) -> None:
        """Read the marks of a sheet of Excel 97."""
        self.percents, errors = book.read_cells(sheet)
        self.errors += [_name(*each) for each in errors[:MAX_LISTED]]

    def _read_xlsx(self, content: bytes, percents: frozenset[str]) -> None:
        """Find cells by patterns: a parser of XML takes longer than all else. UTF-16 has no marks then."""
        if _NAMELESS.search(content, 0, _FIRST_CELLS):
            content = _with_names(content)
        for found in _STYLED.finditer(content) if percents else ():
            if found[1].decode() in percents and (cell := _CELL.search(found.group())) is not None:
                self.percents.add(_position(cell))
        for pattern, cells, signs in (
            (_ERROR, self.errors, (b'"e"', b"'e'")),
            (_EMPTY_FORMULA, self.empty_formulas, (b"<f", b":f")),
        ):
            if not any(each in content for each in signs):  # a search is faster than a pattern
                continue
            found_cells = (_CELL.search(each.group()) for each in islice(pattern.finditer(content), MAX_LISTED))
            cells += [_name(*_position(each)) for each in found_cells if each is not None]

    def _read_ods(self, content: bytes, sheet: str) -> None:
        if not any(each in content for each in _ODS_MARKS):
            return
        is_wanted, row, column = False, 0, 0
        for event, element in _events(content):
            tag, given = _local(element.tag), _attributes(element)
            if event == "start":
                if tag == "table":
                    is_wanted, row = given.get("name") == sheet, 0
                column = 0 if tag == "table-row" else column
                continue
            if tag in {"table-cell", "covered-table-cell"}:
                if is_wanted:
                    self._read_ods_cell(given, row, column, has_text=len(element) > 0)
                column += int(given.get("number-columns-repeated", 1))
            if tag == "table-row":
                row += int(given.get("number-rows-repeated", 1))
                element.clear()

    def _read_ods_cell(self, given: Mapping[str, str], row: int, column: int, *, has_text: bool) -> None:
        """Read the marks of a cell by its attributes, of which two can be called value-type."""
        if given.get("error") == "error":
            _list(self.errors, row, column)
        elif "formula" in given and not has_text and not given.keys() & _ODS_VALUES:
            _list(self.empty_formulas, row, column)
        if given.get("value-type") == "percentage":
            repeated = min(int(given.get("number-columns-repeated", 1)), MAX_COLUMNS)
            self.percents.update((row, column + each) for each in range(repeated))
        rows, columns = int(given.get("number-rows-spanned", 1)), int(given.get("number-columns-spanned", 1))
        if rows * columns > 1 and len(self.merged) < MAX_LISTED:
            self.merged.append(name_range(((row, column), (row + rows - 1, column + columns - 1))))


def _list(cells: list[str], row: int, column: int) -> None:
    if len(cells) < MAX_LISTED:
        cells.append(_name(row, column))


def entry_names(archive: zipfile.ZipFile) -> Mapping[str, str]:
    """Return the names of the entries as python-calamine compares them: in lower case, parted by `/`."""
    return {each.replace("\\", "/").lower(): each for each in archive.namelist()}


def read_entry(archive: zipfile.ZipFile, name: str) -> bytes:
    """Return an entry of an archive; empty without one."""
    found = entry_names(archive).get(name.lower())
    return b"" if found is None else archive.read(found)


def _events(content: bytes) -> Iterator[tuple[str, Any]]:
    events: Iterator[tuple[str, Any]] = defusedxml.ElementTree.iterparse(io.BytesIO(content), ("start", "end"))
    return events


def _attributes(element: Any) -> Mapping[str, str]:
    """Return the attributes by their local names; that of an extension is `error` if it says so."""
    found = {_local(name): value for name, value in element.attrib.items() if "calc" not in name.partition("}")[0]}
    return found | ({"error": "error"} if "error" in element.attrib.values() else {})


def _part_of(archive: zipfile.ZipFile, sheet: str) -> str:
    """Return the entry of a sheet (ECMA-376, part 2, 9.3)."""
    book = defusedxml.ElementTree.fromstring(read_entry(archive, "xl/workbook.xml"))
    links = defusedxml.ElementTree.fromstring(read_entry(archive, "xl/_rels/workbook.xml.rels"))
    targets = {each.get("Id"): str(each.get("Target")) for each in links}
    for each in book.iter():
        if _local(each.tag) == "sheet" and each.get("name") == sheet:
            own = next((value for name, value in each.attrib.items() if _local(name) == "id"), None)
            target = targets.get(own, "")
            return target.removeprefix("/") if target.startswith("/") else f"xl/{target}"
    return ""


def _percent_styles(archive: zipfile.ZipFile) -> frozenset[str]:
    """Return the numbers of the styles that show a percentage."""
    content = read_entry(archive, "xl/styles.xml")
    if not content:
        return frozenset()
    styles = defusedxml.ElementTree.fromstring(content)
    own = {
        each.get("numFmtId")
        for each in styles.iter()
        if _local(each.tag) == "numFmt" and is_percentage(each.get("formatCode", ""))
    }
    known = own | {str(each) for each in PERCENTS}
    found = next((each for each in styles if _local(each.tag) == "cellXfs"), ())
    return frozenset(str(at) for at, each in enumerate(found) if each.get("numFmtId") in known)


def _with_names(content: bytes) -> bytes:
    """Return a sheet whose cells all have names; one without is the next one of its row (ECMA-376, 18.3.1.4)."""
    row, column = -1, -1

    def name(found: re.Match[bytes]) -> bytes:
        nonlocal row, column
        start, end = found.group()[: found.start("given") - found.start()], found.group("given") + b">"
        if found["row"]:
            number = _ROW_NUMBER.search(end)
            row, column = row + 1 if number is None else int(number[1]) - 1, -1
            return found.group()
        if (cell := _CELL.search(end)) is not None:
            column = _position(cell)[1]
            return found.group()
        column += 1
        return start + f' r="{_name(row, column)}"'.encode() + end

    return _ROW_OR_CELL.sub(name, content)


def _local(tag: Any) -> str:
    return str(tag).rpartition("}")[2]


def _position(cell: re.Match[bytes]) -> tuple[int, int]:
    """Return the row and the column of the name of a cell, from 0."""
    column = 0
    for each in cell[1]:
        column = column * _ALPHABET + each - ord("A") + 1
    return int(cell[2]) - 1, column - 1


def _name(row: int, column: int) -> str:
    """Return the name of a cell, such as `B4`."""
    letters, number = "", column + 1
    while number:
        number, rest = divmod(number - 1, _ALPHABET)
        letters = chr(ord("A") + rest) + letters
    return f"{letters}{row + 1}"


def name_range(corners: Sequence[tuple[int, int]]) -> str:
    """Return the name of a range, such as `A1:C1`."""
    first, last = corners
    return f"{_name(*first)}:{_name(*last)}"
