"""Records of the portfolio's domains, and the bounds of their fields."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from typing import Annotated, Any, Literal, Self, TypeAlias
from uuid import UUID

from builders.kit.rows import RowOutcome, RowProblem, RowResult
from builders.kit.values import domain_names
from builders.kit.values.days import Day
from builders.kit.values.docs import CreatedAt, UpdatedAt, doc
from builders.kit.values.money import Money
from builders.kit.values.patches import Changes, changes_of
from builders.kit.values.resources import HIDDEN, MONEY, extended, members_of, resource
from builders.portfolio.domains.fields import Flag, Hosts, Moment, Notes, Percent, Tags, Text
from builders.portfolio.ledger.records import Totals

MAX_STATUSES = 30
MAX_BULK = 1_000  # domains of one call
MAX_DAYS = 3_650  # of the filter by expiry
AskingPrice = Annotated[Money | None, doc("Price that you ask for the domain."), MONEY]
EstimatedValue = Annotated[Money | None, doc("Your estimate of the value of the domain."), MONEY]
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
    """Source of the expiry. The registry replaces only an expiry of its own, the others replace any."""

    REGISTRAR = "registrar"
    RDAP = "rdap"
    MANUAL = "manual"


class Lifecycle(StrEnum):
    """State of a held domain between its registration and its deletion."""

    ACTIVE = "active"
    EXPIRING = "expiring"
    GRACE = "grace"
    REDEMPTION = "redemption"
    QUARANTINE = "quarantine"  # deleted: the former holder alone can get the name again
    PENDING_DELETE = "pending_delete"
    EXPIRED = "expired"  # past its deletion, by the rules
    UNKNOWN = "unknown"  # past its expiry: the rules do not say whether it can still be renewed


class ChangeSource(StrEnum):
    """Source of a change of a domain."""

    MEMBER = "member"  # a request
    IMPORT = "import"  # of a file of domains, or its undo
    REGISTRAR = "registrar"  # a sync, or an inventory from a file
    REGISTRY = "registry"  # what it answers about the registration
    SALE = "sale"  # the day of a recorded sale has come


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
    ROI = "roi"
    ROI_DESC = "-roi"
    NET = "net"
    NET_DESC = "-net"
    COST = "cost"
    COST_DESC = "-cost"
    INCOME = "income"
    INCOME_DESC = "-income"
    RENEWAL_PRICE = "renewal_price_base"
    RENEWAL_PRICE_DESC = "-renewal_price_base"

    @property
    def is_of_figures(self) -> bool:
        """Return whether the order is that of a figure; a domain without the figure is last in both orders."""
        return self.removeprefix("-") in FIGURES


FIGURES = ("roi", "net", "cost", "income", "renewal_price_base")
FIGURE_ORDERS = tuple(each for each in DomainSort if each.is_of_figures)


@dataclass(frozen=True, slots=True, kw_only=True)
class DomainName:
    """A registrable domain name."""

    domain: str  # lower-case A-label
    unicode: str  # as people read it
    tld: str  # the public suffix that it is registered below, such as co.uk

    def __str__(self) -> str:
        """Return the A-label."""
        return self.domain


@dataclass(frozen=True, slots=True, kw_only=True)
class DomainFields:
    """What can be set of a domain, as requests send it and replies show it. None is unknown or not set."""

    status: Annotated[
        PortfolioDomainStatus,
        doc("Status of the domain in your portfolio. Only your requests change it; an expiry does not."),
    ] = PortfolioDomainStatus.OWNED
    ownership: Annotated[
        Ownership,
        doc(
            "`leased`: you lease it from the counterparty. `consigned`: you sell it on behalf of the counterparty."
        ),
    ] = Ownership.OWNED
    counterparty: Annotated[Text | None, doc("The lessor or consignor of the domain.")] = None
    revenue_share: Annotated[
        Percent | None,
        doc(
            "Share of the counterparty in the net proceeds of a sale, in percent, such as 30.00. "
            "Record parking and lease income as received, and the counterparty's share of it as `other_cost`."
        ),
        MONEY,
    ] = None
    registrar: Annotated[Text | None, doc("Where the domain is registered; null when unknown.")] = None
    connection_id: Annotated[
        UUID | None, doc("The registrar connection that keeps the domain up to date; null without one.")
    ] = None
    registered_on: Annotated[Day | None, doc("When the domain was first registered; null when unknown.")] = None
    acquired_on: Annotated[Day | None, doc("When you acquired the domain; null when unknown.")] = None
    expires_at: Annotated[Moment | None, doc("When the registration expires; null when unknown.")] = None
    expiry_source: Annotated[
        ExpirySource | None,
        doc("`rdap`: the registry, the source of expiries that neither you nor a registrar reported."),
    ] = None
    auto_renew: Annotated[Flag | None, doc("Whether the registrar renews the domain; null when unknown.")] = None
    locked: Annotated[Flag | None, doc("Whether transfers are locked; null when unknown.")] = None
    privacy: Annotated[Flag | None, doc("Whether the contacts are hidden; null when unknown.")] = None
    nameservers: Annotated[Hosts, doc("Name servers of the domain; empty when unknown.")] = ()
    epp_statuses: Annotated[
        Sequence[str], doc("Statuses at the registry as EPP names them, such as `clientHold`.")
    ] = ()
    renewal_price: Annotated[Money | None, doc("Price of one more year; null when unknown."), MONEY] = None
    asking_price: AskingPrice = None
    min_offer: Annotated[Money | None, doc("Lowest offer that you consider."), MONEY] = None
    estimated_value: EstimatedValue = None
    tags: Annotated[Tags, doc("Your tags, in lower case. An array in a request replaces all of them.")] = ()
    folder: Annotated[Text | None, doc("Your folder.")] = None
    notes: Annotated[Notes | None, doc("Your notes.")] = None
    pinned: Annotated[Flag, doc("Whether you keep the domain independently of its figures.")] = False


DEFAULTS = {each.name: each.default for each in members_of(DomainFields)}
FIELDS = tuple(DEFAULTS)
REPORTED = frozenset({"connection_id", "expiry_source", "epp_statuses"})  # by registrars and registries alone
DomainPatch: TypeAlias = Changes[DomainFields]
domain_patch = changes_of(DomainFields)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewDomain(DomainFields):
    """A domain to add."""

    name: DomainName


@dataclass(frozen=True, kw_only=True)  # no slots: only one base of a class can have them
class _Identity:
    id: Annotated[UUID, doc("Identifier of the portfolio domain.")]
    domain: domain_names.DomainName
    unicode: Annotated[str, HIDDEN]
    tld: Annotated[str, doc("Public suffix that the name is registered below, such as `co.uk`.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Domain(DomainFields, _Identity):  # the members of the last one come first
    """A domain of a portfolio."""

    # As last published.
    lifecycle: Annotated[Lifecycle | None, doc("State of the registration; null when unknown.")]
    created_at: CreatedAt
    updated_at: UpdatedAt

    @property
    def domain_unicode(self) -> str:
        """Return the name as people read it."""
        return self.unicode

    @property
    def own_share(self) -> Decimal:
        """Return the part of the net proceeds of a sale that is not the counterparty's."""
        if self.ownership is Ownership.OWNED or self.revenue_share is None:
            return Decimal(1)
        return 1 - self.revenue_share / 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """What a domain cost and earned up to today in its present holding period, and what its renewal costs."""

    totals: Totals
    renewal_price_base: Money | None  # in the base currency; None for no price and for one without a rate


@resource("PortfolioTagReply")
@dataclass(frozen=True, slots=True, kw_only=True)
class UsedTag:
    """A tag of a portfolio."""

    tag: Annotated[str, doc("The tag, in lower case.")]
    count: Annotated[int, doc("Number of domains that have it.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class DomainChange:
    """A patch of one domain."""

    id: UUID
    patch: DomainPatch


@dataclass(frozen=True, slots=True, kw_only=True)
class DomainEdit:
    """What one call changes of many domains."""

    patches: Mapping[Ownership, DomainPatch | RowProblem]  # by the ownership of the domain; or why it is refused
    add_tags: Sequence[str] = ()
    remove_tags: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberChange:
    """A changed member of a domain, with its values as text."""

    member: Annotated[str, doc("The member, such as `folder`.")]
    before: Annotated[str | None, doc("Its value before; null without one. The items of a list have commas.")]
    after: Annotated[str | None, doc("Its new value, such as `12.00 USD`; null without one.")]

    @classmethod
    def of(cls, member: str, before: Any, after: Any) -> Self:
        """Return the change of a member from one value to another."""
        return cls(member=member, before=_text(before), after=_text(after))


def list_changes(before: DomainFields, after: DomainFields) -> Sequence[MemberChange]:
    """Return the members that differ."""
    pairs = ((name, getattr(before, name), getattr(after, name)) for name in FIELDS)
    return [MemberChange.of(name, old, new) for name, old, new in pairs if old != new]


@resource("PortfolioDomainChange")
@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedChange:
    """A change of a domain."""

    id: Annotated[UUID, doc("Identifier of the change.")]
    created_at: Annotated[datetime, doc("When it was made.")]
    source: Annotated[ChangeSource, doc("Source of the change. More values can be added.")]
    member_id: Annotated[UUID | None, doc("The account that requested it; null for a change of the service.")]
    changes: Annotated[Sequence[MemberChange], doc("The members that changed.")]
    redacted: Annotated[
        Sequence[Literal["finance"]],
        doc("`finance`: your role does not see money, so prices and shares are omitted."),
    ] = ()


def _text(value: Any) -> str | None:
    """Return the value of a field as text; None for one that is not set."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        return ", ".join(value) or None
    return value.isoformat() if isinstance(value, date) else None if value is None else str(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class EditedRow(RowResult):
    """The result for one of many domains, and what changes of it."""

    changes: Annotated[Sequence[MemberChange], doc("The members that change; empty unless it is `updated`.")] = ()

    @classmethod
    def of(cls, row: RowResult, *, changes: Sequence[MemberChange] = ()) -> Self:
        """Return a result with what changes."""
        return extended(cls, row, changes=changes)


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenDomain:
    """What a bulk call did with a domain: created, updated, unchanged; skipped when there is no such domain.

    An error when the portfolio holds no more domains.
    """

    id: UUID
    outcome: RowOutcome
    domain: Domain | None = None  # after the call; None when skipped or refused

    @classmethod
    def of(cls, domain: Domain, outcome: RowOutcome) -> Self:
        """Return what a call did with a domain that exists after it."""
        return cls(id=domain.id, outcome=outcome, domain=domain)


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistryCheck:
    """The last registry data of a domain. None: not queried, or not reported."""

    checked_at: datetime | None = None
    registered_at: datetime | None = None
    transferred_at: datetime | None = None  # to another registrar, the last time


@resource("DropDatesReply")
@dataclass(frozen=True, slots=True, kw_only=True)
class DropDates:
    """End of each state of a domain that is not renewed."""

    renewable_until: Annotated[
        datetime | None,
        doc("Until when you can keep the name: renew, restore or reactivate it."),
    ] = None
    grace_end: Annotated[datetime | None, doc("Latest end of the auto-renew grace period.")] = None
    redemption_end: Annotated[datetime | None, doc("End of the redemption period that follows.")] = None
    quarantine_end: Annotated[
        datetime | None, doc("End of the quarantine, in which only its former holder gets the name.")
    ] = None
    pending_delete_end: Annotated[
        datetime | None, doc("End of the days before the drop, in which nobody can keep the name.")
    ] = None
    drops_at: Annotated[datetime | None, doc("When anyone can register the name.")] = None
    basis: Annotated[
        str | None, doc("Rules that the dates follow; null where those of the TLD are not known.")
    ] = None
    source: Annotated[str | None, doc("Page of the registry that states the rules.")] = None


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
