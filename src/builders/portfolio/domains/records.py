"""Records of the portfolio's domains, and the bounds of their fields."""

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from datetime import date, datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from uuid import UUID

from builders.kit.http.bulk import RowOutcome
from builders.kit.values.money import Money
from builders.kit.values.patches import UNSET, Patch
from builders.portfolio.ledger.records import EntryKind

MAX_TAGS = 50  # of a domain
MAX_TAG = 50  # characters
MAX_TEXT = 100  # of a registrar, counterparty or folder
MAX_NOTES = 5_000
MAX_NAMESERVERS = 13
MAX_STATUSES = 30
MAX_BULK = 1_000  # domains of one call
MAX_DAYS = 3_650  # of the filter by expiry
# A renewal moves the expiry by a year or more; a correction of it, by days.
RENEWED = timedelta(days=180)


class PortfolioDomainStatus(StrEnum):
    """Status of the domain in the portfolio. Only its holder changes it; an expiry does not."""

    OWNED = "owned"
    LEASED = "leased"
    CONSIGNED = "consigned"
    LISTED = "listed"
    SOLD = "sold"
    DROPPED = "dropped"
    EXPIRED = "expired"
    TRANSFERRED_OUT = "transferred_out"

    @property
    def is_held(self) -> bool:
        """Return whether the domain is still the holder's to renew."""
        return self not in {
            PortfolioDomainStatus.SOLD,
            PortfolioDomainStatus.DROPPED,
            PortfolioDomainStatus.TRANSFERRED_OUT,
        }


class Ownership(StrEnum):
    """Legal basis of the holding."""

    OWNED = "owned"
    LEASED = "leased"  # from the counterparty
    CONSIGNED = "consigned"  # sold on behalf of the counterparty


class ExpirySource(StrEnum):
    """Source of the expiry. A source does not overwrite a better source: see `may_replace`."""

    REGISTRAR = "registrar"
    RDAP = "rdap"
    MANUAL = "manual"


class Lifecycle(StrEnum):
    """State of a held domain between its registration and its deletion."""

    ACTIVE = "active"
    EXPIRING = "expiring"
    GRACE = "grace"
    REDEMPTION = "redemption"
    PENDING_DELETE = "pending_delete"
    EXPIRED = "expired"  # past its expiry by rules that are not known, or past its deletion


class RenewalDecision(StrEnum):
    """The action at the next expiry."""

    RENEW = "renew"
    DROP = "drop"
    UNDECIDED = "undecided"


class DomainSort(StrEnum):
    """The order of a list; a leading minus reverses the order."""

    CREATED = "created_at"
    CREATED_DESC = "-created_at"
    DOMAIN = "domain"
    DOMAIN_DESC = "-domain"
    EXPIRES = "expires_at"
    EXPIRES_DESC = "-expires_at"
    UPDATED = "updated_at"
    UPDATED_DESC = "-updated_at"


@dataclass(frozen=True, slots=True, kw_only=True)
class DomainName:
    """A registrable domain name."""

    domain: str  # lower-case A-label
    unicode: str  # as people read it
    tld: str  # the public suffix that it is registered below, such as co.uk


@dataclass(frozen=True, slots=True, kw_only=True)
class DomainFields:
    """What can be set of a domain. None is unknown or not set."""

    status: PortfolioDomainStatus = PortfolioDomainStatus.OWNED
    ownership: Ownership = Ownership.OWNED
    counterparty: str | None = None  # of a leased or consigned domain
    revenue_share: Decimal | None = None  # percent of the income that is the counterparty's
    registrar: str | None = None
    connection_id: UUID | None = None  # the registrar connection that keeps it up to date
    registered_on: date | None = None
    acquired_on: date | None = None
    expires_at: datetime | None = None
    expiry_source: ExpirySource | None = None  # None without an expiry
    auto_renew: bool | None = None
    locked: bool | None = None
    privacy: bool | None = None
    nameservers: Sequence[str] = ()
    epp_statuses: Sequence[str] = ()  # as EPP writes them: clientTransferProhibited
    renewal_price: Money | None = None
    asking_price: Money | None = None
    min_offer: Money | None = None
    estimated_value: Money | None = None
    tags: Sequence[str] = ()  # in lower case, each once
    folder: str | None = None
    notes: str | None = None
    pinned: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class NewDomain(DomainFields):
    """A domain to add."""

    name: DomainName


@dataclass(frozen=True, slots=True, kw_only=True)
class Domain(DomainFields):
    """A domain of a portfolio."""

    id: UUID
    domain: str
    unicode: str
    tld: str
    lifecycle: Lifecycle | None  # as last published
    created_at: datetime
    updated_at: datetime

    def __post_init__(self) -> None:
        object.__setattr__(self, "status", PortfolioDomainStatus(self.status))
        object.__setattr__(self, "ownership", Ownership(self.ownership))
        if self.expiry_source is not None:
            object.__setattr__(self, "expiry_source", ExpirySource(self.expiry_source))
        if self.lifecycle is not None:
            object.__setattr__(self, "lifecycle", Lifecycle(self.lifecycle))


FIELDS = tuple(each.name for each in fields(DomainFields))
SEQUENCES = frozenset({"nameservers", "epp_statuses", "tags"})  # of them


@dataclass(frozen=True, slots=True, kw_only=True)
class DomainPatch:
    """New values of some fields; UNSET keeps a value, None clears it."""

    status: Patch[PortfolioDomainStatus] = UNSET
    ownership: Patch[Ownership] = UNSET
    counterparty: Patch[str | None] = UNSET
    revenue_share: Patch[Decimal | None] = UNSET
    registrar: Patch[str | None] = UNSET
    connection_id: Patch[UUID | None] = UNSET
    registered_on: Patch[date | None] = UNSET
    acquired_on: Patch[date | None] = UNSET
    expires_at: Patch[datetime | None] = UNSET
    expiry_source: Patch[ExpirySource | None] = UNSET  # unset beside an expiry: manual
    auto_renew: Patch[bool | None] = UNSET
    locked: Patch[bool | None] = UNSET
    privacy: Patch[bool | None] = UNSET
    nameservers: Patch[Sequence[str]] = UNSET
    epp_statuses: Patch[Sequence[str]] = UNSET
    renewal_price: Patch[Money | None] = UNSET
    asking_price: Patch[Money | None] = UNSET
    min_offer: Patch[Money | None] = UNSET
    estimated_value: Patch[Money | None] = UNSET
    tags: Patch[Sequence[str]] = UNSET
    folder: Patch[str | None] = UNSET
    notes: Patch[str | None] = UNSET
    pinned: Patch[bool] = UNSET


@dataclass(frozen=True, slots=True, kw_only=True)
class Purchase:
    """What a new domain was bought or registered for."""

    money: Money
    on: date | None  # None: the day of the acquisition, or today
    kind: EntryKind  # acquisition or registration


@dataclass(frozen=True, slots=True, kw_only=True)
class DomainChange:
    """A patch of one domain."""

    id: UUID
    patch: DomainPatch


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenDomain:
    """What a bulk call did with a domain: created, updated, unchanged; skipped when there is no such domain.

    An error when the portfolio holds no more domains.
    """

    id: UUID
    outcome: RowOutcome
    domain: Domain | None = None  # after the call; None when skipped or refused


@dataclass(frozen=True, slots=True, kw_only=True)
class TagCount:
    """A tag, and how many domains have it."""

    tag: str
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistryCheck:
    """The last registry data of a domain. None: not queried, or not reported."""

    checked_at: datetime | None = None
    registered_at: datetime | None = None
    transferred_at: datetime | None = None  # to another registrar, the last time


@dataclass(frozen=True, slots=True, kw_only=True)
class DropDates:
    """End of each state of a domain that is not renewed. None where the rules of its TLD are not known."""

    grace_end: datetime | None = None
    redemption_end: datetime | None = None
    pending_delete_end: datetime | None = None
    basis: str | None = None  # the rules that the dates are computed from


@dataclass(frozen=True, slots=True, kw_only=True)
class LifecycleState:
    """The state of a domain at a time, and when it changes next without a renewal."""

    lifecycle: Lifecycle | None  # None for a domain without an expiry, and for one that is not held
    changes_at: datetime | None = field(default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class RenewalSum:
    """The renewal prices in one currency of the held domains that expire in a month."""

    month: date  # its first day
    currency: str | None  # None: of the domains without a price
    domains: int
    amount: Decimal


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpiringDomain:
    """What a report of renewals needs of a domain."""

    id: UUID
    domain: str
    unicode: str
    tld: str
    status: str  # a PortfolioDomainStatus
    registrar: str | None
    expires_at: datetime
    auto_renew: bool | None
    epp_statuses: Sequence[str]
    renewal_price: Decimal | None  # with its currency, as columns: a record for each price takes too long
    renewal_currency: str | None
    tags: Sequence[str]
