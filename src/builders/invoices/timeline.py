"""The overdue timeline: what happens to an invoice that is not paid, and when (docs/explanation/invoices.md).

Steps are counted from the due date. Where one comes late, since no worker ran, those behind it come as much later:
nobody loses names on the day of the first reminder.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

from builders.invoices.events import (
    INVOICE_GRACE_ENDED,
    INVOICE_OVERDUE,
    INVOICE_REMINDED,
    INVOICE_UNCOLLECTIBLE,
    InvoiceData,
)
from builders.invoices.records import GIVEN_UP, GRACE, SECOND_REMINDER, Invoice, Stage
from builders.invoices.store import timeline as store
from builders.kit.db.connections import Conn, Database
from builders.kit.events import outbox
from builders.kit.events.outbox import Event
from builders.kit.values import clock

BATCH = 200  # invoices of one transaction
LATE = timedelta(days=1)  # a step that is later than this has the others wait
STEPS: Sequence[tuple[Stage, timedelta, Event]] = (
    (Stage.REMINDED, timedelta(), INVOICE_OVERDUE),
    (Stage.REMINDED_AGAIN, SECOND_REMINDER, INVOICE_REMINDED),
    (Stage.GRACE_ENDED, GRACE, INVOICE_GRACE_ENDED),
)


async def advance(database: Database) -> int:
    """Takes every step that is due, and tells of it; how many there were. Can be repeated."""
    now, taken = clock.now(), 0
    for stage, after, event in STEPS:
        found = BATCH
        while found == BATCH:
            async with database.transaction() as conn:
                found = await _step(conn, stage=stage, due=now - after, event=event)
            taken += found
    found = BATCH
    while found == BATCH:
        async with database.transaction() as conn:
            found = await _give_up(conn, now=now)
        taken += found
    return taken


async def find_arrears(conn: Conn, *, account_id: UUID) -> str | None:
    """The number of the account's oldest invoice whose grace is over, given up or not. One statement."""
    return await store.find_arrears(conn, account_id=account_id, stage=Stage.GRACE_ENDED)


async def _step(conn: Conn, *, stage: Stage, due: datetime, event: Event) -> int:
    moved = await store.step(conn, before=Stage(stage - 1), after=stage, due=due, late=due - LATE, limit=BATCH)
    return await _tell(conn, event, moved)


async def _give_up(conn: Conn, *, now: datetime) -> int:
    moved = await store.give_up(conn, before=Stage.GRACE_ENDED, due=now - GIVEN_UP, now=now, limit=BATCH)
    return await _tell(conn, INVOICE_UNCOLLECTIBLE, moved)


async def _tell(conn: Conn, event: Event, invoices: Sequence[Invoice]) -> int:
    if invoices:
        await outbox.publish_many(conn, event, [(each.account_id, InvoiceData.of(each)) for each in invoices])
    return len(invoices)
