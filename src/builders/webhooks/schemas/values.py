"""Values that are read more strictly than pydantic reads them: a number is no text, a text no number."""

import re
from datetime import datetime
from typing import Annotated

from pydantic import AwareDatetime, BeforeValidator
from pydantic_core import PydanticCustomError

_RFC_3339 = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(?:\.\d+)?(?:[Zz]|[+-]\d\d:\d\d)", re.ASCII)


def _instant(value: object) -> object:
    if not isinstance(value, datetime) and not (isinstance(value, str) and _RFC_3339.fullmatch(value)):
        raise PydanticCustomError("instant_form", "Write a time as RFC 3339 has it: 2026-01-05T09:30:00Z.")
    return value


def whole_number(value: object) -> object:
    """For a BeforeValidator behind the bounds, which are lost to the document when they stand after one."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise PydanticCustomError("int_type", "Input should be a valid integer")
    return value


Instant = Annotated[AwareDatetime, BeforeValidator(_instant)]
