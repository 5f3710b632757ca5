"""Days that a domain or a payment can have."""

from datetime import date
from typing import Annotated

from pydantic import AfterValidator
from pydantic_core import PydanticCustomError

FIRST_YEAR, LAST_YEAR = 1980, 2199  # .com began in 1985


def require_day(day: date) -> date:
    """Return a day of these years. Raise PydanticCustomError."""
    if not FIRST_YEAR <= day.year <= LAST_YEAR:
        context = {"first": FIRST_YEAR, "last": LAST_YEAR}
        raise PydanticCustomError("date_range", "Input should be between {first} and {last}", context)
    return day


Day = Annotated[date, AfterValidator(require_day)]
