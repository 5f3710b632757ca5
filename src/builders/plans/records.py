"""Records: the manifest and its resources, plans and promotions."""

from collections import Counter
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, fields
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated, Any, TypeVar
from uuid import UUID

from pydantic import Field, StrictBool, StringConstraints, TypeAdapter

from builders.aliases.records import LIVE, AliasSettings, Detail, Name, PriceInterval, Reason
from builders.catalog.records import Priced
from builders.domains.records import DomainSettings
from builders.kit.values import texts
from builders.kit.values.docs import doc
from builders.kit.values.domain_names import DomainName
from builders.kit.values.money import Money
from builders.kit.values.resources import HIDDEN, ONCE, members_of, reply_type, resource
from builders.projects.records import ProjectFields, Refusal

V = TypeVar("V")
PlanDigest = Annotated[str, Field(title="PlanDigest")]  # a schema of the OpenAPI document
ProjectReference = Annotated[
    str, Field(min_length=1, max_length=63, description="A project: its key in this manifest, its slug or its id.")
]
ViewKey = Annotated[str, doc("`key` of the resource in the manifest.")]  # that manages it; empty without one

MAX_RESOURCES = 2000  # in a manifest, of all kinds together
MAX_BYTES = 1024 * 1024  # of a request body with a manifest
GENERATE = "generate"  # the reference of a new secret
MAX_SHOWN = 100  # destinations of one promotion in a reply
PLAN_LIFE = timedelta(hours=24)  # from its creation to its expiry
CreatedBy = Annotated[
    str, doc("The id of an API key; otherwise `user` and the id of a session, or `support` and a name.")
]


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


CLAIMS = frozenset({ActionKind.CREATE, ActionKind.REPLACE})  # of a new name or another resource


class PlanStatus(StrEnum):
    """The status of a plan; `expired` follows from its expiry."""

    READY = "ready"
    EMPTY = "empty"
    BLOCKED = "blocked"
    PROMOTING = "promoting"
    PROMOTED = "promoted"
    PARTIAL = "partial"
    EXPIRED = "expired"


PROMOTABLE = frozenset({PlanStatus.READY, PlanStatus.EMPTY})


class ApprovalState(StrEnum):
    """The state of the approval of a plan."""

    NOT_REQUIRED = "not_required"
    REQUIRED = "required"
    APPROVED = "approved"
    REJECTED = "rejected"
    EXPIRED = "expired"  # the plan, or an approval of it


class PromotionStatus(StrEnum):
    """The status of a promotion."""

    WAITING = "waiting"  # for the approval of its plan
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


def _stored(view: type[V]) -> type[V]:
    """Return a view whose fields have no rules of requests: a stored plan can be older than a rule."""
    record: Any = view  # mypy finds that no type variable is hashable
    known = record.__dataclass_fields__
    for each in members_of(record):
        known[each.name] = copy(known[each.name])  # a record that the view inherits from has it too
        known[each.name].type = Annotated[reply_type(each.kind), Field(description=each.description)]
    return view


@_stored
@resource("AliasViewReply")
@dataclass(frozen=True, slots=True, kw_only=True)
class AliasView(AliasSettings):
    """An alias before or after an action."""

    address: Annotated[str, doc("The whole address, `local_part@domain`.")]
    key: ViewKey
    destinations: Annotated[tuple[str, ...], doc("Recipients that mail is forwarded to; masked for a test key.")]
    # None also if the plan creates the project (after_unknown).
    project_id: Annotated[UUID | None, doc("Project that the alias belongs to; null without one.")] = None


@_stored
@resource("ProjectViewReply")
@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectView(ProjectFields):
    """A project before or after an action."""

    key: ViewKey


@_stored
@resource("WebhookViewReply")
@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookView:
    """A webhook destination before or after an action, without its secret."""

    key: ViewKey
    label: Annotated[
        str,
        StringConstraints(strip_whitespace=True, min_length=1, max_length=80, pattern=r"\S"),
        texts.Plain,
        doc("Your name for the destination."),
    ]
    url: Annotated[
        str,
        Field(min_length=1, max_length=texts.MAX_URL),
        doc("Public http or https address that events are sent to."),
    ]
    enabled: Annotated[StrictBool, doc("Whether it receives events.")]
    events: Annotated[
        list[Annotated[str, Field(max_length=80)]],
        Field(min_length=1, max_length=100),
        doc("Names of events, `area.*`, or `*` for all."),
    ]

    def settings(self) -> dict[str, Any]:
        """Return the fields but the key by name, to copy them into another record."""
        return {"label": self.label, "url": self.url, "enabled": self.enabled, "events": list(self.events)}


@_stored
@resource("DomainViewReply")
@dataclass(frozen=True, slots=True, kw_only=True)
class DomainView(DomainSettings):
    """The settings of an account domain before or after an action."""

    key: ViewKey
    domain: DomainName


View = AliasView | ProjectView | WebhookView | DomainView


def changes(before: View, after: View) -> tuple[str, ...]:
    """Return the names of the fields that differ, in their sequence."""
    names = (each.name for each in fields(before))
    return tuple(name for name in names if getattr(before, name) != getattr(after, name))


class OnConflict(StrEnum):
    """The treatment of an existing resource that this manifest does not manage."""

    FAIL = "fail"
    ADOPT = "adopt"


@dataclass(frozen=True, slots=True, kw_only=True)
class DesiredAlias(AliasSettings):
    """A desired alias; domain and local part as written."""

    key: str  # unique in the manifest
    domain: str
    local_part: str
    destinations: Sequence[str]  # empty: the project's default
    project: Annotated[
        ProjectReference | None, doc("Project of the alias; absent: the `project` of the manifest.")
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DesiredWebhook(WebhookView):
    """A desired webhook destination; a manifest never contains its secret."""

    signing_secret_ref: str  # `generate`, or the key or label of the webhook whose secret is copied


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """The desired state of an account's resources."""

    name: str
    labels: Mapping[str, str]
    prune: bool
    on_conflict: OnConflict
    aliases: tuple[DesiredAlias, ...] = ()
    projects: tuple[ProjectView, ...] = ()  # a slug of None keeps the project's current one
    domains: tuple[DomainView, ...] = ()  # as written
    webhooks: tuple[DesiredWebhook, ...] = ()
    project: str | None = None  # of aliases without a project of their own


@dataclass(frozen=True, slots=True, kw_only=True)
class Price(Priced):
    """The price of a name and its interval."""

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

    @property
    def source(self) -> str:
        """Return `generate`, or the destination whose secret is copied."""
        return self.copied_from_address or str(self.copied_from or GENERATE)


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetAccount:
    """The account whose state is compared and changed: a live account, or its sandbox account for a rehearsal."""

    account_id: UUID
    realm: UUID = LIVE  # the namespace of its names


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


@resource("FindingReply", optional={"until": None})
@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """An error or a warning."""

    code: Annotated[str, doc("Stable name of the finding; more can be added.")]
    address: Annotated[
        str, doc("Address of the resource in the manifest; empty when it concerns the whole manifest.")
    ]
    message: Annotated[str, doc("Text for people: the finding and the remedy.")]
    until: Annotated[
        datetime | None,
        Field(
            description="For `period_not_refunded`: until when claiming the name again is free.",
            exclude_if=lambda until: until is None,
        ),
    ] = None


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


# For each code of an error, whether resuming the same promotion can help: true if the cause is temporary or the
# account can remove it, false if the client must plan again.
RETRYABLE: Mapping[str, bool] = {
    # The name.
    **{each.value: False for each in (*Reason, *Detail) if each is not Reason.OK},
    Reason.HELD.value: True,  # another promotion reserves it for minutes
    "alias_exists": False,
    "alias_suspended": True,
    "price_changed": False,
    "rules_changed": False,
    # The resource has changed since the plan was made.
    "alias_changed": False,
    "domain_changed": False,
    "project_changed": False,
    "webhook_changed": False,
    "cooling_off_ended": False,
    "secret_ref_unknown": False,
    "project_not_found": False,
    # The account can remove the cause.
    **{each.value: True for each in Refusal},
    "destination_loop": True,
    "key_in_use": True,
    "payment_overdue": True,
    "project_archived": True,
    "project_limit": True,
    "slug_taken": True,
    "url_not_allowed": True,
    "webhook_limit": True,
    # The promotion itself.
    "approval_missing": False,
    "ending_failed": True,
    "key_refused": False,
    "requirement_failed": True,
    "unexpected": True,
}


@resource("StepErrorReply", computed={"retryable": "Whether a resumed promotion can succeed."})
@dataclass(frozen=True, slots=True, kw_only=True)
class StepError:
    """The error of a failed step or of an abandoned promotion."""

    code: Annotated[str, doc("Stable name of the failure, such as `taken`; more can be added.")]
    message: Annotated[str, doc("Text for people: the failure and the remedy.")]

    @property
    def retryable(self) -> bool:
        """Return whether resuming the same promotion can succeed."""
        return RETRYABLE.get(self.code, False)  # a rehearsal can invent codes


StepResourceId = Annotated[UUID | None, doc("The created or changed resource; null before the execution.")]


@resource("StepReply", optional={"signing_secret": None})
@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """An action in execution."""

    position: Annotated[int, HIDDEN]
    address: Annotated[str, doc("Address of the resource in the manifest, such as `alias.ada`.")]
    action: Annotated[ActionKind, doc("The action of the plan that the step executes.")]
    status: Annotated[StepStatus, doc("Status of the step.")]
    attempts: Annotated[int, doc("Number of attempts.")]
    resource_id: StepResourceId
    error: Annotated[StepError | None, doc("Why it failed; null otherwise.")]
    finished_at: Annotated[datetime | None, doc("When the step succeeded or failed; null before.")]
    invoice_id: Annotated[UUID | None, doc("The invoice that charges the claim; null if the step is free.")] = None
    signing_secret: Annotated[
        str | None,
        Field(
            description="The secret of a new webhook, in the first response only.",
            exclude_if=lambda secret: secret is None,
        ),
        ONCE,
    ] = field(default=None, repr=False)


@resource("InvoiceReply")
@dataclass(frozen=True, slots=True, kw_only=True)
class BilledOn:
    """An invoice for claimed names."""

    id: Annotated[UUID, doc("Identifier of the invoice.")]
    number: Annotated[str | None, doc("Number of the invoice, once it is issued.")]
    total: Annotated[Money, doc("Amount of the invoice, with tax.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Promotion:
    """The execution of a plan."""

    id: Annotated[UUID, doc("Identifier of the promotion.")]
    plan_id: Annotated[UUID, doc("The plan that is executed.")]  # it has at most one promotion
    status: Annotated[
        PromotionStatus,
        doc(
            "A job continues a `running` promotion, and an approval starts a `waiting` one: poll "
            "`GET /v1/sandbox/promotions/{promotion_id}` until it changes."
        ),
    ]
    on_error: Annotated[OnError, doc("Reaction of the promotion to a failed step.")]
    steps: Annotated[Sequence[Step], doc("The actions of the plan and their results.")]
    created_by: CreatedBy
    started_at: Annotated[datetime, doc("When the promotion started.")]
    finished_at: Annotated[datetime | None, doc("When the promotion ended; null while it runs.")]
    invoices: Annotated[Sequence[BilledOn], doc("Invoices for the claimed names; empty if they are free.")] = ()
    error: Annotated[
        StepError | None,
        doc(
            "Why it was abandoned. `ending_failed`: the completion failed, although the steps may have succeeded."
        ),
    ] = None
    unconfirmed: Annotated[Sequence[str], HIDDEN] = ()  # destinations that are not confirmed, up to MAX_SHOWN
    unpaid: Annotated[Sequence[BilledOn], HIDDEN] = ()  # its open invoices

    @property
    def summary(self) -> Mapping[StepStatus, int]:
        """Return the number of steps by status."""
        return Counter(each.status for each in self.steps)


@dataclass(frozen=True, slots=True, kw_only=True)
class PromotionRequest:
    """A request to promote, with the caller's consent."""

    plan_id: UUID
    digest: str
    confirm_deletes: int | None
    max_total: Money | None
    on_error: OnError
    resume: bool
    when_approved: bool = False  # wait for the approval of the plan
    person: UUID | None = None  # the account of the person who promotes with a key of the service
