"""Records of the rules about transfers, their facts and their results."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from enum import StrEnum


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

    rule: RuleName
    scope: str  # gtld, any, or a top-level domain
    value: int | str
    unit: RuleUnit
    status: RuleStatus
    meaning: str
    source: str
    effective_from: date | None = None
    effective_to: date | None = None  # the last day

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


@dataclass(frozen=True, slots=True, kw_only=True)
class AppliedRule:
    """A rule that is in force for a domain, and its result."""

    rule: Rule
    outcome: RuleOutcome


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
class Block:
    """Why a domain cannot move now."""

    code: RuleName
    until: datetime | None  # None: until a person changes it
    source: str  # of the rule
    known_from: FactSource
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Eligibility:
    """Whether a domain may move. None: its rules or facts are not known."""

    transferable: bool | None
    blocked_by: Sequence[Block]
    eligible_at: datetime | None  # when the last block ends that only time ends
    rules_applied: Sequence[AppliedRule]
