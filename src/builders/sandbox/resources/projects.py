"""Projects in a manifest: the diff (pure) and the execution."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from uuid import UUID

from builders.kit.db.connections import Conn
from builders.projects import service as projects
from builders.projects.errors import ProjectKeysTaken, ProjectLimit, ProjectsChanged, SlugsTaken
from builders.projects.records import SENSITIVE_FIELDS, Project, ProjectChange, ProjectSpec
from builders.sandbox.manifest import Manifest, OnConflict, ProjectView
from builders.sandbox.records import Action, ActionKind, Finding, Kind, Risk
from builders.sandbox.resources import kinds
from builders.sandbox.resources.kinds import Batch, Executor, KindDiff, Task
from builders.sandbox.resources.live_state import LiveState
from builders.sandbox.step_errors import StepError

CHANGED = "The project was changed or archived in the meantime."
KEY_IN_USE = "The key now belongs to another project."
SLUG_TAKEN = "Another project of the account now has the slug."
LIMIT = "The account has its maximum number of active projects."


def diff(manifest: Manifest, live: LiveState) -> KindDiff:
    """Return the actions on projects. The key identifies a project; another slug is an update."""
    active = [each for each in live.projects if not each.is_archived]
    managed = {each.manifest_key: each for each in active if each.manifest == manifest.name}
    by_slug = {each.slug: each for each in active}
    planned: list[Action] = []
    kept: set[UUID] = set()
    errors: list[Finding] = list(_repeated_slugs(manifest.projects))
    wanted = {desired.key for desired in manifest.projects}
    errors += _unknown_webhooks(manifest.projects, {each.id for each in live.webhooks})
    moving = {managed[desired.key].id for desired in manifest.projects if desired.key in managed and desired.slug}
    for desired in manifest.projects:
        mine, other = managed.get(desired.key), by_slug.get(desired.slug or "")
        if other is not None and (other is mine or other.id in moving):
            other = None  # the project's own slug, or a slug that this plan frees
        if (
            mine is None
            and other is not None
            and other.manifest == manifest.name
            and other.manifest_key not in wanted
        ):
            mine, other = other, None  # under another key
        if mine is not None and other is None:
            kept.add(mine.id)
            planned.append(_change(desired, mine))
        elif other is None:
            planned.append(_create(desired))
        elif mine is None and manifest.on_conflict is OnConflict.ADOPT:
            planned.append(_change(desired, other, is_adopted=True))
        else:
            errors.append(kinds.conflict(Kind.PROJECT, desired.key, f"the slug {desired.slug}", other.manifest))
    left = [each for key, each in managed.items() if key not in wanted and each.id not in kept]
    return KindDiff.of(manifest, planned, errors, left, delete=_delete, left_alone=_left_alone)


def _repeated_slugs(desired: Sequence[ProjectView]) -> list[Finding]:
    times = Counter(desired.slug for desired in desired if desired.slug)
    return [
        Finding(code="slug_taken", address=f"project.{desired.key}", message="Another project has this slug.")
        for desired in desired
        if desired.slug and times[desired.slug] > 1
    ]


def _unknown_webhooks(desired: Sequence[ProjectView], known: set[UUID]) -> list[Finding]:
    return [
        Finding(
            code="webhook_unknown", address=f"project.{desired.key}", message=f"The account has no webhook {each}."
        )
        for desired in desired
        for each in desired.webhook_ids
        if each not in known
    ]


def view(project: Project) -> ProjectView:
    """Return the current project."""
    return ProjectView(key=project.manifest_key or "", **project.values())


def _create(desired: ProjectView) -> Action:
    return Action(
        address=f"project.{desired.key}",
        kind=Kind.PROJECT,
        action=ActionKind.CREATE,
        after=desired,
        reason="The project does not exist.",
        risk=Risk.LOW,
        after_unknown=("id",) if desired.slug else ("id", "slug"),
    )


def _change(desired: ProjectView, project: Project, *, is_adopted: bool = False) -> Action:
    after = replace(desired, slug=desired.slug or project.slug)
    return kinds.change(
        Kind.PROJECT, project, view(project), after, sensitive=SENSITIVE_FIELDS, is_adopted=is_adopted
    )


def _left_alone(project: Project) -> Finding:
    return kinds.left_alone_warning(Kind.PROJECT, project.manifest_key, f"The project {project.slug}")


def _delete(project: Project) -> Action:
    consequence = "It is archived; its aliases keep working."
    return kinds.delete(Kind.PROJECT, project, view(project), consequence=consequence, risk=Risk.MEDIUM)


def drift(manifest: str, actions: Sequence[Action], live: LiveState) -> Iterator[Finding]:
    """Yield the changes since the plan was made."""
    active = {each.id: each for each in live.projects if not each.is_archived}
    planned = {action.resource_id for action in actions}
    others = [each for each in active.values() if each.id not in planned]
    keys = {each.manifest_key for each in others if each.manifest == manifest}
    slugs = {each.slug for each in others}
    for action in actions:
        existing = None if action.resource_id is None else active.get(action.resource_id)
        if action.resource_id is not None and (existing is None or existing.version != action.version):
            yield Finding(code="project_changed", address=action.address, message=CHANGED)
        elif isinstance(action.after, ProjectView) and action.after.key in keys:
            yield Finding(code="key_in_use", address=action.address, message=KEY_IN_USE)
        elif isinstance(action.after, ProjectView) and action.after.slug in slugs:
            yield Finding(code="slug_taken", address=action.address, message=SLUG_TAKEN)


async def execute(conn: Conn, batch: Batch) -> None:
    """Execute a batch of one action, all tasks or none. Raise one of the refusals."""
    kind, owner = batch.tasks[0].action.action, {"account_id": batch.target.account_id}
    if kind is ActionKind.CREATE:
        await projects.create_many(
            conn, **owner, specs=[each for task in batch.tasks for each in _specs(task, batch)]
        )
    elif kind is ActionKind.DELETE:
        await projects.archive_many(conn, **owner, versions=kinds.list_versions(batch.tasks))
    else:
        changes = [each for task in batch.tasks for each in _changes(task, batch)]
        await projects.update_many(conn, **owner, changes=changes)


def fault(manifest: str, task: Task, refusal: Exception) -> StepError | None:
    """Return the error of this task after a refusal of the batch, or None."""
    after = task.action.after
    match refusal:
        case SlugsTaken():
            if isinstance(after, ProjectView) and after.slug in refusal.slugs:
                return StepError(code="slug_taken", message=SLUG_TAKEN)
        case ProjectKeysTaken():
            if after is not None and (manifest, after.key) in refusal.keys:
                return StepError(code="key_in_use", message=KEY_IN_USE)
        case ProjectsChanged():
            if task.action.resource_id in refusal.changed:
                return StepError(code="project_changed", message=CHANGED)
        case ProjectLimit():
            return StepError(code="project_limit", message=LIMIT)
    return None


def _specs(task: Task, batch: Batch) -> Iterator[ProjectSpec]:
    after = task.action.after
    if isinstance(after, ProjectView) and task.step.resource_id:
        yield ProjectSpec(
            id=task.step.resource_id, manifest=batch.manifest, manifest_key=after.key, **after.values()
        )


def _changes(task: Task, batch: Batch) -> Iterator[ProjectChange]:
    action, after = task.action, task.action.after
    if isinstance(after, ProjectView) and action.resource_id and action.version and after.slug:
        yield ProjectChange(
            id=action.resource_id,
            version=action.version,
            manifest=batch.manifest,
            manifest_key=after.key,
            **after.values(),
        )


EXECUTOR = Executor(
    drift=drift,
    execute=execute,
    fault=fault,
    refusals=(SlugsTaken, ProjectKeysTaken, ProjectsChanged, ProjectLimit),
)
