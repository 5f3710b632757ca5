"""Amounts that a person types in a form, with the marks and symbols of files; the API gets them exactly."""

from collections.abc import Mapping
from typing import Any

from builders.console.calls import Api, Call
from builders.kit.errors import Invalid
from builders.kit.sheets.cells import CellRefused, shown
from builders.kit.sheets.numbers import AmountRules, ReadAmount, find_amount, has_thousands, is_ambiguous_number
from builders.kit.values.money import MAX_DECIMALS, NO_CURRENCY

_RENEWALS = "/v1/portfolio/renewals?limit=1"  # has the base currency


async def as_amount(api: Api, text: str, *, field: str, currency: str = "") -> Mapping[str, str] | str:
    """Return the amount of a field for a body, in the currency that the text names, else in that of the form.

    `currency` is that of the form, or of the value that it was shown with; else the base currency of the account
    counts. It also settles a symbol of several currencies. A person can write the amount again, so nothing else is
    guessed. Without a currency that the person may see, return the digits alone. Raise Invalid.
    """
    place = ("body", *field.split("."))
    found = _find(text, currency or None, place)
    if found is not None and found.assumed is not None and not currency:
        found = _find(text, await _base_currency(api), place)
    if found is None:
        return text.strip()
    if found.assumed is not None:
        message = f"Several currencies have the symbol {shown(found.assumed)}. Write the code, such as 12.34 USD."
        raise Invalid(place, message, "currency_ambiguous")
    amount = f"{found.money.amount.normalize():f}"
    if found.money.currency != NO_CURRENCY:
        return {"amount": amount, "currency": found.money.currency}
    named = currency or await _base_currency(api)
    return amount if named is None else {"amount": amount, "currency": named}


def budget_of(text: str, currency: str) -> Mapping[str, str] | None:
    """Return the amount of a budget in a currency; None for any other text, or one that can mean two amounts."""
    try:
        found = find_amount(text, AmountRules(currency, currency))
    except CellRefused:
        return None
    if found is None or _is_unclear(text, currency):
        return None
    return dict[str, Any](found.money.to_wire())


async def as_bound(api: Api, text: str) -> str:
    """Return the digits of an amount in the base currency, for a query; nothing for any other text."""
    currency = None if text.isdecimal() else await _base_currency(api)
    if currency is None:
        return text
    found = budget_of(text, currency)
    return "" if found is None else found["amount"]


def _find(text: str, home: str | None, place: tuple[str, ...]) -> ReadAmount | None:
    """Return the amount of a text, None for a blank one. Raise Invalid."""
    # NO_CURRENCY is that of an amount that names none, which the API then takes from what it changes. The API also
    # refuses more decimals than a currency has, and says so.
    rules = AmountRules(None, NO_CURRENCY, home_currency=home, decimals=MAX_DECIMALS)
    try:
        found = find_amount(text, rules)
    except CellRefused as refusal:
        raise Invalid(place, str(refusal), refusal.code) from None
    if found is not None and _is_unclear(text, found.money.currency):
        whole, _, part = f"{found.money.amount:,.0f}".partition(",")
        message = (
            f"{shown(text.strip())} can mean {whole},{part} or {whole}.{part}. Write thousands without a point."
        )
        raise Invalid(place, message, "number_ambiguous")
    return found


def _is_unclear(text: str, currency: str) -> bool:
    return is_ambiguous_number(text) and has_thousands(currency)


async def _base_currency(api: Api) -> str | None:
    """Return the base currency of the account; None if the person may not see it."""
    answer = await api.send(Call("GET", _RENEWALS))
    return answer.body["base_currency"] if answer.is_ok else None
