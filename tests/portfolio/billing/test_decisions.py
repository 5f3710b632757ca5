"""Which charges are listed, what an application counts, and what a member decides about a charge."""

import asyncio
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest

from builders.kit.db.connections import Database
from builders.kit.process.settings import Settings
from builders.kit.values import clock, ids
from builders.portfolio.registrars.records import ChargeKind
from tests.cast import Person
from tests.portfolio.billing.make import (
    APPLY,
    BILLING,
    CHARGES,
    IMPORT,
    Json,
    add_domains,
    apply,
    bill,
    charges,
    database_of,
    day,
    entries,
    line,
    load,
    ok,
)
from tests.portfolio.team.make import code, join, of
from tests.worker import Worker

STATES = ("unmatched", "suggested", "matched", "applied", "ignored")
EVENTS = """
    SELECT name, data::jsonb FROM kit_outbox
    WHERE account_id = %(account_id)s AND name LIKE 'portfolio.billing.%%' ORDER BY id
"""


async def one_charge(alice: Person, *held: str, **fields: Any) -> str:
    """Record a charge of harbour.com in a portfolio; return its path."""
    if held:
        await add_domains(alice, *held)
    await bill(alice, line("10.00", "harbour.com", **fields))
    [item] = (await charges(alice))["items"]
    return f"{CHARGES}/{item['id']}"


async def one_of_each_state(alice: Person) -> None:
    await add_domains(alice, "harbour.com")
    await bill(alice, line("2.00", "harbour.com", order_id="2"), applies=False)
    await bill(
        alice,
        line("1.00", "harbour.com", order_id="1"),
        line("4.00", order_id="4", description="harbour"),
        line("8.00", "nobodys.com", order_id="8"),
        line("16.00", "nobodys.com", order_id="16"),
    )
    [ignored] = [each for each in (await charges(alice))["items"] if each["order_id"] == "16"]
    ok(await alice.patch(f"{CHARGES}/{ignored['id']}", json={"ignored": True}))


async def published(person: Person) -> list[tuple[str, Json]]:
    async with database_of(person).connection() as conn:
        rows = await (await conn.execute(EVENTS, {"account_id": person.account.id})).fetchall()
    return [(name.removeprefix("portfolio.billing."), data) for name, data in rows]


async def clear(person: Person) -> None:
    async with database_of(person).transaction() as conn:
        await conn.execute("DELETE FROM kit_outbox WHERE account_id = %s", [person.account.id])


AMOUNTS = ("8.00", "4.00", "2.00", "1.00", "16.00")


@pytest.mark.parametrize(("state", "amount"), list(zip(STATES, AMOUNTS, strict=True)))
async def test_charges_are_listed_by_state(alice: Person, state: str, amount: str) -> None:
    await one_of_each_state(alice)
    found = await charges(alice, state=state)
    assert [each["total"]["amount"] for each in found["items"]] == [amount]


async def test_the_charges_that_need_a_decision(alice: Person) -> None:
    await one_of_each_state(alice)
    found = (await charges(alice, unmatched_only=True))["items"]
    assert {each["state"] for each in found} == {"unmatched", "suggested"}


async def test_a_state_that_needs_no_decision_is_none_of_them(alice: Person) -> None:
    await one_of_each_state(alice)
    assert (await charges(alice, unmatched_only=True, state="applied"))["items"] == []


async def test_the_sums_are_those_of_the_states(alice: Person) -> None:
    await one_of_each_state(alice)
    [sums] = (await charges(alice, limit=1))["totals"]["by_currency"]
    assert [sums[state]["amount"] for state in STATES] == ["8.00", "4.00", "2.00", "1.00", "16.00"]
    assert Decimal(sums["total"]["amount"]) == sum(Decimal(sums[state]["amount"]) for state in STATES)


async def test_the_sums_follow_the_filters(alice: Person) -> None:
    await one_of_each_state(alice)
    totals = (await charges(alice, state="ignored"))["totals"]
    assert {state: count for state, count in totals["by_state"].items() if count} == {"ignored": 1}


async def test_an_empty_portfolio_has_no_sums(alice: Person) -> None:
    found = await charges(alice)
    assert (found["items"], found["totals"]["by_currency"], found["next_cursor"]) == ([], [], None)
    assert set(found["totals"]["by_state"].values()) == {0}


@pytest.mark.parametrize(
    ("query", "days"),
    [
        ({"from": "2024-02-29"}, ["2024-03-01", "2024-02-29"]),
        ({"to": "2024-02-29"}, ["2024-02-29", "2024-02-28"]),
        ({"from": "2024-02-29", "to": "2024-02-29"}, ["2024-02-29"]),
        ({"from": "2024-03-01", "to": "2024-02-28"}, []),
    ],
)
async def test_both_ends_of_a_period_are_in_it(alice: Person, query: dict[str, str], days: list[str]) -> None:
    dates = (date(2024, 2, 28), date(2024, 2, 29), date(2024, 3, 1))
    await bill(alice, *(line("1.00", "harbour.com", line_id=str(each), charged_on=each) for each in dates))
    assert [each["charged_on"] for each in (await charges(alice, **query))["items"]] == days


@pytest.mark.parametrize(
    ("parameter", "value"), [("state", "paid"), ("from", "2024-02-30"), ("provider", "x" * 81)]
)
async def test_a_filter_out_of_bounds_is_refused(alice: Person, parameter: str, value: str) -> None:
    answer = await alice.get(CHARGES, params={parameter: value})
    assert (answer.status_code, answer.json()["detail"][0]["loc"]) == (422, ["query", parameter])


async def test_a_cursor_is_valid_for_its_filters(alice: Person) -> None:
    await bill(alice, *(line("1.00", "harbour.com", line_id=str(at)) for at in range(2)))
    cursor = (await charges(alice, limit=1))["next_cursor"]
    answer = await alice.get(CHARGES, params={"limit": 1, "cursor": cursor, "state": "applied"})
    assert answer.status_code == 422


@pytest.mark.parametrize("value", ["nan", "inf", "-0.1", "1.01"])
async def test_a_certainty_is_between_zero_and_one(alice: Person, value: str) -> None:
    await one_charge(alice, "harbour.com")
    answer = await alice.post(APPLY, params={"min_confidence": value})
    assert (answer.status_code, answer.json()["detail"][0]["loc"]) == (422, ["query", "min_confidence"])


@pytest.mark.parametrize("operation", ["sync", "ensure"])
@pytest.mark.parametrize("value", ["nan", "-1", "31"])
async def test_a_wait_is_at_most_thirty_seconds(alice: Person, operation: str, value: str) -> None:
    answer = await alice.post(f"{BILLING}/{operation}", json={}, params={"wait": value})
    assert (answer.status_code, answer.json()["detail"][0]["loc"]) == (422, ["query", "wait"])


async def test_an_unknown_charge_is_not_examined(alice: Person) -> None:
    await one_charge(alice)
    await add_domains(alice, "harbour.com")
    assert (await apply(alice, ids=[str(ids.new())]))["examined"] == 0


async def test_a_thousand_charges_at_most_are_named(alice: Person) -> None:
    answer = await alice.post(APPLY, params={"ids": [str(ids.new()) for _ in range(1_001)]})
    assert (answer.status_code, answer.json()["detail"][0]["loc"]) == (422, ["query", "ids"])


@pytest.mark.parametrize(
    ("held", "fields", "reason"),
    [
        ("harbour.com", {}, "The domain field contains it."),
        ("harbour.com", {"kind": ChargeKind.OTHER, "description": "x"}, "The domain field contains it."),
        ("quay.com", {}, "The charge contains no domain of the portfolio."),
    ],
)
async def test_an_application_says_why(alice: Person, held: str, fields: Json, reason: str) -> None:
    await one_charge(alice, **fields)
    await add_domains(alice, held)
    assert [each["reason"] for each in (await apply(alice))["results"]] == [reason]


async def test_an_undone_application_says_so(alice: Person) -> None:
    await one_charge(alice, "harbour.com")
    [found] = (await apply(alice, undo=True))["results"]
    assert (found["outcome"], found["reason"]) == ("undone", "Its entry was voided.")


async def test_an_event_of_an_application_names_its_domains(alice: Person) -> None:
    await one_charge(alice)
    await add_domains(alice, "harbour.com")
    await clear(alice)
    await apply(alice)
    [(name, data)] = await published(alice)
    assert (name, data["charges"], data["domains"], data["run_id"]) == ("charge_matched", 1, ["harbour.com"], None)


async def test_a_repeated_application_has_no_event(alice: Person) -> None:
    await one_charge(alice, "harbour.com")
    await clear(alice)
    await apply(alice)
    assert await published(alice) == []


async def test_a_charge_that_was_matched_before_has_no_event(alice: Person) -> None:
    await add_domains(alice, "harbour.com")
    await bill(alice, line("10.00", "harbour.com"), applies=False)
    assert (await apply(alice))["applied"] == 1
    assert await published(alice) == []


async def test_a_dry_application_has_no_event(alice: Person) -> None:
    await one_charge(alice)
    await add_domains(alice, "harbour.com")
    await clear(alice)
    await apply(alice, dry_run=True)
    assert await published(alice) == []


async def test_the_events_of_an_import(alice: Person) -> None:
    await add_domains(alice, "harbour.com")
    row = {"date": "2026-03-01", "amount": "10.00"}
    rows = [
        {**row, "domain": "harbour.com"},
        {**row, "domain": "quay.com"},
        {**row, "description": "Refund pier.com", "amount": "-1"},
    ]
    await load(alice, rows=rows)
    found = dict(await published(alice))
    assert set(found) == {"imported", "charge_matched", "charge_unmatched", "refund_detected"}
    whole = found["imported"]
    numbers = [
        whole[name] for name in ("fetched", "new", "matched", "applied", "unmatched", "refunds", "duplicate")
    ]
    assert numbers == [3, 3, 1, 1, 2, 1, 0]
    assert found["charge_unmatched"]["domains"] == ["pier.com", "quay.com"]


async def test_a_repeated_import_has_no_event(alice: Person) -> None:
    rows = [{"date": "2026-03-01", "amount": "10.00", "domain": "harbour.com"}]
    await load(alice, rows=rows)
    await clear(alice)
    await load(alice, rows=rows)
    assert await published(alice) == []


async def test_an_event_holds_no_money(alice: Person) -> None:
    await load(alice, rows=[{"date": "2026-03-01", "amount": "73.19", "domain": "harbour.com"}])
    assert "73.19" not in str(await published(alice))


async def test_the_same_file_twice_at_once_is_recorded_once(alice: Person) -> None:
    await add_domains(alice, "harbour.com")
    rows = [{"date": "2026-03-01", "amount": "10.00", "domain": "harbour.com"}]
    done = await asyncio.gather(*(load(alice, rows=rows) for _ in range(3)))
    assert sum(each["summary"]["created"] for each in done) == 1
    assert len(await entries(alice)) == 1


@pytest.mark.parametrize(
    ("body", "state"),
    [
        pytest.param({"domain": "harbour.com"}, "applied", id="its domain"),
        pytest.param({"domain": "HARBOUR.com"}, "applied", id="in capitals"),
        pytest.param({"ignored": True}, "ignored", id="ignored"),
        pytest.param({"domain": "harbour.com", "ignored": True}, "ignored", id="its domain, and ignored"),
        pytest.param({"ignored": False}, "unmatched", id="not ignored"),
        pytest.param({"domain": None}, "unmatched", id="no domain"),
    ],
)
async def test_a_member_decides_about_an_open_charge(alice: Person, body: Json, state: str) -> None:
    path = await one_charge(alice)
    await add_domains(alice, "harbour.com")
    assert ok(await alice.patch(path, json=body))["state"] == state


@pytest.mark.parametrize(
    ("body", "state", "booked"),
    [
        pytest.param({"domain": "pier.com"}, "applied", ["pier.com"], id="another domain"),
        pytest.param({"ignored": True}, "ignored", [], id="ignored"),
        pytest.param({"domain": None}, "unmatched", [], id="no domain"),
    ],
)
async def test_a_member_decides_about_a_booked_charge(
    alice: Person, body: Json, state: str, booked: list[str]
) -> None:
    held = await add_domains(alice, "harbour.com", "pier.com")
    path = await one_charge(alice)
    assert ok(await alice.patch(path, json=body))["state"] == state
    assert [each[0] for each in await entries(alice)] == [held[name] for name in booked]


@pytest.mark.parametrize(
    "body", [{}, {"ignored": None}, {"ignored": "yes"}, {"domain": "x" * 2049}, {"domain": 7}]
)
async def test_a_decision_out_of_bounds_is_refused(alice: Person, body: Json) -> None:
    path = await one_charge(alice)
    assert (await alice.patch(path, json=body)).status_code == 422


@pytest.mark.parametrize("domain", ["nobodys.com", "", "no domain", str(ids.NIL)])
async def test_a_domain_that_is_not_held_is_not_found(alice: Person, domain: str) -> None:
    path = await one_charge(alice)
    assert code(await alice.patch(path, json={"domain": domain})) == (404, "portfolio_domain_not_found")


@pytest.mark.parametrize("charge_id", [str(ids.NIL), "harbour"])
async def test_an_unknown_charge_is_not_found(alice: Person, charge_id: str) -> None:
    assert code(await alice.patch(f"{CHARGES}/{charge_id}", json={"ignored": True})) == (404, "charge_not_found")


async def test_two_decisions_at_once_leave_one_entry(alice: Person) -> None:
    held = await add_domains(alice, "harbour.com", "pier.com")
    path = await one_charge(alice)
    await asyncio.gather(*(alice.patch(path, json={"domain": each}) for each in list(held) * 2))
    [item] = (await charges(alice))["items"]
    assert [str(each[0]) for each in await entries(alice)] == [item["match"]["domain_id"]]


async def test_an_accountant_decides_as_the_author(alice: Person, charlie: Person) -> None:
    await add_domains(alice, "harbour.com")
    path = await one_charge(alice, order_id="7", description="")
    await join(alice, charlie, "accountant")
    ok(await charlie.patch(path, json={"domain": "harbour.com"}, headers=of(alice)))
    async with database_of(alice).connection() as conn:
        rows = await conn.execute(
            "SELECT created_by FROM portfolio_ledger_entries WHERE account_id = %s AND voided_at IS NULL",
            [alice.account.id],
        )
        assert await rows.fetchall() == [(charlie.account.id,)]


@pytest.mark.parametrize(
    ("kind", "entry"),
    [
        (ChargeKind.REGISTRATION, "registration"),
        (ChargeKind.RENEWAL, "renewal"),
        (ChargeKind.TRANSFER, "transfer_fee"),
        (ChargeKind.REDEMPTION, "redemption"),
        (ChargeKind.PRIVACY, "privacy"),
        (ChargeKind.TAX, "tax"),
        (ChargeKind.OTHER, "other_cost"),
    ],
)
async def test_the_entry_of_a_kind_of_charge(alice: Person, kind: ChargeKind, entry: str) -> None:
    await one_charge(alice, "harbour.com", kind=kind)
    assert [each[1] for each in await entries(alice)] == [entry]


async def test_a_refund_is_booked_as_a_positive_refund(alice: Person) -> None:
    await add_domains(alice, "harbour.com")
    await bill(alice, line("-10.00", "harbour.com", kind=ChargeKind.REFUND))
    assert [(each[1], each[2]) for each in await entries(alice)] == [("refund", Decimal(10))]


async def test_the_sandbox_has_charges_of_its_own(alice: Person) -> None:
    await one_charge(alice)
    assert (await charges(alice.test))["items"] == []


@pytest.mark.parametrize(("ahead", "outcome"), [("2026-03-02", "created"), ("2026-03-03", "error")])
async def test_a_charge_of_tomorrow_is_that_of_places_ahead_of_utc(
    alice: Person, ahead: str, outcome: str
) -> None:
    clock.move(datetime(2026, 3, 1, 12, tzinfo=UTC) - clock.now())
    done = await load(alice, rows=[{"date": ahead, "amount": "1", "domain": "harbour.com"}])
    assert [each["outcome"] for each in done["results"]] == [outcome]


@pytest.mark.parametrize(
    ("members", "found"),
    [
        pytest.param({"amount": None}, "amount_missing", id="no amount"),
        pytest.param({"amount": "1e15"}, "amount_invalid", id="an exponent"),
        pytest.param({"amount": "1000000000000000"}, "amount_invalid", id="too much"),
        pytest.param({"date": "yesterday"}, "date_invalid", id="no date"),
        pytest.param({"amount": "1", "currency": "dollars"}, "currency_invalid", id="no currency"),
        pytest.param({"amount": "1 USD", "tax": "1 EUR"}, "currency_conflict", id="two currencies"),
    ],
)
async def test_a_row_with_a_bad_value_is_refused(alice: Person, members: Json, found: str) -> None:
    rows = [{"date": "2026-03-01", "amount": "1", "domain": "harbour.com", **members}]
    [result] = (await load(alice, rows=rows))["results"]
    assert (result["outcome"], result["errors"][0]["code"]) == ("error", found)


@pytest.mark.parametrize(
    ("members", "total"),
    [
        pytest.param({"amount": "12.00", "tax": "2.00"}, "12.00", id="an amount includes tax"),
        pytest.param({"price": "10.00", "tax": "2.00", "fee": "0.18"}, "12.18", id="a net amount does not"),
        pytest.param({"amount": "(12.00)"}, "-12.00", id="parentheses"),
        pytest.param({"amount": "12.00", "type": "Refund"}, "-12.00", id="a refund"),
        pytest.param({"amount": "-12.00", "type": "Refund"}, "-12.00", id="a negative refund"),
        pytest.param({"amount": "0"}, "0.00", id="nothing"),
    ],
)
async def test_the_total_of_a_row(alice: Person, members: Json, total: str) -> None:
    await load(alice, rows=[{"date": "2026-03-01", "domain": "harbour.com", **members}])
    assert [each["total"]["amount"] for each in (await charges(alice))["items"]] == [total]


async def test_a_bad_currency_of_the_request_is_refused(alice: Person) -> None:
    answer = await alice.post(IMPORT, json={"rows": [{}], "currency": "usd"})
    assert (answer.status_code, answer.json()["detail"][0]["loc"]) == (422, ["body", "currency"])


@pytest.mark.parametrize(
    ("provider", "status"),
    [("manual:", 404), ("manual:" + "x" * 80, 422), (" ", 422), ("nobody", 404), ("manual:dock", 200)],
)
async def test_the_provider_of_an_import(alice: Person, provider: str, status: int) -> None:
    row = {"date": "2026-03-01", "amount": "1", "domain": "harbour.com"}
    answer = await alice.post(IMPORT, json={"rows": [row], "provider": provider})
    assert answer.status_code == status


async def test_the_newest_charge_is_first(alice: Person) -> None:
    for at, text in enumerate(("2026-01-02", "2026-01-03", "2026-01-01")):
        await bill(alice, line("1.00", "harbour.com", line_id=str(at), charged_on=day(text)))
    found = [each["charged_on"] for each in (await charges(alice))["items"]]
    assert found == ["2026-01-03", "2026-01-02", "2026-01-01"]


async def test_a_charge_whose_entry_is_voided_is_not_applied(
    alice: Person, database: Database, settings: Settings
) -> None:
    path = await one_charge(alice, "harbour.com")
    [item] = (await charges(alice))["items"]
    finance = "/v1/portfolio/domains/harbour.com/finance"
    ok(await alice.patch(finance, json={"entries_void": [item["entry_id"]]}))

    await Worker(database, settings).work()

    [item] = (await charges(alice))["items"]
    assert (item["state"], item["entry_id"]) == ("matched", None)
    assert await entries(alice) == []
    ok(await alice.patch(path, json={"domain": "harbour.com"}))
    assert len(await entries(alice)) == 1


async def test_a_charge_follows_the_correction_of_its_acquisition(
    alice: Person, database: Database, settings: Settings
) -> None:
    await one_charge(alice, "harbour.com", kind=ChargeKind.REGISTRATION)
    path = "/v1/portfolio/domains/harbour.com/finance"
    for amount in ("30.00", "40.00"):  # not like the charge
        ok(await alice.patch(path, json={"acquisition": {"amount": amount, "currency": "USD"}}))
        await Worker(database, settings).work()

    [item] = (await charges(alice))["items"]
    [purchase] = [each for each in ok(await alice.get(path))["entries"] if each["voided_at"] is None]
    assert (item["state"], item["entry_id"]) == ("applied", purchase["id"])
    assert purchase["amount"]["amount"] == "40.00"


async def test_a_charge_that_was_matched_again_books_no_corrected_acquisition_twice(alice: Person) -> None:
    charge = await one_charge(alice, "harbour.com", kind=ChargeKind.REGISTRATION)
    path = "/v1/portfolio/domains/harbour.com/finance"
    ok(await alice.patch(path, json={"acquisition": {"amount": "30.00", "currency": "USD"}}))

    ok(await alice.patch(charge, json={"domain": None}))
    ok(await alice.patch(charge, json={"domain": "harbour.com"}))

    assert len(await entries(alice)) == 1
