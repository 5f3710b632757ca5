"""The published pattern of a decimal: text that fits it is accepted."""

import re
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from builders.portfolio.domains.fields import Percent
from builders.portfolio.finance.api import Commission
from builders.portfolio.finance.fields import Rate

TEXTS = (
    "0",
    "1",
    "0.5",
    "0.1234567",
    "0.123456",
    "1.000000",
    "30.00",
    "99.999",
    "100",
    "100.01",
    "-1",
    "a",
    "",
    "\x00",
)


@pytest.mark.parametrize("form", [Percent, Rate, Commission], ids=["percent", "rate", "commission"])
def test_text_of_the_published_pattern_is_accepted_and_other_text_refused(form: Any) -> None:
    adapter = TypeAdapter[Any](form)
    [pattern] = [each["pattern"] for each in adapter.json_schema()["anyOf"] if each["type"] == "string"]
    for text in TEXTS:
        try:
            adapter.validate_python(text)
            is_accepted = True
        except ValidationError:
            is_accepted = False
        assert (re.fullmatch(pattern, text) is not None) == is_accepted, text
