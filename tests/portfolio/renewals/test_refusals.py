"""Reports and decisions that are refused."""

from typing import Any

import pytest

from tests.cast import Client, Person
from tests.portfolio.parking.make import add_domains
from tests.portfolio.renewals.make import BULK, RENEWALS, ahead, decide, report


@pytest.mark.parametrize(("parameter", "value"), [("within_days", "0"), ("within_days", "366"), ("limit", "501")])
async def test_a_parameter_out_of_bounds_is_refused(alice: Person, parameter: str, value: str) -> None:
    answer = await alice.get(RENEWALS, params={parameter: value})
    assert answer.status_code == 422
    assert answer.json()["detail"][0]["loc"] == ["query", parameter]


async def test_a_cursor_is_valid_for_its_period(alice: Person) -> None:
    await add_domains(alice, "harbour.com", "pier.com", expires_at=ahead(5))
    cursor = (await report(alice, limit=1))["next_cursor"]
    answer = await alice.get(RENEWALS, params={"limit": 1, "cursor": cursor, "within_days": 60})
    assert answer.status_code == 422


async def test_a_strangers_report_is_empty(alice: Person, bob: Person) -> None:
    await add_domains(alice, "harbour.com", expires_at=ahead(5))
    found = await report(bob)
    assert (found["items"], found["totals"]["count"]) == ([], 0)


@pytest.mark.parametrize(
    ("members", "field"),
    [
        pytest.param({"years": 11}, "years", id="too many years"),
        pytest.param({"note": ""}, "note", id="an empty note"),
        pytest.param({"decision": "perhaps"}, "decision", id="no decision"),
        pytest.param({"renewal_price": "10.00"}, "renewal_price", id="a price without a currency"),
        pytest.param({"snooze_until": "soon"}, "snooze_until", id="no date"),
    ],
)
async def test_a_row_with_a_bad_value_is_refused(alice: Person, members: dict[str, Any], field: str) -> None:
    await add_domains(alice, "harbour.com")
    [found] = (await decide(alice, {"items": [{"domain_id": "harbour.com", **members}]}))["results"]
    assert (found["outcome"], found["domain"]) == ("error", "harbour.com")
    assert found["errors"][0]["field"].startswith(field)


async def test_a_price_without_a_currency_is_refused_for_all(alice: Person) -> None:
    body = {"domains": ["harbour.com"], "set": {"renewal_price": "10.00"}}
    assert (await alice.patch(BULK, json=body)).status_code == 422


async def test_the_domain_of_a_stranger_is_not_decided(alice: Person, bob: Person) -> None:
    [domain_id] = (await add_domains(alice, "harbour.com", expires_at=ahead(5))).values()
    [found] = (await decide(bob, {"items": [{"domain_id": str(domain_id), "decision": "drop"}]}))["results"]
    assert found["errors"][0]["code"] == "portfolio_domain_not_found"
    assert (await report(alice))["items"][0]["decision"] == "undecided"


async def test_a_second_row_about_a_domain_is_refused(alice: Person) -> None:
    await add_domains(alice, "harbour.com")
    items = [{"domain_id": "harbour.com", "decision": each} for each in ("renew", "drop")]
    first, second = (await decide(alice, {"items": items}))["results"]
    assert (first["outcome"], second["errors"][0]["code"]) == ("updated", "duplicate_row")


async def test_an_unknown_token_has_no_calendar(anyone: Client) -> None:
    answer = await anyone.get("/v1/portfolio/renewals.ics", params={"token": "x" * 40})
    assert answer.json()["code"] == "token_invalid"
