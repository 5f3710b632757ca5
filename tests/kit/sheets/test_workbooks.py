"""Workbooks are read in a process with limits, and other files are refused by their kind."""

import asyncio
import os
import random
import re
import struct
import subprocess
import sys
import zipfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

import pytest
from pydantic_core import from_json
from structlog.testing import capture_logs

from builders.kit.errors import Invalid
from builders.kit.http.heavy_requests import HeavyRequestRunning
from builders.kit.sheets import workbooks
from builders.kit.sheets.sources import SentTable, Source, TableOptions
from tests.kit.sheets.workbook_files import (
    DATE,
    OWN_PERCENT,
    PERCENT,
    cell,
    ods,
    ods_cell,
    ods_row,
    record,
    rows_of,
    xls,
    xlsx,
    zipped,
)

TABLE = rows_of(["domain", "price"], ["harbour.com", 12.5])
FORMULA = (
    '<row r="1"><c r="A1"><f>1+1</f><v></v></c><c r="B1"><f>1+1</f><v>2</v></c><c r="C1" t="e"><v>#REF!</v></c>'
    '<c r="D1" t="str"><f>""</f><v></v></c></row>'
)
ODS_ERROR = (
    '<table:table-cell table:formula="of:=1/0" office:value-type="string" office:string-value="" '
    'calcext:value-type="error"><text:p>#DIV/0!</text:p></table:table-cell>'
)
ODS_EMPTY = '<table:table-cell table:formula="of:=A1"/>'
ODS_BLANK = '<table:table-cell table:formula="of:=A1" office:value-type="string" office:string-value=""/>'
FAR = f'<row r="1">{cell(0, 0, 1.0)}</row><row r="1048576">{cell(1_048_575, 16_383, 1.0)}</row>'


def open_file(content: bytes, **options: Any) -> SentTable[TableOptions]:
    return workbooks.open_at_once(SentTable(source=Source.FILE, content=content, options=TableOptions(**options)))


def read(content: bytes, **options: Any) -> tuple[dict[str, Any], Sequence[Any]]:
    """What is said of the workbook, and its rows."""
    about, *rows = map(from_json, open_file(content, **options).content.split(b"\n"))
    return about, rows


def refusal(content: bytes, **options: Any) -> tuple[str, str]:
    with pytest.raises(Invalid) as refused:
        open_file(content, **options)
    return refused.value.code, str(refused.value.errors[0]["msg"])


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (xlsx(TABLE), "xlsx"),
        (
            ods(ods_row(ods_cell("domain"), ods_cell("price")) + ods_row(ods_cell("harbour.com"), ods_cell(12.5))),
            "ods",
        ),
        (xls(["domain", "price"], ["harbour.com", 12.5]), "xls"),
    ],
    ids=["xlsx", "ods", "xls"],
)
def test_each_kind_is_known_by_its_bytes(content: bytes, kind: str) -> None:
    about, rows = read(content)
    assert about["file_type"] == kind
    assert rows == [[1, ["domain", "price"]], [2, ["harbour.com", ["12.5"]]]]


@pytest.mark.parametrize(
    ("value", "style", "is_1904", "text"),
    [
        (12.34, 0, False, ["12.34"]),
        (0.1, 0, False, ["0.1"]),
        (12.340000000000002, 0, False, ["12.340000000000002"]),
        (1808611199000.0, 0, False, ["1808611199000"]),
        (1e20, 0, False, ["100000000000000000000"]),
        (-5.5, 0, False, ["-5.5"]),
        (46000.0, DATE, False, "2025-12-09"),
        (46000.5, DATE, False, "2025-12-09 12:00:00"),
        (46000.0, DATE, True, "2029-12-10"),
        (0.15, PERCENT, False, "15%"),
        (0.155, OWN_PERCENT, False, "15.5%"),
        (True, 0, False, "yes"),
        (False, 0, False, "no"),
    ],
)
def test_the_stored_value_is_read(value: float | bool, style: int, is_1904: bool, text: object) -> None:
    row = f'<row r="3">{cell(2, 1, value, style)}</row>'
    assert read(xlsx(row, is_1904=is_1904))[1] == [[3, ["", text]]]


def test_a_percentage_of_opendocument_is_one() -> None:
    rows = ods_row(ods_cell("share")) + ods_row(ods_cell(0.15, is_percent=True))
    assert read(ods(rows))[1] == [[1, ["share"]], [2, ["15%"]]]


@pytest.mark.parametrize("is_small", [False, True])
def test_the_records_of_excel_97_tell_of_percentages_errors_and_links(is_small: bool) -> None:
    link = record(0x01AE, bytes((1, 0, 5, 0)))
    content = xls(["share", "price"], [0.155, None], percents=[0], records=link, is_small=is_small)
    about, rows = read(content)
    assert rows == [[1, ["share", "price"]], [2, ["15.5%"]]]
    assert (about["errors"], about["links"]) == (["B2"], True)


@pytest.mark.parametrize(
    "content", [xlsx(FORMULA), ods(ods_row(ODS_EMPTY, ods_cell(2.0), ODS_ERROR, ODS_BLANK))], ids=["xlsx", "ods"]
)
def test_errors_and_formulas_without_a_value_are_told(content: bytes) -> None:
    about, rows = read(content)
    assert (about["errors"], about["empty_formulas"], rows) == (["C1"], ["A1"], [[1, ["", ["2"]]]])


# Formats of numbers, and whether they multiply by 100. The fourth has 37 characters, the code of a percent sign.
FORMATS = {
    "0%": True,
    "0.0%;[Red]-0.0%": True,
    '0" percent"%': True,
    '_-* #,##0.00" EUR"_-;-* #,##0.00" EU"': False,
    '0.0" %"': False,
    "0.0\\%": False,
    "0_%": False,
    "0*%": False,
    "General": False,
}


@pytest.mark.parametrize("number_format", FORMATS)
def test_a_percent_sign_that_is_a_literal_is_no_percentage(number_format: str) -> None:
    expected = [[1, ["50%" if FORMATS[number_format] else ["0.5"]]]]
    styles = (
        '<styleSheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><numFmts count="1"><numFmt '
        f"numFmtId='164' formatCode={quoteattr(number_format)}/></numFmts><cellXfs count='2'><xf numFmtId='0'/>"
        "<xf numFmtId='164'/></cellXfs></styleSheet>"
    )
    content = xlsx('<row r="1"><c r="A1" s="1"><v>0.5</v></c></row>', extra={"xl/styles.xml": styles})
    assert read(content)[1] == expected
    for encoding in ("latin-1", "utf-16-le"):
        assert read(xls([0.5], percents=[0], number_format=number_format, encoding=encoding))[1] == expected


def test_merged_cells_are_told() -> None:
    assert read(xlsx(TABLE, merged={"One": ["A1:B1"]}))[0]["merged"] == ["A1:B1"]
    spanned = ods_row(ods_cell("domain", spanned=2)) + ods_row(ods_cell("harbour.com"))
    assert read(ods(spanned))[0]["merged"] == ["A1:B1"]


def test_the_first_visible_sheet_with_cells_is_read_and_another_can_be_named() -> None:
    content = xlsx({"Hidden": TABLE, "Empty": "", "Mine": TABLE, "Other": rows_of(["x"])}, hidden=["Hidden"])
    about, _ = read(content)
    assert (about["sheet"], about["hidden"]) == ("Mine", ["Hidden"])
    assert about["sheets"] == ["Hidden", "Empty", "Mine", "Other"]
    assert read(content, sheet="Other")[1] == [[1, ["x"]]]
    code, message = refusal(content, sheet="Nobody")
    assert (code, "Mine" in message) == ("sheet_unknown", True)


def test_macros_and_links_are_told() -> None:
    extra: dict[str, bytes | str] = {"xl/vbaProject.bin": b"x", "xl/externalLinks/externalLink1.xml": "<a/>"}
    about, rows = read(xlsx(TABLE, extra=extra))
    assert (about["macros"], about["links"], len(rows)) == (True, True, 2)


@pytest.mark.parametrize(
    ("content", "mark"),
    [
        (xlsx(TABLE, extra={"xl/macrosheets/sheet1.xml": "<a/>"}), "macros"),
        (xlsx(TABLE, extra={"xl/connections.xml": "<connections/>"}), "links"),
        (ods(ods_row(ods_cell("x")), extra={"Basic/Standard/Module1.xml": "<a/>"}), "macros"),
        (ods(ods_row(ods_cell("x")), extra={"Scripts/python/module.py": "x"}), "macros"),
        (ods(ods_row(ods_cell("x")) + '<table:table-source table:table-name="Other"/>'), "links"),
        (ods(ods_row(ods_cell("x")) + "<table:dde-links><table:dde-link/></table:dde-links>"), "links"),
        (xls(["x"], records=record(0x0085, bytes((0, 0, 0, 0, 0, 1, 1, 0)) + b"M")), "macros"),
    ],
)
def test_other_macros_and_links_are_told(content: bytes, mark: str) -> None:
    about, _ = read(content)
    assert [each for each in ("macros", "links") if about[each]] == [mark]


@pytest.mark.parametrize("rename", [str.upper, lambda name: name.replace("/", "\\")])
def test_entries_are_found_in_either_case_and_with_either_separator(rename: Callable[[str], str]) -> None:
    sheet = rows_of(["share"], [1.5], styles={0: PERCENT}) + '<row r="3"><c r="A3" t="e"><v>#REF!</v></c></row>'
    with zipfile.ZipFile(BytesIO(xlsx(sheet))) as archive:
        renamed = zipped({rename(each): archive.read(each) for each in archive.namelist()})
    about, rows = read(renamed)
    assert (rows, about["errors"]) == ([[1, ["share"]], [2, ["150%"]]], ["A3"])


def test_cells_without_names_have_marks_too() -> None:
    cells = (
        f'<c s="{PERCENT}"><v>1.5</v></c><c r="D4" t="e"><v>#REF!</v></c><c><f>1+1</f></c><c t="e"><v>#N/A</v></c>'
    )
    about, rows = read(xlsx(f"<row><c><v>1</v></c></row><row r='4'>{cells}</row>"))
    assert rows == [[1, [["1"]]], [4, ["150%"]]]
    assert (about["errors"], about["empty_formulas"]) == (["D4", "F4"], ["E4"])


@pytest.mark.parametrize("style", [0, PERCENT])
@pytest.mark.parametrize("value", ["nan", "inf", "-inf", "1e999"])
def test_a_number_that_is_none_is_a_text(value: str, style: int) -> None:
    _, rows = read(xlsx(f'<row r="1"><c r="A1" s="{style}"><v>{value}</v></c></row>'))
    assert rows == [[1, [str(float(value))]]]


def declared_small(content: bytes, name: str) -> bytes:
    """The archive, whose directory and entry say that an entry has ten bytes."""
    found = bytearray(content)
    with zipfile.ZipFile(BytesIO(content)) as archive:
        size = archive.getinfo(name).file_size.to_bytes(4, "little")
    at = found.find(size)
    while at >= 0:
        found[at : at + 4] = (10).to_bytes(4, "little")
        at = found.find(size, at + 4)
    return bytes(found)


def with_flag(content: bytes) -> bytes:
    """The archive, whose entries say that they are encrypted."""
    found = bytearray(content)
    at = found.find(b"PK\x01\x02")
    while at >= 0:
        found[at + 8] |= 1
        at = found.find(b"PK\x01\x02", at + 4)
    return bytes(found)


def with_circle(content: bytes) -> bytes:
    """The compound file, in whose table each sector is followed by itself."""
    table = b"".join(each.to_bytes(4, "little") for each in range(128))
    return content[:512] + table + content[1024:]


BOMB = xlsx(TABLE, extra={"xl/media/image1.png": bytes(60_000_000)})
ENTITIES = '<!DOCTYPE a [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">]>'
# Files of strangers: each is refused, and the reading process alone pays for it.
HOSTILE: dict[str, tuple[bytes, str]] = {
    "two far cells": (xlsx(FAR), "workbook_too_complex"),
    "60 MB of zeros": (BOMB, "workbook_too_complex"),
    "a declared size of 10 bytes": (declared_small(BOMB, "xl/media/image1.png"), "workbook_too_complex"),
    "201 entries": (xlsx(TABLE, extra={f"xl/media/{at}.png": b"" for at in range(201)}), "workbook_too_complex"),
    "a path outside": (xlsx(TABLE, extra={"../../etc/passwd": b"x"}), "workbook_invalid"),
    "an absolute path": (xlsx(TABLE, extra={"/etc/passwd": b"x"}), "workbook_invalid"),
    "a drive": (xlsx(TABLE, extra={"C:/x": b"x"}), "workbook_invalid"),
    "a flag of encryption": (with_flag(xlsx(TABLE)), "workbook_encrypted"),
    "an encrypted package": (xls(["x"], extra_stream="EncryptedPackage"), "workbook_encrypted"),
    "an encrypted workbook of Excel 97": (xls(["x"], records=record(0x002F, bytes(54))), "workbook_encrypted"),
    "a chain that returns to itself": (with_circle(xls(["x"])), "workbook_too_complex"),
    "an encrypted sheet of OpenDocument": (
        ods(ods_row(ods_cell("x")), extra={"META-INF/manifest.xml": "<a><manifest:encryption-data/></a>"}),
        "workbook_encrypted",
    ),
    "a Word document": (zipped({"word/document.xml": "<a/>"}), "file_unsupported"),
    "a binary workbook": (zipped({"xl/workbook.bin": b"x"}), "file_unsupported"),
    "an archive": (zipped({"names.csv": "domain\n"}), "file_unsupported"),
    "an old Word document": (xls(["x"], extra_stream="WordDocument"), "file_unsupported"),
    "a head alone": (b"PK\x03\x04" + bytes(30), "workbook_invalid"),
    "a cut archive": (xlsx(TABLE)[:-30], "workbook_invalid"),
    "a cut compound file": (xls(["domain"])[:600], "file_unsupported"),
    "XML that ends early": (xlsx(TABLE, extra={"xl/workbook.xml": "<workbook><sheets>"}), "workbook_invalid"),
    "entities": (ods(ods_row(ods_cell(0.5, is_percent=True)), before=ENTITIES), "workbook_invalid"),
    "no sheets": (xlsx({}), "sheet_unknown"),
    "a repeated row of OpenDocument": (
        ods(
            '<table:table-row table:number-rows-repeated="1048576"><table:table-cell '
            'table:number-columns-repeated="16384" office:value-type="float" office:value="1"/></table:table-row>'
        ),
        "workbook_invalid",
    ),
    "many repeated rows of OpenDocument": (
        ods(
            '<table:table-row table:number-rows-repeated="100000"><table:table-cell '
            'table:number-columns-repeated="100" office:value-type="float" office:value="1"/></table:table-row>'
        ),
        "workbook_too_complex",
    ),
}


def with_sheets(*names: str) -> bytes:
    """A workbook, each of whose sheets is the same entry."""
    listed = "".join(f'<sheet name="{name}" sheetId="{at}" r:id="r1"/>' for at, name in enumerate(names, start=1))
    with zipfile.ZipFile(BytesIO(xlsx(TABLE))) as archive:
        book = archive.read("xl/workbook.xml").decode()
    book = re.sub("<sheets>.*</sheets>", f"<sheets>{listed}</sheets>", book)
    return xlsx(TABLE, extra={"xl/workbook.xml": book})


@pytest.mark.parametrize(
    ("names", "is_read"),
    [
        ([f"S{at}" for at in range(255)], True),
        ([f"S{at}" for at in range(256)], False),
        (["x" * 200, "y"], True),
        (["x", "y" * 201], False),  # an answer would name it
    ],
)
def test_the_sheets_are_so_few_that_an_answer_can_name_them(names: Sequence[str], *, is_read: bool) -> None:
    content = with_sheets(*names)
    if is_read:
        assert read(content)[0]["sheets"] == names
    else:
        assert refusal(content, sheet="other")[0] == "workbook_too_complex"


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_is_refused(name: str) -> None:
    content, code = HOSTILE[name]
    assert refusal(content)[0] == code


def with_wrong_sum(content: bytes, name: str) -> bytes:
    """The archive, in whose directory an entry has another checksum."""
    with zipfile.ZipFile(BytesIO(content)) as archive:
        return content.replace(archive.getinfo(name).CRC.to_bytes(4, "little"), bytes(4))


def with_encoding(content: bytes, encoding: str) -> bytes:
    """The archive, whose list of sheets is XML of another encoding."""
    with zipfile.ZipFile(BytesIO(content)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    head, _, rest = parts["xl/workbook.xml"].rpartition(b"?>")
    assert b"encoding" in head or not head
    return zipped({**parts, "xl/workbook.xml": f'<?xml version="1.0" encoding="{encoding}"?>'.encode() + rest})


@pytest.mark.parametrize(
    "content",
    [
        with_wrong_sum(xlsx(TABLE), "xl/styles.xml"),
        with_wrong_sum(ods(ods_row(ods_cell("x"))), "content.xml"),
        xls(["x"])[:1700],  # python-calamine panics
        xls(["x"]).replace(struct.pack("<HHH", 0xFFFE, 9, 6), struct.pack("<HHH", 0xFFFE, 9, 65)),
        with_encoding(xlsx(TABLE), "U-TF-8"),
        with_encoding(xlsx(TABLE), "idna"),
    ],
    ids=[
        *("a checksum of .xlsx", "a checksum of .ods", "a cut stream", "a size of sectors"),
        *("an unknown encoding", "another encoding"),
    ],
)
def test_a_damaged_file_is_no_fault_of_the_program(content: bytes) -> None:
    with capture_logs() as logs:
        assert refusal(content)[0] == "workbook_invalid"
    assert logs == []


def test_a_fault_of_the_program_is_logged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "faulty.py").write_text("import no_such_module\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(workbooks, "program", "faulty")
    large = bytes(range(256)) * 4_000  # more than a pipe holds, and nobody reads it
    with capture_logs() as said:
        assert refusal(b"PK\x03\x04" + large)[0] == "workbook_invalid"
    assert [("no_such_module" in each["error"], each["log_level"]) for each in said] == [(True, "error")]


def test_a_program_that_runs_too_long_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "endless.py").write_text("import time\ntime.sleep(600)\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(workbooks, "max_time_s", 0.2)
    monkeypatch.setattr(workbooks, "program", "endless")
    assert refusal(xlsx(TABLE))[0] == "workbook_too_complex"


async def test_a_cancelled_request_gives_back_its_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun = tmp_path / "begun"
    (tmp_path / "endless.py").write_text(
        f"import time\nopen({str(begun)!r}, 'a').write('x')\ntime.sleep(600)\n", encoding="utf-8"
    )
    monkeypatch.syspath_prepend(tmp_path)
    sent = SentTable(source=Source.FILE, content=xlsx(TABLE), options=TableOptions())
    with monkeypatch.context() as slow:
        slow.setattr(workbooks, "program", "endless")
        requests = [asyncio.create_task(workbooks.open_sent(sent)) for _ in range(40)]
        while not begun.exists() or begun.stat().st_size < workbooks.MAX_PROCESSES:  # noqa: ASYNC110 - processes write it
            await asyncio.sleep(0)
        slow.setattr(workbooks, "wait_s", 0.0)
        with pytest.raises(HeavyRequestRunning):
            await workbooks.open_sent(sent)
        # Threads that others use are free.
        async with asyncio.timeout(60):
            await asyncio.to_thread(int)
        for each in requests:
            each.cancel()
        ended = await asyncio.gather(*requests, return_exceptions=True)
    assert {type(each) for each in ended} == {asyncio.CancelledError}
    assert (await workbooks.open_sent(sent)).source is Source.WORKBOOK
    assert begun.stat().st_size == workbooks.MAX_PROCESSES


LIMITS = """
import os, resource, socket, sys
from builders.kit.sheets import workbook_program
before = os.nice(0)
workbook_program.limit_process()
failed = [os.nice(0) == min(before + 10, 19)]
for each in (socket.socket, lambda: open("/etc/passwd"), lambda: bytearray(600_000_000)):
    try:
        each()
    except (OSError, MemoryError) as error:
        failed.append(type(error).__name__)
print(*failed, resource.getrlimit(resource.RLIMIT_CPU)[1], resource.getrlimit(resource.RLIMIT_AS)[1])
print(*sorted(each for each in sys.modules if each.startswith("builders") or each == "pydantic"))
"""


def test_the_program_opens_no_socket_and_no_file_has_its_limits_and_imports_no_service() -> None:
    done = subprocess.run(
        [sys.executable, "-P", "-c", LIMITS],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    limits, modules = done.stdout.splitlines()
    assert limits == "True OSError OSError MemoryError 10 536870912"
    own = "builders builders.kit builders.kit.sheets"
    parts = ("marks", "program", "records")
    assert modules == " ".join([own, *(f"builders.kit.sheets.workbook_{each}" for each in parts)])


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"%PDF-1.7\n", "a PDF document"),
        (b"\xef\xbb\xbf <!DOCTYPE html><html>", "an HTML page"),
        ("<html>".encode("utf-16"), "an HTML page"),
        (b'<?xml version="1.0"?><Workbook>', "an XML document"),
        (b"\x1f\x8b\x08", "compressed with gzip"),
        (b'[{"domain": "harbour.com"}]', "JSON"),
        (b'[\n  {\n    "domain": "harbour.com"', "JSON"),
        (b'{\n  "domains": [', "JSON"),
        (b'["harbour.com", "lander.com"]', "JSON"),
        (b"\x89PNG\r\n", "an image"),
        (b"\xef\xbb\xbf%PDF-1.7\n", "a PDF document"),
        (b"\r\n%PDF-1.7\n", "a PDF document"),
        (b'<meta http-equiv="Content-Type"><table>', "an HTML page"),
        (b"<style>td{}</style><table>", "an HTML page"),
        (b"<TABLE border=1>", "an HTML page"),
        (b"MIME-Version: 1.0\r\nX-Document-Type: Workbook\r\n", "a web page"),
    ],
)
def test_a_file_of_another_kind_is_refused_by_it(content: bytes, what: str) -> None:
    code, message = refusal(content)
    assert (code, what in message, ".xlsx" in message) == ("file_unsupported", True, True)


def test_any_change_of_a_workbook_is_read_or_refused() -> None:
    chance = random.Random(7)  # noqa: S311 - the same bytes each time
    for original in (xlsx(TABLE), xls(["domain"], ["harbour.com"])):
        for _ in range(8):
            content = bytearray(original)
            for _ in range(chance.randrange(1, 20)):
                content[chance.randrange(8, len(content))] = chance.randrange(256)
            with suppress(Invalid):  # any other error of the process or of its answer fails
                open_file(bytes(content))
