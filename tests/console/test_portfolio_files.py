"""Bills, lists of registrars and parking revenue from a file: the preview, the choice of columns, the reading."""

from collections.abc import Awaitable, Callable
from typing import Any

import httpx
import pytest

from tests.browser import OWN
from tests.cast import Person
from tests.console.visitor import Visitor, action_of, fields_of, heading
from tests.plans.approval.make import join_team

Visit = Callable[[Person], Awaitable[Visitor]]
BILL, LIST, PARKING = "portfolio/registrars/bill", "portfolio/registrars/list", "portfolio/parking/file"
BOOKED = "date,order id,domain,amount,currency\n2026-10-05,A-1,harbour.com,12.00,USD\n"
UNKNOWN = "When;Number;Thing;Sum\n2026-10-05;A-1;harbour.com;12.00\n"
CHOSEN = {"field.0": "date", "field.1": "order", "field.2": "domain", "field.3": "amount"}


@pytest.fixture(autouse=True)
async def harbour(alice: Person) -> None:
    await add(alice, "harbour.com")


async def add(owner: Person, domain: str) -> None:
    async with owner.browser() as api:
        assert (await api.post("/v1/portfolio/domains", json={"domain": domain})).status_code == 201


async def read(owner: Person, path: str) -> Any:
    async with owner.browser() as api:
        return (await api.get(f"/v1/portfolio/{path}")).json()


async def choose(browser: Visitor, page: str, form: str, text: str, **typed: str) -> httpx.Response:
    """Send the form of a page with a file, as a browser does."""
    shown = await browser.open(page if page.startswith("/") else f"/console/{page}")
    fields = {**fields_of(shown, form), **typed}
    fields.pop("source")
    files = {"source": ("mine.csv", text.encode(), "text/csv")}
    return await browser.post(action_of(shown, form), data=fields, files=files, headers={"Origin": OWN})


async def test_a_preview_of_a_bill_says_what_would_be_booked(browser: Visitor, alice: Person) -> None:
    found = await choose(browser, BILL, "bill-preview", BOOKED, provider="manual:old")

    assert "Nothing was written yet. 1 row: 1 new" in found.text
    assert "1 charge would be booked" in found.text
    assert (await read(alice, "registrars/billing/charges"))["items"] == []


async def test_a_charge_without_a_known_domain_waits_for_a_decision(browser: Visitor) -> None:
    found = await choose(browser, BILL, "bill-preview", BOOKED.replace("harbour", "pier"), provider="manual:old")

    assert "1 would wait for a decision" in found.text
    assert "Charges without a certain domain" in found.text


async def test_a_bill_is_read_and_booked(browser: Visitor, alice: Person) -> None:
    found = await choose(browser, BILL, "bill-preview", BOOKED, provider="manual:old")
    done = await browser.submit(found, "bill-read")
    [charge] = (await read(alice, "registrars/billing/charges"))["items"]

    assert "1 charge is recorded. 1 charge booked." in done.text
    assert (heading(done), charge["state"], charge["provider"]) == ("Charges", "applied", "manual:old")


async def test_a_bill_with_unknown_columns_is_read_with_those_that_a_person_chooses(
    browser: Visitor, alice: Person
) -> None:
    found = await choose(browser, BILL, "bill-preview", UNKNOWN, provider="manual:old")
    assert (found.status_code, "Choose the columns below" in found.text) == (422, True)
    assert "mapping" not in found.text.replace("Save this mapping", "")
    fields = {**fields_of(found, "bill-read"), **CHOSEN}
    again = await browser.post_form(action_of(found, "bill-preview"), fields)
    assert "1 charge would be booked" in again.text
    await browser.submit(again, "bill-read", save_as="old-bills")

    assert (await read(alice, "registrars/billing/charges"))["items"][0]["state"] == "applied"
    assert "old-bills" in (await browser.open(f"/console/{BILL}")).text


async def test_an_accountant_reads_a_bill_into_the_portfolio_of_the_team(
    visit: Visit, alice: Person, charlie: Person
) -> None:
    await join_team(alice, charlie, "accountant")
    page, browser = f"/console/of/{alice.account.id}/{BILL}", await visit(charlie)
    await browser.submit(await choose(browser, page, "bill-preview", BOOKED, provider="manual:old"), "bill-read")

    assert len((await read(alice, "registrars/billing/charges"))["items"]) == 1


@pytest.mark.parametrize(("page", "form"), [(BILL, "bill"), (LIST, "holdings"), (PARKING, "revenue")])
async def test_a_viewer_sees_no_form(visit: Visit, alice: Person, charlie: Person, page: str, form: str) -> None:
    await join_team(alice, charlie, "viewer")
    shown = await (await visit(charlie)).open(f"/console/of/{alice.account.id}/{page}")

    assert f"/do/{form}" not in shown.text


@pytest.mark.parametrize("page", [BILL, LIST, PARKING])
async def test_a_stranger_opens_no_page_of_a_file(visit: Visit, alice: Person, bob: Person, page: str) -> None:
    await (await visit(bob)).open(f"/console/of/{alice.account.id}/{page}", status=404)


async def test_a_refused_row_is_named_with_its_reason(browser: Visitor) -> None:
    text = f"{BOOKED}soon,A-2,harbour.com,1.00,USD\n"
    found = await choose(browser, BILL, "bill-preview", text, provider="manual:old")
    done = await browser.submit(found, "bill-read")

    assert "1 refused" in found.text
    assert heading(done) == "1 charge is recorded; 1 row is refused"
    assert "Correct line 3." in done.text


async def test_the_list_of_a_registrar_is_previewed_and_read(browser: Visitor, alice: Person) -> None:
    text = "domain,expiry date\nharbour.com,2030-01-05\nquay.org,2030-02-05\n"
    options = {"provider": "manual:old", "add_to_portfolio": "true"}
    found = await choose(browser, LIST, "holdings-preview", text, **options)
    assert "1 domain of the portfolio would change, 1 would be added" in found.text
    assert (await read(alice, "registrars/inventory"))["items"] == []
    done = await browser.submit(found, "holdings-read")

    assert heading(done) == "Inventory"
    assert len((await read(alice, "domains"))["items"]) == 2


async def test_a_file_of_parking_revenue_is_previewed_and_recorded(browser: Visitor, alice: Person) -> None:
    text = "Domain;Earnings\nharbour.com;1,23\n"
    days = {"provider": "sedo", "from": "2026-10-05", "to": "2026-10-05", "currency": "EUR"}
    found = await choose(browser, PARKING, "revenue-preview", text, **days)
    assert "1 row: 1 new" in found.text
    done = await browser.submit(found, "revenue-read", decimal_mark="comma")
    report = await read(alice, "parking?days=365&group_by=provider")

    assert heading(done) == "Parking"
    assert [each["provider"] for each in report["items"]] == ["sedo"]


async def test_a_page_with_a_file_says_how_large_it_can_be(browser: Visitor) -> None:
    for page in (BILL, LIST, PARKING, "portfolio/import"):
        shown = await browser.open(f"/console/{page}")
        assert "up to 10 MB, and 1.5 MB when it is compressed" in shown.text, page


async def test_templates_of_files_are_on_the_page_that_reads_them(browser: Visitor) -> None:
    bills, parking = [(await browser.open(f"/console/{each}")).text for each in (BILL, PARKING)]

    assert "Files to fill in" in bills
    assert "Files to fill in" in parking
    assert "/v1/" not in bills.partition("This page by API")[0].partition("<main")[2].replace("/v1/auth", "")
