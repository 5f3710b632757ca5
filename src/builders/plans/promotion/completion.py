"""The completion of a promotion: it sets the status, releases unclaimed names, publishes the event, and bills."""

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from uuid import UUID

from builders.aliases import claims as alias_claims
from builders.kit.db.connections import CONNECTION_ERRORS, Conn
from builders.kit.events import outbox
from builders.kit.process import log
from builders.kit.values import clock
from builders.plans import store
from builders.plans.events import PROMOTION_COMPLETED, PROMOTION_FAILED, PromotionData
from builders.plans.promotion.batches import list_wanted
from builders.plans.promotion.invoices import Bill, issue_invoices
from builders.plans.records import (
    BilledOn,
    Plan,
    Promotion,
    PromotionStatus,
    Step,
    StepError,
    StepStatus,
    TargetAccount,
)
from builders.plans.resources.kinds import RunParameters

_log = log.get_logger()

COMPLETION_FAILED = StepError(
    code="ending_failed",
    message="An unexpected error prevented the completion. The steps were executed; resume the promotion.",
)


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
