"""Resolve the aliases of a manifest to names and projects, and find their errors and forwarding loops. Pure."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from builders.aliases import forwarding
from builders.aliases.records import Alias, Availability, Name, RequestedName
from builders.catalog import availability as catalog_availability
from builders.catalog.availability import NameDecision
from builders.sandbox.manifest import AliasView, DesiredAlias, Manifest
from builders.sandbox.records import Action, ActionKind, Finding
from builders.sandbox.resources import kinds
from builders.sandbox.resources.kinds import Task
from builders.sandbox.resources.live_state import DesiredNames, LiveState
from builders.sandbox.resources.references import DomainIndex, ProjectIndex, TargetProject
from builders.sandbox.step_errors import StepError

Routes = Mapping[Name, Sequence[Name]]  # the names that each name forwards mail to
LOOP = "Mail to this destination would loop through aliases."
_SEQUENCE = list(ActionKind)


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedAlias:
    """An alias of the manifest with its project, and with the result of the rules for its name."""

    desired: DesiredAlias
    written: str  # the address in the manifest, in lower case, with the A-label of the domain
    own: Name | None  # the name of an alias that the account may already have, also on a domain that is not listed
    decision: NameDecision  # for a new claim
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
        decision=catalog_availability.decide_name(desired.local_part, domain),
        forwards=tuple(domains.names(desired.destinations)),
        project=project,
        is_project_unknown=reference is not None and project is None,
    )


def collect(resolved: Sequence[ResolvedAlias]) -> DesiredNames:
    """Return the names to read from the live state."""
    return DesiredNames(
        wanted=[
            RequestedName(domain=name.domain, key=name.key, skeleton=each.decision.validation.skeleton)
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
    looping_names = forwarding.find_looping_names({**routes, **ahead})
    for each in resolved:
        if each.mine is None and (
            found := find_refusal(each.decision, availability.get(each.name) if each.name else None)
        ):
            yield Finding(code=found.code, address=each.address, message=found.message)
        if each.is_project_unknown:
            message = "No project has this key, slug or id."
            yield Finding(code="project_not_found", address=each.address, message=message)
        if each.project is not None and each.project.is_pruned:
            yield Finding(code="project_pruned", address=each.address, message=kinds.PROJECT_PRUNED)
        if not each.desired.destinations:
            message = "An alias requires a destination, its own or the default_destination of its project."
            yield Finding(code="destination_missing", address=each.address, message=message)
        if each.name is not None and names[each.name] > 1:
            message = "Another alias of the manifest has this name."
            yield Finding(code="duplicate_name", address=each.address, message=message)
        if each.name in looping_names:
            yield Finding(code="destination_loop", address=each.address, message=LOOP)


def find_refusal(decision: NameDecision, availability: Availability | None) -> StepError | None:
    """Return the catalog's refusal of a name that cannot be claimed, or None."""
    reason = decision.refusal or (availability.reason if availability else None)
    if reason is None:
        return None
    message = catalog_availability.describe_reason(reason, decision.validation)
    return StepError(code=decision.validation.detail or reason, message=message)


def list_routes(existing: Sequence[Alias], known: DomainIndex) -> Routes:
    """Return the names that aliases forward to: on known domains by their rules, else the other given aliases."""
    guessed = forwarding.map_routes(existing)
    return {
        alias.name: (
            *known.names(alias.destinations),
            *(name for name in guessed[alias.name] if name.domain not in known.domains),
        )
        for alias in existing
    }


def find_loop_drift(actions: Sequence[Action], live: LiveState) -> Iterator[Finding]:
    """Yield the loops that run through aliases created or changed after the plan was made."""
    known, by_id = DomainIndex(domains=live.domains), {alias.id: alias.name for alias in live.aliases}
    routes = dict(list_routes([*live.aliases, *live.forwarded], known))
    wanted = dict[Name, Action]()
    for action in actions:
        old = by_id.get(action.resource_id) if action.resource_id else None
        if old is not None:
            routes.pop(old, None)  # the plan releases or redirects it
        name = action.place.name if action.place else old
        if name is not None and isinstance(action.after, AliasView):
            wanted[name] = action
    views = ((name, action.after) for name, action in wanted.items())
    routes |= {name: tuple(known.names(view.destinations)) for name, view in views if isinstance(view, AliasView)}
    for name in forwarding.find_looping_names(routes) & wanted.keys():
        yield Finding(code="destination_loop", address=wanted[name].address, message=LOOP)


def list_redirected(tasks: Sequence[Task]) -> list[Task]:
    """Return the tasks after which an alias forwards to another destination."""
    return [task for task in tasks if _changes_destination(task.action)]


def find_loops(tasks: Sequence[Task], existing: Sequence[Alias], routes: Routes) -> list[Finding]:
    """Return the errors of executed tasks that close a loop; `routes` are the current ones."""
    looping_names = forwarding.find_looping_names(routes)
    looping = {alias.id for alias in existing if alias.name in looping_names}
    return [
        Finding(code="destination_loop", address=task.action.address, message=LOOP)
        for task in tasks
        if task.step.resource_id in looping
    ]


def need_one_batch(actions: Sequence[Action]) -> bool:
    """Return whether all actions on aliases must be one batch.

    An early stage can close a loop that a later stage opens again, and would stay if the later stage failed. The
    check compares only domains, and only within the plan.
    """
    changing = [each for each in actions if each.action is not ActionKind.NO_OP]
    views = [view for each in changing for view in (each.before, each.after) if isinstance(view, AliasView)]
    domains = {view.address.rpartition("@")[2] for view in views}
    closing = [each for each in changing if _changes_destination(each) and _forwards_to(each.after, domains)]
    opening = [
        each
        for each in changing
        if (_changes_destination(each) or not each.after) and _forwards_to(each.before, domains)
    ]
    return bool(closing and opening) and min(map(_stage, closing)) < max(map(_stage, opening))


def _stage(action: Action) -> int:
    return _SEQUENCE.index(action.action)


def _changes_destination(action: Action) -> bool:
    before, after = action.before, action.after
    if not isinstance(after, AliasView):
        return False
    if action.place is not None or not isinstance(before, AliasView):
        return True
    return set(before.destinations) != set(after.destinations)


def _forwards_to(view: object, domains: set[str]) -> bool:
    return isinstance(view, AliasView) and any(each.rpartition("@")[2] in domains for each in view.destinations)
