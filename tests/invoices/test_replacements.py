"""Replacements of void invoices: payments for the void invoice pay the replacement, and an email names it."""

import asyncio
from datetime import timedelta
from typing import Any

from builders.invoices import invoices, issuance, payments
from builders.invoices.records import Invoice, NewLine
from builders.kit.db.connections import Conn, Database
from builders.kit.values import clock, ids
from tests.cast import Client, Person
from tests.invoices.make import line, make_invoice, published, usd
from tests.invoices.stripe_server import StripeServer, event
from tests.invoices.test_checkout import link
from tests.invoices.test_credit import balances
from tests.invoices.test_emails import text
from tests.invoices.test_stripe import SUCCEEDED, send_event
from tests.worker import Worker

Json = dict[str, Any]


def names(count: int) -> list[NewLine]:
    """Return lines of 10 USD for periods that begin in a month."""
    return [line(alias_id=ids.new(), period_start=clock.now() + timedelta(days=30)) for _ in range(count)]


async def release(database: Database, invoice: Invoice, *lines: NewLine) -> None:
    """Release the names of the lines before their periods begin."""
    async with database.transaction() as conn:
        alias_ids = [each.alias_id for each in lines if each.alias_id]
        await issuance.withdraw_charges(conn, account_id=invoice.account_id, alias_ids=alias_ids, at=clock.now())


async def transfer(database: Database, invoice: Invoice, amount: str, reference: str = "R") -> None:
    async with database.transaction() as conn:
        key: Json = {"account_id": invoice.account_id, "invoice_id": invoice.id}
        await payments.pay(conn, **key, method="bank", reference=reference, amount=usd(amount))


async def listed(person: Person) -> list[tuple[str, str]]:
    """Return status and amount due of the account's invoices, oldest first."""
    items = (await person.get("/v1/invoices")).json()["items"]
    return [(each["status"], each["amount_due"]["amount"]) for each in reversed(items)]


async def test_a_payment_for_the_void_invoice_pays_its_replacement(
    conn: Conn, database: Database, alice: Person, anyone: Client, stripe: StripeServer
) -> None:
    lines = names(2)
    first = await make_invoice(database, account_id=alice.account.id, lines=lines)
    await link(alice, first)
    await release(database, first, lines[0])
    assert await listed(alice) == [("void", "0.00"), ("open", "10.00")]

    payload = event(stripe.sessions[0])
    outcomes = await asyncio.gather(*(send_event(anyone, payload) for _ in range(3)))

    assert outcomes == ["applied"] * 3
    assert await send_event(anyone, event(stripe.sessions[0], SUCCEEDED)) == "noted"
    assert await listed(alice) == [("void", "0.00"), ("paid", "0.00")]
    assert await balances(database, alice) == [usd("10.00")]
    assert len(await published(conn, alice.account.id, "invoice.paid")) == 1


async def test_a_payment_pays_the_replacement_of_a_void_replacement(database: Database, alice: Person) -> None:
    lines = names(3)
    first = await make_invoice(database, account_id=alice.account.id, lines=lines)
    await release(database, first, lines[0])
    await release(database, first, lines[1])

    await transfer(database, first, "4.00", "one")
    assert await listed(alice) == [("void", "0.00"), ("void", "0.00"), ("open", "6.00")]
    await transfer(database, first, "26.00", "two")

    assert await listed(alice) == [("void", "0.00"), ("void", "0.00"), ("paid", "0.00")]
    assert await balances(database, alice) == [usd("20.00")]


async def test_a_payment_booked_on_both_invoices_counts_once(database: Database, alice: Person) -> None:
    lines = names(2)
    first = await make_invoice(database, account_id=alice.account.id, lines=lines)
    await release(database, first, lines[0])
    async with database.connection() as conn:
        second = (await invoices.list_all_invoices(conn, account_id=alice.account.id, limit=1))[0]

    await transfer(database, second, "4.00")
    await transfer(database, first, "4.00")

    assert await listed(alice) == [("void", "0.00"), ("open", "6.00")]
    assert await balances(database, alice) == [usd("4.00")]


async def test_concurrent_payments_and_releases_pay_the_amount_owed(database: Database, alice: Person) -> None:
    for _ in range(5):
        lines = names(3)
        first = await make_invoice(database, account_id=alice.account.id, lines=lines)
        await asyncio.gather(
            transfer(database, first, "4.00", "one"),
            release(database, first, lines[0]),
            transfer(database, first, "6.00", "two"),
            release(database, first, lines[1]),
        )
        assert (await listed(alice))[-1] == ("paid", "0.00")
        assert sum(await balances(database, alice), usd("0.00")) == usd("0.00")


async def test_an_email_names_the_reason_and_the_replacement(
    database: Database, alice: Person, worker: Worker
) -> None:
    lines = names(2)
    first = await make_invoice(database, account_id=alice.account.id, lines=lines)
    await transfer(database, first, "4.00")
    await worker.work()
    await release(database, first, lines[0])
    emails = await worker.list_emails(alice.account.email)

    (email,) = [each for each in emails if each["Subject"] == f"Invoice {first.number} is void"]
    async with database.connection() as conn:
        second = (await invoices.list_all_invoices(conn, account_id=alice.account.id, limit=1))[0]
    message = text(email)
    assert "names on the invoice were released" in message
    assert "4.00 USD that you paid was added to the credit" in message
    assert f"Invoice {second.number} for 10.00 USD replaces it. Of this, 6.00 USD is due by" in message
    assert f"http://builders.test/v1/invoices/{second.id}" in message


async def test_an_email_says_that_a_cancelled_invoice_has_no_replacement(
    database: Database, alice: Person, worker: Worker
) -> None:
    invoice = await make_invoice(database, account_id=alice.account.id)
    await worker.work()
    async with database.transaction() as conn:
        await payments.void(conn, account_id=alice.account.id, invoice_id=invoice.id)
    email = (await worker.list_emails(alice.account.email))[-1]
    assert "the seller cancelled the invoice" in text(email)
    assert "No invoice replaces it" in text(email)
