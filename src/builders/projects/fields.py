"""Fields of a project in a request: their bounds and rules, for its own operations and for manifests."""

import re
import unicodedata
from collections.abc import Collection
from itertools import count
from typing import Annotated, TypeVar
from uuid import UUID

from pydantic import AfterValidator, BeforeValidator, Field, StrictInt, StringConstraints

from builders.kit.values import domain_names, texts
from builders.kit.values.texts import checked

T = TypeVar("T")
MAX_DESCRIPTION = 500  # characters
MAX_METADATA = 20  # pairs
MAX_SLUG, MIN_SLUG = 40, 3  # characters
SLUG = r"^[a-z][a-z0-9-]{1,38}[a-z0-9]$"


def parse_description(text: str) -> str:
    """Return a text of one or several lines without surrounding blanks and control characters."""
    cleaned = texts.cleaned(text)
    if not cleaned:
        raise ValueError("The text has no visible characters.")
    if len(cleaned) > MAX_DESCRIPTION:
        raise ValueError(f"A description has at most {MAX_DESCRIPTION} characters.")
    return cleaned


def parse_domain(text: str) -> str:
    """Return the stored form of the domain: in lower case, as A-labels."""
    name = domain_names.find_a_label(text)
    if name is None:
        raise ValueError("Not a domain; send one such as harbour.example.")
    return name


def parse_integral(value: object) -> object:
    """Return 3.0 as 3: JSON does not distinguish them (JSON Schema 2020-12, core, 4.2.3)."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _distinct(values: list[T]) -> list[T]:
    return list(dict.fromkeys(values))


Name = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=80), checked(texts.plain, "text_form")
]
Slug = Annotated[str, Field(pattern=SLUG)]
Description = Annotated[
    str, Field(min_length=1, max_length=MAX_DESCRIPTION), checked(parse_description, "text_form")
]
Website = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=texts.MAX_URL),
    checked(texts.web_address, "web_address"),
]
Domain = Annotated[str, Field(min_length=1, max_length=253), checked(parse_domain, "domain_name")]
Domains = Annotated[list[Domain], Field(max_length=100), AfterValidator(_distinct)]
WebhookIds = Annotated[list[UUID], Field(max_length=20), AfterValidator(_distinct)]
Mailbox = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=254),
    checked(texts.canonical_email, "email"),
]
AliasLimit = Annotated[StrictInt, Field(ge=1, le=100_000), BeforeValidator(parse_integral)]
MetadataKey = Annotated[str, Field(min_length=1, max_length=40), checked(texts.plain, "text_form")]
MetadataValue = Annotated[str, Field(max_length=500)]
Metadata = Annotated[dict[MetadataKey, MetadataValue], Field(max_length=MAX_METADATA)]


def derive_slug(name: str) -> str:
    """Return the slug of a project that is created without one; the same name always has the same slug."""
    ascii_name = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    stem = re.sub(r"[^a-z0-9]+", "-", ascii_name).strip("-")
    if not stem:
        return "project"
    if not stem[0].isalpha():
        stem = f"project-{stem}"
    if len(stem) < MIN_SLUG:
        stem = f"{stem}-project"
    return stem[:MAX_SLUG].rstrip("-")


def choose_slug(name: str, taken: Collection[str]) -> str:
    """Return the derived slug; when it is taken, append the first number from 2 that makes it unique."""
    stem = slug = derive_slug(name)
    numbers = count(2)
    while slug in taken:
        suffix = f"-{next(numbers)}"
        slug = f"{stem[: MAX_SLUG - len(suffix)].rstrip('-')}{suffix}"
    return slug
