"""Promote a plan: start its promotion, run it batch by batch, and return the result.

Each batch is one transaction with its journal. A crash loses only the batch in progress, which is rolled back; the
next run continues with the pending steps. A batch locks the promotion's row: concurrent runs alternate and repeat
nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from uuid import UUID

from builders.aliases import confirmations
from builders.invoices import charges
from builders.kit.db.connections import Conn, Database
from builders.kit.errors import DatabaseBusy, DatabaseUnavailable
from builders.kit.http.callers import Actor
from builders.kit.jobs.time_slices import TimeSlice
from builders.kit.outbound.client import Outbound
from builders.kit.process import log
from builders.kit.process.secret_keys import Keyring
from builders.kit.values import clock
from builders.sandbox.errors import PlanNotFound, PromotionNotFound
from builders.sandbox.manifest import MAX_RESOURCES
from builders.sandbox.promotion import batches, complete
from builders.sandbox.promotion.batches import REFUSALS, UNEXPECTED
from builders.sandbox.promotion.start import start as start_promotion
from builders.sandbox.records import (
    MAX_SHOWN,
    ActionKind,
    OnError,
    Plan,
    Promotion,
    PromotionRequest,
    PromotionStatus,
    Step,
    StepStatus,
    TargetAccount,
)
from builders.sandbox.resources.kinds import Batch, RunParameters, Task
from builders.sandbox.resources.webhooks import is_secret_generated
from builders.sandbox.step_errors import StepError
from builders.sandbox.store import plans as plan_store, promotions as store, steps as journal
from builders.webhooks import batches as webhook_batches

BATCH = 2 * MAX_RESOURCES  # all updates of a plan are one batch, so that they can swap keys

_log = log.get_logger()


async def promote(
    database: Database,
    *,
    outbound: Outbound,
    account_id: UUID,
    request: PromotionRequest,
    actor: Actor,
    parameters: RunParameters,
) -> Promotion:
    """Execute a reviewed plan. A repeated call continues where the promotion stopped, and repeats nothing.

    With `resume` it also retries failed and skipped steps, unless their preconditions have changed. A job executes
    a large promotion, which is returned as `running`. New secrets are in one response only.

    Take the database, since each batch of steps is a transaction. Raise PlanNotFound, PlanBlocked,
    PlanDigestMismatch, PlanExpired, ConfirmDeletesMismatch, TotalExceeded, PlanStale, EmailUnverified,
    PromotionRunning, ProjectArchived.
    """
    promotion_id, is_large = await start_promotion(
        database, outbound=outbound, account_id=account_id, request=request, actor=actor
    )
    owner = {"account_id": account_id, "promotion_id": promotion_id}
    promotion = None
    if not is_large:
        promotion = await run_promotion(
            database, account_id=account_id, promotion_id=promotion_id, parameters=parameters
        )
    async with database.connection() as conn:
        promotion = (
            await _add_outstanding(conn, account_id=account_id, promotion=promotion)
            if promotion
            else await get_promotion(conn, **owner)
        )
    return await _reveal_secrets(database, account_id=account_id, promotion=promotion, keyring=parameters.keyring)


async def get_promotion(conn: Conn, *, account_id: UUID, promotion_id: UUID) -> Promotion:
    """Return a promotion with its steps, unconfirmed destinations and open invoices. Raise PromotionNotFound."""
    promotion = await read_promotion(conn, account_id=account_id, promotion_id=promotion_id)
    return await _add_outstanding(conn, account_id=account_id, promotion=promotion)


async def _add_outstanding(conn: Conn, *, account_id: UUID, promotion: Promotion) -> Promotion:
    """Return the promotion with the unconfirmed destinations and the open invoices, in two statements."""
    done = {
        step.resource_id
        for step in promotion.steps
        if step.status is StepStatus.SUCCEEDED and step.action is not ActionKind.DELETE
    }
    unconfirmed = await confirmations.list_unconfirmed(
        conn, account_id=account_id, alias_ids=[each for each in done if each], limit=MAX_SHOWN
    )
    billed = {each.id for each in promotion.invoices}
    unpaid = await charges.list_open(conn, account_id=account_id, invoice_ids=billed) if billed else frozenset()
    return replace(
        promotion, unconfirmed=unconfirmed, unpaid=[each for each in promotion.invoices if each.id in unpaid]
    )


async def _reveal_secrets(
    database: Database, *, account_id: UUID, promotion: Promotion, keyring: Keyring
) -> Promotion:
    """Return the promotion with the secrets that no response has shown; only one caller receives them."""
    made = [step for step in promotion.steps if _may_show(step)]
    if not made:
        return promotion
    async with database.transaction() as conn:
        plan = await plan_store.find_plan(conn, account_id=account_id, plan_id=promotion.plan_id)
        fresh = [step for step in made if plan and is_secret_generated(plan.actions[step.position])]
        ids = [step.resource_id for step in fresh if step.resource_id]
        secrets = await webhook_batches.reveal_secrets(
            conn, keyring=keyring, account_id=account_id, destination_ids=ids
        )
    shown = [
        replace(step, signing_secret=secrets.get(step.resource_id) if step.resource_id else None)
        for step in promotion.steps
    ]
    return replace(promotion, steps=shown)


def _may_show(step: Step) -> bool:
    is_new = step.address.startswith("webhook.") and step.action is ActionKind.CREATE
    return is_new and step.status is StepStatus.SUCCEEDED


async def run_promotion(
    database: Database,
    *,
    account_id: UUID,
    promotion_id: UUID,
    parameters: RunParameters,
    time_slice: TimeSlice | None = None,
) -> Promotion:
    """Execute the pending steps and return the promotion; it still runs if the time slice is over before its end.

    Raise PlanNotFound, PromotionNotFound.
    """
    async with database.connection() as conn:
        promotion = await read_promotion(conn, account_id=account_id, promotion_id=promotion_id)
        plan = await plan_store.find_plan(conn, account_id=account_id, plan_id=promotion.plan_id)
    if plan is None:
        raise PlanNotFound("The plan of this promotion no longer exists.")
    while promotion.status is PromotionStatus.RUNNING:
        if not await _advance(database, plan, promotion, parameters):
            async with database.connection() as conn:
                return await read_promotion(conn, account_id=account_id, promotion_id=promotion_id)
        if time_slice is not None and time_slice.is_over:
            break
    return promotion


async def read_promotion(conn: Conn, *, account_id: UUID, promotion_id: UUID) -> Promotion:
    """Return a promotion with its steps and invoices. Raise PromotionNotFound."""
    promotion = await store.find_promotion(conn, account_id=account_id, promotion_id=promotion_id)
    if promotion is None:
        raise PromotionNotFound
    return promotion


async def _advance(database: Database, plan: Plan, promotion: Promotion, parameters: RunParameters) -> bool:
    """Execute one batch; return False after the last one, when the promotion has ended."""
    owner = {"account_id": plan.account_id, "promotion_id": promotion.id}
    tasks: list[Task] = []
    try:
        async with database.transaction() as conn:
            running = await store.lock_running(conn, **owner)
            if running is None:
                return False
            groups = [[f"{kind} {action}" for kind, action in each] for each in batches.group_stages(plan.actions)]
            steps = await journal.list_pending(conn, **owner, groups=groups, limit=BATCH)
            if not steps:
                await complete.complete(conn, plan=plan, promotion=promotion, parameters=parameters)
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
        # Otherwise the batch would fail forever and block every other plan of the account.
        _log.exception("batch_failed", plan=str(plan.id))
        await _fail(database, plan, promotion, {task.step.position: UNEXPECTED for task in tasks})
    return True


async def _execute(
    conn: Conn, plan: Plan, promotion: Promotion, tasks: Sequence[Task], parameters: RunParameters
) -> None:
    undone: frozenset[str] = frozenset()
    if required := batches.list_required(tasks):
        owner = {"account_id": plan.account_id, "promotion_id": promotion.id}
        undone = await journal.list_undone(conn, **owner, addresses=required)
    batch = Batch(
        target=TargetAccount(account_id=plan.account_id),
        manifest=plan.manifest,
        tasks=tasks,
        parameters=parameters,
        made=list_created(promotion.steps),
    )
    await batches.execute(conn, batch=batch, undone=undone)


def list_created(steps: Sequence[Step]) -> Mapping[str, UUID]:
    """Return the ids of the resources that steps create or change, by address."""
    return {step.address: step.resource_id for step in steps if step.resource_id is not None}


def explain(plan: Plan, tasks: Sequence[Task], refusal: Exception) -> Mapping[int, StepError]:
    """Return the errors by position; of all tasks if none caused the refusal, so that no batch is repeated."""
    if blamed := batches.explain_refusal(plan.manifest, tasks, refusal):
        return blamed
    _log.error("batch_failed_unexplained", plan=str(plan.id), refusal=type(refusal).__name__)
    return {task.step.position: UNEXPECTED for task in tasks}


async def _fail(database: Database, plan: Plan, promotion: Promotion, blamed: Mapping[int, StepError]) -> None:
    """Record the failed steps in the journal; the next batch omits them."""
    owner = {"account_id": plan.account_id, "promotion_id": promotion.id}
    async with database.transaction() as conn:
        running = await store.lock_running(conn, **owner)
        if running is None:
            return
        failed = await journal.finish_steps(conn, **owner, outcomes=journal.failures(blamed), now=clock.now())
        if failed and running.on_error is OnError.STOP:  # false if another run executed the steps
            await journal.skip_steps(conn, **owner, now=clock.now())
