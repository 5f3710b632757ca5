"""Instants of requests: times with an offset, in the format of RFC 3339."""

import re
from datetime import UTC, datetime
from typing import Annotated

from pydantic import AfterValidator, AwareDatetime, BeforeValidator
from pydantic_core import PydanticCustomError

_RFC_3339 = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(?:\.\d+)?(?:[Zz]|[+-]\d\d:\d\d)", re.ASCII)
_FORM = PydanticCustomError("instant_form", "Write a time in RFC 3339 format: 2026-01-05T09:30:00Z.")
# A plus sign in a query is a space: the offset `+02:00` arrives as ` 02:00`.
_LOST_PLUS = re.compile(r"(.+) (\d\d:\d\d)", re.ASCII)
_LOST_PLUS_TEXT = "In a URL write the plus sign of the offset as %2B: {meant}."


def _instant(value: object) -> object:
    if not isinstance(value, datetime) and not (isinstance(value, str) and _RFC_3339.fullmatch(value)):
        if isinstance(value, str) and (lost := _LOST_PLUS.fullmatch(value)) is not None:
            meant = f"{lost[1]}+{lost[2]}"
            if _RFC_3339.fullmatch(meant):
                written = meant.replace(" ", "T").replace("+", "%2B")
                raise PydanticCustomError("instant_form", _LOST_PLUS_TEXT, {"meant": written})
        raise _FORM
    return value


def _in_utc(value: datetime) -> datetime:
    """Return the time in UTC, which the first and the last hours of the calendar do not have."""
    try:
        return value.astimezone(UTC)
    except OverflowError:
        raise _FORM from None


Instant = Annotated[AwareDatetime, BeforeValidator(_instant), AfterValidator(_in_utc)]
