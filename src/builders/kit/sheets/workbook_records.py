"""The records of a workbook of Excel 97 (.xls), which tell more of cells than python-calamine does.

Sources: MS-CFB (compound files), MS-XLS 2.4 (records). The process that reads a workbook (workbook_program.py)
imports it, so it imports nothing of the service.
"""

import re
import struct
from collections.abc import Iterator, Sequence

OLE = b"\xd0\xcf\x11\xe0"  # a compound file begins so
_MAX_SECTOR = 0xFFFFFFFA  # larger numbers end a chain
_HEADER_SECTORS = 109  # of the allocation table, that the header lists
_ENTRY, _STORAGE_OF_SMALL = 128, 5  # bytes of an entry of the directory; the type of the root entry
_BEGIN, _END, _FORMULA, _ENCRYPTED, _SHEET = 0x0809, 0x000A, 0x0006, 0x002F, 0x0085
_STYLE, _FORMAT, _LINK = 0x00E0, 0x041E, 0x01AE
_NUMBER, _RK, _RKS, _BOOLEAN_OR_ERROR = 0x0203, 0x027E, 0x00BD, 0x0205
_MACRO_SHEET = 1  # of Excel 4
_OWN_LINKS = frozenset({0x0401, 0x3A01})  # of the workbook itself, and of functions
PERCENTS = frozenset({9, 10})  # formats that each workbook has (ECMA-376, 18.8.30)
_VERSION_97 = b"\x00\x06"  # begins the first record
_LITERAL = re.compile(r'"[^"]*"?|[\\_*].')  # a text, a character, the width of one, or one that fills the cell
_NO_NUMBER, _ERROR = b"\xff\xff", 2  # of the value of a formula: its end, and its first byte


class Book:
    """What the records of a workbook tell. Raise ValueError, struct.error or IndexError for a damaged file."""

    def __init__(self, content: bytes) -> None:
        self.is_encrypted, self.has_links, self.has_macros = False, False, False
        self._stream = _stream_of(content, "Workbook") or _stream_of(content, "Book")
        self._sheets = list[int]()  # where each begins
        styles, formats, is_97 = list[int](), set(PERCENTS), False
        for kind, data in self._records(0):
            is_97 = is_97 or (kind == _BEGIN and data.startswith(_VERSION_97))
            self.is_encrypted = self.is_encrypted or kind == _ENCRYPTED
            if kind == _SHEET:
                self._sheets.append(struct.unpack_from("<I", data)[0])
                self.has_macros = self.has_macros or data[5] == _MACRO_SHEET
            elif kind == _STYLE:
                styles.append(struct.unpack_from("<2xH", data)[0])
            elif kind == _FORMAT and is_percentage(_format_of(data, is_97=is_97)):
                formats.add(struct.unpack_from("<H", data)[0])
            elif kind == _LINK and struct.unpack_from("<2xH", data)[0] not in _OWN_LINKS:
                self.has_links = True
        self._percents = {at for at, each in enumerate(styles) if each in formats}

    def read_cells(self, sheet: int) -> tuple[set[tuple[int, int]], list[tuple[int, int]]]:
        """Return the cells of a sheet with a percentage, and those with an error, by row and column from 0."""
        percents, errors = set[tuple[int, int]](), list[tuple[int, int]]()
        for kind, data in self._records(self._sheets[sheet]):
            if kind == _RKS:  # the style and the number of several cells of a row
                row, first = struct.unpack_from("<HH", data)
                styles = struct.unpack_from("<" + "H4x" * ((len(data) - 6) // 6), data, 4)
                percents |= {(row, first + at) for at, each in enumerate(styles) if each in self._percents}
            elif kind in {_NUMBER, _RK, _FORMULA, _BOOLEAN_OR_ERROR}:
                row, column, style = struct.unpack_from("<HHH", data)
                if _is_error(kind, data):
                    errors.append((row, column))
                elif style in self._percents:
                    percents.add((row, column))
        return percents, errors

    def _records(self, start: int) -> Iterator[tuple[int, bytes]]:
        """Yield the records from a beginning to its end, or that of the file, without those of charts in it."""
        at, depth = start, 0
        while at + 4 <= len(self._stream):
            kind, length = struct.unpack_from("<HH", self._stream, at)
            depth += (kind == _BEGIN) - (kind == _END)
            if depth == 1:
                yield kind, self._stream[at + 4 : at + 4 + length]
            if depth == 0:
                return
            at += 4 + length


def is_percentage(number_format: str) -> bool:
    """Return whether a format of numbers shows percentages (ECMA-376, 18.8.31): it has a % that is no literal."""
    return "%" in _LITERAL.sub("", number_format)


def _format_of(data: bytes, *, is_97: bool) -> str:
    """Return the text of a format, behind its length, and its flags in Excel 97."""
    if not is_97:
        return data[3:].decode("latin-1")
    return data[5:].decode("utf-16-le" if data[4] & 1 else "latin-1", "replace")


def _is_error(kind: int, data: bytes) -> bool:
    """Return whether the value of a cell is an error, such as #REF!."""
    if kind == _BOOLEAN_OR_ERROR:
        return data[7] == 1
    return kind == _FORMULA and data[12:14] == _NO_NUMBER and data[6] == _ERROR


def _stream_of(content: bytes, name: str) -> bytes:
    """Return a stream of a compound file; empty without it."""
    size, small = 1 << struct.unpack_from("<H", content, 30)[0], 1 << struct.unpack_from("<H", content, 32)[0]
    first, cutoff, small_table, more, count = struct.unpack_from("<I4xII4xII", content, 48)
    listed = list(struct.unpack_from(f"<{_HEADER_SECTORS}I", content, 76))
    for _ in range(min(count, len(content) // size)):
        *part, more = _numbers(_sector(content, more, size))
        listed += part
    table = [each for at in listed if at < _MAX_SECTOR for each in _numbers(_sector(content, at, size))]
    directory = _chain(content, first, table, size)
    entries = [directory[at : at + _ENTRY] for at in range(0, len(directory), _ENTRY)]
    wanted = next((each for each in entries if each.startswith(f"{name}\0".encode("utf-16-le"))), None)
    if wanted is None:
        return b""
    start, length = struct.unpack_from("<II", wanted, 116)
    if length >= cutoff:
        return _chain(content, start, table, size)[:length]
    root = next(each for each in entries if each[66] == _STORAGE_OF_SMALL)
    stored = _chain(content, struct.unpack_from("<I", root, 116)[0], table, size)
    numbers = _numbers(_chain(content, small_table, table, size))
    return _chain(bytes(small) + stored, start, numbers, small)[:length]


def _sector(content: bytes, number: int, size: int) -> bytes:
    return content[(number + 1) * size : (number + 2) * size]


def _numbers(content: bytes) -> Sequence[int]:
    return struct.unpack_from(f"<{len(content) // 4}I", content)


def _chain(content: bytes, start: int, table: Sequence[int], size: int) -> bytes:
    """Return the sectors of a chain; one that returns to itself ends with the table."""
    found = list[bytes]()
    while start < _MAX_SECTOR and len(found) <= len(table):
        found.append(_sector(content, start, size))
        start = table[start]
    return b"".join(found)
