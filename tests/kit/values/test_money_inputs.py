"""Amounts in a body: an object, or an amount with the currency beside it."""

import json
from collections.abc import Sequence
from typing import Any

import pytest
from pydantic import ValidationError

from builders.kit.errors import Invalid
from builders.kit.http.bodies import Body, WriteReply, add_warnings
from builders.kit.values.money import MoneyInput


class Purchase(Body):
    price: MoneyInput
    fees: Sequence[MoneyInput] = ()
    currency: str | None = None


def read(**members: Any) -> Purchase:
    return Purchase.model_validate_json(json.dumps(members))


@pytest.mark.parametrize(
    ("members", "money"),
    [
        pytest.param({"price": {"amount": "12.34", "currency": "EUR"}}, "12.34 EUR", id="an object"),
        pytest.param(
            {"price": {"amount": "12.34", "currency": "EUR"}, "currency": "GBP"},
            "12.34 EUR",
            id="the currency of an object wins",
        ),
        pytest.param(
            {"price": {"amount": 12.3}, "currency": "GBP"}, "12.30 GBP", id="an object without a currency"
        ),
        pytest.param({"price": "12.34", "currency": "GBP"}, "12.34 GBP", id="a text with a currency"),
        pytest.param({"price": "0"}, "0.00 USD", id="a text in the default currency"),
        pytest.param({"price": 12}, "12.00 USD", id="an integer"),
        pytest.param({"price": 0.1}, "0.10 USD", id="a float"),
        pytest.param({"price": 1200, "currency": "JPY"}, "1200 JPY", id="a currency without decimals"),
        pytest.param({"price": 123456789012.34}, "123456789012.34 USD", id="the digits of a float"),
    ],
)
def test_each_form_is_read(members: dict[str, Any], money: str) -> None:
    body = read(**members)
    assert str(body.price.to_money(body.currency, "USD", field="price")) == money


@pytest.mark.parametrize(
    ("price", "code"),
    [
        ("-1", "money_amount"),
        (-1, "money_amount"),
        (True, "money_amount"),
        (None, "money_amount"),
        ("1,5", "money_amount"),
        ("$5", "money_amount"),
        ({}, "money_amount"),
        ([], "money_amount"),
        (1e30, "money_amount"),
        ({"amount": {"amount": "1"}}, "money_amount"),
        ({"amount": "1", "currency": "usd"}, "money_currency"),
        ({"amount": "1", "currency": 840}, "money_currency"),
    ],
)
def test_other_values_are_refused(price: object, code: str) -> None:
    with pytest.raises(ValidationError) as refused:
        read(price=price)
    [error] = refused.value.errors()
    assert (error["type"], error["loc"]) == (code, ("price",))


@pytest.mark.parametrize(
    ("price", "currencies", "code"),
    [("1", (None,), "money_currency"), ("1.5", ("JPY",), "money_amount"), ("1.234", ("USD",), "money_amount")],
)
def test_the_currency_limits_the_decimals(price: str, currencies: tuple[str | None, ...], code: str) -> None:
    with pytest.raises(Invalid) as refused:
        read(price=price).price.to_money(*currencies, field="sale.price")
    assert refused.value.code == code
    assert refused.value.errors[0]["loc"] == ["body", "sale", "price"]


def test_a_json_number_gives_a_warning_with_its_location() -> None:
    reply = WriteReply()
    add_warnings(reply, read(price=12.5, fees=["1", {"amount": 2}, 3], size=1))
    assert [(each.code, each.field) for each in reply.warnings] == [
        ("unknown_field", "size"),
        ("amount_as_number", "price"),
        ("amount_as_number", "fees.1"),
        ("amount_as_number", "fees.2"),
    ]
    assert '"12.5"' in reply.warnings[1].message


def test_an_amount_as_text_gives_no_warning() -> None:
    reply = WriteReply()
    add_warnings(reply, read(price="12.5", fees=[{"amount": "1", "currency": "USD"}]))
    assert reply.warnings == []


def test_the_document_shows_each_form() -> None:
    schema = Purchase.model_json_schema()["properties"]["price"]
    assert [each["type"] for each in schema["anyOf"]] == ["object", "string", "number"]


def test_a_record_is_kept_as_it_is() -> None:
    price = MoneyInput("1", "USD")
    assert Purchase(price=price).price is price
