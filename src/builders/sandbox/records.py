"""Records of the sandbox."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import NamedTuple
from uuid import UUID

from pydantic import TypeAdapter

from builders.aliases.records import LIVE, Name, PriceInterval
from builders.kit.values.money import Money
from builders.sandbox.manifest import View
from builders.sandbox.step_errors import StepError

MAX_SHOWN = 100  # destinations of one promotion in a reply
PLAN_LIFE = timedelta(hours=24)  # from its creation to its expiry


class Kind(StrEnum):
    """Kinds of resources in a manifest, each after the kinds that it refers to."""

    PROJECT = "project"
    DOMAIN = "domain"
    WEBHOOK = "webhook"
    ALIAS = "alias"


class ActionKind(StrEnum):
    """The actions of a plan on a resource, in the sequence of execution."""

    UPDATE = "update"
    ADOPT = "adopt"
    CREATE = "create"
    REPLACE = "replace"
    DELETE = "delete"
    NO_OP = "no_op"


class PlanStatus(StrEnum):
    """The status of a plan; `expired` follows from its expiry."""

    READY = "ready"
    EMPTY = "empty"
    BLOCKED = "blocked"
    PROMOTING = "promoting"
    PROMOTED = "promoted"
    PARTIAL = "partial"
    EXPIRED = "expired"


class PromotionStatus(StrEnum):
    """The status of a promotion."""

    RUNNING = "running"
    SUCCEEDED = "succeeded"
    PARTIAL = "partial"
    FAILED = "failed"


class StepStatus(StrEnum):
    """The status of a step."""

    PENDING = "pending"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    SKIPPED = "skipped"


class Risk(StrEnum):
    """The risk of an action."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


class OnError(StrEnum):
    """The reactions of a promotion to a failed step."""

    STOP = "stop"
    CONTINUE = "continue"


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """The price of a name and its interval."""

    money: Money
    interval: PriceInterval


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """The domain and the unique key of a new name."""

    domain: str
    local_part: str
    key: str
    skeleton: str
    is_own: bool = False  # on an account domain

    @property
    def name(self) -> Name:
        """Return the unique form of the name."""
        return Name(self.domain, self.key)


@dataclass(frozen=True, slots=True, kw_only=True)
class Continued:
    """A released name of the account whose paid period continues when it is claimed again."""

    alias_id: UUID
    until: datetime | None  # None for a one-time price


@dataclass(frozen=True, slots=True, kw_only=True)
class Secret:
    """The source of a new webhook's secret: a copy, or a new secret if both are None."""

    copied_from: UUID | None = None  # an existing destination
    copied_from_address: str | None = None  # a destination that the plan creates


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetAccount:
    """The account whose state is compared and changed: a live account, or its sandbox account for a rehearsal."""

    account_id: UUID
    realm: UUID = LIVE  # the namespace of its names

    @property
    def is_live(self) -> bool:
        """Return whether it is a live account."""
        return self.realm == LIVE


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """An action of a plan, with its preconditions. Plans are stored: a new field has a default."""

    address: str  # `KIND.KEY`
    kind: Kind
    action: ActionKind
    before: View | None = None  # of an existing resource
    after: View | None = None  # None: the resource is deleted
    changed_fields: tuple[str, ...] = ()
    reason: str
    risk: Risk
    price: Price | None = None  # of a name that is claimed
    resource_id: UUID | None = None  # of an existing resource
    version: int | None = None  # the version that the resource must still have
    place: Place | None = None  # of a name that is claimed
    after_unknown: tuple[str, ...] = ()  # fields of `after` that are known after the execution
    requires: tuple[str, ...] = ()  # addresses of actions that come before
    secret: Secret | None = None  # of a new webhook
    continues: Continued | None = None  # of a name that is claimed within its paid period
    undoable_until: datetime | None = None  # until when the release undoes the claim


ACTIONS = TypeAdapter(tuple[Action, ...])  # their stored and digested form


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """An error or a warning of a plan."""

    code: str
    address: str
    message: str
    until: datetime | None = None  # until when the message is valid


@dataclass(frozen=True, slots=True, kw_only=True)
class Total:
    """The total price of a plan in one currency."""

    currency: str
    once: Money
    month: Money
    year: Money


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """The actions and findings of a plan; the digest covers the actions."""

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
    manifest_digest: str
    actions: Sequence[Action]
    errors: Sequence[Finding]
    warnings: Sequence[Finding]
    created_by: str  # the id of a key, or of other credentials
    created_at: datetime
    expires_at: datetime

    @property
    def removals(self) -> int:
        """Return the number of resources that the plan deletes or replaces."""
        return sum(each.action in {ActionKind.DELETE, ActionKind.REPLACE} for each in self.actions)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanOverview:
    """A plan in a list, without its actions."""

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
        """Return whether the plan can be promoted."""
        return self.status in {PlanStatus.READY, PlanStatus.EMPTY}


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """An action in execution."""

    position: int
    address: str
    action: ActionKind
    status: StepStatus
    attempts: int
    resource_id: UUID | None
    error: StepError | None
    finished_at: datetime | None
    invoice_id: UUID | None = None  # of a claim with a price
    signing_secret: str | None = field(default=None, repr=False)  # not stored: in one response only


@dataclass(frozen=True, slots=True, kw_only=True)
class BilledOn:
    """An invoice of a promotion."""

    id: UUID
    number: str | None
    total: Money


@dataclass(frozen=True, slots=True, kw_only=True)
class Promotion:
    """The execution of a plan; a plan has at most one."""

    id: UUID
    plan_id: UUID
    status: PromotionStatus
    on_error: OnError
    steps: Sequence[Step]
    created_by: str  # credentials, as in the plan
    started_at: datetime
    finished_at: datetime | None
    invoices: Sequence[BilledOn] = ()
    error: StepError | None = None  # of an abandoned promotion
    unconfirmed: Sequence[str] = ()  # destinations that are not confirmed, up to MAX_SHOWN
    unpaid: Sequence[BilledOn] = ()  # its open invoices


class Abandoned(NamedTuple):
    """A promotion to continue."""

    account_id: UUID
    promotion_id: UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class PromotionRequest:
    """A request to promote, with the caller's consent."""

    plan_id: UUID
    digest: str
    confirm_deletes: int | None
    max_total: Money | None
    on_error: OnError
    resume: bool
