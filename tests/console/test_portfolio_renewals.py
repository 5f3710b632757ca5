"""The renewals of a portfolio, as a page: sums by month, decisions, and what if."""

import re
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from builders.console import views
from tests.cast import Person
from tests.console.money import LIKE_AMOUNT, Figure, amounts_in, amounts_of, figures_of
from tests.console.portfolio_scene import add, fill, in_days
from tests.console.visitor import Visitor, fields_of
from tests.plans.approval.make import join_team
from tests.portfolio.finance.make import usd

Visit = Callable[[Person], Awaitable[Visitor]]
PAGE = "/console/portfolio/renewals"


async def read(owner: Person, **query: Any) -> dict[str, Any]:
    async with owner.browser() as api:
        answer = await api.get("/v1/portfolio/renewals", params={"within_days": 90, **query})
        found: dict[str, Any] = answer.json()
    return found


async def decisions(owner: Person) -> dict[str, str]:
    return {each["domain"]: each["decision"] for each in (await read(owner))["items"]}


async def test_each_figure_is_that_of_the_api(browser: Visitor, alice: Person) -> None:
    await fill(alice)
    page = await browser.open(PAGE)
    report = await read(alice)

    assert report["totals"]["base"] == usd("35.79")
    prices = [each["renewal_price"] for each in report["items"]]
    totals = [report["totals"][name] for name in ("base", "by_currency", "by_decision")]
    totals += [each["base"] for each in report["totals"]["by_month"]]
    assert not amounts_in([prices, totals]) - amounts_of(page)
    assert amounts_of(page).keys() <= amounts_in(report).keys()


async def test_a_price_without_an_exchange_rate_is_named(browser: Visitor, alice: Person) -> None:
    async with alice.browser() as api:
        unknown = {"amount": "5.00", "currency": "XAU"}
        await add(api, "harbour.com", renewal_price=unknown, expires_at=in_days(20))
    page = await browser.open(PAGE)

    assert "1 price without an exchange rate: the sums in USD exclude it." in page.text


async def test_a_month_has_the_sum_of_each_currency(browser: Visitor, alice: Person) -> None:
    await fill(alice)
    async with alice.browser() as api:
        price = {"amount": "8.00", "currency": "EUR"}
        await add(api, "ferry.com", renewal_price=price, expires_at=in_days(20))
    figures = set(figures_of(await browser.open(PAGE)))
    report = await read(alice)

    for month in report["totals"]["by_month"]:
        for each in month["by_currency"]:
            shown = f"{each['amount']} {each['currency']}"
            assert Figure("Renewals", views.month(month["month"]), f"In {each['currency']}", shown) in figures
    assert {each.label for each in figures} >= {"In EUR", "In USD"}


async def test_months_have_their_sums(browser: Visitor, alice: Person) -> None:
    await fill(alice)
    page = await browser.open(PAGE)
    months = re.findall(r'<tr class="month"><th[^>]*>(\w+ \d{4}): (\d+) domain', page.text)

    assert [(month, int(number)) for month, number in months] == [
        (views.month(each["month"]), each["renewals"]) for each in (await read(alice))["totals"]["by_month"]
    ]


async def test_decisions_are_chosen_by_radio_buttons_and_saved_at_once(browser: Visitor, alice: Person) -> None:
    await fill(alice)
    ids = {each["domain"]: each["domain_id"] for each in (await read(alice))["items"]}
    page = await browser.open(f"{PAGE}?tag=&within_days=60")
    chosen = {f"decision.{ids['harbour.com']}": "renew", f"decision.{ids['pier.net']}": "drop"}
    after = await browser.submit(page, "renewals-decide", **chosen)

    assert after.url.params["within_days"] == "60"
    assert await decisions(alice) == {"harbour.com": "renew", "pier.net": "drop"}


async def test_only_what_was_changed_is_sent(browser: Visitor, alice: Person) -> None:
    await fill(alice)
    ids = {each["domain"]: each["domain_id"] for each in (await read(alice))["items"]}
    page = await browser.open(PAGE)
    async with alice.browser() as api:
        body = {"items": [{"domain_id": "pier.net", "decision": "drop"}]}
        assert (await api.patch("/v1/portfolio/renewals/bulk", json=body)).status_code == 200
    await browser.submit(page, "renewals-decide", **{f"decision.{ids['harbour.com']}": "renew"})

    assert await decisions(alice) == {"harbour.com": "renew", "pier.net": "drop"}


async def test_a_decision_of_somebody_else_meanwhile_is_shown_and_kept(browser: Visitor, alice: Person) -> None:
    await fill(alice)
    ids = {each["domain"]: each["domain_id"] for each in (await read(alice))["items"]}
    page = await browser.open(PAGE)
    async with alice.browser() as api:
        body = {"items": [{"domain_id": "pier.net", "decision": "drop"}]}
        assert (await api.patch("/v1/portfolio/renewals/bulk", json=body)).status_code == 200
    chosen = {f"decision.{each}": "renew" for each in ids.values()}
    stale = await browser.submit(page, "renewals-decide", **chosen)

    assert (stale.status_code, "pier.net: Somebody has decided" in stale.text) == (422, True)
    assert await decisions(alice) == {"harbour.com": "undecided", "pier.net": "drop"}
    assert chosen.items() <= fields_of(stale, "renewals-decide").items()
    await browser.submit(stale, "renewals-decide")
    assert await decisions(alice) == {"harbour.com": "renew", "pier.net": "renew"}


async def test_the_inbox_decides_about_one_domain_that_is_undecided(browser: Visitor, alice: Person) -> None:
    await fill(alice)
    page = await browser.open("/console")
    done = await browser.submit(page, "renewals-decide")
    assert (done.url.path, (await decisions(alice))["harbour.com"]) == ("/console", "renew")
    other = fields_of(page, "renewals-decide")
    [name] = [each for each in other if each.startswith("decision.")]
    refused = await browser.submit(page, "renewals-decide", **{name: "drop"})

    assert (refused.status_code, "harbour.com: Somebody has decided" in refused.text) == (422, True)
    assert (await decisions(alice))["harbour.com"] == "renew"


async def test_nothing_chosen_is_explained(browser: Visitor, alice: Person) -> None:
    await fill(alice)
    after = await browser.submit(await browser.open(PAGE), "renewals-decide")

    assert (after.status_code, "No decision differs" in after.text) == (422, True)


async def test_a_budget_is_compared_before_anything_is_written(browser: Visitor, alice: Person) -> None:
    await fill(alice)

    assert ("-15.79", "USD") in amounts_of(await browser.open(f"{PAGE}?budget=20"))
    assert ("64.21", "USD") in amounts_of(await browser.open(f"{PAGE}?budget=100.00"))
    assert "is not an amount" in (await browser.open(f"{PAGE}?budget=many")).text
    assert set((await decisions(alice)).values()) == {"undecided"}


async def test_what_if_all_without_income_expire(browser: Visitor, alice: Person) -> None:
    await fill(alice)
    page = await browser.open(f"{PAGE}?drop_max_income=20")

    assert (await read(alice, max_income="20"))["totals"]["base"] == usd("23.45")
    assert {("23.45", "USD"), ("12.34", "USD")} <= amounts_of(page).keys()
    assert set((await decisions(alice)).values()) == {"undecided"}
    shown = await browser.submit(page, "renewals-drop")
    assert set((await decisions(alice)).values()) == {"undecided"}
    after = await browser.submit(shown, "domains-change")
    assert after.url.params["drop_max_income"] == "20"
    assert await decisions(alice) == {"harbour.com": "undecided", "pier.net": "drop"}


async def test_what_has_a_decision_keeps_it(browser: Visitor, alice: Person) -> None:
    async with alice.browser() as api:
        for name in ("a.com", "b.com"):
            await add(api, name, expires_at=in_days(9), renewal_price=usd("1.00"))
        body = {"items": [{"domain_id": "a.com", "decision": "renew"}]}
        await api.patch("/v1/portfolio/renewals/bulk", json=body)
    shown = await browser.submit(await browser.open(f"{PAGE}?drop_max_income=0"), "renewals-drop")
    await browser.submit(shown, "domains-change")

    assert await decisions(alice) == {"a.com": "renew", "b.com": "drop"}


@pytest.mark.parametrize("income", ["many", "1e9999", "-"])
async def test_a_wrong_bound_is_explained(browser: Visitor, alice: Person, income: str) -> None:
    await fill(alice)

    assert "max_income" in (await browser.open(f"{PAGE}?drop_max_income={income}")).text


async def test_only_domains_that_were_shown_expire(browser: Visitor, alice: Person) -> None:
    await fill(alice)
    page = await browser.open(f"{PAGE}?drop_max_income=20")
    shown = await browser.submit(page, "renewals-drop")
    async with alice.browser() as api:  # another domain takes the place of the one in the sums
        earned = {"entries_add": [{"kind": "parking_revenue", "amount": usd("900.00")}]}
        (await api.patch("/v1/portfolio/domains/pier.net/finance", json=earned)).raise_for_status()
        await add(api, "ferry.com", renewal_price=usd("1000.00"), expires_at=in_days(30))
    now = await browser.submit(page, "renewals-drop")

    assert ("ferry.com" in now.text, "ferry.com" in shown.text) == (True, False)
    await browser.submit(shown, "domains-change")
    assert await decisions(alice) == {"harbour.com": "undecided", "pier.net": "drop", "ferry.com": "undecided"}


async def test_a_viewer_sees_no_amount(visit: Visit, alice: Person, charlie: Person) -> None:
    await fill(alice)
    await join_team(alice, charlie, "viewer")
    space = f"/console/of/{alice.account.id}/portfolio/renewals"
    page = await (await visit(charlie)).open(f"{space}?budget=20&drop_max_income=20")

    assert "harbour.com" in page.text
    assert not LIKE_AMOUNT.findall(page.text)
    assert "/do/renewals-decide" not in page.text


async def test_an_accountant_sees_amounts_and_decides_nothing(
    visit: Visit, alice: Person, charlie: Person
) -> None:
    await fill(alice)
    await join_team(alice, charlie, "accountant")
    space = f"/console/of/{alice.account.id}/portfolio/renewals"
    page = await (await visit(charlie)).open(f"{space}?drop_max_income=20")

    assert LIKE_AMOUNT.findall(page.text)
    assert not re.findall(r"/do/renewals-[a-z]+", page.text)
