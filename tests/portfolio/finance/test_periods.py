"""A domain that is sold, bought back and sold again: figures of each holding period."""

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given, strategies as st

from builders.kit.values import ids
from builders.portfolio.finance.calculation import Facts, calculate, signed_amount
from builders.portfolio.finance.overview import list_starts, split_entries
from builders.portfolio.finance.records import Sale
from builders.portfolio.ledger.records import EntryKind
from tests.portfolio.finance.make import Book, amounts, changed, shown, usd
from tests.portfolio.finance.test_calculation import entry

FIRST: dict[str, Any] = {
    "acquisition": {"amount": "100", "currency": "USD", "on": "2020-01-01"},
    "sale": {"gross": usd("300"), "sold_on": "2021-01-01", "commission_rate": "0.1"},
}
BACK: dict[str, Any] = {"acquisition": {"amount": "250", "currency": "USD", "on": "2022-01-01"}}
AGAIN: dict[str, Any] = {"sale": {"gross": usd("1000"), "sold_on": "2023-01-01"}}


@pytest.fixture
async def resold(book: Book) -> Book:
    for body in (FIRST, BACK, AGAIN):
        await book.change(**body)
    return book


async def test_a_domain_that_is_bought_back_is_held_again(book: Book) -> None:
    await book.change(**FIRST)
    found = await book.change(**BACK)
    assert changed(found)["status"] == ("sold", "owned")
    assert (found["sale"], found["holding_days"] is not None) == (None, True)
    assert amounts(found, "cost_basis", "total_cost", "realized_profit") == ["250.00", "250.00", None]
    assert found["recommendation"] is not None


async def test_figures_are_those_of_each_holding_period(resold: Book) -> None:
    found = await resold.get()
    [earlier] = found["earlier_periods"]
    assert amounts(earlier, "cost_basis", "realized_profit") == ["100.00", "170.00"]
    assert (earlier["holding_days"], earlier["roi"], earlier["sale"]["sold_on"]) == (366, 1.7, "2021-01-01")
    assert amounts(found, "cost_basis", "realized_profit") == ["250.00", "750.00"]
    assert (found["holding_days"], found["roi"], found["sale"]["sold_on"]) == (365, 3.0, "2023-01-01")
    assert not any(each[3] for each in shown(found))


async def test_a_day_in_an_earlier_period_shows_what_was_known_then(resold: Book) -> None:
    found = await resold.get(as_of="2021-06-30")
    assert (found["earlier_periods"], found["sale"]["sold_on"]) == ([], "2021-01-01")
    assert amounts(found, "realized_profit") == ["170.00"]


async def test_costs_between_a_sale_and_the_next_purchase_belong_to_the_sale(resold: Book) -> None:
    late = {"kind": "other_cost", "amount": "5", "currency": "USD", "occurred_on": "2021-02-01"}
    found = await resold.change(entries_add=[late])
    assert amounts(found["earlier_periods"][0], "realized_profit") == ["165.00"]


async def test_an_earlier_sale_is_changed_by_its_id(resold: Book) -> None:
    sale_id = (await resold.get())["earlier_periods"][0]["sale"]["id"]
    found = await resold.change(sale={"id": sale_id, "commission_rate": "0.2"})
    assert amounts(found["earlier_periods"][0], "realized_profit") == ["140.00"]
    assert (found["status"], found["sale"]["gross"]) == ("sold", usd("1000.00"))


async def test_an_earlier_sale_is_voided_by_its_price(resold: Book) -> None:
    price = next(each for each in (await resold.get())["entries"] if each["kind"] == "sale")
    found = await resold.change(entries_void=[price["id"]])
    assert (found["earlier_periods"], found["status"]) == ([], "sold")
    assert amounts(found, "cost_basis", "realized_profit") == ["350.00", "650.00"]


async def test_the_void_of_the_last_sale_restores_the_holding(resold: Book) -> None:
    found = await resold.change(sale=None)
    assert (found["status"], found["sale"], len(found["earlier_periods"])) == ("owned", None, 1)


async def test_a_domain_is_bought_back_and_sold_in_one_change(book: Book) -> None:
    await book.change(**FIRST)
    found = await book.change(**BACK, **AGAIN)
    assert (found["status"], found["sale"]["gross"], len(found["earlier_periods"])) == ("sold", usd("1000.00"), 1)


@pytest.mark.parametrize(("sold_on", "status"), [("2022-01-01", "sold"), ("2021-12-31", "owned")])
async def test_a_purchase_on_the_day_of_a_sale_comes_before_it(book: Book, sold_on: str, status: str) -> None:
    await book.change(**BACK)
    found = await book.change(sale={"gross": usd("300"), "sold_on": sold_on})
    assert found["status"] == status


async def test_a_second_sale_on_a_day_is_refused(resold: Book) -> None:
    assert await resold.refuse(sale={"sold_on": "2021-01-01"}) == (["sale", "sold_on"], "sale_exists")


async def test_an_acquisition_before_the_sale_is_a_correction(book: Book) -> None:
    await book.change(**FIRST)
    found = await book.change(acquisition={"amount": "90", "on": "2020-02-01"})
    assert (found["earlier_periods"], found["status"]) == ([], "sold")
    assert amounts(found, "cost_basis", "realized_profit") == ["90.00", "180.00"]


DAYS = st.dates(date(2020, 1, 1), date(2024, 12, 31))
AMOUNTS = st.decimals(min_value=0, max_value=10**6, places=2)
KINDS = st.sampled_from([each for each in EntryKind if each is not EntryKind.SALE])


def sale(on: date) -> Sale:
    return Sale(
        id=ids.new(),
        domain_id=UUID(int=0),
        sold_on=on,
        own_share=Decimal(1),
        status_before="owned",
        created_at=datetime(2026, 1, 1, tzinfo=UTC),
    )


@given(
    st.lists(st.builds(entry, DAYS, KINDS, AMOUNTS), max_size=20),
    st.lists(DAYS, max_size=5, unique=True),
)
def test_each_entry_counts_in_one_period(entries: list[Any], sold: list[date]) -> None:
    entries.sort(key=lambda each: each.occurred_on)
    sales = [sale(each) for each in sorted(sold)]
    starts = list_starts(entries, sales)
    assert len(sales) in {len(starts), len(starts) + 1}
    assert [*starts] == sorted({*starts})
    periods = split_entries(entries, sales, starts)
    assert [each for period in periods for each in period] == entries
    for one, following in zip(sales, starts, strict=False):
        assert one.sold_on < following
    for start, ended in zip(starts, sales[1:], strict=False):
        assert start <= ended.sold_on
    figures = [calculate(each, Facts(), as_of=date(2025, 1, 1)) for each in periods]
    assert sum((each.net_position for each in figures), Decimal(0)) == sum(map(signed_amount, entries), Decimal(0))
