"""What people type as an amount in the forms of the console."""

import pytest

from tests.cast import Person
from tests.console.portfolio_scene import fill
from tests.console.visitor import Visitor, fields_of

# In the field of an entry, and what the ledger has; the base currency is USD.
TYPED = {
    "$12.50": "12.50 USD",
    "1,234.56 USD": "1234.56 USD",
    "12,50 EUR": "12.50 EUR",
    "€ 7": "7.00 EUR",
    "3,00": "3.00 USD",
    "1'234.50 CHF": "1234.50 CHF",
    "12.- chf": "12.00 CHF",
    "1200": "1200.00 USD",
    "1.250,00 zł": "1250.00 PLN",
    "500 JPY": "500 JPY",
}


async def test_amounts_are_read_as_people_type_them(browser: Visitor, alice: Person) -> None:
    domain_id = await fill(alice)
    page = await browser.open(f"/console/portfolio/domains/{domain_id}")
    for at, typed in enumerate(TYPED):
        sent = {"kind": "privacy", "amount": typed, "occurred_on": "2026-01-05", "memo": f"typed {at}"}
        page = await browser.submit(page, "entry-add", **sent)
    async with alice.browser() as api:
        entries = (await api.get(f"/v1/portfolio/domains/{domain_id}/finance")).json()["entries"]
    money = {each["memo"]: f"{each['amount']['amount']} {each['amount']['currency']}" for each in entries}
    assert [money[f"typed {at}"] for at in range(len(TYPED))] == [*TYPED.values()]


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ("1.234", "can mean 1,234 or 1.234"),
        ("12 kr", "Write the code"),
        ("$12 EUR", "names two currencies"),
        ("twelve", "is not an amount"),
        ("12.345 USD ", "can mean 12,345"),
        ("0.0375 USD", "USD has 2 decimals"),
        ("-5 USD", "without a sign"),
    ],
)
async def test_an_amount_that_can_mean_two_things_is_asked_for_again(
    browser: Visitor, alice: Person, typed: str, told: str
) -> None:
    domain_id = await fill(alice)
    page = await browser.open(f"/console/portfolio/domains/{domain_id}")
    refused = await browser.submit(page, "entry-add", amount=typed)
    assert (refused.status_code, told in refused.text) == (422, True)
    assert fields_of(refused, "entry-add")["amount"].strip() == typed.strip()


async def test_the_api_reads_decimals_alone(alice: Person) -> None:
    domain_id = await fill(alice)
    for typed in ("$12.50", "12,50", "1,234.56"):
        async with alice.browser() as api:
            body = {"entries_add": [{"kind": "privacy", "amount": {"amount": typed, "currency": "USD"}}]}
            answer = await api.patch(f"/v1/portfolio/domains/{domain_id}/finance", json=body)
        assert answer.status_code == 422


async def test_prices_of_many_domains_are_read_alike(browser: Visitor, alice: Person) -> None:
    await fill(alice)
    page = await browser.open("/console/portfolio/domains")
    shown = await browser.submit(page, "domains-preview", all="true", **{"set.asking_price": "1.250,00 €"})
    assert "1250.00 EUR" in shown.text


async def test_a_budget_is_read_alike(browser: Visitor, alice: Person) -> None:
    await fill(alice)
    page = await browser.open("/console/portfolio/renewals?budget=1%2C500%2C50")
    assert "not an amount" in page.text
    page = await browser.open("/console/portfolio/renewals?budget=%241%2C500.50")
    assert "Of a budget of" in page.text
    assert "1500.50" in page.text
