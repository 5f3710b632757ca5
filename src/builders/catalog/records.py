"""What the catalog room shows to others."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from builders.aliases.records import Detail, PriceInterval, Reason, Rules, SeparatorPolicy
from builders.kit.values.money import Money


class DomainStatus(StrEnum):
    """Where a catalog domain stands; the first two are public."""

    LIVE = "live"  # names can be claimed
    COMING_SOON = "coming_soon"  # shown, not yet claimable
    PAUSED = "paused"
    RETIRED = "retired"


class MailMode(StrEnum):
    """What a name on the domain can be."""

    MAILBOX = "mailbox"
    ALIAS = "alias"
    BOTH = "both"


class PriceTier(StrEnum):
    """How dear a domain is among its like."""

    STANDARD = "standard"
    PLUS = "plus"
    PREMIUM = "premium"


class Popularity(StrEnum):
    """How much a domain is looked at, in the rough: exact figures are the vendor's business."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """What a name costs."""

    money: Money
    interval: PriceInterval
    tier: PriceTier

    @property
    def amount(self) -> str:
        """The amount with all decimals of the currency."""
        return self.money.to_wire()["amount"]

    @property
    def currency(self) -> str:
        """The ISO 4217 code."""
        return self.money.currency


@dataclass(frozen=True, slots=True, kw_only=True)
class ShortNamePrice:
    """What names of at most `max_len` characters cost instead, in the currency of the domain."""

    max_len: int
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
class Asset:
    """An image in the assets folder, named by the SHA-256 of its content."""

    filename: str
    width: int  # pixels
    height: int
    alt: str  # what it shows, for those who do not see it

    @property
    def url(self) -> str:
        """Where it is, to be resolved against the address of the service."""
        return f"/v1/catalog/assets/{self.filename}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Assets:
    """The images of a domain."""

    logo: Asset | None = None
    cover: Asset | None = None
    icon: Asset | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Category:
    """A group of domains, as a shop window has them."""

    slug: str
    name: str
    description: str
    position: int
    parent: str | None  # the slug of a category
    serial: int
    domain_count: int = 0  # public ones, as a snapshot has them


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
    catch_all: bool  # all mail goes to one owner, so no name is claimable
    price: Price
    short_name_prices: tuple[ShortNamePrice, ...]  # by max_len, the shortest first
    rules: Rules  # of its local parts
    featured: bool
    rank: int  # higher is shown earlier
    assets: Assets
    serial: int  # of the last change; the catalog's version is the highest one
    created_at: datetime  # UTC
    updated_at: datetime  # UTC
    popularity: Popularity = Popularity.LOW

    @property
    def label(self) -> str:
        """The first label: `cool` of cool.example."""
        return self.domain.partition(".")[0]

    @property
    def tld(self) -> str:
        """The last label, an A-label too."""
        return self.domain.rpartition(".")[2]

    @property
    def min_local_length(self) -> int:
        """Of the key."""
        return self.rules.min_length

    @property
    def separator_policy(self) -> SeparatorPolicy:
        """Which separators do not make another name."""
        return self.rules.separator_policy

    @property
    def claimable(self) -> bool:
        """Whether names on it can be claimed."""
        return self.status is DomainStatus.LIVE and not self.catch_all

    @property
    def public(self) -> bool:
        """Whether the catalog shows it."""
        return self.status in {DomainStatus.LIVE, DomainStatus.COMING_SOON}

    def price_for(self, key: str, *, is_premium: bool) -> Price:
        """What a name costs: the price of the shortest band it fits in, else the domain's.

        Of the key, the form in which a name is unique, so that a dot that does not count makes no name
        cheaper. A premium word costs what the shortest names do.
        """
        for band in self.short_name_prices:
            if is_premium or len(key) <= band.max_len:
                return Price(money=band.money, interval=self.price.interval, tier=self.price.tier)
        return self.price


@dataclass(frozen=True, slots=True)
class Points:
    """A part of a score, and what it is for."""

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
    available: bool = True  # what is not is never suggested


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """Whether a name is free, and if not, why and what is."""

    reason: Reason
    detail: Detail | None  # with `invalid`
    message: str  # for people; empty when free
    local_part: str  # as it was asked for
    normalized_local_part: str | None  # None for what can be no name
    domain: str  # A-label; as asked for when it is none
    price: Price | None  # None for what can be no name, and on an unknown domain
    alternatives: tuple[Suggestion, ...]
    available_at: datetime | None  # when a hold or a quarantine ends
    rules: Rules  # of the domain, the usual ones for an unknown domain
    checked_at: datetime

    @property
    def available(self) -> bool:
        """Whether the name can be claimed now."""
        return self.reason is Reason.OK

    @property
    def address(self) -> str | None:
        """The whole address, where there can be one."""
        return f"{self.normalized_local_part}@{self.domain}" if self.normalized_local_part else None


# Equal only to itself: one is made for a question, and what is made of it in turn is found by it.
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Suggestions:
    """Free names for a query, the best first."""

    query: str
    tokens: tuple[str, ...]
    items: tuple[Suggestion, ...]
    catalog_version: int


@dataclass(frozen=True, slots=True)
class ReportLine:
    """What is to be said about a line of a catalog file."""

    line: int  # counted from 1, as editors do; the first one of a row that has several
    column: str | None  # None: the whole line
    code: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadReport:
    """What loading a catalog file did, or would do."""

    is_written: bool  # false for a dry run, and when an error stopped it all
    rows: int  # with anything in them
    created: int
    updated: int
    unchanged: int
    errors: tuple[ReportLine, ...]
    warnings: tuple[ReportLine, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FunnelLine:
    """What people did with a domain; empty stands for the whole catalog."""

    domain: str
    views: int
    checks: int
    available: int  # checks of names that were free
    claims: int
    completed: int  # claims
    sessions: int  # added up over days and steps
    machines: int  # events of theirs, counted nowhere else
