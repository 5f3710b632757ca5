"""Money: an exact decimal amount with its currency, never a float; and the forms of it that a request may have."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Context, Decimal
from functools import total_ordering
from typing import Annotated, Any, Self, TypedDict, TypeVar, cast

from pydantic import (
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    ValidatorFunctionWrapHandler,
    WithJsonSchema,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, InitErrorDetails, PydanticCustomError, ValidationError, core_schema

from builders.kit.errors import CURRENCY_PATTERN, Invalid

# ISO 4217: the number of decimals of each currency that does not have two.
DECIMALS: Mapping[str, int] = {
    **dict.fromkeys(("BIF", "CLP", "DJF", "GNF", "ISK", "JPY", "KMF", "KRW", "PYG", "RWF"), 0),
    **dict.fromkeys(("UGX", "UYI", "VND", "VUV", "XAF", "XOF", "XPF"), 0),
    **dict.fromkeys(("BHD", "IQD", "JOD", "KWD", "LYD", "OMR", "TND"), 3),
    **dict.fromkeys(("CLF", "UYW"), 4),
}
UNKNOWN_CURRENCY = "{} is no ISO 4217 code: no bank quotes it."
NO_CURRENCY = "XXX"  # of an amount without a currency (ISO 4217)
STABLECOINS = frozenset({"DAI", "USDC", "USDT"})  # by name, as marketplaces pay in them
# The codes of ISO 4217, withdrawn ones that old purchases have, and stablecoins.
CURRENCIES = frozenset(
    re.findall(
        "[A-Z]{3}",
        """
        AED AFN ALL AMD ANG AOA ARS AUD AWG AZN BAM BBD BDT BGN BHD BIF BMD BND BOB BOV BRL BSD BTN BWP BYN BZD CAD
        CDF CHE CHF CHW CLF CLP CNY COP COU CRC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP
        GMD GNF GTQ GYD HKD HNL HTG HUF IDR ILS INR IQD IRR ISK JMD JOD JPY KES KGS KHR KMF KPW KRW KWD KYD KZT LAK
        LBP LKR LRD LSL LYD MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MXV MYR MZN NAD NGN NIO NOK NPR NZD OMR
        PAB PEN PGK PHP PKR PLN PYG QAR RON RSD RUB RWF SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL
        THB TJS TMT TND TOP TRY TTD TWD TZS UAH UGX USD USN UYI UYU UYW UZS VED VES VND VUV WST XAF XAG XAU XBA XBB
        XBC XBD XCD XCG XDR XOF XPD XPF XPT XSU XUA YER ZAR ZMW ZWG ATS BEF BYR CUC CYP DEM EEK ESP FIM FRF GRD HRK
        IEP ITL LTL LUF LVL MRO MTL NLG PTE SIT SKK SLL STD VEF ZWL
        """,
    )
).union(STABLECOINS)
MAX_DECIMALS = 8  # of any amount; most have those of their currency
_PART = rf"(\.[0-9]{{1,{MAX_DECIMALS}}})?"
AMOUNT = rf"^[0-9]{{1,15}}{_PART}$"  # of a request
_ANY_AMOUNT = rf"^-?[0-9]+{_PART}$"  # of a reply: sums and converted amounts have more digits
CODE = "ISO 4217 code, or the name of a stablecoin such as USDC."
# Of a reply; schemas of the OpenAPI document.
ExactAmount = Annotated[str, Field(title="ExactAmount", json_schema_extra={"format": "decimal"})]
CurrencyCode = Annotated[str, Field(pattern=CURRENCY_PATTERN, title="CurrencyCode")]
_amount_form = re.compile(r"-?[0-9]{1,15}(\.[0-9]+)?")
_currency_form = re.compile(CURRENCY_PATTERN)
# Enough digits that no sum of amounts is rounded; the default context rounds to 28 digits without an error.
_exact = Context(prec=200, rounding=ROUND_HALF_EVEN)


class MoneyWire(TypedDict):
    """Money as JSON: the amount a string of decimal digits, the currency an ISO 4217 code."""

    amount: str
    currency: str


def decimals_of(currency: str) -> int:
    """Return the number of decimals of a currency: 2 for USD, 0 for JPY, 3 for KWD (ISO 4217)."""
    return DECIMALS.get(currency, 2)


def _text(pattern: str, title: str, refusal: str, *, example: str, description: str) -> CoreSchema:
    return core_schema.custom_error_schema(
        core_schema.str_schema(pattern=pattern, strict=True),
        custom_error_type=f"money_{title.lower()}",
        custom_error_message=refusal,
        metadata={"pydantic_js_updates": {"title": title, "examples": [example], "description": description}},
    )


_DESCRIPTION = "An exact amount with all decimals of its currency; a part of a sum can have more."
_AMOUNT_REFUSED = 'Input should be decimal digits in a string, such as "12.34": a JSON number is not exact'
_CURRENCY_REFUSED = "Input should be an ISO 4217 code of three capital letters, such as USD"
_WIRE = core_schema.typed_dict_schema(
    {
        "amount": core_schema.typed_dict_field(
            _text(
                _ANY_AMOUNT,
                "Amount",
                _AMOUNT_REFUSED,
                example="12.34",
                description="Exact decimal digits, as text.",
            )
        ),
        "currency": core_schema.typed_dict_field(
            _text(CURRENCY_PATTERN, "Currency", _CURRENCY_REFUSED, example="USD", description=CODE)
        ),
    },
    cls_name="Money",
)

_MONEY_EXPECTED = 'Input should be an amount with its currency: {"amount": "12.34", "currency": "USD"}'


@total_ordering
@dataclass(frozen=True, slots=True)
class Money:
    """An amount of a currency; intermediate results can have more decimals than the currency.

    Adding or comparing two currencies raises ValueError, another type TypeError.
    """

    amount: Decimal
    currency: str

    def __post_init__(self) -> None:
        if not isinstance(self.amount, Decimal) or not self.amount.is_finite():
            raise ValueError("An amount of money is a finite Decimal.")
        if not _currency_form.fullmatch(self.currency):
            raise ValueError("A currency is an ISO 4217 code of three capital letters, such as USD.")

    @classmethod
    def of(cls, amount: str, currency: str, *, decimals: int | None = None) -> Self:
        """Return the money for decimal digits such as "12.34". Raise ValueError for any other text.

        More decimals than the currency has are refused, not rounded: "1.00" is invalid for JPY. With `decimals`,
        an amount can have so many, as a part of a sum that is rounded later.
        """
        if not _amount_form.fullmatch(amount):
            raise ValueError('An amount is decimal digits, at most 15 before the point, such as "12.34".')
        allowed = decimals_of(currency) if decimals is None else decimals
        if len(amount.partition(".")[2]) > allowed:
            whose = f"{currency} has" if decimals is None else "An amount can have"
            raise ValueError(f"{whose} {allowed or 'no'} decimals, and the amount has more.")
        return cls(Decimal(amount), currency).with_decimals()

    @classmethod
    def zero(cls, currency: str) -> Self:
        """Return zero in this currency."""
        return cls(Decimal(0), currency).quantized()

    def quantized(self) -> Self:
        """Return the amount rounded half-even to the decimals of the currency; never a negative zero."""
        step = Decimal(1).scaleb(-decimals_of(self.currency))
        amount = self.amount.quantize(step, context=_exact)
        return type(self)(amount or abs(amount), self.currency)

    def with_decimals(self) -> Self:
        """Return the same amount with at least the decimals of the currency; never a negative zero."""
        plain = self.amount.normalize(_exact)
        if -int(plain.as_tuple().exponent) <= decimals_of(self.currency):
            return self.quantized()
        return type(self)(plain, self.currency)

    def to_wire(self) -> MoneyWire:
        """Return the money as JSON, with all decimals of the currency."""
        return {"amount": f"{self.quantized().amount:f}", "currency": self.currency}

    def _same(self, other: "Money") -> Decimal:
        if other.currency != self.currency:
            raise ValueError(f"Amounts in {self.currency} and {other.currency} cannot be combined.")
        return other.amount

    def __add__(self, other: "Money") -> Self:
        if not isinstance(other, Money):
            return NotImplemented
        return type(self)(_exact.add(self.amount, self._same(other)), self.currency)

    def __sub__(self, other: "Money") -> Self:
        if not isinstance(other, Money):
            return NotImplemented
        return type(self)(_exact.subtract(self.amount, self._same(other)), self.currency)

    def __mul__(self, times: int) -> Self:
        if not isinstance(times, int):
            return NotImplemented
        return type(self)(_exact.multiply(self.amount, times), self.currency)

    __rmul__ = __mul__

    def __neg__(self) -> Self:
        return self * -1

    def __lt__(self, other: "Money") -> bool:
        if not isinstance(other, Money):
            return NotImplemented
        return self.amount < self._same(other)

    def __str__(self) -> str:
        wire = self.to_wire()
        return f"{wire['amount']} {wire['currency']}"

    @classmethod
    def __get_pydantic_core_schema__(cls, _source: object, _handler: GetCoreSchemaHandler) -> CoreSchema:
        """Validate Money or MoneyWire, serialize MoneyWire, and name the schema Money in OpenAPI."""
        return core_schema.no_info_wrap_validator_function(
            cls._validated,
            _WIRE,
            metadata={"pydantic_js_updates": {"title": "Money", "description": _DESCRIPTION}},
            ref=f"{cls.__module__}.{cls.__qualname__}:{id(cls)}",
            serialization=core_schema.plain_serializer_function_ser_schema(_wire_of, return_schema=_WIRE),
        )

    @classmethod
    def _validated(cls, value: Any, read: ValidatorFunctionWrapHandler) -> Self:  # any JSON value
        if isinstance(value, cls):
            return value
        if not isinstance(value, Mapping):
            raise PydanticCustomError("money_form", _MONEY_EXPECTED)
        wire = cast(MoneyWire, read(value))
        try:
            return cls.of(**wire)
        except ValueError as refusal:
            # The currency determines the decimals, but the caller must change the amount.
            error = PydanticCustomError("money_amount", "{reason}", {"reason": str(refusal)})
            line = InitErrorDetails(type=error, loc=("amount",), input=wire["amount"])
            raise ValidationError.from_exception_data("Money", [line]) from None


def _wire_of(money: Money) -> MoneyWire:
    return money.to_wire()


_Limits = TypeVar("_Limits", bound=Sequence[Money])


def check_limits(limits: _Limits) -> _Limits:
    """Return limits, one of each currency, zero or more. Raise PydanticCustomError for others."""
    for limit in limits:
        if limit.currency not in CURRENCIES:
            unknown = {"reason": UNKNOWN_CURRENCY.format(limit.currency)}
            raise PydanticCustomError("currency", "{reason}", unknown)
        if limit.amount < 0:
            raise PydanticCustomError("money_amount", "A limit is zero or more.")
    if len({limit.currency for limit in limits}) < len(limits):
        raise PydanticCustomError("currency_repeated", "Each currency has one limit.")
    return limits


class ExactMoney(Money):
    """Money whose JSON has each decimal that the amount has: a part of a sum that is rounded later."""

    __slots__ = ()

    def to_wire(self) -> MoneyWire:
        """Return the money as JSON, with at least the decimals of the currency."""
        return {"amount": f"{self.with_decimals().amount:f}", "currency": self.currency}


_input_amount_form = re.compile(AMOUNT)
_INPUT_AMOUNT_SCHEMA: JsonSchemaValue = {
    "description": "Decimal digits as text, or a number, which is not exact.",
    "anyOf": [
        {"type": "string", "pattern": AMOUNT, "examples": ["12.34"]},
        {"type": "number", "minimum": 0},
    ],
}
_INPUT_SCHEMA: JsonSchemaValue = {
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
                "amount": _INPUT_AMOUNT_SCHEMA,
                "currency": {"type": "string", "pattern": CURRENCY_PATTERN, "description": CODE},
            },
            "required": ["amount"],
        },
        *_INPUT_AMOUNT_SCHEMA["anyOf"],
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

        Raise Invalid, which points at `field` of the body, without a currency and for more decimals than the
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
        return _INPUT_SCHEMA

    @classmethod
    def _validate(cls, value: Any) -> Self:  # any JSON value
        amount, currency = value, None
        if isinstance(value, cls):
            return value
        if isinstance(value, Mapping):
            amount, currency = value.get("amount"), value.get("currency")
        is_number = isinstance(amount, int | float) and not isinstance(amount, bool)
        # str() of a float is the shortest text that reads as the same float: the text of the sender.
        text = f"{Decimal(str(amount)):f}" if is_number else amount
        if not isinstance(text, str) or not _input_amount_form.fullmatch(text):
            message = 'Input should be an amount of zero or more, such as "12.34", or an object with an amount'
            raise PydanticCustomError("money_amount", message)
        if currency is not None and not (isinstance(currency, str) and _currency_form.fullmatch(currency)):
            message = "Input should have an ISO 4217 code of three capital letters as its currency, such as USD"
            raise PydanticCustomError("money_currency", message)
        return cls(text, currency, is_number)


def published(pattern: str, **bounds: float) -> WithJsonSchema:
    """Return the schema of requests: text of this pattern, which names the decimals, or a number in the bounds."""
    accepted = [{"type": "number", **bounds}, {"type": "string", "pattern": pattern}]
    return WithJsonSchema({"anyOf": accepted}, mode="validation")
