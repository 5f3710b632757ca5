"""How a promotion ends: its status, its invoices, the names it does not need any more, and the news of it."""

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from uuid import UUID

from builders.aliases import service as aliases
from builders.aliases.service import Claim
from builders.invoices import service as invoices
from builders.invoices.records import NewLine
from builders.kit.db.connections import CONNECTION_ERRORS, Conn
from builders.kit.events import outbox
from builders.kit.process import log
from builders.kit.values import clock
from builders.kit.values.money import Money
from builders.sandbox import promotion as promotions
from builders.sandbox.error_codes import StepError
from builders.sandbox.events import PROMOTION_COMPLETED, PROMOTION_FAILED, PromotionData
from builders.sandbox.means import Means
from builders.sandbox.records import (
    BilledOn,
    Ground,
    Plan,
    PlanStatus,
    Promotion,
    PromotionStatus,
    Step,
    StepStatus,
)
from builders.sandbox.store import plans as plan_store, promotions as store, steps as journal
from builders.sandbox.views import AliasView

ENDING_FAILED = StepError(
    code="ending_failed",
    message="It could not be ended, and we do not know why. What its steps did stands; resume it to end it.",
)
_log = log.get_logger()


def outcome(counts: Mapping[StepStatus, int]) -> PromotionStatus:
    """How a promotion ended whose steps stand so."""
    if not counts.get(StepStatus.FAILED, 0) + counts.get(StepStatus.SKIPPED, 0):
        return PromotionStatus.SUCCEEDED
    return PromotionStatus.PARTIAL if counts.get(StepStatus.SUCCEEDED, 0) else PromotionStatus.FAILED


async def finish(conn: Conn, plan: Plan, promotion: Promotion, means: Means) -> None:
    """Ends a promotion with nothing left to do, in the transaction that has its row."""
    steps = await journal.list_steps(conn, account_id=plan.account_id, promotion_id=promotion.id)
    status = outcome(Counter(step.status for step in steps))
    await _end(conn, plan.account_id, promotion, status, None)
    await _let_go(conn, plan, steps)
    await _tell(conn, plan, promotion.id, steps, status)
    await _bill(conn, plan, promotion.id, steps, means)  # last: who issues an invoice next waits for our end


async def give_up(conn: Conn, *, account_id: UUID, promotion_id: UUID, means: Means) -> None:
    """Ends a promotion that cannot be ended well, so that its account may promote again; no news if it has ended.

    What is still to do is left out. Names, news and bill are each seen to by itself, since one of them may be what
    fails; that one is logged, and made good when the promotion is resumed.
    """
    owner = {"account_id": account_id, "promotion_id": promotion_id}
    promotion = await store.lock_running(conn, **owner)
    if promotion is None:
        return
    await journal.skip_steps(conn, **owner, now=clock.now())
    steps = await journal.list_steps(conn, **owner)
    some = any(step.status is StepStatus.SUCCEEDED for step in steps)
    status = PromotionStatus.PARTIAL if some else PromotionStatus.FAILED
    await _end(conn, account_id, promotion, status, ENDING_FAILED)
    parts: Mapping[str, Callable[[Plan], Awaitable[None]]] = {
        "names": lambda plan: _let_go(conn, plan, steps),
        "news": lambda plan: _tell(conn, plan, promotion_id, steps, status),
        "bill": lambda plan: _bill(conn, plan, promotion_id, steps, means),
    }
    for name, part in parts.items():
        try:
            async with conn.transaction():
                plan = await plan_store.find_plan(conn, account_id=account_id, plan_id=promotion.plan_id)
                assert plan is not None  # noqa: S101 - a foreign key
                await part(plan)
        except CONNECTION_ERRORS:
            raise  # it is not known yet whether it can be done
        except Exception:  # noqa: BLE001 - whatever is wrong with one part, the promotion must end
            _log.exception("promotion_part_failed", promotion=str(promotion_id), part=name)


async def _end(
    conn: Conn, account_id: UUID, promotion: Promotion, status: PromotionStatus, error: StepError | None
) -> None:
    whole = status is PromotionStatus.SUCCEEDED
    await store.finish_promotion(
        conn, account_id=account_id, promotion_id=promotion.id, status=status, error=error, now=clock.now()
    )
    done = PlanStatus.PROMOTED if whole else PlanStatus.PARTIAL
    await plan_store.mark_plan(conn, account_id=account_id, plan_id=promotion.plan_id, status=done)


async def _tell(
    conn: Conn, plan: Plan, promotion_id: UUID, steps: Sequence[Step], status: PromotionStatus
) -> None:
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


async def _let_go(conn: Conn, plan: Plan, steps: Sequence[Step]) -> None:
    """Ends the holds on names that were not claimed: somebody else may want them."""
    undone = [step for step in steps if step.status in {StepStatus.FAILED, StepStatus.SKIPPED}]
    if names := promotions.claimed(promotions.tasks(plan, undone)):
        realm = Ground(account_id=plan.account_id).realm
        await aliases.let_go(conn, realm=realm, account_id=plan.account_id, names=names)


async def _bill(conn: Conn, plan: Plan, promotion_id: UUID, steps: Sequence[Step], means: Means) -> None:
    """An invoice in each currency for what was claimed and is on none yet; resuming never bills twice."""
    owner = {"account_id": plan.account_id, "promotion_id": promotion_id}
    for currency, priced in (await lines(conn, plan, steps)).items():
        invoice = await invoices.issue(
            conn,
            **owner,
            is_test=False,
            seller=means.seller,
            lines=list(priced.values()),
            currency=currency,
            due_at=clock.now() + means.payable_within,
        )
        await journal.mark_billed(conn, **owner, positions=list(priced), invoice_id=invoice.id)
        billed_on = BilledOn(id=invoice.id, number=invoice.number, total=invoice.total)
        await store.add_invoice(conn, **owner, invoice=billed_on)


async def lines(conn: Conn, plan: Plan, steps: Sequence[Step]) -> Mapping[str, Mapping[int, NewLine]]:
    """What is to be paid for what the steps claimed, if it is on no invoice yet: by currency and position."""
    done = [each for each in steps if each.status is StepStatus.SUCCEEDED and each.invoice_id is None]
    priced = [each for each in done if _price(plan, each)]
    if not priced:
        return {}
    claimed = [each.resource_id for each in priced if each.resource_id]
    claims = await aliases.lock_claims(conn, account_id=plan.account_id, alias_ids=claimed)
    billed: dict[str, dict[int, NewLine]] = {}
    for step in priced:
        claim = claims[step.resource_id or plan.id]
        if not claim.is_undone:
            line = _line(plan, step, claim)
            billed.setdefault(line.unit_amount.currency, {})[step.position] = line
    return dict(sorted(billed.items()))


def _price(plan: Plan, step: Step) -> Money | None:
    """What is to be paid for what a step made; None for nothing."""
    price = plan.actions[step.position].price
    return price.money if price is not None and price.money.amount else None


def _line(plan: Plan, step: Step, claim: Claim) -> NewLine:
    """Return the line for the first period of a name, which may have been released since."""
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
