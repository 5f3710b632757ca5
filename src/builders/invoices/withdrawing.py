"""What becomes of invoices that were issued ahead for names that are no more.

Nobody owes a period that never begins. An invoice that was issued says what it says, so it is voided as a whole,
and what is left on it is issued anew on its terms, due when it was: the reminders go on where they were.
"""

from collections.abc import Collection, Sequence
from datetime import datetime
from uuid import UUID

from builders.invoices import issuing, paying
from builders.invoices.records import Invoice, Line, NewLine
from builders.invoices.store import invoices as store
from builders.kit import clock
from builders.kit.db import Conn


async def withdraw(
    conn: Conn, *, account_id: UUID, alias_ids: Collection[UUID], at: datetime
) -> Sequence[Invoice]:
    """Voids open invoices with periods of the names that begin after `at`; those issued for the rest of them.

    What was paid of them is credit again, which the new ones use. Publishes invoice.voided, and what `issue` does.
    Can be repeated.
    """
    # All rows before the number and the purse: who pays one of them has its row, and waits for the purse.
    found = await store.lock_ahead(conn, account_id=account_id, alias_ids=alias_ids, at=at)
    if not found:
        return []
    await store.hold_series(conn, series=issuing.series(is_test=found[0].is_test, now=clock.now()))
    rests = [(each, await _rest(conn, each, alias_ids, at)) for each in found]
    for each in found:
        await paying.void(conn, account_id=account_id, invoice_id=each.id)
    return [
        await issuing.issue(
            conn,
            account_id=account_id,
            is_test=each.is_test,
            seller=each.seller,
            lines=rest,
            currency=each.currency,
            due_at=each.due_at,
            promotion_id=each.promotion_id,
        )
        for each, rest in rests
        if rest
    ]


async def _rest(conn: Conn, invoice: Invoice, alias_ids: Collection[UUID], at: datetime) -> list[NewLine]:
    lines = await store.list_lines(conn, account_id=invoice.account_id, invoice_id=invoice.id)
    return [_anew(line) for line in lines if line.alias_id not in alias_ids or line.period_start <= at]


def _anew(line: Line) -> NewLine:
    return NewLine(
        description=line.description,
        alias_id=line.alias_id,
        quantity=line.quantity,
        unit_amount=line.unit_amount,
        period_start=line.period_start,
        period_end=line.period_end,
    )
