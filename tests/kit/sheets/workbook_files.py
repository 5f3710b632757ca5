"""Workbooks of the tests: .xlsx, .ods and .xls, written by hand, so that each part can be wrong."""

import io
import struct
import zipfile
from collections.abc import Mapping, Sequence
from xml.sax.saxutils import escape

_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_LINKS = "http://schemas.openxmlformats.org/package/2006/relationships"
_DOCUMENT = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
DATE, PERCENT, OWN_PERCENT = 1, 2, 3  # styles
_STYLES = (
    f'<styleSheet xmlns="{_MAIN}"><numFmts count="1"><numFmt numFmtId="164" formatCode="0.0%"/></numFmts>'
    '<cellXfs count="4"><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="9"/><xf numFmtId="164"/></cellXfs>'
    "</styleSheet>"
)
Value = str | float | bool | None


def letters(column: int) -> str:
    found, number = "", column + 1
    while number:
        number, rest = divmod(number - 1, 26)
        found = chr(ord("A") + rest) + found
    return found


def cell(row: int, column: int, value: Value, style: int = 0) -> str:
    """A cell of a sheet of .xlsx; rows and columns count from 0."""
    at = f'r="{letters(column)}{row + 1}" s="{style}"'
    match value:
        case None:
            return ""
        case bool():
            return f'<c {at} t="b"><v>{int(value)}</v></c>'
        case str():
            return f'<c {at} t="inlineStr"><is><t>{escape(value)}</t></is></c>'
    return f"<c {at}><v>{value!r}</v></c>"


def rows_of(*rows: Sequence[Value], styles: Mapping[int, int] | None = None) -> str:
    """The rows of a sheet; `styles` are by column, for all rows but the first."""
    styles = styles or {}
    return "".join(
        f'<row r="{at + 1}">'
        + "".join(cell(at, column, each, styles.get(column, 0) if at else 0) for column, each in enumerate(row))
        + "</row>"
        for at, row in enumerate(rows)
    )


def xlsx(
    content: str | Mapping[str, str],
    *,
    hidden: Sequence[str] = (),
    merged: Mapping[str, Sequence[str]] | None = None,
    extra: Mapping[str, bytes | str] | None = None,
    is_1904: bool = False,
) -> bytes:
    """A workbook with a sheet, or with several by their names; `content` is the XML of the rows."""
    sheets = {"One": content} if isinstance(content, str) else content
    names = list(enumerate(sheets, start=1))
    states = {name: ' state="hidden"' if name in hidden else "" for name in sheets}
    listed = "".join(f'<sheet name="{each}" sheetId="{at}" r:id="r{at}"{states[each]}/>' for at, each in names)
    links = "".join(
        f'<Relationship Id="r{at}" Type="{_DOCUMENT}/worksheet" Target="worksheets/sheet{at}.xml"/>'
        for at, _ in names
    )
    system = '<workbookPr date1904="1"/>' if is_1904 else ""
    parts: dict[str, bytes | str] = {
        "[Content_Types].xml": '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>',
        "_rels/.rels": f'<Relationships xmlns="{_LINKS}"><Relationship Id="r1" Type="{_DOCUMENT}/officeDocument" '
        'Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{_MAIN}" xmlns:r="{_DOCUMENT}">{system}<sheets>{listed}</sheets>'
        "</workbook>",
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{_LINKS}">{links}<Relationship Id="s" '
        f'Type="{_DOCUMENT}/styles" Target="styles.xml"/></Relationships>',
        "xl/styles.xml": _STYLES,
    }
    for at, name in names:
        merges = "".join(f'<mergeCell ref="{each}"/>' for each in (merged or {}).get(name, ()))
        merges = f"<mergeCells>{merges}</mergeCells>" if merges else ""
        sheet = f'<worksheet xmlns="{_MAIN}"><sheetData>{sheets[name]}</sheetData>{merges}</worksheet>'
        parts[f"xl/worksheets/sheet{at}.xml"] = sheet
    return zipped({**parts, **(extra or {})})


def zipped(parts: Mapping[str, bytes | str]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, each in parts.items():
            archive.writestr(name, each)
    return file.getvalue()


def ods(rows: str, *, before: str = "", extra: Mapping[str, bytes | str] | None = None) -> bytes:
    """A workbook of OpenDocument with a sheet; `rows` is their XML, and `before` begins the document."""
    office = "urn:oasis:names:tc:opendocument:xmlns"
    content = (
        f'{before}<office:document-content xmlns:office="{office}:office:1.0" xmlns:table="{office}:table:1.0" '
        f'xmlns:text="{office}:text:1.0" xmlns:calcext="urn:org:documentfoundation:names:experimental:calc:xmlns:'
        f'calcext:1.0"><office:body><office:spreadsheet><table:table table:name="One">{rows}'
        "</table:table></office:spreadsheet></office:body></office:document-content>"
    )
    manifest = '<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"/>'
    mimetype = "application/vnd.oasis.opendocument.spreadsheet"
    parts = {"mimetype": mimetype, "content.xml": content, "META-INF/manifest.xml": manifest}
    return zipped({**parts, **(extra or {})})


def ods_cell(value: str | float, *, is_percent: bool = False, spanned: int = 1) -> str:
    if isinstance(value, str):
        span = f' table:number-columns-spanned="{spanned}"' if spanned > 1 else ""
        return f'<table:table-cell office:value-type="string"{span}><text:p>{value}</text:p></table:table-cell>'
    kind = "percentage" if is_percent else "float"
    return f'<table:table-cell office:value-type="{kind}" office:value="{value!r}"/>'


def ods_row(*cells: str) -> str:
    return f"<table:table-row>{''.join(cells)}</table:table-row>"


def xls(
    *rows: Sequence[str | float | None],
    extra_stream: str | None = None,
    percents: Sequence[int] = (),
    records: bytes = b"",
    is_small: bool = False,
    number_format: str = "0.0%",
    encoding: str = "latin-1",
) -> bytes:
    """A workbook of Excel 97 with a sheet (MS-XLS, MS-CFB).

    `extra_stream` renames its stream, `percents` are columns of percentages, and None is an error. `records` are
    those of the whole workbook.
    """
    sheet = record(0x0809, struct.pack("<HHHHII", 0x0600, 0x0010, 0, 0, 0, 0))
    width = max(map(len, rows), default=0)
    sheet += record(0x0200, struct.pack("<IIHHH", 0, len(rows), 0, width, 0))
    for at, row in enumerate(rows):
        for column, each in enumerate(row):
            place = struct.pack("<HHH", at, column, 2 if column in percents else 0)
            if each is None:
                sheet += record(0x0205, place + bytes((0x17, 1)))  # #REF!
            elif isinstance(each, str):
                text = each.encode("utf-16-le")
                sheet += record(0x0204, place + struct.pack("<HB", len(text) // 2, 1) + text)
            else:
                sheet += record(0x0203, place + struct.pack("<d", each))
    sheet += record(0x000A, b"")
    book = record(0x0809, struct.pack("<HHHHII", 0x0600, 0x0005, 0, 0, 0, 0))
    book += record(0x0042, struct.pack("<H", 1200)) + records
    form = struct.pack("<HHB", 164, len(number_format), encoding == "utf-16-le")
    book += record(0x041E, form + number_format.encode(encoding))
    book += b"".join(record(0x00E0, struct.pack("<HH", 0, each) + bytes(16)) for each in (0, 9, 164))
    listed = 4 + 4 + 2 + 2 + len("One")
    offset = len(book) + listed + 4
    book += record(0x0085, struct.pack("<IBBBB", offset, 0, 0, 3, 0) + b"One") + record(0x000A, b"")
    return (_small_compound if is_small else _compound)(extra_stream or "Workbook", book + sheet)


def record(kind: int, data: bytes) -> bytes:
    return struct.pack("<HH", kind, len(data)) + data


def _small_compound(name: str, stream: bytes) -> bytes:
    """A compound file whose stream is so small that it is in the table of small sectors."""
    count, small = -(-len(stream) // 512), -(-len(stream) // 64)
    end, free = 0xFFFFFFFE, 0xFFFFFFFF
    table = [0xFFFFFFFD, end, end, *(at + 4 for at in range(count - 1)), end]
    smalls = [*(at + 1 for at in range(small - 1)), end]
    header = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(16) + struct.pack("<HHHHH", 0x3E, 3, 0xFFFE, 9, 6)
    header += bytes(6) + struct.pack("<IIIIIIIII", 0, 1, 1, 0, 4096, 2, 1, end, 0)
    header += struct.pack("<109I", 0, *[free] * 108)
    entries = _entry("Root Entry", 5, 1, 3, count * 512) + _entry(name, 2, free, 0, len(stream)) + bytes(256)
    tables = struct.pack("<128I", *table, *[free] * (128 - len(table)))
    smallest = struct.pack("<128I", *smalls, *[free] * (128 - len(smalls)))
    return header + tables + entries + smallest + stream.ljust(count * 512, b"\0")


def _compound(name: str, stream: bytes) -> bytes:
    size = max(len(stream), 4096)  # a smaller stream would be in another table
    count = -(-size // 512)
    end, free = 0xFFFFFFFE, 0xFFFFFFFF
    table = [0xFFFFFFFD, end, *(at + 3 for at in range(count - 1)), end]
    table += [free] * (128 - len(table))
    header = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(16) + struct.pack("<HHHHH", 0x3E, 3, 0xFFFE, 9, 6)
    header += bytes(6) + struct.pack("<IIIIIIIII", 0, 1, 1, 0, 4096, end, 0, end, 0)
    header += struct.pack("<109I", 0, *[free] * 108)
    entries = _entry("Root Entry", 5, 1, end, 0) + _entry(name, 2, free, 2, size) + bytes(256)
    return header + struct.pack("<128I", *table) + entries + stream.ljust(count * 512, b"\0")


def _entry(name: str, kind: int, child: int, start: int, size: int) -> bytes:
    text = name.encode("utf-16-le") + b"\0\0"
    none = 0xFFFFFFFF
    return (
        text.ljust(64, b"\0")
        + struct.pack("<HBBIII", len(text), kind, 1, none, none, child)
        + bytes(36)
        + struct.pack("<IQ", start, size)
    )
