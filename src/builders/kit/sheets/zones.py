"""Time zones in cells: offsets, names of the IANA database and abbreviations."""

import re
import tomllib
from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import cache
from importlib.resources import files
from zoneinfo import ZoneInfo, available_timezones

_DATA = tomllib.loads(files("builders.kit.sheets").joinpath("zones.toml").read_text(encoding="utf-8"))
_HOURS: Mapping[str, float] = _DATA["hours"]
_SHARED = frozenset(_DATA["shared"]["words"])
_OFFSET = re.compile(
    r"(?:utc|gmt)? ?(?P<sign>[+\-\u2212])(?P<hours>\d{1,2})(?::?(?P<minutes>\d{2}))?", re.IGNORECASE
)
# A zone behind a time of day, as the pattern of a date has it.
PATTERN = r"(?:(?:utc|gmt) ?)?[+\-\u2212]\d{1,2}(?::?\d{2})?|[a-z](?:[a-z0-9_+/-]{0,30}[a-z0-9])?"


def offset_of(zone: str, at: datetime) -> timedelta | None:
    """Return the offset from UTC of a zone at a local time; None for an unknown zone. Raise ValueError."""
    found = _OFFSET.fullmatch(zone)
    if found is not None:
        minutes = int(found["hours"]) * 60 + int(found["minutes"] or 0)
        return timedelta(minutes=minutes if found["sign"] == "+" else -minutes)
    word = zone.lower()
    if word in _HOURS:
        return timedelta(hours=_HOURS[word])
    name = _names().get(word)
    return None if name is None else ZoneInfo(name).utcoffset(at)


def is_shared(zone: str) -> bool:
    """Return whether several zones have the word."""
    return zone.lower() in _SHARED


@cache
def _names() -> Mapping[str, str]:
    """Return the names of the IANA database by their lower case."""
    return {each.lower(): each for each in available_timezones()}
