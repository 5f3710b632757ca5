"""The base currency and exchange rates of one's own; what was booked in a period."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from builders.kit.db.connections import Database
from tests.cast import Person
from tests.console.visitor import Visitor
from tests.plans.approval.make import join_team
from tests.portfolio.ledger.make import add_rates

Visit = Callable[[Person], Awaitable[Visitor]]
PAGE, RATES = "/console/portfolio/currencies", "/v1/portfolio/exchange-rates"
BTC = {"currency": "btc", "rate": "50000", "quote_currency": "eur", "since": "2026-01-01"}


async def rates(owner: Person) -> list[Any]:
    async with owner.browser() as api:
        return list((await api.get(RATES)).json()["rates"])


async def test_a_rate_is_added_replaced_and_removed_and_others_stay(browser: Visitor, alice: Person) -> None:
    await browser.submit(await browser.open(PAGE), "rate-add", **BTC)
    await browser.submit(await browser.open(PAGE), "rate-add", **{**BTC, "currency": "XAU", "rate": "2000"})
    await browser.submit(await browser.open(PAGE), "rate-add", **{**BTC, "rate": "60000"})
    assert {each["currency"]: each["rate"] for each in await rates(alice)} == {"BTC": "60000", "XAU": "2000"}
    await browser.submit(await browser.open(PAGE), "rate-remove")  # the first of the list

    assert [each["currency"] for each in await rates(alice)] == ["XAU"]


@pytest.mark.parametrize(("field", "text"), [("rate", "much"), ("currency", "not a code"), ("since", "soon")])
async def test_a_rate_that_is_none_is_refused(browser: Visitor, alice: Person, field: str, text: str) -> None:
    refused = await browser.submit(await browser.open(PAGE), "rate-add", **{**BTC, field: text})

    assert (refused.status_code, text in refused.text, await rates(alice)) == (422, True, [])


async def test_the_base_currency_is_changed(browser: Visitor, alice: Person, database: Database) -> None:
    await add_rates(database)
    async with alice.browser() as api:
        await api.post("/v1/portfolio/domains", json={"domain": "harbour.com"})
    done = await browser.submit(await browser.open(PAGE), "base-currency-change", base_currency="EUR")

    assert "Sums are in EUR" in done.text


async def test_without_a_domain_the_base_currency_has_no_form(browser: Visitor) -> None:
    assert "when the portfolio has a domain" in (await browser.open(PAGE)).text


async def test_an_accountant_adds_a_rate_and_a_viewer_does_not(
    visit: Visit, alice: Person, charlie: Person
) -> None:
    await join_team(alice, charlie, "accountant")
    browser, path = await visit(charlie), f"/console/of/{alice.account.id}/portfolio/currencies"
    await browser.submit(await browser.open(path), "rate-add", **BTC)
    assert len(await rates(alice)) == 1
    async with alice.browser() as api:
        member = f"/v1/portfolio/team/members/{charlie.account.id}"
        assert (await api.patch(member, json={"role": "viewer"})).is_success

    assert "/do/rate-" not in (await browser.open(path)).text


async def test_a_stranger_sees_no_rate(visit: Visit, browser: Visitor, bob: Person) -> None:
    await browser.submit(await browser.open(PAGE), "rate-add", **BTC)

    assert "50000" not in (await (await visit(bob)).open(PAGE)).text


async def test_bookings_of_a_period_are_listed(browser: Visitor, alice: Person) -> None:
    async with alice.browser() as api:
        domain = (await api.post("/v1/portfolio/domains", json={"domain": "harbour.com"})).json()
        entries = [
            {"kind": "privacy", "amount": {"amount": amount, "currency": "USD"}, "occurred_on": day}
            for amount, day in (("1.11", "2026-01-05"), ("2.22", "2026-02-05"))
        ]
        path = f"/v1/portfolio/domains/{domain['id']}/finance"
        assert (await api.patch(path, json={"entries_add": entries})).is_success
    page = await browser.open("/console/portfolio/entries?from=2026-02-01")

    assert ("2.22" in page.text, "1.11" in page.text) == (True, False)
    assert "1 booking, void" in page.text
