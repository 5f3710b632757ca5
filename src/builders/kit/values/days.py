"""Days that a domain or a payment can have."""

from datetime import date
from typing import Annotated

from pydantic import AfterValidator
from pydantic_core import PydanticCustomError

from builders.kit.errors import Invalid

FIRST_YEAR, LAST_YEAR = 1980, 2199  # .com began in 1985


def require_day(day: date) -> date:
    """Return a day of these years. Raise PydanticCustomError."""
    if not FIRST_YEAR <= day.year <= LAST_YEAR:
        context = {"first": FIRST_YEAR, "last": LAST_YEAR}
        raise PydanticCustomError("date_range", "Input should be between {first} and {last}", context)
    return day


Day = Annotated[date, AfterValidator(require_day)]


def require_order(since: date, until: date) -> None:
    """Raise Invalid for the days of a query, `from` and `to`, in the wrong order."""
    if since > until:
        raise Invalid(("query", "to"), "The last day is before the first one.", "date_range")
