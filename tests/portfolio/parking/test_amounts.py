"""What identifies revenue, what a repeated row changes, and how money, counts and days are written."""

import asyncio
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import pytest

from builders.kit.values import clock
from builders.kit.values.money import Money
from builders.portfolio.ledger import currencies
from builders.portfolio.parking.records import MAX_COUNT, MAX_PERIOD, MAX_REFERENCE
from tests.cast import Person
from tests.portfolio.ledger.make import add_rates
from tests.portfolio.parking.make import (
    PARKING,
    REVENUE,
    add_domains,
    database_of,
    day,
    days_of,
    entries,
    outcomes,
    record,
    report,
    valid,
)
from tests.portfolio.team.make import code

ROW = {"domain": "harbour.com", "date": day(2), "amount": "1.50", "currency": "USD", "provider": "sedo"}


async def replaced(alice: Person, **members: Any) -> tuple[str, list[str]]:
    """Record ROW and a row with other members: the outcome of the second, and the valid amounts."""
    domain_id = (await add_domains(alice, "harbour.com"))["harbour.com"]
    await record(alice, {**ROW, "visits": 10})
    [outcome] = outcomes(await record(alice, {**ROW, "visits": 10, **members}))
    return outcome, [amount for _, amount in await valid(alice, domain_id)]


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        pytest.param({}, ("unchanged", ["1.50 USD"]), id="the same"),
        pytest.param({"domain": "HARBOUR.COM."}, ("unchanged", ["1.50 USD"]), id="the name in capitals"),
        pytest.param({"provider": "  SEDO "}, ("unchanged", ["1.50 USD"]), id="the provider in capitals"),
        pytest.param({"amount": "2.00"}, ("updated", ["2.00 USD"]), id="another amount"),
        pytest.param({"currency": "EUR"}, ("updated", ["1.50 EUR"]), id="another currency"),
        pytest.param({"visits": None}, ("updated", ["1.50 USD"]), id="visits unknown"),
        pytest.param({"clicks": 0}, ("updated", ["1.50 USD"]), id="clicks known"),
        pytest.param({"amount": "0"}, ("updated", []), id="zero cancels"),
        pytest.param({"provider": "bodis"}, ("created", ["1.50 USD", "1.50 USD"]), id="another provider"),
        pytest.param({"external_ref": "a 2"}, ("created", ["3.00 USD"]), id="a reference"),
        pytest.param({"external_ref": " "}, ("unchanged", ["1.50 USD"]), id="a blank reference"),
        pytest.param({"date": "2024-03-01"}, ("created", ["1.50 USD", "1.50 USD"]), id="another month"),
    ],
)
async def test_a_second_row(alice: Person, members: dict[str, Any], expected: tuple[str, list[str]]) -> None:
    assert await replaced(alice, **members) == expected


async def test_the_id_names_the_domain(alice: Person) -> None:
    [domain_id] = (await add_domains(alice, "harbour.com")).values()
    await record(alice, ROW)
    assert outcomes(await record(alice, {**ROW, "domain": str(domain_id)})) == ["unchanged"]


async def test_the_unicode_name_names_the_domain(alice: Person) -> None:
    await add_domains(alice, "xn--mnchen-3ya.de")
    reply = await record(alice, {**ROW, "domain": "München.de"})
    assert (outcomes(reply), reply["results"][0]["domain"]) == (["created"], "xn--mnchen-3ya.de")


async def test_a_replaced_amount_voids_its_entry(alice: Person) -> None:
    [domain_id] = (await add_domains(alice, "harbour.com")).values()
    await record(alice, ROW)
    await record(alice, {**ROW, "amount": "2.00"})
    before, after = sorted(await entries(alice, domain_id), key=lambda each: each.money)
    assert (before.is_void, before.void_reason) == (True, "The parking revenue of the month changed.")
    assert not after.is_void


async def test_an_entry_names_its_kind_provider_and_author(alice: Person) -> None:
    [domain_id] = (await add_domains(alice, "harbour.com")).values()
    await record(alice, ROW)
    [entry] = await entries(alice, domain_id)
    assert (entry.kind, entry.source, entry.memo) == ("parking_revenue", "parking", "Parking: sedo")
    assert entry.created_by == alice.account.id


async def test_a_canceled_amount_can_be_recorded_again(alice: Person) -> None:
    [domain_id] = (await add_domains(alice, "harbour.com")).values()
    for amount in ("1.50", "0", "1.50"):
        await record(alice, {**ROW, "amount": amount})
    assert [amount for _, amount in await valid(alice, domain_id)] == ["1.50 USD"]


async def test_an_amount_of_zero_has_no_entry(alice: Person) -> None:
    [domain_id] = (await add_domains(alice, "harbour.com")).values()
    assert outcomes(await record(alice, {**ROW, "amount": "0", "visits": 3})) == ["created"]
    assert await entries(alice, domain_id) == []
    assert (await report(alice))["totals"]["visits"] == 3


async def test_a_provider_is_one_word(alice: Person) -> None:
    await add_domains(alice, "harbour.com")
    await record(alice, {**ROW, "provider": "Parking  Crew"})
    assert (await report(alice))["items"][0]["provider"] == "parking-crew"


async def test_rows_without_a_provider_are_manual(alice: Person) -> None:
    await add_domains(alice, "harbour.com")
    await record(alice, {"domain": "harbour.com", "date": day(1), "amount": "1.00"})
    assert (await report(alice))["items"][0]["provider"] == "manual"


async def test_the_provider_of_a_row_counts_before_that_of_the_request(alice: Person) -> None:
    await add_domains(alice, "harbour.com")
    rows = [{**ROW, "provider": "bodis"}, {name: ROW[name] for name in ("domain", "date", "amount")}]
    await record(alice, {"rows": rows, "provider": "sedo"})
    found = (await report(alice, group_by="provider"))["items"]
    assert sorted(each["provider"] for each in found) == ["bodis", "sedo"]


@pytest.mark.parametrize(
    ("currency", "amount", "parts"),
    [
        pytest.param("USD", "0.02", ["0.01 USD", "0.01 USD", "0.00 USD"], id="less than a cent a day"),
        pytest.param("JPY", "10", ["4 JPY", "3 JPY", "3 JPY"], id="a currency without decimals"),
        pytest.param("KWD", "0.010", ["0.004 KWD", "0.003 KWD", "0.003 KWD"], id="three decimals"),
        pytest.param("USD", "0.0375", ["0.0125 USD", "0.0125 USD", "0.0125 USD"], id="parts of a cent"),
        pytest.param("USD", "0.0041", ["0.0014 USD", "0.0014 USD", "0.0013 USD"], id="a part that is left"),
    ],
)
async def test_a_period_is_divided_in_the_least_unit(
    alice: Person, currency: str, amount: str, parts: list[str]
) -> None:
    [domain_id] = (await add_domains(alice, "harbour.com")).values()
    body = {"domain": "harbour.com", "amount": amount, "currency": currency}
    await record(alice, {**body, "period": {"from": "2024-03-01", "to": "2024-03-03"}})
    assert [f"{part} {currency}" for _, part in await days_of(alice)] == parts
    total = Money(Decimal(amount), currency).quantized()
    assert [booked for _, booked in await valid(alice, domain_id)] == ([str(total)] if total.amount else [])


async def test_visits_of_a_period_are_divided(alice: Person) -> None:
    await add_domains(alice, "harbour.com")
    body = {"domain": "harbour.com", "amount": "0", "visits": 8, "clicks": 1}
    await record(alice, {**body, "period": {"from": day(3), "to": day(1)}})
    found = [(each["visits"], each["clicks"]) for each in (await report(alice))["daily"]]
    assert found == [(3, 1), (3, 0), (2, 0)]


@pytest.mark.parametrize(("decimals", "outcome"), [(8, "created"), (9, "error")])
async def test_an_amount_has_eight_decimals(alice: Person, decimals: int, outcome: str) -> None:
    await add_domains(alice, "harbour.com")
    row = {**ROW, "amount": f"1.{'5' * decimals}", "currency": "JPY"}
    answer = await alice.post(REVENUE, json=row)
    assert answer.status_code == (201 if outcome == "created" else 422)
    [found] = (await record(alice, {"rows": [{**row, "external_ref": "a"}]}))["results"]
    assert (found["outcome"], [each["code"] for each in found["errors"]]) == (
        outcome,
        [] if outcome == "created" else ["amount_invalid"],
    )


async def test_an_amount_is_in_the_base_currency_when_none_is_named(alice: Person) -> None:
    [domain_id] = (await add_domains(alice, "harbour.com")).values()
    await add_rates(database_of(alice))
    async with database_of(alice).transaction() as conn:
        await currencies.set_base_currency(conn, account_id=alice.account.id, base_currency="GBP")
    await record(alice, {"domain": "harbour.com", "date": day(1), "amount": "1.00"})
    assert [found for _, found in await valid(alice, domain_id)] == ["1.00 GBP"]


async def test_the_currency_of_an_amount_counts_before_that_of_the_request(alice: Person) -> None:
    [domain_id] = (await add_domains(alice, "harbour.com")).values()
    await record(alice, {**ROW, "amount": {"amount": "1.00", "currency": "EUR"}, "currency": "USD"})
    assert [found for _, found in await valid(alice, domain_id)] == ["1.00 EUR"]


async def test_a_period_of_a_leap_year_is_recorded(alice: Person) -> None:
    [domain_id] = (await add_domains(alice, "harbour.com")).values()
    body = {"domain": "harbour.com", "amount": "3.66", "period": {"from": "2024-01-01", "to": "2024-12-31"}}
    assert outcomes(await record(alice, body)) == ["created"]
    booked = sorted(await valid(alice, domain_id))
    assert (len(booked), booked[1]) == (12, (date(2024, 2, 29), "0.29 USD"))
    days = await days_of(alice)
    assert (len(days), days[59]) == (MAX_PERIOD, ("2024-02-29", "0.01"))


@pytest.mark.parametrize(("until", "outcome"), [("2024-12-31", "created"), ("2025-01-01", "error")])
async def test_a_period_has_at_most_366_days(alice: Person, until: str, outcome: str) -> None:
    await add_domains(alice, "harbour.com")
    row = {"domain": "harbour.com", "amount": "3.67"}
    sent = {"rows": [row], "period": {"from": "2024-01-01", "to": until}}
    [result] = (await record(alice, sent))["results"]
    assert result["outcome"] == outcome
    if outcome == "error":
        assert result["errors"][0]["message"] == "The period is longer than 366 days."


@pytest.mark.parametrize(("ahead", "outcome"), [(1, "created"), (2, "error")])
async def test_revenue_of_tomorrow_is_that_of_places_ahead_of_utc(alice: Person, ahead: int, outcome: str) -> None:
    await add_domains(alice, "harbour.com")
    assert outcomes(await record(alice, {"rows": [{**ROW, "date": day(-ahead)}]})) == [outcome]


async def test_revenue_of_tomorrow_is_in_the_report_of_tomorrow(alice: Person) -> None:
    await add_domains(alice, "harbour.com")
    await record(alice, {**ROW, "date": day(-1)})
    assert (await report(alice))["totals"]["domains"] == 0
    clock.move(timedelta(days=1))
    assert (await report(alice))["totals"]["domains"] == 1


@pytest.mark.parametrize(
    ("member", "value", "status"),
    [
        ("visits", MAX_COUNT, 201),
        ("visits", MAX_COUNT + 1, 422),
        ("visits", -1, 422),
        ("clicks", -1, 422),
        ("clicks", 1.5, 422),
        ("external_ref", "r" * MAX_REFERENCE, 201),
        ("external_ref", "r" * (MAX_REFERENCE + 1), 422),
        ("external_ref", "two\nlines", 422),
        ("provider", "p" * 50, 201),
        ("provider", "p" * 51, 422),
        ("provider", " ", 422),
        ("currency", "usd", 422),
        ("date", "2024-02-30", 422),
        ("domain", "", 422),
    ],
)
async def test_the_bounds_of_a_single_row(alice: Person, member: str, value: Any, status: int) -> None:
    await add_domains(alice, "harbour.com")
    answer = await alice.post(REVENUE, json={**ROW, member: value})
    assert answer.status_code == status
    assert status == 201 or answer.json()["detail"][0]["loc"][:2] == ["body", member]


@pytest.mark.parametrize("ends", [["from"], ["to"], ["from", "to"]], ids=" and ".join)
async def test_one_end_of_a_period_in_the_query_is_one_day(alice: Person, ends: list[str]) -> None:
    sent = dict.fromkeys(ends, day(3))
    [domain_id] = (await add_domains(alice, "harbour.com")).values()
    content, headers = b"domain,revenue\nharbour.com,1.00\n", {"Content-Type": "text/csv"}
    answer = await alice.post(REVENUE, params=sent, content=content, headers=headers)
    assert answer.status_code == 201, answer.text
    assert [str(when) for when, _ in await valid(alice, domain_id)] == [sent[ends[0]]]


async def test_the_query_counts_before_the_body(alice: Person) -> None:
    await add_domains(alice, "harbour.com")
    rows = [{name: ROW[name] for name in ("domain", "date", "amount")}]
    answer = await alice.post(REVENUE, json={"rows": rows, "provider": "sedo"}, params={"provider": "bodis"})
    assert answer.status_code == 201, answer.text
    assert (await report(alice))["items"][0]["provider"] == "bodis"


async def test_a_dry_run_of_the_query_records_nothing(alice: Person) -> None:
    await add_domains(alice, "harbour.com")
    answer = await alice.post(REVENUE, json={"rows": [ROW]}, params={"dry_run": "true"})
    assert outcomes(answer.json()) == ["created"]
    assert (await report(alice))["totals"]["domains"] == 0


async def test_a_file_with_an_unknown_format_is_refused(alice: Person) -> None:
    answer = await alice.post(REVENUE, json={"csv": "domain,date,revenue\n", "format": "sedoo"})
    assert answer.status_code == 422
    assert answer.json()["detail"][0]["loc"] == ["body", "format"]


async def test_a_mapping_of_an_unknown_field_is_refused(alice: Person) -> None:
    answer = await alice.post(REVENUE, json={"csv": "domain,date,revenue\n", "mapping": {"price": "Price"}})
    assert answer.status_code == 422
    assert answer.json()["detail"][0]["loc"][:2] == ["body", "mapping"]


async def test_equal_rows_of_a_request_count_once(alice: Person) -> None:
    [domain_id] = (await add_domains(alice, "harbour.com")).values()
    reply = await record(alice, {"rows": [ROW, ROW]})
    assert (outcomes(reply), len(await valid(alice, domain_id))) == (["created", "unchanged"], 1)
    assert reply["results"][1]["warnings"][0]["code"] == "duplicate_row"


async def test_periods_that_overlap_are_refused(alice: Person) -> None:
    await add_domains(alice, "harbour.com")
    row = {"domain": "harbour.com", "revenue": "2.00", "to": day(1)}
    reply = await record(alice, {"rows": [{**row, "from": day(2)}, {**row, "from": day(3)}]})
    assert outcomes(reply) == ["created", "error"]
    assert reply["results"][1]["errors"][0]["code"] == "duplicate_row"


async def test_two_amounts_of_a_day_at_once_leave_one(alice: Person) -> None:
    [domain_id] = (await add_domains(alice, "harbour.com")).values()
    bodies = [{**ROW, "amount": amount} for amount in ("1.00", "2.00", "3.00")]
    replies = await asyncio.gather(*(record(alice, each) for each in bodies))
    assert sorted(outcome for each in replies for outcome in outcomes(each)) == ["created", "updated", "updated"]
    [(_, booked)] = await valid(alice, domain_id)
    assert (await report(alice))["totals"]["revenue"]["amount"] == booked.split()[0]


async def test_a_domain_that_is_removed_has_no_revenue_in_the_report(alice: Person) -> None:
    await add_domains(alice, "harbour.com", "pier.com")
    await record(alice, {"rows": [ROW, {**ROW, "domain": "pier.com"}]})
    removed = await alice.delete("/v1/portfolio/domains/harbour.com", params={"history": "delete"})
    assert removed.status_code == 204, removed.text
    assert [each["domain"] for each in (await report(alice))["items"]] == ["pier.com"]
    assert code(await alice.get(PARKING, params={"domain": "harbour.com"})) == (404, "portfolio_domain_not_found")
