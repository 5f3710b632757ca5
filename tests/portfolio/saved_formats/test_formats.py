"""The format of an own sheet is saved once, and named by imports."""

from typing import Any

import pytest

from builders.portfolio.saved_formats.records import MAX_FORMATS
from tests.cast import Person
from tests.portfolio.imports.make import IMPORT, Json, counts, load, ok
from tests.portfolio.parking.make import add_domains, day, outcomes, record
from tests.portfolio.team.make import code, join, of

FORMATS = "/v1/portfolio/formats"
MINE: dict[str, Any] = {
    "kind": "domains",
    "mapping": {"domain": "Adresse", "asking_price": "Wunschpreis", "expires_at": "Bis"},
    "date_order": "dmy",
    "decimal_mark": "comma",
}
SHEET = "Adresse;Bis;Wunschpreis\nharbour.com;05/06/2027;1.120\n"


async def save(owner: Person, name: str = "mine", **changed: Any) -> Json:
    return ok(await owner.put(f"{FORMATS}/{name}", json={**MINE, **changed}))


async def test_a_format_is_saved_and_listed(alice: Person, bob: Person) -> None:
    saved = await save(alice)
    assert {each: saved[each] for each in ("name", *MINE)} == {"name": "mine", **MINE}
    assert [each["name"] for each in ok(await alice.get(FORMATS))["items"]] == ["mine"]
    assert ok(await bob.get(FORMATS))["items"] == []


async def test_an_import_names_it(alice: Person) -> None:
    await save(alice)
    imported = await load(alice, SHEET, format="mine")
    assert (counts(imported), imported["results"][0]["warnings"]) == ({"created": 1}, [])
    shown = ok(await alice.get("/v1/portfolio/domains/harbour.com"))
    assert (shown["expires_at"], shown["asking_price"]["amount"]) == ("2027-06-05T00:00:00Z", "1120.00")


async def test_a_file_names_it_in_the_query_and_the_request_counts_first(alice: Person) -> None:
    await save(alice)
    imported = await load(
        alice, SHEET.encode(), format="mine", date_order="mdy", mapping='{"notes": "Wunschpreis"}'
    )
    assert imported["detected"]["mapping"]["notes"] == "Wunschpreis"
    shown = ok(await alice.get("/v1/portfolio/domains/harbour.com"))
    assert shown["expires_at"] == "2027-05-06T00:00:00Z"


async def test_parking_has_formats_of_its_own(alice: Person) -> None:
    await add_domains(alice, "harbour.com")
    await save(alice, "traffic", kind="parking", mapping={"domain": "Adresse", "revenue": "Anteil"})
    body = {"csv": "Adresse;Anteil\nharbour.com;1,50\n", "format": "traffic", "date": day(1)}
    assert outcomes(await record(alice, body)) == ["created"]
    answer = await alice.post(IMPORT, json={"csv": SHEET, "format": "traffic"})
    assert code(answer) == (422, "format_unknown")


async def test_a_stranger_does_not_use_it(alice: Person, bob: Person) -> None:
    await save(alice)
    assert code(await bob.post(IMPORT, json={"csv": SHEET, "format": "mine"})) == (422, "format_unknown")
    assert code(await bob.delete(f"{FORMATS}/mine")) == (404, "saved_format_not_found")


async def test_a_viewer_reads_formats_and_saves_none(alice: Person, charlie: Person) -> None:
    await join(alice, charlie, "viewer")
    refused = await charlie.put(f"{FORMATS}/mine", json=MINE, headers=of(alice))
    assert code(refused) == (403, "forbidden_role")
    assert ok(await charlie.get(FORMATS, headers=of(alice)))["items"] == []


async def test_a_deleted_format_is_gone(alice: Person) -> None:
    await save(alice)
    assert (await alice.delete(f"{FORMATS}/mine")).status_code == 204
    assert code(await alice.delete(f"{FORMATS}/mine")) == (404, "saved_format_not_found")


@pytest.mark.parametrize(
    ("name", "changed", "expected"),
    [
        ("godaddy", {}, "format_reserved"),
        ("auto", {}, "format_reserved"),
        ("mine", {"mapping": {"domian": "Adresse"}}, "column_unknown"),
    ],
)
async def test_a_format_that_cannot_be_used_is_refused(
    alice: Person, name: str, changed: dict[str, Any], expected: str
) -> None:
    assert code(await alice.put(f"{FORMATS}/{name}", json={**MINE, **changed})) == (422, expected)


@pytest.mark.maximum("saved_formats")
async def test_a_portfolio_has_some_formats_at_most(alice: Person) -> None:
    for at in range(MAX_FORMATS):
        await save(alice, f"sheet-{at}")
    assert code(await alice.put(f"{FORMATS}/another", json=MINE)) == (409, "saved_format_limit")
    await save(alice, "sheet-0", mapping={})
