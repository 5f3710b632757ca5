"""Read the live state that a manifest or a plan concerns, in a fixed number of statements and without rules."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from uuid import UUID

from builders.aliases import account_aliases, billing, claims, forwarding
from builders.aliases.billing import Reclaim, ReleaseTerms
from builders.aliases.records import Alias, Availability, Name, RequestedName
from builders.catalog import availability as catalog_availability
from builders.catalog.records import CatalogDomain
from builders.domains import account_domains
from builders.domains.records import AccountDomain, AccountDomainStatus
from builders.invoices import invoices
from builders.kit.db.connections import Conn
from builders.kit.values import domain_names, ids
from builders.projects import service as projects
from builders.projects.records import Project
from builders.sandbox.manifest import AliasView, DomainView, Manifest, ProjectView
from builders.sandbox.records import Action, Kind, TargetAccount
from builders.sandbox.resources.references import index_domains
from builders.webhooks import destinations as receivers
from builders.webhooks.records import ManagedDestination, ValidatedUrls


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveState:
    """The part of an account's live state that a manifest or a plan concerns."""

    aliases: Sequence[Alias]
    availability: Mapping[Name, Availability]  # of desired names that cannot be claimed
    domains: Mapping[str, CatalogDomain]  # on which names are claimed
    # The aliases that mail to the desired destinations reaches, over any number of hops.
    forwarded: Sequence[Alias] = ()
    projects: Sequence[Project] = ()  # active and archived
    sizes: Mapping[UUID, int] = field(default_factory=dict)  # number of aliases by project
    own: Mapping[str, AccountDomain] = field(default_factory=dict)  # the account's own live domains, by A-label
    webhooks: Sequence[ManagedDestination] = ()  # all of the account
    overdue: str | None = None  # the number of an invoice past its grace period
    reclaims: Mapping[Name, Reclaim] = field(default_factory=dict)  # paid periods of desired names
    releases: Mapping[UUID, ReleaseTerms] = field(default_factory=dict)  # of aliases that the plan can release
    refused_urls: Mapping[str, str] = field(default_factory=dict)  # with the reasons


@dataclass(frozen=True, slots=True, kw_only=True)
class DesiredNames:
    """The names of a manifest's aliases, by the rules of their domains."""

    wanted: Sequence[RequestedName]
    own: frozenset[Name]  # names of aliases that the account may already have
    destinations: frozenset[Name]


async def read_for_manifest(
    conn: Conn, *, target: TargetAccount, manifest: Manifest, urls: ValidatedUrls
) -> LiveState:
    """Read everything but the aliases, in at most seven statements."""
    owner = {"account_id": target.account_id}
    wanted = {alias.project for alias in manifest.aliases if alias.project} | {manifest.project or ""}
    slugs = wanted | {project.slug for project in manifest.projects if project.slug}
    named = {found for each in wanted if (found := ids.find(each))}
    existing = await projects.list_projects(conn, **owner, manifest=manifest.name, project_ids=named, slugs=slugs)
    mailboxes = {each.default_destination for each in (*manifest.projects, *existing)}
    labels = _list_labels(manifest, [each for each in mailboxes if each])
    return LiveState(
        aliases=(),
        availability={},
        domains=await catalog_availability.find_domains(conn, domains=labels),
        projects=existing,
        sizes=await _count_aliases(conn, target, existing),
        own=await _find_own_domains(conn, target, labels, manifest=manifest.name),
        webhooks=await receivers.list_managed(conn, **owner),
        refused_urls=urls.refused,
    )


async def read_aliases(
    conn: Conn,
    *,
    target: TargetAccount,
    manifest: str,
    names: DesiredNames,
    live: LiveState,
    cooling_off: timedelta,
) -> LiveState:
    """Add the account's aliases and the availability of the desired names, in at most eight statements."""
    account_id, wanted = target.account_id, names.wanted
    existing = await account_aliases.list_aliases(
        conn, account_id=account_id, manifest=manifest, names=sorted(names.own)
    )
    leaving = [each for each in existing if each.manifest == manifest and each.name not in names.own]
    return replace(
        live,
        aliases=existing,
        availability=await claims.check_availability(
            conn, account_id=account_id, realm=target.realm, wanted=wanted
        ),
        forwarded=await list_forwarded(conn, target=target, names=names.destinations),
        overdue=await invoices.find_arrears(conn, account_id=account_id) if wanted else None,
        reclaims=await billing.list_reclaims(
            conn, account_id=account_id, names={each.name for each in names.wanted}
        ),
        releases=await billing.list_release_terms(
            conn, account_id=account_id, aliases=leaving, cooling_off=cooling_off
        ),
    )


async def read_for_actions(
    conn: Conn,
    *,
    target: TargetAccount,
    manifest: str,
    actions: Sequence[Action],
    urls: ValidatedUrls,
    unavailable: Mapping[Name, Availability],
) -> LiveState:
    """Read the state that planned actions depend on, in at most ten statements.

    `unavailable` are the names of the actions that could not be reserved. The domains are those after the actions.
    """
    account_id, kinds = target.account_id, {each.kind for each in actions}
    names = {action.place.name for action in actions if action.place is not None}
    views = [each.after for each in actions if isinstance(each.after, AliasView)]
    labels = {name.domain for name in names}
    labels |= {email.rpartition("@")[2] for view in views for email in view.destinations}
    settings = {each.after.domain for each in actions if isinstance(each.after, DomainView)}
    own = await _find_own_domains(
        conn, target, labels | settings, manifest=manifest if Kind.DOMAIN in kinds else None
    )
    domains = index_domains(await catalog_availability.find_domains(conn, domains=labels), own, actions)
    destinations = frozenset(name for view in views for name in domains.names(view.destinations))
    existing = await _list_projects(conn, target, manifest, actions)
    return LiveState(
        aliases=await account_aliases.list_aliases(
            conn,
            account_id=account_id,
            manifest=manifest,
            names=sorted(names),
            alias_ids=[each.resource_id for each in actions if each.kind is Kind.ALIAS and each.resource_id],
        ),
        availability=unavailable,
        domains=domains.domains,
        projects=existing,
        sizes=await _count_aliases(conn, target, existing),
        own=own,
        webhooks=await receivers.list_managed(conn, account_id=account_id) if Kind.WEBHOOK in kinds else (),
        forwarded=await list_forwarded(conn, target=target, names=destinations),
        overdue=await invoices.find_arrears(conn, account_id=account_id) if names else None,
        reclaims=await billing.list_reclaims(conn, account_id=account_id, names=names),
        refused_urls=urls.refused,
    )


def list_project_ids(actions: Sequence[Action]) -> set[UUID]:
    """Return the existing projects that aliases of the actions belong to."""
    views = (action.after for action in actions)
    return {view.project_id for view in views if isinstance(view, AliasView) and view.project_id}


async def list_forwarded(conn: Conn, *, target: TargetAccount, names: frozenset[Name]) -> Sequence[Alias]:
    """Return the aliases that mail to these names reaches, over any number of hops."""
    if not names:
        return ()
    return await forwarding.list_forwarded(
        conn, realm=target.realm, account_id=target.account_id, names=sorted(names)
    )


def _list_labels(manifest: Manifest, defaults: Sequence[str]) -> set[str]:
    """Return the A-labels of all domains in the manifest; `defaults` are the destinations of its projects."""
    written = [alias.domain for alias in manifest.aliases] + [domain.domain for domain in manifest.domains]
    found = {label for each in written if (label := domain_names.find_a_label(each))}
    mailboxes = [*defaults, *(email for alias in manifest.aliases for email in alias.destinations)]
    return found | {email.rpartition("@")[2] for email in mailboxes}


async def _list_projects(
    conn: Conn, target: TargetAccount, manifest: str, actions: Sequence[Action]
) -> Sequence[Project]:
    planned = [action for action in actions if action.kind is Kind.PROJECT]
    referred = list_project_ids(actions)
    if not planned and not referred:
        return ()
    return await projects.list_projects(
        conn,
        account_id=target.account_id,
        manifest=manifest,
        project_ids=referred | {each.resource_id for each in planned if each.resource_id},
        slugs={each.after.slug for each in planned if isinstance(each.after, ProjectView) and each.after.slug},
    )


async def _find_own_domains(
    conn: Conn, target: TargetAccount, labels: set[str], *, manifest: str | None
) -> dict[str, AccountDomain]:
    """Return the account's own live domains of the labels, and those that a manifest manages."""
    found = await account_domains.find_domains(conn, account_id=target.account_id, domains=labels)
    if manifest is None:
        return found
    managed = await account_domains.list_managed(conn, account_id=target.account_id, manifest=manifest)
    return {**{each.domain: each for each in managed if each.status is AccountDomainStatus.LIVE}, **found}


async def _count_aliases(conn: Conn, target: TargetAccount, found: Sequence[Project]) -> Mapping[UUID, int]:
    if not found:
        return {}
    return await account_aliases.count_by_project(
        conn, account_id=target.account_id, project_ids=[each.id for each in found]
    )
