"""Totals and tax in exact decimals."""

from decimal import ROUND_HALF_EVEN, Decimal

import pytest
from hypothesis import given, strategies as st

from builders.invoices import checkout, issuance
from builders.invoices.documents.document import percent
from builders.kit.values.money import Money, decimals_of
from tests.invoices.make import line, usd

RATES = st.decimals(min_value=0, max_value=100, places=4)
CURRENCIES = st.sampled_from(["USD", "EUR", "JPY", "KWD", "ISK", "MGA"])


@st.composite
def priced(draw: st.DrawFn) -> tuple[str, list[tuple[str, int]]]:
    """Draw a currency, and prices in it with quantities."""
    currency = draw(CURRENCIES)
    prices = st.decimals(min_value=0, max_value=10**9, places=decimals_of(currency)).map(lambda each: f"{each:f}")
    return currency, draw(st.lists(st.tuples(prices, st.integers(1, 10_000)), max_size=20))


@given(priced(), RATES)
def test_the_total_is_the_sum_of_lines_and_tax(wanted: tuple[str, list[tuple[str, int]]], rate: Decimal) -> None:
    currency, prices = wanted
    lines = [line(amount, quantity=quantity, currency=currency) for amount, quantity in prices]
    found = issuance.calculate_totals(lines, currency=currency, rate=rate)
    zero = Money.zero(currency)
    assert sum((each.amount for each in found.lines), zero) == found.subtotal
    assert sum((each.tax_amount for each in found.lines), zero) == found.tax_total
    assert found.subtotal + found.tax_total == found.total
    assert zero <= found.tax_total <= found.subtotal
    for each, (amount, quantity) in zip(found.lines, prices, strict=True):
        assert each.amount.amount == Decimal(amount) * quantity
        assert abs(each.tax_amount.amount * 100 - each.amount.amount * rate) <= Decimal(50).scaleb(
            -decimals_of(currency)
        )


@pytest.mark.parametrize(
    ("amount", "rate", "tax"),
    [
        ("0.25", "10", "0.02"),  # half-even
        ("0.35", "10", "0.04"),
        ("10.00", "8.875", "0.89"),
        ("100.00", "19", "19.00"),
        ("100.00", "0", "0.00"),
    ],
)
def test_tax_is_rounded_half_even(amount: str, rate: str, tax: str) -> None:
    assert issuance.calculate_tax(usd(amount), rate=Decimal(rate)) == usd(tax)


@given(st.decimals(min_value=0, max_value=10**6, places=4), RATES)
def test_tax_is_amount_times_rate(amount: Decimal, rate: Decimal) -> None:
    exact = amount * rate / 100
    step = Decimal("0.01")
    assert issuance.calculate_tax(Money(amount, "USD"), rate=rate).amount == exact.quantize(step, ROUND_HALF_EVEN)


@pytest.mark.parametrize("wrong", [line("1.00", currency="EUR"), line("1.00", quantity=0)])
def test_an_invalid_line_is_refused(wrong: object) -> None:
    with pytest.raises(ValueError, match=r"combined|quantity"):
        issuance.calculate_totals([wrong], currency="USD", rate=Decimal(0))  # type: ignore[list-item] # a wrong type is the case


@pytest.mark.parametrize(
    "wrong",
    [
        line("1.00", quantity=2**31),
        line("999999999999999.00", quantity=11),
        line(unit_amount=Money(Decimal("0.00001"), "USD")),
        line(unit_amount=Money(Decimal(10) ** 60, "USD")),
    ],
)
def test_values_that_a_column_cannot_hold_are_refused(wrong: object) -> None:
    with pytest.raises(ValueError, match=r"quantity|multiple|below"):
        issuance.calculate_totals([wrong], currency="USD", rate=Decimal(0))  # type: ignore[list-item] # a wrong type is the case


@pytest.mark.parametrize(
    ("rate", "shown"), [("19.0000", "19"), ("8.8750", "8.875"), ("0", "0"), ("100", "100"), ("20.5", "20.5")]
)
def test_a_rate_has_no_trailing_zeros(rate: str, shown: str) -> None:
    assert percent(Decimal(rate)) == shown


@pytest.mark.parametrize(
    ("amount", "currency", "units"),
    [
        ("12.34", "USD", 1234),
        ("500", "JPY", 500),
        ("5", "ISK", 500),  # Stripe uses two decimals
        ("5", "UGX", 500),
        ("5.120", "KWD", 5120),
    ],
)
def test_amounts_are_converted_to_the_units_of_stripe(amount: str, currency: str, units: int) -> None:
    assert checkout.minor_units(Money.of(amount, currency)) == units


def test_an_amount_with_too_many_decimals_for_stripe_has_no_units() -> None:
    assert checkout.minor_units(Money.of("10.50", "MGA")) is None
    assert checkout.minor_units(Money.of("10.00", "MGA")) == 10
