"""Resolve references of a manifest: projects by key, slug or id, and domains by A-label. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from builders.aliases.records import Name, PriceInterval, Validation
from builders.aliases.rules import validate_local_part
from builders.catalog.records import Assets, CatalogDomain, DomainStatus, MailMode, Price, PriceTier
from builders.domains.records import AccountDomain
from builders.kit.values import domain_names, ids
from builders.kit.values.domain_names import unicode_of
from builders.kit.values.money import Money
from builders.projects.records import Project, ProjectFields
from builders.sandbox.manifest import DomainView, ProjectView
from builders.sandbox.records import Action, ActionKind

FREE = Price(money=Money.zero("USD"), interval=PriceInterval.ONCE, tier=PriceTier.STANDARD)


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetProject:
    """The state of a project after the plan, for its aliases."""

    project_id: UUID | None  # None: the plan creates it
    address: str | None  # of its action, if the plan creates or changes it
    project: ProjectFields
    is_archived: bool = False
    is_pruned: bool = False  # the plan archives it

    @property
    def name(self) -> str:
        """Return what distinguishes it from the other projects of a plan."""
        return self.address or str(self.project_id)

    @property
    def after_unknown(self) -> tuple[str, ...]:
        """Return the fields of its aliases that are unknown until the project is created."""
        return () if self.project_id else ("project_id",)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectIndex:
    """All projects that a manifest can refer to."""

    by_key: Mapping[str, TargetProject] = field(default_factory=dict)
    by_slug: Mapping[str, TargetProject] = field(default_factory=dict)
    by_id: Mapping[UUID, TargetProject] = field(default_factory=dict)

    def find(self, reference: str | None) -> TargetProject | None:
        """Return the project of a reference; a key of the manifest takes precedence over a slug."""
        if reference is None:
            return None
        found = self.by_key.get(reference) or self.by_slug.get(reference)
        return found or self.by_id.get(ids.parse(reference))


@dataclass(frozen=True, slots=True, kw_only=True)
class DomainIndex:
    """The domains in a manifest, by A-label."""

    domains: Mapping[str, CatalogDomain]

    def find(self, written: str) -> CatalogDomain | None:
        """Return a domain written as an A-label or U-label, in upper or lower case."""
        return self.domains.get(domain_names.find_a_label(written) or "")

    def validate(self, domain: CatalogDomain, local_part: str) -> Validation:
        """Return the result of the domain's rules for a local part."""
        return validate_local_part(local_part, domain=domain.domain, rules=domain.rules)

    def names(self, destinations: Sequence[str]) -> Iterator[Name]:
        """Yield the destinations that are names on these domains; name+tag is delivered to name."""
        for destination in destinations:
            local_part, _, label = destination.rpartition("@")
            domain = self.domains.get(label)
            if domain is not None:
                key = self.validate(domain, local_part.partition("+")[0]).key
                if key:
                    yield Name(domain.domain, key)


def index_projects(
    planned: Sequence[Action], removed: Sequence[Action], projects: Sequence[Project]
) -> ProjectIndex:
    """Index the existing projects as the planned actions leave them, and the projects that the plan creates."""
    pruned = {action.resource_id for action in removed}
    views = [(action, action.after) for action in planned if isinstance(action.after, ProjectView)]
    by_key = {view.key: _planned(action, view) for action, view in views}
    changed = {each.project_id: each for each in by_key.values() if each.project_id}
    by_id = {
        each.id: changed.get(each.id) or index_project(each, is_pruned=each.id in pruned) for each in projects
    }
    # Archived projects can share the slug of the active one, which replaces them here.
    by_slug = {each.slug: by_id[each.id] for each in sorted(projects, key=lambda each: not each.is_archived)}
    by_slug |= {view.slug: by_key[view.key] for _, view in views if view.slug}
    return ProjectIndex(by_key=by_key, by_slug=by_slug, by_id=by_id)


def index_domains(
    listed: Mapping[str, CatalogDomain], own: Mapping[str, AccountDomain], actions: Sequence[Action] = ()
) -> DomainIndex:
    """Index the domains on which names can be claimed, as the actions leave them; the account's own come first.

    `listed` are domains of the catalog. Names on the account's own domains cost nothing.
    """
    views = [each.after for each in actions if isinstance(each.after, DomainView)]
    catch_all = {view.domain: view.catch_all for view in views}
    claimable = {
        label: _as_catalog_domain(each, catch_all.get(label, each.catch_all)) for label, each in own.items()
    }
    return DomainIndex(domains={**listed, **claimable})


def _planned(action: Action, view: ProjectView) -> TargetProject:
    return TargetProject(
        project_id=action.resource_id,
        address=None if action.action is ActionKind.NO_OP else action.address,
        project=view,
    )


def index_project(project: Project, *, is_pruned: bool = False) -> TargetProject:
    """Return a project that the plan does not change, but may archive."""
    return TargetProject(
        project_id=project.id,
        address=None,
        project=project,
        is_archived=project.is_archived,
        is_pruned=is_pruned,
    )


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
