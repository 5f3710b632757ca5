"""Planning: read the live state, compare each kind, resolve references, and bind the plan by a digest.

A manifest moves forward only. Aliases are read last, since the rules of a domain decide the key of a name.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from uuid import UUID

from builders.kit.db.connections import Conn, Database
from builders.kit.events import outbox
from builders.kit.http.callers import Actor
from builders.kit.http.pagination import Page, PageRequest
from builders.kit.outbound.client import Outbound
from builders.kit.values import clock, ids
from builders.projects.service import ProjectArchived
from builders.sandbox.errors import PlanNotFound
from builders.sandbox.events import PLAN_CREATED, PlanData
from builders.sandbox.manifest import DomainView, Manifest
from builders.sandbox.planning import digest, live_state
from builders.sandbox.planning.live_state import LiveState
from builders.sandbox.planning.references import DomainIndex, ProjectIndex, index_domains, index_projects
from builders.sandbox.records import (
    PLAN_LIFE,
    ActionKind,
    Draft,
    Finding,
    Plan,
    PlanOverview,
    PlanStatus,
    TargetAccount,
)
from builders.sandbox.resources import domains, projects, webhooks
from builders.sandbox.resources.aliases import diff as aliases, names
from builders.sandbox.resources.aliases.names import ResolvedAlias
from builders.sandbox.resources.kinds import PROJECT_PRUNED, KindDiff
from builders.sandbox.store import plans as store
from builders.webhooks import service as webhook_service
from builders.webhooks.service import ValidatedUrls

PLAN_RETENTION = timedelta(days=30)


@dataclass(frozen=True, slots=True, kw_only=True)
class References:
    """The diffs of projects, domains and webhooks, and what aliases refer to."""

    diffs: tuple[KindDiff, ...]
    projects: ProjectIndex
    domains: DomainIndex  # on which names can be claimed
    domain_addresses: Mapping[str, str]  # the addresses of the manifest's domains, by A-label


async def make_plan(
    database: Database,
    *,
    outbound: Outbound,
    target: TargetAccount,
    manifest: Manifest,
    actor: Actor,
    cooling_off: timedelta,
) -> Plan:
    """Store and return a reviewable plan from the live state to the manifest; the number of statements is fixed.

    A plan with errors is stored as `blocked`, with all errors. Take the database, since the URLs of webhooks are
    resolved outside a transaction. Publish plan.created. Raise ProjectArchived.
    """
    urls = await webhook_service.validate_urls(outbound, [each.url for each in manifest.webhooks])
    async with database.transaction() as conn:
        plan = await build_plan(
            conn, target=target, manifest=manifest, actor=actor, urls=urls, cooling_off=cooling_off
        )
        await store.insert_plan(conn, plan=plan)
        data = PlanData(id=plan.id, manifest=plan.manifest, status=plan.status)
        await outbox.publish(conn, PLAN_CREATED, account_id=target.account_id, data=data)
    return plan


async def build_plan(
    conn: Conn,
    *,
    target: TargetAccount,
    manifest: Manifest,
    actor: Actor,
    urls: ValidatedUrls,
    cooling_off: timedelta,
) -> Plan:
    """Return the plan from the target's live state to the manifest without storing it. Raise ProjectArchived."""
    webhooks_kept = (replace(each, url=urls.kept.get(each.url, each.url)) for each in manifest.webhooks)
    manifest = replace(manifest, webhooks=tuple(webhooks_kept))
    live = await live_state.read_for_manifest(conn, target=target, manifest=manifest, urls=urls)
    references = resolve_references(manifest, live)
    _check_archived(manifest, references.projects)
    resolved = names.resolve(manifest, references.domains, references.projects)
    live = await live_state.read_aliases(
        conn,
        target=target,
        manifest=manifest.name,
        names=names.collect(resolved),
        live=live,
        cooling_off=cooling_off,
    )
    return _bind(target, manifest, diff(manifest, resolved, live, references), actor)


def resolve_references(manifest: Manifest, live: LiveState) -> References:
    """Compare projects, domains and webhooks, and index what aliases refer to. Pure."""
    project_diff, domain_diff = projects.diff(manifest, live), domains.diff(manifest, live)
    settings = {each.address: each.after for each in domain_diff.actions if isinstance(each.after, DomainView)}
    return References(
        diffs=(project_diff, domain_diff, webhooks.diff(manifest, live)),
        projects=index_projects(project_diff.actions, project_diff.removed, live.projects),
        domains=index_domains(live.domains, live.own, domain_diff.actions),
        domain_addresses={view.domain: address for address, view in settings.items()},
    )


def diff(manifest: Manifest, resolved: Sequence[ResolvedAlias], live: LiveState, references: References) -> Draft:
    """Return the actions that lead from the live state to the desired one, with all errors. Pure.

    An action follows the actions that it requires. Removals come last, in the opposite sequence of kinds.
    """
    placed = [
        replace(
            each,
            domain_address=references.domain_addresses.get(each.domain),
            is_own=each.domain in live.own,
        )
        for each in resolved
    ]
    kinds = (*references.diffs, aliases.diff(manifest, placed, live, references.domains))
    return Draft(
        actions=(
            *(action for kind in kinds for action in kind.actions),
            *(action for kind in reversed(kinds) for action in kind.removed),
        ),
        errors=(
            *_check_project(manifest, references.projects),
            *(each for kind in kinds for each in kind.errors),
        ),
        warnings=tuple(each for kind in kinds for each in kind.warnings),
    )


def _bind(target: TargetAccount, manifest: Manifest, draft: Draft, actor: Actor) -> Plan:
    changes = any(action.action is not ActionKind.NO_OP for action in draft.actions)
    now = clock.now()
    return Plan(
        id=ids.new(),
        account_id=target.account_id,
        manifest=manifest.name,
        labels=manifest.labels,
        status=PlanStatus.BLOCKED if draft.errors else PlanStatus.READY if changes else PlanStatus.EMPTY,
        digest=digest.digest(target.account_id, manifest, draft.actions),
        manifest_digest=digest.digest_manifest(manifest),
        actions=draft.actions,
        errors=draft.errors,
        warnings=draft.warnings,
        created_by=str(actor),
        created_at=now,
        expires_at=now + PLAN_LIFE,
    )


def _check_archived(manifest: Manifest, index: ProjectIndex) -> None:
    referred = {manifest.project, *(alias.project for alias in manifest.aliases)}
    if any(found.is_archived for each in referred if (found := index.find(each)) is not None):
        raise ProjectArchived(
            "A project of the manifest is archived.",
            next_action="Restore it, or name another: PATCH /v1/builders/projects/{project_id} archived false",
        )


def _check_project(manifest: Manifest, index: ProjectIndex) -> Iterable[Finding]:
    """Yield an error for the manifest's own project, unless an alias uses it and reports the error."""
    if manifest.project is None or any(alias.project is None for alias in manifest.aliases):
        return
    found = index.find(manifest.project)
    if found is None:
        message = "No project has this key, slug or id."
        yield Finding(code="project_not_found", address="manifest", message=message)
    elif found.is_pruned:
        yield Finding(code="project_pruned", address="manifest", message=PROJECT_PRUNED)


async def list_plans(
    conn: Conn, *, account_id: UUID, page: PageRequest, status: PlanStatus | None = None
) -> Page[PlanOverview]:
    """Return a page of the account's plans without their actions, newest first."""
    found = await store.list_plans(
        conn, account_id=account_id, status=status, before=page.before_id, limit=page.limit + 1, now=clock.now()
    )
    return page.cut(found, lambda plan: [str(plan.id)])


async def get_plan(conn: Conn, *, account_id: UUID, plan_id: UUID) -> Plan:
    """Return a plan of the account. Raise PlanNotFound."""
    plan = await store.find_plan(conn, account_id=account_id, plan_id=plan_id)
    if plan is None:
        raise PlanNotFound
    return plan


async def prune_plans(conn: Conn) -> int:
    """Delete plans that are older than 30 days and were never promoted; return their number."""
    return await store.prune_plans(conn, before=clock.now() - PLAN_RETENTION)
