"""The summary of a portfolio, as a page."""

from collections.abc import Awaitable, Callable

from builders.console import views
from builders.kit.values import clock
from tests.cast import Person
from tests.console.money import LIKE_AMOUNT, amounts_in, amounts_of, figures_of
from tests.console.portfolio_scene import add, fill
from tests.console.visitor import Visitor, heading
from tests.plans.approval.make import join_team

Visit = Callable[[Person], Awaitable[Visitor]]


async def test_each_figure_is_that_of_the_api(browser: Visitor, alice: Person) -> None:
    await fill(alice)
    page = await browser.open("/console/portfolio")
    async with alice.browser() as api:
        summary = (await api.get("/v1/portfolio/summary")).json()
        renewals = (await api.get("/v1/portfolio/renewals", params={"within_days": 365})).json()
        listed = (await api.get("/v1/portfolio/domains")).json()
    shown = amounts_of(page)

    assert summary["totals"]["cost"] == {"amount": "1255.56", "currency": "USD"}
    months = [{name: each[name] for name in ("cost", "income")} for each in summary["months"]]
    wanted = amounts_in([summary["totals"], summary["values"], summary["by_tld"], summary["by_tag"], months])
    wanted += amounts_in([renewals["totals"][name] for name in ("base", "by_currency")])
    wanted += amounts_in([each["base"] for each in renewals["totals"]["by_month"]])
    assert not wanted - shown
    assert shown.keys() <= amounts_in([summary, renewals, listed]).keys()


async def test_a_chart_has_a_title_a_description_and_a_table(browser: Visitor, alice: Person) -> None:
    await fill(alice)
    page = await browser.open("/console/portfolio")

    assert '<svg class="chart" role="img"' in page.text
    assert '<title id="months-title">Cost and income by month</title>' in page.text
    assert '<desc id="months-desc">Two bars for each month' in page.text
    assert "<details><summary>Cost and income by month as a table</summary>" in page.text
    assert "style=" not in page.text


async def test_a_value_in_several_currencies_is_shown_in_each(browser: Visitor, alice: Person) -> None:
    await fill(alice)
    async with alice.browser() as api:
        await add(api, "ferry.com", estimated_value={"amount": "17.19", "currency": "EUR"})
    page = await browser.open("/console/portfolio")
    month, figures = views.month(f"{clock.now():%Y-%m}"), figures_of(page)

    assert {(each.label, each.amount) for each in figures} >= {
        (f"In EUR, {month}", "17.19 EUR"),
        (f"In USD, {month}", "2,345.67 USD"),
    }


async def test_a_value_without_a_rate_is_named(browser: Visitor, alice: Person) -> None:
    async with alice.browser() as api:
        await add(api, "ferry.com", estimated_value={"amount": "17.19", "currency": "BTC"})
    page = await browser.open("/console/portfolio")

    assert "1 currency without an exchange rate: the sums in USD exclude it." in page.text


async def test_a_portfolio_without_an_estimate_has_no_chart_of_values(browser: Visitor, alice: Person) -> None:
    async with alice.browser() as api:
        await add(api, "ferry.com")

    assert "Estimated value by month" not in (await browser.open("/console/portfolio")).text


async def test_a_filter_selects_what_every_part_shows(browser: Visitor, alice: Person) -> None:
    await fill(alice)
    page = await browser.open("/console/portfolio?tag=brand&year=&folder=")

    assert "harbour.com" in page.text
    assert "pier.net" not in page.text
    assert not amounts_of(page).keys() & {("9.87", "USD"), ("23.45", "USD")}


async def test_a_year_is_shown(browser: Visitor, alice: Person) -> None:
    await fill(alice)

    assert "2020-01-01 to 2020-12-31" in (await browser.open("/console/portfolio?year=2020")).text


async def test_a_viewer_sees_no_amount(visit: Visit, alice: Person, charlie: Person) -> None:
    await fill(alice)
    await join_team(alice, charlie, "viewer")
    page = await (await visit(charlie)).open(f"/console/of/{alice.account.id}/portfolio")

    assert heading(page) == "Portfolio"
    assert "harbour.com" in page.text
    assert not amounts_of(page)
    assert not LIKE_AMOUNT.findall(page.text)


async def test_an_accountant_sees_every_amount(visit: Visit, alice: Person, charlie: Person) -> None:
    await fill(alice)
    await join_team(alice, charlie, "accountant")
    of_member = await (await visit(charlie)).open(f"/console/of/{alice.account.id}/portfolio")

    assert amounts_of(of_member) == amounts_of(await (await visit(alice)).open("/console/portfolio"))
