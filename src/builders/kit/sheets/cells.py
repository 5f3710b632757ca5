"""Values of cells: flags and numbers as people and vendors write them; safe cells for writing."""

import re
import unicodedata
from decimal import Decimal

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
_NUMBER = re.compile(r"[0-9]{1,18}")
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

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


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


def read_number(cell: str, *, maximum: int) -> int | None:
    """Return the whole number of a cell from 1 to `maximum`, None for a blank one. Raise CellRefused."""
    text = cell.strip()
    if text.lower() in BLANK:
        return None
    if not _NUMBER.fullmatch(text) or not 1 <= int(text) <= maximum:
        raise CellRefused("number_invalid", f"{shown(text)} is not a whole number from 1 to {maximum}.")
    return int(text)


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
