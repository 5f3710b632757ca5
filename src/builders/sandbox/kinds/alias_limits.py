"""What a project allows: on which domains its names are, and how many it has.

Checked when a plan is made, and again where names are claimed, with the projects locked. What is given up is given
up last of all, so a name makes room for another only when it is replaced, or moves to another project.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from uuid import UUID

from builders.projects.records import Project, ProjectFields, Refusal
from builders.sandbox.error_codes import StepError
from builders.sandbox.kinds.homes import Home
from builders.sandbox.kinds.work import Task
from builders.sandbox.records import Action, ActionKind, Finding
from builders.sandbox.views import AliasView

CLAIMS = {ActionKind.CREATE, ActionKind.REPLACE}
ARCHIVED, GONE = "project_archived", "project_not_found"
_SAID: Mapping[str, str] = {
    Refusal.DOMAIN_NOT_ALLOWED: "The project allows no names on this domain.",
    Refusal.ALIAS_LIMIT: "The project has as many aliases as it may; what is deleted is deleted last.",
    ARCHIVED: "The project is archived, and takes no names.",
    GONE: "The project is gone.",
}


def enters(action: Action) -> bool:
    """Whether the alias comes to be in a project where it was not."""
    return action.action in CLAIMS or "project_id" in action.changed_fields


def refusals(planned: Sequence[Action], homes: Mapping[str, Home], sizes: Mapping[UUID, int]) -> Iterator[Finding]:
    """What the projects have against the planned actions; `homes` by the address of the alias."""
    arrivals: dict[str, list[Action]] = defaultdict(list)
    by_name: dict[str, Home] = {}
    for action in planned:
        home = homes.get(action.address)
        if home is not None and enters(action):
            name = home.address or str(home.project_id)
            by_name[name] = home
            arrivals[name].append(action)
    left = leaving(planned)
    for name, arrived in arrivals.items():
        home = by_name[name]
        size = sizes.get(home.project_id, 0) - left[home.project_id] if home.project_id else 0
        for action, code in _against(arrived, home.project, size):
            yield Finding(code=code, address=action.address, message=_SAID[code])


def leaving(actions: Iterable[Action]) -> Counter[UUID]:
    """How many aliases each project loses when these are done, before any deletion."""
    gone = (
        each.before for each in actions if each.action is ActionKind.REPLACE or "project_id" in each.changed_fields
    )
    return Counter(view.project_id for view in gone if isinstance(view, AliasView) and view.project_id)


def _against(arrived: Sequence[Action], project: ProjectFields, size: int) -> Iterator[tuple[Action, Refusal]]:
    for at, action in enumerate(arrived):
        assert isinstance(action.after, AliasView)  # noqa: S101 - what arrives is there afterwards
        domain = action.after.address.rpartition("@")[2]
        if refusal := project.refusal(domain=domain, aliases=size + at):
            yield action, refusal


def faults(
    tasks: Sequence[Task],
    goals: Mapping[int, UUID],
    projects: Mapping[UUID, Project],
    sizes: Mapping[UUID, int],
) -> dict[int, StepError]:
    """Which tasks the projects refuse, by position; `sizes` are those before the tasks are done.

    `goals` are the projects that the tasks bring names into, by position.
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
