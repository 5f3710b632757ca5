"""Types of members of finance that requests share."""

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Annotated, Any

from pydantic import AfterValidator, Field, StrictInt, StringConstraints
from pydantic.config import JsonDict
from pydantic_core import PydanticCustomError

from builders.kit.values import texts
from builders.kit.values.texts import checked
from builders.portfolio.domains.records import MAX_NOTES, MAX_TEXT as MAX_REGISTRAR
from builders.portfolio.finance.records import MAX_TEXT
from builders.portfolio.finance.references import RENEWAL
from builders.portfolio.ledger.records import MAX_MEMO, MAX_REFERENCE, MAX_YEARS

_FIRST, _LAST = date(1980, 1, 1), date(2199, 12, 31)


def _day(value: date) -> date:
    if not _FIRST <= value <= _LAST:
        raise PydanticCustomError("date_range", "Input should be between 1980 and 2199")
    return value


def _in_utc(moment: datetime) -> datetime:
    """Return a time in UTC; one without a zone, such as a date alone, is in UTC."""
    _day(moment.date())
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def _notes(text: str) -> str:
    cleaned = texts.cleaned(text)
    if not cleaned:
        raise ValueError("The text has no visible characters.")
    return cleaned


def _own(text: str) -> str:
    if text.startswith(RENEWAL):
        raise ValueError(f"A reference that begins with {RENEWAL!r} is for the service itself.")
    return texts.plain(text)


def _without_default(schema: JsonDict) -> None:
    """Publish no default: an absent member keeps its value."""
    schema.pop("default", None)


def _text(length: int) -> Any:
    return StringConstraints(strip_whitespace=True, min_length=1, max_length=length)


Day = Annotated[date, AfterValidator(_day)]
Currency = Annotated[str, StringConstraints(pattern="^[A-Z]{3}$")]
Years = Annotated[StrictInt, Field(ge=1, le=MAX_YEARS)]
Text = Annotated[str, _text(MAX_TEXT), texts.Plain]
Registrar = Annotated[str, _text(MAX_REGISTRAR), texts.Plain]
Reference = Annotated[str, _text(MAX_REFERENCE), checked(_own, "text_form")]
Notes = Annotated[str, StringConstraints(min_length=1, max_length=MAX_NOTES), checked(_notes, "text_form")]
Moment = Annotated[datetime, AfterValidator(_in_utc)]
Memo = Annotated[str, _text(MAX_MEMO), texts.Plain]
Rate = Annotated[Decimal, Field(ge=0, le=1, max_digits=7, decimal_places=6)]
CURRENCY = Field(description="ISO 4217 code of amounts without a currency; by default the base currency.")
NOT_NULL = Field(json_schema_extra=_without_default)
ABSENT: Any = None  # the default of a member that cannot be null
