"""Dates and times in cells, in the usual forms."""

import re
from datetime import UTC, date, datetime, time, timedelta, timezone
from enum import StrEnum

from builders.kit.sheets.cells import BLANK, CellRefused, shown
from builders.kit.values.days import FIRST_YEAR, LAST_YEAR

_MONTHS = {
    name: at
    for at, names in enumerate(
        (
            *(
                "jan january januar",
                "feb february februar",
                "mar march märz mrz",
                "apr april",
                "may mai",
                "jun june juni",
            ),
            *("jul july juli", "aug august", "sep sept september", "oct october okt oktober", "nov november"),
            "dec december dez dezember",
        ),
        start=1,
    )
    for name in names.split()
}
_ZONES = {
    **dict.fromkeys(("z", "utc", "gmt"), 0),
    **dict.fromkeys(("bst", "cet"), 1),
    **dict.fromkeys(("cest", "eet"), 2),
    **dict.fromkeys(("edt",), -4),
    **dict.fromkeys(("est", "cdt"), -5),
    **dict.fromkeys(("cst", "mdt"), -6),
    **dict.fromkeys(("mst", "pdt"), -7),
    **dict.fromkeys(("pst",), -8),
    "eest": 3,
}
_TIME = (
    r"(?:[T ,]+(?P<clock>\d{1,2}:\d{2}(?::\d{2})?(?:\.\d+)?)(?: ?(?P<half>[ap]m))?"
    r" ?(?P<zone>[a-z]{1,4}|[+-]\d{2}:?\d{2})?)?"
)
_YEAR_FIRST = re.compile(rf"(?P<y>\d{{4}})([-/.])(?P<m>\d{{1,2}})\2(?P<d>\d{{1,2}}){_TIME}", re.IGNORECASE)
_YEAR_LAST = re.compile(
    rf"(?P<a>\d{{1,2}})(?P<mark>[-/.])(?P<b>\d{{1,2}})(?P=mark)(?P<y>\d{{4}}){_TIME}", re.IGNORECASE
)
_MONTH_NAMED = re.compile(
    rf"(?:(?P<n1>[a-zä]{{3,9}})\.? (?P<d1>\d{{1,2}})(?:st|nd|rd|th)?,? (?P<y1>\d{{4}})"
    rf"|(?P<d2>\d{{1,2}})(?:st|nd|rd|th|\.)?[ -](?P<n2>[a-zä]{{3,9}})\.?[ ,-]+(?P<y2>\d{{4}})){_TIME}",
    re.IGNORECASE,
)
_DIGITS = re.compile(r"\d{8}|\d{10}|\d{13}")
_SHORT_YEAR = re.compile(r"\d{1,2}[-/.]\d{1,2}[-/.]\d{2}(?!\d).*")
_MILLISECONDS, _SECONDS, _COMPACT = 13, 10, 8  # digits
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


def read_moment(cell: str, form: DateFormat) -> date | datetime | None:
    """Return the date of a cell, or the time in UTC if it has a time of day; None for a blank one.

    Raise CellRefused.
    """
    text = " ".join(cell.split())
    if text.lower() in BLANK:
        return None
    try:
        found = _moment(text, form)
    except (ValueError, OverflowError):
        raise _date_refused(text, "is not a day of the calendar") from None
    if found is None:
        why = "has a year of two digits" if _SHORT_YEAR.fullmatch(text) else "is not a date"
        raise _date_refused(text, why)
    if not FIRST_YEAR <= found.year <= LAST_YEAR:
        raise _date_refused(text, f"is not between {FIRST_YEAR} and {LAST_YEAR}")
    return found


def read_date(cell: str, form: DateFormat) -> date | None:
    """Return the date of a cell; of a time its day in UTC. Raise CellRefused."""
    found = read_moment(cell, form)
    return found.date() if isinstance(found, datetime) else found


def _moment(text: str, form: DateFormat) -> date | datetime | None:
    if _DIGITS.fullmatch(text):
        return _of_digits(text)
    if found := _YEAR_FIRST.fullmatch(text):
        return _at(date(int(found["y"]), int(found["m"]), int(found["d"])), found)
    if found := _YEAR_LAST.fullmatch(text):
        is_day_first = found["mark"] == "." or form is DateFormat.DMY
        day, month = (found["a"], found["b"]) if is_day_first else (found["b"], found["a"])
        return _at(date(int(found["y"]), int(month), int(day)), found)
    if found := _MONTH_NAMED.fullmatch(text):
        month_number = _MONTHS.get((found["n1"] or found["n2"]).lower())
        if month_number is None:
            return None
        return _at(date(int(found["y1"] or found["y2"]), month_number, int(found["d1"] or found["d2"])), found)
    return None


def _of_digits(text: str) -> date | datetime | None:
    if len(text) == _COMPACT:
        return date(int(text[:4]), int(text[4:6]), int(text[6:]))
    seconds = int(text) / (1000 if len(text) == _MILLISECONDS else 1)
    return datetime.fromtimestamp(seconds, UTC).replace(microsecond=0)


def _at(day: date, found: re.Match[str]) -> date | datetime:
    clock = found["clock"]
    if clock is None:
        return day
    hour, minute, *rest = clock.split(":")
    hours = int(hour)
    if found["half"]:
        hours = hours % _NOON + (_NOON if found["half"].lower() == "pm" else 0)
    second, _, fraction = rest[0].partition(".") if rest else ("0", "", "")
    zone = timezone(_offset(found["zone"] or "z"))
    return datetime.combine(day, time(hours, int(minute), int(second), int(f"{fraction:0<6.6}")), zone).astimezone(
        UTC
    )


def _offset(zone: str) -> timedelta:
    if zone[0] in "+-":
        minutes = int(zone[1:3]) * 60 + int(zone[-2:])
        return timedelta(minutes=-minutes if zone[0] == "-" else minutes)
    return timedelta(hours=_ZONES.get(zone.lower(), 0))


def _date_refused(text: str, why: str) -> CellRefused:
    return CellRefused("date_invalid", f"{shown(text)} {why}. {_DATE_HINT}")
