"""Promote a plan: start its promotion, run it batch by batch, and return the result.

The start, once for a plan, checks the request and the live state, and reserves every new name. It locks the
account's slot first: its requests start one after the other, and see each other's promotions.

Each batch is one transaction with its journal. A crash loses only the batch in progress, which is rolled back; the
next run continues with the pending steps. A batch locks the promotion's row: concurrent runs alternate and repeat
nothing.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from uuid import UUID

from builders.aliases import claims, confirmations
from builders.aliases.errors import NamesRefused
from builders.aliases.records import Availability, Name
from builders.identity import accounts
from builders.identity.errors import EmailUnverified
from builders.identity.records import About, AuditAction
from builders.invoices import issuance
from builders.kit.db.connections import CONNECTION_ERRORS, Conn, Database
from builders.kit.errors import DatabaseBusy, DatabaseUnavailable, Invalid
from builders.kit.http.callers import Actor
from builders.kit.jobs import time_slices
from builders.kit.jobs.time_slices import TimeSlice
from builders.kit.limits import maximums
from builders.kit.outbound.client import Outbound
from builders.kit.process import log
from builders.kit.values import clock, ids
from builders.kit.values.money import Money
from builders.projects.errors import ProjectArchived
from builders.sandbox import plans, store
from builders.sandbox.errors import (
    ConfirmDeletesMismatch,
    PlanBlocked,
    PlanDigestMismatch,
    PlanExpired,
    PlanStale,
    PromotionLimit,
    PromotionRunning,
    TotalExceeded,
)
from builders.sandbox.plans import digest_plan
from builders.sandbox.promotion import batches
from builders.sandbox.promotion.batches import REFUSALS, UNEXPECTED
from builders.sandbox.records import (
    GENERATE,
    MAX_SHOWN,
    Action,
    ActionKind,
    Finding,
    OnError,
    Plan,
    PlanStatus,
    Promotion,
    PromotionRequest,
    PromotionStatus,
    Step,
    StepError,
    StepStatus,
    TargetAccount,
    WebhookView,
)
from builders.sandbox.resources import live_state
from builders.sandbox.resources.kinds import RunParameters, Task
from builders.webhooks import destinations, destinations as webhook_destinations
from builders.webhooks.records import ValidatedUrls

FINISH = "sandbox.finish"  # the task
LARGE = 250  # actions; a promotion with more is a job
UNFINISHED = {PromotionStatus.PARTIAL, PromotionStatus.FAILED}  # it can be resumed
MAX_PER_DAY = maximums.declare(
    "promotions", 1_000, of="account", counts="New promotions in a day.", code=PromotionLimit.code
)
RETRY_S = 2
RESERVED = timedelta(minutes=15)  # an interrupted promotion keeps its names for this time


async def start(
    database: Database, *, outbound: Outbound, account_id: UUID, request: PromotionRequest, actor: Actor
) -> tuple[UUID, Plan]:
    """Start or find the promotion of the plan; return its id and the plan. A job runs a large one.

    Only the status of a plan changes, so the plan is read once. Raise as `run.promote`.
    """
    async with database.connection() as conn:
        plan, stored = await store.get_plan(conn, account_id=account_id, plan_id=request.plan_id)
    if plan.digest != request.digest:
        raise PlanDigestMismatch
    is_intact = digest_plan(account_id, plan.manifest_digest, stored) == plan.digest
    webhooks = {action.after.url for action in plan.actions if isinstance(action.after, WebhookView)}
    urls = await destinations.validate_urls(outbound, webhooks)  # again: DNS can have changed
    async with database.transaction() as conn:
        new_id = ids.new()
        others = await store.lock_slot(conn, account_id=account_id, promotion_id=new_id, plan_id=plan.id)
        existing = next((each for each in others if each.plan_id == plan.id), None)
        if existing is not None and not (request.resume and existing.status in UNFINISHED):
            return existing.id, plan
        if not is_intact:
            raise PlanDigestMismatch("The stored plan differs from the shown plan.", next_action="Plan again.")
        if existing is None:
            _check_request(plan, request)
        await _check_account(conn, account_id, others)
        if existing is None:
            await _insert(conn, plan, request, new_id, str(actor), urls)
        else:
            await _reopen(conn, plan, request, existing, urls)
        promotion_id = new_id if existing is None else existing.id
        about: About = {
            "plan_id": str(plan.id),
            "promotion_id": str(promotion_id),
            "resumed": existing is not None,
        }
        audited = AuditAction.PLAN_PROMOTED
        await accounts.record_audit(conn, account_id=account_id, actor=actor, action=audited, about=about)
        if is_large(plan):
            await enqueue(conn, account_id=account_id, promotion_id=promotion_id)
        return promotion_id, plan


async def enqueue(conn: Conn, *, account_id: UUID, promotion_id: UUID) -> None:
    """Enqueue a job that continues the promotion."""
    once = f"{FINISH} {promotion_id}"
    await time_slices.defer(conn, FINISH, once=once, account_id=str(account_id), promotion_id=str(promotion_id))


def is_large(plan: Plan) -> bool:
    """Return whether the plan's promotion is a job."""
    return sum(action.action is not ActionKind.NO_OP for action in plan.actions) > LARGE


def _check_request(plan: Plan, request: PromotionRequest) -> None:
    """Raise a refusal unless the plan can be promoted and the caller agreed to its removals and its price."""
    if plan.status is PlanStatus.BLOCKED:
        raise PlanBlocked
    if plan.expires_at <= clock.now():
        raise PlanExpired
    if (request.confirm_deletes or 0) != plan.removals:
        raise ConfirmDeletesMismatch(
            f"The plan removes {plan.removals} resource{'' if plan.removals == 1 else 's'}.",
            next_action=f"Send confirm_deletes: {plan.removals} to confirm the deletions.",
            removals=plan.removals,
        )
    _check_total(plan.actions, request)


def _check_total(actions: Iterable[Action], request: PromotionRequest) -> None:
    """Raise TotalExceeded if the actions cost more now than the caller allows, Invalid for another currency."""
    most = request.max_total
    if most is None:
        return
    prices = [action.price.money for action in actions if action.price is not None and action.price.money.amount]
    for currency in dict.fromkeys(price.currency for price in prices):
        due = sum((price for price in prices if price.currency == currency), Money.zero(currency))
        if currency != most.currency:
            message = f"The plan costs {due} now, and max_total is in {most.currency}. Send it in {currency}."
            raise Invalid(("body", "max_total", "currency"), message, "currency_mismatch")
        if due > most:
            raise TotalExceeded(f"The plan costs {due} now, which exceeds max_total.", due=due.to_wire())


async def _check_account(conn: Conn, account_id: UUID, promotions: Sequence[Promotion]) -> None:
    """Raise EmailUnverified, and PromotionRunning if another promotion of the account is running."""
    if (await accounts.get_account(conn, account_id=account_id)).email_verified_at is None:
        raise EmailUnverified("Verify the account's email address before promoting.")
    if running := [each.id for each in promotions if each.status is PromotionStatus.RUNNING]:
        raise PromotionRunning(
            "Another promotion of the account is running.", retry_after=RETRY_S, promotion_id=str(running[0])
        )


async def _insert(
    conn: Conn, plan: Plan, request: PromotionRequest, promotion_id: UUID, created_by: str, urls: ValidatedUrls
) -> None:
    """Insert the promotion with its steps and reserve the new names.

    Raise PlanStale if the live state changed, PromotionLimit.
    """
    steps = batches.new_steps(plan.actions)
    if drifted := await _reserve_and_compare(conn, plan, steps, urls):
        raise _stale(drifted)
    now = clock.now()
    is_inserted = await store.insert_promotion(
        conn,
        account_id=plan.account_id,
        promotion_id=promotion_id,
        plan_id=plan.id,
        on_error=request.on_error,
        created_by=created_by,
        steps=steps,
        now=now,
        since=ids.lowest(now - timedelta(days=1)),
        limit=MAX_PER_DAY,
    )
    if not is_inserted:
        message = f"An account makes at most {MAX_PER_DAY:,} promotions in 24 hours."
        raise PromotionLimit(message, retry_after=3600)


async def _reopen(
    conn: Conn, plan: Plan, request: PromotionRequest, promotion: Promotion, urls: ValidatedUrls
) -> None:
    """Make failed and skipped steps pending again, unless their preconditions have changed.

    An old promotion must not claim at outdated prices and terms. Raise TotalExceeded, and PlanStale if a step
    depends on a change and the caller wants to stop at errors.
    """
    owner = {"account_id": plan.account_id, "promotion_id": promotion.id}
    again = {StepStatus.FAILED, StepStatus.SKIPPED}
    before = await store.get_promotion(conn, account_id=plan.account_id, promotion_id=promotion.id)
    undone = [step for step in before.steps if step.status in again]
    _check_total((plan.actions[step.position] for step in undone), request)
    drifted = await _reserve_and_compare(conn, plan, undone, urls)
    if drifted and request.on_error is OnError.STOP:
        raise _stale(drifted)
    why = {each.address: StepError(code=each.code, message=each.message) for each in drifted}
    failed = {step.position: why[step.address] for step in undone if step.address in why}
    await store.reopen(conn, **owner, plan_id=plan.id, on_error=request.on_error)
    await store.finish_steps(conn, **owner, outcomes=failed, now=clock.now())
    if failed:  # a name that is unavailable prevents the reservation of all
        await _reserve_names(conn, plan, [step for step in undone if step.position not in failed])


async def _reserve_names(conn: Conn, plan: Plan, steps: Sequence[Step]) -> Mapping[Name, Availability]:
    """Reserve the names that the steps claim, all or none; return why some are unavailable."""
    wanted = batches.list_wanted(plan, steps)
    if not wanted:
        return {}
    realm, until = TargetAccount(account_id=plan.account_id).realm, clock.now() + RESERVED
    try:
        await claims.reserve_names(conn, realm=realm, account_id=plan.account_id, wanted=wanted, until=until)
    except NamesRefused as refusal:
        return refusal.refused
    return {}


async def _reserve_and_compare(
    conn: Conn, plan: Plan, steps: Sequence[Step], urls: ValidatedUrls
) -> list[Finding]:
    """Reserve the names that the steps claim, and return the changes since the plan was made.

    Raise ProjectArchived: a new plan would not help.
    """
    unavailable = await _reserve_names(conn, plan, steps)
    actions = [plan.actions[step.position] for step in steps]
    live = await live_state.read_for_actions(
        conn,
        target=TargetAccount(account_id=plan.account_id),
        manifest=plan.manifest,
        actions=actions,
        urls=urls,
        unavailable=unavailable,
    )
    archived = {project.id for project in live.projects if project.is_archived}
    if archived & live_state.list_project_ids([each for each in actions if each.action is not ActionKind.NO_OP]):
        raise ProjectArchived("A project of the plan is archived.")
    drifted: list[Finding] = []
    for kind, executor in batches.EXECUTORS.items():
        if planned := [action for action in actions if action.kind is kind]:
            drifted += executor.drift(plan.manifest, planned, live)
    return drifted


def _stale(drifted: Sequence[Finding]) -> PlanStale:
    return PlanStale(
        "The live state has changed since the plan was made.",
        changed=[{"address": each.address, "code": each.code, "message": each.message} for each in drifted],
    )


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
    PromotionRunning, PromotionLimit, ProjectArchived.
    """
    promotion_id, plan = await start(
        database, outbound=outbound, account_id=account_id, request=request, actor=actor
    )
    promotion = None
    if not is_large(plan):
        promotion = await run_promotion(
            database, account_id=account_id, promotion_id=promotion_id, parameters=parameters, plan=plan
        )
    async with database.connection() as conn:
        if promotion is None:
            promotion = await store.get_promotion(conn, account_id=account_id, promotion_id=promotion_id)
        promotion = await _add_outstanding(conn, account_id, promotion)
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
            plan = await plans.get_plan(conn, account_id=account_id, plan_id=promotion.plan_id)
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
                return await batches.complete(conn, plan=plan, promotion=promotion, parameters=parameters)
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
            return await batches.complete(conn, plan=plan, promotion=promotion, parameters=parameters)
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
