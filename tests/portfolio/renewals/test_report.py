"""What is due and overdue, what it costs, and who sees it."""

from collections import Counter
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from random import Random

from hypothesis import given, strategies as st

from builders.kit.db.connections import Conn
from builders.kit.http.pagination import PageRequest
from builders.kit.values import clock
from builders.portfolio.domains.records import RenewalDecision
from builders.portfolio.renewals import report as renewal_report
from builders.portfolio.renewals.records import DueSum
from builders.portfolio.renewals.report import add_up
from tests.cast import Client, Person
from tests.portfolio.parking.make import add_domains
from tests.portfolio.reads import Traced, multiply, traced
from tests.portfolio.renewals.make import RENEWALS, ahead, decide, fill, report
from tests.portfolio.team.make import code, join, of

SHOWN = ["overdue.com", "harbour.com", "renewed.com", "median.com", "unknown.org"]


def usd(amount: str) -> dict[str, str]:
    return {"amount": amount, "currency": "USD"}


async def test_what_is_due_and_overdue_with_its_prices(alice: Person, bob: Person) -> None:
    await fill(alice)
    found = await report(alice)
    items = {each["domain"]: each for each in found["items"]}
    assert list(items) == SHOWN
    assert [each["days_left"] for each in found["items"]] == [-6, 10, 20, 21, 22]
    assert [(each["renewal_price"], each["price_source"]) for each in found["items"]] == [
        (usd("20.00"), "domain"),
        (usd("10.00"), "domain"),
        ({"amount": "8.00", "currency": "EUR"}, "last_renewal"),
        (usd("20.00"), "median"),
        (None, "unknown"),
    ]
    overdue, harbour = items["overdue.com"], items["harbour.com"]
    assert (overdue["lifecycle"], harbour["lifecycle"]) == ("grace", "expiring")
    assert overdue["drop_dates"]["basis"].startswith("gTLD")
    assert harbour["decision"] == "undecided"
    assert harbour["recommendation"]["verdict"] == "review"
    assert harbour["recommendation"]["expected_gain"] == usd("-10.00")
    assert (found["within_days"], found["count"], found["redacted"]) == (30, 5, [])
    totals = found["totals"]
    assert totals["by_currency"] == [{"amount": "8.00", "currency": "EUR"}, usd("50.00")]
    assert totals["base"] == usd("58.68")  # 8 EUR at 1.0849
    assert (totals["count"], totals["unknown_price"], totals["unconverted"]) == (5, 1, 0)
    assert (totals["auto_renew_on"], totals["auto_renew_off"], totals["auto_renew_unknown"]) == (1, 1, 3)
    months = Counter(f"{ahead(days):%Y-%m}" for days in (-6, 10, 20, 21, 22))
    assert {each["month"]: each["renewals"] for each in totals["by_month"]} == months
    assert (await report(bob))["items"] == []
    assert len((await report(alice, within_days=365))["items"]) == len(SHOWN) + 1
    assert (await alice.get(RENEWALS, params={"within_days": 366})).status_code == 422


async def test_the_days_of_the_list_of_domains_count_too(alice: Person) -> None:
    for name, days in (
        ("expired.com", -2),
        ("soon.com", 20),
        ("later.com", 80),
        ("last.com", 90),
        ("far.com", 92),
    ):
        await add_domains(alice, name, expires_at=ahead(days))

    async def names(**query: int) -> list[str]:
        return [each["domain"] for each in (await report(alice, **query))["items"]]

    assert await names(expiring_within_days=90) == ["soon.com", "later.com", "last.com"]
    assert (await report(alice, expiring_within_days=90))["within_days"] == 90
    assert (await report(alice, expiring_within_days=90))["totals"]["count"] == 3
    assert await names(expiring_within_days=0) == []
    assert await names(expiring_within_days=90, within_days=30) == ["soon.com"]
    assert await names(within_days=90) == ["expired.com", "soon.com", "later.com", "last.com"]


async def test_a_month_has_the_sum_of_each_currency(alice: Person) -> None:
    clock.move(datetime(2026, 3, 1, 12, tzinfo=UTC) - clock.now())
    prices = [("one.com", 10, "10.00", "USD"), ("two.com", 11, "8.00", "EUR"), ("four.com", 40, "7.00", "USD")]
    for name, days, amount, currency in [*prices, ("three.com", 12, "2.50", "EUR")]:
        price = {"amount": amount, "currency": currency}
        body = {"domain": name, "expires_at": ahead(days).isoformat(), "renewal_price": price}
        assert (await alice.post("/v1/portfolio/domains", json=body)).status_code == 201
    months = (await report(alice, within_days=60))["totals"]["by_month"]
    assert {each["month"]: each["by_currency"] for each in months} == {
        "2026-03": [{"amount": "10.50", "currency": "EUR"}, usd("10.00")],
        "2026-04": [usd("7.00")],
    }


async def test_pages_have_the_totals_of_all(alice: Person) -> None:
    await fill(alice)
    whole = await report(alice)
    first = await report(alice, limit=2)
    second = await report(alice, limit=2, cursor=first["next_cursor"])
    third = await report(alice, limit=2, cursor=second["next_cursor"])
    assert [*first["items"], *second["items"], *third["items"]] == whole["items"]
    assert third["next_cursor"] is None
    assert first["totals"] == second["totals"] == whole["totals"]


async def test_a_viewer_sees_what_is_due_and_no_money(
    alice: Person, bob: Person, charlie: Person, anyone: Client
) -> None:
    await fill(alice)
    await join(alice, charlie, "viewer")
    found = await report(charlie, headers=of(alice))
    assert found["redacted"] == ["finance"]
    assert [each["domain"] for each in found["items"]] == SHOWN
    hidden = [(each["renewal_price"], each["recommendation"], each["price_source"]) for each in found["items"]]
    assert set(hidden) == {(None, None, "unknown")}
    totals = found["totals"]
    assert (totals["base"], totals["by_currency"], totals["unknown_price"]) == (None, None, None)
    assert {each["base"] for each in (*totals["by_month"], *totals["by_decision"])} == {None}
    assert {each["by_currency"] for each in totals["by_month"]} == {None}
    assert totals["count"] == len(SHOWN)
    assert code(await bob.get(RENEWALS, headers=of(alice))) == (404, "portfolio_not_found")
    assert (await anyone.get(RENEWALS)).status_code == 401
    assert (await report(alice.test))["items"] == []


async def test_figures_select_what_is_due_and_its_sums(alice: Person, charlie: Person) -> None:
    await fill(alice)
    bounds = {"max_renewal_price_base": "15"}
    found = await report(alice, **bounds)
    assert [each["domain"] for each in found["items"]] == ["harbour.com"]
    assert (found["totals"]["count"], found["totals"]["base"]) == (1, usd("10.00"))
    spent = await report(alice, min_cost="1")
    assert [each["domain"] for each in spent["items"]] == ["renewed.com"]
    await join(alice, charlie, "viewer")
    answer = await charlie.get(RENEWALS, params=bounds, headers=of(alice))
    assert code(answer) == (403, "forbidden_role")


async def test_a_decision_for_several_years_counts_for_them(alice: Person) -> None:
    await fill(alice)
    await decide(alice, {"items": [{"domain_id": "harbour.com", "decision": "renew", "years": 3}]})
    totals = (await report(alice))["totals"]
    assert totals["base"] == usd("78.68")
    costs = {each["decision"]: (each["renewals"], each["base"]) for each in totals["by_decision"]}
    assert costs["renew"] == (1, usd("30.00"))
    assert costs["drop"] == (0, usd("0.00"))


async def test_a_renewal_ends_a_decision_in_the_sums_too(alice: Person) -> None:
    await fill(alice)
    await decide(alice, {"items": [{"domain_id": "harbour.com", "decision": "renew", "years": 3}]})
    renewed = {"expires_at": ahead(300).isoformat()}
    assert (await alice.patch("/v1/portfolio/domains/harbour.com", json=renewed)).status_code == 200
    totals = (await report(alice, within_days=310))["totals"]
    assert [each["renewals"] for each in totals["by_decision"]] == [0, 0, len(SHOWN) + 1]


async def test_a_page_reads_its_own_rows_and_sums(alice: Person, conn: Conn, tmp_path: Path) -> None:
    await fill(alice)
    few = await read_page(alice, conn, tmp_path)
    await multiply(conn, account_id=alice.account.id, domain="median.com", count=100)
    many = await read_page(alice, conn, tmp_path)
    assert many == few
    assert (await report(alice, limit=1))["totals"]["count"] == len(SHOWN) + 100


async def read_page(owner: Person, conn: Conn, folder: Path) -> Traced:
    page = PageRequest(limit=1, seal=str)
    with traced(conn, folder) as found:
        await renewal_report.get_report(
            conn, account_id=owner.account.id, within_days=30, page=page, shows_finance=True
        )
    return found


SUMS = st.builds(
    lambda month, cents, currency, decision, auto_renew, count: DueSum(
        month=date(2026, month, 1),
        decision=decision,
        auto_renew=auto_renew,
        currency=None if cents is None else currency,
        amount=None if cents is None else Decimal(cents) / 100,
        renewals=count,
    ),
    st.integers(1, 12),
    st.none() | st.integers(0, 10**6),
    st.sampled_from(["USD", "EUR", "XAU"]),
    st.sampled_from(RenewalDecision),
    st.none() | st.booleans(),
    st.integers(1, 1000),
)


@given(st.lists(SUMS, max_size=20), st.randoms())
def test_the_sums_agree_in_any_sequence(sums: list[DueSum], random: Random) -> None:
    rates = {"USD": Decimal(1), "EUR": Decimal("1.0849")}
    totals = add_up(sums, rates)
    shuffled = list(sums)
    random.shuffle(shuffled)
    assert add_up(shuffled, rates) == totals
    assert sum(each.base for each in totals.by_month.values()) == totals.base
    assert sum(each.base for each in totals.by_decision.values()) == totals.base
    count = sum(each.renewals for each in sums)
    assert sum(each.renewals for each in totals.by_month.values()) == totals.count == count
    assert totals.auto_renew_on + totals.auto_renew_off + totals.auto_renew_unknown == totals.count
    quoted = {each.currency: each.amount for each in totals.by_currency}
    assert sum(amount * rates.get(currency, 0) for currency, amount in quoted.items()) == totals.base
    months = Counter[str]()
    for month in totals.by_month.values():
        months.update({each.currency: each.amount for each in month.by_currency})
    assert months == quoted
    assert totals.unknown_price == sum(each.renewals for each in sums if each.currency is None)
    assert (totals.unconverted > 0) == ("XAU" in quoted)
