"""The summary of a portfolio: its parts are its whole, whatever is recorded when."""

from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from builders.kit.values import clock
from tests.cast import Person
from tests.portfolio.finance.make import Book, add_domain, usd

SUMMARY = "/v1/portfolio/summary"
SUMS = ("cost", "income", "sale", "net")


async def read(owner: Person, **query: Any) -> dict[str, Any]:
    answer = await owner.get(SUMMARY, params=query)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def recorded(kind: str, amount: str, currency: str, days_ago: int) -> dict[str, Any]:
    on = (clock.now() - timedelta(days=days_ago)).date().isoformat()
    return {"kind": kind, "amount": amount, "currency": currency, "occurred_on": on}


@pytest.fixture
async def several(book: Book) -> Person:
    """Alice has entries of each group in three currencies, spread over 14 months, of two domains."""
    other = await add_domain(book.owner, "pier.co.uk", tags=["geo"])
    kinds = ("renewal", "parking_revenue", "refund", "lease_income", "transfer_fee", "tax", "commission")
    add = [
        recorded(kind, f"{10 + at}.0{round_}", ("USD", "EUR", "GBP")[(at + round_) % 3], 61 * at + 9 * round_)
        for at, kind in enumerate(kinds)
        for round_ in range(3)
    ]
    await book.change(entries_add=add[::2])
    await other.change(entries_add=add[1::2], sale={"gross": usd("900.10"), "commission_rate": "0.15"})
    return book.owner


@pytest.mark.parametrize("months", [1, 3, 12, 15, 120])
async def test_the_parts_of_a_period_are_its_whole(several: Person, months: int) -> None:
    found = await read(several, months=months)

    for name in SUMS:
        whole = Decimal(found["totals"][name]["amount"])
        assert sum(Decimal(each[name]["amount"]) for each in found["months"]) == whole, name
        assert sum(Decimal(each[name]["amount"]) for each in found["by_tld"]) == whole, name
    for name in ("entries", "unconverted"):
        for parts in ("months", "by_tld", "by_currency"):
            assert sum(each[name] for each in found[parts]) == found["totals"][name], parts
    sums = [found["totals"], *found["months"], *found["by_tld"], *found["by_tag"], *found["by_currency"]]
    for each in sums:
        cost, income, sale, net = (Decimal(each[name]["amount"]) for name in SUMS)
        assert net == income + sale - cost
    assert len(found["months"]) == months


async def test_the_summary_of_years_is_what_the_domains_earned(several: Person) -> None:
    listed = (await several.get("/v1/portfolio/domains")).json()["items"]

    found = await read(several, months=120)

    total = sum(Decimal(each["finance"]["net_position"]["amount"]) for each in listed)
    assert Decimal(found["totals"]["net"]["amount"]) == total


async def test_a_void_entry_is_in_no_sum(book: Book) -> None:
    before = await read(book.owner)
    entry = (await book.change(entries_add=[recorded("renewal", "5", "USD", 0)]))["entries"][0]
    assert (await read(book.owner))["totals"]["cost"] == usd("5.00")

    await book.change(entries_void=[entry["id"]])

    assert await read(book.owner) == before


async def test_an_entry_of_tomorrow_is_summed_tomorrow(book: Book) -> None:
    await book.change(entries_add=[recorded("renewal", "5", "USD", -1)])
    assert (await read(book.owner, months=1))["totals"]["entries"] == 0

    with clock.moved(timedelta(days=1)):
        assert (await read(book.owner, months=2))["totals"]["cost"] == usd("5.00")


async def test_a_currency_without_decimals_is_summed_in_whole_units(book: Book) -> None:
    await book.change(entries_add=[recorded("renewal", "1500", "JPY", 0)] * 2)

    [yen] = (await read(book.owner))["by_currency"]

    assert (yen["currency"], yen["cost"]) == ("JPY", {"amount": "3000", "currency": "JPY"})


async def test_the_summary_is_in_the_base_currency(several: Person, book: Book) -> None:
    before = await read(several, months=120)

    await book.change(base_currency="EUR")

    after = await read(several, months=120)
    assert {after["totals"][name]["currency"] for name in SUMS} == {after["base_currency"]} == {"EUR"}
    assert [each["cost"] for each in after["by_currency"]] == [each["cost"] for each in before["by_currency"]]
    assert after["totals"]["entries"] == before["totals"]["entries"]


async def test_a_domain_with_several_tags_counts_for_each(book: Book) -> None:
    tagged = await add_domain(book.owner, "pier.com", tags=["geo", "brand"])
    await tagged.change(entries_add=[recorded("renewal", "5", "USD", 0)])

    found = await read(book.owner)

    assert [(each["tag"], each["domains"], each["cost"]) for each in found["by_tag"]] == [
        ("brand", 1, usd("5.00")),
        ("geo", 1, usd("5.00")),
    ]
    assert found["totals"]["cost"] == usd("5.00")
