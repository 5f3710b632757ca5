"""Types of the fields of a domain, and how a request is read."""

from collections.abc import Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Annotated

from pydantic import AfterValidator, Field, StrictBool, StringConstraints

from builders.kit.values import money, texts
from builders.kit.values.days import require_day
from builders.kit.values.docs import doc
from builders.kit.values.domain_names import find_a_label
from builders.kit.values.texts import checked

MAX_TAGS = 50  # of a domain
MAX_TAG = 50  # characters
MAX_TEXT = 100  # of a registrar, counterparty or folder
MAX_NOTES = 5_000
MAX_NAMESERVERS = 13
ShownDigest = Annotated[
    Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{32}$")] | None,
    doc("`digest` of a dry run: the request changes nothing unless it has the same effect."),
]


def _in_utc(moment: datetime) -> datetime:
    """Return a time in UTC; one without a zone, such as a date alone, is in UTC."""
    # The years at both ends of the calendar have no other zone.
    require_day(moment.date())
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def _host(text: str) -> str:
    host = find_a_label(text)
    if host is None:
        raise ValueError("Not the name of a host; send one such as ns1.harbour.com.")
    return host


def _tag(text: str) -> str:
    tag = texts.plain(text.lower())
    if not {",", ";", "|"}.isdisjoint(tag):
        raise ValueError("A tag must not contain a comma, semicolon or bar, which separate tags in files.")
    return tag


def _notes(text: str) -> str:
    cleaned = texts.cleaned(text)
    if not cleaned:
        raise ValueError("The text has no visible characters.")
    return cleaned


def _distinct(values: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(values))


def _percent(value: Decimal) -> Decimal:
    return value.quantize(Decimal("0.01"))


Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_TEXT), texts.Plain]
Notes = Annotated[str, StringConstraints(min_length=1, max_length=MAX_NOTES), checked(_notes, "text_form")]
Tag = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_TAG),
    checked(_tag, "text_form"),
]
Tags = Annotated[Sequence[Tag], Field(max_length=MAX_TAGS), AfterValidator(_distinct)]
Host = Annotated[str, StringConstraints(min_length=1, max_length=253), checked(_host, "host_name")]
Hosts = Annotated[Sequence[Host], Field(max_length=MAX_NAMESERVERS), AfterValidator(_distinct)]
Percent = Annotated[
    Decimal,
    Field(ge=0, le=100, decimal_places=2),
    AfterValidator(_percent),
    money.published(r"^(100(\.0{1,2})?|[0-9]{1,2}(\.[0-9]{1,2})?)$", minimum=0, maximum=100),
]
Moment = Annotated[datetime, AfterValidator(_in_utc)]
Flag = StrictBool
