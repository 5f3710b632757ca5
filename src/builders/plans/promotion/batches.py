"""The stages of a promotion, the execution of a batch without the journal, and the completion of a promotion.

The completion sets the status, releases unclaimed names, publishes the event, and issues invoices.
"""

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from uuid import UUID

from builders.aliases import billing, claims as alias_claims
from builders.aliases.records import AliasName
from builders.invoices import issuance
from builders.invoices.records import Invoice, NewInvoice, NewLine
from builders.kit.db.connections import CONNECTION_ERRORS, Conn
from builders.kit.events import outbox
from builders.kit.process import log
from builders.kit.values import clock, ids
from builders.plans import store
from builders.plans.events import PROMOTION_COMPLETED, PROMOTION_FAILED, PromotionData
from builders.plans.records import (
    CLAIMS,
    Action,
    ActionKind,
    AliasView,
    BilledOn,
    Finding,
    Kind,
    Plan,
    Promotion,
    PromotionStatus,
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


COMPLETION_FAILED = StepError(
    code="ending_failed",
    message="An unexpected error prevented the completion. The steps were executed; resume the promotion.",
)
PAYABLE_WITHIN = timedelta(days=14)  # an invoice
Bill = tuple[Invoice, Mapping[int, NewLine]]  # an invoice, and its lines by the position of the step


def decide_status(steps: Sequence[Step]) -> PromotionStatus:
    """Return the status of a promotion by those of its steps."""
    found = {step.status for step in steps}
    if not found & {StepStatus.FAILED, StepStatus.SKIPPED}:
        return PromotionStatus.SUCCEEDED
    return PromotionStatus.PARTIAL if StepStatus.SUCCEEDED in found else PromotionStatus.FAILED


async def complete(conn: Conn, *, plan: Plan, promotion: Promotion, parameters: RunParameters) -> Promotion:
    """Complete a promotion without pending steps, in the transaction that locks its row; return it."""
    steps, status = promotion.steps, decide_status(promotion.steps)
    await _release_reservations(conn, plan, steps)
    await publish(conn, plan=plan, promotion_id=promotion.id, steps=steps, status=status)
    bills = await issue_invoices(conn, plan=plan, steps=steps, parameters=parameters, promotion_id=promotion.id)
    return await _end(conn, plan.account_id, replace(promotion, status=status), bills)


async def abandon(conn: Conn, *, account_id: UUID, promotion_id: UUID, parameters: RunParameters) -> None:
    """End a promotion that cannot be completed, so that its account can promote again; do nothing if it has ended.

    Pending steps are skipped. Names, event and invoice have a savepoint each, since any of them can be the cause;
    a failed part is logged, and repeated when the promotion is resumed. Raise PromotionNotFound.
    """
    owner, now = {"account_id": account_id, "promotion_id": promotion_id}, clock.now()
    promotion = await store.get_promotion(conn, **owner, lock=True)
    if promotion.status is not PromotionStatus.RUNNING:
        return
    await store.skip_steps(conn, **owner, now=now)
    steps = [
        replace(step, status=StepStatus.SKIPPED, finished_at=now) if step.status is StepStatus.PENDING else step
        for step in promotion.steps
    ]
    some = any(step.status is StepStatus.SUCCEEDED for step in steps)
    status = PromotionStatus.PARTIAL if some else PromotionStatus.FAILED
    parts: Mapping[str, Callable[[Plan], Awaitable[Sequence[Bill] | None]]] = {
        "names": lambda plan: _release_reservations(conn, plan, steps),
        "event": lambda plan: publish(conn, plan=plan, promotion_id=promotion_id, steps=steps, status=status),
        "invoice": lambda plan: issue_invoices(
            conn, plan=plan, steps=steps, parameters=parameters, promotion_id=promotion_id
        ),
    }
    bills: Sequence[Bill] = ()
    for name, part in parts.items():
        try:
            async with conn.transaction():
                plan, _ = await store.get_plan(conn, account_id=account_id, plan_id=promotion.plan_id)
                bills = await part(plan) or ()
        except CONNECTION_ERRORS:
            raise  # the job is retried
        except Exception:  # noqa: BLE001 - a failed part must not keep the promotion open
            _log.exception("promotion_part_failed", promotion=str(promotion_id), part=name)
    ended = replace(promotion, steps=steps, status=status, error=COMPLETION_FAILED)
    await _end(conn, account_id, ended, bills)


async def _end(conn: Conn, account_id: UUID, promotion: Promotion, bills: Sequence[Bill]) -> Promotion:
    """Write the end of a promotion with the invoices of its steps; return it."""
    billed = {position: invoice.id for invoice, lines in bills for position in lines}
    issued = [BilledOn(id=invoice.id, number=invoice.number, total=invoice.total) for invoice, _ in bills]
    ended = replace(
        promotion,
        finished_at=clock.now(),
        invoices=[*promotion.invoices, *issued],
        steps=[replace(step, invoice_id=billed.get(step.position, step.invoice_id)) for step in promotion.steps],
    )
    await store.finish_promotion(conn, account_id=account_id, promotion=ended)
    return ended


async def publish(
    conn: Conn, *, plan: Plan, promotion_id: UUID, steps: Sequence[Step], status: PromotionStatus
) -> None:
    """Publish promotion.completed or promotion.failed, with the number of steps in each status."""
    counts = Counter(step.status for step in steps)
    data = PromotionData(
        id=promotion_id,
        plan_id=plan.id,
        manifest=plan.manifest,
        succeeded=counts[StepStatus.SUCCEEDED],
        failed=counts[StepStatus.FAILED],
        skipped=counts[StepStatus.SKIPPED],
        kinds=dict(Counter(action.kind for action in plan.actions)),
    )
    event = PROMOTION_COMPLETED if status is PromotionStatus.SUCCEEDED else PROMOTION_FAILED
    await outbox.publish(conn, event, account_id=plan.account_id, data=data)


async def _release_reservations(conn: Conn, plan: Plan, steps: Sequence[Step]) -> None:
    """Release the reserved names of failed and skipped steps."""
    undone = [step for step in steps if step.status in {StepStatus.FAILED, StepStatus.SKIPPED}]
    if wanted := list_wanted(plan, undone):
        realm, names = TargetAccount(account_id=plan.account_id).realm, [each.name for each in wanted]
        await alias_claims.release_reservations(conn, realm=realm, account_id=plan.account_id, names=names)


async def issue_invoices(
    conn: Conn, *, plan: Plan, steps: Sequence[Step], parameters: RunParameters, promotion_id: UUID | None
) -> list[Bill]:
    """Issue an invoice in each currency for claims that are on none; return each with its lines by position.

    Resuming never bills twice. A test invoice has no promotion.
    """
    bills: list[Bill] = []
    for currency, lines in (await _list_lines(conn, plan, steps)).items():
        new = NewInvoice(
            is_test=promotion_id is None,
            seller=parameters.seller,
            lines=list(lines.values()),
            currency=currency,
            due_at=clock.now() + PAYABLE_WITHIN,
            promotion_id=promotion_id,
        )
        bills.append((await issuance.issue(conn, account_id=plan.account_id, new=new), lines))
    return bills


async def _list_lines(conn: Conn, plan: Plan, steps: Sequence[Step]) -> Mapping[str, Mapping[int, NewLine]]:
    """Return the invoice lines for claims that are on no invoice, by currency and position.

    A line is for the first period of a name, which may have been released in the meantime.
    """
    priced = [
        (step.position, step.resource_id, action.after.address, action.price.money)
        for step in steps
        if step.status is StepStatus.SUCCEEDED and step.invoice_id is None and step.resource_id
        for action in [plan.actions[step.position]]
        if action.price is not None and action.price.money.amount and isinstance(action.after, AliasView)
    ]
    if not priced:
        return {}
    alias_ids = [alias_id for _, alias_id, _, _ in priced]
    claims = await billing.lock_claims(conn, account_id=plan.account_id, alias_ids=alias_ids)
    lines: dict[str, dict[int, NewLine]] = {}
    for position, alias_id, address, price in priced:
        claim = claims[alias_id]
        if not claim.is_undone:
            lines.setdefault(price.currency, {})[position] = NewLine(
                description=address,
                alias_id=alias_id,
                quantity=1,
                unit_amount=price,
                period_start=claim.claimed_at,
                period_end=claim.period_end,
            )
    return dict(sorted(lines.items()))
