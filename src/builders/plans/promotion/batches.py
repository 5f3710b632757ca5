"""The steps of a promotion in stages, and the execution of a batch of them, without the journal."""

from collections.abc import Mapping, Sequence
from uuid import UUID

from builders.aliases.records import AliasName
from builders.kit.db.connections import Conn
from builders.kit.process import log
from builders.kit.values import ids
from builders.plans.records import (
    CLAIMS,
    Action,
    ActionKind,
    Finding,
    Kind,
    Plan,
    Step,
    StepError,
    StepStatus,
    TargetAccount,
)
from builders.plans.resources import alias_rules, aliases, domains, projects, webhooks
from builders.plans.resources.kinds import Batch, Executor, RunParameters, StepsRefused, Task

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
UNEXPECTED = StepError(code="unexpected", message="An unexpected error occurred. Try again.")

_log = log.get_logger()


def group_stages(actions: Sequence[Action]) -> Sequence[Sequence[tuple[Kind, ActionKind]]]:
    """Return the stages in sequence, grouped by batch."""
    if not alias_rules.need_one_batch([action for action in actions if action.kind is Kind.ALIAS]):
        return [(stage,) for stage in STAGES]
    at = STAGES.index(ALIASES[0])
    others = [(stage,) for stage in STAGES if stage not in ALIASES]
    return [*others[:at], ALIASES, *others[at:]]


def list_next(plan: Plan, steps: Sequence[Step]) -> list[Task]:
    """Return the next batch: the pending tasks of the first group of stages that has any."""
    pending = [
        Task(step=step, action=plan.actions[step.position]) for step in steps if step.status is StepStatus.PENDING
    ]
    groups = group_stages(plan.actions) if pending else ()
    batches = ([task for task in pending if (task.action.kind, task.action.action) in group] for group in groups)
    return next(filter(None, batches), [])


def list_wanted(plan: Plan, steps: Sequence[Step]) -> list[AliasName]:
    """Return the names that the steps claim."""
    return [
        AliasName(domain=place.domain, key=place.key, skeleton=place.skeleton, alias_id=step.resource_id)
        for step in steps
        if (place := plan.actions[step.position].place) is not None and step.resource_id is not None
    ]


async def execute(
    conn: Conn,
    *,
    target: TargetAccount,
    plan: Plan,
    steps: Sequence[Step],
    tasks: Sequence[Task],
    parameters: RunParameters,
) -> None:
    """Execute tasks of one group of stages, all or none; `steps` are all of the promotion.

    Raise one of REFUSALS (`explain_refusal`).
    """
    undone = {step.address for step in steps if step.status is not StepStatus.SUCCEEDED}
    undone -= {task.action.address for task in tasks}
    unmet = [task.action.address for task in tasks if undone.intersection(task.action.requires)]
    if unmet:
        message = "A required step did not succeed."
        raise StepsRefused([Finding(code="requirement_failed", address=each, message=message) for each in unmet])
    made: Mapping[str, UUID] = {step.address: step.resource_id for step in steps if step.resource_id is not None}
    batch = Batch(target=target, manifest=plan.manifest, tasks=tasks, parameters=parameters, made=made)
    await EXECUTORS[tasks[0].action.kind].execute(conn, batch)


def explain_refusal(plan: Plan, tasks: Sequence[Task], refusal: Exception) -> Mapping[int, StepError]:
    """Return the errors by position; of all tasks if none caused the refusal, so that no batch is repeated."""
    blamed: dict[int, StepError] = {}
    for task in tasks:
        if isinstance(refusal, StepsRefused):
            fault = refusal.errors.get(task.action.address)
        else:
            find = EXECUTORS[task.action.kind].faults.get(type(refusal))
            fault = find and find(plan.manifest, task, refusal)
        if fault is not None:
            blamed[task.step.position] = fault
    if not blamed:
        _log.error("batch_failed_unexplained", plan=str(plan.id), refusal=type(refusal).__name__)
        return {task.step.position: UNEXPECTED for task in tasks}
    return blamed


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
