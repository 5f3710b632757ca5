"""Numbers and amounts of money in cells, as people and vendors write them."""

import re
from dataclasses import dataclass, replace
from enum import StrEnum

from builders.kit.sheets.cells import BLANK, CellRefused, shown
from builders.kit.values.money import CURRENCIES, STABLECOINS, Money, decimals_of

_MAX_DIGITS = 18  # of a count


class DecimalMark(StrEnum):
    """What stands before the decimals of a number; the other mark separates thousands."""

    POINT = "point"
    COMMA = "comma"

    @property
    def character(self) -> str:
        """Return the mark."""
        return "." if self is DecimalMark.POINT else ","


_MARKED = re.compile(r"(?<![A-Za-z])[.,]\d+|\d[\d.,' ]*")
_GROUPED = re.compile(r"[1-9]\d{0,2}(?:([.,])\d{3})(?:\1\d{3})*")
_EITHER = re.compile(r"[1-9]\d{0,2}[.,]\d{3}")


def find_decimal_mark(cell: str) -> DecimalMark | None:
    """Return the decimal mark that the first number of a cell proves; None if it proves none, such as 1.120."""
    if "." not in cell and "," not in cell:
        return None
    found = _MARKED.search(" ".join(cell.split()))
    digits = "" if found is None else found.group().replace("'", "").replace(" ", "")
    marks = [each for each in digits if each in ".,"]
    if not marks or _EITHER.fullmatch(digits):
        return None
    last = DecimalMark.POINT if marks[-1] == "." else DecimalMark.COMMA
    if marks.count(marks[-1]) == 1:
        return last
    other = DecimalMark.COMMA if last is DecimalMark.POINT else DecimalMark.POINT
    return other if _GROUPED.fullmatch(digits) else None


def is_ambiguous_number(cell: str) -> bool:
    """Return whether a number has a point that can stand before decimals or thousands, as in 1.120."""
    found = _MARKED.search(" ".join(cell.split()))
    return found is not None and "." in found.group() and _EITHER.fullmatch(found.group().strip()) is not None


def read_count(cell: str, maximum: int, mark: DecimalMark | None) -> int:
    """Return a whole number from 0, with or without separators or zeros as decimals. Raise CellRefused.

    Without a known decimal mark, three digits behind a single mark are thousands.
    """
    text = cell.replace("'", "").replace(" ", "").replace("\u00a0", "").replace("\u202f", "")
    grouped = _GROUPED.fullmatch(text)
    if grouped is not None and (mark is None or grouped[1] != mark.character or text.count(grouped[1]) > 1):
        text = text.replace(grouped[1], "")
    else:
        decimal = "." if mark is None else mark.character
        whole, _, part = text.rpartition(decimal) if decimal in text else (text, "", "")
        text = whole.replace("," if decimal == "." else ".", "") if not part.strip("0") else text
    if not text.isascii() or not text.isdigit() or len(text) > _MAX_DIGITS or int(text) > maximum:
        raise CellRefused("number_invalid", f"{shown(cell)} is not a whole number from 0 to {maximum}.")
    return int(text)


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
    unit: str | None = None  # a code or symbol in the header of the column
    decimal_mark: DecimalMark | None = None  # None: each amount is read alone


def find_currency(unit: str) -> str | None:
    """Return the code or symbol of a currency among the words of a unit, such as `EUR, net`; None without one."""
    for word in re.split(r"[\s,;/]+", unit.strip()):
        upper = word.upper()
        if upper in _SYMBOLS or word in _SHARED_SYMBOLS or upper in CURRENCIES:
            return word
    return None


def _is_code(text: str) -> bool:
    return text in STABLECOINS or (text.isascii() and _CURRENCY.fullmatch(text) is not None)


def read_currency(cell: str) -> str | None:
    """Return the ISO 4217 code of a cell, None for a blank one. Raise CellRefused."""
    text = cell.strip().upper()
    if text.lower() in BLANK:
        return None
    if text in _SHARED_SYMBOLS:
        return _SHARED_SYMBOLS[text][0]
    code = _SYMBOLS.get(text, text)
    if not _is_code(code):
        message = f"{shown(cell)} is not a currency. Write an ISO 4217 code, such as USD."
        raise CellRefused("currency_invalid", message)
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
    match = _AMOUNT.fullmatch(text)
    if match is None or (match["before"] and match["after"]):
        raise _amount_refused(text)
    if rules.unit is not None:
        rules = replace(rules, currency=_currency_of(rules.unit, rules, text))
    currency = _currency_of(match["before"] or match["after"], rules, text)
    digits = _plain_digits(match["digits"].strip(), decimals_of(currency), rules.decimal_mark, text)
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
        if not _is_code(currency):
            raise _amount_refused(text)
    if expected is not None and currency != expected:
        message = f"{shown(text)} is in {currency}, and the row says {expected}. Write the same currency in both."
        raise CellRefused("currency_conflict", message)
    return currency


def _plain_digits(digits: str, decimals: int, decimal_mark: DecimalMark | None, text: str) -> str:
    """Return the digits with a point before the decimals and without separators of thousands."""
    plain = digits.replace("'", "").replace(" ", "")
    mark = max(plain.rfind(","), plain.rfind("."))
    if mark < 0:
        return plain
    whole, part = plain[:mark], plain[mark + 1 :]
    if _is_thousands(plain, plain[mark], decimals, decimal_mark):
        whole, part = whole + part, ""
    elif plain.count(plain[mark]) > 1 or (decimal_mark is not None and plain[mark] != decimal_mark.character):
        raise _amount_refused(text)
    whole = whole.replace(",", "").replace(".", "") or "0"
    if not whole.isdigit() or (part and not part.isdigit()):
        raise _amount_refused(text)
    if decimals and len(part) > decimals:  # zeros of a database column
        part = part[:decimals] + part[decimals:].rstrip("0")
    return f"{whole}.{part}" if part else whole


def _is_thousands(plain: str, mark: str, decimals: int, decimal_mark: DecimalMark | None) -> bool:
    """Return whether the last mark of a number separates thousands.

    Without a known decimal mark, three digits behind a single point are thousands, if the currency has fewer
    decimals.
    """
    if len(plain) - plain.rfind(mark) - 1 != _GROUP or {",", "."} <= {*plain}:
        return False
    if decimal_mark is not None:
        return mark != decimal_mark.character
    return mark == "," or plain.count(".") > 1 or (decimals < _GROUP and _EITHER.fullmatch(plain) is not None)


def _amount_refused(text: str) -> CellRefused:
    return CellRefused("amount_invalid", f"{shown(text)} is not an amount. Write digits, such as 12.34.")
