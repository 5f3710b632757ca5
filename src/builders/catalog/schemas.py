"""What goes over the wire at the catalog."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from pydantic import ConfigDict, Field

from builders.aliases.records import Detail, Reason, SeparatorPolicy
from builders.catalog import examples
from builders.catalog.records import DomainStatus, MailMode, PriceInterval, PriceTier
from builders.kit.bodies import Reply, by_example

Amount = Annotated[str, Field(description="Exact decimal digits.", examples=["24.00"])]
Currency = Annotated[str, Field(description="ISO 4217.", examples=["USD"])]
ALabel = Annotated[str, Field(description="Lower-case A-label.", examples=["harbour.example"])]


class PriceReply(Reply):
    """What a name costs."""

    amount: Amount
    currency: Currency
    interval: PriceInterval
    tier: PriceTier


class ShortNamePriceReply(Reply):
    """What names of at most so many characters cost instead."""

    max_len: Annotated[int, Field(description="Separators that the domain ignores are not counted.")]
    amount: Amount
    currency: Currency


class AssetReply(Reply):
    """An image."""

    filename: str
    url: Annotated[str, Field(description="To be resolved against the address of the service.")]
    width: Annotated[int, Field(description="Pixels.")]
    height: Annotated[int, Field(description="Pixels.")]
    alt: str


class AssetsReply(Reply):
    """The images of a domain."""

    logo: AssetReply | None
    cover: AssetReply | None
    icon: AssetReply | None


class RulesReply(Reply):
    """How long names may be, and which separators do not make another name."""

    min_length: Annotated[int, Field(serialization_alias="min")]
    max_length: Annotated[int, Field(serialization_alias="max")]
    separator_policy: SeparatorPolicy


class CatalogDomainReply(Reply):
    """A domain of the catalog; names on it can be claimed when it is live and not catch_all."""

    model_config = ConfigDict(json_schema_extra=by_example(examples.DOMAIN))

    id: UUID
    domain: ALabel
    unicode_domain: Annotated[str, Field(description="As people read it; for most the same.")]
    tld: str
    title: str
    tagline: str
    description: str
    categories: Annotated[list[str], Field(description="Slugs, the main one first.")]
    tags: list[str]
    status: DomainStatus
    mail_mode: MailMode
    catch_all: bool
    claimable: bool
    price: PriceReply
    short_name_prices: list[ShortNamePriceReply]
    min_local_length: int
    separator_policy: SeparatorPolicy
    featured: bool
    rank: Annotated[int, Field(description="Higher is shown earlier.")]
    assets: AssetsReply
    created_at: datetime
    updated_at: datetime


class CategoryReply(Reply):
    """A category, and how many public domains it has."""

    slug: str
    name: str
    description: str
    position: int
    parent: str | None
    domain_count: int


class CategoriesReply(Reply):
    """All categories, in the order to show them."""

    model_config = ConfigDict(json_schema_extra=by_example(examples.CATEGORIES))

    items: list[CategoryReply]


class PointsReply(Reply):
    """A part of a score."""

    code: Annotated[str, Field(description="A generator, or what gave or cost points.", examples=["dot"])]
    points: int


class SuggestionReply(Reply):
    """A name that is free now."""

    address: str
    local_part: str
    domain: ALabel
    category: str | None
    price: PriceReply
    available: bool
    score: int
    why: Annotated[list[PointsReply], Field(description="Sums to the score.")]


class SuggestReply(Reply):
    """Free names, the best first."""

    model_config = ConfigDict(json_schema_extra=by_example(examples.SUGGESTED))

    query: str
    tokens: Annotated[list[str], Field(description="The words that were read in the query.")]
    items: list[SuggestionReply]
    catalog_version: int


class CheckReply(Reply):
    """Whether a name can be claimed."""

    model_config = ConfigDict(json_schema_extra=by_example(examples.FREE, examples.TAKEN))

    available: bool
    reason: Annotated[Reason, Field(description="The first of these that holds; `ok` when available.")]
    detail: Annotated[Detail | None, Field(description="With `invalid`.")]
    message: Annotated[str, Field(description="For people: what is wrong and what to do. Empty when available.")]
    local_part: str
    normalized_local_part: str | None
    domain: str
    address: str | None
    price: PriceReply | None
    alternatives: Annotated[list[SuggestionReply], Field(description="At most five, when not available.")]
    available_at: Annotated[datetime | None, Field(description="When a hold or a quarantine ends.")]
    rules: RulesReply
    definitive: Annotated[bool, Field(description="We keep the names ourselves, so this is no estimate.")] = True
    checked_at: datetime
