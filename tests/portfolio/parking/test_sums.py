"""The computed members of the report: sums, ratios, costs, flags, days and currencies."""

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, strategies as st

from builders.kit.values import clock
from builders.portfolio.ledger import currencies
from builders.portfolio.parking.records import Period, RoiFlag, Sums, show_ratio
from tests.cast import Person
from tests.portfolio.ledger.make import add_rates
from tests.portfolio.parking.make import PARKING, add_domains, database_of, day, record, report
from tests.portfolio.team.make import join, of

CSV = f"{PARKING}.csv"


def usd(amount: str) -> dict[str, str]:
    return {"amount": amount, "currency": "USD"}


async def earn(alice: Person, *rows: dict[str, Any], **fields: Any) -> None:
    """Add the domains of the rows, and record the rows, of yesterday in dollars unless they say otherwise."""
    await add_domains(alice, *dict.fromkeys(row.get("domain", "harbour.com") for row in rows), **fields)
    base = {"domain": "harbour.com", "date": day(1), "amount": "1.00", "currency": "USD"}
    found = await record(alice, {"rows": [{**base, **row} for row in rows]})
    assert found["summary"]["errors"] == 0, found


async def only(alice: Person, **query: Any) -> dict[str, Any]:
    [item] = (await report(alice, **query))["items"]
    found: dict[str, Any] = item
    return found


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        pytest.param({"visits": 3, "clicks": 2}, ("333.3333", "0.6667", "0.5000"), id="all"),
        pytest.param({"visits": 3}, ("333.3333", None, None), id="clicks unknown"),
        pytest.param({"clicks": 2}, (None, None, "0.5000"), id="visits unknown"),
        pytest.param({"visits": 0, "clicks": 0}, (None, None, None), id="neither visits nor clicks"),
        pytest.param({"visits": 3, "clicks": 0}, ("333.3333", "0.0000", None), id="no clicks"),
        pytest.param({"visits": 10**12, "clicks": 1}, ("0.0000", "0.0000", "1.0000"), id="very many visits"),
    ],
)
async def test_the_ratios(alice: Person, members: dict[str, Any], expected: tuple[str | None, ...]) -> None:
    await earn(alice, members)
    found = await only(alice)
    assert (found["rpm"], found["ctr"], found["epc"]) == expected


@pytest.mark.parametrize("amounts", [["1.00", "2.00"], ["99999999.99", "0.01"], ["0", "0"]])
async def test_a_sum_is_that_of_its_rows(alice: Person, amounts: Sequence[str]) -> None:
    await earn(alice, *({"amount": each, "external_ref": str(at)} for at, each in enumerate(amounts)))
    expected = str(sum(map(Decimal, amounts)).quantize(Decimal("0.01")))  # type: ignore[union-attr] # not empty
    assert (await only(alice))["revenue"] == usd(expected)


async def test_a_count_that_one_row_knows_is_known(alice: Person) -> None:
    await earn(alice, {"visits": 5}, {"external_ref": "a"})
    assert (await only(alice))["visits"] == 5


@pytest.mark.parametrize(
    ("price", "amount", "expected"),
    [
        pytest.param("365.00", "1.00", RoiFlag.COVERS_RENEWAL, id="exactly the cost of the day"),
        pytest.param("365.00", "0.99", RoiFlag.BELOW_RENEWAL, id="a cent less"),
        pytest.param("365.00", "0.00", RoiFlag.NO_REVENUE, id="nothing"),
        pytest.param("0.00", "0.01", RoiFlag.COVERS_RENEWAL, id="a renewal that costs nothing"),
        pytest.param(None, "1.00", RoiFlag.UNKNOWN, id="no price"),
        pytest.param(None, "0.00", RoiFlag.NO_REVENUE, id="neither price nor revenue"),
    ],
)
async def test_whether_revenue_covers_the_renewal(
    alice: Person, price: str | None, amount: str, expected: RoiFlag
) -> None:
    await earn(alice, {"amount": amount, "date": day()}, price=price)
    assert (await only(alice, days=1))["roi_flag"] == expected


@pytest.mark.parametrize(("days", "cost"), [(1, "0.03"), (30, "0.82"), (365, "10.00")])
async def test_a_renewal_costs_its_share_of_the_year(alice: Person, days: int, cost: str) -> None:
    await earn(alice, {"date": day()}, price="10.00")
    found = await only(alice, days=days)
    assert found["renewal_cost_prorated"] == usd(cost)
    assert found["net"] == usd(str(Decimal("1.00") - Decimal(cost)))


async def test_a_price_in_another_currency_costs_at_the_rate_of_today(alice: Person) -> None:
    await add_rates(database_of(alice))
    [domain_id] = (await add_domains(alice, "harbour.com", price="1.00")).values()
    changed = await alice.patch(
        f"/v1/portfolio/domains/{domain_id}", json={"renewal_price": {"amount": "365.00", "currency": "EUR"}}
    )
    assert changed.status_code == 200, changed.text
    await record(alice, {"domain": "harbour.com", "date": day(1), "amount": "1.00"})
    assert (await only(alice, days=10))["renewal_cost_prorated"] == usd("10.85")


async def test_a_price_without_a_rate_is_unknown(alice: Person) -> None:
    await add_domains(alice, "harbour.com")
    price = {"renewal_price": {"amount": "365.00", "currency": "XAU"}}
    assert (await alice.patch("/v1/portfolio/domains/harbour.com", json=price)).status_code == 200
    await record(alice, {"domain": "harbour.com", "date": day(1), "amount": "1.00"})
    found = await report(alice)
    assert (found["items"][0]["roi_flag"], found["totals"]["unknown_renewal_price"]) == ("unknown", 1)


async def test_revenue_is_converted_at_the_rate_of_its_day(alice: Person) -> None:
    await add_rates(database_of(alice))
    clock.move(datetime(2024, 3, 6, 12, tzinfo=UTC) - clock.now())
    rows = [{"date": str(date(2024, 3, each)), "amount": "100.00", "currency": "EUR"} for each in (1, 3, 4, 5)]
    await earn(alice, *rows)
    found = await report(alice, group_by="day")
    # The third of March is a Sunday: the rate of Friday holds.
    assert [each["revenue"]["amount"] for each in found["items"]] == ["108.13", "108.13", "108.46", "108.49"]


async def test_revenue_before_the_first_rate_is_not_converted(alice: Person) -> None:
    await add_rates(database_of(alice))
    clock.move(datetime(2024, 3, 6, 12, tzinfo=UTC) - clock.now())
    await earn(alice, {"date": "2024-02-29", "currency": "EUR"}, {"date": "2024-02-29", "external_ref": "a"})
    found = await only(alice)
    assert (found["revenue"], found["unconverted"]) == (usd("1.00"), 1)


async def test_a_sum_is_rounded_once(alice: Person) -> None:
    await add_rates(database_of(alice))
    await earn(alice, *({"amount": "0.01", "currency": "EUR", "external_ref": str(at)} for at in range(60)))
    assert (await only(alice))["revenue"] == usd("0.65")  # 0.60 EUR at 1.0849; 60 rounded amounts are 0.60


async def test_the_report_is_in_the_base_currency(alice: Person) -> None:
    await add_rates(database_of(alice))
    await earn(alice, {"amount": "1.00", "currency": "EUR"})
    async with database_of(alice).transaction() as conn:
        await currencies.set_base_currency(conn, account_id=alice.account.id, base_currency="JPY")
    found = await report(alice)
    assert (found["base_currency"], found["totals"]["revenue"]) == ("JPY", {"amount": "163", "currency": "JPY"})


@pytest.mark.parametrize(("ago", "days", "found"), [(0, 1, 1), (1, 1, 0), (1, 2, 1), (364, 365, 1), (365, 365, 0)])
async def test_the_first_day_of_a_report(alice: Person, ago: int, days: int, found: int) -> None:
    await earn(alice, {"date": day(ago)})
    assert (await report(alice, days=days))["totals"]["domains"] == found


async def test_a_report_has_thirty_days_by_default(alice: Person) -> None:
    assert (await report(alice))["period"] == {"from": day(29), "to": day(0), "days": 30}


async def test_a_report_on_a_leap_day(alice: Person) -> None:
    clock.move(datetime(2024, 3, 1, tzinfo=UTC) - clock.now())
    assert (await report(alice, days=2))["period"] == {"from": "2024-02-29", "to": "2024-03-01", "days": 2}


async def test_the_day_of_a_report_is_that_of_utc(alice: Person) -> None:
    clock.move(datetime(2026, 1, 1, 0, 0, 5, tzinfo=UTC) - clock.now())
    assert (await report(alice, days=1))["period"]["from"] == "2026-01-01"


async def test_an_empty_report_has_sums_of_zero(alice: Person) -> None:
    totals = (await report(alice))["totals"]
    assert (totals["revenue"], totals["net"], totals["renewal_cost_prorated"]) == (usd("0.00"),) * 3
    assert (totals["visits"], totals["rpm"], totals["by_currency"], totals["unconverted"]) == (None, None, [], 0)


async def test_an_empty_export_is_its_header(alice: Person) -> None:
    assert len((await alice.get(CSV)).text.splitlines()) == 1


@pytest.mark.parametrize("group_by", ["domain", "day", "provider"])
async def test_an_empty_page_ends(alice: Person, group_by: str) -> None:
    found = await report(alice, group_by=group_by)
    assert (found["items"], found["count"], found["next_cursor"]) == ([], 0, None)


async def test_domains_of_equal_revenue_are_on_one_page_each(alice: Person) -> None:
    names = {f"harbour{each}.com" for each in range(4)}
    await earn(alice, *({"domain": each} for each in names))
    first = await report(alice, limit=3)
    rest = await report(alice, limit=3, cursor=first["next_cursor"])
    assert [len(first["items"]), len(rest["items"])] == [3, 1]
    assert {each["domain"] for each in (*first["items"], *rest["items"])} == names


async def test_the_highest_revenue_is_first(alice: Person) -> None:
    await earn(alice, {"domain": "pier.com", "amount": "9.00"}, {"amount": "10.00"}, {"domain": "a.com"})
    assert [each["domain"] for each in (await report(alice))["items"]] == ["harbour.com", "pier.com", "a.com"]


async def test_a_day_has_no_renewal_cost(alice: Person) -> None:
    await earn(alice, {}, price="10.00")
    found = await only(alice, group_by="day")
    names = ("domain_id", "domain", "provider", "renewal_cost_prorated", "net", "roi_flag")
    assert {found[name] for name in names} == {None}


async def test_a_provider_has_no_domain_or_cost(alice: Person) -> None:
    await earn(alice, {}, {"domain": "pier.com"}, price="10.00")
    found = await only(alice, group_by="provider")
    assert (found["provider"], found["domain"], found["renewal_cost_prorated"]) == ("manual", None, None)


async def test_a_domain_at_two_providers_names_neither(alice: Person) -> None:
    await earn(alice, {"provider": "sedo"}, {"provider": "bodis"})
    assert (await only(alice))["provider"] is None


@pytest.mark.parametrize("query", [{"domain": "harbour.com"}, {"provider": "sedo"}])
async def test_a_filter_holds_for_items_totals_and_days(alice: Person, query: dict[str, str]) -> None:
    await earn(alice, {"provider": "sedo"}, {"domain": "pier.com", "provider": "bodis", "date": day(2)})
    found = await report(alice, **query)
    assert [each["domain"] for each in found["items"]] == ["harbour.com"]
    assert (found["totals"]["domains"], [each["day"] for each in found["daily"]]) == (1, [day(1)])


async def test_a_filter_holds_for_the_export(alice: Person) -> None:
    await earn(alice, {"provider": "sedo"}, {"domain": "pier.com", "provider": "bodis"})
    [_, line] = (await alice.get(CSV, params={"provider": "bodis"})).text.splitlines()
    assert line.startswith("pier.com,bodis,")


async def test_the_export_has_a_line_for_each_currency(alice: Person) -> None:
    await earn(alice, {"external_ref": "a"}, {"amount": "500", "currency": "JPY"}, {"external_ref": "b"})
    lines = [line.split(",") for line in (await alice.get(CSV)).text.splitlines()[1:]]
    assert [(each[6], each[7]) for each in lines] == [("500", "JPY"), ("2.00", "USD")]


async def test_the_export_by_provider_has_no_domain(alice: Person) -> None:
    await earn(alice, {"provider": "sedo"}, {"domain": "pier.com", "provider": "sedo"})
    [_, line] = (await alice.get(CSV, params={"group_by": "provider"})).text.splitlines()
    assert line.split(",")[:2] + line.split(",")[6:7] == ["", "sedo", "2.00"]


@pytest.mark.parametrize(
    ("parameter", "value"), [("days", "0"), ("days", "366"), ("group_by", "week"), ("provider", "x" * 51)]
)
async def test_a_parameter_of_the_export_out_of_bounds_is_refused(
    alice: Person, parameter: str, value: str
) -> None:
    answer = await alice.get(CSV, params={parameter: value})
    assert (answer.status_code, answer.json()["detail"][0]["loc"]) == (422, ["query", parameter])


@pytest.mark.parametrize(("role", "sees"), [("viewer", False), ("accountant", True), ("manager", True)])
async def test_who_of_a_team_sees_revenue(alice: Person, charlie: Person, role: str, sees: bool) -> None:
    await earn(alice, {})
    await join(alice, charlie, role)
    found = await report(charlie, headers=of(alice))
    assert ((found["totals"]["revenue"] is not None), found["redacted"] == []) == (sees, sees)


async def test_the_sandbox_has_revenue_of_its_own(alice: Person) -> None:
    await earn(alice, {})
    assert (await report(alice.test))["totals"]["domains"] == 0


async def test_a_domain_that_was_dropped_keeps_its_revenue(alice: Person) -> None:
    await earn(alice, {})
    dropped = await alice.patch("/v1/portfolio/domains/harbour.com", json={"status": "dropped"})
    assert dropped.status_code == 200, dropped.text
    assert (await only(alice))["revenue"] == usd("1.00")


@given(st.integers(1, 365), st.dates(min_value=date(2001, 1, 1)))
def test_a_period_has_as_many_days_as_asked_for(days: int, until: date) -> None:
    period = Period.ending(until, days=days)
    assert (period.days, period.since + timedelta(days=days - 1), period.until) == (days, until, until)


@given(st.integers(0, 10**12), st.integers(1, 10**12), st.decimals(0, 10**9, places=2))
def test_ratios_agree_with_their_parts(clicks: int, visits: int, revenue: Decimal) -> None:
    sums = Sums(visits=visits, clicks=clicks, revenue=revenue, unconverted=0, is_exact=True)
    least = Decimal("0.00005")
    assert sums.rpm is not None
    assert abs(Decimal(show_ratio(sums.rpm) or "") * visits - revenue * 1000) <= least * visits
    assert abs(Decimal(show_ratio(sums.ctr) or "") * visits - clicks) <= least * visits
    assert (sums.epc is None) == (clicks == 0)
