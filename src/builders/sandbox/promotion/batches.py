"""The stages of a promotion, and the execution of a batch without the journal."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from builders.aliases.records import AliasName
from builders.kit.db.connections import Conn
from builders.kit.values import ids
from builders.sandbox.records import Action, ActionKind, Finding, Kind, Plan, Step, StepStatus
from builders.sandbox.resources import domains, projects, webhooks
from builders.sandbox.resources.aliases import execution as aliases, names
from builders.sandbox.resources.kinds import Batch, Executor, StepsRefused, Task
from builders.sandbox.resources.live_state import LiveState
from builders.sandbox.step_errors import StepError

EXECUTORS: Mapping[Kind, Executor] = {
    Kind.PROJECT: projects.EXECUTOR,
    Kind.DOMAIN: domains.EXECUTOR,
    Kind.WEBHOOK: webhooks.EXECUTOR,
    Kind.ALIAS: aliases.EXECUTOR,
}
REFUSALS: tuple[type[Exception], ...] = (
    StepsRefused,
    *{each for executor in EXECUTORS.values() for each in executor.faults},
)
# Updates come first: they free keys for other resources. Deletions come last: a failure before them loses nothing.
WITHIN = (ActionKind.UPDATE, ActionKind.ADOPT, ActionKind.CREATE, ActionKind.REPLACE)
STAGES: Sequence[tuple[Kind, ActionKind]] = (
    *((kind, action) for kind in Kind for action in WITHIN),
    *((kind, ActionKind.DELETE) for kind in reversed(Kind)),
)
ALIASES = tuple(stage for stage in STAGES if stage[0] is Kind.ALIAS)  # adjacent in STAGES
CLAIMS = {ActionKind.CREATE, ActionKind.REPLACE}  # actions that create a resource
UNEXPECTED = StepError(code="unexpected", message="An unexpected error occurred. Try again.")


def find_drift(manifest: str, actions: Sequence[Action], live: LiveState) -> Iterator[Finding]:
    """Yield the changes since the plan was made."""
    by_kind: dict[Kind, list[Action]] = defaultdict(list)
    for action in actions:
        by_kind[action.kind].append(action)
    for kind, planned in by_kind.items():
        yield from EXECUTORS[kind].drift(manifest, planned, live)


def group_stages(actions: Sequence[Action]) -> Sequence[Sequence[tuple[Kind, ActionKind]]]:
    """Return the stages in sequence, grouped by batch."""
    if not names.need_one_batch([action for action in actions if action.kind is Kind.ALIAS]):
        return [(stage,) for stage in STAGES]
    at = STAGES.index(ALIASES[0])
    others = [(stage,) for stage in STAGES if stage not in ALIASES]
    return [*others[:at], ALIASES, *others[at:]]


def list_tasks(plan: Plan, steps: Sequence[Step]) -> list[Task]:
    """Return the steps with their actions."""
    return [Task(step=step, action=plan.actions[step.position]) for step in steps]


def list_next(plan: Plan, steps: Sequence[Step]) -> list[Task]:
    """Return the next batch: the pending tasks of the first group of stages that has any."""
    pending = [task for task in list_tasks(plan, steps) if task.step.status is StepStatus.PENDING]
    groups = group_stages(plan.actions) if pending else ()
    batches = ([task for task in pending if (task.action.kind, task.action.action) in group] for group in groups)
    return next(filter(None, batches), [])


def list_wanted(tasks: Sequence[Task]) -> list[AliasName]:
    """Return the names that the tasks claim."""
    return [
        AliasName(domain=place.domain, key=place.key, skeleton=place.skeleton, alias_id=task.step.resource_id)
        for task in tasks
        if (place := task.action.place) is not None and task.step.resource_id is not None
    ]


async def execute(conn: Conn, *, batch: Batch, undone: frozenset[str]) -> None:
    """Execute a batch of one group of stages, all tasks or none. Raise one of REFUSALS (`explain_refusal`).

    `undone` has the addresses of required steps that have not succeeded, in this batch or before.
    """
    own = {task.action.address for task in batch.tasks}
    missing = undone - own
    unmet = [task.action.address for task in batch.tasks if missing & {*task.action.requires}]
    if unmet:
        message = "A required step did not succeed."
        raise StepsRefused([Finding(code="requirement_failed", address=each, message=message) for each in unmet])
    await EXECUTORS[batch.tasks[0].action.kind].execute(conn, batch)


def explain_refusal(manifest: str, tasks: Sequence[Task], refusal: Exception) -> dict[int, StepError]:
    """Return the errors of the tasks that caused a refusal, by position; empty if none did."""
    faults = {task.step.position: _find_fault(manifest, task, refusal) for task in tasks}
    return {position: fault for position, fault in faults.items() if fault is not None}


def _find_fault(manifest: str, task: Task, refusal: Exception) -> StepError | None:
    if isinstance(refusal, StepsRefused):
        return refusal.errors.get(task.action.address)
    find = EXECUTORS[task.action.kind].faults.get(type(refusal))
    return find and find(manifest, task, refusal)


def new_steps(actions: Sequence[Action]) -> list[Step]:
    """Return the steps of a new promotion, with the ids of the resources that they create.

    A step without a change has succeeded.
    """
    made = [at for at, action in enumerate(actions) if action.action in CLAIMS]
    new_id = dict(zip(made, ids.new_many(len(made)), strict=True))
    new_id |= {at: action.continues.alias_id for at, action in enumerate(actions) if action.continues}
    return [
        Step(
            position=at,
            address=action.address,
            action=action.action,
            status=StepStatus.SUCCEEDED if action.action is ActionKind.NO_OP else StepStatus.PENDING,
            attempts=0,
            resource_id=new_id.get(at, action.resource_id),
            error=None,
            finished_at=None,
        )
        for at, action in enumerate(actions)
    ]
