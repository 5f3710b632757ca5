"""Promoting projects."""

from collections.abc import Iterator, Sequence

from builders.kit.db.connections import Conn
from builders.projects import service as projects
from builders.projects.records import ProjectChange, ProjectSpec
from builders.sandbox.error_codes import StepError
from builders.sandbox.kinds.live import Live
from builders.sandbox.kinds.work import Doer, Task, Work
from builders.sandbox.records import Action, ActionKind, Finding
from builders.sandbox.views import ProjectView

CHANGED = "The project was changed or archived in the meantime."
KEY_IN_USE = "The key stands for another project by now."
SLUG_TAKEN = "Another project of the account has the slug by now."
LIMIT = "The account has as many active projects as it may."


def drift(manifest: str, actions: Sequence[Action], live: Live) -> Iterator[Finding]:
    """Where the live state is no longer what was planned on."""
    active = {each.id: each for each in live.projects if not each.is_archived}
    planned = {action.resource_id for action in actions}
    others = [each for each in active.values() if each.id not in planned]
    keys = {each.manifest_key for each in others if each.manifest == manifest}
    slugs = {each.slug for each in others}
    for action in actions:
        there = None if action.resource_id is None else active.get(action.resource_id)
        if action.resource_id is not None and (there is None or there.version != action.version):
            yield Finding(code="project_changed", address=action.address, message=CHANGED)
        elif isinstance(action.after, ProjectView) and action.after.key in keys:
            yield Finding(code="key_in_use", address=action.address, message=KEY_IN_USE)
        elif isinstance(action.after, ProjectView) and action.after.slug in slugs:
            yield Finding(code="slug_taken", address=action.address, message=SLUG_TAKEN)


async def execute(conn: Conn, work: Work) -> None:
    """Does a batch of actions of one sort, all or none. Raises one of the refusals."""
    kind, owner = work.tasks[0].action.action, {"account_id": work.ground.account_id}
    if kind is ActionKind.CREATE:
        await projects.create_many(
            conn, **owner, specs=[each for task in work.tasks for each in _specs(task, work)]
        )
    elif kind is ActionKind.DELETE:
        versions = {task.action.resource_id: task.action.version for task in work.tasks}
        gone = {each: version for each, version in versions.items() if each and version}
        await projects.archive_many(conn, **owner, versions=gone)
    else:
        changes = [each for task in work.tasks for each in _changes(task, work)]
        await projects.update_many(conn, **owner, changes=changes)


def fault(manifest: str, task: Task, refusal: Exception) -> StepError | None:
    """What a refusal of the batch says of this task."""
    after = task.action.after
    match refusal:
        case projects.SlugsTaken():
            if isinstance(after, ProjectView) and after.slug in refusal.slugs:
                return StepError(code="slug_taken", message=SLUG_TAKEN)
        case projects.ProjectKeysTaken():
            if after is not None and (manifest, after.key) in refusal.keys:
                return StepError(code="key_in_use", message=KEY_IN_USE)
        case projects.ProjectsChanged():
            if task.action.resource_id in refusal.changed:
                return StepError(code="project_changed", message=CHANGED)
        case projects.ProjectLimit():
            return StepError(code="project_limit", message=LIMIT)
    return None


def _specs(task: Task, work: Work) -> Iterator[ProjectSpec]:
    after = task.action.after
    if isinstance(after, ProjectView) and task.resource_id:
        yield ProjectSpec(id=task.resource_id, manifest=work.manifest, manifest_key=after.key, **after.values())


def _changes(task: Task, work: Work) -> Iterator[ProjectChange]:
    action, after = task.action, task.action.after
    if isinstance(after, ProjectView) and action.resource_id and action.version and after.slug:
        yield ProjectChange(
            id=action.resource_id,
            version=action.version,
            manifest=work.manifest,
            manifest_key=after.key,
            **after.values(),
        )


DOER = Doer(
    drift=drift,
    execute=execute,
    fault=fault,
    refusals=(projects.SlugsTaken, projects.ProjectKeysTaken, projects.ProjectsChanged, projects.ProjectLimit),
)
