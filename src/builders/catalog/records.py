"""Records of the catalog and of its funnel: the sent event, the stored event, and its receipt."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from typing import Annotated, NamedTuple
from uuid import UUID

from pydantic import Field

from builders.aliases.records import Detail, PriceInterval, Reason, Rules, SeparatorPolicy
from builders.kit.values.docs import CreatedAt, Interval, SeparatorRule, UpdatedAt, doc
from builders.kit.values.domain_names import DomainName
from builders.kit.values.money import CODE, CurrencyCode, ExactAmount, Money
from builders.kit.values.resources import HIDDEN, resource
from builders.kit.visitors import Visitor

ALabel = Annotated[DomainName, Field(examples=["harbour.example"])]
_PRICED = {"amount": "Exact decimal digits, as text.", "currency": CODE}


class DomainStatus(StrEnum):
    """The status of a catalog domain; the first two are public."""

    LIVE = "live"  # names can be claimed
    COMING_SOON = "coming_soon"  # announced, not yet claimable
    PAUSED = "paused"
    RETIRED = "retired"


class MailMode(StrEnum):
    """The kinds of names on the domain."""

    MAILBOX = "mailbox"
    ALIAS = "alias"
    BOTH = "both"


class PriceTier(StrEnum):
    """The price class of a domain."""

    STANDARD = "standard"
    PLUS = "plus"
    PREMIUM = "premium"


class Popularity(StrEnum):
    """How often visitors used a domain, in three steps: exact figures are not public."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


@dataclass(frozen=True, slots=True, kw_only=True)
class Priced:
    """A price as its replies show it."""

    money: Money

    @property
    def amount(self) -> Annotated[ExactAmount, Field(examples=["24.00"])]:
        """The amount with all decimals of the currency."""
        return self.money.to_wire()["amount"]

    @property
    def currency(self) -> Annotated[CurrencyCode, Field(examples=["USD"])]:
        """The ISO 4217 code."""
        return self.money.currency


@resource("PriceReply", computed=_PRICED)
@dataclass(frozen=True, slots=True, kw_only=True)
class Price(Priced):
    """The price of a name."""

    money: Annotated[Money, HIDDEN]
    interval: Annotated[PriceInterval, doc(Interval)]
    tier: Annotated[PriceTier, doc("Price class of the domain.")]


@resource("ShortNamePriceReply", computed=_PRICED)
@dataclass(frozen=True, slots=True, kw_only=True)
class ShortNamePrice(Priced):
    """The price of names with at most `max_len` characters."""

    money: Annotated[Money, HIDDEN]
    max_len: Annotated[int, doc("Maximum number of characters, without separators that the domain ignores.")]


@resource("AssetReply", computed={"url": "URL of the image, relative to the service."})
@dataclass(frozen=True, slots=True, kw_only=True)
class Asset:
    """An image."""

    filename: Annotated[
        str, doc("Name of the image for `GET /v1/catalog/assets/{filename}`; a hash of its content.")
    ]
    width: Annotated[int, doc("Width in pixels.")]
    height: Annotated[int, doc("Height in pixels.")]
    alt: Annotated[str, doc("Alternative text of the image.")]

    @property
    def url(self) -> str:
        """Return the URL relative to the service."""
        return f"/v1/catalog/assets/{self.filename}"


@resource("AssetsReply")
@dataclass(frozen=True, slots=True, kw_only=True)
class Assets:
    """The images of a domain."""

    logo: Annotated[Asset | None, doc("Logo of the domain; null without one.")] = None
    cover: Annotated[Asset | None, doc("Wide image for the page of the domain; null without one.")] = None
    icon: Annotated[Asset | None, doc("Small square image; null without one.")] = None


@resource("CategoryReply")
@dataclass(frozen=True, slots=True, kw_only=True)
class Category:
    """A category, with the number of its public domains."""

    slug: Annotated[str, doc("Identifier for the query parameter `category`.")]
    name: Annotated[str, doc("Display name of the category.")]
    description: Annotated[str, doc("A sentence about the category.")]
    position: Annotated[int, doc("Place in the list, from 0 upwards.")]
    parent: Annotated[str | None, doc("Slug of the parent category; null at the top.")]
    serial: Annotated[int, HIDDEN]
    # Set in a snapshot.
    domain_count: Annotated[int, doc("Public domains in the category.")] = 0


@resource(
    "CatalogDomainReply",
    computed={
        "tld": "Last label of the domain, such as `example`.",
        "claimable": "Whether names can be claimed now: `live`, and not `catch_all`.",
        "min_local_length": "Minimum length of a local part.",
        "separator_policy": SeparatorRule,
    },
)
@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogDomain:
    """A domain of the catalog; names on it can be claimed when it is live and not catch_all."""

    id: Annotated[UUID, doc("Identifier of the catalog domain.")]
    domain: ALabel
    # The same object as `domain` for all but IDN.
    unicode_domain: Annotated[str, doc("The domain in Unicode; the same for a name in ASCII.")]
    title: Annotated[str, doc("Display name of the domain.")]
    tagline: Annotated[str, doc("One line about the domain.")]
    description: Annotated[str, doc("A paragraph about the domain.")]
    categories: Annotated[tuple[str, ...], doc("Slugs, the main one first.")]
    tags: Annotated[tuple[str, ...], doc("Keywords for search.")]
    status: Annotated[
        DomainStatus, doc("Names can be claimed on `live` domains only; `coming_soon` ones are announced.")
    ]
    mail_mode: Annotated[MailMode, doc("Whether names can be mailboxes, aliases, or both.")]
    catch_all: Annotated[
        bool, doc("Whether all mail of the domain goes to one destination; if so, names cannot be claimed.")
    ]
    price: Annotated[Price, doc("Price of a name of usual length.")]
    # By max_len, the shortest first.
    short_name_prices: Annotated[
        tuple[ShortNamePrice, ...], doc("Prices of names with few characters, in place of `price`.")
    ]
    rules: Annotated[Rules, HIDDEN]  # of its local parts
    featured: Annotated[bool, doc("Whether the vendor features the domain.")]
    rank: Annotated[int, doc("Domains with a higher rank come first in lists.")]
    assets: Annotated[Assets, doc("Images of the domain.")]
    serial: Annotated[int, HIDDEN]  # of the last change; the catalog's version is the highest one
    created_at: CreatedAt
    updated_at: UpdatedAt
    popularity: Annotated[
        Popularity, doc("How often visitors used it in the last 30 days, compared with other domains.")
    ] = Popularity.LOW

    @property
    def label(self) -> str:
        """Return the first label: `cool` of cool.example."""
        return self.domain.partition(".")[0]

    @property
    def tld(self) -> str:
        """Return the last label, as an A-label."""
        return self.domain.rpartition(".")[2]

    @property
    def min_local_length(self) -> int:
        """Return the minimum length of the key."""
        return self.rules.min_length

    @property
    def separator_policy(self) -> SeparatorPolicy:
        """Return which separators its names ignore."""
        return self.rules.separator_policy

    @property
    def claimable(self) -> bool:
        """Return whether names on it can be claimed."""
        return self.status is DomainStatus.LIVE and not self.catch_all

    @property
    def public(self) -> bool:
        """Return whether the catalog shows it."""
        return self.status in {DomainStatus.LIVE, DomainStatus.COMING_SOON}

    def price_for(self, key: str, *, is_premium: bool) -> Price:
        """Return the price of a name: of the shortest band that it fits, else of the domain.

        The length is that of the key, so that an ignored dot does not make a name cheaper. A premium word costs
        as much as the shortest names.
        """
        for band in self.short_name_prices:
            if is_premium or len(key) <= band.max_len:
                return Price(money=band.money, interval=self.price.interval, tier=self.price.tier)
        return self.price


@resource("PointsReply")
@dataclass(frozen=True, slots=True)
class Points:
    """A part of a score."""

    code: Annotated[
        str, Field(description="Generator of the local part, or reason for other points.", examples=["dot"])
    ]
    points: Annotated[int, doc("Points added to the score; negative ones reduce it.")]


@resource("SuggestionReply")
@dataclass(frozen=True, slots=True, kw_only=True)
class Suggestion:
    """A name that is available now."""

    address: Annotated[str, doc("The whole address, `local_part@domain`.")]
    local_part: Annotated[str, doc("The part of the address before the `@`.")]
    domain: ALabel
    category: Annotated[str | None, doc("Slug of the main category of the domain; null without one.")]
    price: Annotated[Price, doc("Price of the name.")]
    available: Annotated[bool, doc("Always true at the time of the response; only a claim reserves a name.")] = (
        True
    )
    score: Annotated[
        int, doc("Sum of the points in `why`; higher is better. It is comparable only within one response.")
    ]
    why: Annotated[tuple[Points, ...], doc("The points that sum to the score.")]


@resource("RulesReply")
@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedRules(Rules):
    """The bounds of a local part, and the separators that it ignores."""


@resource(
    "CheckReply",
    computed={
        "available": "Whether the name can be claimed now. Only a claim reserves it.",
        "address": "The address as it would be claimed; null when it is not valid.",
    },
    optional={"definitive": True},
)
@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """Whether a name can be claimed."""

    reason: Annotated[Reason, doc("The first reason in this order that applies; `ok` when available.")]
    detail: Annotated[Detail | None, doc("Which rule the name breaks, with the reason `invalid`.")]
    message: Annotated[str, doc("The reason as a sentence, with what to do. Empty when available.")]
    local_part: Annotated[str, doc("The local part as it was sent.")]
    normalized_local_part: Annotated[
        str | None, doc("The local part as it would be claimed; null when it is not valid.")
    ]
    domain: Annotated[str, doc("The domain, as a lower-case A-label where it is one.")]
    price: Annotated[Price | None, doc("Price of the name; null when it can never be claimed.")]
    alternatives: Annotated[
        Sequence[Suggestion], doc("Up to five available names; empty when this one is available.")
    ]
    available_at: Annotated[datetime | None, doc("When the reservation or quarantine of the name ends.")]
    rules: Annotated[CheckedRules, doc("Rules for local parts on this domain.")]  # of an unknown one: the default
    definitive: Annotated[bool, doc("Always true: the response comes from the registry of names.")] = True
    checked_at: Annotated[datetime, doc("Time of the check.")]

    @property
    def available(self) -> bool:
        """Return whether the name can be claimed now."""
        return self.reason is Reason.OK

    @property
    def address(self) -> str | None:
        """Return the whole address; None for an invalid name."""
        return f"{self.normalized_local_part}@{self.domain}" if self.normalized_local_part else None


# Compared by identity: the result of a query is cached, and its serialized reply is cached by this object.
@resource("SuggestReply")
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Suggestions:
    """Available names, the best first."""

    query: Annotated[str, doc("`q`, cut to 200 characters.")]
    tokens: Annotated[tuple[str, ...], doc("The words of the query.")]
    items: Annotated[tuple[Suggestion, ...], doc("Available names, the best first, at most `limit`.")]
    catalog_version: Annotated[
        int, doc("Version of the catalog that the names come from; grows with each change.")
    ]


@dataclass(frozen=True, slots=True)
class ReportLine:
    """An error or a warning about a line of a catalog file."""

    line: int  # counted from 1; the first line of a row
    column: str | None  # None: the whole line
    code: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadReport:
    """The result of the load of a catalog file, or of a dry run."""

    is_written: bool  # false for a dry run, and after an error that stopped the load
    rows: int  # that are not blank
    created: int
    updated: int
    unchanged: int
    errors: tuple[ReportLine, ...]
    warnings: tuple[ReportLine, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FunnelLine:
    """The sums of the funnel for a domain."""

    domain: str  # empty for the whole catalog
    views: int
    checks: int
    available: int  # checks of available names
    claims: int
    completed: int  # claims
    sessions: int  # summed over days and steps
    machines: int  # events of machines, which no other field counts


class EventKind(StrEnum):
    """A step of the funnel."""

    VIEW = "view"
    CHECK = "check"
    CLAIM = "claim"


class EventResult(StrEnum):
    """The result of a step: the first two of a check, the others of a claim."""

    AVAILABLE = "available"
    UNAVAILABLE = "unavailable"
    COMPLETED = "completed"
    ABANDONED = "abandoned"


class FunnelEvent(NamedTuple):
    """An event as a page sends it."""

    kind: EventKind
    domain: str | None = None  # Unicode or A-label
    local_part: str | None = None
    category: str | None = None
    event_id: str | None = None  # the page's own; a repeat has the same one
    session_id: str | None = None
    occurred_at: datetime | None = None
    result: EventResult | None = None
    referrer: str | None = None
    utm: Mapping[str, str] = MappingProxyType({})
    metadata: Mapping[str, str] = MappingProxyType({})


@resource("FlawReply")
@dataclass(frozen=True, slots=True, kw_only=True)
class EventError:
    """The error of an event."""

    field: Annotated[str, doc("Path of the invalid member.")]
    code: Annotated[str, doc("Stable name of the broken rule, as `type` in a 422.")]
    message: Annotated[str, doc("The error as a sentence.")]


class StoredEvent(NamedTuple):
    """A stored event."""

    key: bytes | None  # the same for repeats; None when a repeat cannot be recognized
    at: datetime  # when it was received
    occurred_at: datetime
    event: FunnelEvent
    visitor: Visitor


class Receipt(NamedTuple):
    """A recorded event."""

    id: UUID  # of the first event with its key
    duplicate: bool = False
