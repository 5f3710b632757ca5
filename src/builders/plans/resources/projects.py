"""Projects in a manifest: the diff (pure) and the execution."""

from collections import Counter
from collections.abc import Iterator, Sequence, Set as AbstractSet
from dataclasses import replace
from uuid import UUID

from builders.kit.db.connections import Conn
from builders.plans.records import (
    Action,
    ActionKind,
    Finding,
    Kind,
    Manifest,
    OnConflict,
    ProjectView,
    Risk,
    StepError,
)
from builders.plans.resources import kinds
from builders.plans.resources.kinds import Batch, Executor, KindDiff, ManagedKind
from builders.plans.resources.live_state import LiveState
from builders.projects import service as projects
from builders.projects.errors import ProjectLimit, SlugsTaken
from builders.projects.records import SENSITIVE_FIELDS, Project, ProjectChange, ProjectSpec

PROJECT: ManagedKind[Project] = ManagedKind(
    kind=Kind.PROJECT,
    view=lambda each: ProjectView(key=each.manifest_key or "", **each.values()),
    describe=lambda each: f"The project {each.slug}",
    sensitive=SENSITIVE_FIELDS,
    consequence="It is archived; its aliases keep working.",
    risk=Risk.MEDIUM,
    changed=StepError(code="project_changed", message="The project was changed or archived in the meantime."),
    key_in_use=StepError(code="key_in_use", message="The key now belongs to another project."),
)
SLUG_TAKEN = StepError(code="slug_taken", message="Another project of the account now has the slug.")
LIMIT = StepError(code="project_limit", message="The account has its maximum number of active projects.")


def diff(manifest: Manifest, live: LiveState) -> KindDiff:
    """Return the actions on projects. The key identifies a project; another slug is an update."""
    active = [each for each in live.projects if not each.is_archived]
    managed = {each.manifest_key: each for each in active if each.manifest == manifest.name}
    by_slug = {each.slug: each for each in active}
    planned: list[Action] = []
    kept: set[UUID] = set()
    errors = list(_list_errors(manifest.projects, {each.id for each in live.webhooks}))
    wanted = {desired.key for desired in manifest.projects}
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
            planned.append(PROJECT.change(mine, replace(desired, slug=desired.slug or mine.slug)))
        elif other is None:
            planned.append(_create(desired))
        elif mine is None and manifest.on_conflict is OnConflict.ADOPT:
            planned.append(PROJECT.change(other, desired, is_adopted=True))
        else:
            errors.append(PROJECT.conflict(desired.key, f"the slug {desired.slug}", other.manifest))
    left = [each for key, each in managed.items() if key not in wanted and each.id not in kept]
    return PROJECT.diff(manifest, planned, errors, left)


def _list_errors(projects: Sequence[ProjectView], webhook_ids: AbstractSet[UUID]) -> Iterator[Finding]:
    slugs = Counter(desired.slug for desired in projects if desired.slug)
    for desired in projects:
        address = f"project.{desired.key}"
        if desired.slug and slugs[desired.slug] > 1:
            yield Finding(code="slug_taken", address=address, message="Another project has this slug.")
        for each in desired.webhook_ids:
            if each not in webhook_ids:
                yield Finding(
                    code="webhook_unknown", address=address, message=f"The account has no webhook {each}."
                )


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


def drift(manifest: str, actions: Sequence[Action], live: LiveState) -> Iterator[Finding]:
    """Yield the changes since the plan was made."""
    active = [each for each in live.projects if not each.is_archived]
    planned = {action.resource_id for action in actions}
    slugs = {each.slug for each in active if each.id not in planned}
    return PROJECT.list_drift(
        manifest, actions, active, lambda action: SLUG_TAKEN if _slug(action) in slugs else None
    )


def _slug(action: Action) -> str | None:
    return action.after.slug if isinstance(action.after, ProjectView) else None


async def execute(conn: Conn, batch: Batch) -> None:
    """Execute a batch of one action, all tasks or none. Raise one of the refusals."""
    kind, owner = batch.tasks[0].action.action, {"account_id": batch.target.account_id}
    if kind is ActionKind.CREATE:
        specs = [
            ProjectSpec(
                id=task.step.resource_id, manifest=batch.manifest, manifest_key=after.key, **after.values()
            )
            for task in batch.tasks
            if isinstance(after := task.action.after, ProjectView) and task.step.resource_id
        ]
        await projects.create_many(conn, **owner, specs=specs)
    elif kind is ActionKind.DELETE:
        await projects.archive_many(conn, **owner, versions=kinds.list_versions(batch.tasks))
    else:
        changes = [
            ProjectChange(
                id=resource_id, version=version, manifest=batch.manifest, manifest_key=after.key, **after.values()
            )
            for resource_id, version, after in kinds.list_changed(batch.tasks, ProjectView)
        ]
        await projects.update_many(conn, **owner, changes=changes)


EXECUTOR = Executor(
    drift,
    execute,
    {
        **PROJECT.faults(),
        SlugsTaken: lambda _, task, refusal: SLUG_TAKEN if _slug(task.action) in refusal.slugs else None,
        ProjectLimit: lambda *_: LIMIT,
    },
)
