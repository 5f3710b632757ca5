"""Types of values that requests and replies share: exact amounts, times, money, files, pages of items."""

from collections.abc import Mapping
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from typing import Annotated, Any, NamedTuple, TypedDict

from pydantic import BaseModel, ConfigDict, PlainSerializer, PrivateAttr

# An exact number, which is text in JSON.
Amount = Annotated[Decimal, PlainSerializer(lambda value: format(value, "f"), return_type=str, when_used="json")]
# What a caller can send in their place.
AmountLike = Decimal | int | str
TimeLike = datetime | str
DateLike = date | str


class Model(BaseModel):
    """A reply of the service, or a part of one. Members of a later revision are kept in `model_extra`."""

    model_config = ConfigDict(
        extra="allow", frozen=True, defer_build=True, protected_namespaces=(), serialize_by_alias=True
    )
    _etag: str | None = PrivateAttr(default=None)


def etag_of(reply: Model) -> str | None:
    """Return the ETag of a reply, for `if_match` of a change and `if_none_match` of the next read."""
    return reply._etag  # noqa: SLF001 - members of replies have all other names


class Money(Model):
    """An exact amount with its currency."""

    amount: Amount
    """Exact decimal digits."""
    currency: str
    """ISO 4217 code, or the name of a stablecoin such as USDC."""

    @classmethod
    def parse(cls, text: str) -> "Money":
        """Return the money that a text such as `24.00 USD` names. Raise ValueError for another form."""
        match text.split():
            case [amount, currency]:
                try:
                    return cls(amount=Decimal(amount), currency=currency.upper())
                except InvalidOperation:
                    pass
        raise ValueError(f"write an amount and a currency, such as 24.00 USD, instead of {text!r}")

    def __str__(self) -> str:
        return f"{self.amount:f} {self.currency}"


class MoneyDict(TypedDict):
    """Money as a dictionary."""

    amount: AmountLike
    currency: str


MoneyLike = Money | MoneyDict


class File(Model):
    """A reply that is not JSON: a PDF, an image, a calendar, CSV, a page, or a redirect."""

    content: bytes
    """The bytes."""
    content_type: str
    """The media type."""
    headers: Mapping[str, str]
    """The headers of the reply, with names in lower case."""

    @property
    def text(self) -> str:
        """Return the content as text."""
        return self.content.decode()

    @property
    def location(self) -> str | None:
        """Return the address that a redirect leads to."""
        return self.headers.get("location")


class Upload(NamedTuple):
    """A body that is sent as it is, such as a CSV file or a workbook to an import."""

    content: bytes
    content_type: str = "text/csv"


def plain(value: Any) -> Any:
    """Return the value in the types of JSON; numbers of the type Decimal become text without an exponent."""
    result = value
    match value:
        case BaseModel():
            result = value.model_dump(mode="json", exclude_unset=True)
        case Decimal():
            result = format(value, "f")
        case datetime() if value.tzinfo is None:
            raise ValueError(f"a time needs its zone: {value!r}")
        case date():  # a time too
            result = value.isoformat()
        case Mapping():
            result = {str(name): plain(each) for name, each in value.items()}
        case list() | tuple() | set() | frozenset():
            result = [plain(each) for each in value]
        case str() | int() | float() | None:
            pass
        case _:  # such as UUID
            result = str(value)
    return result
