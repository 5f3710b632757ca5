"""Records of billing: charges, their matches, and syncs of them."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from enum import StrEnum
from typing import Annotated, Any
from uuid import UUID

from pydantic import Field, PlainSerializer, field_serializer

from builders.kit.values.docs import doc
from builders.kit.values.domain_names import DomainName
from builders.kit.values.money import Money
from builders.kit.values.resources import HIDDEN, MONEY, resource
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

    provider: Annotated[str, doc("The registrar.")]
    connection_id: Annotated[UUID | None, doc("The connection; null for an import without one.")]
    order_id: Annotated[str, doc("The registrar's order; null when it names none.")]
    line_id: Annotated[str, doc("Line of the order, or place among equal rows of a file.")]
    charged_on: Annotated[date, doc("Day of the charge.")]
    # It can name an amount.
    description: Annotated[str, doc("The registrar's text; null if the role does not see money."), MONEY]
    kind: Annotated[ChargeKind, doc("Kind of the charge.")]
    # The total of a refund is negative.
    total: Annotated[Decimal, doc("The charged amount; negative for a refund."), MONEY]
    currency: Annotated[str, HIDDEN]
    parent_order_id: Annotated[str | None, doc("Of a refund: the order that is refunded.")] = None
    domain_raw: Annotated[
        str | None,
        doc("The domain as the registrar writes it; null when no field contains it. Of a part: its domain."),
    ] = None
    name_origin: Annotated[NameOrigin, HIDDEN] = NameOrigin.TEXT
    domain: Annotated[DomainName | None, doc("The domain that is named, as an A-label.")] = None
    years: Annotated[int | None, doc("Years that the charge pays for; null when unknown.")] = None
    tax: Annotated[Decimal, doc("Tax in the total."), MONEY] = Decimal(0)
    fees: Annotated[Decimal, doc("Fees in the total."), MONEY] = Decimal(0)

    @property
    def is_refund(self) -> bool:
        """Return whether the charge is a refund."""
        return self.total < 0 or self.kind is ChargeKind.REFUND


@dataclass(frozen=True, slots=True, kw_only=True)
class NewCharge(ChargeFields):
    """A charge to record."""

    key: Annotated[bytes, HIDDEN]  # of the line; its parts have the same
    split_of: Annotated[UUID | None, doc("Of a part: the charge that a member split; null for other charges.")] = (
        None
    )


Confidence = Annotated[Decimal, PlainSerializer(lambda share: f"{share:.2f}", return_type=str)]


@resource("ChargeCandidate")
@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A domain that a charge can be for."""

    domain_id: Annotated[UUID, doc("The portfolio domain.")]
    domain: DomainName
    confidence: Annotated[Confidence, doc("Certainty, from 0.00 to 1.00.")]
    method: Annotated[MatchMethod, doc("How it was found.")]


@resource("ChargeMatch")
@dataclass(frozen=True, slots=True, kw_only=True)
class ChargeMatch:
    """The domain of a charge."""

    domain_id: Annotated[UUID | None, doc("The portfolio domain; null when it is not decided.")]
    confidence: Annotated[Confidence | None, doc("Certainty of the domain, from 0.00 to 1.00.")]
    method: Annotated[MatchMethod | None, doc("How it was found.")]
    candidates: Annotated[Sequence[Candidate], doc("Candidates, the likeliest first; empty if decided.")]


@resource(
    "BillingCharge",
    computed={
        "amount": "Total without tax and fees.",
        "annual_cost": "The total of one year; null when unknown.",
        "match": "The domain of the charge.",
    },
)
@dataclass(frozen=True, slots=True, kw_only=True)
class Charge(NewCharge):
    """A line of a registrar's bill, or the part of it that is for one domain."""

    id: Annotated[UUID, doc("Identifier of the charge.")]
    source: Annotated[ChargeSource, doc("The registrar's API, or an imported file.")]
    run_id: Annotated[UUID, HIDDEN]
    imported_at: Annotated[datetime, doc("When it was recorded.")]
    refund_of: Annotated[UUID | None, doc("Of a refund: the charge that it reverses, if known.")]
    domain_id: Annotated[UUID | None, HIDDEN]
    confidence: Annotated[Decimal | None, HIDDEN]
    method: Annotated[MatchMethod | None, HIDDEN]
    candidates: Annotated[Sequence[Candidate], HIDDEN]
    applied_at: Annotated[datetime | None, HIDDEN]
    entry_id: Annotated[UUID | None, doc("The entry of the ledger; null while not applied.")]
    is_linked: Annotated[
        bool,
        Field(
            serialization_alias="linked",
            description="Whether a member recorded the entry before the charge was imported.",
        ),
    ]
    is_ignored: Annotated[bool, HIDDEN]
    state: Annotated[ChargeState, doc("Whether its domain is known, and whether it is booked.")]
    reason: Annotated[
        ChargeReason | None,
        doc(
            "Why it is not booked although its domain is known. `entry_limit`: the domain has as many "
            "entries as it can have."
        ),
    ] = None

    @property
    def amount(self) -> Money | None:
        """Return the total without tax and fees."""
        return None if self.total is None else self._money(self.total - self.tax - self.fees)

    @property
    def annual_cost(self) -> Money | None:
        """Return the total of one year."""
        return self._money(self.total / self.years) if self.years and self.total is not None else None

    @property
    def match(self) -> ChargeMatch:
        """Return the domain."""
        return ChargeMatch(
            domain_id=self.domain_id,
            confidence=self.confidence,
            method=self.method,
            candidates=self.candidates,
        )

    @field_serializer("order_id", "line_id")
    def _show_identifier(self, text: str) -> str | None:
        return text or None

    @field_serializer("description")
    def _show_description(self, text: str | None) -> str | None:
        return text

    @field_serializer("total", "tax", "fees")
    def _show_money(self, amount: Decimal | None) -> Money | None:  # None for a role that does not see money
        return None if amount is None else self._money(amount)

    def _money(self, amount: Decimal) -> Money:
        return Money(amount, self.currency).quantized()


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
