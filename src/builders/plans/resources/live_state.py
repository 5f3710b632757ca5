"""The live state that a manifest or a plan concerns, read in a fixed number of statements and without rules.

References of a manifest are resolved here: projects by key, slug or id, and domains by A-label.
"""

from collections.abc import Iterator, Mapping, Sequence, Set as AbstractSet
from dataclasses import dataclass, field, replace
from datetime import timedelta
from uuid import UUID

from builders.aliases import billing, claims, loops
from builders.aliases.billing import Reclaim, ReleaseTerms
from builders.aliases.records import Alias, Availability, Name, PriceInterval, RequestedName
from builders.aliases.rules import validate_local_part
from builders.catalog import availability as catalog_availability
from builders.catalog.records import Assets, CatalogDomain, DomainStatus, MailMode, Price, PriceTier
from builders.domains import account_domains
from builders.domains.records import AccountDomain
from builders.invoices import invoices
from builders.kit.db.connections import Conn
from builders.kit.values import domain_names, ids
from builders.kit.values.domain_names import unicode_of
from builders.kit.values.money import Money
from builders.plans.records import (
    Action,
    ActionKind,
    AliasView,
    DomainView,
    Kind,
    Manifest,
    ProjectView,
    TargetAccount,
)
from builders.projects import service as projects
from builders.projects.records import Project, ProjectFields
from builders.webhooks import destinations as webhook_destinations
from builders.webhooks.records import ManagedDestination, ValidatedUrls

FREE = Price(money=Money.zero("USD"), interval=PriceInterval.ONCE, tier=PriceTier.STANDARD)
Domains = Mapping[str, CatalogDomain]  # by A-label


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetProject:
    """The state of a project after the plan, for its aliases."""

    project_id: UUID | None  # None: the plan creates it
    address: str | None  # of its action, if the plan creates or changes it
    project: ProjectFields
    is_archived: bool = False
    is_pruned: bool = False  # the plan archives it


Projects = Mapping[str, TargetProject]  # all that a manifest can refer to, by key, slug and id


def index_projects(planned: Sequence[Action], removed: Sequence[Action], projects: Sequence[Project]) -> Projects:
    """Index the existing projects as the planned actions leave them, and the projects that the plan creates.

    A key of the manifest takes precedence over a slug, and a slug over an id.
    """
    pruned = {action.resource_id for action in removed}
    by_key = {
        action.after.key: TargetProject(
            project_id=action.resource_id,
            address=None if action.action is ActionKind.NO_OP else action.address,
            project=action.after,
        )
        for action in planned
        if isinstance(action.after, ProjectView)
    }
    changed = {each.project_id: each for each in by_key.values() if each.project_id}
    by_id = {
        each.id: changed.get(each.id) or index_project(each, is_pruned=each.id in pruned) for each in projects
    }
    # Archived projects can share the slug of the active one, which replaces them here.
    by_slug = {each.slug: by_id[each.id] for each in sorted(projects, key=lambda each: not each.is_archived)}
    by_slug |= {each.project.slug: each for each in by_key.values() if each.project.slug}
    return {**{str(project_id): each for project_id, each in by_id.items()}, **by_slug, **by_key}


def find_project(projects: Projects, reference: str | None) -> TargetProject | None:
    """Return the project of a key, slug or id."""
    return None if reference is None else projects.get(reference) or projects.get(str(ids.parse(reference)))


def index_project(project: Project, *, is_pruned: bool = False) -> TargetProject:
    """Return a project that the plan does not change, but may archive."""
    return TargetProject(
        project_id=project.id, address=None, project=project, is_archived=project.is_archived, is_pruned=is_pruned
    )


def list_names(destinations: Sequence[str], domains: Domains) -> Iterator[Name]:
    """Yield the destinations that are names on these domains; name+tag is delivered to name."""
    for destination in destinations:
        local_part, _, label = destination.rpartition("@")
        if domain := domains.get(label):
            written = local_part.partition("+")[0]
            key = validate_local_part(written, domain=domain.domain, rules=domain.rules).key
            if key:
                yield Name(domain.domain, key)


def index_domains(
    listed: Domains, own: Mapping[str, AccountDomain], actions: Sequence[Action] = ()
) -> dict[str, CatalogDomain]:
    """Return the domains on which names can be claimed, as the actions leave them; the account's own come first.

    `listed` are domains of the catalog. Names on the account's own domains cost nothing.
    """
    views = [each.after for each in actions if isinstance(each.after, DomainView)]
    catch_all = {view.domain: view.catch_all for view in views}
    claimable = {
        label: _as_catalog_domain(each, catch_all.get(label, each.catch_all)) for label, each in own.items()
    }
    return {**listed, **claimable}


def _as_catalog_domain(domain: AccountDomain, catch_all: bool) -> CatalogDomain:
    """Return an account domain as a catalog domain, so that one rule decides about names on both."""
    return CatalogDomain(
        id=domain.id,
        domain=domain.domain,
        unicode_domain=unicode_of(domain.domain),
        title="",
        tagline="",
        description="",
        categories=(),
        tags=(),
        status=DomainStatus.LIVE,
        mail_mode=MailMode.BOTH,
        catch_all=catch_all,
        price=FREE,
        short_name_prices=(),
        rules=domain.rules,
        featured=False,
        rank=0,
        assets=Assets(),
        serial=0,
        created_at=domain.added_at,
        updated_at=domain.updated_at,
    )


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


async def read_for_manifest(
    conn: Conn, *, target: TargetAccount, manifest: Manifest, urls: ValidatedUrls
) -> LiveState:
    """Read everything but the aliases, in at most six statements."""
    account_id = target.account_id
    wanted = {alias.project for alias in manifest.aliases if alias.project} | {manifest.project or ""}
    existing = await projects.list_projects(
        conn,
        account_id=account_id,
        manifest=manifest.name,
        project_ids={found for each in wanted if (found := ids.find(each))},
        slugs=wanted | {project.slug for project in manifest.projects if project.slug},
    )
    mailboxes = [each.default_destination for each in (*manifest.projects, *existing)]
    mailboxes += [email for alias in manifest.aliases for email in alias.destinations]
    labels = {email.rpartition("@")[2] for email in mailboxes if email}
    written = {*(alias.domain for alias in manifest.aliases), *(each.domain for each in manifest.domains)}
    labels |= {label for each in written if (label := domain_names.find_a_label(each))}
    return LiveState(
        aliases=(),
        availability={},
        domains=await catalog_availability.load_domains(conn, domains=labels),
        projects=existing,
        sizes=await claims.count_by_project(
            conn, account_id=account_id, project_ids=[each.id for each in existing]
        ),
        own=await account_domains.load_domains(
            conn, account_id=account_id, domains=labels, manifest=manifest.name
        ),
        webhooks=await webhook_destinations.list_managed(conn, account_id=account_id),
        refused_urls=urls.refused,
    )


async def read_aliases(
    conn: Conn,
    *,
    target: TargetAccount,
    manifest: str,
    wanted: Sequence[RequestedName],
    existing: AbstractSet[Name],
    destinations: AbstractSet[Name],
    live: LiveState,
    cooling_off: timedelta,
) -> LiveState:
    """Add the account's aliases and the availability of the desired names, in at most seven statements.

    `existing` are names of aliases that the account may already have.
    """
    account_id = target.account_id
    aliases, released = await claims.list_for_plan(
        conn, account_id=account_id, manifest=manifest, names=existing, claimed={each.name for each in wanted}
    )
    leaving = [each for each in aliases if each.manifest == manifest and each.name not in existing]
    return replace(
        live,
        aliases=aliases,
        availability=await claims.check_availability(
            conn, account_id=account_id, realm=target.realm, wanted=wanted
        ),
        forwarded=await loops.list_forwarded(
            conn, realm=target.realm, account_id=account_id, names=sorted(destinations)
        ),
        overdue=await invoices.find_arrears(conn, account_id=account_id) if wanted else None,
        reclaims=await billing.list_reclaims(conn, account_id=account_id, released=released),
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
    """Read the state that planned actions depend on, in at most eight statements.

    `unavailable` are the names of the actions that could not be reserved. The domains are those after the actions.
    """
    account_id, has_webhooks = target.account_id, any(each.kind is Kind.WEBHOOK for each in actions)
    names = {action.place.name for action in actions if action.place is not None}
    views = [each.after for each in actions if isinstance(each.after, AliasView)]
    labels = {name.domain for name in names}
    labels |= {email.rpartition("@")[2] for view in views for email in view.destinations}
    own = await _load_own_domains(conn, account_id, manifest, actions, labels)
    domains = index_domains(await catalog_availability.load_domains(conn, domains=labels), own, actions)
    destinations = {name for view in views for name in list_names(view.destinations, domains)}
    existing, sizes = await _list_projects(conn, account_id, manifest, actions)
    alias_ids = [each.resource_id for each in actions if each.kind is Kind.ALIAS and each.resource_id]
    aliases, released = await claims.list_for_plan(
        conn, account_id=account_id, manifest=manifest, names=names, alias_ids=alias_ids, claimed=names
    )
    return LiveState(
        aliases=aliases,
        availability=unavailable,
        domains=domains,
        projects=existing,
        sizes=sizes,
        own=own,
        webhooks=await webhook_destinations.list_managed(conn, account_id=account_id) if has_webhooks else (),
        forwarded=await loops.list_forwarded(
            conn, realm=target.realm, account_id=account_id, names=sorted(destinations)
        ),
        overdue=await invoices.find_arrears(conn, account_id=account_id) if names else None,
        reclaims=await billing.list_reclaims(conn, account_id=account_id, released=released),
        refused_urls=urls.refused,
    )


def list_project_ids(actions: Sequence[Action]) -> set[UUID]:
    """Return the existing projects that aliases of the actions belong to."""
    views = (action.after for action in actions)
    return {view.project_id for view in views if isinstance(view, AliasView) and view.project_id}


async def _load_own_domains(
    conn: Conn, account_id: UUID, manifest: str, actions: Sequence[Action], labels: set[str]
) -> dict[str, AccountDomain]:
    settings = {each.after.domain for each in actions if isinstance(each.after, DomainView)}
    managed_by = manifest if any(each.kind is Kind.DOMAIN for each in actions) else None
    return await account_domains.load_domains(
        conn, account_id=account_id, domains=labels | settings, manifest=managed_by
    )


async def _list_projects(
    conn: Conn, account_id: UUID, manifest: str, actions: Sequence[Action]
) -> tuple[Sequence[Project], Mapping[UUID, int]]:
    """Return the projects that the actions concern, and the number of aliases of each."""
    planned = [action for action in actions if action.kind is Kind.PROJECT]
    referred = list_project_ids(actions)
    if not planned and not referred:
        return (), {}
    found = await projects.list_projects(
        conn,
        account_id=account_id,
        manifest=manifest,
        project_ids=referred | {each.resource_id for each in planned if each.resource_id},
        slugs={each.after.slug for each in planned if isinstance(each.after, ProjectView) and each.after.slug},
    )
    project_ids = [each.id for each in found]
    return found, await claims.count_by_project(conn, account_id=account_id, project_ids=project_ids)
