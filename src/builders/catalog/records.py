"""Records of the catalog and of its funnel: the sent event, the stored event, and its receipt."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from typing import Annotated, NamedTuple
from uuid import UUID

from builders.aliases.records import Detail, PriceInterval, Reason, Rules, SeparatorPolicy
from builders.kit.values.docs import doc
from builders.kit.values.money import Money
from builders.kit.visitors import Visitor


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
    def amount(self) -> str:
        """The amount with all decimals of the currency."""
        return self.money.to_wire()["amount"]

    @property
    def currency(self) -> str:
        """The ISO 4217 code."""
        return self.money.currency


@dataclass(frozen=True, slots=True, kw_only=True)
class Price(Priced):
    """The price of a name."""

    interval: PriceInterval
    tier: PriceTier


@dataclass(frozen=True, slots=True, kw_only=True)
class ShortNamePrice(Priced):
    """The price of names with at most `max_len` characters, in the currency of the domain."""

    max_len: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Asset:
    """An image in the assets folder, named by the SHA-256 of its content."""

    filename: str
    width: int  # pixels
    height: int
    alt: str  # alternative text

    @property
    def url(self) -> str:
        """Return the URL relative to the service."""
        return f"/v1/catalog/assets/{self.filename}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Assets:
    """The images of a domain."""

    logo: Asset | None = None
    cover: Asset | None = None
    icon: Asset | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Category:
    """A category of domains."""

    slug: Annotated[str, doc("Identifier for the query parameter `category`.")]
    name: Annotated[str, doc("Display name of the category.")]
    description: Annotated[str, doc("A sentence about the category.")]
    position: Annotated[int, doc("Place in the list, from 0 upwards.")]
    parent: Annotated[str | None, doc("Slug of the parent category; null at the top.")]
    serial: int
    # Set in a snapshot.
    domain_count: Annotated[int, doc("Public domains in the category.")] = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogDomain:
    """A vendor domain of the catalog."""

    id: UUID
    domain: str  # A-label
    unicode_domain: str  # the same object as `domain` for all but IDN
    title: str
    tagline: str
    description: str
    categories: tuple[str, ...]  # slugs, the first is the main one
    tags: tuple[str, ...]
    status: DomainStatus
    mail_mode: MailMode
    catch_all: bool  # all mail goes to one owner, and no name can be claimed
    price: Price
    short_name_prices: tuple[ShortNamePrice, ...]  # by max_len, the shortest first
    rules: Rules  # of its local parts
    featured: bool
    rank: int  # higher ranks come first in lists
    assets: Assets
    serial: int  # of the last change; the catalog's version is the highest one
    created_at: datetime  # UTC
    updated_at: datetime  # UTC
    popularity: Popularity = Popularity.LOW

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


@dataclass(frozen=True, slots=True)
class Points:
    """A part of a score, with its reason."""

    code: str
    points: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Suggestion:
    """A free name."""

    address: str
    local_part: str
    domain: str  # A-label
    category: str | None  # the main one of the domain
    price: Price
    score: int
    why: tuple[Points, ...]  # sums to the score
    available: bool = True  # only available names are suggested


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """The availability of a name; if it is not available, the reason and alternatives."""

    reason: Reason
    detail: Detail | None  # with `invalid`
    message: str  # the reason as a sentence; empty when available
    local_part: str  # as sent
    normalized_local_part: str | None  # None for an invalid name
    domain: str  # A-label; as sent when it is invalid
    price: Price | None  # None for an invalid name, and on an unknown domain
    alternatives: tuple[Suggestion, ...]
    available_at: datetime | None  # when a reservation or a quarantine ends
    rules: Rules  # of the domain, the default rules for an unknown domain
    checked_at: datetime

    @property
    def available(self) -> bool:
        """Return whether the name can be claimed now."""
        return self.reason is Reason.OK

    @property
    def address(self) -> str | None:
        """Return the whole address; None for an invalid name."""
        return f"{self.normalized_local_part}@{self.domain}" if self.normalized_local_part else None


# Compared by identity: the result of a query is cached, and its serialized reply is cached by this object.
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Suggestions:
    """Available names for a query, the best first."""

    query: str
    tokens: tuple[str, ...]
    items: tuple[Suggestion, ...]
    catalog_version: int


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


@dataclass(frozen=True, slots=True, kw_only=True)
class EventError:
    """The error of an invalid event."""

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
