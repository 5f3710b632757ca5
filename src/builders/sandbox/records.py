"""What crosses the door of the sandbox."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated, NamedTuple
from uuid import UUID

from pydantic import AliasChoices, Field, TypeAdapter

from builders.aliases.records import LIVE, PriceInterval
from builders.kit.values.money import Money
from builders.sandbox.error_codes import StepError
from builders.sandbox.views import View

MOST_SHOWN = 100  # destinations of one promotion
PLAN_LIFE = timedelta(hours=24)  # to be promoted in


class Kind(StrEnum):
    """What a manifest can hold, in the order in which the kinds need each other."""

    PROJECT = "project"
    DOMAIN = "domain"
    WEBHOOK = "webhook"
    ALIAS = "alias"


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


class Risk(StrEnum):
    """How much an action can break."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


class OnError(StrEnum):
    """What a promotion does after a step that failed."""

    STOP = "stop"
    CONTINUE = "continue"


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """What a name costs, and how often."""

    money: Money
    interval: PriceInterval


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a new name is unique."""

    domain: str
    local_part: str
    key: str
    skeleton: str
    is_own: bool = False  # on a domain of the account's own


@dataclass(frozen=True, slots=True, kw_only=True)
class Continued:
    """A released name of the account whose paid period goes on when it is claimed again."""

    alias_id: UUID
    until: datetime | None  # None for what is paid once and kept


@dataclass(frozen=True, slots=True, kw_only=True)
class Secret:
    """Where the secret of a new webhook comes from: it is copied, or made when both are None."""

    copied_from: UUID | None = None  # a destination that is there
    copied_from_address: str | None = None  # one that the plan makes


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """Whose state is compared and changed: a live account's, or that of its sandbox twin for a rehearsal."""

    account_id: UUID
    realm: UUID = LIVE  # where names are unique

    @property
    def is_live(self) -> bool:
        """Whether what happens here is real."""
        return self.realm == LIVE


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """One thing that a plan does, with what must still be true when it is done.

    Plans are stored: what is added has a default, and what was renamed is read by its old name too.
    """

    address: str  # `KIND.KEY`
    kind: Kind = Kind.ALIAS
    action: ActionKind
    before: View | None
    after: View | None
    changed_fields: tuple[str, ...]
    reason: str
    risk: Risk
    price: Price | None  # of a name that is claimed
    # Of a resource that is there.
    resource_id: Annotated[UUID | None, Field(validation_alias=AliasChoices("resource_id", "alias_id"))]
    version: int | None  # that it must still have
    place: Place | None = None  # of a name that is claimed
    after_unknown: tuple[str, ...] = ()  # members of `after` that are known only when it is done
    requires: tuple[str, ...] = ()  # addresses of what must be done before
    secret: Secret | None = None  # of a webhook that is made
    continues: Continued | None = None  # of a name that is claimed within its paid period
    undoable_until: datetime | None = None  # of a claim that the release undoes


ACTIONS = TypeAdapter(tuple[Action, ...])  # as they are stored, and digested


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """An error or a warning of a plan."""

    code: str
    address: str
    message: str
    until: datetime | None = None  # until when what the message says holds, where that is a time


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
    digest: str  # sha256:HEX over the canonical JSON of account, manifest_digest and actions
    actions: Sequence[Action]
    errors: Sequence[Finding]
    warnings: Sequence[Finding]
    created_by: str  # the id of a key, or how else the caller came
    created_at: datetime
    expires_at: datetime
    manifest_digest: str | None = None  # None: stored before it was kept

    @property
    def removals(self) -> int:
        """How many resources it gives up."""
        return sum(each.action in {ActionKind.DELETE, ActionKind.REPLACE} for each in self.actions)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanOverview:
    """A plan as a list shows it."""

    id: UUID
    manifest: str
    labels: Mapping[str, str]
    status: PlanStatus
    digest: str
    summary: Mapping[ActionKind, int]
    errors: int
    warnings: int
    created_by: str
    created_at: datetime
    expires_at: datetime

    @property
    def is_promotable(self) -> bool:
        """Whether it can be promoted still."""
        return self.status in {PlanStatus.READY, PlanStatus.EMPTY}


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
    invoice_id: UUID | None = None  # of what was claimed at a price
    signing_secret: str | None = field(default=None, repr=False)  # never kept: of an answer, once


@dataclass(frozen=True, slots=True, kw_only=True)
class BilledOn:
    """An invoice of a promotion."""

    id: UUID
    number: str | None
    total: Money


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
    invoices: Sequence[BilledOn] = ()
    error: StepError | None = None  # why it was given up, whatever became of its steps
    unconfirmed: Sequence[str] = ()  # destinations of its names whose recipients have not agreed, up to MOST_SHOWN
    unpaid: Sequence[BilledOn] = ()  # those of its invoices that are open


class Abandoned(NamedTuple):
    """A promotion that is to be gone on with."""

    account_id: UUID
    promotion_id: UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What the caller agreed to when asking for a promotion."""

    plan_id: UUID
    digest: str
    confirm_deletes: int | None
    max_total: Money | None
    on_error: OnError
    resume: bool
