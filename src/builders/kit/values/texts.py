"""Text from users: normalize it, or raise ValueError."""

import re
import unicodedata
from collections.abc import Callable, Mapping
from functools import cache
from importlib import resources
from typing import Annotated, LiteralString

from email_validator import EmailNotValidError, validate_email
from pydantic import AfterValidator, HttpUrl, TypeAdapter, UrlConstraints, ValidationError
from pydantic_core import PydanticCustomError

MAX_URL = 2048  # characters
ENCODED_WORD = "=?"  # the beginning of an encoded word (RFC 2047)
# Control characters, line ends, lone surrogates, and characters that change the direction of reading. Joiners and
# variation selectors are allowed: emoji and Persian need them.
_STEERING = {"Cc", "Cs", "Zl", "Zp", "Cn", "Co"}
_DIRECTIONS = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_INVISIBLE = _STEERING | {"Cf", "Mn", "Zs"}
_BLANK = "\u2800"  # Braille without a dot, which is a symbol by its category
# Characters without a width, which make two texts look alike. Scripts and emoji need joiners between two
# characters, so a joiner is refused next to ASCII and at an end.
_ZERO_WIDTH = re.compile(
    r"[\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180e\u200b\u2060-\u2064\u206a-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb]"
    r"|[\U000e0000-\U000e0fff]|(?:^|[\x00-\x7f])[\u200c\u200d]|[\u200c\u200d](?:$|[\x00-\x7f])"
)

# RFC 5646, 2.1, without the grandfathered tags, each of which has a preferred form.
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


def checked(check: Callable[[str], str], kind: LiteralString) -> AfterValidator:
    """Return a validator for a check that raises ValueError; `kind` is the type of its error."""

    def validate(text: str) -> str:
        try:
            return check(text)
        except ValueError as error:
            # As a parameter: pydantic would read braces in the message as placeholders.
            raise PydanticCustomError(kind, "{why}", {"why": str(error)}) from None

    return AfterValidator(validate)


def plain(text: str) -> str:
    """Return text for one line, composed (NFC). Raise ValueError if it is invisible or hides characters."""
    text = unicodedata.normalize("NFC", text)
    kinds = {unicodedata.category(char) for char in text}
    if kinds & _STEERING or not _DIRECTIONS.isdisjoint(text):
        raise ValueError("Text must not contain control characters or bidirectional controls.")
    if _ZERO_WIDTH.search(text):
        raise ValueError("Text must not contain zero-width characters.")
    if not visible(text):
        raise ValueError("The text has no visible characters.")
    return text


def visible(text: str) -> str:
    """Return the characters of a text that one can see: without blanks, marks and characters without a width."""
    shown = (char for char in _ZERO_WIDTH.sub("", text) if unicodedata.category(char) not in _INVISIBLE)
    return "".join(shown).replace(_BLANK, "")


def one_line(text: str) -> str:
    """Return text for one line as `plain` does; it may be empty."""
    return plain(text) if text else text


def cleaned(text: str) -> str:
    """Return text of several lines, composed, without the characters that `plain` refuses."""
    lines = re.split(r"\r\n?|\n", unicodedata.normalize("NFC", text.expandtabs(4)))
    return "\n".join("".join(filter(_is_plain, line)).rstrip() for line in lines).strip()


def composed(text: str) -> str:
    """Return the text composed (NFC), as `plain` keeps it, without space around it."""
    return unicodedata.normalize("NFC", text).strip()


def lowered(text: str) -> str:
    """Return the text composed in lower case, without space around it."""
    return composed(text.lower())


def printable(text: str) -> str:
    """Return a text for a message: on one line, without the characters that `cleaned` removes."""
    return " ".join(cleaned(text).split())


def _is_plain(char: str) -> bool:
    return unicodedata.category(char) not in _STEERING and char not in _DIRECTIONS


def web_address(text: str) -> str:
    """Return an http or https URL as browsers write it. Raise ValueError."""
    try:
        url = _web.validate_python(text)
    except ValidationError as error:
        raise ValueError(error.errors()[0]["msg"]) from None
    if url.username or url.password:
        raise ValueError("The address of a website must not contain a user name or password.")
    if len(str(url)) > MAX_URL:
        raise ValueError(f"URL should have at most {MAX_URL} characters.")
    return str(url)


def canonical_email(text: str) -> str:
    """Return the address in lower case, its domain as A-labels. Raise ValueError for an invalid address.

    Local parts are ASCII: few mail servers accept others, and users could not distinguish similar characters. An
    encoded word is refused, because mail programs decode it.
    """
    try:
        found = validate_email(text.strip(), check_deliverability=False, allow_smtputf8=False, strict=True)
    except EmailNotValidError as error:
        raise ValueError(str(error)) from None
    if ENCODED_WORD in found.local_part:
        raise ValueError(f"The part before the @-sign must not contain {ENCODED_WORD}")
    return f"{found.local_part}@{found.ascii_domain}".lower()


def locale(text: str) -> str:
    """Return a language tag in canonical case (RFC 5646, 2.1.1): `zh-Hant-TW`. Raise ValueError."""
    match = _LOCALE.fullmatch(text.lower()) if text.isascii() else None
    variants = [] if match is None else match["variants"].split("-")[1:]
    singletons = [] if match is None else [each for each in match["extensions"].split("-") if len(each) == 1]
    # None of them occurs twice (RFC 5646, 2.2.5 and 2.2.6).
    if match is None or len({*variants}) < len(variants) or len({*singletons}) < len(singletons):
        raise ValueError("Not a language tag (BCP 47); send one such as en-GB.")
    part = match.groupdict(default="")
    tag = f"{part['language']}{part['script'].title()}{part['region'].upper()}"
    return f"{tag}{part['variants']}{part['extensions']}{part['private']}"


@cache
def timezones() -> Mapping[str, str]:
    """Return the names of the IANA time zone database, by their lower case; the same on every machine."""
    names = resources.files("tzdata").joinpath("zones").read_text(encoding="utf-8").split()
    return {name.lower(): name for name in names if name not in {"Factory", "localtime"}}


def timezone(text: str) -> str:
    """Return the name of a time zone in the spelling of the IANA database. Raise ValueError."""
    found = timezones().get(text.lower()) if text.isascii() else None
    if found is None:
        raise ValueError("Not a time zone of the IANA database; send a name such as Europe/Berlin.")
    return found


Composed = AfterValidator(composed)
Lowered = AfterValidator(lowered)
Plain = checked(plain, "text_form")  # of a label or a name
OneLine = checked(one_line, "text_form")  # of a note or the value of a label
