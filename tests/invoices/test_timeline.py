"""The overdue timeline of an unpaid invoice."""

import asyncio
from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest

from builders.invoices import invoices, payments
from builders.invoices.records import InvoiceStatus, Stage
from builders.kit.db.connections import Conn, Database
from builders.kit.values import clock, ids
from tests.cast import Person
from tests.invoices.make import DUE, line, make_invoice, pass_by, published
from tests.worker import Worker

STEPS = ["invoice.overdue", "invoice.reminded", "invoice.grace_ended", "invoice.uncollectible"]
WAITS = [timedelta(), timedelta(days=7), timedelta(days=14), timedelta(days=44)]


@pytest.fixture(autouse=True)
async def _void_other_invoices(conn: Conn) -> None:
    """Void the open invoices of other tests."""
    await conn.execute("UPDATE invoices_invoices SET status = 'uncollectible' WHERE status = 'open'")


async def names(conn: Conn, person: Person) -> list[str]:
    """Return the events after invoice.created."""
    return [name for name, _ in await published(conn, person.account.id)][1:]


async def test_each_step_is_executed_on_its_day(conn: Conn, database: Database, alice: Person) -> None:
    alias_id = ids.new()
    invoice = await make_invoice(database, account_id=alice.account.id, lines=[line(alias_id=alias_id)])
    clock.move(DUE - timedelta(minutes=1))
    assert await invoices.advance(database) == 0
    clock.move(timedelta(minutes=1))
    gone = timedelta()
    for at, wait in enumerate(WAITS):
        clock.move(wait - gone - timedelta(minutes=1) if wait else timedelta())
        if wait:
            assert await invoices.advance(database) == 0
            clock.move(timedelta(minutes=1))
        gone = wait
        assert await invoices.advance(database) == 1
        assert await invoices.advance(database) == 0
        assert await names(conn, alice) == STEPS[: at + 1]
    found = await invoices.get_invoice(conn, account_id=alice.account.id, invoice_id=invoice.id)
    assert (found.status, found.stage) == (InvoiceStatus.UNCOLLECTIBLE, Stage.GRACE_ENDED)
    assert found.uncollectible_at is not None
    for _, data in await published(conn, alice.account.id, *STEPS):
        assert data["alias_ids"] == [str(alias_id)]
        assert data["number"] == invoice.number


async def test_concurrent_workers_execute_each_step_once(conn: Conn, database: Database, alice: Person) -> None:
    made = [await make_invoice(database, account_id=alice.account.id) for _ in range(5)]
    taken = 0
    for wait in (DUE, *(after - before for before, after in pairwise(WAITS))):
        clock.move(wait)
        taken += sum(await asyncio.gather(*(invoices.advance(database) for _ in range(4))))
    while taken < 20:
        taken += await invoices.advance(database)
    assert taken == 20
    happened = await published(conn, alice.account.id, *STEPS)
    assert len(happened) == 20
    for invoice in made:
        assert [name for name, data in happened if data["id"] == str(invoice.id)] == STEPS


async def test_a_late_step_delays_the_next_steps(conn: Conn, database: Database, alice: Person) -> None:
    invoice = await make_invoice(database, account_id=alice.account.id)
    clock.move(DUE + timedelta(days=60))  # no worker runs
    assert await invoices.advance(database) == 1
    shown = await invoices.get_invoice(conn, account_id=alice.account.id, invoice_id=invoice.id)
    assert shown.due_at == invoice.due_at
    assert shown.suspends_at - clock.now() > timedelta(days=14, seconds=-60)

    clock.move(timedelta(days=6))
    assert await invoices.advance(database) == 0
    clock.move(timedelta(days=5))  # late by more than a day and less than a week
    assert await invoices.advance(database) == 1
    assert await names(conn, alice) == STEPS[:2]
    assert await pass_by(database, timedelta(days=6)) == 0
    assert await pass_by(database, timedelta(days=1)) == 1
    assert await pass_by(database, timedelta(days=29)) == 0
    assert await pass_by(database, timedelta(days=1)) == 1
    assert await names(conn, alice) == STEPS


async def test_several_batches_are_executed(database: Database, alice: Person) -> None:
    for _ in range(5):
        await make_invoice(database, account_id=alice.account.id)
    clock.move(DUE)
    assert await invoices.advance(database, batch_size=2) == 5


async def test_a_paid_invoice_has_no_steps(conn: Conn, database: Database, alice: Person) -> None:
    paid = await make_invoice(database, account_id=alice.account.id)
    voided = await make_invoice(database, account_id=alice.account.id)
    clock.move(DUE)
    assert await invoices.advance(database) == 2
    key: dict[str, Any] = {"account_id": alice.account.id}
    async with database.transaction() as inside:
        await payments.pay(inside, **key, invoice_id=paid.id, method="bank", reference="R")
        await payments.void(inside, **key, invoice_id=voided.id)
    clock.move(timedelta(days=90))
    assert await invoices.advance(database) == 0
    assert "invoice.uncollectible" not in await names(conn, alice)


async def test_a_locked_invoice_is_skipped(database: Database, alice: Person) -> None:
    invoice = await make_invoice(database, account_id=alice.account.id)
    clock.move(DUE)
    async with database.transaction() as conn:
        await payments.pay(conn, account_id=alice.account.id, invoice_id=invoice.id, method="bank", reference="R")
        assert await invoices.advance(database) == 0
    assert await invoices.advance(database) == 0


async def test_a_sandbox_account_has_the_same_steps_without_email(
    conn: Conn, database: Database, alice: Person, worker: Worker
) -> None:
    await make_invoice(database, account_id=alice.account.sandbox_id, is_test=True)
    clock.move(DUE)
    assert await invoices.advance(database) == 1
    assert [name for name, _ in await published(conn, alice.account.sandbox_id)] == [
        "invoice.created",
        "invoice.overdue",
    ]
    assert await worker.list_emails(alice.account.email) == []


async def test_an_open_invoice_past_its_due_date_is_overdue(database: Database, alice: Person) -> None:
    await make_invoice(database, account_id=alice.account.id)
    assert [each["overdue"] for each in (await alice.get("/v1/invoices")).json()["items"]] == [False]
    clock.move(DUE)
    (shown,) = (await alice.get("/v1/invoices")).json()["items"]
    assert (shown["status"], shown["overdue"]) == ("open", True)
