"""Run a promotion: batch by batch, each with its journal in one transaction.

A crash loses only the batch in progress, whose transaction is rolled back; the next run continues with the pending
steps. The promotion's row is locked in each batch, so concurrent runs alternate and repeat nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from uuid import UUID

from builders.aliases import service as aliases
from builders.invoices import service as invoices
from builders.kit.db.connections import Conn, Database
from builders.kit.errors import DatabaseBusy, DatabaseUnavailable
from builders.kit.process import log
from builders.kit.values import clock
from builders.sandbox.errors import PlanNotFound, PromotionNotFound
from builders.sandbox.manifest import MAX_RESOURCES
from builders.sandbox.promotion import batches, complete
from builders.sandbox.promotion.batches import REFUSALS, UNEXPECTED
from builders.sandbox.records import (
    MOST_SHOWN,
    ActionKind,
    OnError,
    Plan,
    Promotion,
    PromotionStatus,
    Step,
    StepStatus,
    TargetAccount,
)
from builders.sandbox.resources.execution import Batch, RunParameters, Task
from builders.sandbox.step_errors import StepError
from builders.sandbox.store import plans as plan_store, promotions as store, steps as journal

BATCH = 2 * MAX_RESOURCES  # so that all updates of a plan are one batch, and can swap their keys

_log = log.get_logger()


async def run_promotion(
    database: Database, *, account_id: UUID, promotion_id: UUID, parameters: RunParameters
) -> Promotion:
    """Execute the pending steps and return the promotion as it ended. Raise PlanNotFound, PromotionNotFound."""
    async with database.connection() as conn:
        promotion = await read_promotion(conn, account_id=account_id, promotion_id=promotion_id)
        plan = await plan_store.find_plan(conn, account_id=account_id, plan_id=promotion.plan_id)
    if plan is None:
        raise PlanNotFound("The plan of this promotion is gone.")
    while promotion.status is PromotionStatus.RUNNING:
        if not await _advance(database, plan, promotion, parameters):
            async with database.connection() as conn:
                return await read_promotion(conn, account_id=account_id, promotion_id=promotion_id)
    return promotion


async def read_promotion(conn: Conn, *, account_id: UUID, promotion_id: UUID) -> Promotion:
    """Return a promotion with its steps and invoices. Raise PromotionNotFound."""
    promotion = await store.find_promotion(conn, account_id=account_id, promotion_id=promotion_id)
    if promotion is None:
        raise PromotionNotFound
    return promotion


async def _advance(database: Database, plan: Plan, promotion: Promotion, parameters: RunParameters) -> bool:
    """Execute one batch; return False when none is left and the promotion has ended."""
    owner = {"account_id": plan.account_id, "promotion_id": promotion.id}
    tasks: list[Task] = []
    try:
        async with database.transaction() as conn:
            running = await store.lock_running(conn, **owner)
            if running is None:
                return False
            groups = [[f"{kind} {action}" for kind, action in each] for each in batches.groups(plan.actions)]
            steps = await journal.list_pending(conn, **owner, groups=groups, limit=BATCH)
            if not steps:
                await complete.complete(conn, plan, promotion, parameters)
                return False
            tasks = batches.list_tasks(plan, steps)
            await _execute(conn, plan, promotion, tasks, parameters)
            await journal.finish_steps(conn, **owner, outcomes=journal.successes(steps), now=clock.now())
    except REFUSALS as refusal:
        await _fail(database, plan, promotion, explain(plan, tasks, refusal))
    except (DatabaseUnavailable, DatabaseBusy):
        raise  # the next run finds the promotion unchanged
    except Exception:
        if not tasks:
            raise  # the promotion cannot be completed
        # Without this it would fail forever and block every other plan of the account.
        _log.exception("batch_failed", plan=str(plan.id))
        await _fail(database, plan, promotion, {task.position: UNEXPECTED for task in tasks})
    return True


async def _execute(
    conn: Conn, plan: Plan, promotion: Promotion, tasks: Sequence[Task], parameters: RunParameters
) -> None:
    undone: frozenset[str] = frozenset()
    if required := batches.required(tasks):
        owner = {"account_id": plan.account_id, "promotion_id": promotion.id}
        undone = await journal.list_undone(conn, **owner, addresses=required)
    batch = Batch(
        target=TargetAccount(account_id=plan.account_id),
        manifest=plan.manifest,
        tasks=tasks,
        parameters=parameters,
        made=list_made(promotion.steps),
    )
    await batches.execute(conn, batch, undone=undone)


def list_made(steps: Sequence[Step]) -> Mapping[str, UUID]:
    """Return the ids of the resources that steps create or change, by address."""
    return {step.address: step.resource_id for step in steps if step.resource_id is not None}


def explain(plan: Plan, tasks: Sequence[Task], refusal: Exception) -> Mapping[int, StepError]:
    """Return which steps failed: all of the batch if the refusal fits none, so that it is not repeated forever."""
    if blamed := batches.explain_refusal(plan.manifest, tasks, refusal):
        return blamed
    _log.error("batch_failed_unexplained", plan=str(plan.id), refusal=type(refusal).__name__)
    return {task.position: UNEXPECTED for task in tasks}


async def _fail(database: Database, plan: Plan, promotion: Promotion, blamed: Mapping[int, StepError]) -> None:
    """Journal the steps that failed, by position; the next batch leaves them out."""
    owner = {"account_id": plan.account_id, "promotion_id": promotion.id}
    async with database.transaction() as conn:
        running = await store.lock_running(conn, **owner)
        if running is None:
            return
        failed = await journal.finish_steps(conn, **owner, outcomes=journal.failures(blamed), now=clock.now())
        if failed and running.on_error is OnError.STOP:  # another run can have done them since
            await journal.skip_steps(conn, **owner, now=clock.now())


async def get_promotion(conn: Conn, *, account_id: UUID, promotion_id: UUID) -> Promotion:
    """Return a promotion with its steps and with what others have to do. Raise PromotionNotFound."""
    promotion = await read_promotion(conn, account_id=account_id, promotion_id=promotion_id)
    return await add_outstanding(conn, account_id=account_id, promotion=promotion)


async def add_outstanding(conn: Conn, *, account_id: UUID, promotion: Promotion) -> Promotion:
    """Return the promotion with the unconfirmed destinations and the open invoices, in two statements."""
    done = {
        step.resource_id
        for step in promotion.steps
        if step.status is StepStatus.SUCCEEDED and step.action is not ActionKind.DELETE
    }
    unconfirmed = await aliases.list_unconfirmed(
        conn, account_id=account_id, alias_ids=[each for each in done if each], limit=MOST_SHOWN
    )
    billed = {each.id for each in promotion.invoices}
    unpaid = await invoices.list_open(conn, account_id=account_id, invoice_ids=billed) if billed else frozenset()
    return replace(
        promotion, unconfirmed=unconfirmed, unpaid=[each for each in promotion.invoices if each.id in unpaid]
    )
