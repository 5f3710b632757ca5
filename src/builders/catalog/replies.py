"""Answers of the catalog on the wire."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated
from uuid import UUID

from pydantic import ConfigDict, Field

from builders.aliases.records import Detail, PriceInterval, Reason, SeparatorPolicy
from builders.catalog import examples
from builders.catalog.funnel_events import Receipt
from builders.catalog.records import DomainStatus, MailMode, Popularity, PriceTier
from builders.kit.http.bodies import Reply, WriteReply, by_example
from builders.kit.http.fields import CreatedAt, Interval, SeparatorRule, UpdatedAt

Amount = Annotated[str, Field(description="Exact decimal digits.", examples=["24.00"])]
Currency = Annotated[str, Field(description="ISO 4217.", examples=["USD"])]
ALabel = Annotated[str, Field(description="Lower-case A-label.", examples=["harbour.example"])]


class PriceReply(Reply):
    """What a name costs."""

    amount: Amount
    currency: Currency
    interval: Annotated[PriceInterval, Field(description=Interval)]
    tier: Annotated[PriceTier, Field(description="Price class of the domain.")]


class ShortNamePriceReply(Reply):
    """What names of at most so many characters cost instead."""

    max_len: Annotated[int, Field(description="Separators that the domain ignores are not counted.")]
    amount: Amount
    currency: Currency


class AssetReply(Reply):
    """An image."""

    filename: Annotated[
        str, Field(description="Name of the image for `GET /v1/catalog/assets/{filename}`; a hash of its content.")
    ]
    url: Annotated[str, Field(description="To be resolved against the address of the service.")]
    width: Annotated[int, Field(description="Width in pixels.")]
    height: Annotated[int, Field(description="Height in pixels.")]
    alt: Annotated[str, Field(description="Alternative text of the image.")]


class AssetsReply(Reply):
    """The images of a domain."""

    logo: Annotated[AssetReply | None, Field(description="Logo of the domain; null without one.")]
    cover: Annotated[
        AssetReply | None, Field(description="Wide image for the page of the domain; null without one.")
    ]
    icon: Annotated[AssetReply | None, Field(description="Small square image; null without one.")]


class RulesReply(Reply):
    """How long names may be, and which separators do not make another name."""

    min_length: Annotated[int, Field(serialization_alias="min", description="Fewest characters of a local part.")]
    max_length: Annotated[int, Field(serialization_alias="max", description="Most characters of a local part.")]
    separator_policy: Annotated[SeparatorPolicy, Field(description=SeparatorRule)]


class CatalogDomainReply(Reply):
    """A domain of the catalog; names on it can be claimed when it is live and not catch_all."""

    model_config = ConfigDict(json_schema_extra=by_example(examples.DOMAIN))

    id: Annotated[UUID, Field(description="Identifier of the catalog domain.")]
    domain: ALabel
    unicode_domain: Annotated[str, Field(description="As people read it; for most the same.")]
    tld: Annotated[str, Field(description="Last label of the domain, such as `example`.")]
    title: Annotated[str, Field(description="Name to show to people.")]
    tagline: Annotated[str, Field(description="One line about the domain.")]
    description: Annotated[str, Field(description="A paragraph about the domain, for people.")]
    categories: Annotated[list[str], Field(description="Slugs, the main one first.")]
    tags: Annotated[list[str], Field(description="Keywords for search.")]
    status: Annotated[
        DomainStatus, Field(description="Only `live` domains sell names; `coming_soon` ones are shown in advance.")
    ]
    mail_mode: Annotated[MailMode, Field(description="Whether names can be mailboxes, aliases, or both.")]
    catch_all: Annotated[
        bool, Field(description="All mail of the domain goes to one place; no names can be claimed.")
    ]
    claimable: Annotated[bool, Field(description="Whether names can be claimed now: `live`, and not `catch_all`.")]
    price: Annotated[PriceReply, Field(description="Price of a name of usual length.")]
    short_name_prices: Annotated[
        list[ShortNamePriceReply],
        Field(description="Prices of names with few characters, which differ from `price`."),
    ]
    min_local_length: Annotated[int, Field(description="Fewest characters of a local part.")]
    separator_policy: Annotated[SeparatorPolicy, Field(description=SeparatorRule)]
    featured: Annotated[bool, Field(description="Whether the vendor shows it first.")]
    rank: Annotated[int, Field(description="Higher is shown earlier.")]
    assets: Annotated[AssetsReply, Field(description="Images of the domain.")]
    popularity: Annotated[Popularity, Field(description="Of the last 30 days, among all domains.")]
    created_at: CreatedAt
    updated_at: UpdatedAt


class CategoryReply(Reply):
    """A category, and how many public domains it has."""

    slug: Annotated[str, Field(description="Identifier for the query parameter `category`.")]
    name: Annotated[str, Field(description="Name to show to people.")]
    description: Annotated[str, Field(description="A sentence about the category, for people.")]
    position: Annotated[int, Field(description="Place in the list, from 0 upwards.")]
    parent: Annotated[str | None, Field(description="Slug of the parent category; null at the top.")]
    domain_count: Annotated[int, Field(description="Public domains in the category.")]


class CategoriesReply(Reply):
    """All categories, in the order to show them."""

    model_config = ConfigDict(json_schema_extra=by_example(examples.CATEGORIES))

    items: Annotated[list[CategoryReply], Field(description="The categories, in the order to show them.")]


class PointsReply(Reply):
    """A part of a score."""

    code: Annotated[str, Field(description="A generator, or what gave or cost points.", examples=["dot"])]
    points: Annotated[int, Field(description="Points that it adds to the score; negative ones cost.")]


class SuggestionReply(Reply):
    """A name that is free now."""

    address: Annotated[str, Field(description="The whole address, `local_part@domain`.")]
    local_part: Annotated[str, Field(description="What stands before the `@`.")]
    domain: ALabel
    category: Annotated[
        str | None, Field(description="Slug of the main category of the domain; null without one.")
    ]
    price: Annotated[PriceReply, Field(description="What the name costs.")]
    available: Annotated[
        bool, Field(description="Always true when the answer is made; only a claim reserves a name.")
    ]
    score: Annotated[
        int, Field(description="Sum of the points in `why`; higher is better. Comparable within one answer only.")
    ]
    why: Annotated[list[PointsReply], Field(description="Sums to the score.")]


class SuggestReply(Reply):
    """Free names, the best first."""

    model_config = ConfigDict(json_schema_extra=by_example(examples.SUGGESTED))

    query: Annotated[str, Field(description="`q` as it was understood, trimmed and in lower case.")]
    tokens: Annotated[list[str], Field(description="The words that were read in the query.")]
    items: Annotated[list[SuggestionReply], Field(description="Free names, the best first, `limit` at most.")]
    catalog_version: Annotated[
        int, Field(description="Version of the catalog that the names come from; grows with each change.")
    ]


class CheckReply(Reply):
    """Whether a name can be claimed."""

    model_config = ConfigDict(json_schema_extra=by_example(examples.FREE, examples.TAKEN))

    available: Annotated[bool, Field(description="Whether the name can be claimed now. Only a claim reserves it.")]
    reason: Annotated[Reason, Field(description="The first of these that holds; `ok` when available.")]
    detail: Annotated[Detail | None, Field(description="With `invalid`.")]
    message: Annotated[str, Field(description="For people: what is wrong and what to do. Empty when available.")]
    local_part: Annotated[str, Field(description="The local part as it was sent.")]
    normalized_local_part: Annotated[
        str | None, Field(description="The local part as it would be claimed; null when it is not valid.")
    ]
    domain: Annotated[str, Field(description="The domain, as a lower-case A-label where it is one.")]
    address: Annotated[
        str | None, Field(description="The address as it would be claimed; null when it is not valid.")
    ]
    price: Annotated[
        PriceReply | None, Field(description="What the name costs; null when it cannot be bought at all.")
    ]
    alternatives: Annotated[list[SuggestionReply], Field(description="At most five, when not available.")]
    available_at: Annotated[datetime | None, Field(description="When a hold or a quarantine ends.")]
    rules: Annotated[RulesReply, Field(description="Rules for local parts on this domain.")]
    definitive: Annotated[bool, Field(description="We keep the names ourselves, so this is no estimate.")] = True
    checked_at: Annotated[datetime, Field(description="When the name was looked up.")]


class FlawReply(Reply):
    """Why an event was not taken."""

    field: Annotated[str, Field(description="Path of the member that is wrong.")]
    code: Annotated[str, Field(description="Stable name of the broken rule, as `type` in a 422.")]
    message: Annotated[str, Field(description="What is wrong, for people.")]


class ReceiptReply(Reply):
    """What became of an event of a batch."""

    id: Annotated[UUID | None, Field(description="Identifier of the event; null when it was not accepted.")]
    accepted: Annotated[bool, Field(description="Whether the event is recorded.")]
    duplicate: Annotated[bool, Field(description="Whether it was recorded before; it counts once.")]
    error: Annotated[FlawReply | None, Field(description="Why it was not accepted; null when it was.")]


class FunnelReply(WriteReply):
    """What became of the event, or of all of a batch."""

    model_config = ConfigDict(json_schema_extra=by_example(examples.RECORDED, examples.RECORDED_BATCH))

    id: Annotated[
        UUID | None, Field(description="Of the event, for a repeat that of the first; null for a batch.")
    ]
    accepted: Annotated[bool, Field(description="Whether all is in the record, by now or since before.")]
    duplicate: Annotated[bool, Field(description="Whether all of it was there before; it counts once.")]
    results: Annotated[list[ReceiptReply] | None, Field(description="Of a batch, in its order.")]


def funnel_reply(receipts: Sequence[Receipt], *, is_batch: bool) -> FunnelReply:
    """The answer."""
    if not is_batch:
        [one] = receipts
        # The last one, since pydantic copies a default deeply.
        return FunnelReply(id=one.id, accepted=one.accepted, duplicate=one.duplicate, results=None, warnings=[])
    return FunnelReply(
        id=None,
        accepted=all(each.accepted for each in receipts),
        duplicate=all(each.duplicate for each in receipts),
        results=[ReceiptReply.model_validate(each) for each in receipts],
    )
