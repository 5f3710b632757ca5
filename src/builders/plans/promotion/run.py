"""Promote a plan: start its promotion, run it batch by batch, and return the result.

Each batch is one transaction with its journal. A crash loses only the batch in progress, which is rolled back; the
next run continues with the pending steps. A batch locks the promotion's row: concurrent runs alternate and repeat
nothing.
"""

from collections.abc import Mapping
from dataclasses import replace
from uuid import UUID

from builders.aliases import confirmations
from builders.identity import keys
from builders.invoices import issuance
from builders.kit.callers import Actor
from builders.kit.db.connections import CONNECTION_ERRORS, Conn, Database
from builders.kit.errors import DatabaseBusy, DatabaseUnavailable
from builders.kit.http.callers import ApprovalRequired
from builders.kit.jobs.time_slices import TimeSlice
from builders.kit.outbound.client import Outbound
from builders.kit.process import log
from builders.kit.values import clock
from builders.plans import planning, store
from builders.plans.approval import requests
from builders.plans.promotion import batches, completion, start
from builders.plans.promotion.batches import REFUSALS, UNEXPECTED
from builders.plans.records import (
    GENERATE,
    MAX_SHOWN,
    ActionKind,
    OnError,
    Plan,
    Promotion,
    PromotionRequest,
    PromotionStatus,
    StepError,
    StepStatus,
    TargetAccount,
)
from builders.plans.resources.kinds import RunParameters, Task
from builders.webhooks import destinations as webhook_destinations

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
    PromotionRunning, PromotionLimit, ProjectArchived, MandateExceeded, CredentialsInvalid for a revoked
    key, and ApprovalRequired, after which the deciders are asked.
    """
    promotion_id, plan = await _start_or_ask(database, outbound, account_id, request, actor, parameters)
    promotion = None
    if not start.is_large(plan):
        promotion = await run_promotion(
            database, account_id=account_id, promotion_id=promotion_id, parameters=parameters, plan=plan
        )
    async with database.connection() as conn:
        if promotion is None:
            promotion = await store.get_promotion(conn, account_id=account_id, promotion_id=promotion_id)
        promotion = await _add_outstanding(conn, account_id, promotion)
    if promotion.status is PromotionStatus.WAITING:
        await _ask(database, plan.id, account_id, actor, parameters)
    made = [
        step.resource_id
        for step in promotion.steps
        if step.status is StepStatus.SUCCEEDED and step.resource_id
        if (secret := plan.actions[step.position].secret) and secret.source == GENERATE
    ]
    if not made:
        return promotion
    async with database.transaction() as conn:
        secrets = await webhook_destinations.reveal_secrets(
            conn, keyring=parameters.keyring, account_id=account_id, destination_ids=made
        )
    steps = [
        replace(step, signing_secret=secrets.get(step.resource_id)) if step.resource_id else step
        for step in promotion.steps
    ]
    return replace(promotion, steps=steps)


async def _start_or_ask(
    database: Database,
    outbound: Outbound,
    account_id: UUID,
    request: PromotionRequest,
    actor: Actor,
    parameters: RunParameters,
) -> tuple[UUID, Plan]:
    """Start the promotion; if it is refused because it needs an approval, ask the deciders for it."""
    try:
        return await start.start(
            database,
            outbound=outbound,
            account_id=account_id,
            request=request,
            actor=actor,
            parameters=parameters,
        )
    except ApprovalRequired:
        await _ask(database, request.plan_id, account_id, actor, parameters)
        raise


async def _ask(
    database: Database, plan_id: UUID, account_id: UUID, actor: Actor, parameters: RunParameters
) -> None:
    """Ask the deciders for a decision about a plan that could not be promoted."""
    async with database.transaction() as conn:
        spender = await keys.find_spender(conn, account_id=account_id, actor=actor)
        await requests.request_approval(
            conn,
            keyring=parameters.keyring,
            base_url=parameters.base_url,
            account_id=account_id,
            plan_id=plan_id,
            mandate=None if spender is None else spender.mandate,
        )


async def get_promotion(conn: Conn, *, account_id: UUID, promotion_id: UUID) -> Promotion:
    """Return a promotion with its steps, unconfirmed destinations and open invoices. Raise PromotionNotFound."""
    promotion = await store.get_promotion(conn, account_id=account_id, promotion_id=promotion_id)
    return await _add_outstanding(conn, account_id, promotion)


async def _add_outstanding(conn: Conn, account_id: UUID, promotion: Promotion) -> Promotion:
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
    unpaid = await issuance.list_open(conn, account_id=account_id, invoice_ids=billed) if billed else frozenset()
    return replace(
        promotion, unconfirmed=unconfirmed, unpaid=[each for each in promotion.invoices if each.id in unpaid]
    )


async def run_promotion(
    database: Database,
    *,
    account_id: UUID,
    promotion_id: UUID,
    parameters: RunParameters,
    plan: Plan | None = None,
    time_slice: TimeSlice | None = None,
) -> Promotion:
    """Execute the pending steps and return the promotion; it still runs if the time slice is over before its end.

    Raise PromotionNotFound.
    """
    if plan is None:
        async with database.connection() as conn:
            promotion = await store.get_promotion(conn, account_id=account_id, promotion_id=promotion_id)
            plan = await planning.get_plan(conn, account_id=account_id, plan_id=promotion.plan_id)
    while True:
        promotion = await _advance(database, plan, promotion_id, parameters)
        if promotion.status is not PromotionStatus.RUNNING or (time_slice is not None and time_slice.is_over):
            return promotion


async def _advance(database: Database, plan: Plan, promotion_id: UUID, parameters: RunParameters) -> Promotion:
    """Execute one batch, and complete the promotion after the last one; return the promotion."""
    owner = {"account_id": plan.account_id, "promotion_id": promotion_id}
    tasks: list[Task] = []
    try:
        async with database.transaction() as conn:
            promotion = await store.get_promotion(conn, **owner, lock=True)
            if promotion.status is not PromotionStatus.RUNNING:
                return promotion
            tasks = batches.list_next(plan, promotion.steps)
            if not tasks:
                return await completion.complete(conn, plan=plan, promotion=promotion, parameters=parameters)
            target = TargetAccount(account_id=plan.account_id)
            await batches.execute(
                conn, target=target, plan=plan, steps=promotion.steps, tasks=tasks, parameters=parameters
            )
            now, done = clock.now(), {task.step.position for task in tasks}
            await store.finish_steps(conn, **owner, outcomes=dict.fromkeys(done), now=now)
            steps = [
                replace(step, status=StepStatus.SUCCEEDED, attempts=step.attempts + 1, finished_at=now)
                if step.position in done
                else step
                for step in promotion.steps
            ]
            promotion = replace(promotion, steps=steps)
            if not batches.list_next(plan, steps):
                return await _complete_at_once(conn, plan, promotion, parameters)
    except REFUSALS as refusal:
        await _fail(database, plan, promotion_id, batches.explain_refusal(plan, tasks, refusal))
    except (DatabaseUnavailable, DatabaseBusy):
        raise  # the next run finds the promotion unchanged
    except Exception:
        if not tasks:
            raise  # the promotion cannot be completed
        # Otherwise the batch would fail forever and block every other plan of the account.
        _log.exception("batch_failed", plan=str(plan.id))
        await _fail(database, plan, promotion_id, {task.step.position: UNEXPECTED for task in tasks})
    return promotion


async def _complete_at_once(conn: Conn, plan: Plan, promotion: Promotion, parameters: RunParameters) -> Promotion:
    """Complete the promotion in the transaction of its last batch; after an error, leave that to the next one."""
    try:
        async with conn.transaction():
            return await completion.complete(conn, plan=plan, promotion=promotion, parameters=parameters)
    except CONNECTION_ERRORS:
        raise
    except Exception:  # noqa: BLE001 - the batch has succeeded
        _log.exception("completion_failed", promotion=str(promotion.id))
        return promotion


async def _fail(database: Database, plan: Plan, promotion_id: UUID, blamed: Mapping[int, StepError]) -> None:
    """Record the failed steps in the journal; the next batch omits them."""
    owner = {"account_id": plan.account_id, "promotion_id": promotion_id}
    async with database.transaction() as conn:
        promotion = await store.get_promotion(conn, **owner, lock=True)
        if promotion.status is not PromotionStatus.RUNNING:
            return
        failed = await store.finish_steps(conn, **owner, outcomes=blamed, now=clock.now())
        if failed and promotion.on_error is OnError.STOP:  # false if another run executed the steps
            await store.skip_steps(conn, **owner, now=clock.now())
