"""Planning: read, resolve references, compare each kind, bind by a digest. Each stage follows the one before.

Aliases are read after the other kinds: the rules of a domain decide by which key a name is unique.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from builders.kit.db.connections import Conn
from builders.kit.http.callers import Actor
from builders.kit.values import clock, ids
from builders.projects.service import ProjectArchived
from builders.sandbox.manifest import Manifest
from builders.sandbox.planning import diffs, digest, live_state
from builders.sandbox.planning.diffs import KindDiff
from builders.sandbox.planning.live_state import LiveState
from builders.sandbox.planning.references import DomainIndex, ProjectIndex, index_domains, index_projects
from builders.sandbox.records import PLAN_LIFE, ActionKind, Draft, Finding, Plan, PlanStatus, TargetAccount
from builders.sandbox.resources import domains, projects, webhooks
from builders.sandbox.resources.aliases import diff as aliases, names
from builders.sandbox.resources.aliases.names import ResolvedAlias
from builders.sandbox.views import DomainView
from builders.webhooks.service import ValidatedUrls


@dataclass(frozen=True, slots=True, kw_only=True)
class References:
    """The diffs of projects, domains and webhooks, and what aliases refer to."""

    diffs: tuple[KindDiff, ...]
    projects: ProjectIndex
    domains: DomainIndex  # on which names can be claimed
    domain_addresses: Mapping[str, str]  # the addresses of the manifest's domains, by A-label


async def make_plan(
    conn: Conn,
    *,
    target: TargetAccount,
    manifest: Manifest,
    actor: Actor,
    urls: ValidatedUrls,
    cooling_off: timedelta,
) -> Plan:
    """Return the plan from the target's live state to the manifest; write nothing. Raise ProjectArchived."""
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
    """Compare all kinds but aliases, and index what aliases refer to. Pure."""
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

    An action follows the actions that it requires; removals come last, in the opposite sequence.
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
    """Yield what is wrong with the manifest's own project; if an alias uses it, the alias reports it."""
    if manifest.project is None or any(alias.project is None for alias in manifest.aliases):
        return
    found = index.find(manifest.project)
    if found is None:
        message = "There is no such project, by key, slug or id."
        yield Finding(code="project_not_found", address="manifest", message=message)
    elif found.is_pruned:
        yield Finding(code="project_pruned", address="manifest", message=diffs.PROJECT_PRUNED)
