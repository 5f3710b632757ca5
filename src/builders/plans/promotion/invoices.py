"""The invoices of a promotion: one in each currency for the names that it claimed."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from uuid import UUID

from builders.aliases import billing
from builders.invoices import issuance
from builders.invoices.records import Invoice, NewInvoice, NewLine
from builders.kit.db.connections import Conn
from builders.kit.values import clock
from builders.plans.records import AliasView, Plan, Step, StepStatus
from builders.plans.resources.kinds import RunParameters

PAYABLE_WITHIN = timedelta(days=14)  # an invoice
Bill = tuple[Invoice, Mapping[int, NewLine]]  # an invoice, and its lines by the position of the step


async def issue_invoices(
    conn: Conn, *, plan: Plan, steps: Sequence[Step], parameters: RunParameters, promotion_id: UUID | None
) -> list[Bill]:
    """Issue an invoice in each currency for claims that are on none; return each with its lines by position.

    Resuming never bills twice. A test invoice has no promotion.
    """
    bills: list[Bill] = []
    for currency, lines in (await _list_lines(conn, plan, steps)).items():
        new = NewInvoice(
            is_test=promotion_id is None,
            seller=parameters.seller,
            lines=list(lines.values()),
            currency=currency,
            due_at=clock.now() + PAYABLE_WITHIN,
            promotion_id=promotion_id,
        )
        bills.append((await issuance.issue(conn, account_id=plan.account_id, new=new), lines))
    return bills


async def _list_lines(conn: Conn, plan: Plan, steps: Sequence[Step]) -> Mapping[str, Mapping[int, NewLine]]:
    """Return the invoice lines for claims that are on no invoice, by currency and position.

    A line is for the first period of a name, which may have been released in the meantime.
    """
    priced = [
        (step.position, step.resource_id, action.after.address, action.price.money)
        for step in steps
        if step.status is StepStatus.SUCCEEDED and step.invoice_id is None and step.resource_id
        for action in [plan.actions[step.position]]
        if action.price is not None and action.price.money.amount and isinstance(action.after, AliasView)
    ]
    if not priced:
        return {}
    alias_ids = [alias_id for _, alias_id, _, _ in priced]
    claims = await billing.lock_claims(conn, account_id=plan.account_id, alias_ids=alias_ids)
    lines: dict[str, dict[int, NewLine]] = {}
    for position, alias_id, address, price in priced:
        claim = claims[alias_id]
        if not claim.is_undone:
            lines.setdefault(price.currency, {})[position] = NewLine(
                description=address,
                alias_id=alias_id,
                quantity=1,
                unit_amount=price,
                period_start=claim.claimed_at,
                period_end=claim.period_end,
            )
    return dict(sorted(lines.items()))
