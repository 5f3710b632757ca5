"""Records of transfers: rules, facts and their result, states and steps, and requests for auth codes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from enum import StrEnum
from typing import Annotated
from uuid import UUID

from builders.kit.limits import maximums
from builders.kit.values.docs import doc
from builders.kit.values.domain_names import DomainName
from builders.kit.values.resources import HIDDEN, ONCE, resource
from builders.portfolio.registrars.records import HeldStatus, TransferDirection, TransferState

MAX_REASON = 200  # characters
CODES_PER_HOUR = maximums.declare(
    "auth_codes", 5, of="domain", counts="Requests for its auth code in an hour.", code="auth_code_limit"
)


class RuleName(StrEnum):
    """Subject of a rule."""

    CREATION_LOCK = "creation_lock"
    TRANSFER_LOCK = "transfer_lock"
    REGISTRANT_CHANGE_LOCK = "registrant_change_lock"
    LOSING_REGISTRAR_RESPONSE = "losing_registrar_response"
    AUTH_CODE_RESPONSE = "auth_code_response"
    AUTH_CODE_LIFETIME = "auth_code_lifetime"
    REGISTRAR_LOCK = "registrar_lock"
    REGISTRY_LOCK = "registry_lock"
    PENDING_TRANSFER = "pending_transfer"
    PENDING_DELETE = "pending_delete"
    REDEMPTION = "redemption"
    IPS_TAG = "ips_tag"


class RuleStatus(StrEnum):
    """Whether a rule binds registrars."""

    IN_FORCE = "in_force"
    ADOPTED = "adopted"
    PROPOSED = "proposed"


class RuleUnit(StrEnum):
    """Unit of the value of a rule."""

    DAYS = "days"
    HOURS = "hours"
    STATUS = "status"  # an EPP status that forbids a transfer
    METHOD = "method"  # how a domain moves instead of by auth code


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A rule about transfers, as the file has it."""

    rule: Annotated[RuleName, doc("The subject of the rule.")]
    scope: Annotated[str, doc("`gtld`, `any`, or a top-level domain.")]
    value: Annotated[int | str, doc("The value, in `unit`.")]
    unit: Annotated[RuleUnit, doc("Unit of the value.")]
    effective_from: Annotated[date | None, doc("The first day; null: not known.")] = None
    effective_to: Annotated[date | None, doc("The last day; null: not known.")] = None
    status: Annotated[RuleStatus, doc("Always `in_force` here.")]
    meaning: Annotated[str, HIDDEN]
    source: Annotated[str, doc("Document that contains the rule.")]

    def is_applied(self, on: date) -> bool:
        """Return whether the rule is in force on a day."""
        return (
            self.status is RuleStatus.IN_FORCE
            and (self.effective_from is None or self.effective_from <= on)
            and (self.effective_to is None or on <= self.effective_to)
        )


class RuleOutcome(StrEnum):
    """The result of a rule for a domain."""

    BLOCKS = "blocks"
    PASSES = "passes"
    UNKNOWN = "unknown"  # a fact is missing
    INFORMS = "informs"  # it forbids nothing


@resource("AppliedTransferRule")
@dataclass(frozen=True, slots=True, kw_only=True)
class AppliedRule(Rule):
    """A rule that is in force for the domain."""

    outcome: Annotated[RuleOutcome, doc("The effect of the rule on the domain.")]


class FactSource(StrEnum):
    """A source of data about a domain."""

    REGISTRAR = "registrar"
    RDAP = "rdap"
    PORTFOLIO = "portfolio"  # entered or imported


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeFact:
    """A time, and its source."""

    at: datetime
    known_from: FactSource


@dataclass(frozen=True, slots=True, kw_only=True)
class TransferFacts:
    """Facts of a domain that the rules use."""

    tld: str
    created: TimeFact | None = None
    transferred: TimeFact | None = None  # the last time
    statuses: Mapping[str, FactSource] = field(default_factory=dict)  # EPP statuses in lower case
    is_unlocked: bool = False  # a source reports that the registrar does not lock it


@dataclass(frozen=True, slots=True, kw_only=True)
class TransferBlock:
    """A reason why a domain cannot move now."""

    code: Annotated[RuleName, doc("The rule.")]
    until: Annotated[
        datetime | None, doc("The time at which it ends automatically; null if it requires a change.")
    ]
    source: Annotated[str, doc("Document that contains the rule.")]
    known_from: Annotated[FactSource, doc("The source of the fact on which it is based.")]
    message: Annotated[str, doc("The rule in a sentence.")]


EligibleAt = Annotated[
    datetime | None, doc("End of the last obstacle; null without obstacles, or if an obstacle has no end.")
]
BlockedBy = Annotated[Sequence[TransferBlock], doc("All obstacles to a transfer.")]


@resource("EligibilityReply")
@dataclass(frozen=True, slots=True, kw_only=True)
class Eligibility:
    """Whether a domain may move to another registrar."""

    transferable: Annotated[
        bool | None, doc("Null when the rules, or the day of the registration, are not known.")
    ]
    eligible_at: EligibleAt
    blocked_by: BlockedBy
    rules_applied: Annotated[Sequence[AppliedRule], HIDDEN] = ()


class MoveState(StrEnum):
    """State of the transfer of a domain."""

    NONE = "none"  # no data about a transfer or about eligibility
    NOT_ELIGIBLE = "not_eligible"
    LOCKED = "locked"  # only the registrar's lock prevents it
    ELIGIBLE = "eligible"  # nothing that is known prevents it, and no source says whether it is locked
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
class TransferStep:
    """A step on the way to another registrar."""

    name: Annotated[StepName, doc("The step.")]
    done: Annotated[bool, doc("Whether it is done.")]
    at: Annotated[datetime | None, doc("When it was done, or can be; null: not known.")]


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
    inbound_checked_at: datetime | None = None  # when other registrars were asked for a transfer; None: never
    next_check_at: datetime | None = None  # None: not followed


class SourceName(StrEnum):
    """Source of information about a transfer."""

    REGISTRAR = "registrar"
    RDAP = "rdap"
    PORTFOLIO = "portfolio"
    RULES = "rules"


@dataclass(frozen=True, slots=True, kw_only=True)
class TransferSource:
    """The queried source."""

    name: Annotated[SourceName, doc("The source.")]
    checked_at: Annotated[datetime | None, doc("Time of the last query; null: never.")]
    ok: Annotated[bool, doc("Whether it responded.")]
    error: Annotated[str | None, doc("Why it did not respond; null with a response.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeOptions:
    """Options of a request for an auth code."""

    unlock: bool = False
    regenerate: bool = False
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class IssuedCode:
    """How the auth code of a domain is delivered, and the code itself where the registrar returns it."""

    domain_id: Annotated[UUID, doc("Identifier of the domain.")]
    domain: DomainName
    provider: Annotated[str, doc("The registrar.")]
    delivery: Annotated[CodeDelivery, doc("How the registrar delivers the code.")]
    auth_code: Annotated[
        str | None,
        doc(
            "The code, which is shown once and never stored. Null when the registrar does not return it, "
            "absent when an Idempotency-Key repeats the response."
        ),
        ONCE,
    ] = field(repr=False)
    expires_at: Annotated[
        datetime | None, doc("End of the validity of the code; null if the registrar does not report it.")
    ]
    sent_to: Annotated[
        str | None, doc("The masked address that receives the code; null if the registrar does not report it.")
    ] = None
    dashboard_url: Annotated[str | None, doc("The registrar's website for the domain; null: not known.")]
    instructions: Annotated[Sequence[str], doc("What to do next.")]
    eligibility: Annotated[Eligibility, doc("Whether the domain may move now.")]
    requested_at: Annotated[datetime, doc("When the code was requested.")]
    audit_id: Annotated[UUID, doc("The entry in the audit list of the portfolio's account.")]
