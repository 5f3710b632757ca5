"""Withdraw charges that were billed in advance for released names."""

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from uuid import UUID

from builders.invoices import invoices, issuance, payments
from builders.invoices.records import Invoice, InvoiceStatus, NewLine
from builders.kit.db.connections import Conn, Database
from builders.kit.values import clock, ids
from tests.cast import Person
from tests.invoices.make import line, make_invoice, published, usd


def ahead(alias_id: UUID, amount: str = "10.00") -> NewLine:
    """Return a line for a year that begins in a month."""
    begins = clock.now() + timedelta(days=30)
    return line(amount, alias_id=alias_id, period_start=begins, period_end=begins + timedelta(days=365))


async def withdraw(database: Database, person: Person, *alias_ids: UUID) -> Sequence[Invoice]:
    async with database.transaction() as conn:
        return await issuance.withdraw_charges(
            conn, account_id=person.account.id, alias_ids=alias_ids, at=clock.now()
        )


async def statuses(database: Database, person: Person) -> list[tuple[str, str]]:
    """Return status and total of the account's invoices, oldest first."""
    async with database.connection() as conn:
        found = await invoices.list_all_invoices(conn, account_id=person.account.id, limit=100)
    return [(each.status.value, str(each.total.amount)) for each in reversed(found)]


async def test_a_period_that_never_begins_is_not_owed(alice: Person, database: Database, conn: Conn) -> None:
    ada, eve = ids.new(), ids.new()
    await make_invoice(database, account_id=alice.account.id, lines=[ahead(ada), ahead(eve)])

    assert await withdraw(database, alice, ada, eve) == []
    assert await withdraw(database, alice, ada, eve) == []

    assert await statuses(database, alice) == [("void", "20.00")]
    assert [name for name, _ in await published(conn, alice.account.id)] == ["invoice.created", "invoice.voided"]


async def test_the_other_lines_are_issued_again_on_the_same_terms(alice: Person, database: Database) -> None:
    ada, eve = ids.new(), ids.new()
    async with database.transaction() as conn:
        await payments.grant_credit(
            conn, account_id=alice.account.id, amount=usd("5.00"), reason="a gift", reference="1"
        )
    before = await make_invoice(
        database, account_id=alice.account.id, lines=[ahead(ada), ahead(eve, "7.00")], due_at=clock.now(), tax="20"
    )

    [after] = await withdraw(database, alice, ada)

    assert await statuses(database, alice) == [("void", "20.40"), ("open", "8.40")]
    assert (after.credit_applied, after.amount_due, after.alias_ids) == (usd("5.00"), usd("3.40"), [eve])
    assert (after.due_at, after.tax_rate, after.number != before.number) == (before.due_at, before.tax_rate, True)


async def test_a_period_that_has_begun_is_owed(alice: Person, database: Database) -> None:
    ada = ids.new()
    await make_invoice(database, account_id=alice.account.id, lines=[line(alias_id=ada)])

    assert await withdraw(database, alice, ada) == []

    assert await statuses(database, alice) == [("open", "10.00")]


async def test_paid_invoices_and_other_accounts_do_not_change(
    alice: Person, bob: Person, database: Database
) -> None:
    ada = ids.new()
    paid = await make_invoice(database, account_id=alice.account.id, lines=[ahead(ada)])
    await make_invoice(database, account_id=bob.account.id, lines=[ahead(ada)])
    async with database.transaction() as conn:
        await payments.pay(conn, account_id=alice.account.id, invoice_id=paid.id, method="transfer", reference="1")

    await withdraw(database, alice, ada)

    assert await statuses(database, alice) == [("paid", "10.00")]
    assert await statuses(database, bob) == [("open", "10.00")]


async def test_concurrent_payments_are_kept(alice: Person, database: Database) -> None:
    """No deadlock: invoice rows are locked before the numbers, and these before the credit balance."""
    account_id, names = alice.account.id, [ids.new() for _ in range(4)]
    made = [
        await make_invoice(database, account_id=account_id, lines=[ahead(each), ahead(names[0], "1.00")])
        for each in names[1:]
    ]

    async def pay(invoice: Invoice) -> None:
        async with database.transaction() as conn:
            await payments.pay(
                conn,
                account_id=account_id,
                invoice_id=invoice.id,
                method="transfer",
                reference=str(invoice.id),
                amount=usd("15.00"),
            )

    results = await asyncio.gather(withdraw(database, alice, names[0]), *map(pay, made), return_exceptions=True)

    refused = [each for each in results if isinstance(each, BaseException)]
    async with database.connection() as conn:
        credit = await payments.get_credit(conn, account_id=account_id)
        found = await invoices.list_all_invoices(conn, account_id=account_id, limit=100)
    came = usd("15.00") * (3 - len(refused))
    assert {type(each).__name__ for each in refused} <= {"InvalidTransition"}  # it was already void
    spent = sum(
        (
            each.credit_applied.amount + each.amount_paid.amount
            for each in found
            if each.status is not InvoiceStatus.VOID
        ),
        usd("0.00").amount,
    )
    assert sum((each.amount for each in credit.balances), usd("0.00").amount) + spent == came.amount
