"""What a due renewal costs, and that the sums of all pages are those of their items."""

from collections import defaultdict
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from random import Random
from typing import Any
from uuid import UUID

import pytest

from builders.kit.values import clock
from builders.kit.values.money import Money
from builders.portfolio.domains import changes, names as domain_names
from builders.portfolio.domains.records import NewDomain, PortfolioDomainStatus
from builders.portfolio.ledger import currencies, entries as ledger_entries
from builders.portfolio.ledger.records import NewEntry
from tests.cast import Person
from tests.portfolio.ledger.make import add_rates, entry
from tests.portfolio.parking.make import add_domains, database_of
from tests.portfolio.renewals.make import ahead, decide, report

RATES = {"USD": Decimal(1), "EUR": Decimal("1.0849")}


def usd(amount: str) -> dict[str, str]:
    return {"amount": amount, "currency": "USD"}


async def hold(person: Person, **domains: Any) -> None:
    """Add domains of .com that expire in ten days, each with the price of its name."""
    new = [
        NewDomain(
            name=domain_names.parse_name(f"{label}.com"),
            renewal_price=None if price is None else Money.of(*price.split()),
            registrar="Porkbun",
            expires_at=ahead(10),
        )
        for label, price in domains.items()
    ]
    async with database_of(person).transaction() as conn:
        await changes.add_domains(conn, account_id=person.account.id, new=new)


async def renew(person: Person, *entries: NewEntry) -> None:
    async with database_of(person).transaction() as conn:
        await ledger_entries.post_entries(conn, account_id=person.account.id, entries=entries)


async def priced(person: Person, name: str) -> tuple[Any, str]:
    """Return the price of a due domain and its source."""
    found = {each["domain"]: each for each in (await report(person))["items"]}
    return found[name]["renewal_price"], found[name]["price_source"]


async def one_due(alice: Person, **fields: Any) -> UUID:
    [domain_id] = (await add_domains(alice, "harbour.com", expires_at=ahead(10), **fields)).values()
    return domain_id


async def test_the_price_of_the_domain_counts_before_a_renewal(alice: Person) -> None:
    domain_id = await one_due(alice, price="10.00")
    await renew(alice, entry(domain_id, "9.00"))
    assert await priced(alice, "harbour.com") == (usd("10.00"), "domain")


async def test_a_renewal_counts_before_the_median(alice: Person) -> None:
    domain_id = await one_due(alice, registrar="Porkbun")
    await hold(alice, pier="20.00 USD")
    await renew(alice, entry(domain_id, "9.00"))
    assert await priced(alice, "harbour.com") == (usd("9.00"), "last_renewal")


async def test_a_price_of_zero_is_a_price(alice: Person) -> None:
    await one_due(alice, price="0.00")
    assert await priced(alice, "harbour.com") == (usd("0.00"), "domain")


async def test_the_last_renewal_counts(alice: Person) -> None:
    domain_id = await one_due(alice)
    days = (date(2025, 3, 1), date(2026, 3, 1), date(2024, 3, 1))
    await renew(alice, *(entry(domain_id, f"{at}.00", occurred_on=day) for at, day in enumerate(days, 1)))
    assert await priced(alice, "harbour.com") == (usd("2.00"), "last_renewal")


async def test_of_two_renewals_of_a_day_the_last_one_counts(alice: Person) -> None:
    domain_id = await one_due(alice)
    for amount in ("7.00", "9.00", "8.00"):
        await renew(alice, entry(domain_id, amount, occurred_on=date(2026, 3, 1)))
    found = await report(alice)
    assert (found["items"][0]["renewal_price"], found["totals"]["base"]) == (usd("8.00"), usd("8.00"))


async def test_a_void_renewal_does_not_count(alice: Person) -> None:
    domain_id = await one_due(alice)
    await renew(alice, entry(domain_id, "9.00"))
    async with database_of(alice).transaction() as conn:
        found = await ledger_entries.list_entries_by_domain(
            conn, account_id=alice.account.id, domain_ids=[domain_id]
        )
        ids = [each.id for each in found[domain_id]]
        await ledger_entries.void_entries(conn, account_id=alice.account.id, ids=ids, reason="mistake")
    assert await priced(alice, "harbour.com") == (None, "unknown")


@pytest.mark.parametrize(
    ("amount", "currency", "years", "price"),
    [
        pytest.param("20.00", "USD", 3, "6.67", id="rounded to cents"),
        pytest.param("1000", "JPY", 3, "333", id="a currency without decimals"),
        pytest.param("10.05", "USD", 2, "5.02", id="half to even"),
        pytest.param("9.00", "USD", None, "9.00", id="years unknown"),
    ],
)
async def test_a_renewal_of_several_years_counts_for_one(
    alice: Person, amount: str, currency: str, years: int | None, price: str
) -> None:
    domain_id = await one_due(alice)
    await renew(alice, entry(domain_id, amount, currency, years=years))
    found = await report(alice)
    expected = {"amount": price, "currency": currency}
    assert (found["items"][0]["renewal_price"], found["totals"]["by_currency"]) == (expected, [expected])


@pytest.mark.parametrize(
    ("prices", "median"),
    [
        pytest.param(["3.00 USD", "1.00 USD", "2.00 USD"], "2.00 USD", id="odd"),
        pytest.param(["4.00 USD", "1.00 USD"], "1.00 USD", id="the lower one of two"),
        pytest.param(["1.00 USD", "8.00 EUR", "9.00 EUR"], "8.00 EUR", id="the currency of most"),
        pytest.param(["1.00 USD", "8.00 EUR"], "8.00 EUR", id="the first currency of equally many"),
    ],
)
async def test_the_median_of_domains_that_are_alike(alice: Person, prices: list[str], median: str) -> None:
    await hold(alice, **{f"pier{at}": price for at, price in enumerate(prices)})
    await one_due(alice, registrar="porkbun")
    amount, currency = median.split()
    assert await priced(alice, "harbour.com") == ({"amount": amount, "currency": currency}, "median")


@pytest.mark.parametrize("fields", [{"registrar": "NameSilo"}, {"registrar": None}])
async def test_another_registrar_has_another_median(alice: Person, fields: dict[str, Any]) -> None:
    await hold(alice, pier="20.00 USD")
    await one_due(alice, **fields)
    assert await priced(alice, "harbour.com") == (None, "unknown")


async def test_another_suffix_has_another_median(alice: Person) -> None:
    await hold(alice, pier="20.00 USD")
    await add_domains(alice, "harbour.net", expires_at=ahead(10), registrar="Porkbun")
    assert await priced(alice, "harbour.net") == (None, "unknown")


async def test_a_registrar_is_the_same_in_capitals_of_any_script(alice: Person) -> None:
    await add_domains(alice, "pier.com", price="20.00", expires_at=ahead(10), registrar="Überreg")
    await one_due(alice, registrar="ÜBERREG")
    assert await priced(alice, "harbour.com") == (usd("20.00"), "median")


async def test_a_price_of_a_stranger_is_in_no_median(alice: Person, bob: Person) -> None:
    await hold(bob, pier="20.00 USD")
    await one_due(alice, registrar="Porkbun")
    assert await priced(alice, "harbour.com") == (None, "unknown")


async def test_a_price_without_a_rate_is_in_no_base_sum(alice: Person) -> None:
    await hold(alice, harbour="10.00 USD", pier="3.00 XAU")
    totals = (await report(alice))["totals"]
    assert (totals["base"], totals["unconverted"], totals["unknown_price"]) == (usd("10.00"), 1, 0)


async def test_the_sums_are_in_the_base_currency(alice: Person) -> None:
    await add_rates(database_of(alice))
    await hold(alice, harbour="10.85 USD")
    async with database_of(alice).transaction() as conn:
        await currencies.set_base_currency(conn, account_id=alice.account.id, base_currency="EUR")
    found = await report(alice)
    assert (found["base_currency"], found["totals"]["base"]) == ("EUR", {"amount": "10.00", "currency": "EUR"})


async def test_a_sum_is_rounded_once(alice: Person) -> None:
    await add_rates(database_of(alice))
    await hold(alice, **{f"harbour{at}": "0.01 EUR" for at in range(60)})
    assert (await report(alice, limit=1))["totals"]["base"] == usd("0.65")


async def test_an_empty_report_has_sums_of_zero(alice: Person) -> None:
    found = await report(alice)
    totals = found["totals"]
    assert (found["items"], found["count"], found["next_cursor"]) == ([], 0, None)
    assert (totals["count"], totals["base"], totals["by_currency"], totals["by_month"]) == (0, usd("0.00"), [], [])
    assert {(each["renewals"], each["base"]["amount"]) for each in totals["by_decision"]} == {(0, "0.00")}


async def generate(alice: Person, random: Random) -> None:
    """Add domains of all kinds of prices, some of them renewed, and decide about some."""
    await add_rates(database_of(alice))
    new = [
        NewDomain(
            name=domain_names.parse_name(f"harbour{at}.{random.choice(('com', 'org'))}"),
            registrar=random.choice(("Porkbun", "PORKBUN", "NameSilo", None)),
            renewal_price=random.choice((None, None, Money(Decimal(random.randint(0, 5000)) / 100, "EUR"))),
            expires_at=ahead(random.randint(-40, 40)),
            auto_renew=random.choice((True, False, None)),
            status=random.choice((PortfolioDomainStatus.OWNED, PortfolioDomainStatus.SOLD)),
        )
        for at in range(60)
    ]
    async with database_of(alice).transaction() as conn:
        added = await changes.add_domains(conn, account_id=alice.account.id, new=new)
        entries = [
            entry(
                each.id,
                str(Decimal(random.randint(1, 9999)) / 100),
                random.choice(("USD", "EUR")),
                years=random.choice((None, 1, 2, 3)),
                occurred_on=date(2025, 1, 1) + timedelta(days=random.randint(0, 300)),
            )
            for each in random.sample(added, 30)
            for _ in range(random.randint(1, 3))
        ]
        await ledger_entries.post_entries(conn, account_id=alice.account.id, entries=entries)
    items = [
        {
            "domain_id": str(each.id),
            "decision": random.choice(("renew", "drop")),
            "years": random.choice((None, 2, 5)),
        }
        for each in random.sample(added, 25)
    ]
    assert (await decide(alice, {"items": items}))["summary"]["errors"] == 0


@pytest.mark.parametrize("seed", range(3))
async def test_the_totals_are_the_sums_of_the_items(alice: Person, seed: int) -> None:
    await generate(alice, Random(seed))  # noqa: S311 - of a test
    found = await report(alice, limit=500)
    items, totals = found["items"], found["totals"]
    assert len(items) > 10
    amounts: dict[str, Decimal] = defaultdict(Decimal)
    by_decision: dict[str, Decimal] = defaultdict(Decimal)
    by_month: dict[str, int] = defaultdict(int)
    for each in items:
        by_month[each["expires_at"][:7]] += 1
        if (price := each["renewal_price"]) is not None:
            cost = Decimal(price["amount"]) * (each["years"] or 1)
            amounts[price["currency"]] += cost
            by_decision[each["decision"]] += cost * RATES[price["currency"]]
    assert {each["currency"]: Decimal(each["amount"]) for each in totals["by_currency"]} == amounts
    assert {each["month"]: each["renewals"] for each in totals["by_month"]} == by_month
    cent = Decimal("0.01")
    for each in totals["by_decision"]:
        assert Decimal(each["base"]["amount"]) == by_decision[each["decision"]].quantize(cent)
    assert Decimal(totals["base"]["amount"]) == sum(by_decision.values(), Decimal(0)).quantize(cent)
    assert totals["unknown_price"] == sum(each["price_source"] == "unknown" for each in items)
    settings = [totals[name] for name in ("auto_renew_on", "auto_renew_off", "auto_renew_unknown")]
    assert settings == [sum(each["auto_renew"] is value for each in items) for value in (True, False, None)]


@pytest.mark.parametrize(
    ("left", "days"),
    [
        pytest.param(timedelta(hours=11), 0, id="later today"),
        pytest.param(timedelta(hours=13), 1, id="tomorrow"),
        pytest.param(timedelta(hours=-11), 0, id="earlier today"),
        pytest.param(timedelta(hours=-13), -1, id="yesterday"),
        pytest.param(timedelta(days=-3, hours=-13), -4, id="days ago"),
    ],
)
async def test_the_days_left_are_calendar_days(alice: Person, left: timedelta, days: int) -> None:
    clock.move(datetime(2026, 11, 22, 12, tzinfo=UTC) - clock.now())
    await add_domains(alice, "harbour.com", expires_at=clock.now() + left)
    assert [each["days_left"] for each in (await report(alice))["items"]] == [days]


@pytest.mark.parametrize(("days", "shown"), [(119, 0), (120, 1)])
async def test_the_report_ends_with_its_last_day(alice: Person, days: int, shown: int) -> None:
    clock.move(datetime(2026, 11, 22, 12, tzinfo=UTC) - clock.now())
    await add_domains(alice, "harbour.com", expires_at=clock.now() + timedelta(days=120, hours=11))
    assert (await report(alice, within_days=days))["totals"]["count"] == shown


async def test_the_report_of_a_leap_year_reaches_its_last_day(alice: Person) -> None:
    clock.move(datetime(2024, 2, 1, tzinfo=UTC) - clock.now())
    await add_domains(alice, "harbour.com", expires_at=datetime(2024, 2, 29, 12, tzinfo=UTC))
    found = await report(alice, within_days=29)
    assert [each["month"] for each in found["totals"]["by_month"]] == ["2024-02"]
    assert [each["days_left"] for each in found["items"]] == [28]


async def test_a_month_is_that_of_utc(alice: Person) -> None:
    clock.move(datetime(2026, 2, 20, tzinfo=UTC) - clock.now())
    await add_domains(alice, "harbour.com", expires_at=datetime.fromisoformat("2026-03-01T01:00:00+02:00"))
    assert [each["month"] for each in (await report(alice))["totals"]["by_month"]] == ["2026-02"]


@pytest.mark.parametrize("status", [each for each in PortfolioDomainStatus if not each.is_held])
async def test_a_domain_that_is_not_held_is_not_due(alice: Person, status: PortfolioDomainStatus) -> None:
    await add_domains(alice, "harbour.com", expires_at=ahead(3), status=status)
    found = await report(alice)
    assert (found["items"], found["totals"]["count"]) == ([], 0)


@pytest.mark.parametrize(
    ("query", "shown"),
    [
        ({"registrar": "PORKBUN"}, ["a.com"]),
        ({"tld": "org"}, ["b.org"]),
        ({"auto_renew": "true"}, ["a.com"]),
        ({"decision": "drop"}, ["b.org"]),
        ({"decision": "undecided"}, ["a.com"]),
        ({"q": "B"}, ["b.org"]),
        ({"tld": "org", "auto_renew": "true"}, []),
    ],
)
async def test_a_filter_holds_for_items_and_sums(alice: Person, query: dict[str, str], shown: list[str]) -> None:
    await add_domains(alice, "a.com", expires_at=ahead(3), registrar="Porkbun", auto_renew=True)
    await add_domains(alice, "b.org", expires_at=ahead(4), registrar="NameSilo", auto_renew=False)
    await decide(alice, {"domains": ["b.org"], "set": {"decision": "drop"}})
    found = await report(alice, **query)
    assert [each["domain"] for each in found["items"]] == shown
    assert found["totals"]["count"] == len(shown)


async def test_domains_of_one_expiry_are_on_one_page_each(alice: Person) -> None:
    names, at = {f"harbour{each}.com" for each in range(5)}, ahead(3)
    await add_domains(alice, *names, expires_at=at)
    first = await report(alice, limit=3)
    rest = await report(alice, limit=3, cursor=first["next_cursor"])
    assert {each["domain"] for each in (*first["items"], *rest["items"])} == names
    assert (rest["count"], rest["next_cursor"]) == (2, None)


async def test_each_price_is_shown_in_the_base_currency(alice: Person) -> None:
    await add_rates(database_of(alice))
    await hold(alice, euro="10.00 EUR", dollar="7.00 USD", coin="1.00 BTC", none=None)
    found = {each["domain"]: each for each in (await report(alice))["items"]}
    shown = {name: each["renewal_price_base"] for name, each in found.items()}
    # The median of the prices in euros, dollars and coins is that of the first currency.
    assert shown["euro.com"] == usd("10.85")
    assert shown["dollar.com"] == usd("7.00")
    assert (found["coin.com"]["renewal_price"]["currency"], shown["coin.com"]) == ("BTC", None)
    assert (found["none.com"]["renewal_price"]["currency"], shown["none.com"]) == ("BTC", None)
