"""The terms of a sale: how they become entries, and how a merge patch changes them."""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given, strategies as st

from builders.kit.values import ids
from builders.kit.values.money import Money
from builders.portfolio.finance.records import Sale
from builders.portfolio.finance.sales import sale_entries, spread
from builders.portfolio.ledger.records import EntryKind, Installment, Payment, SaleFee, SaleRole, SaleTerms
from tests.portfolio.finance.make import DOMAINS, SALE, Book, add_domain, amounts, shown, usd

SOLD_ON = date(2024, 3, 4)
CURRENCIES = st.sampled_from(["USD", "JPY", "KWD"])
SHARES = st.decimals(0, 1, places=4)


@st.composite
def payments(draw: st.DrawFn) -> tuple[Money, list[Payment]]:
    """An amount and payments of a price, in one currency."""
    currency = draw(CURRENCIES)
    paid = draw(st.lists(st.integers(0, 10**9), min_size=1, max_size=8))
    listed = [
        Payment(money=Money(Decimal(each), currency).quantized(), on=SOLD_ON + timedelta(days=at))
        for at, each in enumerate(paid)
    ]
    whole = sum(paid)
    return Money(whole * draw(SHARES), currency).quantized(), listed


@given(payments())
def test_the_parts_of_an_amount_are_the_whole(given_: tuple[Money, list[Payment]]) -> None:
    total, paid = given_
    parts = spread(total, paid)
    whole = sum((each.money.amount for each in paid), Decimal(0))
    step = Money(Decimal(1), total.currency).quantized().amount.as_tuple().exponent
    assert sum((each.money.amount for each in parts), Decimal(0)) == total.amount
    assert [each.on for each in parts] == [each.on for each in paid]
    for part, payment in zip(parts, paid, strict=True):
        assert part.money.amount >= 0
        exact = total.amount * payment.money.amount / whole if whole else part.money.amount
        assert abs(part.money.amount - exact) <= Decimal(1).scaleb(int(step))


@st.composite
def terms(draw: st.DrawFn) -> SaleTerms:
    currency = draw(CURRENCIES)

    def money(highest: int) -> Money:
        return Money(Decimal(draw(st.integers(0, highest))), currency).quantized()

    gross = money(10**9)
    count = draw(st.integers(0, 4))
    parts = [money(int(gross.amount) // 4) for _ in range(count)]
    fees = [
        SaleFee(kind=EntryKind.ESCROW_FEE, money=money(10**6), on=None) for _ in range(draw(st.integers(0, 2)))
    ]
    fixed = draw(st.booleans())
    return SaleTerms(
        gross=gross,
        sold_on=SOLD_ON,
        commission=money(10**6) if fixed else None,
        commission_rate=None if fixed else draw(SHARES),
        fees=fees,
        installments=[
            Installment(money=each, on=on, received_on=on)
            for each, on in ((each, SOLD_ON + timedelta(days=30 + at)) for at, each in enumerate(parts))
        ],
    )


@given(terms(), SHARES)
def test_the_entries_of_a_sale_are_its_terms(agreed: SaleTerms, own_share: Decimal) -> None:
    sale = Sale(
        id=ids.new(),
        domain_id=UUID(int=1),
        sold_on=SOLD_ON,
        own_share=own_share,
        status_before="owned",
        created_at=datetime(2026, 1, 1, tzinfo=UTC),
    )
    entries = sale_entries(sale, agreed, created_by=None)

    def total(*roles: SaleRole) -> Decimal:
        return sum((each.money.amount for each in entries if each.sale_role in roles), Decimal(0))

    gross = agreed.gross.amount
    assert total(SaleRole.PRICE, SaleRole.INSTALLMENT) == gross
    assert total(SaleRole.FEE) == sum((each.money.amount for each in agreed.fees), Decimal(0))
    rate = agreed.commission_rate
    expected = agreed.commission if rate is None else Money(gross * rate, agreed.gross.currency).quantized()
    assert expected is not None
    assert total(SaleRole.COMMISSION) == expected.amount
    net = max(gross - total(SaleRole.FEE, SaleRole.COMMISSION), Decimal(0))
    assert total(SaleRole.SHARE) == Money(net * (1 - own_share), agreed.gross.currency).quantized().amount
    assert [each.sale_line for each in entries] == [*range(len(entries))]
    assert {each.sale_id for each in entries} == {sale.id}


async def live(book: Book, **sale: Any) -> list[tuple[str, str, str]]:
    """Change the sale; return its entries that are not void."""
    return [each[:3] for each in shown(await book.change(sale=sale)) if not each[3]]


@pytest.mark.parametrize(
    ("sale", "entries"),
    [
        ({"venue": None}, ["1000.00", "-150.00", "-20.00", "-5.00"]),
        ({"commission_rate": None}, ["1000.00", "-20.00", "-5.00"]),
        ({"commission_rate": "0"}, ["1000.00", "-20.00", "-5.00"]),
        ({"commission_rate": 1}, ["1000.00", "-1000.00", "-20.00", "-5.00"]),
        ({"commission": "7.5"}, ["1000.00", "-7.50", "-20.00", "-5.00"]),
        ({"commission": "7.5", "commission_rate": None}, ["1000.00", "-7.50", "-20.00", "-5.00"]),
        ({"fees": []}, ["1000.00", "-150.00"]),
        ({"fees": [{"kind": "tax", "amount": "1"}]}, ["1000.00", "-150.00", "-1.00"]),
        ({"gross": "0"}, ["0.00", "-20.00", "-5.00"]),
        ({"gross": "0.03"}, ["0.03", "-20.00", "-5.00"]),  # 0.0045 is no cent
        ({"installments": [{"amount": "1000", "on": "2024-04-04"}]}, ["0.00", "-20.00", "-5.00"]),
        (
            {"installments": [{"amount": "1000", "on": "2024-04-04", "received_on": "2024-04-04"}]},
            ["1000.00", "-150.00", "-20.00", "-5.00"],
        ),
    ],
)
async def test_a_patch_of_a_sale_changes_what_it_names(book: Book, sale: Any, entries: list[str]) -> None:
    await book.change(sale={**SALE, "venue": "Sedo"})

    found = await book.change(sale=sale)

    assert sorted(each[2] for each in shown(found) if not each[3]) == sorted(entries)


async def test_instalments_are_in_the_order_of_their_days(book: Book) -> None:
    days = (("2", "2024-06-01"), ("1", "2024-05-01"))
    paid = [{"amount": amount, "on": on, "received_on": on} for amount, on in days]

    found = await live(book, gross=usd("3"), sold_on="2024-03-04", installments=paid)

    assert found == [("sale_installment", "2024-05-01", "1.00"), ("sale_installment", "2024-06-01", "2.00")]


async def test_the_first_instalment_voids_a_sale_that_has_no_other_price(book: Book) -> None:
    paid = [{"amount": "3", "on": "2024-05-01", "received_on": "2024-05-01"}]
    found = await book.change(sale={"gross": usd("3"), "sold_on": "2024-03-04", "installments": paid})

    found = await book.change(entries_void=[found["entries"][0]["id"]])

    assert (found["sale"], found["status"]) == (None, "owned")


async def test_what_is_outstanding_is_received_day_by_day(book: Book) -> None:
    days = [f"2024-0{month}-01" for month in (5, 6, 7)]
    paid = [{"amount": "100", "on": day, "received_on": day} for day in days]
    await book.change(sale={"gross": usd("400"), "sold_on": "2024-03-04", "installments": paid})

    for day, gross, outstanding in (
        ("2024-03-04", "100.00", "300.00"),
        ("2024-04-30", "100.00", "300.00"),
        ("2024-05-01", "200.00", "200.00"),
        ("2024-07-01", "400.00", "0.00"),
    ):
        sale = (await book.get(as_of=day))["sale"]
        assert amounts(sale, "gross", "outstanding", "price") == [gross, outstanding, "400.00"], day


@pytest.mark.parametrize("status", ["owned", "listed", "expired"])
async def test_the_void_of_a_sale_restores_the_status(book: Book, status: str) -> None:
    path = f"{DOMAINS}/{book.domain_id}"
    assert (await book.owner.patch(path, json={"status": status})).status_code == 200
    assert (await book.change(sale=SALE))["status"] == "sold"

    assert (await book.change(sale=None))["status"] == status


async def test_a_domain_that_was_dropped_since_stays_dropped(book: Book) -> None:
    await book.change(sale=SALE)
    await book.owner.patch(f"{DOMAINS}/{book.domain_id}", json={"status": "dropped"})

    found = await book.change(sale=None)

    assert (found["status"], found["sale"]) == ("dropped", None)


async def test_a_sale_in_another_currency_is_at_the_rate_of_its_day(book: Book) -> None:
    found = await book.change(
        sale={"gross": {"amount": "1000", "currency": "EUR"}, "sold_on": "2024-03-04", "commission_rate": "0.1"}
    )

    assert found["sale"]["price"] == {"amount": "1000.00", "currency": "EUR"}
    assert amounts(found["sale"], "gross", "costs", "net") == ["1084.60", "108.46", "976.14"]


async def test_the_share_of_the_consignor_is_that_of_the_day_of_the_sale(book: Book) -> None:
    made = await add_domain(
        book.owner, "pier.com", ownership="consigned", counterparty="Carol", revenue_share="40"
    )
    await made.change(sale={"gross": usd("100"), "sold_on": "2024-03-04"})
    await book.owner.patch(f"{DOMAINS}/{made.domain_id}", json={"revenue_share": "90"})

    found = await made.change(sale={"gross": usd("200")})

    assert amounts(found["sale"], "gross", "costs", "net") == ["200.00", "80.00", "120.00"]


async def test_costs_above_the_price_leave_the_consignor_nothing(book: Book) -> None:
    made = await add_domain(
        book.owner, "pier.com", ownership="consigned", counterparty="Carol", revenue_share="40"
    )

    found = await live(made, gross=usd("10"), sold_on="2024-03-04", fees=[{"amount": "30"}])

    assert [each[0] for each in found] == ["sale", "marketplace_fee"]
