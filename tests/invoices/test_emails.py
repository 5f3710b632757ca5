"""Mail about invoices: each letter once, to live accounts alone."""

from datetime import timedelta
from email.message import EmailMessage

import pytest

from builders.invoices import jobs, service as invoices
from builders.invoices.emails import Occasion
from builders.kit.db.connections import Conn, Database
from builders.kit.jobs import queue
from builders.kit.values import clock
from tests.cast import Person
from tests.invoices.conftest import Office
from tests.invoices.make import DUE, line, make_invoice, pass_by


@pytest.fixture(autouse=True)
async def _nobody_elses(conn: Conn) -> None:
    await conn.execute("UPDATE invoices_invoices SET status = 'uncollectible' WHERE status = 'open'")


def text(letter: EmailMessage) -> str:
    """What it says, on one line."""
    body = letter.get_body(("plain",))
    assert body is not None
    return " ".join(body.get_content().split())


async def test_an_invoice_is_mailed(database: Database, alice: Person, office: Office) -> None:
    invoice = await make_invoice(database, account_id=alice.account.id)
    (letter,) = await office.letters(alice.account.email)
    assert letter["Subject"] == f"Invoice {invoice.number} from Harbour Names Ltd"
    assert "Please pay 10.00 USD by" in text(letter)
    assert "Bank of Quay, 00-11" in text(letter)
    assert f"http://builders.test/v1/invoices/{invoice.id}" in text(letter)


async def test_one_that_is_paid_at_once_is_mailed_once(database: Database, alice: Person, office: Office) -> None:
    await make_invoice(database, account_id=alice.account.id, lines=[line("0.00")])
    (letter,) = await office.letters(alice.account.email)
    assert "No payment is due" in text(letter)


async def test_a_payment_is_thanked_for(database: Database, alice: Person, office: Office) -> None:
    invoice = await make_invoice(database, account_id=alice.account.id)
    clock.move(timedelta(days=1))
    async with database.transaction() as conn:
        await invoices.pay(conn, account_id=alice.account.id, invoice_id=invoice.id, method="bank", reference="R")
    letters = await office.letters(alice.account.email)
    assert letters[-1]["Subject"] == f"Invoice {invoice.number} is paid: thank you"
    assert len(letters) == 2


async def test_reminders_say_what_comes_next(database: Database, alice: Person, office: Office) -> None:
    invoice = await make_invoice(database, account_id=alice.account.id)
    await office.letters(alice.account.email)
    clock.move(DUE)
    for wait in (0, 7, 7, 30):
        clock.move(timedelta(days=wait))
        await invoices.advance(database)
        await office.work()
    letters = (await office.letters(alice.account.email))[1:]
    assert [each["Subject"].partition(":")[0] for each in letters] == [
        "Payment is overdue",
        "Second reminder",
        "The payment period has ended",
        "Payment was not received",
    ]
    suspended = f"{invoice.due_at + timedelta(days=14):%Y-%m-%d}"
    assert f"suspended on {suspended}" in text(letters[0])
    assert f"suspended on {suspended}" in text(letters[1])
    assert "names on this invoice are suspended:" in text(letters[2])
    assert f"On {invoice.due_at + timedelta(days=44):%Y-%m-%d} they are released" in text(letters[2])
    assert "are released" in text(letters[3])


async def test_after_a_long_silence_the_newest_reminder_alone_is_mailed(
    database: Database, alice: Person, office: Office
) -> None:
    await make_invoice(database, account_id=alice.account.id)
    await office.letters(alice.account.email)
    assert await pass_by(database, DUE + timedelta(days=20)) == 3  # while nobody mails
    (letter,) = (await office.letters(alice.account.email))[1:]
    assert "names on this invoice are suspended:" in text(letter)


async def test_a_reminder_that_comes_late_says_when_names_are_suspended_now(
    database: Database, alice: Person, office: Office
) -> None:
    await make_invoice(database, account_id=alice.account.id)
    await office.letters(alice.account.email)
    clock.move(DUE + timedelta(days=60))
    await invoices.advance(database)
    (letter,) = (await office.letters(alice.account.email))[1:]
    assert f"suspended on {clock.now() + timedelta(days=14):%Y-%m-%d}" in text(letter)


async def test_who_has_paid_meanwhile_is_not_reminded(database: Database, alice: Person, office: Office) -> None:
    invoice = await make_invoice(database, account_id=alice.account.id)
    clock.move(DUE)
    await invoices.advance(database)
    async with database.transaction() as conn:
        await invoices.pay(conn, account_id=alice.account.id, invoice_id=invoice.id, method="bank", reference="R")
    subjects = [each["Subject"] for each in await office.letters(alice.account.email)]
    assert not [each for each in subjects if "overdue" in each]
    assert len(subjects) == 2


async def test_a_job_that_runs_twice_mails_once(database: Database, alice: Person, office: Office) -> None:
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
    assert len(await office.letters(alice.account.email)) == 1


async def test_a_sandbox_gets_no_mail(database: Database, alice: Person, office: Office) -> None:
    await make_invoice(database, account_id=alice.account.sandbox_id, is_test=True)
    assert await office.letters(alice.account.email) == []
