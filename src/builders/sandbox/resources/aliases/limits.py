"""What refuses a claim besides its name: the limits of projects, and overdue invoices. Pure.

Checked when a plan is made, and again where names are claimed, with the projects locked. Deletions come last, so a
name makes room for another only if it is replaced or moves to another project. An account with an overdue invoice
claims no name that costs something: it could release a suspended name and claim it again without paying.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from uuid import UUID

from builders.projects.records import Project, ProjectFields, Refusal
from builders.sandbox.planning.references import TargetProject
from builders.sandbox.records import Action, ActionKind, Finding
from builders.sandbox.resources.execution import Task
from builders.sandbox.step_errors import StepError
from builders.sandbox.views import AliasView

CLAIMS = {ActionKind.CREATE, ActionKind.REPLACE}
ARCHIVED, GONE = "project_archived", "project_not_found"
_SAID: Mapping[str, str] = {
    Refusal.DOMAIN_NOT_ALLOWED: "The project allows no names on this domain.",
    Refusal.ALIAS_LIMIT: "The project has as many aliases as it may; what is deleted is deleted last.",
    ARCHIVED: "The project is archived, and takes no names.",
    GONE: "The project is gone.",
}
OVERDUE = "payment_overdue"


def enters(action: Action) -> bool:
    """Return whether the action adds the alias to a project."""
    return action.action in CLAIMS or "project_id" in action.changed_fields


def refusals(
    planned: Sequence[Action], projects: Mapping[str, TargetProject], sizes: Mapping[UUID, int]
) -> Iterator[Finding]:
    """Yield the planned actions that a project refuses; `projects` are by the address of the alias."""
    arrivals: dict[str, list[Action]] = defaultdict(list)
    by_name: dict[str, TargetProject] = {}
    for action in planned:
        target = projects.get(action.address)
        if target is not None and enters(action):
            name = target.address or str(target.project_id)
            by_name[name] = target
            arrivals[name].append(action)
    left = leaving(planned)
    for name, arrived in arrivals.items():
        target = by_name[name]
        size = sizes.get(target.project_id, 0) - left[target.project_id] if target.project_id else 0
        for action, code in _against(arrived, target.project, size):
            yield Finding(code=code, address=action.address, message=_SAID[code])


def leaving(actions: Iterable[Action]) -> Counter[UUID]:
    """Return how many aliases each project loses by the actions, before any deletion."""
    gone = (
        each.before for each in actions if each.action is ActionKind.REPLACE or "project_id" in each.changed_fields
    )
    return Counter(view.project_id for view in gone if isinstance(view, AliasView) and view.project_id)


def _against(arrived: Sequence[Action], project: ProjectFields, size: int) -> Iterator[tuple[Action, Refusal]]:
    for at, action in enumerate(arrived):
        assert isinstance(action.after, AliasView)  # noqa: S101 - an alias that is added has a state after
        domain = action.after.address.rpartition("@")[2]
        if refusal := project.refusal(domain=domain, aliases=size + at):
            yield action, refusal


def faults(
    tasks: Sequence[Task],
    goals: Mapping[int, UUID],
    projects: Mapping[UUID, Project],
    sizes: Mapping[UUID, int],
) -> dict[int, StepError]:
    """Return the tasks that a project refuses, by position; `sizes` are those before the tasks.

    `goals` are the projects that the tasks add names to, by position.
    """
    refused: dict[int, str] = {}
    arrivals: dict[UUID, list[Task]] = defaultdict(list)
    for task in tasks:
        if task.position in goals:
            arrivals[goals[task.position]].append(task)
    left = leaving(task.action for task in tasks)
    for project_id, arrived in arrivals.items():
        project = projects.get(project_id)
        if project is None or project.is_archived:
            code = GONE if project is None else ARCHIVED
            refused |= {task.position: code for task in arrived}
            continue
        positions = {task.action.address: task.position for task in arrived}
        size = sizes.get(project_id, 0) - left[project_id]
        against = _against([task.action for task in arrived], project, size)
        refused |= {positions[action.address]: code for action, code in against}
    return {at: StepError(code=code, message=_SAID[code]) for at, code in refused.items()}


def is_charged(action: Action) -> bool:
    """Return whether the action claims a name that has a price, or that is paid for already."""
    is_priced = action.price is not None and bool(action.price.money.amount)
    return action.action in CLAIMS and (is_priced or action.continues is not None)


def refuse_overdue(actions: Sequence[Action], overdue: str | None) -> Iterator[Finding]:
    """Yield the actions that wait until the invoice with the number `overdue` is paid."""
    for action in actions:
        if overdue and is_charged(action):
            yield Finding(code=OVERDUE, address=action.address, message=_overdue_message(overdue))


def overdue_faults(tasks: Sequence[Task], overdue: str | None) -> dict[int, StepError]:
    """Return the tasks that wait until the invoice is paid, by position."""
    if overdue is None:
        return {}
    refused = StepError(code=OVERDUE, message=_overdue_message(overdue))
    return {task.position: refused for task in tasks if is_charged(task.action)}


def _overdue_message(overdue: str) -> str:
    return f"The invoice {overdue} is long overdue: pay it first. Names that cost nothing can be had."
