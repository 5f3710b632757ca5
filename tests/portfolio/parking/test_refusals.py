"""Reports and revenue that are refused."""

from typing import Any

import pytest

from tests.cast import Person
from tests.portfolio.parking.make import PARKING, REVENUE, add_domains, day, record, report
from tests.portfolio.team.make import code

EXPORT = "/v1/portfolio/parking.csv"


@pytest.mark.parametrize("path", [PARKING, EXPORT])
async def test_an_unknown_domain_has_no_report(alice: Person, path: str) -> None:
    assert code(await alice.get(path, params={"domain": "nobodys.com"})) == (404, "portfolio_domain_not_found")


@pytest.mark.parametrize("path", [PARKING, EXPORT])
async def test_a_stranger_learns_nothing_about_a_domain(alice: Person, bob: Person, path: str) -> None:
    [domain_id] = (await add_domains(alice, "harbour.com")).values()
    await record(alice, {"domain": "harbour.com", "amount": "1.00", "date": day(1)})
    assert code(await bob.get(path, params={"domain": str(domain_id)})) == (404, "portfolio_domain_not_found")


async def test_a_strangers_report_is_empty(alice: Person, bob: Person) -> None:
    await add_domains(alice, "harbour.com")
    await record(alice, {"domain": "harbour.com", "amount": "1.00", "date": day(1)})
    found = await report(bob)
    assert (found["items"], found["daily"], found["totals"]["domains"]) == ([], [], 0)


@pytest.mark.parametrize(
    ("parameter", "value"),
    [("days", "0"), ("days", "366"), ("group_by", "week"), ("provider", "x" * 51), ("limit", "0")],
)
async def test_a_parameter_out_of_bounds_is_refused(alice: Person, parameter: str, value: str) -> None:
    answer = await alice.get(PARKING, params={parameter: value})
    assert answer.status_code == 422
    assert answer.json()["detail"][0]["loc"] == ["query", parameter]


async def test_a_cursor_is_valid_for_its_grouping(alice: Person) -> None:
    await add_domains(alice, "harbour.com", "pier.com")
    rows = [{"domain": name, "amount": "1.00", "date": day(1)} for name in ("harbour.com", "pier.com")]
    await record(alice, {"rows": rows})
    cursor = (await report(alice, limit=1))["next_cursor"]
    answer = await alice.get(PARKING, params={"limit": 1, "cursor": cursor, "group_by": "provider"})
    assert answer.status_code == 422


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        pytest.param({"date": day(-3)}, "date_invalid", id="in the future"),
        pytest.param({"date": "1999-12-31"}, "date_invalid", id="before the year 2000"),
        pytest.param({"from": day(1), "to": day(2)}, "date_invalid", id="an end before the start"),
        pytest.param({"from": day(400), "to": day(1)}, "date_invalid", id="more than a year"),
    ],
)
async def test_a_row_of_an_impossible_period_is_refused(
    alice: Person, members: dict[str, Any], expected: str
) -> None:
    await add_domains(alice, "harbour.com")
    row = {"domain": "harbour.com", "amount": "1.00", **members}
    [found] = (await record(alice, {"rows": [row]}))["results"]
    assert (found["outcome"], found["errors"][0]["code"]) == ("error", expected)


async def test_a_table_without_dates_needs_a_period(alice: Person) -> None:
    answer = await alice.post(REVENUE, json={"rows": [{"domain": "harbour.com", "amount": "1.00"}]})
    assert code(answer) == (422, "period_missing")


async def test_a_date_and_a_period_are_refused(alice: Person) -> None:
    body = {"domain": "harbour.com", "amount": "1.00", "date": day(1), "period": {"from": day(2), "to": day(1)}}
    answer = await alice.post(REVENUE, json=body)
    assert answer.json()["detail"][0]["type"] == "date_and_period"
