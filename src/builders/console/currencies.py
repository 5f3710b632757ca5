"""The forms of exchange rates of one's own: one is added or removed, and the others stay."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from builders.console.calls import Api, Call
from builders.console.forms import Sent
from builders.console.notices import reason_of
from builders.kit.errors import CURRENCY_PATTERN, Invalid

RATES = "/v1/portfolio/exchange-rates"
_KEY = ("currency", "since")  # what a rate is for
# A problem of the API names a rate by its place in the list, so these are said here.
_FORMS = {
    "currency": (CURRENCY_PATTERN, "Write a code, such as BTC."),
    "quote_currency": ("[A-Z]{3}", "Write a code, such as EUR."),
    "rate": (r"[0-9]{1,9}(\.[0-9]{1,12})?", "Write a number, such as 0.25."),
    "since": (r"\d{4}-\d\d-\d\d", "Choose a day."),
}


async def add(api: Api, sent: Sent) -> Any:
    """Return the rates with the typed one; it replaces one of its currency and day. Raise Invalid."""
    typed = {name: sent.first(name).strip() for name in (*_KEY, "rate", "quote_currency")}
    typed |= {name: typed[name].upper() for name in ("currency", "quote_currency")}
    wrong = [
        {"loc": ("body", name), "msg": message, "type": "value_form"}
        for name, (pattern, message) in _FORMS.items()
        if not re.fullmatch(pattern, typed[name])
    ]
    if wrong:
        raise Invalid.many(wrong)
    return {"rates": [typed, *await _others(api, typed)]}


async def remove(api: Api, sent: Sent) -> Any:
    """Return the rates without one. Raise Invalid."""
    return {"rates": await _others(api, {name: sent.first(name) for name in _KEY})}


async def _others(api: Api, rate: Mapping[str, str]) -> Sequence[Mapping[str, str]]:
    """Return the rates of other currencies and days. Raise Invalid when they cannot be read."""
    answer = await api.send(Call("GET", RATES))
    if not answer.is_ok:
        raise Invalid(("body",), f"The rates could not be read: {reason_of(answer.body)}", "rates_unread")
    return [each for each in answer.body["rates"] if any(each[name] != rate[name] for name in _KEY)]
