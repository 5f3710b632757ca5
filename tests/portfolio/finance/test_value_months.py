"""GET /v1/portfolio/summary: the estimated value at the end of each month."""

from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, strategies as st

from builders.kit.db.connections import Conn, Database
from builders.kit.values import clock, ids
from builders.portfolio.domains.filters import ALL_DOMAINS
from builders.portfolio.domains.store.filters import HELD
from builders.portfolio.domains.today import Today
from builders.portfolio.finance import store
from tests.cast import Person
from tests.portfolio.domains.make import DOMAINS, add
from tests.portfolio.finance.make import usd
from tests.portfolio.ledger.make import add_rates
from tests.portfolio.team.make import join, of
from tests.random_cases import cases

SUMMARY = "/v1/portfolio/summary"
JANUARY = datetime(2027, 1, 31, 20, tzinfo=UTC)


@pytest.fixture(autouse=True)
def january() -> None:
    clock.move(JANUARY - clock.now())


def pass_days(days: int = 31) -> None:
    """Move from a month to the next one, or by some days."""
    clock.move(timedelta(days=days))


async def change(owner: Person, domain: str = "harbour.com", **members: Any) -> None:
    answer = await owner.patch(f"{DOMAINS}/{domain}", json=members)
    assert answer.status_code == 200, answer.text


async def values(owner: Person, headers: Any = None, **query: Any) -> dict[str, Any]:
    """Return the value of each month of a summary, without those that have none."""
    answer = await owner.get(SUMMARY, params=query, headers=headers)
    assert answer.status_code == 200, answer.text
    return {each["month"]: each["value"] for each in answer.json()["months"] if each["value"] is not None}


async def in_dollars(owner: Person, **query: Any) -> dict[str, str]:
    return {month: each["base"]["amount"] for month, each in (await values(owner, **query)).items()}


async def test_a_month_keeps_the_estimate_that_it_ended_with(alice: Person) -> None:
    await add(alice, estimated_value=usd("100.00"))
    await change(alice, estimated_value=usd("150.00"))
    pass_days()
    pass_days()
    await change(alice, estimated_value=usd("80.00"))
    await change(alice, estimated_value=usd("90.50"))

    assert list((await in_dollars(alice)).values()) == ["150.00", "150.00", "150.00", "90.50"]


async def test_the_value_before_the_first_estimate_is_unknown(alice: Person) -> None:
    await add(alice)
    pass_days()
    await change(alice, estimated_value=usd("1.00"))

    assert await in_dollars(alice, months=12) == {"2027-03": "1.00"}


async def test_the_present_value_is_known_without_an_estimate(bob: Person) -> None:
    assert await values(bob) == {"2027-01": {"base": usd("0.00"), "by_currency": [], "unconverted": 0}}


async def test_a_sold_domain_has_its_value_in_the_months_before(alice: Person) -> None:
    await add(alice, estimated_value=usd("100.00"))
    pass_days()
    await change(alice, status="sold")
    await change(alice, estimated_value=usd("70.00"))
    pass_days()
    await change(alice, status="owned")

    assert list((await in_dollars(alice)).values()) == ["100.00", "100.00", "0.00", "70.00"]


async def test_a_recorded_sale_ends_the_value(alice: Person) -> None:
    await add(alice, estimated_value=usd("100.00"))
    pass_days(28)
    sold = await alice.patch(f"{DOMAINS}/harbour.com/finance", json={"sale": {"gross": usd("500.00")}})
    assert sold.status_code == 200

    assert await in_dollars(alice) == {"2027-01": "100.00", "2027-02": "0.00"}


async def test_a_removed_domain_has_no_value_in_the_past(alice: Person) -> None:
    await add(alice, estimated_value=usd("100.00"))
    await add(alice, "pier.com", estimated_value=usd("1.00"))
    pass_days(28)
    assert (await alice.delete(f"{DOMAINS}/harbour.com")).status_code == 204

    assert await in_dollars(alice) == {"2027-01": "1.00", "2027-02": "1.00"}


async def test_values_are_converted_at_the_rates_of_today(alice: Person, database: Database) -> None:
    await add_rates(database)
    await add(alice, estimated_value=usd("100.00"))
    euros = {"amount": "10.00", "currency": "EUR"}
    await add(alice, "pier.com", estimated_value=euros, renewal_price=euros, expires_at="2027-02-10")
    await add(alice, "quay.com", estimated_value={"amount": "3.00", "currency": "BTC"})
    [due] = (await alice.get("/v1/portfolio/renewals")).json()["items"]

    [january] = (await values(alice)).values()
    assert january["by_currency"] == [
        {"amount": "3.00", "currency": "BTC"},
        euros,
        usd("100.00"),
    ]
    assert january["unconverted"] == 1
    assert Decimal(january["base"]["amount"]) == 100 + Decimal(due["renewal_price_base"]["amount"])


async def test_an_estimate_in_another_currency_replaces_the_first(alice: Person) -> None:
    await add(alice, estimated_value=usd("100.00"))
    pass_days(28)
    euros = {"amount": "90.00", "currency": "EUR"}
    await change(alice, estimated_value=euros)

    assert [each["by_currency"] for each in (await values(alice)).values()] == [[usd("100.00")], [euros]]


async def test_a_month_is_one_of_the_account(alice: Person) -> None:
    assert (await alice.patch("/v1/me", json={"timezone": "Asia/Tokyo"})).status_code == 200
    await add(alice, estimated_value=usd("100.00"))

    assert await in_dollars(alice) == {"2027-02": "100.00"}


async def test_a_move_to_the_west_keeps_the_estimates_of_the_next_month(alice: Person) -> None:
    await add(alice, estimated_value=usd("100.00"))
    for zone, estimate in (("Asia/Tokyo", "150.00"), ("America/New_York", "170.00")):
        assert (await alice.patch("/v1/me", json={"timezone": zone})).status_code == 200
        await change(alice, estimated_value=usd(estimate))

    assert await in_dollars(alice) == {"2027-01": "170.00"}


async def test_a_first_estimate_of_zero_is_a_value(alice: Person) -> None:
    await add(alice)
    await change(alice, estimated_value=usd("0.00"))
    pass_days(28)
    await change(alice, estimated_value=usd("5.00"))

    assert await in_dollars(alice) == {"2027-01": "0.00", "2027-02": "5.00"}


async def test_a_period_in_the_past_has_the_values_of_then(alice: Person) -> None:
    await add(alice, estimated_value=usd("100.00"))
    pass_days(28)
    await change(alice, estimated_value=usd("70.00"))
    pass_days(28)
    await change(alice, estimated_value=None)

    assert await in_dollars(alice, **{"from": "2026-11-15", "to": "2027-02-10"}) == {
        "2027-01": "100.00",
        "2027-02": "70.00",
    }


async def test_who_sees_no_money_sees_no_value(alice: Person, bob: Person, charlie: Person) -> None:
    await add(alice, estimated_value=usd("100.00"))
    await join(alice, charlie, "viewer")

    assert await values(charlie, headers=of(alice)) == {}
    assert await in_dollars(bob) == {"2027-01": "0.00"}


STATUSES = ("owned", "listed", "expired", "sold", "dropped", "transferred_out")
ESTIMATES = st.one_of(
    st.none(),
    st.tuples(st.integers(0, 900), st.sampled_from(("USD", "EUR", "JPY"))).map(
        lambda of: {"amount": str(of[0]), "currency": of[1]}
    ),
)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("value"), st.integers(0, 2), ESTIMATES),
        st.tuples(st.just("status"), st.integers(0, 2), st.sampled_from(STATUSES)),
        st.tuples(st.sampled_from(("remove", "wait")), st.integers(0, 2), st.none()),
    ),
    min_size=4,
    max_size=14,
)
Held = dict[str, dict[str, Any] | None]  # the estimate of each held domain


def summed(held: Held) -> dict[str, Decimal]:
    sums = defaultdict[str, Decimal](Decimal)
    for each in held.values():
        if each is not None:
            sums[each["currency"]] += Decimal(each["amount"])
    return {currency: amount for currency, amount in sums.items() if amount}


@cases(10)
@given(steps=STEPS)
async def test_the_value_of_each_month_is_that_of_the_domains_held_at_its_end(
    alice: Person, steps: Sequence[tuple[str, int, Any]]
) -> None:
    tag, at_end, removed = f"t{ids.new().hex}", dict[str, Held](), set[str]()
    domains = [(await add(alice, f"s{ids.new().hex}.com", tags=[tag]))["id"] for _ in range(3)]
    with clock.moved(timedelta(0)):
        for kind, at, given_ in steps:
            if kind == "wait":
                pass_days()
            elif kind == "remove":
                removed.add(domains[at])
                assert (await alice.delete(f"{DOMAINS}/{domains[at]}")).status_code == 204
                domains[at] = (await add(alice, f"s{ids.new().hex}.com", tags=[tag], estimated_value=usd("7.00")))[
                    "id"
                ]
            else:
                await change(
                    alice, domains[at], **{"status": given_} if kind == "status" else {"estimated_value": given_}
                )
            listed = (await alice.get(DOMAINS, params={"tag": tag})).json()["items"]
            at_end[f"{clock.now():%Y-%m}"] = {
                each["id"]: each["estimated_value"]
                for each in listed
                if each["status"] not in {"sold", "dropped", "transferred_out"}
            }
        found = await values(alice, tag=tag, months=24)
    unknown: dict[str, Any] = {"by_currency": []}  # before the first estimate
    for month, held in at_end.items():
        left = {domain_id: each for domain_id, each in held.items() if domain_id not in removed}
        shown = {each["currency"]: Decimal(each["amount"]) for each in found.get(month, unknown)["by_currency"]}
        assert shown == summed(left), month


YEARS = """
    INSERT INTO portfolio_domains_value_changes (account_id, month, domain_id, currency, change)
    SELECT %(account_id)s, month, %(domain_id)s, 'USD', 1
    FROM generate_series(date '2000-01-01', date '2026-12-01', interval '1 month') AS month
"""


async def test_changes_are_read_from_an_index(alice: Person, conn: Conn) -> None:
    account_id, domain_id = alice.account.id, (await add(alice))["id"]
    day = datetime(2024, 1, 1, tzinfo=UTC).date()
    query = store.SummaryQuery(
        account_id=account_id,
        filters=ALL_DOMAINS,
        base_currency="USD",
        since=day,
        until=day,
        today=Today(clock.now()),
    )
    row = query.parameters() | {"held": HELD}
    async with conn.transaction(force_rollback=True):
        await conn.execute("SET LOCAL enable_seqscan = off")  # of so small a table
        await conn.execute("SET LOCAL enable_bitmapscan = off")  # of rows that no vacuum has seen
        await conn.execute(YEARS, {"account_id": account_id, "domain_id": domain_id})
        await conn.execute("ANALYZE portfolio_domains_value_changes")
        plan = await (await conn.execute(f"EXPLAIN {store.SUM_VALUES}", row)).fetchall()
    assert any("portfolio_domains_value_changes_pkey" in line for (line,) in plan), plan
