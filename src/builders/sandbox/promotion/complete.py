"""Complete a promotion: set its status, release unclaimed names, publish its event, and issue invoices."""

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from uuid import UUID

from builders.aliases import billing, claims as alias_claims
from builders.aliases.records import Claim
from builders.invoices import issuance
from builders.invoices.records import Invoice, NewInvoice, NewLine
from builders.kit.db.connections import CONNECTION_ERRORS, Conn
from builders.kit.events import outbox
from builders.kit.process import log
from builders.kit.values import clock
from builders.kit.values.money import Money
from builders.sandbox.events import PROMOTION_COMPLETED, PROMOTION_FAILED, PromotionData
from builders.sandbox.manifest import AliasView
from builders.sandbox.promotion import batches
from builders.sandbox.records import (
    BilledOn,
    Plan,
    Promotion,
    PromotionStatus,
    Step,
    StepStatus,
    TargetAccount,
)
from builders.sandbox.resources.kinds import RunParameters
from builders.sandbox.step_errors import StepError
from builders.sandbox.store import plans as plan_store, promotions as store, steps as journal

COMPLETION_FAILED = StepError(
    code="ending_failed",
    message="An unexpected error prevented the completion. The steps were executed; resume the promotion.",
)
_log = log.get_logger()
Bill = tuple[Invoice, Mapping[int, NewLine]]  # an invoice, and its lines by the position of the step


def decide_status(counts: Mapping[StepStatus, int]) -> PromotionStatus:
    """Return the status of a promotion by the number of its steps in each status."""
    if not counts.get(StepStatus.FAILED, 0) + counts.get(StepStatus.SKIPPED, 0):
        return PromotionStatus.SUCCEEDED
    return PromotionStatus.PARTIAL if counts.get(StepStatus.SUCCEEDED, 0) else PromotionStatus.FAILED


async def complete(conn: Conn, *, plan: Plan, promotion: Promotion, parameters: RunParameters) -> Promotion:
    """Complete a promotion without pending steps, in the transaction that locks its row; return it."""
    steps = promotion.steps
    status = decide_status(Counter(step.status for step in steps))
    await _release_reservations(conn, plan, steps)
    await publish(conn, plan=plan, promotion_id=promotion.id, steps=steps, status=status)
    billed = await _bill(conn, plan, promotion.id, steps, parameters)
    return await _end(conn, plan.account_id, replace(promotion, status=status), billed)


async def abandon(conn: Conn, *, account_id: UUID, promotion_id: UUID, parameters: RunParameters) -> None:
    """End a promotion that cannot be completed, so that its account can promote again; do nothing if it has ended.

    Pending steps are skipped. Names, event and invoice have a savepoint each, since any of them can be the cause;
    a failed part is logged, and repeated when the promotion is resumed.
    """
    owner = {"account_id": account_id, "promotion_id": promotion_id}
    promotion = await store.find_promotion(conn, **owner, lock=True)
    if promotion is None or promotion.status is not PromotionStatus.RUNNING:
        return
    await journal.skip_steps(conn, **owner, now=clock.now())
    steps = await journal.list_steps(conn, **owner)
    some = any(step.status is StepStatus.SUCCEEDED for step in steps)
    status = PromotionStatus.PARTIAL if some else PromotionStatus.FAILED
    parts: Mapping[str, Callable[[Plan], Awaitable[Mapping[int, BilledOn] | None]]] = {
        "names": lambda plan: _release_reservations(conn, plan, steps),
        "event": lambda plan: publish(conn, plan=plan, promotion_id=promotion_id, steps=steps, status=status),
        "invoice": lambda plan: _bill(conn, plan, promotion_id, steps, parameters),
    }
    billed: Mapping[int, BilledOn] = {}
    for name, part in parts.items():
        try:
            async with conn.transaction():
                plan = await plan_store.find_plan(conn, account_id=account_id, plan_id=promotion.plan_id)
                assert plan is not None  # noqa: S101 - a foreign key
                billed = await part(plan) or {}
        except CONNECTION_ERRORS:
            raise  # the job is retried
        except Exception:  # noqa: BLE001 - a failed part must not keep the promotion open
            _log.exception("promotion_part_failed", promotion=str(promotion_id), part=name)
    ended = replace(promotion, steps=steps, status=status, error=COMPLETION_FAILED)
    await _end(conn, account_id, ended, billed)


async def _end(conn: Conn, account_id: UUID, promotion: Promotion, billed: Mapping[int, BilledOn]) -> Promotion:
    """Write the end of a promotion with the invoices of its steps, by position; return it."""
    ended = replace(
        promotion,
        finished_at=clock.now(),
        invoices=[*promotion.invoices, *dict.fromkeys(billed.values())],
        steps=[
            replace(step, invoice_id=billed[step.position].id) if step.position in billed else step
            for step in promotion.steps
        ],
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
    if wanted := batches.list_wanted(batches.list_tasks(plan, undone)):
        realm, names = TargetAccount(account_id=plan.account_id).realm, [each.name for each in wanted]
        await alias_claims.release_reservations(conn, realm=realm, account_id=plan.account_id, names=names)


async def _bill(
    conn: Conn, plan: Plan, promotion_id: UUID, steps: Sequence[Step], parameters: RunParameters
) -> Mapping[int, BilledOn]:
    """Issue an invoice in each currency for claims that are on none; return the invoices of steps, by position."""
    issued = await issue_invoices(conn, plan=plan, steps=steps, parameters=parameters, promotion_id=promotion_id)
    billed: dict[int, BilledOn] = {}
    for invoice, priced in issued:
        billed |= dict.fromkeys(priced, BilledOn(id=invoice.id, number=invoice.number, total=invoice.total))
    return billed


async def issue_invoices(
    conn: Conn, *, plan: Plan, steps: Sequence[Step], parameters: RunParameters, promotion_id: UUID | None
) -> list[Bill]:
    """Issue an invoice in each currency for claims that are on none; return each with its lines by position.

    Resuming never bills twice. A test invoice has no promotion.
    """
    return [
        (
            await issuance.issue(
                conn,
                account_id=plan.account_id,
                new=NewInvoice(
                    is_test=promotion_id is None,
                    seller=parameters.seller,
                    lines=list(priced.values()),
                    currency=currency,
                    due_at=clock.now() + parameters.payable_within,
                    promotion_id=promotion_id,
                ),
            ),
            priced,
        )
        for currency, priced in (await _list_lines(conn, plan, steps)).items()
    ]


async def _list_lines(conn: Conn, plan: Plan, steps: Sequence[Step]) -> Mapping[str, Mapping[int, NewLine]]:
    """Return the invoice lines for claims that are on no invoice, by currency and position."""
    done = [each for each in steps if each.status is StepStatus.SUCCEEDED and each.invoice_id is None]
    priced = [each for each in done if _price(plan, each)]
    if not priced:
        return {}
    claimed = [each.resource_id for each in priced if each.resource_id]
    claims = await billing.lock_claims(conn, account_id=plan.account_id, alias_ids=claimed)
    billed: dict[str, dict[int, NewLine]] = {}
    for step in priced:
        claim = claims[step.resource_id or plan.id]
        if not claim.is_undone:
            line = _line(plan, step, claim)
            billed.setdefault(line.unit_amount.currency, {})[step.position] = line
    return dict(sorted(billed.items()))


def _price(plan: Plan, step: Step) -> Money | None:
    """Return the price of a step's claim; None if it is free."""
    price = plan.actions[step.position].price
    return price.money if price is not None and price.money.amount else None


def _line(plan: Plan, step: Step, claim: Claim) -> NewLine:
    """Return the line for the first period of a name; the name may have been released in the meantime."""
    after, price = plan.actions[step.position].after, _price(plan, step)
    assert isinstance(after, AliasView) and price is not None  # noqa: S101, PT018 - only names have prices
    return NewLine(
        description=after.address,
        alias_id=step.resource_id,
        quantity=1,
        unit_amount=price,
        period_start=claim.claimed_at,
        period_end=claim.period_end,
    )
