"""The cells of a catalog file: the values of each column, and the meaning of a blank cell."""

import re
import unicodedata
from collections.abc import Callable, Collection
from difflib import get_close_matches
from enum import StrEnum
from typing import TypeAlias

from builders.aliases.records import PriceInterval, SeparatorPolicy
from builders.catalog.records import DomainStatus, MailMode, PriceTier
from builders.kit.values.domain_names import find_a_label
from builders.kit.values.money import Money

Json: TypeAlias = str | int | bool | list["Json"] | dict[str, "Json"] | None

DEFAULT_CURRENCY = "USD"
_BOOLEANS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False, "": False}
_INTEGER = re.compile(r"[+-]?[0-9]{1,9}")
_MAX_CATEGORIES = 5
_MAX_TAGS, _MAX_TAG = 20, 30
_MAX_AMOUNT = 99_999_999
_MAX_BANDS, _MAX_BAND = 10, 64
_MAX_RANK = 1_000_000
_MAX_SHOWN = 60  # characters of a cell that a report repeats


class CellRefused(Exception):
    """The value of a cell is invalid for its column."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


def domain(cell: str) -> str:
    """Return the A-label of a domain with at least two labels, from either form."""
    name = find_a_label(cell)
    if name is None:
        raise CellRefused("domain_invalid", f"{shown(cell)} is not a domain name of two labels or more.")
    return name


def text(limit: int, *, lines: bool = False) -> Callable[[str], str]:
    """Return a reader of text with at most `limit` characters, on one line unless `lines`."""

    def read(cell: str) -> str:
        written = unicodedata.normalize("NFC", cell.strip().replace("\r\n", "\n"))
        if len(written) > limit:
            raise CellRefused("too_long", f"The cell has {len(written)} characters; the maximum is {limit}.")
        for char in written:
            if unicodedata.category(char) in {"Cc", "Cs"} and not (lines and char in "\n\t"):
                raise CellRefused("character_invalid", f"The character U+{ord(char):04X} is not allowed.")
        return written

    return read


def one_of(values: type[StrEnum], blank: StrEnum) -> Callable[[str], str]:
    """Return a reader of the values of an enum."""

    def read(cell: str) -> str:
        word = cell.strip().lower() or blank.value
        if word not in {each.value for each in values}:
            raise CellRefused(
                "value_unknown",
                f"{shown(cell)} is not one of {', '.join(values)}.{_did_you_mean(word, [*values])}",
            )
        return word

    return read


def boolean(cell: str) -> bool:
    """Return true or false; false when blank."""
    value = _BOOLEANS.get(cell.strip().lower())
    if value is None:
        raise CellRefused("not_a_boolean", f"{shown(cell)} is neither true nor false.")
    return value


def whole(minimum: int, maximum: int, blank: int) -> Callable[[str], int]:
    """Return a reader of whole numbers within bounds."""

    def read(cell: str) -> int:
        written = cell.strip()
        if not written:
            return blank
        if not (written.isascii() and _INTEGER.fullmatch(written)) or not minimum <= int(written) <= maximum:
            raise CellRefused(
                "number_invalid", f"{shown(cell)} is not a whole number from {minimum} to {maximum}."
            )
        return int(written)

    return read


def categories(known: Collection[str]) -> Callable[[str], list[Json]]:
    """Return a reader of slugs of existing categories, the main one first."""

    def read(cell: str) -> list[Json]:
        slugs = _split(cell)
        if len(slugs) > _MAX_CATEGORIES:
            raise CellRefused("too_many", f"{len(slugs)} categories; the maximum is {_MAX_CATEGORIES}.")
        for slug in slugs:
            if slug not in known:
                raise CellRefused(
                    "category_unknown", f"There is no category {shown(slug)}.{_did_you_mean(slug, known)}"
                )
        return [*slugs]

    return read


def tags(cell: str) -> list[Json]:
    """Return the search keywords, in lower case."""
    words = _split(unicodedata.normalize("NFKC", cell))
    if len(words) > _MAX_TAGS:
        raise CellRefused("too_many", f"{len(words)} tags; at most {_MAX_TAGS} are allowed.")
    return [*map(text(_MAX_TAG), words)]


def currency(cell: str) -> str:
    """Return the ISO 4217 code."""
    code = cell.strip().upper() or DEFAULT_CURRENCY
    try:
        return Money.zero(code).currency
    except ValueError as refusal:
        raise CellRefused("currency_invalid", f"{shown(cell)}: {refusal}") from None


def amount(cell: str, in_currency: str) -> str:
    """Return a price with all decimals of the currency; zero when blank."""
    try:
        money = Money.of(cell.strip() or "0", in_currency)
    except ValueError as refusal:
        raise CellRefused("amount_invalid", f"{shown(cell)}: {refusal}") from None
    if not 0 <= money.amount <= _MAX_AMOUNT:
        raise CellRefused("amount_invalid", f"A price is from 0 to {_MAX_AMOUNT}.")
    return money.to_wire()["amount"]


def bands(cell: str, in_currency: str) -> list[Json]:
    """Return the prices of short names, `2:120.00|3:60.00`: up to 2 characters, up to 3."""
    found: dict[int, Json] = {}
    for part in _split(cell):
        length, colon, price = part.partition(":")
        max_len = whole(1, _MAX_BAND, 0)(length)
        if not colon or not max_len or max_len in found:
            raise CellRefused("band_invalid", f"{shown(part)} is not a new length and its price, such as 3:60.00.")
        found[max_len] = amount(price, in_currency)
    if len(found) > _MAX_BANDS:
        raise CellRefused("too_many", f"{len(found)} lengths; at most {_MAX_BANDS} are allowed.")
    return [{"max_len": max_len, "amount": found[max_len]} for max_len in sorted(found)]


def path(cell: str) -> str:
    """Return the path of an image as written; `images.find` validates it."""
    return cell.strip()


# Each reader defines the meaning of a blank cell. The readers of prices need the currency of the row too.
READERS: dict[str, Callable[[str], Json]] = {
    "domain": domain,
    "title": text(80),
    "tagline": text(140),
    "description": text(2000, lines=True),
    "tags": tags,
    "status": one_of(DomainStatus, DomainStatus.LIVE),
    "mail_mode": one_of(MailMode, MailMode.BOTH),
    "catch_all": boolean,
    "price_currency": currency,
    "price_interval": one_of(PriceInterval, PriceInterval.YEAR),
    "price_tier": one_of(PriceTier, PriceTier.STANDARD),
    "min_local_length": whole(1, 10, 1),
    "separator_policy": one_of(SeparatorPolicy, SeparatorPolicy.IGNORE_DOTS),
    "featured": boolean,
    "rank": whole(-_MAX_RANK, _MAX_RANK, 0),
    "logo": path,
    "cover": path,
    "icon": path,
}
PRICED: dict[str, Callable[[str, str], Json]] = {"price_amount": amount, "short_name_prices": bands}


def _split(cell: str) -> list[str]:
    """Return the parts between bars in lower case, without blanks and repeats."""
    return list(dict.fromkeys(part.strip().lower() for part in cell.split("|") if part.strip()))


def _did_you_mean(word: str, known: Collection[str]) -> str:
    close = get_close_matches(word[:_MAX_SHOWN], known, n=1)
    return f" Did you mean {close[0]}?" if close else ""


def shown(cell: str) -> str:
    """Return the cell for a report: short and printable."""
    short = cell if len(cell) <= _MAX_SHOWN else f"{cell[:_MAX_SHOWN]}..."
    return repr(short) if short.isprintable() else ascii(short)
