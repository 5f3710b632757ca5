"""Members that requests and replies of domains share, each with its description, and how a request is read."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Annotated

from pydantic import AfterValidator, Field, StrictBool, StringConstraints
from pydantic_core import PydanticCustomError

from builders.kit.values import decimals, texts
from builders.kit.values.days import require_day
from builders.kit.values.domain_names import find_a_label
from builders.kit.values.texts import checked
from builders.portfolio.domains import names, records
from builders.portfolio.domains.errors import NameInvalid

STATUS = Field(
    description="Status of the domain in your portfolio. Only your requests change it; an expiry does not."
)
OWNERSHIP = Field(
    description=(
        "`leased`: you lease it from the counterparty. `consigned`: you sell it on behalf of the counterparty."
    )
)
COUNTERPARTY = Field(description="The lessor or consignor of the domain; null for an owned domain.")
REVENUE_SHARE = Field(
    description=(
        "Share of the counterparty in the net proceeds of a sale, in percent, such as 30.00; null for an owned "
        "domain. Record parking and lease income as received, and the counterparty's share of it as "
        "`other_cost`."
    )
)
REGISTRAR = Field(description="Where the domain is registered; null when unknown.")
REGISTERED_ON = Field(description="When the domain was first registered; null when unknown.")
ACQUIRED_ON = Field(description="When you acquired the domain; null when unknown.")
EXPIRES_AT = Field(description="When the registration expires; null when unknown.")
AUTO_RENEW = Field(description="Whether the registrar renews the domain; null when unknown.")
LOCKED = Field(description="Whether transfers are locked; null when unknown.")
PRIVACY = Field(description="Whether the contacts are hidden; null when unknown.")
NAMESERVERS = Field(description="Name servers of the domain; empty when unknown.")
RENEWAL_PRICE = Field(description="Price of one more year; null when unknown.")
ASKING_PRICE = Field(description="Price that you ask for the domain; null for none.")
MIN_OFFER = Field(description="Lowest offer that you consider; null for none.")
ESTIMATED_VALUE = Field(description="Your estimate of the value of the domain; null without one.")
TAGS = Field(description="Your tags, in lower case. An array in a request replaces all of them.")
FOLDER = Field(description="Your folder; null for none.")
NOTES = Field(description="Your notes; null for none.")
PINNED = Field(description="Whether you keep the domain independently of its figures.")


def _check_name(text: str) -> str:
    try:
        names.parse_name(text)
    except NameInvalid as error:
        if error.did_you_mean is None:
            raise PydanticCustomError("domain_name", "{message}", {"message": error.message}) from None
        context = {"message": error.message, "did_you_mean": error.did_you_mean}
        raise PydanticCustomError("domain_name", "{message} Did you mean {did_you_mean}?", context) from None
    return text


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


def _distinct(values: list[str]) -> list[str]:
    return list(dict.fromkeys(values))


def _percent(value: Decimal) -> Decimal:
    return value.quantize(Decimal("0.01"))


NameText = Annotated[str, StringConstraints(min_length=1, max_length=2048), AfterValidator(_check_name)]
Text = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=records.MAX_TEXT), texts.Plain
]
Notes = Annotated[str, StringConstraints(min_length=1, max_length=records.MAX_NOTES), checked(_notes, "text_form")]
Tag = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=records.MAX_TAG),
    checked(_tag, "text_form"),
]
Tags = Annotated[list[Tag], Field(max_length=records.MAX_TAGS), AfterValidator(_distinct)]
Host = Annotated[str, StringConstraints(min_length=1, max_length=253), checked(_host, "host_name")]
Hosts = Annotated[list[Host], Field(max_length=records.MAX_NAMESERVERS), AfterValidator(_distinct)]
Percent = Annotated[
    Decimal,
    Field(ge=0, le=100, decimal_places=2),
    AfterValidator(_percent),
    decimals.published(r"^(100(\.0{1,2})?|[0-9]{1,2}(\.[0-9]{1,2})?)$", minimum=0, maximum=100),
]
Moment = Annotated[datetime, AfterValidator(_in_utc)]
Flag = StrictBool
