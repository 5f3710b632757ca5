"""The overdue timeline: the steps for an unpaid invoice, and when each is due (docs/explanation/invoices.md).

Steps are counted from the due date. If a step is late because no worker ran, the following steps move by the same
delay, so that no account loses names on the day of the first reminder.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta

from builders.invoices.events import (
    INVOICE_GRACE_ENDED,
    INVOICE_OVERDUE,
    INVOICE_REMINDED,
    INVOICE_UNCOLLECTIBLE,
    InvoiceData,
)
from builders.invoices.records import GRACE, SECOND_REMINDER, UNCOLLECTIBLE_AFTER, Invoice, Stage
from builders.invoices.store import transitions as store
from builders.kit.db.connections import Conn, Database
from builders.kit.events import outbox
from builders.kit.events.outbox import Event
from builders.kit.values import clock

BATCH = 200  # invoices per transaction
TOLERANCE = timedelta(days=1)  # a step that is later than this delays the following steps
STEPS: Sequence[tuple[Stage, timedelta, Event]] = (
    (Stage.REMINDED, timedelta(), INVOICE_OVERDUE),
    (Stage.REMINDED_AGAIN, SECOND_REMINDER, INVOICE_REMINDED),
    (Stage.GRACE_ENDED, GRACE, INVOICE_GRACE_ENDED),
)


async def advance(database: Database, *, batch_size: int = BATCH) -> int:
    """Execute all steps that are due and publish their events; return the number of steps. Idempotent."""
    now, count = clock.now(), 0
    for stage, after, event in STEPS:
        found = batch_size
        while found == batch_size:
            async with database.transaction() as conn:
                found = await _advance_stage(conn, stage=stage, due=now - after, event=event, limit=batch_size)
            count += found
    found = batch_size
    while found == batch_size:
        async with database.transaction() as conn:
            found = await _mark_uncollectible(conn, now=now, limit=batch_size)
        count += found
    return count


async def _advance_stage(conn: Conn, *, stage: Stage, due: datetime, event: Event, limit: int) -> int:
    changed = await store.advance_stage(
        conn, before=Stage(stage - 1), after=stage, due=due, late=due - TOLERANCE, limit=limit
    )
    return await _publish(conn, event, changed)


async def _mark_uncollectible(conn: Conn, *, now: datetime, limit: int) -> int:
    changed = await store.mark_due_uncollectible(
        conn, before=Stage.GRACE_ENDED, due=now - UNCOLLECTIBLE_AFTER, now=now, limit=limit
    )
    return await _publish(conn, INVOICE_UNCOLLECTIBLE, changed)


async def _publish(conn: Conn, event: Event, invoices: Sequence[Invoice]) -> int:
    if invoices:
        await outbox.publish_many(conn, event, [(each.account_id, InvoiceData.of(each)) for each in invoices])
    return len(invoices)
