"""Values of cells: flags and numbers as people and vendors write them; safe cells for writing."""

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from difflib import get_close_matches
from enum import StrEnum
from types import MappingProxyType
from typing import TypeVar

from builders.kit.values import texts

# Characters that start a formula in a spreadsheet, or that it skips before one (OWASP, CSV injection). The last
# four are full-width forms, which some programs convert to the plain ones.
RISKY = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
BLANK = frozenset(
    (
        *("", "-", "--", "\u2013", "\u2014", "n/a", "na", "null", "none", "nil", "unset"),
        *("0000-00-00", "0000-00-00 00:00:00"),
    )
)
_APOSTROPHE = "'"
# Characters without a visible form, which a spreadsheet skips or a person does not see: of these categories, and
# fillers, the grapheme joiner and variation selectors.
_INVISIBLE_KINDS = frozenset({"Cc", "Cf", "Zs", "Zl", "Zp"})
_INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
_MAX_READ = 1_000  # characters of a text that a message shows the beginning of
_MAX_CLOSE = 40  # characters of a word that is compared with known ones
_NUMBER = re.compile(r"[+-]?[0-9]{1,18}")
_WORD_SEPARATORS = re.compile(r"[,;|\n]+")
_NO_WORDS: Mapping[str, Sequence[str]] = MappingProxyType({})
E = TypeVar("E", bound=StrEnum)
_TRUE = frozenset(
    (
        *(
            "1",
            "on",
            "yes",
            "y",
            "true",
            "t",
            "x",
            "✓",
            "✔",
            "enabled",
            "enable",
            "active",
            "ja",
            "oui",
            "si",
            "sí",
        ),
        *("locked", "lock", "protected", "private", "full privacy", "partial privacy", "privacy on"),
        *("auto renew", "auto-renew", "autorenew", "auto", "automatic"),
    )
)
_FALSE = frozenset(
    (
        *(
            "0",
            "off",
            "no",
            "n",
            "false",
            "f",
            "none",
            "disabled",
            "disable",
            "inactive",
            "expired",
            "nein",
            "non",
        ),
        *("unlocked", "unlock", "unprotected", "public", "privacy off", "no privacy", "not present", "notpresent"),
        *("do not renew", "do-not-renew", "donotrenew", "no auto renew", "manual", "manual renew"),
    )
)


class CellRefused(ValueError):
    """A cell cannot be read; the message has the cause and the expected form."""

    def __init__(self, code: str, message: str, *, did_you_mean: str | None = None) -> None:
        super().__init__(message)
        self.code, self.did_you_mean = code, did_you_mean


def is_formula(text: str) -> bool:
    """Return whether a spreadsheet could read the text as a formula, also behind invisible characters."""
    for character in text:
        if character in RISKY:
            return True
        if unicodedata.category(character) not in _INVISIBLE_KINDS and not _INVISIBLE.match(character):
            return False
    return False


def safe_cell(text: str) -> str:
    """Return the text with an apostrophe before it if a spreadsheet could read it as a formula."""
    return f"{_APOSTROPHE}{text}" if is_formula(text) else text


def reversible_cell(text: str) -> str:
    """Return a safe cell from which `original_text` restores any text."""
    return f"{_APOSTROPHE}{text}" if is_formula(text.lstrip(_APOSTROPHE)) else text


def original_text(cell: str) -> str:
    """Return the original text of a cell of `reversible_cell`."""
    is_escaped = cell.startswith(_APOSTROPHE) and is_formula(cell.lstrip(_APOSTROPHE))
    return cell[1:] if is_escaped else cell


def number(maximum: int, *, minimum: int = 1) -> Callable[[str], int | None]:
    """Return a reader of whole numbers within bounds, with or without separators of thousands."""

    def read(cell: str) -> int | None:
        text = cell.replace(",", "").replace(" ", "")
        if not text.isascii() or not _NUMBER.fullmatch(text) or not minimum <= int(text) <= maximum:
            raise CellRefused(
                "number_invalid", f"{shown(cell)} is not a whole number from {minimum} to {maximum}."
            )
        return int(text)

    return read


def text(limit: int, clean: Callable[[str], str] = texts.one_line) -> Callable[[str], str | None]:
    """Return a reader of text with at most `limit` characters; `clean` raises ValueError."""

    def read(cell: str) -> str | None:
        if len(cell) > limit:
            raise CellRefused("text_too_long", f"The text has {len(cell)} characters. Shorten it to {limit}.")
        return _cleaned(cell, clean) or None

    return read


def words(limit: int, *, most: int) -> Callable[[str], Sequence[str] | None]:
    """Return a reader of at most `most` words in lower case, each of at most `limit` characters."""

    def read(cell: str) -> Sequence[str] | None:
        written = dict.fromkeys(" ".join(each.split()).lower() for each in _WORD_SEPARATORS.split(cell))
        found = [_cleaned(each, texts.one_line) for each in written if each]
        if len(found) > most:
            raise CellRefused("too_many_words", f"The cell has {len(found)} words; at most {most} are allowed.")
        long = next((each for each in found if len(each) > limit), None)
        if long is not None:
            raise CellRefused("text_too_long", f"{shown(long)} is too long. Shorten it to {limit} characters.")
        return found or None

    return read


def choice(kind: type[E], code: str, synonyms: Mapping[str, Sequence[str]] = _NO_WORDS) -> Callable[[str], E]:
    """Return a reader of the values of an enum, and of words that mean them."""
    known = {
        word: each
        for each in kind
        for word in (each.value, each.value.replace("_", " "), *synonyms.get(each.value, ()))
    }

    def read(cell: str) -> E:
        word = " ".join(cell.split()).lower()
        if word not in known:
            meant = next((known[each].value for each in get_close_matches(word[:_MAX_CLOSE], known, n=1)), None)
            hint = f" Did you mean {meant}?" if meant else ""
            choices = ", ".join(dict.fromkeys(known.values()))
            message = f"{shown(cell)} is not a known value. Write one of: {choices}.{hint}"
            raise CellRefused(code, message, did_you_mean=meant)
        return known[word]

    return read


def _cleaned(cell: str, clean: Callable[[str], str]) -> str:
    try:
        return clean(cell)
    except ValueError as error:
        raise CellRefused("text_form", f"{error} Write it without them.") from None


def read_percent(cell: str) -> Decimal | None:
    """Return the percentage of a cell, with or without its sign, None for a blank one. Raise CellRefused."""
    text = cell.strip().removesuffix("%").strip().replace(",", ".")
    if text.lower() in BLANK:
        return None
    if not re.fullmatch(r"\d{1,3}(\.\d{1,2})?", text) or Decimal(text) > 100:  # noqa: PLR2004 - percent
        raise CellRefused("percent_invalid", f"{shown(cell)} is not a percentage from 0 to 100.")
    return Decimal(text)


def read_flag(cell: str) -> bool | None:
    """Return whether a cell means yes, None for a blank one. Raise CellRefused."""
    text = " ".join(cell.split()).lower()
    if text in _FALSE:
        return False
    if text in _TRUE:
        return True
    if text in BLANK:
        return None
    raise CellRefused("flag_invalid", f"{shown(cell)} is neither yes nor no. Write yes or no.")


def shown(text: str) -> str:
    """Return a text of a file for a message: short, on one line and without control characters."""
    plain = texts.printable(text[:_MAX_READ])
    return f"“{plain if len(plain) <= 60 else plain[:57] + '...'}”"  # noqa: PLR2004 - characters of a message
