"""Bank payments: each is booked once, for an invoice of any status."""

import asyncio

import pytest

from builders.invoices import invoices, payments
from builders.invoices.errors import InvalidTransition, InvoiceNotFound, NothingDue
from builders.invoices.records import Invoice, InvoiceStatus, PaymentResult
from builders.kit.db.connections import Conn, Database
from builders.kit.values.money import Money
from tests.cast import Person
from tests.invoices.make import make_invoice, published, usd
from tests.invoices.test_credit import balances


async def pay(
    database: Database, invoice: Invoice, reference: str = "R-1", amount: str | None = None
) -> PaymentResult:
    """Book a bank transfer."""
    async with database.transaction() as conn:
        return await payments.pay(
            conn,
            account_id=invoice.account_id,
            invoice_id=invoice.id,
            method="bank",
            reference=reference,
            amount=None if amount is None else Money.of(amount, invoice.currency),
        )


@pytest.fixture
async def invoice(database: Database, alice: Person) -> Invoice:
    """Return an invoice of Alice over 10 USD."""
    return await make_invoice(database, account_id=alice.account.id)


async def test_a_payment_of_the_amount_due_pays_the_invoice(
    conn: Conn, database: Database, invoice: Invoice
) -> None:
    paid = await pay(database, invoice)
    assert (paid.invoice.status, paid.payment.amount) == (InvoiceStatus.PAID, usd("10.00"))
    assert (paid.invoice.payment_method, paid.invoice.payment_reference) == ("bank", "R-1")
    ((_, data),) = await published(conn, invoice.account_id, "invoice.paid")
    assert data["amount_paid"] == {"amount": "10.00", "currency": "USD"}


async def test_the_same_reference_twice_is_one_payment(conn: Conn, database: Database, invoice: Invoice) -> None:
    await pay(database, invoice, amount="4.00")
    again = await pay(database, invoice, amount="4.00")
    assert again.repeated
    assert again.invoice.amount_due == usd("6.00")
    await pay(database, invoice, "R-2")
    assert (await pay(database, invoice, "R-2")).repeated
    assert len(await published(conn, invoice.account_id, "invoice.paid")) == 1


async def test_a_reference_with_another_amount_is_refused(database: Database, invoice: Invoice) -> None:
    await pay(database, invoice, amount="4.00")
    with pytest.raises(ValueError, match=r"already booked with 4\.00 USD, not 5\.00 USD"):
        await pay(database, invoice, amount="5.00")
    assert (await pay(database, invoice)).payment.amount == usd("4.00")


async def test_blanks_around_a_reference_are_ignored(database: Database, invoice: Invoice) -> None:
    await pay(database, invoice, amount="4.00")
    again = await pay(database, invoice, " R-1\n", "4.00")
    assert (again.repeated, again.invoice.amount_due) == (True, usd("6.00"))
    with pytest.raises(ValueError, match="reference is missing"):
        await pay(database, invoice, " ")


@pytest.mark.parametrize("reference", ["x" * 201, "a\nb", "a\x1b[2Jb", "\u202eb"])
async def test_an_invalid_reference_is_refused(database: Database, invoice: Invoice, reference: str) -> None:
    with pytest.raises(ValueError, match="characters"):
        await pay(database, invoice, reference)
    assert (await pay(database, invoice, "\N{DOG FACE}" * 200)).invoice.status is InvoiceStatus.PAID


async def test_an_overpaid_amount_becomes_credit(database: Database, alice: Person, invoice: Invoice) -> None:
    paid = await pay(database, invoice, amount="12.50")
    assert (paid.invoice.amount_paid, paid.payment.overpaid) == (usd("10.00"), usd("2.50"))
    assert await balances(database, alice) == [usd("2.50")]


async def test_a_payment_for_a_paid_invoice_becomes_credit(
    database: Database, alice: Person, invoice: Invoice
) -> None:
    await pay(database, invoice)
    paid = await pay(database, invoice, "R-2", "10.00")
    assert (paid.invoice.amount_paid, paid.payment.overpaid) == (usd("10.00"), usd("10.00"))
    assert await balances(database, alice) == [usd("10.00")]
    with pytest.raises(NothingDue):
        await pay(database, invoice, "R-3")


async def test_concurrent_payments_pay_the_invoice_once(
    conn: Conn, database: Database, alice: Person, invoice: Invoice
) -> None:
    await asyncio.gather(*(pay(database, invoice, f"R-{at % 4}", "10.00") for at in range(8)))
    assert len(await published(conn, invoice.account_id, "invoice.paid")) == 1
    assert await balances(database, alice) == [usd("30.00")]


async def test_a_void_invoice_cannot_be_paid(database: Database, alice: Person, invoice: Invoice) -> None:
    await pay(database, invoice, amount="3.00")
    async with database.transaction() as conn:
        await payments.void(conn, account_id=alice.account.id, invoice_id=invoice.id)
    with pytest.raises(InvalidTransition) as refused:
        await pay(database, invoice, "R-2")
    assert (refused.value.members["to"], refused.value.members["from"]) == ("paid", "void")
    assert await balances(database, alice) == [usd("3.00")]  # the payment became credit


async def test_an_uncollectible_invoice_can_be_paid(database: Database, invoice: Invoice) -> None:
    async with database.transaction() as conn:
        uncollectible = await invoices.mark_uncollectible(
            conn, account_id=invoice.account_id, invoice_id=invoice.id
        )
    assert uncollectible.status is InvoiceStatus.UNCOLLECTIBLE
    assert (await pay(database, invoice)).invoice.status is InvoiceStatus.PAID


async def test_an_invoice_of_another_account_is_not_found(
    database: Database, bob: Person, invoice: Invoice
) -> None:
    async with database.transaction() as conn:
        for move in (payments.void, invoices.mark_uncollectible):
            with pytest.raises(InvoiceNotFound):
                await move(conn, account_id=bob.account.id, invoice_id=invoice.id)
        with pytest.raises(InvoiceNotFound):
            await payments.pay(
                conn, account_id=bob.account.id, invoice_id=invoice.id, method="bank", reference="R"
            )


@pytest.mark.parametrize("amount", [usd("0.00"), usd("-1.00"), Money.of("1.00", "EUR")])
async def test_an_invalid_amount_is_refused(database: Database, invoice: Invoice, amount: Money) -> None:
    async with database.transaction() as conn:
        with pytest.raises(ValueError, match=r"positive|combined"):
            await payments.pay(
                conn,
                account_id=invoice.account_id,
                invoice_id=invoice.id,
                method="bank",
                reference="R",
                amount=amount,
            )
