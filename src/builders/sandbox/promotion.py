"""What a promotion checks before it writes, and how a batch of like actions is done."""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from builders.aliases.records import Name, Wanted
from builders.kit.db.connections import Conn
from builders.kit.values import ids
from builders.sandbox.error_codes import StepError
from builders.sandbox.kinds import alias_circles, alias_steps
from builders.sandbox.kinds.doers import DOERS
from builders.sandbox.kinds.live import Live
from builders.sandbox.kinds.work import StepsRefused, Task, Work
from builders.sandbox.records import (
    Action,
    ActionKind,
    Finding,
    Kind,
    Plan,
    Step,
    StepStatus,
)

# Updates first: they give up the keys that others take. Deletions last: what goes wrong before has lost nothing.
WITHIN = (ActionKind.UPDATE, ActionKind.ADOPT, ActionKind.CREATE, ActionKind.REPLACE)
STAGES: Sequence[tuple[Kind, ActionKind]] = (
    *((kind, action) for kind in Kind for action in WITHIN),
    *((kind, ActionKind.DELETE) for kind in reversed(Kind)),
)
ALIASES = tuple(stage for stage in STAGES if stage[0] is Kind.ALIAS)  # they stand together in STAGES
CLAIMS = {ActionKind.CREATE, ActionKind.REPLACE}  # what makes something new
REQUIREMENT_FAILED = StepError(code="requirement_failed", message="What it requires was not done.")
UNEXPECTED = StepError(code="unexpected", message="It could not be done, and we do not know why. Try again.")


def drift(manifest: str, actions: Sequence[Action], live: Live) -> Iterator[Finding]:
    """Where the live state is no longer what was planned on."""
    by_kind: dict[Kind, list[Action]] = defaultdict(list)
    for action in actions:
        by_kind[action.kind].append(action)
    for kind, planned in by_kind.items():
        yield from DOERS[kind].drift(manifest, planned, live)


def groups(actions: Sequence[Action]) -> Sequence[Sequence[tuple[Kind, ActionKind]]]:
    """The stages in their order, together those that are done as one."""
    if not alias_circles.are_tangled([action for action in actions if action.kind is Kind.ALIAS]):
        return [(stage,) for stage in STAGES]
    at = STAGES.index(ALIASES[0])
    others = [(stage,) for stage in STAGES if stage not in ALIASES]
    return [*others[:at], ALIASES, *others[at:]]


def tasks(plan: Plan, steps: Sequence[Step]) -> list[Task]:
    """The actions of the steps, each with the id of what it makes or changes."""
    return [
        Task(position=step.position, action=plan.actions[step.position], resource_id=step.resource_id)
        for step in steps
    ]


def wanted(tasks: Sequence[Task]) -> list[Wanted]:
    """The names that the tasks claim."""
    return alias_steps.wanted(tasks)


def claimed(tasks: Sequence[Task]) -> list[Name]:
    """As `wanted`, as names."""
    return [each.name for each in wanted(tasks)]


async def execute(conn: Conn, work: Work, *, undone: frozenset[str]) -> None:
    """Does a batch of actions of one group of stages, all or none. Raises one of REFUSALS, which `blame` explains.

    `undone` has the addresses of what must be done before and is not, of this batch or before it.
    """
    own = {task.action.address for task in work.tasks}
    missing = undone - own
    unmet = {task.position: REQUIREMENT_FAILED for task in work.tasks if missing & {*task.action.requires}}
    if unmet:
        raise StepsRefused(unmet)
    await DOERS[work.tasks[0].action.kind].execute(conn, work)


def required(tasks: Sequence[Task]) -> list[str]:
    """What must be done before the tasks."""
    return sorted({address for task in tasks for address in task.action.requires})


def blame(manifest: str, tasks: Sequence[Task], refusal: Exception) -> dict[int, StepError]:
    """Which of a batch's tasks, by position, could not be done, and why; none when the refusal fits none."""
    if isinstance(refusal, StepsRefused):
        return dict(refusal.faults)
    faults = {task.position: DOERS[task.action.kind].fault(manifest, task, refusal) for task in tasks}
    return {position: fault for position, fault in faults.items() if fault is not None}


def steps(actions: Sequence[Action]) -> list[Step]:
    """Return the steps of a new promotion, with the ids of what they make."""
    made = [at for at, action in enumerate(actions) if action.action in CLAIMS]
    new_id = dict(zip(made, ids.new_many(len(made)), strict=True))
    new_id |= {at: action.continues.alias_id for at, action in enumerate(actions) if action.continues}
    return [
        Step(
            position=at,
            address=action.address,
            action=action.action,
            status=StepStatus.PENDING,
            attempts=0,
            resource_id=new_id.get(at, action.resource_id),
            error=None,
            finished_at=None,
        )
        for at, action in enumerate(actions)
    ]
