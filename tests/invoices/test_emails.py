"""Emails about invoices: each is sent once, and only to live accounts."""

from datetime import timedelta
from email.message import EmailMessage

import pytest

from builders.invoices import invoices, jobs, payments
from builders.invoices.documents.emails import Occasion
from builders.kit.db.connections import Conn, Database
from builders.kit.jobs import queue
from builders.kit.values import clock
from tests.cast import Person
from tests.invoices.make import DUE, line, make_invoice, pass_by
from tests.worker import Worker


@pytest.fixture(autouse=True)
async def _void_other_invoices(conn: Conn) -> None:
    await conn.execute("UPDATE invoices_invoices SET status = 'uncollectible' WHERE status = 'open'")


def text(email: EmailMessage) -> str:
    """Return the text of an email on one line."""
    body = email.get_body(("plain",))
    assert body is not None
    return " ".join(body.get_content().split())


async def test_an_issued_invoice_is_sent(database: Database, alice: Person, worker: Worker) -> None:
    invoice = await make_invoice(database, account_id=alice.account.id)
    (email,) = await worker.list_emails(alice.account.email)
    assert email["Subject"] == f"Invoice {invoice.number} from Harbour Names Ltd"
    assert "Please pay 10.00 USD by" in text(email)
    assert "Bank of Quay, 00-11" in text(email)
    assert f"http://builders.test/v1/invoices/{invoice.id}" in text(email)


async def test_an_invoice_paid_at_issue_gets_one_email(database: Database, alice: Person, worker: Worker) -> None:
    await make_invoice(database, account_id=alice.account.id, lines=[line("0.00")])
    (email,) = await worker.list_emails(alice.account.email)
    assert "No payment is due" in text(email)


async def test_a_payment_is_confirmed(database: Database, alice: Person, worker: Worker) -> None:
    invoice = await make_invoice(database, account_id=alice.account.id)
    clock.move(timedelta(days=1))
    async with database.transaction() as conn:
        await payments.pay(conn, account_id=alice.account.id, invoice_id=invoice.id, method="bank", reference="R")
    emails = await worker.list_emails(alice.account.email)
    assert emails[-1]["Subject"] == f"Invoice {invoice.number} is paid: thank you"
    assert len(emails) == 2


async def test_reminders_name_the_next_step(database: Database, alice: Person, worker: Worker) -> None:
    invoice = await make_invoice(database, account_id=alice.account.id)
    await worker.list_emails(alice.account.email)
    clock.move(DUE)
    for wait in (0, 7, 7, 30):
        clock.move(timedelta(days=wait))
        await invoices.advance(database)
        await worker.work()
    emails = (await worker.list_emails(alice.account.email))[1:]
    assert [each["Subject"].partition(":")[0] for each in emails] == [
        "Payment is overdue",
        "Second reminder",
        "The payment period has ended",
        "Payment was not received",
    ]
    suspended = f"{invoice.due_at + timedelta(days=14):%Y-%m-%d}"
    assert f"suspended on {suspended}" in text(emails[0])
    assert f"suspended on {suspended}" in text(emails[1])
    assert "names on this invoice are suspended:" in text(emails[2])
    assert f"On {invoice.due_at + timedelta(days=44):%Y-%m-%d} they are released" in text(emails[2])
    assert "are released" in text(emails[3])


async def test_after_a_long_outage_only_the_newest_reminder_is_sent(
    database: Database, alice: Person, worker: Worker
) -> None:
    await make_invoice(database, account_id=alice.account.id)
    await worker.list_emails(alice.account.email)
    assert await pass_by(database, DUE + timedelta(days=20)) == 3  # no email job runs
    (email,) = (await worker.list_emails(alice.account.email))[1:]
    assert "names on this invoice are suspended:" in text(email)


async def test_a_late_reminder_has_the_new_date_of_the_suspension(
    database: Database, alice: Person, worker: Worker
) -> None:
    await make_invoice(database, account_id=alice.account.id)
    await worker.list_emails(alice.account.email)
    clock.move(DUE + timedelta(days=60))
    await invoices.advance(database)
    (email,) = (await worker.list_emails(alice.account.email))[1:]
    assert f"suspended on {clock.now() + timedelta(days=14):%Y-%m-%d}" in text(email)


async def test_a_paid_invoice_gets_no_reminder(database: Database, alice: Person, worker: Worker) -> None:
    invoice = await make_invoice(database, account_id=alice.account.id)
    clock.move(DUE)
    await invoices.advance(database)
    async with database.transaction() as conn:
        await payments.pay(conn, account_id=alice.account.id, invoice_id=invoice.id, method="bank", reference="R")
    subjects = [each["Subject"] for each in await worker.list_emails(alice.account.email)]
    assert not [each for each in subjects if "overdue" in each]
    assert len(subjects) == 2


async def test_a_repeated_job_sends_one_email(database: Database, alice: Person, worker: Worker) -> None:
    invoice = await make_invoice(database, account_id=alice.account.id)
    async with database.transaction() as conn:
        for _ in range(3):
            await queue.defer(
                conn,
                jobs.send_mail,
                account_id=str(alice.account.id),
                invoice_id=str(invoice.id),
                occasion=Occasion.ISSUED,
            )
    assert len(await worker.list_emails(alice.account.email)) == 1


async def test_a_sandbox_account_gets_no_email(database: Database, alice: Person, worker: Worker) -> None:
    await make_invoice(database, account_id=alice.account.sandbox_id, is_test=True)
    assert await worker.list_emails(alice.account.email) == []
