"""Planning projects. Pure."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID

from builders.projects.records import SENSITIVE_FIELDS, Project
from builders.sandbox.kinds import findings
from builders.sandbox.kinds.drafted import Drafted
from builders.sandbox.kinds.live import Live
from builders.sandbox.records import Action, ActionKind, Finding, Kind, Risk
from builders.sandbox.views import ProjectView, changes
from builders.sandbox.wishes import Manifest, OnConflict


def draft(manifest: Manifest, live: Live) -> Drafted:
    """The actions on projects; a project is known by its key, another slug is a change of it."""
    active = [each for each in live.projects if not each.is_archived]
    managed = {each.manifest_key: each for each in active if each.manifest == manifest.name}
    by_slug = {each.slug: each for each in active}
    planned: list[Action] = []
    kept: set[UUID] = set()
    errors: list[Finding] = list(_repeated_slugs(manifest.projects))
    wanted = {wish.key for wish in manifest.projects}
    errors += _webhooks(manifest.projects, {each.id for each in live.webhooks})
    moving = {managed[wish.key].id for wish in manifest.projects if wish.key in managed and wish.slug}
    for wish in manifest.projects:
        mine, other = managed.get(wish.key), by_slug.get(wish.slug or "")
        if other is not None and (other is mine or other.id in moving):
            other = None  # its own slug, or one that is given up by this plan
        if (
            mine is None
            and other is not None
            and other.manifest == manifest.name
            and other.manifest_key not in wanted
        ):
            mine, other = other, None  # under another key
        if mine is not None and other is None:
            kept.add(mine.id)
            planned.append(_keep(wish, mine))
        elif other is None:
            planned.append(_create(wish))
        elif mine is None and manifest.on_conflict is OnConflict.ADOPT:
            planned.append(_adopt(wish, other))
        else:
            errors.append(findings.exists(Kind.PROJECT, wish.key, f"the slug {wish.slug}", other.manifest))
    left = [each for key, each in managed.items() if key not in wanted and each.id not in kept]
    return Drafted.of(manifest, planned, errors, left, delete=_delete, left_alone=_left_alone)


def _repeated_slugs(wishes: Sequence[ProjectView]) -> list[Finding]:
    times = Counter(wish.slug for wish in wishes if wish.slug)
    return [
        Finding(code="slug_taken", address=f"project.{wish.key}", message="Another project here has this slug.")
        for wish in wishes
        if wish.slug and times[wish.slug] > 1
    ]


def _webhooks(wishes: Sequence[ProjectView], known: set[UUID]) -> list[Finding]:
    return [
        Finding(
            code="webhook_unknown", address=f"project.{wish.key}", message=f"No webhook of the account: {each}."
        )
        for wish in wishes
        for each in wish.webhook_ids
        if each not in known
    ]


def view(project: Project) -> ProjectView:
    """A project as it is now."""
    return ProjectView(key=project.manifest_key or "", **project.values())


def _create(wish: ProjectView) -> Action:
    return Action(
        address=f"project.{wish.key}",
        kind=Kind.PROJECT,
        action=ActionKind.CREATE,
        before=None,
        after=wish,
        changed_fields=(),
        reason="The project is wanted, and is not there.",
        risk=Risk.LOW,
        price=None,
        resource_id=None,
        version=None,
        after_unknown=("id",) if wish.slug else ("id", "slug"),
    )


def _keep(wish: ProjectView, mine: Project) -> Action:
    before, after = view(mine), replace(wish, slug=wish.slug or mine.slug)
    changed = changes(before, after)
    return _change(mine, ActionKind.UPDATE if changed else ActionKind.NO_OP, before, after, changed)


def _adopt(wish: ProjectView, other: Project) -> Action:
    before, after = view(other), replace(wish, slug=wish.slug or other.slug)
    return _change(other, ActionKind.ADOPT, before, after, ("manifest", *changes(before, after)))


def _change(
    project: Project, kind: ActionKind, before: ProjectView, after: ProjectView, changed: tuple[str, ...]
) -> Action:
    return Action(
        address=f"project.{after.key}",
        kind=Kind.PROJECT,
        action=kind,
        before=before,
        after=after,
        changed_fields=changed,
        reason=findings.ADOPTED if kind is ActionKind.ADOPT else findings.as_wanted(changed),
        risk=Risk.MEDIUM if SENSITIVE_FIELDS & set(changed) else Risk.LOW,
        price=None,
        resource_id=project.id,
        version=project.version,
    )


def _left_alone(project: Project) -> Finding:
    return findings.left_alone(Kind.PROJECT, project.manifest_key, f"The project {project.slug}")


def _delete(project: Project) -> Action:
    return Action(
        address=f"project.{project.manifest_key}",
        kind=Kind.PROJECT,
        action=ActionKind.DELETE,
        before=view(project),
        after=None,
        changed_fields=(),
        reason=f"{findings.PRUNED} It is archived; its aliases go on working.",
        risk=Risk.MEDIUM,
        price=None,
        resource_id=project.id,
        version=project.version,
    )
