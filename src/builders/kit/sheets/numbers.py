"""Amounts of money and numbers as people and vendors write them: the one reader of files and of forms."""

import re
import tomllib
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Context, Decimal
from enum import StrEnum
from importlib.resources import files

from builders.kit.sheets.cells import BLANK, CellRefused, shown
from builders.kit.values.money import CURRENCIES, STABLECOINS, Money, decimals_of

_MAX_DIGITS = 18  # of a count
_STORED = Context(prec=15)  # digits of a number in a spreadsheet


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
# Groups of thousands, as in 1 234 567, and Indian ones, as in 12,34,567.
_GROUPS = re.compile(r"[1-9]\d{0,2}([., '])\d{3}(?:\1\d{3})*|[1-9]\d?(?:,\d{2})+,\d{3}")
_WHOLE = re.compile(rf"\d*|{_GROUPS.pattern}")  # of a number without its decimals
# Of Arabic numbers, and the apostrophes of Swiss ones.
_MARKS = {"\u066b": ".", "\u066c": ",", "\u2019": "'", "\u2018": "'", "\u02bc": "'", "\u00b4": "'"}


class NumberCell(str):
    """A number of a workbook as text: a point is before its decimals, and nothing separates thousands."""

    __slots__ = ()


def plain_number(text: str) -> str:
    """Return a text in which digits, marks and symbols have the usual characters, separated by single spaces.

    Digits of any script become ASCII, wide forms the usual ones. Directional marks are removed. Superscripts stay:
    they are no digits of the number.
    """
    if text.isascii():
        return " ".join(text.split())
    return " ".join("".join(map(_plain_character, text)).split())


def _plain_character(character: str) -> str:
    if character in _MARKS:
        return _MARKS[character]
    if (digit := unicodedata.decimal(character, None)) is not None:
        return str(digit)
    if unicodedata.category(character) == "Cf":
        return ""
    is_form = unicodedata.decomposition(character).startswith(("<wide>", "<narrow>", "<small>"))
    return unicodedata.normalize("NFKC", character) if is_form else character


def find_decimal_mark(cell: str) -> DecimalMark | None:
    """Return the decimal mark that the first number of a cell proves; None if it proves none, such as 1.120."""
    text = plain_number(cell[:MAX_AMOUNT])
    if "." not in text and "," not in text:
        return None
    found = _MARKED.search(text)
    digits = "" if found is None else found.group().replace("'", "").replace(" ", "")
    marks = [each for each in digits if each in ".,"]
    if not marks or _EITHER.fullmatch(digits) or digits[-1] in ".,":
        return None
    last = DecimalMark.POINT if marks[-1] == "." else DecimalMark.COMMA
    if marks.count(marks[-1]) == 1:
        return last
    other = DecimalMark.COMMA if last is DecimalMark.POINT else DecimalMark.POINT
    return other if _GROUPED.fullmatch(digits) else None


def is_ambiguous_number(cell: str) -> bool:
    """Return whether a number has a point that can stand before decimals or thousands, as in 1.120."""
    found = _MARKED.search(plain_number(cell[:MAX_AMOUNT]))
    return found is not None and "." in found.group() and _EITHER.fullmatch(found.group().strip()) is not None


def has_thousands(currency: str) -> bool:
    """Return whether three digits behind a mark are thousands: the currency has fewer decimals."""
    return decimals_of(currency) < _GROUP


def read_count(cell: str, maximum: int, mark: DecimalMark | None) -> int:
    """Return a whole number from 0, with or without separators or zeros as decimals. Raise CellRefused.

    Without a known decimal mark, three digits behind a single mark are thousands.
    """
    text, decimal = plain_number(cell), "." if mark is None else mark.character
    is_whole = _GROUPS.fullmatch(text) and (mark is None or text.count(decimal) != 1)
    whole, _, part = text.rpartition(decimal) if decimal in text and not is_whole else (text, "", "")
    digits = "".join(filter(str.isdigit, whole))
    if (
        part.strip("0")
        or not _WHOLE.fullmatch(whole)
        or not 0 < len(digits) <= _MAX_DIGITS
        or int(digits) > maximum
    ):
        raise CellRefused("number_invalid", f"{shown(cell)} is not a whole number from 0 to {maximum}.")
    return int(digits)


_DATA = tomllib.loads(files("builders.kit.sheets").joinpath("currency_symbols.toml").read_text(encoding="utf-8"))
# The currencies that a symbol can mean, the likeliest first; a symbol of one currency has only that.
_SYMBOLS: Mapping[str, Sequence[str]] = {
    **{symbol: (currency,) for currency, symbols in _DATA["symbols"].items() for symbol in symbols},
    **_DATA["shared"],
}
_ALSO: Mapping[str, Sequence[str]] = _DATA["also"]
_PERIODS: Mapping[str, Sequence[str]] = _DATA["periods"]
_PERIOD_WORDS = {word: name for name in ("year", "month") for word in _PERIODS[name]}
_PERIOD = re.compile(
    rf"(?P<amount>.*[^\s/]) ?(?:/ ?|(?<=\s)(?:{'|'.join(map(re.escape, _PERIODS['words']))}) )"
    r"(?P<word>[^\W\d_]+)\.?"
    r"|(?P<yearly>.*\S) ?p\. ?a\.",
    re.IGNORECASE,
)
_AMOUNT = re.compile(r"(?P<before>[^\d]*?)(?P<digits>\d[\d.,' ]*|(?<![^\W\d_])(?<!/)[.,]\d+)(?P<after>\D*)")
_FOOTNOTE = re.compile(r"[*\u2020\u2021]+(?![\d.,])")
_NO_CENTS = re.compile(r"(?<=\d)[.,:][-\u2013\u2014]{1,2}(?!\d)")  # 12,- and 12.--
_SIGNS = re.compile(r"[-\u2212\u2013()]")
_NEGATIVE = re.compile(r"\(.*\)|.*[-\u2212\u2013]\s*[^\d\s.,()]{0,4}\s*[\d.,]+.*|[\d.,]+[-\u2212\u2013]")
_TOKEN = re.compile(r"[^\W\d_]+|[^\w\s]+")
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
    home_currency: str | None = None  # that the request or the account names: it settles a symbol of several
    decimals: int | None = None  # that an amount can have; None: those of its currency


@dataclass(frozen=True, slots=True)
class ReadAmount:
    """An amount of a cell."""

    money: Money
    assumed: str | None = None  # a symbol of several currencies, of which nothing named one


def find_currency(unit: str) -> str | None:
    """Return the code or symbol of a currency among the words of a unit, such as `EUR, net`; None without one."""
    for word in re.split(r"[\s,;/]+", unit.strip()):
        if _key(word) in _SYMBOLS or word.upper() in CURRENCIES:
            return word
    return None


def read_currency(cell: str, home_currency: str | None = None) -> str | None:
    """Return the ISO 4217 code of a cell, None for a blank one. Raise CellRefused."""
    text = plain_number(cell[:MAX_AMOUNT])
    if text.lower() in BLANK:
        return None
    currencies = _currencies_of(text)
    if currencies is None:
        message = f"{shown(cell)} is not a currency. Write an ISO 4217 code, such as USD."
        raise CellRefused("currency_invalid", message)
    is_home = home_currency in currencies or home_currency in _ALSO.get(_key(text), ())
    return home_currency if is_home else currencies[0]


def read_amount(cell: str, rules: AmountRules, *, is_signed: bool = False) -> Money | None:
    """Return the money of a cell, None for a blank one. Raise CellRefused."""
    found = find_amount(cell, rules, is_signed=is_signed)
    return None if found is None else found.money


def read_currency_of(rules: AmountRules) -> str:
    """Return the currency of a number without a symbol. Raise CellRefused."""
    found = find_amount("1", rules)
    return rules.default_currency if found is None else found.money.currency


def round_number(cell: NumberCell, decimals: int) -> tuple[Decimal, Decimal]:
    """Return a stored number with the digits that spreadsheets show, 15, and rounded to decimals."""
    number = _STORED.plus(Decimal(cell))
    step = Decimal(1).scaleb(-decimals)
    return number, number if number == number.to_integral_value() else number.quantize(step)


def find_amount(cell: str, rules: AmountRules, *, is_signed: bool = False) -> ReadAmount | None:
    """Return the amount of a cell, None for a blank one; with `is_signed` negative with a sign or in parentheses.

    Raise CellRefused.
    """
    if len(cell) > MAX_AMOUNT:
        raise _amount_refused(cell)
    text = plain_number(cell)
    if text.lower() in BLANK:
        return None
    text = _NO_CENTS.sub("", _without_period(_FOOTNOTE.sub("", text).strip()))
    if is_signed and _SIGNS.search(text):
        found = find_amount(_SIGNS.sub(" ", text), rules)
        return None if found is None else replace(found, money=-found.money)
    if _NEGATIVE.fullmatch(text):
        raise CellRefused("amount_negative", f"{shown(text)} is negative. Write the amount without a sign.")
    match = _AMOUNT.fullmatch(text)
    if match is None:
        raise _amount_refused(text)
    if rules.unit is not None:
        currency, _ = _choose_currency([rules.unit], rules, text)
        rules = replace(rules, currency=currency)
    marks = [each for each in (match["before"].strip(), match["after"].strip()) if each]
    currency, assumed = _choose_currency(marks, rules, text)
    decimals = decimals_of(currency)
    digits = _plain_digits(match["digits"].strip(), decimals, rules, text)
    try:
        money = Money.of(digits, currency, decimals=rules.decimals)
    except ValueError as error:
        raise CellRefused("amount_invalid", f"{shown(text)}: {error}") from None
    return None if rules.zero_is_blank and not money.amount else ReadAmount(money, assumed)


def _without_period(text: str) -> str:
    """Return an amount of a year without its period. Raise CellRefused for that of a month."""
    found = _PERIOD.fullmatch(text)
    if found is None:
        return text
    period = "year" if found["yearly"] else _PERIOD_WORDS.get(found["word"].casefold())
    if period == "month":
        raise CellRefused("amount_monthly", f"{shown(text)} is the price of a month. Write that of a year.")
    return text if period is None else found["yearly"] or found["amount"]


def _key(symbol: str) -> str:
    return "".join(symbol.split()).removesuffix(".").casefold()


def _currencies_of(mark: str) -> Sequence[str] | None:
    """Return the currencies that a code or symbol can mean, the likeliest first; None for any other text."""
    key = _key(mark)
    if key in _SYMBOLS:
        return _SYMBOLS[key]
    code = mark.strip().removesuffix(".").upper()
    is_code = code in STABLECOINS or (code.isascii() and _CURRENCY.fullmatch(code) is not None)
    return (code,) if is_code else None


def _meanings(mark: str) -> Sequence[str] | None:
    """Return the currencies that the marks on one side of a number can mean, such as `US $` and `CLP$`."""
    whole = _currencies_of(mark)
    if whole is not None:
        return (*whole, *_ALSO.get(_key(mark), ()))
    tokens = _TOKEN.findall(mark)
    parts = [_currencies_of(each) for each in tokens] if len(tokens) > 1 else [None]
    if any(each is None for each in parts):
        return None
    return [each for each in parts[0] or () if all(each in (other or ()) for other in parts)] or None


def _choose_currency(marks: Sequence[str], rules: AmountRules, text: str) -> tuple[str, str | None]:
    """Return the currency of an amount with these marks, and the symbol that nothing settled.

    The row decides, then the marks themselves, then what the request or the account names, then the likeliest.
    Raise CellRefused.
    """
    if not marks:
        return rules.currency or rules.default_currency, None
    found = [_meanings(each) for each in marks]
    if any(each is None for each in found):
        raise _amount_refused(text)
    common = [each for each in found[0] or () if all(each in (other or ()) for other in found)]
    if not common:
        raise CellRefused("currency_conflict", f"{shown(text)} names two currencies. Write one.")
    expected = rules.currency
    if expected is not None:
        if expected not in common:
            message = (
                f"{shown(text)} is in {common[0]}, and the row says {expected}. Write the same currency in both."
            )
            raise CellRefused("currency_conflict", message)
        return expected, None
    if rules.home_currency in common:
        return str(rules.home_currency), None
    own = [each for each in common if not all(each in _ALSO.get(_key(mark), ()) for mark in marks)]
    return own[0], marks[0] if len(own) > 1 else None


def _plain_digits(digits: str, decimals: int, rules: AmountRules, text: str) -> str:
    """Return the digits with a point before the decimals and without separators of thousands."""
    mark = max(digits.rfind(","), digits.rfind("."))
    if mark < 0 or _is_thousands(digits, digits[mark], decimals, rules.decimal_mark):
        whole, part = digits, ""
    elif digits.count(digits[mark]) > 1 or (
        rules.decimal_mark is not None and digits[mark] != rules.decimal_mark.character
    ):
        raise _amount_refused(text)
    else:
        whole, part = digits[:mark], digits[mark + 1 :]
    if not (whole or part) or (part and not part.isdigit()) or not _WHOLE.fullmatch(whole):
        raise _amount_refused(text)
    whole = "".join(filter(str.isdigit, whole)) or "0"
    allowed = decimals if rules.decimals is None else rules.decimals
    if allowed and len(part) > allowed:  # zeros of a database column
        part = part[:allowed] + part[allowed:].rstrip("0")
    return f"{whole}.{part}" if part else whole


def _is_thousands(digits: str, mark: str, decimals: int, decimal_mark: DecimalMark | None) -> bool:
    """Return whether the last mark of a number separates thousands.

    Without a known decimal mark, three digits behind a single point are thousands, if the currency has fewer
    decimals.
    """
    if not _GROUPS.fullmatch(digits):
        return False
    if decimal_mark is not None:
        return mark != decimal_mark.character
    return mark == "," or digits.count(".") > 1 or decimals < _GROUP


def _amount_refused(text: str) -> CellRefused:
    return CellRefused("amount_invalid", f"{shown(text)} is not an amount. Write digits, such as 12.34.")
