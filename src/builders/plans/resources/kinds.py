"""What all kinds of resources in a manifest share: their diff, their drift, and the executor of their actions."""

from collections.abc import (
    Awaitable,
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
    Set as AbstractSet,
)
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Generic, Self, TypeVar
from uuid import UUID

from builders.aliases.records import Alias
from builders.domains.records import AccountDomain
from builders.invoices.records import Seller
from builders.kit.db.connections import Conn
from builders.kit.mandates import Amounts
from builders.kit.process.secret_keys import Keyring
from builders.kit.process.settings import Settings
from builders.kit.values.conflicts import KeysTaken, ResourcesChanged
from builders.plans.records import (
    Action,
    ActionKind,
    Finding,
    Kind,
    Manifest,
    Risk,
    Step,
    StepError,
    TargetAccount,
    View,
    changes,
)
from builders.plans.resources.live_state import LiveState
from builders.projects.records import Project
from builders.webhooks.records import ManagedDestination

V = TypeVar("V")
T = TypeVar("T", Project, AccountDomain, ManagedDestination, Alias)
PROJECT_MISSING = "No project has this key, slug or id."
PROJECT_PRUNED = "The project is no longer in the manifest, and prune is on: the plan would archive it."


@dataclass(frozen=True, slots=True, kw_only=True)
class KindDiff:
    """The result of comparing one kind of resource: actions, removals and findings."""

    actions: tuple[Action, ...]
    removed: tuple[Action, ...]
    errors: tuple[Finding, ...]
    warnings: tuple[Finding, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ManagedKind(Generic[T]):
    """A kind of resource that a manifest manages by keys, as the diff and the promotion treat it."""

    kind: Kind
    view: Callable[[T], View]  # the current state
    describe: Callable[[T], str]  # in messages
    sensitive: AbstractSet[str]  # fields whose change has a medium risk
    consequence: str  # of the deletion
    risk: Risk  # of the deletion
    changed: StepError  # it is not as it was when the plan was made
    key_in_use: StepError  # its key belongs to another resource of the kind

    def diff(
        self, manifest: Manifest, actions: Iterable[Action], errors: Iterable[Finding], left: Iterable[T]
    ) -> KindDiff:
        """Return the diff; delete resources that are no longer in the manifest (`left`), or warn about them."""
        return KindDiff(
            actions=tuple(actions),
            removed=tuple(map(self.delete, left)) if manifest.prune else (),
            errors=tuple(errors),
            warnings=() if manifest.prune else tuple(map(self.leave, left)),
        )

    def change(
        self,
        existing: T,
        after: View,
        *,
        is_adopted: bool = False,
        unknown: tuple[str, ...] = (),
        requires: tuple[str, ...] = (),
    ) -> Action:
        """Return the action that updates or adopts the resource, or a no_op.

        `unknown` fields of `after` are known after the execution; a change `requires` the actions at addresses.
        """
        before: View = self.view(existing)
        changed: tuple[str, ...] = tuple(dict.fromkeys((*changes(before, after), *unknown)))
        action = ActionKind.UPDATE if changed else ActionKind.NO_OP
        reason = f"Changes {', '.join(changed)}." if changed else "It matches the manifest."
        if is_adopted:
            action, reason, changed = ActionKind.ADOPT, "This manifest adopts it.", ("manifest", *changed)
        return Action(
            address=f"{self.kind}.{after.key}",
            kind=self.kind,
            action=action,
            before=before,
            after=after,
            changed_fields=changed,
            reason=reason,
            risk=Risk.MEDIUM if self.sensitive & set(changed) else Risk.LOW,
            resource_id=existing.id,
            version=existing.version,
            after_unknown=unknown if changed else (),
            requires=requires if changed else (),
        )

    def delete(self, existing: T) -> Action:
        """Return the action that deletes the resource, because the manifest prunes."""
        return Action(
            address=f"{self.kind}.{existing.manifest_key}",
            kind=self.kind,
            action=ActionKind.DELETE,
            before=self.view(existing),
            reason=f"It is no longer in the manifest, and prune is on. {self.consequence}".strip(),
            risk=self.risk,
            resource_id=existing.id,
            version=existing.version,
        )

    def leave(self, existing: T) -> Finding:
        """Return the warning for a resource that is no longer in the manifest and stays."""
        return Finding(
            code="left_alone",
            address=f"{self.kind}.{existing.manifest_key}",
            message=f"{self.describe(existing)} is no longer in the manifest; without prune, it does not change.",
        )

    def conflict(self, key: str, what: str, manifest: str | None) -> Finding:
        """Return the error for a resource of the account that this manifest does not manage."""
        holder = f"the manifest {manifest!r}" if manifest else "no manifest"
        return Finding(
            code=f"{self.kind}_exists",
            address=f"{self.kind}.{key}",
            message=f"The account already has {what}, managed by {holder}. To adopt it: on_conflict adopt.",
        )

    def list_drift(
        self,
        manifest: str,
        actions: Sequence[Action],
        existing: Collection[T],
        find_other: Callable[[Action], StepError | None] = lambda _: None,
    ) -> Iterator[Finding]:
        """Yield the changes since the plan was made; `find_other` returns those that only this kind has."""
        by_id = {each.id: each for each in existing}
        planned = {action.resource_id for action in actions}
        keys = {each.manifest_key for each in existing if each.manifest == manifest and each.id not in planned}
        for action in actions:
            found = None if action.resource_id is None else by_id.get(action.resource_id)
            if action.resource_id is not None and (found is None or found.version != action.version):
                error: StepError | None = self.changed
            elif (error := find_other(action)) is None and action.after is not None and action.after.key in keys:
                error = self.key_in_use
            if error is not None:
                yield Finding(code=error.code, address=action.address, message=error.message)

    def faults(self) -> "Faults":
        """Return the errors of tasks after the refusals that all kinds have."""
        return {
            ResourcesChanged: lambda _, task, found: (
                self.changed if task.action.resource_id in found.changed else None
            ),
            KeysTaken: lambda manifest, task, found: (
                self.key_in_use if task.action.after and (manifest, task.action.after.key) in found.keys else None
            ),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class RunParameters:
    """Parameters of a promotion besides its plan: the operator's terms and the keyring that seals secrets."""

    quarantine: timedelta  # of released names
    cooling_off: timedelta  # after a claim; a release within it undoes the claim
    seller: Seller
    keyring: Keyring = field(repr=False)
    base_url: str  # of links
    bound: Amounts | None = None  # what all machines of an account may cost in 30 days

    @classmethod
    def of(cls, settings: Settings, keyring: Keyring) -> Self:
        """Return the parameters by the settings of the process."""
        return cls(
            quarantine=timedelta(days=settings.quarantine_days),
            cooling_off=timedelta(hours=settings.cooling_off_hours),
            seller=Seller.of(settings),
            keyring=keyring,
            base_url=settings.url,
            bound=settings.machines_max_total or None,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """An action and the step that executes it."""

    step: Step
    action: Action


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Tasks on one kind of resource: with one action, or with all if the forwarding of aliases requires that."""

    target: TargetAccount
    manifest: str
    tasks: Sequence[Task]
    parameters: RunParameters
    made: Mapping[str, UUID]  # ids of resources that the plan creates, by address


def list_versions(tasks: Sequence[Task]) -> dict[UUID, int]:
    """Return the planned version of each existing resource, by its id."""
    versions = {task.action.resource_id: task.action.version for task in tasks}
    return {each: version for each, version in versions.items() if each and version}


def list_changed(tasks: Sequence[Task], view: type[V]) -> Iterator[tuple[UUID, int, V]]:
    """Yield id, planned version and new state of each existing resource."""
    for action in [task.action for task in tasks]:
        if isinstance(action.after, view) and action.resource_id and action.version:
            yield action.resource_id, action.version, action.after


class StepsRefused(Exception):
    """Some steps of a batch cannot be executed; nothing of the batch was executed."""

    def __init__(self, found: Sequence[Finding]) -> None:
        super().__init__(f"{len(found)} steps cannot be executed")
        # The first error of each step.
        self.errors = {each.address: StepError(code=each.code, message=each.message) for each in reversed(found)}


# The error of a task by the type of the refusal of its batch; None if another task caused it. The arguments are
# the name of the manifest, the task and the refusal.
Faults = Mapping[type[Exception], Callable[[str, Task, Any], StepError | None]]


@dataclass(frozen=True, slots=True)
class Executor:
    """How a promotion executes actions on a kind of resource."""

    drift: Callable[[str, Sequence[Action], LiveState], Iterator[Finding]]  # changes since the plan was made
    execute: Callable[[Conn, Batch], Awaitable[None]]  # all or none; raises one of the refusals
    faults: Faults
