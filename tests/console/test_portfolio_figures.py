"""Each amount of a page of the portfolio stands under the label under which the API has it."""

from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any

import pytest

from builders.console import views
from tests.cast import Client, Person
from tests.console.money import Figure, figure, figures_of
from tests.console.portfolio_scene import add, fill, in_days
from tests.console.visitor import Visitor
from tests.portfolio.finance.make import usd

SUMS = {"Cost": "cost", "Income": "income", "Sales": "sale", "Net": "net"}
PRICES = {
    "Renewal price": "renewal_price",
    "Estimated value": "estimated_value",
    "Asking price": "asking_price",
    "Lowest offer": "min_offer",
}
OF_A_LIST = {**PRICES, "Renewal price, converted": "renewal_price_base"} | {
    label: member for label, member in SUMS.items() if member != "sale"
}
# The inputs of a formula stand under the figure that they give.
FORMULAS = {
    "Total cost": ("total_cost", "cost_basis", "carrying_cost", "refunds"),
    "Net": ("net_position", "parking", "lease", "other", "sale", "total_cost"),
    "ROI": ("net_position", "total_cost"),
    "Break-even price": ("breakeven_price", "total_cost", "parking", "lease", "other"),
    "Unrealized profit": ("unrealized_profit", "estimated_value", "net_position"),
}
SALE = {
    "Price": "price",
    "Received": "gross",
    "Returned to the buyer": "refunded",
    "Costs of the sale": "costs",
    "Net of the sale": "net",
    "Still to be received": "outstanding",
}


@pytest.fixture
async def api(alice: Person) -> AsyncIterator[Client]:
    """Fill Alice's portfolio with amounts of which no two are equal; return her client of the API."""
    await fill(alice)
    async with alice.browser() as client:
        prices = {"asking_price": usd("3456.78"), "min_offer": usd("1567.89"), "estimated_value": usd("2001.02")}
        entries = [("acquisition", "321.10"), ("renewal", "8.76"), ("lease_income", "45.67"), ("refund", "1.23")]
        entries += [("parking_revenue", "7.65"), ("other_income", "2.34")]
        names = {"tags": ["sea"], "expires_at": in_days(70), "renewal_price": usd("14.15")}
        await add(client, "ferry.com", *entries, **prices, **names)
        sale = {"gross": usd("5000.00"), "commission": usd("543.21"), "sold_on": in_days(0)[:10]}
        sold_id = await add(client, "sold.com", ("acquisition", "77.88"))
        answer = await client.patch(f"/v1/portfolio/domains/{sold_id}/finance", json={"sale": sale})
        assert answer.status_code == 200, answer.text
        yield client


async def read(api: Client, path: str, **query: Any) -> Any:
    answer = await api.get(f"/v1/portfolio/{path}", params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()


def members(heading: str, row: str, labels: Mapping[str, str], reply: Mapping[str, Any]) -> Iterator[Figure]:
    for label, member in labels.items():
        yield from figure(heading, row, label, reply[member])


async def test_the_summary(browser: Visitor, api: Client) -> None:
    page = await browser.open("/console/portfolio")
    summary = await read(api, "summary")
    totals = (await read(api, "renewals", within_days=365))["totals"]
    heading = "Portfolio"
    wanted = [*members(heading, "", SUMS, summary["totals"])]
    wanted += [
        each
        for value in summary["values"]["by_currency"]
        for each in figure(heading, "", "Estimated value", value)
    ]
    for month in summary["months"]:
        wanted += members(heading, views.month(month["month"]), {"Cost": "cost", "Income": "income"}, month)
        for amount in (month["value"] or {"by_currency": []})["by_currency"]:
            wanted += figure(heading, "", f"Value, {views.month(month['month'])}", amount)
    heading = "Renewals of the next 12 months"
    wanted += figure(heading, "", "Cost in USD", totals["base"])
    wanted += [each for price in totals["by_currency"] for each in figure(heading, "", "Prices in USD", price)]
    for month in totals["by_month"]:
        wanted += figure(heading, views.month(month["month"]), "Cost", month["base"])
    for heading, sort in (
        ("Best by ROI", "-roi"),
        ("Worst by ROI", "roi"),
        ("Best by net", "-net"),
        ("Worst by net", "net"),
    ):
        for each in (await read(api, "domains", sort=sort, limit=5))["items"]:
            wanted += members(heading, each["domain"], {"Net": "net"}, each)
    wanted += members("Changed this week", "", SUMS, summary["totals"])  # all entries are of today
    for heading, name in (("By TLD", "tld"), ("By tag", "tag")):
        for each in summary[f"by_{name}"]:
            wanted += members(heading, each[name], SUMS, each)

    assert Counter(figures_of(page)) == Counter(wanted)


async def test_the_list_of_domains(browser: Visitor, api: Client) -> None:
    page = await browser.open(f"/console/portfolio/domains?columns={','.join(OF_A_LIST.values())}")
    wanted: list[Figure] = []
    for each in (await read(api, "domains"))["items"]:
        wanted += members("Domains of the portfolio", each["domain"], OF_A_LIST, each)

    assert Counter(figures_of(page)) == Counter(wanted)


@pytest.mark.parametrize("name", ["ferry.com", "sold.com", "harbour.com"])
async def test_one_domain(browser: Visitor, api: Client, name: str) -> None:
    domain = await read(api, f"domains/{name}")
    page = await browser.open(f"/console/portfolio/domains/{domain['id']}")
    finance = await read(api, f"domains/{name}/finance")
    inputs = {**finance, **finance["income"], "sale": finance["sale"] and finance["sale"]["net"]}
    wanted = [*members(f"{name} {domain['status']}", "", PRICES, domain)]
    for label, names in FORMULAS.items():
        wanted += [each for member in names for each in figure("Finance", "", label, inputs[member])]
    if finance["sale"]:
        wanted += members("Sale", "", SALE, finance["sale"])
    for entry in finance["entries"]:
        row = views.day(entry["occurred_on"])
        wanted += members("Ledger", row, {"Amount": "signed_amount", "In USD": "base_amount"}, entry)

    assert Counter(figures_of(page)) == Counter(wanted)


async def test_the_renewals(browser: Visitor, api: Client) -> None:
    page = await browser.open("/console/portfolio/renewals")
    report = await read(api, "renewals", within_days=90)
    totals, heading = report["totals"], "Renewals"
    wanted = [*figure(heading, "", "Cost in USD", totals["base"])]
    wanted += [each for price in totals["by_currency"] for each in figure(heading, "", "Prices in USD", price)]
    for each in totals["by_decision"]:
        label = {"renew": "Keep", "drop": "Let expire", "undecided": "Undecided"}[each["decision"]]
        wanted += figure(heading, "", f"{label}, {each['renewals']} domains", each["base"])
    for month in totals["by_month"]:
        wanted += figure(heading, views.month(month["month"]), "Cost", month["base"])
        wanted += figure(heading, "", "rowgroup", month["base"])  # above the rows of the month
    for each in report["items"]:
        wanted += members(heading, each["domain"], {"Price": "renewal_price"}, each)

    assert Counter(figures_of(page)) == Counter(wanted)


async def test_parking(browser: Visitor, api: Client) -> None:
    row = {"domain": "ferry.com", "date": in_days(-2)[:10], "amount": usd("9.87"), "visits": 7}
    assert (await api.post("/v1/portfolio/parking/revenue", json=row)).is_success
    page = await browser.open("/console/portfolio/parking")
    report = await read(api, "parking")
    labels = {"Revenue": "revenue", "Renewals, for these days": "renewal_cost_prorated", "Net": "net"}
    wanted = [*members("Parking", "", labels, report["totals"])]
    for day in report["daily"]:
        wanted += members("Parking", "", {f"Revenue, {views.day(day['day'])}": "revenue"}, day)
    for each in report["items"]:
        wanted += members("Parking", each["domain"], {"Revenue": "revenue", "Net": "net"}, each)

    assert Counter(figures_of(page)) == Counter(wanted)
