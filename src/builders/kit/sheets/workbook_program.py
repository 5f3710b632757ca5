"""The program that reads a workbook in a process of its own.

A line of JSON with the options and the bytes of the file come in; a line of JSON about the workbook and one for
each row go out. A number is a list with its text. The program imports nothing else of the service, so it starts
at once. It limits itself before it reads the file: address space, processor time, no other process, no file, and
no further descriptor, so no socket.
"""

import codecs
import io
import json
import math
import os
import resource
import struct
import sys
import zipfile
import zlib
from collections.abc import Iterator, Sequence, Set as AbstractSet
from contextlib import contextmanager
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

from python_calamine import CalamineError, CalamineWorkbook, PasswordError, SheetTypeEnum, SheetVisibleEnum

from builders.kit.sheets.workbook_marks import MAX_COLUMNS, MAX_LISTED, Marks, entry_names, name_range, read_entry
from builders.kit.sheets.workbook_records import OLE, Book

_MB = 1024 * 1024
MAX_MEMORY = 512 * _MB  # bytes of address space
MAX_CPU_S = 10
MAX_INFLATED = 50 * _MB  # bytes of all entries of the archive
MAX_ENTRIES = 200
MAX_SHEETS = 255
MAX_SHEET_NAME = 200  # characters, as of the option `sheet`
MAX_OUTPUT = 50 * _MB  # bytes
_NICE = 10  # lower than the service
_BLOCK = 64 * 1024
_LOCAL_HEADER = struct.Struct("<4s22xHH")  # of an entry: signature, lengths of the name and of the extra field
_ENCRYPTED = 1  # flag of an entry
_CODECS = ("cp437", "utf-8", "utf-16", "utf-16-le", "utf-16-be", "ascii", "latin-1")  # of names, and of XML
# The library tries one kind after the other.
_WHY = {"Cannot detect file format": "its sheets cannot be read", "": "it ends early"}
# What the parsers of archives, XML and records raise for a damaged file.
_DAMAGED = (
    *(zipfile.BadZipFile, zlib.error, EOFError, SyntaxError, ValueError, struct.error, LookupError, OverflowError),
    *(StopIteration, NotImplementedError),  # an entry without a root; a version of ZIP that zipfile does not know
    OSError,  # XML of another encoding, whose module this process cannot open
)
# What an archive is that is no workbook, by how the names of its entries begin.
_OTHERS = {"word/": "a Word document", "ppt/": "a PowerPoint presentation", "index/": "an Apple iWork document"}
# Entries of a workbook with macros, also those of Excel 4, and with data of other files.
_MACROS = ("xl/macrosheets/", "basic/", "scripts/")
_LINKS = ("xl/externallinks/", "xl/connections.xml")
_ODS_LINKS = (b":table-source", b":cell-range-source", b":dde-link", b"'file:")


class Refused(Exception):
    """The file cannot be read; the parent has the sentence for the code."""

    def __init__(self, code: str, **more: Any) -> None:
        super().__init__(code)
        self.answer = {"refused": code, **more}


def _too_complex(why: str) -> Refused:
    return Refused("workbook_too_complex", why=why)


def main() -> None:
    """Read a workbook from the input and write it to the output."""
    limit_process()
    options = json.loads(sys.stdin.buffer.readline())
    content = sys.stdin.buffer.read()
    try:
        lines = [json.dumps(each, ensure_ascii=False).encode() for each in read(content, options["sheet"])]
    except Refused as refusal:
        lines = [json.dumps(refusal.answer).encode()]
    except MemoryError:
        lines = [
            json.dumps(
                _too_complex(f"reading it takes more than {MAX_MEMORY // _MB} MB of memory").answer
            ).encode()
        ]
    sys.stdout.buffer.write(b"\n".join(lines))


def limit_process() -> None:
    """Limit this process, which needs nothing but its input and output; serving processes run before it."""
    os.nice(_NICE)
    for each in _CODECS:  # a module cannot be imported later
        codecs.lookup(each)
    for kind, most in (
        (resource.RLIMIT_AS, MAX_MEMORY),
        (resource.RLIMIT_CPU, MAX_CPU_S),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_NPROC, 0),
        (resource.RLIMIT_NOFILE, 3),  # the input, the output and the errors
    ):
        resource.setrlimit(kind, (most, most))


def read(content: bytes, wanted: str | None) -> Iterator[Any]:
    """Yield what the workbook is, then its rows: the number of each, from 1, and its cells. Raise Refused."""
    with _refusing_damaged():
        about, archive, book = _examine(content)
        workbook = CalamineWorkbook.from_filelike(io.BytesIO(content))
        name, sheet = _choose(workbook, wanted)
        merged = sheet.merged_cell_ranges or []
        first_column = 0 if sheet.start is None else sheet.start[1]
        rows = list(sheet.iter_rows())
        marks = Marks()
        if archive is not None:
            marks.read(archive, about["file_type"], name)
        if book is not None:
            marks.read_book(book, [each.name for each in workbook.sheets_metadata].index(name))
    yield about | {
        "sheet": name,
        "sheets": [each.name for each in workbook.sheets_metadata if each.typ == SheetTypeEnum.WorkSheet],
        "hidden": [each.name for each in workbook.sheets_metadata if each.visible != SheetVisibleEnum.Visible],
        "merged": [*(name_range(each) for each in merged[:MAX_LISTED]), *marks.merged][:MAX_LISTED],
        "errors": marks.errors,
        "empty_formulas": marks.empty_formulas,
    }
    yield from _lines(rows, first_column, marks.percents)


@contextmanager
def _refusing_damaged() -> Iterator[None]:
    """Raise Refused for what a damaged file raises."""
    try:
        yield
    except PasswordError:
        raise Refused("workbook_encrypted") from None
    except (CalamineError, *_DAMAGED) as error:
        raise Refused("workbook_invalid", why=_WHY.get(str(error), str(error))[:200]) from None
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # of the library in Rust, which exports no class of it
            raise
        raise Refused("workbook_invalid", why="its parts do not fit together") from None


def _lines(
    rows: Sequence[Sequence[Any]], first_column: int, percents: AbstractSet[tuple[int, int]]
) -> Iterator[Any]:
    """Yield the number of each row with cells, from 1, and its cells. Raise Refused."""
    size = 0
    for at, row in enumerate(rows):
        cells: list[Any] = ["" for _ in range(first_column)] + [
            _cell(value, is_percent=(at, first_column + column) in percents)
            for column, value in enumerate(row[:MAX_COLUMNS])
        ]
        while cells and cells[-1] == "":
            cells.pop()
        if cells:
            size += sum(len(each) if isinstance(each, str) else len(each[0]) for each in cells)
            if size > MAX_OUTPUT:
                raise _too_complex(f"its cells have more than {MAX_OUTPUT // _MB} MB of text")
            yield [at + 1, cells[:MAX_COLUMNS]]


def _examine(content: bytes) -> tuple[dict[str, Any], zipfile.ZipFile | None, Book | None]:
    """Return what the file is, and its archive, whose entries are counted, or its records. Raise Refused."""
    if content.startswith(OLE):
        if _has(content, "EncryptedPackage"):
            raise Refused("workbook_encrypted")
        if not _has(content, "Workbook") and not _has(content, "Book"):
            raise Refused("file_unsupported", what="an Office document that is no workbook")
        book = Book(content)
        if book.is_encrypted:
            raise Refused("workbook_encrypted")
        about = {
            "file_type": "xls",
            "macros": book.has_macros or _has(content, "_VBA_PROJECT"),
            "links": book.has_links,
        }
        return about, None, book
    archive = _open_archive(content)
    names = entry_names(archive)
    if any(name.endswith("workbook.bin") for name in names):
        raise Refused("file_unsupported", what="an Excel binary workbook (.xlsb)")
    is_ods = "content.xml" in names and b"spreadsheet" in read_entry(archive, "mimetype")
    if not is_ods and "xl/workbook.xml" not in names:
        what = next((each for name in names for part, each in _OTHERS.items() if name.startswith(part)), None)
        raise Refused("file_unsupported", what=what or "a ZIP archive that is no workbook")
    if is_ods and b"encryption-data" in read_entry(archive, "META-INF/manifest.xml"):
        raise Refused("workbook_encrypted")
    content = read_entry(archive, "content.xml") if is_ods else b""
    about = {
        "file_type": "ods" if is_ods else "xlsx",
        "macros": any(name.endswith("vbaproject.bin") or name.startswith(_MACROS) for name in names),
        "links": any(name.startswith(_LINKS) for name in names) or any(each in content for each in _ODS_LINKS),
    }
    return about, archive, None


def _has(content: bytes, name: str) -> bool:
    """Return whether a compound file has an entry of this name (MS-CFB, 2.6.1)."""
    return f"{name}\0".encode("utf-16-le") in content


def _open_archive(content: bytes) -> zipfile.ZipFile:
    """Return an archive whose entries stay within the limits, whatever sizes it declares. Raise Refused."""
    archive = zipfile.ZipFile(io.BytesIO(content))
    entries = archive.infolist()
    if len(entries) > MAX_ENTRIES:
        raise _too_complex(f"it has more than {MAX_ENTRIES} entries")
    inflated = 0
    for each in entries:
        parts = each.filename.replace("\\", "/").split("/")
        if ".." in parts or parts[0] == "" or ":" in parts[0]:
            raise Refused("workbook_invalid", why="an entry has a path outside of the file")
        if each.flag_bits & _ENCRYPTED:
            raise Refused("workbook_encrypted")
        inflated += _inflate(content, each, MAX_INFLATED - inflated)
    return archive


def _inflate(content: bytes, entry: zipfile.ZipInfo, most: int) -> int:
    """Return the size of an entry, which is counted block by block. Raise Refused above `most`."""
    signature, name, extra = _LOCAL_HEADER.unpack_from(content, entry.header_offset)
    start = entry.header_offset + _LOCAL_HEADER.size + name + extra
    if signature != b"PK\x03\x04" or entry.compress_type not in {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}:
        raise Refused("workbook_invalid", why="an entry is not compressed as in a workbook")
    data = memoryview(content)[start : start + entry.compress_size]
    size = 0
    if entry.compress_type == zipfile.ZIP_STORED:
        size = len(data)
    else:
        inflater = zlib.decompressobj(-zlib.MAX_WBITS)
        for at in range(0, len(data), _BLOCK):
            block: bytes = bytes(data[at : at + _BLOCK])
            while block and not inflater.eof and size <= most:
                size += len(inflater.decompress(block, _BLOCK))
                block = inflater.unconsumed_tail
    if size > most:
        raise _too_complex(f"it has more than {MAX_INFLATED // _MB} MB when it is unpacked")
    return size


def _choose(workbook: CalamineWorkbook, wanted: str | None) -> tuple[str, Any]:
    """Return the wanted sheet, else the first visible one with cells, else the first one. Raise Refused."""
    if len(workbook.sheets_metadata) > MAX_SHEETS:
        raise _too_complex(f"it has more than {MAX_SHEETS} sheets")
    if any(len(each.name) > MAX_SHEET_NAME for each in workbook.sheets_metadata):
        raise _too_complex(f"the name of a sheet has more than {MAX_SHEET_NAME} characters")
    sheets = [each for each in workbook.sheets_metadata if each.typ == SheetTypeEnum.WorkSheet]
    names = [each.name for each in sheets]
    if not names or (wanted is not None and wanted not in names):
        raise Refused("sheet_unknown", sheets=names[:MAX_LISTED])
    if wanted is not None:
        return wanted, workbook.get_sheet_by_name(wanted)
    for each in sorted(sheets, key=lambda each: each.visible != SheetVisibleEnum.Visible):
        sheet = workbook.get_sheet_by_name(each.name)
        if sheet.height:
            return each.name, sheet
    return names[0], workbook.get_sheet_by_name(names[0])


def _cell(value: Any, *, is_percent: bool) -> str | list[str]:
    """Return a value as text; a number as a list with its text, whose point is before its decimals."""
    match value:
        case bool():
            return "yes" if value else "no"
        case int() | float() if math.isfinite(value):
            if is_percent:
                return f"{(Decimal(repr(value)) * 100).normalize():f}%"
            text = repr(value).removesuffix(".0")
            return [f"{Decimal(text):f}" if "e" in text else text]
        case datetime():
            return value.isoformat(" ", "seconds") if value.time() != time() else value.date().isoformat()
        case date():
            return value.isoformat()
        case _:
            return str(value)


if __name__ == "__main__":
    main()
