"""Money in a request body, in each form that is accepted."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Self

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from builders.kit.errors import Invalid
from builders.kit.values.money import Money

_AMOUNT = r"^[0-9]{1,15}(\.[0-9]{1,4})?$"
_CURRENCY = r"^[A-Z]{3}$"
_amount_form = re.compile(_AMOUNT)
_currency_form = re.compile(_CURRENCY)
_AMOUNT_SCHEMA: JsonSchemaValue = {
    "anyOf": [{"type": "string", "pattern": _AMOUNT, "examples": ["12.34"]}, {"type": "number", "minimum": 0}]
}
_SCHEMA: JsonSchemaValue = {
    "title": "MoneyInput",
    "description": (
        "An amount with its currency; or the amount alone, whose currency is the member `currency` beside it. "
        "Send amounts as text: a JSON number is accepted with a warning, as it is not exact."
    ),
    "examples": [{"amount": "12.34", "currency": "USD"}, "12.34"],
    "anyOf": [
        {
            "type": "object",
            "properties": {
                "amount": _AMOUNT_SCHEMA,
                "currency": {"type": "string", "pattern": _CURRENCY, "description": "ISO 4217 code."},
            },
            "required": ["amount"],
        },
        *_AMOUNT_SCHEMA["anyOf"],
    ],
}


@dataclass(frozen=True, slots=True)
class MoneyInput:
    """An amount of zero or more, with its currency unless it was sent alone.

    As a type of a body's member it reads `{"amount": "12.34", "currency": "USD"}`, `"12.34"` and `12.34`.
    """

    amount: str  # decimal digits
    currency: str | None
    is_number: bool = False  # the amount was a JSON number: `unknown_fields` of kit.http.bodies warns

    def to_money(self, *currencies: str | None, field: str) -> Money:
        """Return the money, in its own currency or else the first of `currencies` that is not None.

        Raises Invalid, which points at `field` of the body, without a currency and for more decimals than the
        currency has.
        """
        currency = next((each for each in (self.currency, *currencies) if each is not None), None)
        if currency is None:
            message = 'Give the currency: {"amount": "12.34", "currency": "USD"}, or "currency" beside the amount.'
            raise Invalid(("body", *field.split(".")), message, "money_currency")
        try:
            return Money.of(self.amount, currency)
        except ValueError as error:
            raise Invalid(("body", *field.split(".")), str(error), "money_amount") from None

    @classmethod
    def __get_pydantic_core_schema__(cls, _source: object, _handler: GetCoreSchemaHandler) -> CoreSchema:
        """Read the forms of JSON."""
        return core_schema.no_info_plain_validator_function(cls._validate)

    @classmethod
    def __get_pydantic_json_schema__(cls, _schema: CoreSchema, _handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """Describe the forms of JSON."""
        return _SCHEMA

    @classmethod
    def _validate(cls, value: Any) -> Self:  # any JSON value
        amount, currency = value, None
        if isinstance(value, cls):
            return value
        if isinstance(value, Mapping):
            amount, currency = value.get("amount"), value.get("currency")
        is_number = isinstance(amount, int | float) and not isinstance(amount, bool)
        # str() of a float is the shortest text that reads as the same float: what the sender wrote.
        text = f"{Decimal(str(amount)):f}" if is_number else amount
        if not isinstance(text, str) or not _amount_form.fullmatch(text):
            message = 'Input should be an amount of zero or more, such as "12.34", or an object with an amount'
            raise PydanticCustomError("money_amount", message)
        if currency is not None and not (isinstance(currency, str) and _currency_form.fullmatch(currency)):
            message = "Input should have an ISO 4217 code of three capital letters as its currency, such as USD"
            raise PydanticCustomError("money_currency", message)
        return cls(text, currency, is_number)
