import json
import re
from dataclasses import FrozenInstanceError, dataclass
from decimal import Decimal
from fractions import Fraction

import pytest
from fastapi import FastAPI
from hypothesis import given, strategies as st
from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from builders.kit.values.money import Money, decimals_of

CURRENCIES = st.sampled_from(["USD", "EUR", "JPY", "KWD", "CLF"])


@st.composite
def moneys(draw: st.DrawFn, currency: str | None = None) -> Money:
    code = currency or draw(CURRENCIES)
    bound = 10**15 - 1
    places = decimals_of(code)
    coins = draw(st.integers(-bound * 10**places, bound * 10**places))
    return Money(Decimal(coins).scaleb(-places), code)


class Offer(BaseModel):
    model_config = ConfigDict(from_attributes=True)

    price: Money
    setup: Money | None = None


@dataclass
class OfferRecord:
    price: Money
    setup: Money | None


def _refusals(body: object) -> list[tuple[tuple[int | str, ...], str]]:
    with pytest.raises(ValidationError) as refused:
        Offer.model_validate_json(json.dumps(body))
    return [(error["loc"], error["msg"]) for error in refused.value.errors()]


@given(moneys())
def test_a_written_amount_can_be_read(money: Money) -> None:
    assert Money.of(**money.to_wire()) == money
    assert Offer.model_validate_json(Offer(price=money).model_dump_json()).price == money


@pytest.mark.parametrize(
    ("amount", "currency", "wire"),
    [
        ("12.34", "USD", "12.34"),
        ("12", "USD", "12.00"),
        ("-0.5", "EUR", "-0.50"),
        ("-0", "USD", "0.00"),
        ("007", "JPY", "7"),
        ("1.2", "KWD", "1.200"),
        ("1.2345", "CLF", "1.2345"),
        ("999999999999999.99", "USD", "999999999999999.99"),
    ],
)
def test_an_amount_is_written_with_all_decimals_of_its_currency(amount: str, currency: str, wire: str) -> None:
    money = Money.of(amount, currency)
    assert money.to_wire() == {"amount": wire, "currency": currency}
    assert str(money) == f"{wire} {currency}"


def test_a_sum_has_the_published_form_with_more_digits_than_can_be_read() -> None:
    largest = Money.of("9" * 15, "USD")
    published = TypeAdapter(Money).json_schema()["properties"]["amount"]["pattern"]
    assert re.search(published, (largest * 1000).to_wire()["amount"])
    [(where, message)] = _refusals({"price": (largest * 1000).to_wire()})
    assert (where, message) == (
        ("price", "amount"),
        'An amount is decimal digits, at most 15 before the point, such as "12.34".',
    )


@pytest.mark.parametrize(
    "amount",
    [
        "",
        " 1",
        "1 ",
        "1\n",
        "+1",
        "1e3",
        "1,000",
        "1.",
        ".5",
        "NaN",
        "Infinity",
        "-",
        "--1",
        "0x1",
        "1_0",
        "\u0661",  # an Arabic one
        "1" * 16,
    ],
)
def test_text_other_than_plain_digits_is_refused(amount: str) -> None:
    with pytest.raises(ValueError, match="decimal digits"):
        Money.of(amount, "USD")


@pytest.mark.parametrize(
    ("amount", "currency", "said"),
    [
        ("1.234", "USD", "USD has 2 decimals"),
        ("1.000", "USD", "USD has 2 decimals"),
        ("1.0", "JPY", "JPY has no decimals"),
        ("1.2345", "KWD", "KWD has 3 decimals"),
    ],
)
def test_more_decimals_than_the_currency_has_are_refused(amount: str, currency: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Money.of(amount, currency)


@pytest.mark.parametrize("currency", ["", "usd", "US", "USDX", "USDT\n", "US\n", "USD\n", "U$D"])
def test_a_currency_is_an_upper_case_code(currency: str) -> None:
    with pytest.raises(ValueError, match="ISO 4217"):
        Money.of("1", currency)


@pytest.mark.parametrize("currency", ["USDC", "USDT"])
def test_a_stablecoin_is_a_currency_by_name(currency: str) -> None:
    assert str(Money.of("1.5", currency)) == f"1.50 {currency}"


@pytest.mark.parametrize("amount", [Decimal("NaN"), Decimal("Infinity"), 1.5, 1, "1"])
def test_an_amount_is_a_finite_decimal(amount: Decimal) -> None:
    with pytest.raises(ValueError, match="finite Decimal"):
        Money(amount, "USD")


def test_money_is_immutable() -> None:
    with pytest.raises(FrozenInstanceError):
        Money.zero("USD").amount = Decimal(1)  # type: ignore[misc]  # that it is refused is the point


@given(moneys("USD"), moneys("USD"), st.integers(-(10**9), 10**9))
def test_arithmetic_is_exact(one: Money, two: Money, times: int) -> None:
    a, b = Fraction(one.amount), Fraction(two.amount)
    assert Fraction((one + two).amount) == a + b
    assert Fraction((one - two).amount) == a - b
    assert Fraction((one * times).amount) == a * times
    assert times * one == one * times
    assert -one + one == Money.zero("USD")
    assert (one < two, one <= two, one > two, one >= two) == (a < b, a <= b, a > b, a >= b)


def test_a_sum_of_very_different_amounts_is_not_rounded() -> None:
    big, tiny = Money(Decimal("1e20"), "USD"), Money(Decimal("1e-20"), "USD")
    assert big + tiny - big == tiny


@given(moneys("EUR"), moneys("USD"))
def test_two_currencies_cannot_be_added(euros: Money, dollars: Money) -> None:
    assert euros != dollars
    for mix in (lambda: euros + dollars, lambda: euros - dollars, lambda: euros < dollars):
        with pytest.raises(ValueError, match="EUR and USD cannot be combined"):
            mix()


@pytest.mark.parametrize("times", [1.5, Decimal("1.5"), "2"])
def test_money_is_multiplied_by_whole_numbers_only(times: int) -> None:
    with pytest.raises(TypeError):
        Money.of("1", "USD") * times


@pytest.mark.parametrize(
    ("amount", "currency", "rounded"),
    [
        ("0.125", "USD", "0.12"),
        ("0.135", "USD", "0.14"),
        ("0.5", "JPY", "0"),
        ("1.5", "JPY", "2"),
        ("-0.001", "USD", "0.00"),
        ("-0.125", "USD", "-0.12"),
        ("1E+3", "USD", "1000.00"),
    ],
)
def test_quantized_rounds_half_to_even(amount: str, currency: str, rounded: str) -> None:
    money = Money(Decimal(amount), currency)
    assert str(money.quantized().amount) == rounded
    assert money.to_wire()["amount"] == rounded


def test_equal_amounts_are_equal_however_written() -> None:
    assert Money(Decimal("1.0"), "USD") == Money.of("1", "USD")
    assert len({Money(Decimal("1.0"), "USD"), Money.of("1", "USD")}) == 1


def test_a_reply_takes_records_and_writes_strings() -> None:
    reply = Offer.model_validate(OfferRecord(price=Money.of("5", "USD"), setup=None))
    assert reply.model_dump_json() == '{"price":{"amount":"5.00","currency":"USD"},"setup":null}'
    assert reply.model_dump() == {"price": {"amount": "5.00", "currency": "USD"}, "setup": None}


@pytest.mark.parametrize("amount", [12, 12.5, True, None, [], "twelve", "1e3", "1.234567891", "NaN"])
def test_a_malformed_amount_is_refused_with_its_location(amount: object) -> None:
    refusal = 'Input should be decimal digits in a string, such as "12.34": a JSON number is not exact'
    assert _refusals({"price": {"amount": amount, "currency": "USD"}}) == [(("price", "amount"), refusal)]


def test_too_many_decimals_are_refused_with_their_location() -> None:
    refusals = _refusals({"price": {"amount": "1.5", "currency": "JPY"}})
    assert refusals == [(("price", "amount"), "JPY has no decimals, and the amount has more.")]


@pytest.mark.parametrize("currency", ["usd", "", 840, None])
def test_a_wrong_currency_is_refused_with_its_location(currency: object) -> None:
    refusals = _refusals({"price": {"amount": "1", "currency": currency}})
    assert [loc for loc, _ in refusals] == [("price", "currency")]


def test_both_parts_are_required() -> None:
    assert [loc for loc, _ in _refusals({"price": {}})] == [("price", "amount"), ("price", "currency")]
    assert [loc for loc, _ in _refusals({"price": "12.34"})] == [("price",)]


def test_openapi_has_one_schema_named_money() -> None:
    app = FastAPI()

    @app.post("/offers")
    def create(body: Offer) -> Offer:
        return body

    schemas = app.openapi()["components"]["schemas"]
    assert {name for name in schemas if "Money" in name} == {"Money"}
    money = schemas["Money"]
    assert money["required"] == ["amount", "currency"]
    assert money["properties"]["amount"]["type"] == "string"
    assert money["properties"]["amount"]["pattern"]
    assert schemas["Offer"]["properties"]["price"] == {"$ref": "#/components/schemas/Money"}
