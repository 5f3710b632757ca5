"""Running a promotion: begun once, then batch by batch, each with its journal in one transaction.

A crash loses nothing but the batch under way, which its transaction takes back; whoever calls next goes on with
the steps that are still pending. The promotion's row is locked in each batch, so two who run it at once take
turns and do nothing twice.
"""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from uuid import UUID

from builders.aliases import service as aliases
from builders.aliases.records import Name
from builders.identity import service as identity
from builders.kit import clock, ids, outbox
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
    TotalExceeded,
)
from builders.sandbox.events import PROMOTION_COMPLETED, PROMOTION_FAILED, PromotionData
from builders.sandbox.promotion import CLAIMS, ORDER, Task
from builders.sandbox.records import (
    Action,
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

BATCH = 500
HELD = timedelta(minutes=15)  # names of a promotion under way, so that one cut short loses none

_CHANGED = StepError(
    code="alias_changed", message="The alias was changed or released in the meantime.", retryable=False
)


async def begin(database: Database, *, account_id: UUID, order: Order, created_by: str) -> UUID:
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
        if known is not None:
            if order.resume and known.status in {PromotionStatus.PARTIAL, PromotionStatus.FAILED}:
                await store.reopen(conn, account_id=account_id, promotion_id=known.id)
            return known.id
        _check_order(plan, order)
        await _check_state(conn, plan)
        return await _start(conn, plan, order, created_by)


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


async def _check_state(conn: Conn, plan: Plan) -> None:
    account = await identity.get_account(conn, account_id=plan.account_id)
    if account.email_verified_at is None:
        raise EmailUnverified("Verify the account's email address before promoting.")
    live = await state.of_actions(conn, account_id=plan.account_id, actions=plan.actions)
    drifted = list(promotions.drift(plan.actions, live))
    if drifted:
        raise _stale([(each.address, each.code, each.message) for each in drifted])


async def _start(conn: Conn, plan: Plan, order: Order, created_by: str) -> UUID:
    """Writes the promotion with its steps and holds every new name."""
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
    wanted = promotions.wanted(_tasks(plan, steps))
    try:
        await aliases.hold(conn, account_id=plan.account_id, wanted=wanted, until=now + HELD)
    except aliases.NamesRefused as refused:
        raise _stale(_refusals(plan.actions, refused)) from None
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
        raise PlanNotFound("There is no such promotion.")
    return promotion


async def _advance(database: Database, plan: Plan, promotion: Promotion, quarantine: timedelta) -> bool:
    """Does one batch; False when there is none left and the promotion has ended."""
    owner = {"account_id": plan.account_id, "promotion_id": promotion.id}
    steps: Sequence[Step] = ()
    try:
        async with database.transaction() as conn:
            if await store.lock_running(conn, **owner) is None:
                return False
            steps = await store.list_pending(conn, **owner, order=ORDER, limit=BATCH)
            if not steps:
                await _finish(conn, plan, promotion)
                return False
            await promotions.execute(
                conn,
                account_id=plan.account_id,
                manifest=plan.manifest,
                tasks=_tasks(plan, steps),
                quarantine=quarantine,
            )
            await store.finish_steps(conn, **owner, outcomes=[_done(step) for step in steps], now=clock.now())
    except aliases.NamesRefused as refused:
        why = {
            address: StepError(code=code, message=message, retryable=True)
            for address, code, message in _refusals(plan.actions, refused)
        }
        await _fail(database, plan, promotion, {s.position: why[s.address] for s in steps if s.address in why})
    except aliases.AliasesChanged as changed:
        ours = {step.position: plan.actions[step.position].alias_id for step in steps}
        await _fail(
            database,
            plan,
            promotion,
            {at: _CHANGED for at, alias in ours.items() if alias in changed.changed},
        )
    return True


async def _fail(database: Database, plan: Plan, promotion: Promotion, failed: Mapping[int, StepError]) -> None:
    """Journals the steps (by position) that a batch could not do, so that the next one is without them."""
    if not failed:
        raise AssertionError("a batch failed, and none of its steps is to blame")
    outcomes = [
        store.Outcome(position=position, status=StepStatus.FAILED, error=error)
        for position, error in failed.items()
    ]
    owner = {"account_id": plan.account_id, "promotion_id": promotion.id}
    async with database.transaction() as conn:
        if await store.lock_running(conn, **owner) is None:
            return
        await store.finish_steps(conn, **owner, outcomes=outcomes, now=clock.now())
        if promotion.on_error is OnError.STOP:
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
    return [Task(action=plan.actions[step.position], new_id=step.resource_id) for step in steps]


def _done(step: Step) -> store.Outcome:
    return store.Outcome(position=step.position, status=StepStatus.SUCCEEDED)


def _refusals(actions: Sequence[Action], refused: aliases.NamesRefused) -> list[tuple[str, str, str]]:
    """Address, code and message of each action whose name was refused."""
    found = []
    for action in actions:
        place = action.place
        standing = place and refused.refused.get(Name(place.domain, place.key))
        if standing:
            found.append((action.address, str(standing.reason), plans.REFUSED[standing.reason]))
    return found


def _stale(changed: Sequence[tuple[str, str, str]]) -> PlanStale:
    return PlanStale(
        "The live state is not what was planned on.",
        next_action="Plan again and review what changed.",
        changed=[{"address": address, "code": code, "message": message} for address, code, message in changed],
    )
