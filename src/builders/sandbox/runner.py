"""Running a promotion: begun once, then batch by batch, each with its journal in one transaction.

A crash loses nothing but the batch under way, which its transaction takes back; whoever calls next goes on with
the steps that are still pending. The promotion's row is locked in each batch, so two who run it at once take
turns and do nothing twice.
"""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from uuid import UUID

from builders.aliases import service as aliases
from builders.identity import service as identity
from builders.identity.records import About, AuditAction
from builders.kit import clock, ids, log, outbox
from builders.kit.callers import Actor
from builders.kit.db import Conn, Database
from builders.sandbox import plan as plans
from builders.sandbox import promotion as promotions
from builders.sandbox import state, store
from builders.sandbox.errors import (
    ConfirmDeletesMismatch,
    EmailUnverified,
    PlanBlocked,
    PlanDigestMismatch,
    PlanExpired,
    PlanNotFound,
    PlanStale,
    PromotionNotFound,
    TotalExceeded,
)
from builders.sandbox.events import PROMOTION_COMPLETED, PROMOTION_FAILED, PromotionData
from builders.sandbox.promotion import CLAIMS, ORDER, Task
from builders.sandbox.records import (
    MAX_RESOURCES,
    Action,
    Finding,
    OnError,
    Order,
    Plan,
    PlanStatus,
    Promotion,
    PromotionStatus,
    Step,
    StepError,
    StepStatus,
)

BATCH = MAX_RESOURCES  # so that all updates of a plan are one, and may swap their keys
HELD = timedelta(minutes=15)  # names of a promotion under way, so that one cut short loses none

UNEXPECTED = StepError(
    code="unexpected", message="It could not be done, and we do not know why. Try again.", retryable=True
)

_log = log.get_logger()


async def begin(database: Database, *, account_id: UUID, order: Order, actor: Actor) -> UUID:
    """The plan's promotion: a new one after all checks, or the one there is. Its id."""
    async with database.transaction() as conn:
        plan = None
        if order.plan_id is not None:
            plan = await store.find_plan(conn, account_id=account_id, plan_id=order.plan_id, lock=True)
        if plan is None:
            raise PlanNotFound("There is no such plan.")
        if plan.digest != order.digest:
            raise PlanDigestMismatch(
                "The digest is not this plan's.", next_action="Review the plan and send the digest it shows."
            )
        known = await store.find_promotion(conn, account_id=account_id, plan_id=plan.id)
        if known is None:
            _check_order(plan, order)
            promotion_id = await _start(conn, plan, order, str(actor))
        elif order.resume and known.status in {PromotionStatus.PARTIAL, PromotionStatus.FAILED}:
            await _reopen(conn, plan, known, order.on_error)
            promotion_id = known.id
        else:
            return known.id
        about: About = {"plan_id": str(plan.id), "promotion_id": str(promotion_id), "resumed": known is not None}
        await identity.audit(
            conn, account_id=account_id, actor=actor, action=AuditAction.PLAN_PROMOTED, about=about
        )
        return promotion_id


def _check_order(plan: Plan, order: Order) -> None:
    """Whether the caller may have this plan as it stands, and agreed to what it does."""
    if plan.status is PlanStatus.BLOCKED:
        raise PlanBlocked("The plan has errors.", next_action="Mend the manifest and plan again.")
    if plan.expires_at <= clock.now():
        raise PlanExpired("The plan has expired.", next_action="Plan again.")
    if (order.confirm_deletes or 0) != plan.removals:
        raise ConfirmDeletesMismatch(
            f"The plan gives up {plan.removals} names.",
            next_action=f"Send confirm_deletes: {plan.removals} if that is meant.",
            removals=plan.removals,
        )
    if order.max_total is not None:
        for currency, due in plans.due(plan.actions).items():
            if currency != order.max_total.currency or due > order.max_total:
                raise TotalExceeded(f"The plan costs {due} now, more than max_total allows.", due=due.to_wire())


async def _start(conn: Conn, plan: Plan, order: Order, created_by: str) -> UUID:
    """Writes the promotion with its steps and holds every new name, if all is as it was planned on."""
    await _check_email(conn, plan.account_id)
    if drifted := await _drift(conn, plan, plan.actions):
        raise _stale([(each.address, each.code, each.message) for each in drifted])
    now, promotion_id = clock.now(), ids.new()
    steps = [
        Step(
            position=at,
            address=action.address,
            action=action.action,
            status=StepStatus.PENDING,
            attempts=0,
            resource_id=ids.new() if action.action in CLAIMS else action.alias_id,
            error=None,
            finished_at=None,
        )
        for at, action in enumerate(plan.actions)
    ]
    await _hold(conn, plan, steps)
    await store.insert_promotion(
        conn,
        account_id=plan.account_id,
        promotion_id=promotion_id,
        plan_id=plan.id,
        on_error=order.on_error,
        created_by=created_by,
        steps=steps,
        now=now,
    )
    await store.mark_plan(conn, account_id=plan.account_id, plan_id=plan.id, status=PlanStatus.PROMOTING)
    return promotion_id


async def _reopen(conn: Conn, plan: Plan, promotion: Promotion, on_error: OnError) -> None:
    """Makes what failed or was left out pending again, but for what is not as it was planned on.

    Else an old promotion would claim at prices and on terms that are long over. Raises PlanStale when there is
    such a step and the caller wants to stop at errors.
    """
    await _check_email(conn, plan.account_id)
    undone = [step for step in promotion.steps if step.status in {StepStatus.FAILED, StepStatus.SKIPPED}]
    drifted = await _drift(conn, plan, [plan.actions[step.position] for step in undone])
    if drifted and on_error is OnError.STOP:
        raise _stale([(each.address, each.code, each.message) for each in drifted])
    why = {each.address: StepError(code=each.code, message=each.message, retryable=True) for each in drifted}
    lost = {step.position: why[step.address] for step in undone if step.address in why}
    owner = {"account_id": plan.account_id, "promotion_id": promotion.id}
    await store.reopen(conn, **owner, on_error=on_error)
    await store.finish_steps(conn, **owner, outcomes=_failures(lost), now=clock.now())
    await store.mark_plan(conn, account_id=plan.account_id, plan_id=plan.id, status=PlanStatus.PROMOTING)
    await _hold(conn, plan, [step for step in undone if step.position not in lost])


async def _check_email(conn: Conn, account_id: UUID) -> None:
    account = await identity.get_account(conn, account_id=account_id)
    if account.email_verified_at is None:
        raise EmailUnverified("Verify the account's email address before promoting.")


async def _drift(conn: Conn, plan: Plan, actions: Sequence[Action]) -> list[Finding]:
    live = await state.of_actions(conn, account_id=plan.account_id, manifest=plan.manifest, actions=actions)
    return list(promotions.drift(plan.manifest, actions, live))


async def _hold(conn: Conn, plan: Plan, steps: Sequence[Step]) -> None:
    tasks = _tasks(plan, steps)
    wanted = promotions.wanted(tasks)
    try:
        if wanted:
            await aliases.hold(conn, account_id=plan.account_id, wanted=wanted, until=clock.now() + HELD)
    except aliases.NamesRefused as refused:
        blamed = promotions.blame(plan.manifest, tasks, refused)
        raise _stale([(plan.actions[at].address, why.code, why.message) for at, why in blamed.items()]) from None


async def run(database: Database, *, account_id: UUID, promotion_id: UUID, quarantine: timedelta) -> Promotion:
    """Does what is still to do, and gives the promotion as it ended."""
    async with database.reading() as conn:
        promotion = await _get(conn, account_id, promotion_id)
        plan = await store.find_plan(conn, account_id=account_id, plan_id=promotion.plan_id)
    if plan is None:
        raise PlanNotFound("The plan of this promotion is gone.")
    while promotion.status is PromotionStatus.RUNNING:
        if not await _advance(database, plan, promotion, quarantine):
            async with database.reading() as conn:
                return await _get(conn, account_id, promotion_id)
    return promotion


async def _get(conn: Conn, account_id: UUID, promotion_id: UUID) -> Promotion:
    promotion = await store.find_promotion(conn, account_id=account_id, promotion_id=promotion_id)
    if promotion is None:
        raise PromotionNotFound("There is no such promotion.")
    return promotion


async def _advance(database: Database, plan: Plan, promotion: Promotion, quarantine: timedelta) -> bool:
    """Does one batch; False when there is none left and the promotion has ended."""
    owner = {"account_id": plan.account_id, "promotion_id": promotion.id}
    tasks: list[Task] = []
    try:
        async with database.transaction() as conn:
            running = await store.lock_running(conn, **owner)
            if running is None:
                return False
            steps = await store.list_pending(conn, **owner, order=ORDER, limit=BATCH)
            if not steps:
                await _finish(conn, plan, promotion)
                return False
            tasks = _tasks(plan, steps)
            await promotions.execute(
                conn, account_id=plan.account_id, manifest=plan.manifest, tasks=tasks, quarantine=quarantine
            )
            await store.finish_steps(conn, **owner, outcomes=[_done(step) for step in steps], now=clock.now())
    except (aliases.NamesRefused, aliases.KeysTaken, aliases.AliasesChanged) as refusal:
        await _fail(database, plan, promotion, _blame(plan, tasks, refusal))
    return True


def _blame(plan: Plan, tasks: Sequence[Task], refusal: promotions.Refusal) -> Mapping[int, StepError]:
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
        await store.finish_steps(conn, **owner, outcomes=_failures(blamed), now=clock.now())
        if running.on_error is OnError.STOP:
            await store.skip_steps(conn, **owner, now=clock.now())


async def _finish(conn: Conn, plan: Plan, promotion: Promotion) -> None:
    owner = {"account_id": plan.account_id, "promotion_id": promotion.id}
    counts = await store.count_steps(conn, **owner)
    done, failed = counts.get(StepStatus.SUCCEEDED, 0), counts.get(StepStatus.FAILED, 0)
    skipped = counts.get(StepStatus.SKIPPED, 0)
    if failed + skipped == 0:
        status = PromotionStatus.SUCCEEDED
    else:
        status = PromotionStatus.PARTIAL if done else PromotionStatus.FAILED
    whole = status is PromotionStatus.SUCCEEDED
    await store.finish_promotion(conn, **owner, status=status, now=clock.now())
    await store.mark_plan(
        conn,
        account_id=plan.account_id,
        plan_id=plan.id,
        status=PlanStatus.PROMOTED if whole else PlanStatus.PARTIAL,
    )
    data = PromotionData(
        id=promotion.id,
        plan_id=plan.id,
        manifest=plan.manifest,
        succeeded=done,
        failed=failed,
        skipped=skipped,
    )
    event = PROMOTION_COMPLETED if whole else PROMOTION_FAILED
    await outbox.publish(conn, event, account_id=plan.account_id, data=data)


def _tasks(plan: Plan, steps: Sequence[Step]) -> list[Task]:
    return [
        Task(position=step.position, action=plan.actions[step.position], new_id=step.resource_id) for step in steps
    ]


def _done(step: Step) -> store.Outcome:
    return store.Outcome(position=step.position, status=StepStatus.SUCCEEDED)


def _failures(blamed: Mapping[int, StepError]) -> list[store.Outcome]:
    return [
        store.Outcome(position=position, status=StepStatus.FAILED, error=error)
        for position, error in blamed.items()
    ]


def _stale(changed: Sequence[tuple[str, str, str]]) -> PlanStale:
    return PlanStale(
        "The live state is not what was planned on.",
        next_action="Plan again and review what changed.",
        changed=[{"address": address, "code": code, "message": message} for address, code, message in changed],
    )
