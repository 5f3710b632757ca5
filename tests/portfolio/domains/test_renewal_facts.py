"""Expiries and renewal prices of many domains, as reports, calendars and notices read them."""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest

from builders.kit.db.connections import Conn, Database
from builders.kit.values import ids
from builders.kit.values.money import Money
from builders.portfolio.domains import renewal_facts
from builders.portfolio.domains.records import ExpiringDomain, RenewalSum
from builders.portfolio.domains.today import Today
from tests.cast import Person
from tests.portfolio.domains.make import add

JANUARY, FEBRUARY, MARCH = (datetime(2031, month, 1, tzinfo=UTC) for month in (1, 2, 3))
PERIOD: dict[str, Any] = {"since": date(2031, 1, 1), "until": date(2031, 2, 28), "today": Today(JANUARY)}
GANDI = ("com", "gandi")


def price(amount: str, currency: str = "USD") -> dict[str, str]:
    return {"amount": amount, "currency": currency}


async def expiring(conn: Conn, owner: Person, **options: Any) -> list[ExpiringDomain]:
    options = {**PERIOD, "limit": 9, **options}
    return [*await renewal_facts.list_expiring(conn, account_id=owner.account.id, **options)]


async def sums(conn: Conn, owner: Person) -> set[RenewalSum]:
    found = await renewal_facts.list_renewal_sums(conn, account_id=owner.account.id, **PERIOD)
    return {*found}


async def medians(conn: Conn, owner: Person, *of: tuple[str, str]) -> dict[tuple[str, str], Money]:
    return {**await renewal_facts.list_median_prices(conn, account_id=owner.account.id, of=of)}


async def test_domains_are_listed_by_their_expiry(alice: Person, database: Database) -> None:
    for name, at in (("b.com", 2), ("a.com", 3), ("c.com", 1)):
        await add(alice, name, expires_at=(JANUARY + timedelta(days=at)).isoformat())
    async with database.connection() as conn:
        assert [each.domain for each in await expiring(conn, alice)] == ["c.com", "b.com", "a.com"]


async def test_the_end_of_the_period_is_not_in_it(alice: Person, database: Database) -> None:
    await add(alice, "a.com", expires_at=JANUARY.isoformat())
    await add(alice, "b.com", expires_at=MARCH.isoformat())
    async with database.connection() as conn:
        assert [each.domain for each in await expiring(conn, alice)] == ["a.com"]


async def test_a_domain_without_an_expiry_does_not_expire(alice: Person, database: Database) -> None:
    await add(alice, "a.com")
    async with database.connection() as conn:
        assert await expiring(conn, alice, since=renewal_facts.EVER) == []


@pytest.mark.parametrize("status", ["sold", "dropped", "transferred_out"])
async def test_a_domain_that_is_not_held_does_not_expire(alice: Person, database: Database, status: str) -> None:
    await add(alice, "a.com", status=status, expires_at=FEBRUARY.isoformat(), renewal_price=price("9.00"))
    async with database.connection() as conn:
        assert (await expiring(conn, alice), await sums(conn, alice)) == ([], set())


async def test_the_next_page_begins_behind_the_last_domain(alice: Person, database: Database) -> None:
    for name in ("a.com", "b.com", "c.com"):  # of one expiry: the id decides
        await add(alice, name, expires_at=FEBRUARY.isoformat())
    async with database.connection() as conn:
        first = await expiring(conn, alice, limit=2)
        rest = await expiring(conn, alice, limit=2, after=(first[-1].expires_at, first[-1].id))
    assert [each.domain for each in (*first, *rest)] == ["a.com", "b.com", "c.com"]


async def test_the_expiries_of_others_are_not_listed(alice: Person, bob: Person, database: Database) -> None:
    await add(alice, "a.com", expires_at=FEBRUARY.isoformat(), renewal_price=price("9.00"))
    async with database.connection() as conn:
        assert (await expiring(conn, bob), await sums(conn, bob)) == ([], set())


async def test_renewal_prices_are_summed_by_month_and_currency(alice: Person, database: Database) -> None:
    for name, month, money in (
        ("a.com", JANUARY, price("9.00")),
        ("b.com", JANUARY, price("1.50")),
        ("c.com", JANUARY, price("8.00", "EUR")),
        ("d.com", FEBRUARY, price("7.00")),
    ):
        await add(alice, name, expires_at=month.isoformat(), renewal_price=money)
    async with database.connection() as conn:
        assert await sums(conn, alice) == {
            RenewalSum(month=date(2031, 1, 1), currency="USD", domains=2, amount=Decimal("10.50")),
            RenewalSum(month=date(2031, 1, 1), currency="EUR", domains=1, amount=Decimal("8.00")),
            RenewalSum(month=date(2031, 2, 1), currency="USD", domains=1, amount=Decimal("7.00")),
        }


async def test_domains_without_a_price_are_counted(alice: Person, database: Database) -> None:
    await add(alice, "a.com", expires_at=JANUARY.isoformat())
    async with database.connection() as conn:
        [unknown] = await sums(conn, alice)
    assert (unknown.currency, unknown.domains, unknown.amount) == (None, 1, Decimal(0))


@pytest.mark.parametrize(("zone", "month"), [("UTC", 1), ("Europe/Berlin", 2), ("America/New_York", 1)])
async def test_a_month_is_one_of_the_time_zone(alice: Person, database: Database, zone: str, month: int) -> None:
    await add(alice, "a.com", expires_at="2031-02-01T00:30:00+01:00")
    period = {**PERIOD, "today": Today(JANUARY, ZoneInfo(zone))}
    async with database.connection() as conn:
        [found] = await renewal_facts.list_renewal_sums(conn, account_id=alice.account.id, **period)
    assert found.month == date(2031, month, 1)


async def test_the_portfolios_with_domains_are_listed_by_their_ids(
    alice: Person, bob: Person, charlie: Person, database: Database
) -> None:
    for owner, name in ((alice, "a.com"), (bob, "b.com"), (bob, "c.com")):
        await add(owner, name)
    async with database.connection() as conn:
        after, portfolios = ids.NIL, list[UUID]()
        while found := await renewal_facts.list_portfolios(conn, after=after, limit=1):
            portfolios += found
            after = found[-1]
    known = {alice.account.id, bob.account.id, charlie.account.id}
    assert [each for each in portfolios if each in known] == sorted([alice.account.id, bob.account.id])


@pytest.mark.parametrize(
    ("prices", "median"),
    [
        pytest.param(["9.00", "1.00", "5.00"], "5.00", id="the middle"),
        pytest.param(["9.00", "5.00"], "5.00", id="the lower of two in the middle"),
    ],
)
async def test_a_median_is_the_price_of_a_domain(
    alice: Person, database: Database, prices: list[str], median: str
) -> None:
    for at, amount in enumerate(prices):
        await add(alice, f"a{at}.com", registrar="Gandi", renewal_price=price(amount))
    async with database.connection() as conn:
        assert await medians(conn, alice, GANDI) == {GANDI: Money.of(median, "USD")}


async def test_a_median_is_of_the_currency_of_most_prices(alice: Person, database: Database) -> None:
    for at, money in enumerate((price("1.00"), price("8.00", "EUR"), price("9.00", "EUR"))):
        await add(alice, f"a{at}.com", registrar="Gandi", renewal_price=money)
    async with database.connection() as conn:
        assert await medians(conn, alice, GANDI) == {GANDI: Money.of("8.00", "EUR")}


async def test_a_median_is_of_one_suffix_and_registrar_in_any_case(alice: Person, database: Database) -> None:
    for name, registrar, amount in (
        ("a.com", "GANDI", "1.00"),
        ("b.com", "Gandi", "5.00"),
        ("c.com", "GANDI", "9.00"),
        ("a.net", "Gandi", "1.00"),
        ("d.com", "Porkbun", "2.00"),
    ):
        await add(alice, name, registrar=registrar, renewal_price=price(amount))
    async with database.connection() as conn:
        assert await medians(conn, alice, GANDI, ("org", "gandi")) == {GANDI: Money.of("5.00", "USD")}


async def test_a_median_is_of_the_own_portfolio(alice: Person, bob: Person, database: Database) -> None:
    await add(bob, "a.com", registrar="Gandi", renewal_price=price("5.00"))
    async with database.connection() as conn:
        assert await medians(conn, alice, GANDI) == {}
