"""Plans: read the live state, resolve references, compare each kind, and bind the plan by a digest.

A manifest moves forward only. Aliases are read last, since the rules of a domain decide the key of a name.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any
from uuid import UUID

import rfc8785
from pydantic import TypeAdapter

from builders.aliases.records import RequestedName
from builders.kit.callers import Actor
from builders.kit.db import old_rows
from builders.kit.db.batches import HISTORY_RETENTION, by_account
from builders.kit.db.connections import Conn, Database
from builders.kit.events import outbox
from builders.kit.http.pagination import PageRequest
from builders.kit.limits import maximums
from builders.kit.outbound.client import Outbound
from builders.kit.pages import Page
from builders.kit.values import clock, ids
from builders.plans import store
from builders.plans.events import PLAN_CREATED, PlanData
from builders.plans.records import (
    ACTIONS,
    PLAN_LIFE,
    Action,
    ActionKind,
    DomainView,
    Finding,
    Manifest,
    Plan,
    PlanStatus,
    TargetAccount,
)
from builders.plans.resources import alias_rules, aliases, domains, live_state, projects, webhooks
from builders.plans.resources.alias_rules import ResolvedAlias
from builders.plans.resources.kinds import PROJECT_MISSING, PROJECT_PRUNED, KindDiff
from builders.plans.resources.live_state import (
    Domains,
    LiveState,
    Projects,
    find_project,
    index_domains,
    index_projects,
)
from builders.projects.errors import ProjectArchived
from builders.webhooks import destinations
from builders.webhooks.records import ValidatedUrls

MAX_PLANS = maximums.declare_kept(
    "plans", 1_000, of="account", counts="The newest plans; a plan that was promoted is kept."
)
_DELETED = 100  # plans that one plan deletes at most
RETENTION = timedelta(days=30)  # of plans that are not promoted
old_rows.declare("plans_approval_requests", key="account_id, digest", age="requested_at", after=RETENTION)
old_rows.declare("plans_approval_amounts", key="account_id, plan_id, currency", age="promoted_at", after=RETENTION)
# A decision that a promotion used stays for as long as its plan.
old_rows.declare(
    "plans_approval_decisions", key="account_id, id", age="decided_at", after=RETENTION, only="used_by IS NULL"
)
old_rows.declare(
    "plans_approval_decisions",
    key="account_id, id",
    age="decided_at",
    after=HISTORY_RETENTION,
    only="used_by IS NOT NULL",
)
PRUNE_BATCH, PROMOTIONS_OF_BATCH = 1000, 50  # a promotion has up to 2,000 steps
MANIFEST = TypeAdapter(Manifest)


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """The actions and findings of a plan; the digest covers the actions."""

    actions: tuple[Action, ...]
    errors: tuple[Finding, ...]
    warnings: tuple[Finding, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class References:
    """The diffs of projects, domains and webhooks, and the indexes that aliases refer to."""

    diffs: tuple[KindDiff, ...]
    projects: Projects
    domains: Domains  # on which names can be claimed
    domain_addresses: Mapping[str, str]  # the addresses of the manifest's domains, by A-label


async def make_plan(
    database: Database,
    *,
    outbound: Outbound,
    account_id: UUID,
    manifest: Manifest,
    actor: Actor,
    cooling_off: timedelta,
) -> Plan:
    """Store and return a reviewable plan from the live state to the manifest; the number of statements is fixed.

    A plan with errors is stored as `blocked`, with all errors. Take the database, since the URLs of webhooks are
    resolved outside a transaction. Publish plan.created. Raise ProjectArchived.
    """
    target = TargetAccount(account_id=account_id)
    urls = await destinations.validate_urls(outbound, [each.url for each in manifest.webhooks])
    async with database.transaction() as conn:
        plan = await build_plan(
            conn, target=target, manifest=manifest, actor=actor, urls=urls, cooling_off=cooling_off
        )
        await store.insert_plan(conn, plan=plan, kept=MAX_PLANS, deleted=_DELETED)
        data = PlanData(id=plan.id, manifest=plan.manifest, status=plan.status)
        await outbox.publish(conn, PLAN_CREATED, account_id=account_id, data=data)
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
    draft = await _compare(conn, target, manifest, urls, cooling_off)
    changes = any(action.action is not ActionKind.NO_OP for action in draft.actions)
    manifest_digest = digest(MANIFEST.dump_python(manifest, mode="json"))
    stored = ACTIONS.dump_python(draft.actions, mode="json")
    now = clock.now()
    return Plan(
        id=ids.new(),
        account_id=target.account_id,
        manifest=manifest.name,
        labels=manifest.labels,
        status=PlanStatus.BLOCKED if draft.errors else PlanStatus.READY if changes else PlanStatus.EMPTY,
        digest=digest_plan(target.account_id, manifest_digest, stored),
        manifest_digest=manifest_digest,
        actions=draft.actions,
        errors=draft.errors,
        warnings=draft.warnings,
        created_by=str(actor),
        created_at=now,
        expires_at=now + PLAN_LIFE,
    )


async def _compare(
    conn: Conn, target: TargetAccount, manifest: Manifest, urls: ValidatedUrls, cooling_off: timedelta
) -> Draft:
    live = await live_state.read_for_manifest(conn, target=target, manifest=manifest, urls=urls)
    references = resolve_references(manifest, live)
    referred = {manifest.project, *(alias.project for alias in manifest.aliases)}
    if any(found.is_archived for each in referred if (found := find_project(references.projects, each))):
        raise ProjectArchived("A project of the manifest is archived.")
    resolved = list(alias_rules.resolve(manifest, references.domains, references.projects))
    live = await live_state.read_aliases(
        conn,
        target=target,
        manifest=manifest.name,
        wanted=[
            RequestedName(domain=name.domain, key=name.key, skeleton=each.decision.validation.skeleton)
            for each in resolved
            if (name := each.name) is not None
        ],
        existing={each.own for each in resolved if each.own},
        destinations={name for each in resolved for name in each.forwards},
        live=live,
        cooling_off=cooling_off,
    )
    return diff(manifest, resolved, live, references)


def resolve_references(manifest: Manifest, live: LiveState) -> References:
    """Compare projects, domains and webhooks, and index the targets of references. Pure."""
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
        replace(each, domain_address=references.domain_addresses.get(each.domain), is_own=each.domain in live.own)
        for each in resolved
    ]
    kinds = (*references.diffs, aliases.diff(manifest, placed, live, references.domains))
    errors = [each for kind in kinds for each in kind.errors]
    # The manifest's own project; an alias that uses it reports its error.
    if manifest.project is not None and all(alias.project is not None for alias in manifest.aliases):
        found = find_project(references.projects, manifest.project)
        if found is None:
            errors.insert(0, Finding(code="project_not_found", address="manifest", message=PROJECT_MISSING))
        elif found.is_pruned:
            errors.insert(0, Finding(code="project_pruned", address="manifest", message=PROJECT_PRUNED))
    return Draft(
        actions=(
            *(action for kind in kinds for action in kind.actions),
            *(action for kind in reversed(kinds) for action in kind.removed),
        ),
        errors=tuple(errors),
        warnings=tuple(each for kind in kinds for each in kind.warnings),
    )


def digest_plan(account_id: UUID, manifest_digest: str, actions: Sequence[object]) -> str:
    """Return the digest of a plan: of its account, the digest of its manifest, and its actions as stored."""
    return digest({"account_id": str(account_id), "manifest": manifest_digest, "actions": list(actions)})


def digest(value: Any) -> str:  # any JSON value
    """Return the SHA-256 of the canonical JSON (RFC 8785)."""
    return "sha256:" + hashlib.sha256(rfc8785.dumps(value)).hexdigest()


async def list_plans(
    conn: Conn,
    *,
    account_id: UUID,
    page: PageRequest,
    status: PlanStatus | None = None,
    containing: str = "",
) -> Page[dict[str, Any]]:
    """Return a page of the account's plans without their actions, newest first.

    Only those whose manifest has the text in its name.
    """
    row = {"account_id": account_id, "status": status, "q": containing, "now": clock.now()}
    found = await store.list_plans(conn, **row, before=page.before_id, limit=page.limit + 1)
    return page.cut(found, lambda plan: [str(plan["id"])])


async def get_plan(conn: Conn, *, account_id: UUID, plan_id: UUID) -> Plan:
    """Return a plan of the account. Raise PlanNotFound."""
    plan, _ = await store.get_plan(conn, account_id=account_id, plan_id=plan_id)
    return plan


async def prune_plans(conn: Conn) -> int:
    """Delete up to PRUNE_BATCH plans that were not promoted within RETENTION; return their number."""
    before, pruned = clock.now() - RETENTION, 0
    for account_id, plan_ids in by_account(await store.list_unused(conn, before=before, limit=PRUNE_BATCH)):
        pruned += await store.prune_plans(conn, account_id=account_id, plan_ids=plan_ids, before=before)
    return pruned


async def prune_promotions(conn: Conn) -> int:
    """Delete PROMOTIONS_OF_BATCH promotions before HISTORY_RETENTION and their plans; return their number."""
    before, pruned = clock.now() - HISTORY_RETENTION, 0
    for account_id, ended in by_account(await store.list_ended(conn, before=before, limit=PROMOTIONS_OF_BATCH)):
        pruned += await store.prune_promotions(conn, account_id=account_id, promotion_ids=ended)
    return pruned
