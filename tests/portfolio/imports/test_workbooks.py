"""Workbooks that are sent: to each operation that takes a table, with any media type, small and large."""

import asyncio
from typing import Any

import pytest

from builders.kit.sheets import workbooks
from builders.kit.sheets.sources import SentTable
from builders.portfolio.runs.records import WorkKind
from tests.cast import Person
from tests.kit.sheets.workbook_files import DATE, PERCENT, Value, cell, ods, ods_cell, ods_row, rows_of, xls, xlsx
from tests.portfolio.domains.make import DOMAINS, add
from tests.portfolio.imports.make import IMPORT, IMPORTS, Json, counts, ok
from tests.portfolio.imports.test_jobs import work_on

XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
PREVIEW = f"{IMPORT}/preview"
HEADER = ["Domain", "Expires", "Purchase Price", "Purchased", "Revenue share", "Ownership"]
ROW: list[Value] = ["harbour.com", 46_500.0, 1234.5, 45_000.0, 0.15, "consigned"]
BOOK = xlsx(rows_of(HEADER, ROW, styles={1: DATE, 3: DATE, 4: PERCENT}))
NAMES = xlsx(rows_of(["Domain"], ["harbour.com"]))
FAR = xlsx(f'<row r="1">{cell(0, 0, 1.0)}</row><row r="1048576">{cell(1_048_575, 16_383, 1.0)}</row>')
# Each operation that takes a table: its path, its query, and a table that it reads.
OPERATIONS: dict[str, tuple[dict[str, str], bytes]] = {
    IMPORT: ({}, NAMES),
    PREVIEW: ({}, NAMES),
    "/v1/portfolio/registrars/inventory/import": ({"provider": "manual:quay"}, NAMES),
    "/v1/portfolio/registrars/billing/import": (
        {"currency": "EUR"},
        xlsx(rows_of(["Date", "Domain", "Amount"], [46_000.0, "harbour.com", 9.5], styles={0: DATE})),
    ),
    "/v1/portfolio/parking/revenue": (
        {"provider": "Sedo"},
        xlsx(rows_of(["Date", "Domain", "Revenue"], [46_000.0, "harbour.com", 9.5], styles={0: DATE})),
    ),
}


async def send(person: Person, content: bytes, path: str = IMPORT, media_type: str = XLSX, **query: str) -> Any:
    return await person.post(path, content=content, params=query, headers={"Content-Type": media_type})


def warned(imported: Json) -> list[str]:
    return [each["code"] for each in imported["detected"]["warnings"]]


async def test_the_stored_values_of_a_workbook_are_imported(alice: Person) -> None:
    imported = ok(await send(alice, BOOK))
    detected = imported["detected"]
    assert (counts(imported), detected["file_type"], detected["sheet"]) == ({"created": 1}, "xlsx", "One")
    found = ok(await alice.get(f"{DOMAINS}/harbour.com"))
    assert (found["expires_at"][:10], found["revenue_share"]) == ("2027-04-23", "15")
    exported = ok(await alice.get("/v1/portfolio/export"))["rows"]
    assert (exported[0]["entries"][0]["amount"], exported[0]["entries"][0]["currency"]) == ("1234.50", "USD")


@pytest.mark.parametrize("path", OPERATIONS)
async def test_each_operation_with_a_table_reads_a_workbook(alice: Person, path: str) -> None:
    query, content = OPERATIONS[path]
    await add(alice, "harbour.com")
    answer = await send(alice, content, path, **query)
    assert answer.is_success, answer.text
    detected = answer.json()["detected"]
    assert (detected["file_type"], detected["header_line"]) == ("xlsx", 1)


@pytest.mark.parametrize("path", OPERATIONS)
async def test_an_account_has_one_workbook_read_at_a_time(
    alice: Person, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    query, content = OPERATIONS[path]
    await add(alice, "harbour.com")
    open_sent, running = workbooks.open_sent, list[int]()
    most = 0

    async def count(sent: SentTable[Any]) -> SentTable[Any]:
        nonlocal most
        running.append(1)
        most = max(most, len(running))
        try:
            return await open_sent(sent)
        finally:
            running.pop()

    monkeypatch.setattr(workbooks, "open_sent", count)
    answers = await asyncio.gather(*(send(alice, content, path, **query) for _ in range(3)))
    assert ([each.is_success for each in answers], most) == ([True] * 3, 1)


@pytest.mark.parametrize("path", OPERATIONS)
async def test_each_operation_refuses_another_kind_of_file(alice: Person, path: str) -> None:
    query, _ = OPERATIONS[path]
    for content, media_type, kind in (
        (b"%PDF-1.7\n", "application/pdf", "a PDF document"),
        (b"<!DOCTYPE html><html><body>", "text/csv", "an HTML page"),
    ):
        answer = await send(alice, content, path, media_type, **query)
        [error] = answer.json()["detail"]
        assert (answer.status_code, error["type"], kind in error["msg"]) == (422, "file_unsupported", True)


@pytest.mark.parametrize(
    "media_type", ["text/csv", "application/json", "application/octet-stream", "application/zip", "text/plain"]
)
async def test_a_workbook_is_known_by_its_bytes(alice: Person, media_type: str) -> None:
    assert counts(ok(await send(alice, NAMES, media_type=media_type))) == {"created": 1}


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (xls(["domain"], ["harbour.com"]), "xls"),
        (ods(ods_row(ods_cell("domain")) + ods_row(ods_cell("a1.com"))), "ods"),
    ],
    ids=["xls", "ods"],
)
async def test_other_workbooks_are_imported(alice: Person, content: bytes, kind: str) -> None:
    imported = ok(await send(alice, content, media_type="application/octet-stream"))
    assert (counts(imported), imported["detected"]["file_type"]) == ({"created": 1}, kind)


async def test_two_far_cells_are_refused_and_the_service_lives_on(alice: Person) -> None:
    assert len(FAR) < 2_500
    refused, alive = await asyncio.gather(send(alice, FAR), alice.get("/livez"))
    assert (refused.status_code, refused.json()["detail"][0]["type"]) == (422, "workbook_too_complex")
    assert alive.status_code == 200
    assert counts(ok(await send(alice, NAMES))) == {"created": 1}


async def test_what_a_workbook_does_not_show_is_told_and_can_be_named(alice: Person) -> None:
    mine, old = (
        rows_of(["Domain", "Notes"], ["harbour.com", "a"], ["a1.com", "b"]),
        rows_of(["Domain"], ["b1.com"]),
    )
    content = xlsx(
        {"Mine": mine, "Old": old},
        merged={"Mine": ["B2:B3"]},
        hidden=["Old"],
    )
    imported = ok(await send(alice, content))
    detected = imported["detected"]
    assert warned(imported) == ["sheets_omitted", "cells_merged"]
    assert (detected["omitted_sheets"], detected["hidden_sheets"]) == (["Old"], ["Old"])
    named = ok(await send(alice, content, sheet="Old"))
    assert (warned(named), named["detected"]["sheet"], counts(named)) == (["sheet_hidden"], "Old", {"created": 1})
    unknown = await send(alice, content, sheet="Nobody")
    assert (unknown.status_code, unknown.json()["detail"][0]["type"]) == (422, "sheet_unknown")


async def test_a_cell_with_an_error_is_told(alice: Person) -> None:
    row = f'<row r="2">{cell(1, 0, "harbour.com")}<c r="B2" t="e"><v>#REF!</v></c></row>'
    imported = ok(await send(alice, xlsx(rows_of(["Domain", "Notes"]) + row)))
    assert (counts(imported), warned(imported)) == ({"created": 1}, ["cell_error"])
    assert "B2" in imported["detected"]["warnings"][0]["message"]


async def test_a_stored_number_is_money_of_its_scale(alice: Person) -> None:
    values = [12.34, 0.1 + 0.2, 1e3, 1234.567]
    cells: list[list[Value]] = [[f"a{at}.com", each, 45_000.0] for at, each in enumerate(values)]
    rows = rows_of(["Domain", "Purchase Price", "Purchased"], *cells, styles={2: DATE})
    imported = ok(await send(alice, xlsx(rows), currency="EUR"))
    exported = ok(await alice.get("/v1/portfolio/export"))["rows"]
    amounts = {each["domain"]: each["entries"][0]["amount"] for each in exported}
    assert amounts == {"a0.com": "12.34", "a1.com": "0.30", "a2.com": "1000.00", "a3.com": "1234.57"}
    rounded = [each["domain"] for each in imported["results"] if each["warnings"]]
    assert rounded == ["a3.com"]


@pytest.mark.usefixtures("tenth")
async def test_a_job_imports_a_large_workbook(alice: Person) -> None:
    cells: list[list[Value]] = [[f"harbour-{at}.com", at + 0.5] for at in range(201)]
    rows = rows_of(["Domain", "Price"], *cells)
    imported = ok(await send(alice, xlsx(rows), currency="EUR"))
    assert imported["state"] == "queued"
    await work_on(alice, WorkKind.IMPORT)
    done = ok(await alice.get(f"{IMPORTS}/{imported['import_id']}"))
    assert (done["state"], counts(done), done["results"][0]["line"]) == ("completed", {"created": 201}, 2)
    assert done["detected"]["file_type"] == "xlsx"
