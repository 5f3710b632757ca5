"""What crosses the door of the sandbox."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Literal, NamedTuple
from uuid import UUID

from pydantic import TypeAdapter

from builders.kit.money import Money

MAX_RESOURCES = 2000  # in a manifest


class OnConflict(StrEnum):
    """What to do with a name that the account has already, but not by this manifest."""

    FAIL = "fail"
    ADOPT = "adopt"


class ActionKind(StrEnum):
    """What a plan does to a resource, in the order in which a promotion does it."""

    UPDATE = "update"
    ADOPT = "adopt"
    CREATE = "create"
    REPLACE = "replace"
    DELETE = "delete"
    NO_OP = "no_op"


class PlanStatus(StrEnum):
    """Where a plan stands; `expired` is read off its expiry."""

    READY = "ready"
    EMPTY = "empty"
    BLOCKED = "blocked"
    PROMOTING = "promoting"
    PROMOTED = "promoted"
    PARTIAL = "partial"
    EXPIRED = "expired"


class PromotionStatus(StrEnum):
    """Where a promotion stands."""

    RUNNING = "running"
    SUCCEEDED = "succeeded"
    PARTIAL = "partial"
    FAILED = "failed"


class StepStatus(StrEnum):
    """Where a step of a promotion stands."""

    PENDING = "pending"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    SKIPPED = "skipped"


class OnError(StrEnum):
    """What a promotion does after a step that failed."""

    STOP = "stop"
    CONTINUE = "continue"


@dataclass(frozen=True, slots=True, kw_only=True)
class AliasWish:
    """An alias as the manifest wants it; domain and local part as written."""

    key: str  # unique in the manifest
    domain: str
    local_part: str
    destinations: tuple[str, ...]
    enabled: bool
    note: str | None
    labels: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """Wanted state."""

    name: str
    labels: Mapping[str, str]
    prune: bool
    on_conflict: OnConflict
    aliases: tuple[AliasWish, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AliasView:
    """An alias before or after an action."""

    address: str
    key: str  # in the manifest that manages it; empty when none does
    destinations: tuple[str, ...]
    enabled: bool
    note: str | None
    labels: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """What a name costs, and how often."""

    money: Money
    interval: Literal["month", "year", "once"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a new name is unique."""

    domain: str
    local_part: str
    key: str
    skeleton: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """One thing that a plan does, with what must still be true when it is done."""

    address: str  # `alias.KEY`
    action: ActionKind
    before: AliasView | None
    after: AliasView | None
    changed_fields: tuple[str, ...]
    reason: str
    risk: Literal["low", "medium", "high"]
    price: Price | None  # of a name that is claimed
    alias_id: UUID | None  # of an alias that is there
    version: int | None  # that it must still have
    place: Place | None  # of a name that is claimed


ACTIONS = TypeAdapter(tuple[Action, ...])  # as they are stored, and digested


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """An error or a warning of a plan."""

    code: str
    address: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Total:
    """What a plan costs in one currency."""

    currency: str
    once: Money
    month: Money
    year: Money


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """What planning found: the part of a plan that its digest covers, and the findings."""

    actions: tuple[Action, ...]
    errors: tuple[Finding, ...]
    warnings: tuple[Finding, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A reviewable list of actions, bound by its digest."""

    id: UUID
    account_id: UUID
    manifest: str  # its name
    labels: Mapping[str, str]  # the manifest's own
    status: PlanStatus
    digest: str  # sha256:HEX over the canonical JSON of account, manifest and actions
    actions: Sequence[Action]
    errors: Sequence[Finding]
    warnings: Sequence[Finding]
    created_by: str  # the id of a key, or how else the caller came
    created_at: datetime
    expires_at: datetime

    @property
    def removals(self) -> int:
        """How many names it gives up."""
        return sum(each.action in {ActionKind.DELETE, ActionKind.REPLACE} for each in self.actions)


@dataclass(frozen=True, slots=True, kw_only=True)
class StepError:
    """Why a step failed."""

    code: str
    message: str
    retryable: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One action on its way."""

    position: int
    address: str
    action: ActionKind
    status: StepStatus
    attempts: int
    resource_id: UUID | None
    error: StepError | None
    finished_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Promotion:
    """The execution of a plan; there is one for a plan at most."""

    id: UUID
    plan_id: UUID
    status: PromotionStatus
    on_error: OnError
    steps: Sequence[Step]
    created_by: str  # who promoted, in the form of the plan's
    started_at: datetime
    finished_at: datetime | None


class Abandoned(NamedTuple):
    """A promotion that is to be gone on with."""

    account_id: UUID
    promotion_id: UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What the caller agreed to when asking for a promotion."""

    plan_id: UUID | None  # None when what was sent is no id
    digest: str
    confirm_deletes: int | None
    max_total: Money | None
    on_error: OnError
    resume: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """How the sandbox stands for an account."""

    plans_open: int
    promotions_running: int
    email_verified: bool
