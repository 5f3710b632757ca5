"""Resolve the aliases of a manifest to names and projects, and find their errors. Pure."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from builders.aliases import service as aliases
from builders.aliases.records import Alias, Availability, Name, WantedName
from builders.catalog import service as catalog
from builders.sandbox.manifest import DesiredAlias, Manifest
from builders.sandbox.planning.live_state import DesiredNames, Routes
from builders.sandbox.planning.references import DomainIndex, ProjectIndex, TargetProject
from builders.sandbox.records import Finding
from builders.sandbox.resources import kinds


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedAlias:
    """An alias of the manifest with its project, and with the result of the rules for its name."""

    desired: DesiredAlias
    written: str  # the address in the manifest, in lower case, with the A-label of the domain
    own: Name | None  # an alias that the account may already have, also on a domain that is not shown
    decision: catalog.NameDecision  # for a new claim
    forwards: Sequence[Name]  # the destinations on domains of the catalog or the account
    mine: Alias | None = None  # the account's alias of this name
    project: TargetProject | None = None
    is_project_unknown: bool = False
    is_own: bool = False  # on a domain of the account
    domain_address: str | None = None  # of the action on its domain, if the manifest contains the domain

    @property
    def domain(self) -> str:
        """Return the A-label of the domain; empty for an unknown one."""
        return self.own.domain if self.own else ""

    @property
    def address(self) -> str:
        """Return the address of the action in the plan."""
        return f"alias.{self.desired.key}"

    @property
    def normal(self) -> str:
        """Return the mail address; an existing alias keeps the spelling of its claim."""
        if self.mine is not None:
            return self.mine.address
        domain = self.decision.domain
        return f"{self.decision.validation.normalized}@{domain.domain}" if domain else self.written

    @property
    def name(self) -> Name | None:
        """Return its unique name; None if it is invalid."""
        if self.mine is not None:
            return self.mine.name
        domain, key = self.decision.domain, self.decision.validation.key
        return Name(domain.domain, key) if domain and key else None


def resolve(manifest: Manifest, domains: DomainIndex, projects: ProjectIndex) -> list[ResolvedAlias]:
    """Return the aliases of the manifest with their projects, names and destinations."""
    return [_resolve(each, domains, projects, each.project or manifest.project) for each in manifest.aliases]


def _resolve(
    desired: DesiredAlias, domains: DomainIndex, projects: ProjectIndex, reference: str | None
) -> ResolvedAlias:
    project = projects.find(reference)
    if not desired.destinations and project is not None and project.project.default_destination:
        desired = replace(desired, destinations=(project.project.default_destination,))
    domain = domains.find(desired.domain)
    key = domains.validate(domain, desired.local_part).key if domain else ""
    return ResolvedAlias(
        desired=desired,
        written=f"{desired.local_part.strip().lower()}@{domain.domain if domain else ''}",
        own=Name(domain.domain, key) if domain and key else None,
        decision=catalog.decide_name(desired.local_part, domain),
        forwards=tuple(domains.names(desired.destinations)),
        project=project,
        is_project_unknown=reference is not None and project is None,
    )


def collect(resolved: Sequence[ResolvedAlias]) -> DesiredNames:
    """Return the names to read from the live state."""
    return DesiredNames(
        wanted=[
            WantedName(domain=name.domain, key=name.key, skeleton=each.decision.validation.skeleton)
            for each in resolved
            if (name := each.name) is not None
        ],
        own=frozenset(each.own for each in resolved if each.own),
        destinations=frozenset(name for each in resolved for name in each.forwards),
    )


def match_existing(resolved: Sequence[ResolvedAlias], existing: Sequence[Alias]) -> list[ResolvedAlias]:
    """Return the desired aliases, each with the account's alias of the same name or address.

    The address counts too: an alias keeps its name when the rules of its domain change.
    """
    by_name = {alias.name: alias for alias in existing}
    by_address = {alias.address: alias for alias in existing}
    return [
        replace(each, mine=(each.own and by_name.get(each.own)) or by_address.get(each.written))
        for each in resolved
    ]


def find_errors(
    resolved: Sequence[ResolvedAlias], routes: Routes, availability: Mapping[Name, Availability]
) -> Iterator[Finding]:
    """Yield every error of the desired aliases; `routes` are those of existing aliases."""
    names = Counter(each.name for each in resolved)
    ahead: dict[Name, list[Name]] = {}
    for each in resolved:
        if each.name is not None:
            ahead.setdefault(each.name, []).extend(each.forwards)
    looping_names = aliases.find_looping_names({**routes, **ahead})
    for each in resolved:
        if each.mine is None and (
            found := find_refusal(each.decision, availability.get(each.name) if each.name else None)
        ):
            yield Finding(code=found[0], address=each.address, message=found[1])
        if each.is_project_unknown:
            message = "No project has this key, slug or id."
            yield Finding(code="project_not_found", address=each.address, message=message)
        if each.project is not None and each.project.is_pruned:
            yield Finding(code="project_pruned", address=each.address, message=kinds.PROJECT_PRUNED)
        if not each.desired.destinations:
            message = "An alias needs a destination, its own or its project's default_destination."
            yield Finding(code="destination_missing", address=each.address, message=message)
        if each.name is not None and names[each.name] > 1:
            message = "Another alias of the manifest has this name."
            yield Finding(code="duplicate_name", address=each.address, message=message)
        if each.name in looping_names:
            message = "Mail to it would loop through aliases."
            yield Finding(code="destination_loop", address=each.address, message=message)


def find_refusal(decision: catalog.NameDecision, availability: Availability | None) -> tuple[str, str] | None:
    """Return the code and message of the catalog's check for a name that cannot be claimed, or None."""
    reason = decision.refusal or (availability.reason if availability else None)
    if reason is None:
        return None
    return decision.validation.detail or reason, catalog.describe_reason(reason, decision.validation)
