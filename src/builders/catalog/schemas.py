"""What goes over the wire at the catalog."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from pydantic import AwareDatetime, ConfigDict, Field, ValidationError, ValidatorFunctionWrapHandler, WrapValidator

from builders.aliases.records import Detail, Reason, SeparatorPolicy
from builders.catalog import examples
from builders.catalog.beacons import EventKind, EventResult, Flaw, FunnelEvent, Receipt
from builders.catalog.records import DomainStatus, MailMode, Popularity, PriceInterval, PriceTier
from builders.kit.bodies import Body, Reply, WriteReply, by_example

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
    popularity: Annotated[Popularity, Field(description="Of the last 30 days, among all domains.")]
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


Named = Annotated[str, Field(min_length=8, max_length=64)]
Short = Annotated[str, Field(max_length=100)]


class Utm(Body):
    """Where a visitor comes from, as campaigns mark their links."""

    source: Short | None = None
    medium: Short | None = None
    campaign: Short | None = None
    term: Short | None = None
    content: Short | None = None


class FunnelEventBody(Body):
    """One step of a visitor."""

    kind: EventKind
    domain: Annotated[
        str | None, Field(max_length=253, description="In either form; required for `check` and `claim`.")
    ] = None
    local_part: Annotated[str | None, Field(max_length=64, description="Required for `claim`.")] = None
    category: Annotated[str | None, Field(max_length=40)] = None
    event_id: Annotated[
        Named | None, Field(description="Your own, random: the same again is known as a repeat for a week.")
    ] = None
    session_id: Annotated[Named | None, Field(description="Random, of no user.")] = None
    occurred_at: Annotated[
        AwareDatetime | None, Field(description="Taken as at most 24 hours old, and 5 minutes ahead.")
    ] = None
    result: Annotated[EventResult | None, Field(description="How a `check` or a `claim` ended.")] = None
    referrer: Annotated[str | None, Field(max_length=2048, description="Its host is kept.")] = None
    utm: Utm | None = None
    metadata: Annotated[
        dict[Annotated[str, Field(max_length=40)], Annotated[str, Field(max_length=500)]] | None,
        Field(max_length=20),
    ] = None

    def record(self) -> FunnelEvent:
        """What it says."""
        utm = {} if self.utm is None else self.utm.model_dump(include=set(Utm.model_fields), exclude_none=True)
        return FunnelEvent(
            kind=self.kind,
            domain=self.domain,
            local_part=self.local_part,
            category=self.category,
            event_id=self.event_id,
            session_id=self.session_id,
            occurred_at=self.occurred_at,
            result=self.result,
            referrer=self.referrer,
            utm=utm,
            metadata=self.metadata or {},
        )


def _flawed(value: Any, handler: ValidatorFunctionWrapHandler) -> FunnelEventBody | Flaw:  # of any JSON
    """An event of a batch; a bad one is said of by itself, and does not stop the others."""
    try:
        event: FunnelEventBody = handler(value)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        return Flaw(field=".".join(map(str, first["loc"])), code=first["type"], message=first["msg"])
    return event


class CatalogFunnelEventRequest(FunnelEventBody):
    """One event, or up to 50 in `events`, which then go without the other members."""

    model_config = ConfigDict(json_schema_extra=by_example(examples.EVENT, examples.EVENTS))

    kind: EventKind | None = None  # type: ignore[assignment] # absent with `events`
    events: Annotated[
        list[Annotated[FunnelEventBody, WrapValidator(_flawed)]] | None, Field(min_length=1, max_length=50)
    ] = None

    def records(self) -> list[FunnelEvent | Flaw]:
        """The events, one when it is no batch."""
        if self.events is None:
            return [self.record()]
        return [each if isinstance(each, Flaw) else each.record() for each in self.events]


class FlawReply(Reply):
    """Why an event was not taken."""

    field: str
    code: str
    message: str


class ReceiptReply(Reply):
    """What became of an event of a batch."""

    id: UUID | None
    accepted: bool
    duplicate: bool
    error: FlawReply | None


class FunnelReply(WriteReply):
    """What became of the event, or of all of a batch."""

    model_config = ConfigDict(json_schema_extra=by_example(examples.TOLD, examples.TOLD_OF_EACH))

    id: Annotated[
        UUID | None, Field(description="Of the event, for a repeat that of the first; null for a batch.")
    ]
    accepted: Annotated[bool, Field(description="Whether all is in the record, by now or since before.")]
    duplicate: Annotated[bool, Field(description="Whether all of it was there before; it counts once.")]
    results: Annotated[list[ReceiptReply] | None, Field(description="Of a batch, in its order.")]


def told(receipts: Sequence[Receipt], *, is_batch: bool) -> FunnelReply:
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
