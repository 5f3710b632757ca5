"""Running a promotion: batch by batch, each with its journal in one transaction.

A crash loses nothing but the batch under way, which its transaction takes back; whoever calls next goes on with
the steps that are still pending. The promotion's row is locked in each batch, so two who run it at once take
turns and do nothing twice.
"""

from collections.abc import Mapping, Sequence
from uuid import UUID

from builders.kit.db.connections import Conn, Database
from builders.kit.errors import DatabaseBusy, DatabaseUnavailable
from builders.kit.process import log
from builders.kit.values import clock
from builders.sandbox import finishing, promotion as promotions
from builders.sandbox.error_codes import StepError
from builders.sandbox.errors import PlanNotFound, PromotionNotFound
from builders.sandbox.kinds.doers import REFUSALS
from builders.sandbox.kinds.work import Task, Work
from builders.sandbox.means import Means
from builders.sandbox.promotion import UNEXPECTED
from builders.sandbox.records import Ground, OnError, Plan, Promotion, PromotionStatus, Step
from builders.sandbox.store import plans as plan_store, promotions as store, steps as journal
from builders.sandbox.wishes import MAX_RESOURCES

BATCH = 2 * MAX_RESOURCES  # so that all updates of a plan are one, and may swap their keys

_log = log.get_logger()


async def run(database: Database, *, account_id: UUID, promotion_id: UUID, means: Means) -> Promotion:
    """Does what is still to do, and gives the promotion as it ended."""
    async with database.connection() as conn:
        promotion = await get(conn, account_id=account_id, promotion_id=promotion_id)
        plan = await plan_store.find_plan(conn, account_id=account_id, plan_id=promotion.plan_id)
    if plan is None:
        raise PlanNotFound("The plan of this promotion is gone.")
    while promotion.status is PromotionStatus.RUNNING:
        if not await _advance(database, plan, promotion, means):
            async with database.connection() as conn:
                return await get(conn, account_id=account_id, promotion_id=promotion_id)
    return promotion


async def get(conn: Conn, *, account_id: UUID, promotion_id: UUID) -> Promotion:
    """A promotion with its steps and invoices. Raises PromotionNotFound."""
    promotion = await store.find_promotion(conn, account_id=account_id, promotion_id=promotion_id)
    if promotion is None:
        raise PromotionNotFound
    return promotion


async def _advance(database: Database, plan: Plan, promotion: Promotion, means: Means) -> bool:
    """Does one batch; False when there is none left and the promotion has ended."""
    owner = {"account_id": plan.account_id, "promotion_id": promotion.id}
    tasks: list[Task] = []
    try:
        async with database.transaction() as conn:
            running = await store.lock_running(conn, **owner)
            if running is None:
                return False
            groups = [[f"{kind} {action}" for kind, action in each] for each in promotions.groups(plan.actions)]
            steps = await journal.list_pending(conn, **owner, groups=groups, limit=BATCH)
            if not steps:
                await finishing.finish(conn, plan, promotion, means)
                return False
            tasks = promotions.tasks(plan, steps)
            await _execute(conn, plan, promotion, tasks, means)
            await journal.finish_steps(conn, **owner, outcomes=journal.successes(steps), now=clock.now())
    except REFUSALS as refusal:
        await _fail(database, plan, promotion, explain(plan, tasks, refusal))
    except (DatabaseUnavailable, DatabaseBusy):
        raise  # the next one to run it finds all as it was
    except Exception:
        if not tasks:
            raise  # it is the end that cannot be written
        # Else it would fail so for ever, and no other plan of the account could be promoted.
        _log.exception("batch_failed", plan=str(plan.id))
        await _fail(database, plan, promotion, {task.position: UNEXPECTED for task in tasks})
    return True


async def _execute(conn: Conn, plan: Plan, promotion: Promotion, tasks: Sequence[Task], means: Means) -> None:
    undone: frozenset[str] = frozenset()
    if required := promotions.required(tasks):
        owner = {"account_id": plan.account_id, "promotion_id": promotion.id}
        undone = await journal.list_undone(conn, **owner, addresses=required)
    work = Work(
        ground=Ground(account_id=plan.account_id),
        manifest=plan.manifest,
        tasks=tasks,
        means=means,
        made=made(promotion.steps),
    )
    await promotions.execute(conn, work, undone=undone)


def made(steps: Sequence[Step]) -> Mapping[str, UUID]:
    """The ids of what steps make or change, by address."""
    return {step.address: step.resource_id for step in steps if step.resource_id is not None}


def explain(plan: Plan, tasks: Sequence[Task], refusal: Exception) -> Mapping[int, StepError]:
    """Which steps failed: the whole batch when the refusal fits none, or it would be tried again for ever."""
    if blamed := promotions.blame(plan.manifest, tasks, refusal):
        return blamed
    _log.error("batch_failed_unexplained", plan=str(plan.id), refusal=type(refusal).__name__)
    return {task.position: UNEXPECTED for task in tasks}


async def _fail(database: Database, plan: Plan, promotion: Promotion, blamed: Mapping[int, StepError]) -> None:
    """Journals the steps (by position) that a batch could not do, so that the next one is without them."""
    owner = {"account_id": plan.account_id, "promotion_id": promotion.id}
    async with database.transaction() as conn:
        running = await store.lock_running(conn, **owner)
        if running is None:
            return
        failed = await journal.finish_steps(conn, **owner, outcomes=journal.failures(blamed), now=clock.now())
        if failed and running.on_error is OnError.STOP:  # unless somebody else has done them since
            await journal.skip_steps(conn, **owner, now=clock.now())
