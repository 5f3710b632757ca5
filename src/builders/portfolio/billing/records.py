"""Records of billing: charges, their matches, and syncs of them."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from enum import StrEnum
from typing import Annotated, Any
from uuid import UUID

from pydantic import Field

from builders.kit.values.docs import doc
from builders.kit.values.money import Money
from builders.kit.values.texts import Lowered
from builders.portfolio.registrars.records import ChargeKind
from builders.portfolio.runs.records import Run

MAX_DESCRIPTION = 500
MAX_TEXT = 200  # characters of an order, a line, a name as written
MIN_CONFIDENCE = Decimal("0.80")  # from which a charge is applied
MAX_YEARS = 10  # of a charge
MAX_PARTS = 100  # of a split charge


class ChargeState(StrEnum):
    """State of a charge."""

    UNMATCHED = "unmatched"
    SUGGESTED = "suggested"  # there are candidates
    MATCHED = "matched"
    APPLIED = "applied"  # booked in the ledger
    IGNORED = "ignored"  # by a member; never matched again
    SPLIT = "split"  # by a member; its parts count instead


class ChargeReason(StrEnum):
    """Why a charge is not booked although its domain is known."""

    ENTRY_LIMIT = "entry_limit"  # the domain has as many entries as it can have


class ChargeSource(StrEnum):
    """Source of a charge."""

    API = "api"
    IMPORT = "import"


class NameOrigin(StrEnum):
    """Where the name of the domain is written."""

    FIELD = "field"  # a field of its own
    ITEM = "item"  # one of several names of a line
    TEXT = "text"  # the description


class MatchMethod(StrEnum):
    """How a domain was found."""

    EXACT_NAME = "exact_name"
    IDN = "idn"  # the name is written in Unicode
    ORDER_ITEM = "order_item"
    DESCRIPTION = "description"
    LABEL = "label"  # only the name before the suffix is written
    PARENT_ORDER = "parent_order"  # of a refund
    MANUAL = "manual"


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where lines come from."""

    provider: str
    account: str  # the name of the connection; it distinguishes several accounts at the provider
    connection_id: UUID | None
    source: ChargeSource
    run_id: UUID
    # The number of omitted charges of each kind, which the other source has.
    left_out: Counter[Any] = field(default_factory=Counter[Any])


@dataclass(frozen=True, slots=True, kw_only=True)
class ChargeFields:
    """A line of a bill, or the part of it that is for one domain."""

    provider: str
    connection_id: UUID | None
    order_id: str
    line_id: str
    charged_on: date
    description: str
    kind: ChargeKind
    total: Decimal  # negative: a refund
    currency: str
    parent_order_id: str | None = None
    domain_raw: str | None = None
    name_origin: NameOrigin = NameOrigin.TEXT
    domain: str | None = None
    years: int | None = None
    tax: Decimal = Decimal(0)
    fees: Decimal = Decimal(0)

    @property
    def is_refund(self) -> bool:
        """Return whether the charge is a refund."""
        return self.total < 0 or self.kind is ChargeKind.REFUND


@dataclass(frozen=True, slots=True, kw_only=True)
class NewCharge(ChargeFields):
    """A charge to record."""

    key: bytes  # of the line; its parts have the same
    split_of: UUID | None = None  # of a part: the charge that a member split


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A domain that a charge can be for."""

    domain_id: UUID
    domain: str
    confidence: Decimal
    method: MatchMethod


@dataclass(frozen=True, slots=True, kw_only=True)
class Charge(NewCharge):
    """A recorded charge."""

    id: UUID
    source: ChargeSource
    run_id: UUID
    imported_at: datetime
    refund_of: UUID | None
    domain_id: UUID | None
    confidence: Decimal | None
    method: MatchMethod | None
    candidates: Sequence[Mapping[str, Any]]  # Candidate as JSON
    applied_at: datetime | None
    entry_id: UUID | None
    is_linked: bool
    is_ignored: bool
    state: ChargeState
    reason: ChargeReason | None = None

    def __post_init__(self) -> None:
        for name, kind in _ENUMS.items():
            value = getattr(self, name)
            object.__setattr__(self, name, None if value is None else kind(value))


_ENUMS: Mapping[str, type[StrEnum]] = {
    "kind": ChargeKind,
    "name_origin": NameOrigin,
    "source": ChargeSource,
    "method": MatchMethod,
    "state": ChargeState,
    "reason": ChargeReason,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ChargePart:
    """A part of a charge that a member splits."""

    domain: str  # name or identifier
    amount: Money


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """The domains that a charge can be for, the likeliest first."""

    candidates: Sequence[Candidate] = ()
    refund_of: UUID | None = None
    is_ignored: bool = False  # a refund of an ignored charge
    years: int | None = None

    @property
    def best(self) -> Candidate | None:
        """Return the likeliest domain."""
        return next(iter(self.candidates), None)

    def accepted(self, min_confidence: Decimal) -> Candidate | None:
        """Return the likeliest domain when it is likely enough, and likelier than the next one."""
        first = self.best
        if self.is_ignored or first is None or first.confidence < min_confidence:
            return None
        rivals = self.candidates[1:2]
        return None if rivals and rivals[0].confidence == first.confidence else first


class ApplyOutcome(StrEnum):
    """The result for an examined charge."""

    APPLIED = "applied"
    LINKED = "linked"  # applied with an existing entry
    MATCHED = "matched"  # and not applied
    SUGGESTED = "suggested"
    UNMATCHED = "unmatched"
    IGNORED = "ignored"
    UNDONE = "undone"


@dataclass(frozen=True, slots=True, kw_only=True)
class Booking:
    """How charges are applied."""

    min_confidence: Decimal = MIN_CONFIDENCE
    applies: bool = True  # False: they are only matched
    member_id: UUID | None = None  # None: a job


@dataclass(frozen=True, slots=True, kw_only=True)
class AppliedCharge:
    """The result for an examined charge."""

    charge: Charge  # the previous state
    outcome: ApplyOutcome
    candidate: Candidate | None = None  # the likeliest domain
    entry_id: UUID | None = None
    reason: ChargeReason | None = None

    @property
    def is_matched(self) -> bool:
        """Return whether the charge has a domain."""
        return self.outcome in {ApplyOutcome.APPLIED, ApplyOutcome.LINKED, ApplyOutcome.MATCHED}


@dataclass(frozen=True, slots=True, kw_only=True)
class Application:
    """Result of an application of charges, or of undoing it."""

    results: Sequence[AppliedCharge]
    has_more: bool  # charges that were not examined


@dataclass(frozen=True, slots=True, kw_only=True)
class ChargeFilters:
    """Which charges are listed, as the query has it. None: any."""

    unmatched_only: Annotated[bool, doc("Only charges that need a decision.")] = False
    provider: Annotated[str | None, Field(max_length=80), doc("Only charges of this registrar."), Lowered] = None
    state: Annotated[ChargeState | None, doc("Only charges in this state.")] = None
    since: Annotated[date | None, Field(alias="from", description="Only charges from this day on.")] = None
    until: Annotated[date | None, Field(alias="to", description="Only charges up to this day.")] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StateSum:
    """The sum of the charges of a state in a currency."""

    state: str  # a ChargeState
    currency: str
    count: int
    total: Decimal


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCount:
    """Some of the charges that a sync or an import recorded."""

    charges: int = 0
    domains: Sequence[str] = ()  # the first of them
    domain_count: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncOptions:
    """Which charges a sync reads, and whether it books them."""

    since: date | None = None  # None: where the last sync ended, with an overlap
    until: date | None = None  # None: today
    applies: bool = True
    dry_run: bool = False
    member_id: UUID | None = None  # None: a job


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncedRun:
    """The state of a sync of charges after some time."""

    run: Run
    totals: Sequence[Money]  # the sum of the new charges of each currency
    next_since: Mapping[UUID, date]  # the first day of the next sync, by connection


class FreshnessReason(StrEnum):
    """Why data is refreshed, or not."""

    FRESH = "fresh"
    STALE = "stale"
    FORCED = "forced"
    NEVER = "never"  # it was never synced
    COOLDOWN = "cooldown"  # it was just synced, or the registrar accepts no request for now


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionFreshness:
    """How old the data of a connection was, and whether it is refreshed."""

    provider: Annotated[str, doc("The registrar.")]
    connection_id: Annotated[UUID, doc("Identifier of the connection.")]
    stale: Annotated[bool, doc("Older than `max_age_hours`, or never fetched.")]
    age_hours: Annotated[float | None, doc("Age of the oldest data; null when never fetched.")]
    refreshed: Annotated[bool, doc("Whether it is refreshed.")]
    reason: Annotated[FreshnessReason, doc("Why it is refreshed, or not.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Refresh:
    """Age of the data of each connection, and the runs that refresh it, after some time."""

    connections: Sequence[ConnectionFreshness]
    inventory: Run | None = None
    billing: SyncedRun | None = None
