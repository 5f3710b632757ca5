"""Revenue in parts of a cent: each day is exact, and the ledger books the sum of a month, rounded once."""

from collections import defaultdict
from collections.abc import Mapping
from datetime import date, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from builders.kit.values.money import Money
from builders.portfolio.domains import changes
from tests.cast import Person
from tests.portfolio.imports.make import EXPORT, load, ok, undo
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

FILE = (
    "Domain,Date,Provider,Visits,Revenue\n"
    "harbour.com,2024-03-01,Bodis,12,$0.0375\n"
    "harbour.com,2024-03-02,Bodis,3,$0.0041\n"
    "harbour.com,2024-03-03,Bodis,40,$1.2345\n"
)
EXACT = [("2024-03-01", "0.0375"), ("2024-03-02", "0.0041"), ("2024-03-03", "1.2345")]
LAST = date(2024, 3, 28)


async def add(alice: Person) -> UUID:
    return (await add_domains(alice, "harbour.com"))["harbour.com"]


async def booked(alice: Person, domain_id: UUID) -> list[tuple[str, str]]:
    """Day and amount of the valid entries, by day."""
    return sorted((str(on), amount) for on, amount in await valid(alice, domain_id))


async def test_a_file_with_parts_of_a_cent_is_recorded_exactly(alice: Person) -> None:
    domain_id = await add(alice)
    answer = await alice.post(REVENUE, content=FILE, headers={"Content-Type": "text/csv"})
    assert outcomes(answer.json()) == ["created"] * 3
    assert [each["warnings"] for each in answer.json()["results"]] == [[], [], []]
    assert await days_of(alice) == EXACT
    assert await booked(alice, domain_id) == [("2024-03-03", "1.28 USD")]  # of 1.2761
    assert outcomes(await record(alice, {"csv": FILE})) == ["unchanged"] * 3
    assert len(await entries(alice, domain_id)) == 1


async def test_the_report_and_its_export_are_exact(alice: Person) -> None:
    await add(alice)
    for ago, amount in ((3, "0.0375"), (2, "0.0041"), (1, "1.2345")):
        await record(alice, {"domain": "harbour.com", "date": day(ago), "amount": amount, "visits": 10})
    found = await report(alice, days=9)
    exact = {"amount": "1.2761", "currency": "USD"}
    assert [each["revenue"]["amount"] for each in found["daily"]] == ["0.0375", "0.0041", "1.2345"]
    assert (found["items"][0]["revenue"], found["totals"]["revenue"]) == (exact, exact)
    assert found["totals"]["by_currency"] == [exact]
    lines = (await alice.get(f"{PARKING}.csv", params={"days": 9, "group_by": "day"})).text.splitlines()
    assert [line.split(",")[6] for line in lines[1:]] == ["0.0375", "0.0041", "1.2345"]


async def test_days_that_arrive_one_by_one_are_rounded_together(alice: Person) -> None:
    """A cent a month: each day rounds to nothing."""
    domain_id = await add(alice)
    for each in range(1, 4):
        row = {"domain": "harbour.com", "date": f"2024-03-0{each}", "amount": "0.0041"}
        await record(alice, row)
    assert await booked(alice, domain_id) == [("2024-03-03", "0.01 USD")]


async def test_rows_with_references_of_their_own_are_rounded_together(alice: Person) -> None:
    domain_id = await add(alice)
    row = {"domain": "harbour.com", "date": "2024-03-01", "amount": "0.0041"}
    await record(alice, {"rows": [{**row, "external_ref": str(at)} for at in range(10)]})
    assert await booked(alice, domain_id) == [("2024-03-01", "0.04 USD")]


@pytest.mark.parametrize(
    ("amounts", "expected"),
    [
        pytest.param(["0.005"], [], id="half a cent to the even zero"),
        pytest.param(["0.0050001"], ["0.01 USD"], id="more than half a cent"),
        pytest.param(["0.015"], ["0.02 USD"], id="a cent and a half to the even two"),
        pytest.param(["0.0025", "0.0025", "0.01"], ["0.02 USD"], id="a sum of one and a half"),
        pytest.param(["0.00000001"], [], id="the least part"),
    ],
)
async def test_a_month_is_rounded_half_even(alice: Person, amounts: list[str], expected: list[str]) -> None:
    domain_id = await add(alice)
    row = {"domain": "harbour.com", "provider": "sedo"}
    rows = [{**row, "date": f"2024-03-0{at}", "amount": each} for at, each in enumerate(amounts, 1)]
    await record(alice, {"rows": rows})
    assert [amount for _, amount in await booked(alice, domain_id)] == expected


async def test_the_rest_of_a_month_is_not_carried_to_the_next(alice: Person) -> None:
    domain_id = await add(alice)
    rows = [
        {"domain": "harbour.com", "date": f"2024-0{month}-01", "amount": "0.004", "provider": provider}
        for month in (3, 4)
        for provider in ("sedo", "bodis")
    ]
    await record(alice, {"rows": rows})
    assert await booked(alice, domain_id) == []
    await record(alice, {**rows[0], "amount": "0.014"})
    assert await booked(alice, domain_id) == [("2024-03-01", "0.01 USD")]


async def test_visits_alone_do_not_touch_the_ledger(alice: Person) -> None:
    domain_id = await add(alice)
    await record(alice, {"csv": FILE})
    await record(alice, {"csv": FILE.replace(",40,", ",41,")})
    await record(
        alice, {"domain": "harbour.com", "date": "2024-03-09", "amount": "0", "provider": "bodis", "visits": 1}
    )
    [entry] = await entries(alice, domain_id)
    assert not entry.is_void


async def test_a_correction_replaces_the_part_of_a_cent(alice: Person) -> None:
    domain_id = await add(alice)
    await record(alice, {"csv": FILE})
    assert outcomes(await record(alice, {"csv": FILE.replace("1.2345", "1.2299")})) == [
        "unchanged",
        "unchanged",
        "updated",
    ]
    assert await booked(alice, domain_id) == [("2024-03-03", "1.27 USD")]  # of 1.2715


async def test_an_export_is_imported_with_its_parts_of_a_cent(alice: Person, bob: Person) -> None:
    await add(alice)
    await record(alice, {"csv": FILE})
    await load(bob, (await alice.get(EXPORT)).text)
    assert await days_of(bob) == EXACT
    own, others = [
        [
            (each["occurred_on"], each["amount"], each["memo"])
            for each in ok(await person.get("/v1/portfolio/domains/harbour.com/finance"))["entries"]
        ]
        for person in (alice, bob)
    ]
    assert own == others


async def test_an_undo_books_what_others_recorded(alice: Person) -> None:
    """Also if the month was booked again since, and by two imports that are undone in either order."""
    domain_id = await add(alice)
    await record(alice, {"domain": "harbour.com", "date": "2024-03-01", "amount": "0.006", "provider": "sedo"})
    money = {"amount": "0.006", "currency": "USD", "provider": "sedo"}
    first, second = [
        await load(alice, [{"domain": "harbour.com", "parking": [{**money, "on": f"2024-03-0{at}"}]}])
        for at in (2, 3)
    ]
    assert await booked(alice, domain_id) == [("2024-03-03", "0.02 USD")]
    await undo(alice, first)
    assert (await days_of(alice), await booked(alice, domain_id)) == (
        [("2024-03-01", "0.006"), ("2024-03-03", "0.006")],
        [("2024-03-03", "0.01 USD")],
    )
    await undo(alice, second)
    assert await booked(alice, domain_id) == [("2024-03-01", "0.01 USD")]


async def test_the_undo_of_two_imports_removes_the_domain(alice: Person) -> None:
    money = {"amount": "0.006", "currency": "USD", "provider": "sedo"}
    first, second = [
        await load(alice, [{"domain": "harbour.com", "parking": [{**money, "on": f"2024-03-0{at}"}]}])
        for at in (2, 3)
    ]
    assert (await undo(alice, second))["undo"]["restored"] == 0
    assert (await undo(alice, first))["undo"]["removed"] == 1


@pytest.mark.parametrize("second", ["1.00", "0.995"])  # the second one makes a larger number by its rounding
async def test_a_month_that_no_entry_can_have_is_refused_alone(alice: Person, second: str) -> None:
    domain_id = await add(alice)
    large = {"domain": "harbour.com", "provider": "sedo", "amount": "999999999999999.00"}
    row = {"domain": "harbour.com", "date": "2024-03-02", "amount": second}
    april = {**row, "date": "2024-04-01"}
    rows = [{**large, "date": "2024-03-01"}, {**row, "provider": "sedo"}, {**april, "provider": "sedo"}]
    assert outcomes(await record(alice, {"rows": rows[:1]})) == ["created"]
    replied = await record(alice, {"rows": rows})
    assert outcomes(replied) == ["unchanged", "error", "created"]
    assert replied["results"][1]["errors"][0]["code"] == "amount_invalid"
    parking = {"amount": second, "currency": "USD", "provider": "sedo", "on": "2024-03-05"}
    imported = await load(alice, [{"domain": "harbour.com", "parking": [parking]}])
    assert [each["code"] for each in imported["results"][0]["warnings"]] == ["amount_invalid"]
    booked_amounts = [amount for _, amount in await booked(alice, domain_id)]
    assert booked_amounts == ["999999999999999.00 USD", str(Money.of("1", "USD"))]


def sent(start: int, days: int, amount: int, decimals: int, currency: str) -> Mapping[str, Any]:
    """Return a sum for days around the end of a month."""
    since = LAST + timedelta(start)
    return {
        "domain": "harbour.com",
        "amount": f"{Decimal(amount).scaleb(-decimals):f}",
        "currency": currency,
        "period": {"from": str(since), "to": str(since + timedelta(days - 1))},
    }


REPORTS = st.lists(
    st.builds(
        sent,
        st.integers(0, 6),
        st.integers(1, 4),
        st.integers(0, 400),
        st.integers(2, 5),
        st.sampled_from(["USD", "KWD"]),
    ),
    min_size=1,
    max_size=5,
)


@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(reports=REPORTS)
async def test_a_month_is_its_rounded_sum_whatever_replaces_what(
    alice: Person, reports: list[Mapping[str, Any]]
) -> None:
    domain_id = await add(alice)
    for each in reports:
        await record(alice, each)
    assert outcomes(await record(alice, reports[-1])) == ["unchanged"]
    [row] = (await alice.get("/v1/portfolio/export")).json()["rows"]
    sums = defaultdict[tuple[str, str], Decimal](Decimal)
    for each in row["parking"]:
        sums[each["on"][:7], each["currency"]] += Decimal(each["amount"])
    rounded = {(month, currency): Money(each, currency).quantized() for (month, currency), each in sums.items()}
    expected = sorted((month, str(each)) for (month, _), each in rounded.items() if each.amount)
    assert sorted((on[:7], amount) for on, amount in await booked(alice, domain_id)) == expected
    async with database_of(alice).transaction() as conn:
        await changes.remove_domain(conn, account_id=alice.account.id, domain_id=domain_id)
