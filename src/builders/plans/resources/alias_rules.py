"""Rules of aliases in a manifest: their names, projects and loops, and the terms of claims and releases. Pure.

Planning checks the terms, and a batch checks them again with the projects locked. Deletions come last, so a name
frees capacity for another only if it is replaced or moves to another project. An account with an overdue invoice
claims no name with a price, since it could release a suspended name and claim it again without paying.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from builders.aliases import loops
from builders.aliases.billing import ReleaseTerms
from builders.aliases.records import Alias, Availability, Name, ReservedClass, Validation
from builders.aliases.rules import validate_local_part
from builders.catalog import availability as catalog_availability
from builders.catalog.availability import NameDecision
from builders.catalog.records import CatalogDomain
from builders.invoices.records import InvoiceStatus
from builders.kit.values import domain_names
from builders.kit.values.money import Money
from builders.plans.records import (
    CLAIMS,
    Action,
    ActionKind,
    AliasView,
    Continued,
    DesiredAlias,
    Finding,
    Manifest,
    Price,
    StepError,
)
from builders.plans.resources.kinds import PROJECT_MISSING, PROJECT_PRUNED, Task
from builders.plans.resources.live_state import (
    Domains,
    LiveState,
    Projects,
    TargetProject,
    find_project,
    list_names,
)
from builders.projects.records import Refusal

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

    @property
    def unknown(self) -> tuple[str, ...]:
        """Return the fields that are unknown until its project is created."""
        return ("project_id",) if self.project and self.project.project_id is None else ()

    @property
    def requires(self) -> tuple[str, ...]:
        """Return the addresses of the actions that come before its own."""
        return tuple(each for each in (self.project and self.project.address, self.domain_address) if each)


def resolve(manifest: Manifest, domains: Domains, projects: Projects) -> Iterator[ResolvedAlias]:
    """Yield the aliases of the manifest with their projects, names and destinations."""
    for written in manifest.aliases:
        reference = written.project or manifest.project
        project, desired = find_project(projects, reference), written
        if not written.destinations and project is not None and project.project.default_destination:
            desired = replace(written, destinations=(project.project.default_destination,))
        domain, own = domains.get(domain_names.find_a_label(desired.domain) or ""), None
        if domain is not None:
            validation = validate_local_part(desired.local_part, domain=domain.domain, rules=domain.rules)
            own = Name(domain.domain, validation.key) if validation.key else None
        yield ResolvedAlias(
            desired=desired,
            written=f"{desired.local_part.strip().lower()}@{domain.domain if domain else ''}",
            own=own,
            decision=catalog_availability.decide_name(desired.local_part, domain),
            forwards=tuple(list_names(desired.destinations, domains)),
            project=project,
            is_project_unknown=reference is not None and project is None,
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


def list_errors(
    resolved: Sequence[ResolvedAlias], routes: Routes, availability: Mapping[Name, Availability]
) -> Iterator[Finding]:
    """Yield every error of the desired aliases; `routes` are those of existing aliases."""
    names = Counter(each.name for each in resolved)
    ahead: dict[Name, list[Name]] = {}
    for alias in resolved:
        if alias.name is not None:
            ahead.setdefault(alias.name, []).extend(alias.forwards)
    looping_names = loops.list_looping_names({**routes, **ahead})
    for alias in resolved:
        if alias.mine is None and (
            found := find_refusal(alias.decision, availability.get(alias.name) if alias.name else None)
        ):
            yield Finding(code=found.code, address=alias.address, message=found.message)
        if alias.is_project_unknown:
            yield Finding(code="project_not_found", address=alias.address, message=PROJECT_MISSING)
        if alias.project is not None and alias.project.is_pruned:
            yield Finding(code="project_pruned", address=alias.address, message=PROJECT_PRUNED)
        if not alias.desired.destinations:
            message = "An alias requires a destination, its own or the default_destination of its project."
            yield Finding(code="destination_missing", address=alias.address, message=message)
        if alias.name is not None and names[alias.name] > 1:
            message = "Another alias of the manifest has this name."
            yield Finding(code="duplicate_name", address=alias.address, message=message)
        if alias.name in looping_names:
            yield Finding(code="destination_loop", address=alias.address, message=LOOP)


def find_refusal(decision: NameDecision, availability: Availability | None) -> StepError | None:
    """Return the catalog's refusal of a name that cannot be claimed, or None."""
    reason = decision.refusal or (availability.reason if availability else None)
    if reason is None:
        return None
    message = catalog_availability.describe_reason(reason, decision.validation)
    return StepError(code=decision.validation.detail or reason, message=message)


def list_routes(existing: Sequence[Alias], known: Domains) -> Routes:
    """Return the names that aliases forward to: on known domains by their rules, else the other given aliases."""
    guessed = loops.map_routes(existing)
    return {
        alias.name: (
            *list_names(alias.destinations, known),
            *(name for name in guessed[alias.name] if name.domain not in known),
        )
        for alias in existing
    }


def list_loop_drift(actions: Sequence[Action], live: LiveState) -> Iterator[Finding]:
    """Yield the loops that run through aliases created or changed after the plan was made."""
    by_id = {alias.id: alias.name for alias in live.aliases}
    routes = dict(list_routes([*live.aliases, *live.forwarded], live.domains))
    wanted = dict[Name, str]()  # the address of the action
    for action in actions:
        old = by_id.get(action.resource_id) if action.resource_id else None
        if old is not None:
            routes.pop(old, None)  # the plan releases or redirects it
    for action in actions:
        old = by_id.get(action.resource_id) if action.resource_id else None
        name = action.place.name if action.place else old
        if name is not None and isinstance(action.after, AliasView):
            wanted[name] = action.address
            routes[name] = tuple(list_names(action.after.destinations, live.domains))
    for name in loops.list_looping_names(routes) & wanted.keys():
        yield Finding(code="destination_loop", address=wanted[name], message=LOOP)


def list_loops(tasks: Sequence[Task], existing: Sequence[Alias], routes: Routes) -> list[Finding]:
    """Return the errors of executed tasks that close a loop; `routes` are the current ones."""
    looping_names = loops.list_looping_names(routes)
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
    closing = [
        _SEQUENCE.index(each.action)
        for each in changing
        if changes_destination(each) and _forwards_to(each.after, domains)
    ]
    opening = [
        _SEQUENCE.index(each.action)
        for each in changing
        if (changes_destination(each) or not each.after) and _forwards_to(each.before, domains)
    ]
    return bool(closing and opening) and min(closing) < max(opening)


def changes_destination(action: Action) -> bool:
    """Return whether an alias forwards to another destination after the action."""
    before, after = action.before, action.after
    if not isinstance(after, AliasView):
        return False
    if action.place is not None or not isinstance(before, AliasView):
        return True
    return set(before.destinations) != set(after.destinations)


def _forwards_to(view: object, domains: set[str]) -> bool:
    return isinstance(view, AliasView) and any(each.rpartition("@")[2] in domains for each in view.destinations)


ARCHIVED, MISSING = "project_archived", "project_not_found"
_MESSAGES: Mapping[str, str] = {
    Refusal.DOMAIN_NOT_ALLOWED: "The project allows no names on this domain.",
    Refusal.ALIAS_LIMIT: "The project has its maximum of aliases; deletions come last and free no capacity.",
    ARCHIVED: "The project is archived and accepts no names.",
    MISSING: "The project no longer exists.",
}
KEPT, UNDONE = "period_not_refunded", "claim_undone"


def adds_to_project(action: Action) -> bool:
    """Return whether the action adds the alias to a project."""
    return action.action in CLAIMS or "project_id" in action.changed_fields


def refuse_by_project(
    actions: Sequence[Action], targets: Mapping[str, TargetProject | None], sizes: Mapping[UUID, int]
) -> Iterator[Finding]:
    """Yield the actions that a project refuses; `sizes` are the numbers of its aliases before the actions.

    `targets` are the projects by the address of the alias, None for one that does not exist.
    """
    additions: dict[UUID | str | None, list[Action]] = defaultdict(list)
    for action in actions:
        if action.address in targets and adds_to_project(action):
            target = targets[action.address]
            additions[(target.project_id or target.address) if target else None].append(action)
    moved = (
        each.before for each in actions if each.action is ActionKind.REPLACE or "project_id" in each.changed_fields
    )
    leaving = Counter(view.project_id for view in moved if isinstance(view, AliasView))
    for added in additions.values():
        target = targets[added[0].address]
        project_id = target and target.project_id
        size = sizes.get(project_id, 0) - leaving[project_id] if project_id else 0
        for at, action in enumerate(added):
            code: str | None = ARCHIVED if target else MISSING
            if target is not None and not target.is_archived:
                assert isinstance(action.after, AliasView)  # noqa: S101 - an alias that is added has a state after
                domain = action.after.address.rpartition("@")[2]
                code = target.project.refusal(domain=domain, aliases=size + at)
            if code:
                yield Finding(code=code, address=action.address, message=_MESSAGES[code])


def is_charged(action: Action) -> bool:
    """Return whether the action claims a name with a price or with a paid period."""
    is_priced = action.price is not None and bool(action.price.money.amount)
    return action.action in CLAIMS and (is_priced or action.continues is not None)


def refuse_overdue(actions: Sequence[Action], overdue: str | None) -> Iterator[Finding]:
    """Yield an error for each charged action while the invoice with the number `overdue` is unpaid."""
    message = f"The invoice {overdue} is long overdue: pay it first. Names without a price can be claimed."
    for action in actions:
        if overdue and is_charged(action):
            yield Finding(code="payment_overdue", address=action.address, message=message)


def price_claim(domain: CatalogDomain, validation: Validation, live: LiveState) -> tuple[Price, Continued | None]:
    """Return the price of a claim, and the paid period that it continues at no charge.

    An account with an overdue invoice continues no period, since it claims no name with a price.
    """
    found = domain.price_for(validation.key, is_premium=validation.reserved_class is ReservedClass.PREMIUM)
    normal = Price(money=found.money, interval=found.interval)
    reclaim = live.reclaims.get(Name(domain.domain, validation.key))
    if reclaim is None or live.overdue or not normal.money.amount:
        return normal, None
    free = Price(money=Money.zero(reclaim.price.currency), interval=reclaim.interval)
    return free, Continued(alias_id=reclaim.alias_id, until=reclaim.period.until)


def explain_free(name: Name, continues: Continued | None, live: LiveState) -> Iterator[str]:
    """Yield the sentences that explain a free claim, if it continues a paid period."""
    reclaim = live.reclaims.get(name)
    if reclaim is None or continues is None:
        return
    if continues.until is None:
        yield "You released it, and its one-time price is paid: no amount is due."
    else:
        yield f"You released it, and its paid period continues until {continues.until.date()}: no charge is due."
        yield f"It then renews at {reclaim.price} per {reclaim.interval}."
    if reclaim.period.unpaid:
        yield f"This requires payment of {' and '.join(reclaim.period.unpaid)} in time."


def undoable_until(alias: Alias, live: LiveState) -> datetime | None:
    """Return until when the release of the alias undoes its claim; None if it does not."""
    terms = live.releases.get(alias.id)
    return None if terms is None else terms.undoable_until


def warn_released(actions: Sequence[Action], terms: Mapping[UUID, ReleaseTerms]) -> Iterator[Finding]:
    """Yield a warning about the charges of each name that the actions release."""
    for action in actions:
        found = terms.get(action.resource_id) if action.resource_id is not None else None
        if found is not None and isinstance(action.before, AliasView) and found.affects_charges:
            yield _warning(action.address, action.before.address, found)


def _warning(address: str, name: str, terms: ReleaseTerms) -> Finding:
    if terms.undoable_until is not None:
        until = f"{terms.undoable_until:%Y-%m-%d %H:%M} UTC"
        said = [f"{name} was claimed recently: releasing it before {until} cancels the claim, once for this name."]
        said += [
            f"{each.amount} of {each.number} becomes credit."
            if each.status is InvoiceStatus.PAID
            else f"{each.amount} is not due: {each.number} is voided, and its other lines are issued again."
            for each in terms.charges
        ]
        return Finding(code=UNDONE, address=address, message=" ".join(said))
    if terms.period is None:
        message = f"The current period of {name} remains due: a release does not cancel an unpaid invoice."
        return Finding(code=KEPT, address=address, message=message)
    free = f"until {terms.period.until.date()}," if terms.period.until else "for good,"
    paid = f" and {' and '.join(terms.period.unpaid)} is paid in time" if terms.period.unpaid else ""
    message = (
        f"The paid period of {name} is not refunded. Claiming it again is free for this account {free} "
        f"while no other account has the name{paid}."
    )
    return Finding(code=KEPT, address=address, message=message, until=terms.period.until)
