"""What the members of a profile may hold, each brought into one form. Everything here raises ValueError."""

import re
import unicodedata
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Annotated

from pydantic import HttpUrl, TypeAdapter, UrlConstraints, ValidationError

MAX_URL = 2048  # characters
# Control characters (line ends too), lone surrogates, and those that turn or hide the direction of reading; what
# joins and varies (emoji, Persian) may stand.
_STEERING = {"Cc", "Cs", "Zl", "Zp", "Cn", "Co"}
_DIRECTIONS = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_INVISIBLE = {"Cf", "Mn", "Zs"}

# ISO 3166-1 alpha-2, officially assigned; tests hold it against the list that comes with the time zones.
_COUNTRIES = """
    AD AE AF AG AI AL AM AO AQ AR AS AT AU AW AX AZ BA BB BD BE BF BG BH BI BJ BL BM BN BO BQ BR BS BT BV BW BY BZ
    CA CC CD CF CG CH CI CK CL CM CN CO CR CU CV CW CX CY CZ DE DJ DK DM DO DZ EC EE EG EH ER ES ET FI FJ FK FM FO
    FR GA GB GD GE GF GG GH GI GL GM GN GP GQ GR GS GT GU GW GY HK HM HN HR HT HU ID IE IL IM IN IO IQ IR IS IT JE
    JM JO JP KE KG KH KI KM KN KP KR KW KY KZ LA LB LC LI LK LR LS LT LU LV LY MA MC MD ME MF MG MH MK ML MM MN MO
    MP MQ MR MS MT MU MV MW MX MY MZ NA NC NE NF NG NI NL NO NP NR NU NZ OM PA PE PF PG PH PK PL PM PN PR PS PT PW
    PY QA RE RO RS RU RW SA SB SC SD SE SG SH SI SJ SK SL SM SN SO SR SS ST SV SX SY SZ TC TD TF TG TH TJ TK TL TM
    TN TO TR TT TV TW TZ UA UG UM US UY UZ VA VC VE VG VI VN VU WF WS YE YT ZA ZM ZW
"""
COUNTRIES = frozenset(_COUNTRIES.split())

# RFC 5646, 2.1, without the grandfathered tags, all of which have a better form today.
_LOCALE = re.compile(
    r"(?P<language>[a-z]{2,3}(?:-[a-z]{3}){0,3}|[a-z]{4}|[a-z]{5,8})"
    r"(?P<script>-[a-z]{4})?(?P<region>-(?:[a-z]{2}|[0-9]{3}))?"
    r"(?P<variants>(?:-(?:[a-z0-9]{5,8}|[0-9][a-z0-9]{3}))*)"
    r"(?P<extensions>(?:-[0-9a-wy-z](?:-[a-z0-9]{2,8})+)*)(?P<private>-x(?:-[a-z0-9]{1,8})+)?"
)

_web = TypeAdapter[HttpUrl](
    Annotated[
        HttpUrl,
        UrlConstraints(max_length=MAX_URL, allowed_schemes=["http", "https"], preserve_empty_path=True),
    ]
)


def plain(text: str) -> str:
    """Text for one line, composed (NFC), with something to see in it."""
    text = unicodedata.normalize("NFC", text)
    kinds = {unicodedata.category(char) for char in text}
    if kinds & _STEERING or not _DIRECTIONS.isdisjoint(text):
        raise ValueError("Text must not contain control characters, nor what turns the direction of reading.")
    if kinds <= _INVISIBLE:
        raise ValueError("There is nothing to see in this text.")
    return text


def web_address(text: str) -> str:
    """An address of the web as browsers write it."""
    try:
        url = _web.validate_python(text)
    except ValidationError as error:
        raise ValueError(error.errors()[0]["msg"]) from None
    if url.username or url.password:
        raise ValueError("The address of a website holds no name and no password.")
    if len(str(url)) > MAX_URL:
        raise ValueError(f"URL should have at most {MAX_URL} characters.")
    return str(url)


def country(text: str) -> str:
    """A country's two letters."""
    letters = text.upper() if text.isascii() else ""  # the upper case of others can be two of ours
    if letters not in COUNTRIES:
        raise ValueError("Not a country of ISO 3166-1; send its two letters, such as DE.")
    return letters


@cache
def timezones() -> Mapping[str, str]:
    """Every name of the IANA database, by itself in lower case; the same on every machine."""
    names = resources.files("tzdata").joinpath("zones").read_text(encoding="utf-8").split()
    return {name.lower(): name for name in names if name not in {"Factory", "localtime"}}


def timezone(text: str) -> str:
    """A time zone's name."""
    found = timezones().get(text.lower()) if text.isascii() else None
    if found is None:
        raise ValueError("Not a time zone of the IANA database; send a name such as Europe/Berlin.")
    return found


def locale(text: str) -> str:
    """A language tag in canonical case (RFC 5646, 2.1.1): `zh-Hant-TW`."""
    match = _LOCALE.fullmatch(text.lower()) if text.isascii() else None
    if match is None or _repeats(match):
        raise ValueError("Not a language tag (BCP 47); send one such as en-GB.")
    part = match.groupdict(default="")
    tag = f"{part['language']}{part['script'].title()}{part['region'].upper()}"
    return f"{tag}{part['variants']}{part['extensions']}{part['private']}"


def _repeats(match: re.Match[str]) -> bool:
    """Whether a variant, or the letter that begins an extension, is there twice (RFC 5646, 2.2.5 and 2.2.6)."""
    variants = match["variants"].split("-")[1:]
    letters = [each for each in match["extensions"].split("-") if len(each) == 1]
    return len({*variants}) < len(variants) or len({*letters}) < len(letters)
