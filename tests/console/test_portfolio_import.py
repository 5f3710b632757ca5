"""Import in the console: a file is chosen, previewed with a mapping, imported, and undone."""

import random
import re
from collections.abc import Awaitable, Callable

import httpx
import pytest

from builders.console.forms import MAX_FILE
from builders.kit.sheets.csv_files import MAX_COLUMNS
from tests.browser import OWN
from tests.cast import Person
from tests.console.import_forms import packed
from tests.console.visitor import Visitor, action_of, fields_of
from tests.kit.sheets.workbook_files import rows_of, xlsx
from tests.plans.approval.make import join_team

Visit = Callable[[Person], Awaitable[Visitor]]
PAGE = "/console/portfolio/import"
MESSY = (
    "Mine;Registrar;Expiry Date;Renewal Price;Password\n"
    "harbour.com;Porkbun;2030-01-05;12.34;x-secret\n"
    "www.pier.net;Porkbun;2030-02-05;12.34;x-secret\n"
    "quay.org;Porkbun;soon;12.34;x-secret\n"
)


async def choose(browser: Visitor, text: str | bytes, path: str = PAGE, **typed: str) -> httpx.Response:
    """Send the form with a file, as a browser does."""
    page = await browser.open(path)
    fields = {**fields_of(page, "import-preview"), **typed}
    fields.pop("source")
    content = text if isinstance(text, bytes) else text.encode()
    files = {"source": ("mine.csv", content, "text/csv")}
    return await browser.post(action_of(page, "import-preview"), data=fields, files=files, headers={"Origin": OWN})


async def domains(owner: Person) -> list[str]:
    async with owner.browser() as api:
        return sorted(each["domain"] for each in (await api.get("/v1/portfolio/domains")).json()["items"])


async def test_a_file_without_a_known_column_of_domains_asks_for_it(browser: Visitor) -> None:
    found = await choose(browser, MESSY)
    done = await browser.submit(found, "import-start", **{"field.0": "domain"})

    assert "Choose the column with the domain" in found.text
    assert "x-secret" not in found.text
    assert done.status_code == 200, done.text


async def test_the_preview_marks_each_bad_cell_with_its_reason(browser: Visitor, alice: Person) -> None:
    found = await choose(browser, MESSY.replace("Mine", "Domain"))
    marked = re.findall(r'<td data-label="([^"]+)" class="wrong">', found.text)

    assert marked == ["Domain", "Expiry Date"]
    assert "is a host of a domain" in found.text
    assert await domains(alice) == []


async def test_a_file_is_imported_with_a_mapping_that_is_saved(browser: Visitor, alice: Person) -> None:
    found = await choose(browser, MESSY)
    done = await browser.submit(found, "import-start", **{"field.0": "domain", "save_as": "my-sheet"})

    assert re.search(r"/portfolio/imports/[0-9a-f-]+\?done=good\.", str(done.url)), done.text
    assert await domains(alice) == ["harbour.com", "quay.org"]
    next_month = await choose(browser, MESSY, format="my-sheet")
    assert "Choose the column with the domain" not in next_month.text


async def test_a_preview_is_repeated_with_another_mapping(browser: Visitor) -> None:
    found = await choose(browser, MESSY)
    fields = {**fields_of(found, "import-start"), "field.0": "domain"}
    again = await browser.post_form(action_of(found, "import-start").replace("start", "preview"), fields)

    assert "Choose the column with the domain" not in again.text
    assert fields_of(again, "import-start")["field.0"] == "domain"


async def test_two_columns_of_one_field_are_refused(browser: Visitor) -> None:
    found = await choose(browser, MESSY)
    done = await browser.submit(found, "import-start", **{"field.0": "domain", "field.1": "domain"})

    assert (done.status_code, "Choose one column for domain" in done.text) == (422, True)
    again = await browser.submit(done, "import-preview")  # the file is not lost
    assert "Field of Mine" in again.text


async def test_a_field_that_was_recognized_in_two_columns_needs_no_choice(browser: Visitor, alice: Person) -> None:
    found = await choose(browser, "Domain;Registrar;Registrar\nharbour.com;;Porkbun\n")
    await browser.submit(found, "import-start")
    async with alice.browser() as api:
        [row] = (await api.get("/v1/portfolio/domains")).json()["items"]

    assert (row["domain"], row["registrar"]) == ("harbour.com", "Porkbun")


async def test_an_undo_says_first_what_it_does(browser: Visitor, alice: Person) -> None:
    done = await browser.submit(await choose(browser, "domain\nharbour.com\n"), "import-start")
    checked = await browser.submit(done, "import-undo-check")
    assert "Nothing was changed yet" in checked.text
    assert await domains(alice) == ["harbour.com"]
    undone = await browser.submit(checked, "import-undo")

    assert 'class="state off">undone' in undone.text
    assert await domains(alice) == []


@pytest.mark.parametrize("source", ["", "no-file", "eJw"])
async def test_what_is_no_file_is_refused(browser: Visitor, source: str) -> None:
    page = await browser.open(PAGE)
    done = await browser.submit(page, "import-preview", source=source)

    assert done.status_code == 422


async def test_a_file_of_another_encoding_stays_as_it_is(browser: Visitor, alice: Person) -> None:
    found = await choose(browser, "domain;notes\nharbour.com;M\u00f6we\r\nn\u00b0\n".encode("latin-1"))
    await browser.submit(found, "import-start")
    async with alice.browser() as api:
        [row] = (await api.get("/v1/portfolio/domains")).json()["items"]

    assert row["notes"] == "M\u00f6we"


@pytest.mark.parametrize("role", ["accountant", "viewer"])
async def test_who_may_not_import_sees_no_form(visit: Visit, alice: Person, charlie: Person, role: str) -> None:
    await join_team(alice, charlie, role)
    page = await (await visit(charlie)).open(f"/console/of/{alice.account.id}/portfolio/import")

    assert "/do/import" not in page.text


async def test_a_manager_imports_into_the_portfolio_of_the_team(
    visit: Visit, alice: Person, charlie: Person
) -> None:
    await join_team(alice, charlie, "manager")
    space = f"/console/of/{alice.account.id}/portfolio/import"
    browser = await visit(charlie)
    await browser.submit(await choose(browser, "domain\nharbour.com\n", space), "import-start")

    assert await domains(alice) == ["harbour.com"]


async def test_a_packed_file_that_is_too_large_is_not_unpacked(browser: Visitor) -> None:
    bomb = packed(bytes(MAX_FILE + 1))
    done = await browser.submit(await browser.open(PAGE), "import-preview", source=bomb)

    assert len(bomb) < 100_000
    assert (done.status_code, "The file has more than" in done.text) == (422, True)


async def test_a_packed_file_of_the_largest_size_is_unpacked_whole(browser: Visitor) -> None:
    whole = packed(b"domain\n" + bytes(MAX_FILE - len(b"domain\n")))
    refused = {
        each: await browser.submit(await browser.open(PAGE), "import-preview", source=each)
        for each in (whole, whole[: len(whole) // 8 * 4], "!", "AAAA")
    }

    assert ["Choose the file again." in each.text for each in refused.values()] == [False, True, True, True]
    assert "The file has more than" not in refused[whole].text


async def test_a_table_with_as_many_columns_as_it_can_have_is_mapped(browser: Visitor, alice: Person) -> None:
    header = ",".join(["domain", *(f"column {at}" for at in range(MAX_COLUMNS - 1))])
    found = await choose(browser, f"{header}\nharbour.com\n")
    await browser.submit(found, "import-start")

    assert await domains(alice) == ["harbour.com"]


@pytest.mark.parametrize("name", ["../views", "a/b", "Upper", "a?b"])
async def test_a_mapping_is_saved_only_under_a_name(browser: Visitor, alice: Person, name: str) -> None:
    found = await choose(browser, "domain\nharbour.com\n")
    done = await browser.submit(found, "import-start", save_as=name)

    assert (done.status_code, await domains(alice)) == (422, [])


async def test_a_dry_run_of_a_large_undo_is_continued(browser: Visitor) -> None:
    text = "domain\n" + "".join(f"n{at}.com\n" for at in range(3))
    done = await browser.submit(await choose(browser, text), "import-start")
    checked = await browser.submit(done, "import-undo-check", before_row="2")

    assert "Nothing was changed yet" in checked.text


async def test_a_saved_mapping_recognizes_fields_that_it_does_not_name(browser: Visitor, alice: Person) -> None:
    found = await choose(browser, "Domain;Domain Name\nharbour.com;\n;pier.net\n")
    await browser.submit(found, "import-start", save_as="my-sheet")
    again = await choose(browser, "Domain;Domain Name\n;quay.com\n", format="my-sheet")
    await browser.submit(again, "import-start")

    assert await domains(alice) == ["harbour.com", "pier.net", "quay.com"]


async def test_a_workbook_is_previewed_with_its_sheet_and_imported(browser: Visitor, alice: Person) -> None:
    book = xlsx({"Mine": rows_of(["Domain"], ["harbour.com"]), "Other": rows_of(["Domain"], ["quay.org"])})
    found = await choose(browser, book)
    assert "Only the sheet “Mine” was read" in found.text
    await browser.submit(found, "import-start", sheet="Other")

    assert await domains(alice) == ["quay.org"]


async def test_another_sheet_can_be_chosen_when_the_first_has_no_domains(browser: Visitor, alice: Person) -> None:
    book = xlsx(
        {"Read me": rows_of(["About", "Us"], ["Hello.", "You."]), "Mine": rows_of(["Domain"], ["quay.org"])}
    )
    found = await choose(browser, book)
    assert all(each in found.text for each in ("Choose the column with the domain", "Only the sheet “Read me”"))
    fields = {**fields_of(found, "import-start"), "sheet": "Mine"}
    again = await browser.post_form(action_of(found, "import-start").replace("start", "preview"), fields)
    assert "Choose the column with the domain" not in again.text
    await browser.submit(again, "import-start")

    assert await domains(alice) == ["quay.org"]


async def test_what_is_no_table_is_refused_by_its_kind(browser: Visitor) -> None:
    found = await choose(browser, b"%PDF-1.7\n")

    assert (found.status_code, "The file is a PDF document" in found.text) == (422, True)


@pytest.mark.parametrize(("size", "status"), [(1_300_000, 200), (1_600_000, 422)])
async def test_a_workbook_that_the_next_page_could_not_send_is_refused(
    browser: Visitor, size: int, status: int
) -> None:
    image = random.Random(7).randbytes(size)  # noqa: S311 - bytes that no program compresses
    found = await choose(browser, xlsx(rows_of(["Domain"], ["harbour.com"]), extra={"xl/media/a.png": image}))
    assert (found.status_code, "bld portfolio import" in found.text) == (status, status == 422)
    if status == 200:
        done = await browser.submit(found, "import-start")
        assert "/portfolio/imports/" in str(done.url)
