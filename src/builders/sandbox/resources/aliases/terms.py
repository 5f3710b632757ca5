"""Terms of claims and releases: limits of projects, overdue invoices, prices and paid periods. Pure.

Planning checks them, and a batch checks them again with the projects locked. Deletions come last, so a name frees
capacity for another only if it is replaced or moves to another project. An account with an overdue invoice claims
no name with a price, since it could release a suspended name and claim it again without paying.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from uuid import UUID

from builders.aliases.billing import Reclaim, ReleaseTerms
from builders.aliases.records import Alias, Name, ReservedClass, Validation
from builders.catalog.records import CatalogDomain
from builders.invoices.records import Charge, InvoiceStatus
from builders.kit.values.money import Money
from builders.projects.records import Project, ProjectFields, Refusal
from builders.sandbox.manifest import AliasView
from builders.sandbox.records import Action, ActionKind, Continued, Finding, Price
from builders.sandbox.resources.kinds import Task
from builders.sandbox.resources.live_state import LiveState
from builders.sandbox.resources.references import TargetProject
from builders.sandbox.step_errors import StepError

CLAIMS = {ActionKind.CREATE, ActionKind.REPLACE}
ARCHIVED, MISSING = "project_archived", "project_not_found"
_MESSAGES: Mapping[str, str] = {
    Refusal.DOMAIN_NOT_ALLOWED: "The project allows no names on this domain.",
    Refusal.ALIAS_LIMIT: "The project has its maximum of aliases; deletions come last and free no capacity.",
    ARCHIVED: "The project is archived and accepts no names.",
    MISSING: "The project no longer exists.",
}
OVERDUE = "payment_overdue"
KEPT, UNDONE = "period_not_refunded", "claim_undone"


def adds_to_project(action: Action) -> bool:
    """Return whether the action adds the alias to a project."""
    return action.action in CLAIMS or "project_id" in action.changed_fields


def refuse_by_project(
    planned: Sequence[Action], projects: Mapping[str, TargetProject], sizes: Mapping[UUID, int]
) -> Iterator[Finding]:
    """Yield the planned actions that a project refuses; `projects` are by the address of the alias."""
    additions: dict[str, list[Action]] = defaultdict(list)
    by_name: dict[str, TargetProject] = {}
    for action in planned:
        target = projects.get(action.address)
        if target is not None and adds_to_project(action):
            name = target.address or str(target.project_id)
            by_name[name] = target
            additions[name].append(action)
    leaving = count_leaving(planned)
    for name, added in additions.items():
        target = by_name[name]
        size = sizes.get(target.project_id, 0) - leaving[target.project_id] if target.project_id else 0
        for action, code in _list_refused(added, target.project, size):
            yield Finding(code=code, address=action.address, message=_MESSAGES[code])


def count_leaving(actions: Iterable[Action]) -> Counter[UUID]:
    """Return how many aliases each project loses by the actions, before any deletion."""
    left = (
        each.before for each in actions if each.action is ActionKind.REPLACE or "project_id" in each.changed_fields
    )
    return Counter(view.project_id for view in left if isinstance(view, AliasView) and view.project_id)


def _list_refused(added: Sequence[Action], project: ProjectFields, size: int) -> Iterator[tuple[Action, Refusal]]:
    for at, action in enumerate(added):
        assert isinstance(action.after, AliasView)  # noqa: S101 - an alias that is added has a state after
        domain = action.after.address.rpartition("@")[2]
        if refusal := project.refusal(domain=domain, aliases=size + at):
            yield action, refusal


def project_faults(
    actions: Mapping[int, Action],
    targets: Mapping[int, UUID],
    projects: Mapping[UUID, Project],
    sizes: Mapping[UUID, int],
) -> dict[int, StepError]:
    """Return the errors of actions that a project refuses, by position; `sizes` are the sizes before the actions.

    `targets` are the projects that aliases are added to, by the position of the action.
    """
    refused: dict[int, str] = {}
    additions: dict[UUID, list[int]] = defaultdict(list)
    for at in actions:
        if at in targets:
            additions[targets[at]].append(at)
    leaving = count_leaving(actions.values())
    for project_id, added in additions.items():
        project = projects.get(project_id)
        if project is None or project.is_archived:
            refused |= dict.fromkeys(added, MISSING if project is None else ARCHIVED)
            continue
        positions = {actions[at].address: at for at in added}
        size = sizes.get(project_id, 0) - leaving[project_id]
        codes = _list_refused([actions[at] for at in added], project, size)
        refused |= {positions[action.address]: code for action, code in codes}
    return {at: StepError(code=code, message=_MESSAGES[code]) for at, code in refused.items()}


def is_charged(action: Action) -> bool:
    """Return whether the action claims a name with a price or with a paid period."""
    is_priced = action.price is not None and bool(action.price.money.amount)
    return action.action in CLAIMS and (is_priced or action.continues is not None)


def refuse_overdue(actions: Sequence[Action], overdue: str | None) -> Iterator[Finding]:
    """Yield an error for each charged action while the invoice with the number `overdue` is unpaid."""
    for action in actions:
        if overdue and is_charged(action):
            yield Finding(code=OVERDUE, address=action.address, message=_overdue_message(overdue))


def overdue_faults(tasks: Sequence[Task], overdue: str | None) -> dict[int, StepError]:
    """Return the errors of charged tasks while the invoice is unpaid, by position."""
    if overdue is None:
        return {}
    refused = StepError(code=OVERDUE, message=_overdue_message(overdue))
    return {task.step.position: refused for task in tasks if is_charged(task.action)}


def _overdue_message(overdue: str) -> str:
    return f"The invoice {overdue} is long overdue: pay it first. Names without a price can be claimed."


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


def explain_free(reclaim: Reclaim | None, continues: Continued | None) -> Iterator[str]:
    """Yield the sentences that explain a free claim, if it continues a paid period."""
    if reclaim is None or continues is None:
        return
    if continues.until is None:
        yield "You released it, and its one-time price is paid: no amount is due."
    else:
        yield f"You released it, and its paid period continues until {_day(continues.until)}: no charge is due."
        yield f"It then renews at {reclaim.price} per {reclaim.interval}."
    if reclaim.period.unpaid:
        yield f"This requires payment of {_listed(reclaim.period.unpaid)} in time."


def undoable_until(alias: Alias, live: LiveState) -> datetime | None:
    """Return until when the release of the alias undoes its claim; None if it does not."""
    terms = live.releases.get(alias.id)
    return None if terms is None else terms.undoable_until


def warn_released(actions: Sequence[Action], terms: Mapping[UUID, ReleaseTerms]) -> Iterator[Finding]:
    """Yield a warning about the charges of each name that the actions release."""
    for action in actions:
        found = terms.get(action.resource_id) if action.resource_id is not None else None
        if found is not None and isinstance(action.before, AliasView) and found.affects_charges:
            yield from _warnings(action.address, action.before.address, found)


def _warnings(address: str, name: str, terms: ReleaseTerms) -> Iterator[Finding]:
    if terms.undoable_until is not None:
        said = [f"{name} was claimed recently: releasing it before {_minute(terms.undoable_until)} cancels"]
        said += ["the claim, once for this name.", *map(_undone, terms.charges)]
        yield Finding(code=UNDONE, address=address, message=" ".join(said))
    elif terms.period is None:
        message = f"The current period of {name} remains due: a release does not cancel an unpaid invoice."
        yield Finding(code=KEPT, address=address, message=message)
    else:
        until = terms.period.until
        said = [f"The paid period of {name} is not refunded. Claiming it again is free for this account"]
        said += [f"until {_day(until)}," if until else "for good,", "while no other account has the name"]
        said += [f"and {_listed(terms.period.unpaid)} is paid in time." if terms.period.unpaid else "."]
        yield Finding(code=KEPT, address=address, message=" ".join(said).replace(" .", "."), until=until)


def _undone(charge: Charge) -> str:
    if charge.status is InvoiceStatus.PAID:
        return f"{charge.amount} of {charge.number} becomes credit."
    return f"{charge.amount} is not due: {charge.number} is voided, and its other lines are issued again."


def _listed(numbers: Sequence[str]) -> str:
    return " and ".join(numbers)


def _day(at: datetime) -> str:
    return at.date().isoformat()


def _minute(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M} UTC"
