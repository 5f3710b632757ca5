"""Making a plan on a ground: what is read, what is drafted, and how it is bound."""

from dataclasses import replace
from datetime import timedelta

from builders.kit.db.connections import Conn
from builders.kit.http.callers import Actor
from builders.kit.values import clock, ids
from builders.projects import service as projects
from builders.sandbox import plan as plans, state
from builders.sandbox.kinds import alias_judging as judging
from builders.sandbox.kinds.alias_judging import Directory
from builders.sandbox.kinds.homes import Homes
from builders.sandbox.records import PLAN_LIFE, ActionKind, Draft, Ground, Plan, PlanStatus
from builders.sandbox.wishes import Manifest
from builders.webhooks.service import ValidatedUrls


async def draft(
    conn: Conn,
    *,
    ground: Ground,
    manifest: Manifest,
    actor: Actor,
    urls: ValidatedUrls,
    cooling_off: timedelta,
) -> Plan:
    """A plan from the state of the ground to the manifest; nothing is written. Raises ProjectArchived."""
    manifest = replace(
        manifest,
        webhooks=tuple(replace(each, url=urls.kept.get(each.url, each.url)) for each in manifest.webhooks),
    )
    live = await state.of_manifest(conn, ground=ground, manifest=manifest, urls=urls)
    foundation = plans.found(manifest, live)
    _check_archived(manifest, foundation.homes)
    known = Directory(domains=foundation.sites)
    wishes = judging.judge(manifest, known, foundation.homes)
    live = await state.with_aliases(
        conn, ground=ground, manifest=manifest, wishes=wishes, known=known, live=live, cooling_off=cooling_off
    )
    return _plan(ground, manifest, plans.draft(manifest, wishes, live, foundation), actor)


def _plan(ground: Ground, manifest: Manifest, drafted: Draft, actor: Actor) -> Plan:
    changes = any(action.action is not ActionKind.NO_OP for action in drafted.actions)
    now = clock.now()
    return Plan(
        id=ids.new(),
        account_id=ground.account_id,
        manifest=manifest.name,
        labels=manifest.labels,
        status=PlanStatus.BLOCKED if drafted.errors else PlanStatus.READY if changes else PlanStatus.EMPTY,
        digest=plans.digest(ground.account_id, manifest, drafted.actions),
        manifest_digest=plans.digest_manifest(manifest),
        actions=drafted.actions,
        errors=drafted.errors,
        warnings=drafted.warnings,
        created_by=str(actor),
        created_at=now,
        expires_at=now + PLAN_LIFE,
    )


def _check_archived(manifest: Manifest, known: Homes) -> None:
    """Whether a project that is meant is archived."""
    references = {manifest.project, *(wish.project for wish in manifest.aliases)}
    archived = [each for each in references if (home := known.find(each)) is not None and home.is_archived]
    if archived:
        raise projects.ProjectArchived(
            "A project of the manifest is archived.",
            next_action="Restore it, or name another: PATCH /v1/builders/projects/{project_id} archived false",
        )
