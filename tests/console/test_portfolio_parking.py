"""Parking in the console: the report, and the record of revenue."""

from datetime import timedelta

from builders.console import views
from builders.kit.values import clock
from tests.cast import Person
from tests.console.money import amounts_in, amounts_of
from tests.console.portfolio_scene import add
from tests.console.visitor import Visitor

PAGE, REPORT = "/console/portfolio/parking", "/v1/portfolio/parking"


async def test_pasted_rows_are_recorded_and_each_figure_is_that_of_the_api(
    browser: Visitor, alice: Person
) -> None:
    async with alice.browser() as api:
        for name in ("harbour.com", "pier.net"):
            await add(api, name)
    day = clock.now().date() - timedelta(days=3)
    rows = ["domain,date,revenue,currency,visits,clicks", f"harbour.com,{day},12.34,USD,70,3"]
    rows.append(f"pier.net,{day},0.56,USD,9,1")
    done = await browser.submit(await browser.open(PAGE), "parking-record", csv="\n".join(rows))
    async with alice.browser() as api:
        report = (await api.get(REPORT)).json()

    assert done.status_code == 200, done.text
    assert not amounts_in(report["items"]) - amounts_of(done)
    assert report["totals"]["visits"] == 79
    assert f"<dt>Revenue, {views.day(f'{day}')}</dt>" in done.text


async def test_the_rows_are_by_day_or_provider_too(browser: Visitor, alice: Person) -> None:
    async with alice.browser() as api:
        domain_id = await add(api, "harbour.com")
    day = clock.now().date() - timedelta(days=2)
    typed = {"domain": domain_id, "date": f"{day}", "amount": "1.23 USD", "visits": "7"}
    await browser.submit(await browser.open(PAGE), "parking-record", **typed)
    page = await browser.open(f"{PAGE}?group_by=day&days=30")

    assert f">{views.day(f'{day}')}</th>" in page.text


async def test_a_bad_row_tells_why(browser: Visitor, alice: Person) -> None:
    async with alice.browser() as api:
        await add(api, "harbour.com")
    refused = await browser.submit(
        await browser.open(PAGE), "parking-record", csv="domain,date,revenue\nharbour.com,soon,1.00\n"
    )

    assert "soon" in refused.text
