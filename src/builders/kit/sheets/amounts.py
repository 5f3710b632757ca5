"""Amounts of money in cells, with the usual signs and separators."""

import re
from dataclasses import dataclass

from builders.kit.sheets.cells import BLANK, CellRefused, shown
from builders.kit.values.money import Money, decimals_of

_SYMBOLS = {
    "US$": "USD",
    "CA$": "CAD",
    "C$": "CAD",
    "A$": "AUD",
    "AU$": "AUD",
    "NZ$": "NZD",
    "HK$": "HKD",
    "S$": "SGD",
    "R$": "BRL",
    "€": "EUR",
    "£": "GBP",
    "₹": "INR",
    "₽": "RUB",
    "₩": "KRW",
    "₺": "TRY",
    "ZŁ": "PLN",
    "FR.": "CHF",
}
_SHARED_SYMBOLS = {"$": ("USD", ("CAD", "AUD", "NZD", "HKD", "SGD", "MXN")), "¥": ("JPY", ("CNY",))}
_SIGN = r"[^\d\s.,()+-]{1,4}(?:(?<=[a-zA-Z])\.)?"
_AMOUNT = re.compile(rf"(?P<before>{_SIGN})? ?(?P<digits>\d[\d.,' ]*|[.,]\d+) ?(?P<after>{_SIGN})?")
_SIGNS = re.compile(r"[-\u2212\u2013()]")
_NEGATIVE = re.compile(r"\(.*\)|.*-\s*[\d.,]+.*|[\d.,]+-")
_CURRENCY = re.compile(r"[A-Za-z]{3}")
MAX_AMOUNT = 60  # characters; the patterns take long for long texts
_GROUP = 3  # digits between separators of thousands


@dataclass(frozen=True, slots=True)
class AmountRules:
    """The interpretation of an amount without a sign or currency."""

    currency: str | None  # of the row
    default_currency: str
    zero_is_blank: bool = False


def read_currency(cell: str) -> str | None:
    """Return the ISO 4217 code of a cell, None for a blank one. Raise CellRefused."""
    text = cell.strip().upper()
    if text.lower() in BLANK:
        return None
    if text in _SHARED_SYMBOLS:
        return _SHARED_SYMBOLS[text][0]
    code = _SYMBOLS.get(text, text)
    if not _CURRENCY.fullmatch(code) or not code.isascii():
        raise CellRefused(
            "currency_invalid", f"{shown(cell)} is not a currency. Write an ISO 4217 code, such as USD."
        )
    return code


def read_amount(cell: str, rules: AmountRules, *, is_signed: bool = False) -> Money | None:
    """Return the money of a cell, None for a blank one; negative with a sign or in parentheses, if it `is_signed`.

    Raise CellRefused.
    """
    text = " ".join(cell.split())
    if text.lower() in BLANK:
        return None
    if len(text) > MAX_AMOUNT:
        raise _amount_refused(text)
    if is_signed and _SIGNS.search(text):
        money = read_amount(_SIGNS.sub(" ", text), rules)
        return None if money is None else -money
    if _NEGATIVE.fullmatch(text):
        raise CellRefused("amount_negative", f"{shown(text)} is negative. Write the amount without a sign.")
    found = _AMOUNT.fullmatch(text)
    if found is None or (found["before"] and found["after"]):
        raise _amount_refused(text)
    currency = _currency_of(found["before"] or found["after"], rules, text)
    digits = _plain_digits(found["digits"].strip(), decimals_of(currency), text)
    try:
        money = Money.of(digits, currency)
    except ValueError as error:
        raise CellRefused("amount_invalid", f"{shown(text)}: {error}") from None
    return None if rules.zero_is_blank and not money.amount else money


def _currency_of(symbol: str | None, rules: AmountRules, text: str) -> str:
    if symbol is None:
        return rules.currency or rules.default_currency
    expected = rules.currency
    if symbol in _SHARED_SYMBOLS:
        own, others = _SHARED_SYMBOLS[symbol]
        if expected is None:
            return rules.default_currency if rules.default_currency in others else own
        currency = expected if expected in others else own
    else:
        upper = symbol.upper()
        currency = _SYMBOLS.get(upper, upper)
        if not _CURRENCY.fullmatch(currency) or not currency.isascii():
            raise _amount_refused(text)
    if expected is not None and currency != expected:
        raise CellRefused(
            "currency_conflict",
            f"{shown(text)} is in {currency}, and the row says {expected}. Write the same currency in both.",
        )
    return currency


def _plain_digits(digits: str, decimals: int, text: str) -> str:
    """Return the digits with a point before the decimals and without separators of thousands."""
    plain = digits.replace("'", "").replace(" ", "")
    mark = max(plain.rfind(","), plain.rfind("."))
    if mark < 0:
        return plain
    whole, part = plain[:mark], plain[mark + 1 :]
    is_thousands = len(part) == _GROUP and (plain[mark] == "," or plain.count(".") > 1) and not _has_both(plain)
    if is_thousands:
        whole, part = whole + part, ""
    elif plain.count(plain[mark]) > 1:
        raise _amount_refused(text)
    whole = whole.replace(",", "").replace(".", "") or "0"
    if not whole.isdigit() or (part and not part.isdigit()):
        raise _amount_refused(text)
    if decimals and len(part) > decimals:  # zeros of a database column
        part = part[:decimals] + part[decimals:].rstrip("0")
    return f"{whole}.{part}" if part else whole


def _has_both(plain: str) -> bool:
    return "," in plain and "." in plain


def _amount_refused(text: str) -> CellRefused:
    return CellRefused("amount_invalid", f"{shown(text)} is not an amount. Write digits, such as 12.34.")
