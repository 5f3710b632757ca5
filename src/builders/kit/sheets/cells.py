"""Values of cells: flags, dates and words as people and vendors write them; safe cells for writing."""

import re
import tomllib
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import StrEnum
from importlib.resources import files
from itertools import chain
from types import MappingProxyType
from typing import TypeVar

from builders.kit.sheets import zones
from builders.kit.values import texts
from builders.kit.values.days import FIRST_YEAR, LAST_YEAR
from builders.kit.values.suggestions import find_similar

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
_NUMBER = re.compile(r"[+-]?(?:[0-9]{1,18}|[0-9]{1,3}([, ])[0-9]{3}(?:\1[0-9]{3}){0,4})")
_WORD_SEPARATORS = re.compile(r"[,;|\n]+")
_NO_WORDS: Mapping[str, Sequence[str]] = MappingProxyType({})
E = TypeVar("E", bound=StrEnum)
_FLAGS = tomllib.loads(files("builders.kit.sheets").joinpath("flags.toml").read_text(encoding="utf-8"))
_TRUE, _FALSE = (frozenset(chain.from_iterable(_FLAGS[each].values())) for each in ("yes", "no"))


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
        found = re.sub("[, ]", "", cell) if _NUMBER.fullmatch(cell) else ""
        if not found or not minimum <= int(found) <= maximum:
            message = f"{shown(cell)} is not a whole number from {minimum} to {maximum}."
            raise CellRefused("number_invalid", message)
        return int(found)

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
            close = find_similar(word[:_MAX_CLOSE], known)
            meant = None if close is None else known[close].value
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


_MONTHS = {
    name: at
    for at, names in enumerate(
        (
            *("jan january januar janv janvier ene enero", "feb february februar févr février febrero"),
            *("mar march märz mrz mars marzo", "apr april avr avril abr abril", "may mai mayo"),
            *("jun june juni juin junio", "jul july juli juil juillet julio", "aug august août ago agosto"),
            *("sep sept september septembre septiembre", "oct october okt oktober octobre octubre"),
            *("nov november novembre noviembre", "dec december dez dezember déc décembre dic diciembre"),
        ),
        start=1,
    )
    for name in names.split()
}
_TIME = (
    r"(?:[T ,]+(?P<clock>\d{1,2}:\d{2}(?::\d{2})?(?:\.\d+)?)(?: ?(?P<half>[ap]m)(?![a-z]))?"
    rf"(?: ?\(?(?P<zone>{zones.PATTERN})\)?)?)?"
)
_YEAR_FIRST = re.compile(  # Hungarian dates end with a point
    rf"(?P<y>\d{{4}})([-/.])(?P<m>\d{{1,2}})\2(?P<d>\d{{1,2}})\.?{_TIME}", re.IGNORECASE
)
_YEAR_LAST = re.compile(
    rf"(?P<a>\d{{1,2}})(?P<mark>[-/.])(?P<b>\d{{1,2}})(?P=mark)(?P<y>\d{{4}}){_TIME}", re.IGNORECASE
)
_MONTH_NAMED = re.compile(
    rf"(?:(?P<n1>[^\W\d_]{{3,10}})\.? (?P<d1>\d{{1,2}})(?:st|nd|rd|th)?,? (?P<y1>\d{{4}})"
    r"|(?P<d2>\d{1,2})(?:st|nd|rd|th|er|\.)?[ -](?:de )?(?P<n2>[^\W\d_]{3,10})\.?(?: de |[ ,-]+)(?P<y2>\d{4}))"
    rf"{_TIME}",
    re.IGNORECASE,
)
_DIGITS = re.compile(r"\d{8}|\d{10}|\d{13}")
_ENDS_WITH_Z = re.compile(r"\d ?[Zz]\s*$")
_SHORT_YEAR = re.compile(r"\d{1,2}[-/.]\d{1,2}[-/.]\d{2}(?!\d).*")
_MILLISECONDS, _COMPACT = 13, 8  # digits
_MOST_MONTHS = 12
_NOON = 12
_DATE_HINT = "Write it as YYYY-MM-DD."


class DateFormat(StrEnum):
    """The order of day and month in numeric dates that end with the year."""

    MDY = "mdy"
    DMY = "dmy"


def find_date_format(cell: str) -> DateFormat | None:
    """Return the order that a date proves: one of its first two numbers is above 12. None if it proves none."""
    found = _YEAR_LAST.fullmatch(cell.strip())
    if found is None or found["mark"] == ".":
        return None
    first, second = int(found["a"]), int(found["b"])
    if first > _MOST_MONTHS >= second:
        return DateFormat.DMY
    return DateFormat.MDY if second > _MOST_MONTHS >= first else None


def is_ambiguous(cell: str) -> bool:
    """Return whether a date means another day in the other order."""
    found = _YEAR_LAST.fullmatch(cell.strip())
    return found is not None and found["mark"] != "." and found["a"] != found["b"]


def find_zone(cell: str) -> str | None:
    """Return the word for the time zone behind a time of day, such as `PST`; None without one, and for `Z`."""
    if ":" not in cell or not cell.rstrip(") ")[-1:].isalpha() or _ENDS_WITH_Z.search(cell):
        return None
    text = " ".join(cell.split())
    matches = (each.fullmatch(text) for each in (_YEAR_FIRST, _YEAR_LAST, _MONTH_NAMED))
    found = next(filter(None, matches), None)
    zone: str | None = None if found is None else found["zone"]
    return zone if zone and zone[-1].isalpha() else None


def read_moment(cell: str, form: DateFormat) -> date | datetime | None:
    """Return the date of a cell, or the time in UTC if it has a time of day; None for a blank one.

    Raise CellRefused.
    """
    text = " ".join(cell.split())
    if text.lower() in BLANK:
        return None
    try:
        moment = _moment(text, form)
    except (ValueError, OverflowError):
        raise _date_refused(text, "is not a day of the calendar") from None
    if moment is None:
        why = "has a year of two digits" if _SHORT_YEAR.fullmatch(text) else "is not a date"
        raise _date_refused(text, why)
    if not FIRST_YEAR <= moment.year <= LAST_YEAR:
        raise _date_refused(text, f"is not between {FIRST_YEAR} and {LAST_YEAR}")
    return moment


def read_date(cell: str, form: DateFormat) -> date | None:
    """Return the date of a cell; of a time its day in UTC. Raise CellRefused."""
    found = read_moment(cell, form)
    return found.date() if isinstance(found, datetime) else found


def _moment(text: str, form: DateFormat) -> date | datetime | None:
    if _DIGITS.fullmatch(text):
        return _of_digits(text)
    if match := _YEAR_FIRST.fullmatch(text):
        return _at(date(int(match["y"]), int(match["m"]), int(match["d"])), match)
    if match := _YEAR_LAST.fullmatch(text):
        is_day_first = match["mark"] == "." or form is DateFormat.DMY
        day, month = (match["a"], match["b"]) if is_day_first else (match["b"], match["a"])
        return _at(date(int(match["y"]), int(month), int(day)), match)
    if match := _MONTH_NAMED.fullmatch(text):
        month_number = _MONTHS.get((match["n1"] or match["n2"]).lower())
        if month_number is None:
            return None
        return _at(date(int(match["y1"] or match["y2"]), month_number, int(match["d1"] or match["d2"])), match)
    return None


def _of_digits(text: str) -> date | datetime:
    if len(text) == _COMPACT:
        return date(int(text[:4]), int(text[4:6]), int(text[6:]))
    seconds = int(text) / (1000 if len(text) == _MILLISECONDS else 1)
    return datetime.fromtimestamp(seconds, UTC).replace(microsecond=0)


def _at(day: date, match: re.Match[str]) -> date | datetime:
    clock = match["clock"]
    if clock is None:
        return day
    hour, minute, *rest = clock.split(":")
    hours = int(hour)
    if match["half"]:
        hours = hours % _NOON + (_NOON if match["half"].lower() == "pm" else 0)
    second, _, fraction = rest[0].partition(".") if rest else ("0", "", "")
    local = datetime.combine(day, time(hours, int(minute), int(second), int(f"{fraction:0<6.6}")))
    offset = zones.offset_of(match["zone"], local) if match["zone"] else None  # an unknown zone counts as UTC
    return local.replace(tzinfo=timezone(offset or timedelta())).astimezone(UTC)


def _date_refused(text: str, why: str) -> CellRefused:
    return CellRefused("date_invalid", f"{shown(text)} {why}. {_DATE_HINT}")
