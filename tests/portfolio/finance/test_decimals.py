"""The published pattern of a decimal: text that fits it is accepted."""

import re
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from builders.portfolio.domains.fields import Percent
from builders.portfolio.finance.api import Commission
from builders.portfolio.finance.schemas import Rate

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
def test_text_of_the_published_pattern_is_accepted_and_other_text_is_refused(form: Any) -> None:
    adapter = TypeAdapter[Any](form)
    [pattern] = [each["pattern"] for each in adapter.json_schema()["anyOf"] if each["type"] == "string"]
    fitting = [text for text in TEXTS if re.fullmatch(pattern, text)]
    for text in fitting:
        adapter.validate_python(text)
    assert fitting
    for text in {*TEXTS} - {*fitting} - {"1.000000"}:  # zeros at the end are accepted
        with pytest.raises(ValidationError):
            adapter.validate_python(text)
