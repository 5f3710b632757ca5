"""Revenue is recorded by day, each day once, and booked in the ledger."""

import asyncio
import json
from datetime import date, timedelta
from decimal import Decimal
from functools import partial
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given, strategies as st

from builders.kit.values import clock, ids
from builders.kit.values.money import MAX_DECIMALS, Money
from builders.portfolio.domains import changes
from builders.portfolio.parking import report as parking_report, revenue
from builders.portfolio.parking.records import PeriodRevenue
from builders.portfolio.parking.revenue_plans import spread
from tests.cast import Person
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
    valid,
)
from tests.portfolio.team.make import code, join, of


async def test_many_days_are_recorded_and_exported_in_parts(
    alice: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(revenue, "record_revenue", partial(revenue.record_revenue, batch_size=4))
    monkeypatch.setattr(parking_report, "stream_csv", partial(parking_report.stream_csv, batch_size=2))
    found = await add_domains(alice, "harbour.com", "lantern.com", "pier.com")
    row = {"period": {"from": day(4), "to": day(0)}, "currency": "USD"}
    rows = [{**row, "domain": name, "amount": "5.01"} for name in found]
    assert outcomes(await record(alice, {"rows": rows})) == ["created"] * 3
    assert outcomes(await record(alice, {"rows": rows})) == ["unchanged"] * 3
    rows[1]["amount"] = "10.00"
    assert outcomes(await record(alice, {"rows": rows})) == ["unchanged", "updated", "unchanged"]
    for name, amount in (("harbour.com", "5.01 USD"), ("lantern.com", "10.00 USD")):
        assert [booked for _, booked in await valid(alice, found[name])] == [amount]
    lines = (await alice.get(f"{PARKING}.csv")).text.splitlines()[1:]
    shown = [line.split(",") for line in lines]
    assert sorted((each[0], each[6]) for each in shown) == [
        ("harbour.com", "5.01"),
        ("lantern.com", "10.00"),
        ("pier.com", "5.01"),
    ]


GOOD = {"domain": "harbour.com", "date": day(1), "amount": "1.00"}
# Rows of one request, each with the code of its error; None for a row that is recorded.
ROWS: list[tuple[Any, str | None]] = [
    (GOOD, None),
    ({**GOOD, "domain": "www.harbour.com"}, "portfolio_domain_not_found"),
    ({**GOOD, "domain": "unknown.com"}, "portfolio_domain_not_found"),
    ({**GOOD, "domain": str(ids.new())}, "portfolio_domain_not_found"),
    ({**GOOD, "amount": "-1"}, "amount_negative"),
    ({"domain": "harbour.com", "amount": "1"}, "date_missing"),
    ({**GOOD, "date": day(-3)}, "date_invalid"),
    ({**GOOD, "date": None, "period": {"from": day(1), "to": day(2)}}, "date_invalid"),
    ({**GOOD, "amount": "1.000000001"}, "amount_invalid"),
    ({**GOOD, "amount": None}, "revenue_missing"),
    ({**GOOD, "visits": "many", "external_ref": "a"}, None),
    (GOOD, None),
    ({**GOOD, "amount": "2.00"}, "duplicate_row"),
    ({**GOOD, "date": "1999-12-31"}, "date_invalid"),
    (
        {"domain": "harbour.com", "amount": "1", "period": {"from": "2020-01-01", "to": "2021-06-01"}},
        "date_invalid",
    ),
    ({**GOOD, "provider": "bodis", "lables": 1}, None),
]


async def test_one_bad_row_stops_no_other(alice: Person) -> None:
    domain_id = (await add_domains(alice, "harbour.com"))["harbour.com"]
    reply = await record(alice, {"rows": [row for row, _ in ROWS], "currency": "EUR"})
    found = [[error["code"] for error in each["errors"]] for each in reply["results"]]
    assert found == [[] if expected is None else [expected] for _, expected in ROWS]
    accepted = [each["outcome"] for each in reply["results"] if not each["errors"]]
    assert accepted == ["created", "created", "unchanged", "created"]
    assert [each["index"] for each in reply["results"]] == list(range(len(ROWS)))
    assert reply["results"][1]["errors"][0]["did_you_mean"] == "harbour.com"
    assert reply["results"][10]["warnings"][0]["code"] == "number_invalid"
    assert reply["results"][11]["warnings"][0]["code"] == "duplicate_row"
    assert [each["column"] for each in reply["detected"]["unmapped_columns"]] == ["lables"]
    # Two rows of the same day and provider, and one of another provider.
    assert sorted(amount for _, amount in await valid(alice, domain_id)) == ["1.00 EUR", "2.00 EUR"]


DAYS = [f"2024-03-0{each}" for each in range(1, 5)]
PERIOD = {"domain": "harbour.com", "amount": "10.00", "period": {"from": DAYS[0], "to": DAYS[2]}, "visits": 4}


async def booked(owner: Person, domain_id: UUID) -> list[tuple[str, str]]:
    return [(str(on), amount) for on, amount in await valid(owner, domain_id)]


async def test_the_days_of_a_period_are_one_entry(alice: Person) -> None:
    domain_id = (await add_domains(alice, "harbour.com"))["harbour.com"]
    assert outcomes(await record(alice, PERIOD)) == ["created"]
    assert await booked(alice, domain_id) == [(DAYS[2], "10.00 USD")]
    assert await days_of(alice) == [(DAYS[0], "3.34"), (DAYS[1], "3.33"), (DAYS[2], "3.33")]
    [entry] = await entries(alice, domain_id)
    assert entry.memo == f"Parking: manual, {DAYS[0]} to {DAYS[2]}"


async def test_a_longer_period_replaces_a_shorter_one(alice: Person) -> None:
    domain_id = (await add_domains(alice, "harbour.com"))["harbour.com"]
    await record(alice, PERIOD)
    longer = {**PERIOD, "amount": "12.00", "period": {"from": DAYS[0], "to": DAYS[3]}}
    assert outcomes(await record(alice, longer)) == ["updated"]
    assert await booked(alice, domain_id) == [(DAYS[3], "12.00 USD")]
    assert outcomes(await record(alice, longer)) == ["unchanged"]


async def test_a_day_of_a_period_is_replaced_and_the_month_stays_one_entry(alice: Person) -> None:
    domain_id = (await add_domains(alice, "harbour.com"))["harbour.com"]
    await record(alice, PERIOD)
    assert outcomes(await record(alice, {"domain": "harbour.com", "amount": "5.00", "date": DAYS[1]})) == [
        "updated"
    ]
    assert await booked(alice, domain_id) == [(DAYS[2], "11.67 USD")]
    assert await days_of(alice) == [(DAYS[0], "3.34"), (DAYS[1], "5.00"), (DAYS[2], "3.33")]


async def test_the_days_of_a_month_in_one_request_are_one_entry(alice: Person) -> None:
    domain_id = (await add_domains(alice, "harbour.com"))["harbour.com"]
    days = ["2026-03-30", "2026-03-31", "2026-04-01"]
    rows = [{"domain": "harbour.com", "amount": "1.00", "date": each} for each in days]
    assert outcomes(await record(alice, {"rows": rows})) == ["created"] * 3
    assert await booked(alice, domain_id) == [("2026-03-31", "2.00 USD"), ("2026-04-01", "1.00 USD")]
    rows[0]["amount"] = "3.00"
    assert outcomes(await record(alice, {"rows": rows})) == ["updated", "unchanged", "unchanged"]
    assert sorted(await booked(alice, domain_id)) == [("2026-03-31", "4.00 USD"), ("2026-04-01", "1.00 USD")]


async def test_a_cancelled_period_has_no_entry(alice: Person) -> None:
    domain_id = (await add_domains(alice, "harbour.com"))["harbour.com"]
    await record(alice, PERIOD)
    assert outcomes(await record(alice, {**PERIOD, "amount": "0"})) == ["updated"]
    assert await booked(alice, domain_id) == []


@given(
    cents=st.integers(0, 10**9),
    days=st.integers(1, 366),
    visits=st.none() | st.integers(0, 10**6),
    currency=st.sampled_from(["USD", "JPY", "KWD"]),
    decimals=st.integers(0, MAX_DECIMALS),
)
def test_the_parts_of_a_period_add_up(
    cents: int, days: int, visits: int | None, currency: str, decimals: int
) -> None:
    money = Money(Decimal(cents).scaleb(-decimals), currency).with_decimals()
    row = PeriodRevenue(
        index=0,
        line=None,
        domain="harbour.com",
        money=money,
        since=date(2024, 1, 1),
        until=date(2024, 1, 1) + timedelta(days=days - 1),
        provider="sedo",
        reference="",
        visits=visits,
        clicks=None,
    )
    parts = list(spread(row, ids.NIL))
    assert len({each.key for each in parts}) == days
    assert sum((each.money for each in parts), Money.zero(currency)) == money
    smallest = min(each.money for each in parts)
    assert parts[0].money == max(each.money for each in parts) <= smallest + Money.of("1", currency)
    assert sum(each.visits or 0 for each in parts) == (visits or 0)
    assert all(each.clicks is None for each in parts)


async def test_the_same_rows_at_once_are_booked_once(alice: Person) -> None:
    names = [f"harbour{n}.com" for n in range(6)]
    found = await add_domains(alice, *names)
    rows = [{"domain": each, "date": day(1), "amount": "1.00"} for each in names]
    bodies = [{"rows": rows}, {"rows": rows[::-1]}, {"rows": rows}, {"rows": rows[::-1]}]
    replies = await asyncio.gather(*(record(alice, each) for each in bodies))
    assert sum(each["summary"]["created"] for each in replies) == len(names)
    assert sum(each["summary"]["unchanged"] for each in replies) == 3 * len(names)
    for domain_id in found.values():
        assert [amount for _, amount in await valid(alice, domain_id)] == ["1.00 USD"]


async def test_a_dry_run_records_nothing(alice: Person) -> None:
    domain_id = (await add_domains(alice, "harbour.com"))["harbour.com"]
    body = {"domain": "harbour.com", "date": day(), "amount": "1.00"}
    assert outcomes(await record(alice, {**body, "dry_run": True})) == ["created"]
    assert await entries(alice, domain_id) == []
    assert outcomes(await record(alice, body)) == ["created"]


async def test_revenue_goes_with_its_domain(alice: Person) -> None:
    domain_id = (await add_domains(alice, "harbour.com"))["harbour.com"]
    body = {"domain": "harbour.com", "date": day(), "amount": "1.00"}
    await record(alice, body)
    async with database_of(alice).transaction() as conn:
        await changes.remove_domain(conn, account_id=alice.account.id, domain_id=domain_id)
    assert (await alice.get(PARKING)).json()["totals"]["domains"] == 0
    await add_domains(alice, "harbour.com")
    assert outcomes(await record(alice, body)) == ["created"]


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"rows": []},
        {"domain": "harbour.com"},
        {"amount": "1.00"},
        {"domain": "harbour.com", "amount": "1.00", "rows": [{}]},
        {"csv": "x", "rows": [{}]},
        {"csv": "Domain\nharbour.com\n", "date": "2026-01-01"},
        {"csv": "Revenue\n1\n", "date": "2026-01-01"},
        {"csv": "Name,Total Revenue\nharbour.com,1\n"},
        {"domain": "harbour.com", "amount": "1", "date": "2026-01-01", "period": {"from": "2026-01-01"}},
        {"domain": "harbour.com", "amount": "1", "only": True},
    ],
)
async def test_a_body_that_names_no_rows_is_refused(alice: Person, body: dict[str, object]) -> None:
    assert (await alice.post(REVENUE, json=body)).status_code == 422


BODY = {"domain": "harbour.com", "date": day(), "amount": "1.00"}


async def test_a_stranger_records_revenue_of_own_domains_alone(alice: Person, bob: Person) -> None:
    await add_domains(alice, "harbour.com")
    assert outcomes(await record(bob, BODY)) == ["error"]


async def test_the_sandbox_has_domains_of_its_own(alice: Person) -> None:
    await add_domains(alice, "harbour.com")
    assert outcomes(await record(alice.test, BODY)) == ["error"]


async def test_an_accountant_records_revenue_as_its_author(alice: Person, charlie: Person) -> None:
    [domain_id] = (await add_domains(alice, "harbour.com")).values()
    await join(alice, charlie, "accountant")
    assert outcomes(await record(charlie, BODY, headers=of(alice))) == ["created"]
    assert [each.created_by for each in await entries(alice, domain_id)] == [charlie.account.id]


FIND_EVENTS = """
    SELECT data FROM kit_outbox
    WHERE account_id = %(account_id)s AND name = 'portfolio.parking.revenue_recorded' ORDER BY id
"""


async def events(alice: Person) -> list[dict[str, Any]]:
    async with database_of(alice).connection() as conn:
        cursor = await conn.execute(FIND_EVENTS, {"account_id": alice.account.id})
        return [json.loads(data) for (data,) in await cursor.fetchall()]


async def test_the_event_of_new_revenue(alice: Person) -> None:
    await add_domains(alice, "harbour.com", "pier.com")
    period = {"period": {"from": day(3), "to": day(2)}}
    rows = [
        {**BODY, "provider": "sedo", "date": day(1)},
        {"domain": "pier.com", "amount": "1", "provider": "bodis"},
    ]
    await record(alice, {"rows": rows, **period})
    [found] = await events(alice)
    assert found | {"domain": "?"} == {
        "domain": "?",
        "domains": ["harbour.com", "pier.com"],
        "domain_count": 2,
        "providers": ["bodis", "sedo"],
        "since": day(3),
        "until": day(1),
        "days_created": 3,
        "days_updated": 0,
    }


async def test_the_event_of_one_domain_names_it(alice: Person) -> None:
    await add_domains(alice, "harbour.com")
    await record(alice, BODY)
    assert [each["domain"] for each in await events(alice)] == ["harbour.com"]


async def test_the_event_of_several_domains_names_none_of_them_alone(alice: Person) -> None:
    await add_domains(alice, "harbour.com", "pier.com")
    await record(alice, {"rows": [BODY, {**BODY, "domain": "pier.com"}]})
    assert [each["domain"] for each in await events(alice)] == [None]


async def test_the_event_of_a_correction_counts_what_it_replaced(alice: Person) -> None:
    await add_domains(alice, "harbour.com")
    await record(alice, BODY)
    await record(alice, {**BODY, "amount": "3.00"})
    assert [(each["days_created"], each["days_updated"]) for each in await events(alice)] == [(1, 0), (0, 1)]


async def test_a_repeated_request_has_no_event(alice: Person) -> None:
    await add_domains(alice, "harbour.com")
    for _ in range(2):
        await record(alice, BODY)
    assert len(await events(alice)) == 1


async def test_a_dry_run_has_no_event(alice: Person) -> None:
    await add_domains(alice, "harbour.com")
    await record(alice, {**BODY, "dry_run": True})
    assert await events(alice) == []


async def test_an_event_names_a_hundred_domains_and_counts_all(alice: Person) -> None:
    names = [f"harbour{number:03}.com" for number in range(101)]
    await add_domains(alice, *names)
    await record(alice, {"rows": [{**BODY, "domain": name} for name in names]})
    [found] = await events(alice)
    assert (found["domains"], found["domain_count"]) == (names[:100], 101)


async def test_an_event_holds_no_money(alice: Person) -> None:
    await add_domains(alice, "harbour.com")
    await record(alice, {**BODY, "amount": "73.19"})
    assert "73.19" not in str(await events(alice))


async def test_revenue_is_voided_by_its_day_alone(alice: Person) -> None:
    await add_domains(alice, "harbour.com")
    await record(alice, {**GOOD, "amount": "5"})
    [entry] = (await alice.get("/v1/portfolio/domains/harbour.com/finance")).json()["entries"]
    answer = await alice.patch("/v1/portfolio/domains/harbour.com/finance", json={"entries_void": [entry["id"]]})
    assert answer.status_code == 422
    assert answer.json()["detail"][0]["type"] == "entry_of_parking"
    await record(alice, {**GOOD, "amount": "0"})
    assert (await alice.get("/v1/portfolio/domains/harbour.com/finance")).json()["income"]["parking"][
        "amount"
    ] == "0.00"


async def test_advice_knows_whether_a_domain_had_visits(alice: Person) -> None:
    """Unknown before parking counts visits; a corrected count changes the reason, in finance and in the report."""
    expires_at = (clock.now() + timedelta(days=20)).isoformat()
    added = await alice.post("/v1/portfolio/domains", json={"domain": "pier.com", "expires_at": expires_at})
    assert added.status_code == 201, added.text

    async def has_reason() -> bool:
        found = (await alice.get("/v1/portfolio/domains/pier.com/finance")).json()["recommendation"]["reasons"]
        (due,) = (await alice.get("/v1/portfolio/renewals")).json()["items"]
        assert ("no_traffic" in due["recommendation"]["reasons"]) is ("no_traffic" in found)
        return "no_traffic" in found

    row = {"domain": "pier.com", "date": day(3), "amount": "0.00", "currency": "USD"}
    for visits, expected in ((None, False), (0, True), (7, False), (0, True)):
        assert "error" not in outcomes(await record(alice, {"rows": [{**row, "visits": visits}]}))
        assert await has_reason() is expected


@pytest.mark.parametrize(("rows", "status"), [(273, 201), (274, 422)])
async def test_the_days_of_duplicate_rows_count(alice: Person, rows: int, status: int) -> None:
    await add_domains(alice, "harbour.com")
    row = {"domain": "harbour.com", "amount": "3.66", "period": {"from": day(365), "to": day(0)}}
    answer = await alice.post(REVENUE, json={"rows": [row] * rows, "dry_run": True})
    assert answer.status_code == status, answer.text
    if status != 201:
        assert code(answer) == (422, "too_many_days")


async def test_the_columns_of_a_file_are_limited(alice: Person) -> None:
    header = ",".join(["domain", "revenue", "date", *(f"note{at}" for at in range(500))])
    assert code(await alice.post(REVENUE, json={"csv": f"{header}\n"})) == (422, "too_many_columns")
