"""The interface of each kind of resource in a manifest: a diff, and an executor of its actions."""

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence, Set as AbstractSet
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Self, TypeVar
from uuid import UUID

from builders.domains.records import AccountDomain
from builders.invoices.records import Seller
from builders.kit.db.connections import Conn
from builders.kit.process.secret_keys import Keyring
from builders.kit.process.settings import Settings
from builders.projects.records import Project
from builders.sandbox.manifest import Manifest, View, changes
from builders.sandbox.records import Action, ActionKind, Finding, Kind, Risk, Step, TargetAccount
from builders.sandbox.resources.live_state import LiveState
from builders.sandbox.step_errors import StepError
from builders.webhooks.records import ManagedDestination

T = TypeVar("T")
Managed = Project | AccountDomain | ManagedDestination
PROJECT_PRUNED = "The project is no longer in the manifest, and prune is on: the plan would archive it."
PRUNED = "It is no longer in the manifest, and prune is on."
ADOPTED = "This manifest adopts it."


@dataclass(frozen=True, slots=True, kw_only=True)
class KindDiff:
    """The result of comparing one kind of resource: actions, removals and findings."""

    actions: tuple[Action, ...]
    removed: tuple[Action, ...]
    errors: tuple[Finding, ...]
    warnings: tuple[Finding, ...]

    @classmethod
    def of(
        cls,
        manifest: Manifest,
        actions: Iterable[Action],
        errors: Iterable[Finding],
        left: Iterable[T],
        *,
        delete: Callable[[T], Action],
        left_alone: Callable[[T], Finding],
    ) -> Self:
        """Return the diff; delete resources that are no longer in the manifest (`left`), or warn about them."""
        return cls(
            actions=tuple(actions),
            removed=tuple(map(delete, left)) if manifest.prune else (),
            errors=tuple(errors),
            warnings=() if manifest.prune else tuple(map(left_alone, left)),
        )


def conflict(kind: Kind, key: str, what: str, manifest: str | None) -> Finding:
    """Return the error for a resource of the account that this manifest does not manage."""
    holder = f"the manifest {manifest!r}" if manifest else "no manifest"
    return Finding(
        code=f"{kind}_exists",
        address=f"{kind}.{key}",
        message=f"The account already has {what}, managed by {holder}. To adopt it: on_conflict adopt.",
    )


def left_alone_warning(kind: Kind, key: str | None, what: str) -> Finding:
    """Return the warning for a resource that is no longer in the manifest and stays."""
    return Finding(
        code="left_alone",
        address=f"{kind}.{key}",
        message=f"{what} is no longer in the manifest; without prune, it does not change.",
    )


def key_in_use_error(kind: Kind, key: str, old: str, new: str) -> Finding:
    """Return the error for a key that belongs to another resource."""
    message = f"The key belonged to {old}, not to {new}: use a new key."
    return Finding(code="key_in_use", address=f"{kind}.{key}", message=message)


def explain_change(changed: tuple[str, ...]) -> str:
    """Return the reason of an update or a no_op."""
    return f"Changes {', '.join(changed)}." if changed else "It matches the manifest."


def change(
    kind: Kind, existing: Managed, before: View, after: View, *, sensitive: AbstractSet[str], is_adopted: bool
) -> Action:
    """Return the action that updates or adopts the resource, or a no_op; a sensitive field has a medium risk."""
    changed = changes(before, after)
    action, reason = ActionKind.UPDATE if changed else ActionKind.NO_OP, explain_change(changed)
    if is_adopted:
        action, reason, changed = ActionKind.ADOPT, ADOPTED, ("manifest", *changed)
    return Action(
        address=f"{kind}.{after.key}",
        kind=kind,
        action=action,
        before=before,
        after=after,
        changed_fields=changed,
        reason=reason,
        risk=Risk.MEDIUM if sensitive & set(changed) else Risk.LOW,
        resource_id=existing.id,
        version=existing.version,
    )


def delete(kind: Kind, existing: Managed, before: View, *, consequence: str, risk: Risk) -> Action:
    """Return the action that deletes the resource, because the manifest prunes."""
    return Action(
        address=f"{kind}.{existing.manifest_key}",
        kind=kind,
        action=ActionKind.DELETE,
        before=before,
        reason=f"{PRUNED} {consequence}",
        risk=risk,
        resource_id=existing.id,
        version=existing.version,
    )


PAYABLE_WITHIN = timedelta(days=14)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunParameters:
    """Parameters of a promotion besides its plan: the operator's terms and the keyring that seals secrets."""

    quarantine: timedelta  # of released names
    cooling_off: timedelta  # after a claim; a release within it undoes the claim
    payable_within: timedelta  # of an invoice
    seller: Seller
    keyring: Keyring = field(repr=False)

    @classmethod
    def of(cls, settings: Settings, keyring: Keyring) -> Self:
        """Return the parameters by the settings of the process."""
        return cls(
            quarantine=timedelta(days=settings.quarantine_days),
            cooling_off=timedelta(hours=settings.cooling_off_hours),
            payable_within=PAYABLE_WITHIN,
            seller=Seller.of(settings),
            keyring=keyring,
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


class StepsRefused(Exception):
    """Some steps of a batch cannot be executed; nothing of the batch was executed."""

    def __init__(self, faults: Mapping[int, StepError]) -> None:
        super().__init__(f"{len(faults)} steps cannot be executed")
        self.faults = faults  # by position


@dataclass(frozen=True, slots=True)
class Executor:
    """How a promotion executes actions on a kind of resource."""

    drift: Callable[[str, Sequence[Action], LiveState], Iterator[Finding]]  # changes since the plan was made
    execute: Callable[[Conn, Batch], Awaitable[None]]  # all or none; raises one of the refusals
    fault: Callable[[str, Task, Exception], StepError | None]  # the error of a task after a refusal of its batch
    refusals: tuple[type[Exception], ...]
