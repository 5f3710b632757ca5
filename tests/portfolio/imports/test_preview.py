"""POST /v1/portfolio/import/preview: what an import would read, without any change."""

from typing import Any

from tests.cast import Client, Person
from tests.portfolio.imports.make import IMPORTS, load, ok

PREVIEW = "/v1/portfolio/import/preview"
MESSY = "Domain,Renewal Price,Colour,Auth Code\nharbour.com,12.34,blue,x-secret\nwww.pier.net,many,red,y-secret\n"


async def preview(owner: Client, csv: str | bytes, **more: Any) -> Any:
    if isinstance(csv, bytes):
        return ok(await owner.post(PREVIEW, content=csv, params=more, headers={"Content-Type": "text/csv"}))
    return ok(await owner.post(PREVIEW, json={"csv": csv, **more}))


async def test_columns_have_the_fields_that_were_recognized(alice: Person) -> None:
    found = await preview(alice, MESSY)

    assert {each["name"]: each["field"] for each in found["columns"]} == {
        "Domain": "domain",
        "Renewal Price": "renewal_price",
        "Colour": None,
        "Auth Code": None,
    }
    assert (found["rows_total"], found["detected"]["delimiter"]) == (2, ",")


async def test_a_problem_names_the_column_of_its_cell(alice: Person) -> None:
    [row] = (await preview(alice, MESSY))["problem_rows"]
    labels = {each["label"] for each in (await preview(alice, MESSY))["columns"]}

    assert row["line"] == 3
    assert {each["field"] for each in (*row["errors"], *row["warnings"])} == {"Domain", "Renewal Price"} <= labels


async def test_cells_that_are_never_stored_are_not_shown(alice: Person) -> None:
    found = await preview(alice, MESSY)

    assert [each["header"] for each in found["columns"] if each["dropped"]] == ["Auth Code"]
    assert found["rows"][0]["cells"] == ["harbour.com", "12.34", "blue", None]
    assert "secret" not in str(found)


async def test_a_missing_column_is_a_problem_that_a_mapping_solves(alice: Person) -> None:
    csv = "Mine,Registrar,Expiry Date,Password\nharbour.com,Porkbun,2030-01-01,x-secret\n"
    found = await preview(alice, csv)
    mapped = await preview(alice, csv, mapping={"domain": "Mine"})

    assert (found["detected"]["mapping"], found["problem"]["code"]) == ({}, "column_missing")
    assert found["rows"][0]["cells"] == ["harbour.com", "Porkbun", "2030-01-01", None]
    assert (mapped["problem"], mapped["columns"][0]["field"]) == (None, "domain")


async def test_a_file_of_another_encoding_is_read(alice: Person) -> None:
    found = await preview(alice, "domain;notes\nharbour.com;M\u00f6we\n".encode("latin-1"), format="generic")

    assert found["rows"][0]["cells"] == ["harbour.com", "M\u00f6we"]


async def test_a_preview_is_bounded(alice: Person) -> None:
    found = await preview(alice, "domain\n" + "".join(f"www.n{at}.com\n" for at in range(2_500)))

    assert (found["rows_total"], found["rows_examined"]) == (2_500, 1_000)
    assert (len(found["rows"]), len(found["problem_rows"])) == (20, 100)


async def test_a_long_header_is_shown_in_part_and_has_no_name(alice: Person) -> None:
    """A workbook of a few kilobytes can have headers of many megabytes."""
    columns = (await preview(alice, f"domain,{'x' * 500},{'y' * 501}\nharbour.com,1,2\n"))["columns"]

    assert [(each["header"], each["name"]) for each in columns[1:]] == [("x" * 500, "x" * 500), ("y" * 500, None)]


async def test_a_preview_changes_nothing(alice: Person) -> None:
    await preview(alice, MESSY)

    assert ok(await alice.get(IMPORTS))["items"] == []
    assert (await load(alice, MESSY))["summary"]["created"] == 1


async def test_a_column_of_the_same_header_is_named_by_its_number(alice: Person) -> None:
    csv = "domain,note,note\nharbour.com,one,two\n"
    found = await preview(alice, csv)
    mapped = await preview(alice, csv, mapping={"notes": found["columns"][2]["name"]})

    assert [each["field"] for each in mapped["columns"]][2] == "notes"
