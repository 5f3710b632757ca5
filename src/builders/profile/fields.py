"""Members of a profile in a request: their bounds and rules."""

from importlib import resources
from typing import Annotated

from pydantic import StringConstraints

from builders.kit.values import texts
from builders.kit.values.texts import checked

# ISO 3166-1 alpha-2, officially assigned: the list of the time zone database.
_LISTED = resources.files("tzdata").joinpath("zoneinfo", "iso3166.tab").read_text(encoding="utf-8").splitlines()
COUNTRIES = frozenset(line.partition("\t")[0] for line in _LISTED if not line.startswith("#"))


def country_code(text: str) -> str:
    """Return the code of a country in upper case. Raise ValueError."""
    code = text.upper() if text.isascii() else ""  # other characters can become ASCII in upper case
    if code not in COUNTRIES:
        raise ValueError("Not a country of ISO 3166-1. Send the alpha-2 code, such as DE.")
    return code


def _text(max_length: int) -> StringConstraints:
    return StringConstraints(strip_whitespace=True, min_length=1, max_length=max_length)


_PLAIN = checked(texts.plain, "text_form")
DisplayName = Annotated[str, _text(80), _PLAIN]
Company = Annotated[str, _text(120), _PLAIN]
Website = Annotated[str, _text(texts.MAX_URL), checked(texts.web_address, "web_address")]
Country = Annotated[str, _text(2), checked(country_code, "country")]
TimeZone = Annotated[str, _text(64), checked(texts.timezone, "timezone")]
Locale = Annotated[str, _text(64), checked(texts.locale, "locale")]
Email = Annotated[str, _text(320), checked(texts.canonical_email, "email")]
