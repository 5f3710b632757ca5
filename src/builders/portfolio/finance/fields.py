"""Types of members of finance that requests share."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Annotated, Any

from pydantic import AfterValidator, Field, StrictInt, StringConstraints
from pydantic.config import JsonDict

from builders.kit.values import decimals, texts
from builders.kit.values.days import require_day
from builders.kit.values.texts import checked
from builders.portfolio.domains.fields import MAX_NOTES, MAX_TEXT as MAX_REGISTRAR
from builders.portfolio.ledger.records import MAX_MEMO, MAX_REFERENCE, MAX_TERM_TEXT, MAX_YEARS


def _in_utc(moment: datetime) -> datetime:
    """Return a time in UTC; one without a zone, such as a date alone, is in UTC."""
    require_day(moment.date())
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def _notes(text: str) -> str:
    cleaned = texts.cleaned(text)
    if not cleaned:
        raise ValueError("The text has no visible characters.")
    return cleaned


def _without_default(schema: JsonDict) -> None:
    """Publish no default: an absent member keeps its value."""
    schema.pop("default", None)


def _text(length: int) -> Any:
    return StringConstraints(strip_whitespace=True, min_length=1, max_length=length)


Currency = Annotated[str, StringConstraints(pattern="^[A-Z]{3}$")]
Years = Annotated[StrictInt, Field(ge=1, le=MAX_YEARS)]
Text = Annotated[str, _text(MAX_TERM_TEXT), texts.Plain]
Registrar = Annotated[str, _text(MAX_REGISTRAR), texts.Plain]
Reference = Annotated[str, _text(MAX_REFERENCE), texts.Plain]
Notes = Annotated[str, StringConstraints(min_length=1, max_length=MAX_NOTES), checked(_notes, "text_form")]
Moment = Annotated[datetime, AfterValidator(_in_utc)]
Memo = Annotated[str, _text(MAX_MEMO), texts.Plain]
Rate = Annotated[
    Decimal,
    Field(ge=0, le=1, max_digits=7, decimal_places=6),
    decimals.published(r"^(1(\.0{1,6})?|0(\.[0-9]{1,6})?)$", minimum=0, maximum=1),
]
CURRENCY = Field(description="ISO 4217 code of amounts without a currency; by default the base currency.")
NOT_NULL = Field(json_schema_extra=_without_default)
ABSENT: Any = None  # the default of a member that cannot be null
