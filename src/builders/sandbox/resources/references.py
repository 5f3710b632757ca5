"""Resolve references of a manifest: projects by key, slug or id, and domains by A-label. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from builders.aliases.records import Name, PriceInterval
from builders.aliases.rules import validate_local_part
from builders.catalog.records import Assets, CatalogDomain, DomainStatus, MailMode, Price, PriceTier
from builders.domains.records import AccountDomain
from builders.kit.values import ids
from builders.kit.values.domain_names import unicode_of
from builders.kit.values.money import Money
from builders.projects.records import Project, ProjectFields
from builders.sandbox.records import Action, ActionKind, DomainView, ProjectView

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
        project_id=project.id,
        address=None,
        project=project,
        is_archived=project.is_archived,
        is_pruned=is_pruned,
    )


def find_names(destinations: Sequence[str], domains: Domains) -> Iterator[Name]:
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
