"""Records of transfers, their states and steps, and of requests for auth codes."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from builders.kit.limits import maximums
from builders.portfolio.domains.records import Domain
from builders.portfolio.registrars.records import HeldStatus, TransferDirection, TransferState
from builders.portfolio.transfers.rule_records import Eligibility

MAX_REASON = 200  # characters
CODES_PER_HOUR = maximums.declare(
    "auth_codes", 5, of="domain", counts="Requests for its auth code in an hour.", code="auth_code_limit"
)


class MoveState(StrEnum):
    """State of the transfer of a domain."""

    NONE = "none"  # no data about a transfer or about eligibility
    NOT_ELIGIBLE = "not_eligible"
    ELIGIBLE = "eligible"  # only the registrar's lock prevents it
    UNLOCKED = "unlocked"
    AUTH_CODE_ISSUED = "auth_code_issued"
    PENDING_OUT = "pending_out"
    PENDING_IN = "pending_in"
    ACTION_REQUIRED = "action_required"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def is_open(self) -> bool:
        """Return whether a transfer is under way."""
        return self in {MoveState.PENDING_OUT, MoveState.PENDING_IN, MoveState.ACTION_REQUIRED}

    @property
    def is_of_move(self) -> bool:
        """Return whether it is the state of a transfer, and not of the preparations."""
        return self.is_open or self in {MoveState.COMPLETED, MoveState.FAILED, MoveState.CANCELLED}


class StepName(StrEnum):
    """A step on the way to another registrar."""

    WAIT = "wait_until_eligible"
    UNLOCK = "unlock"
    AUTH_CODE = "auth_code"
    REQUEST = "request_at_gaining_registrar"
    CONFIRM = "confirm"
    COMPLETE = "complete"


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A step, whether it is done, and when it was or can be."""

    name: StepName
    done: bool
    at: datetime | None


class CodeDelivery(StrEnum):
    """How an auth code is delivered."""

    RETURNED = "returned"  # in the response
    EMAILED = "emailed"  # by the registrar, to the registrant
    DASHBOARD = "dashboard"  # on the registrar's website
    UNSUPPORTED = "unsupported"
    PENDING = "pending"  # requested; the registrar has not confirmed the delivery

    @property
    def is_delivered(self) -> bool:
        """Return whether the holder has the code, or will find it in the mailbox."""
        return self in {CodeDelivery.RETURNED, CodeDelivery.EMAILED}


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeRequest:
    """The last request for an auth code. The code itself is stored nowhere."""

    requested_at: datetime
    delivery: CodeDelivery
    expires_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """The latest transfer that is known of a domain."""

    direction: TransferDirection
    state: TransferState
    status_raw: str | None
    provider: str | None  # of the registrar that reports it; None: the registry does
    message: str | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None  # of a transfer that is no longer pending; None: unknown
    is_expected: bool | None = None  # None: unknown


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """The last request to a registrar about a domain, with the values of its last response."""

    checked_at: datetime
    failure: str | None = None  # of the last request; None: it succeeded
    status: HeldStatus | None = None
    locked: bool | None = None
    created_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """Stored state of the transfer of a domain."""

    domain_id: UUID
    state: MoveState = MoveState.NONE
    observation: Observation | None = None  # None: no request to a registrar yet
    move: Move | None = None
    code: CodeRequest | None = None
    next_check_at: datetime | None = None  # None: not followed


@dataclass(frozen=True, slots=True, kw_only=True)
class DueDomain:
    """A domain whose transfer is due for a check."""

    account_id: UUID
    domain_id: UUID


class SourceName(StrEnum):
    """Source of information about a transfer."""

    REGISTRAR = "registrar"
    RDAP = "rdap"
    PORTFOLIO = "portfolio"
    RULES = "rules"


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A source, its last check, and whether that succeeded."""

    name: SourceName
    checked_at: datetime | None  # None: never
    ok: bool
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TransferReport:
    """The state of a domain on its way to another registrar."""

    domain: Domain
    state: MoveState
    provider: str | None  # of the connected registrar, or of the last one that reported
    move: Move | None  # as long as the state is its
    eligibility: Eligibility
    locked: bool | None
    code: CodeRequest | None
    losing_registrar: str | None
    gaining_registrar: str | None
    expected_by: datetime | None
    steps: Sequence[Step]
    sources: Sequence[Source]


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeOptions:
    """Options of a request for an auth code."""

    unlock: bool = False
    regenerate: bool = False
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class IssuedCode:
    """The result of a request for an auth code."""

    domain: Domain
    provider: str
    delivery: CodeDelivery
    code: str | None = field(repr=False)  # never stored, logged or published
    expires_at: datetime | None
    dashboard_url: str | None
    instructions: Sequence[str]
    eligibility: Eligibility
    requested_at: datetime
    audit_id: UUID
