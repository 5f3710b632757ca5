"""The status of an invoice in any sequence of transitions, and the triggers that protect the rows."""

from collections.abc import Mapping
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from hypothesis import given, strategies as st

from builders.invoices import invoices, payments
from builders.invoices.errors import InvalidTransition
from builders.invoices.records import Invoice, InvoiceStatus
from builders.kit.db.connections import Conn, Database
from builders.kit.values.money import Money
from tests.cast import Person
from tests.invoices.make import make_invoice, published, usd
from tests.random_cases import cases

PUBLISHED = {
    "invoice.paid": InvoiceStatus.PAID,
    "invoice.voided": InvoiceStatus.VOID,
    "invoice.uncollectible": InvoiceStatus.UNCOLLECTIBLE,
}
TRANSITIONS: Mapping[InvoiceStatus, frozenset[InvoiceStatus]] = {
    InvoiceStatus.OPEN: frozenset({InvoiceStatus.PAID, InvoiceStatus.VOID, InvoiceStatus.UNCOLLECTIBLE}),
    InvoiceStatus.UNCOLLECTIBLE: frozenset({InvoiceStatus.PAID, InvoiceStatus.VOID}),
    InvoiceStatus.PAID: frozenset(),
    InvoiceStatus.VOID: frozenset(),
}
STEPS = st.lists(
    st.tuples(st.sampled_from(["pay", "part", "void", "give_up"]), st.integers(0, 3)), min_size=1, max_size=6
)


async def take(conn: Conn, invoice: Invoice, step: str, reference: int) -> Invoice:
    """Execute one transition. Raises InvalidTransition."""
    key: dict[str, Any] = {"account_id": invoice.account_id, "invoice_id": invoice.id}
    if step in {"pay", "part"}:
        amount = Money.of("10.00" if step == "pay" else "3.00", "USD")
        paid = await payments.pay(conn, **key, method=step, reference=f"R{reference}", amount=amount)
        return paid.invoice
    return await {"void": payments.void, "give_up": invoices.mark_uncollectible}[step](conn, **key)


@cases(8)
@given(steps=STEPS, credit=st.integers(0, 12))
async def test_any_sequence_keeps_the_transitions_and_the_balance(
    database: Database, alice: Person, steps: list[tuple[str, int]], credit: int
) -> None:
    key: dict[str, Any] = {"account_id": alice.account.id}
    zero = usd("0.00")
    async with database.connection() as conn:
        before = (await payments.get_credit(conn, **key)).balances
        start = before[0] if before else zero
        if start.amount:  # left from the previous example
            await payments.grant_credit(conn, **key, amount=-start, reason="cleared", reference=uuid4().hex)
        if credit:
            await payments.grant_credit(
                conn, **key, amount=usd(f"{credit}.00"), reason="given", reference=uuid4().hex
            )
        invoice = await make_invoice(database, **key)
        arrived: dict[str, Money] = {}
        for step, reference in steps:
            try:
                after = await take(conn, invoice, step, reference)
            except InvalidTransition:
                assert invoice.status in {InvoiceStatus.VOID, InvoiceStatus.PAID, InvoiceStatus.UNCOLLECTIBLE}
                continue
            assert after.status is invoice.status or after.status in TRANSITIONS[invoice.status]
            if step in {"pay", "part"}:
                arrived.setdefault(f"{step} R{reference}", usd("10.00" if step == "pay" else "3.00"))
            invoice = after
            assert zero <= invoice.amount_due <= invoice.total
            if invoice.status is not InvoiceStatus.VOID:
                assert invoice.amount_due == invoice.total - invoice.credit_applied - invoice.amount_paid
            assert (invoice.status is InvoiceStatus.PAID) == (invoice.paid_at is not None)
        kept = (await payments.get_credit(conn, **key)).balances
        balance = kept[0] if kept else zero
        # Each amount is on the invoice or in the credit balance.
        held = zero if invoice.status is InvoiceStatus.VOID else invoice.credit_applied + invoice.amount_paid
        assert balance + held == usd(f"{credit}.00") + sum(arrived.values(), zero)
        names = [name for name, data in await published(conn, alice.account.id) if data["id"] == str(invoice.id)]
    assert len(names) == len(set(names))  # each event is published once
    if invoice.status in PUBLISHED.values():
        assert any(PUBLISHED.get(name) is invoice.status for name in names)


PAID = [
    "UPDATE invoices_invoices SET status = 'open' WHERE id = %s",
    "UPDATE invoices_invoices SET status = 'void', voided_at = paid_at WHERE id = %s",
    "UPDATE invoices_invoices SET amount_paid = 3 WHERE id = %s",
    "UPDATE invoices_invoices SET credit_applied = 1 WHERE id = %s",
]
ISSUED = [
    "UPDATE invoices_invoices SET status = 'draft' WHERE id = %s",
    "UPDATE invoices_invoices SET number = NULL WHERE id = %s",
    "UPDATE invoices_invoices SET buyer = NULL WHERE id = %s",
    "UPDATE invoices_invoices SET amount_paid = 11.01 WHERE id = %s",
    "UPDATE invoices_invoices SET credit_applied = -1 WHERE id = %s",
    "UPDATE invoices_invoices SET tax_total = tax_total + 1 WHERE id = %s",
    "UPDATE invoices_invoices SET status = 'paid', paid_at = due_at WHERE id = %s",
]
NAMED = [
    "UPDATE invoices_invoices SET total = 1, subtotal = 1, tax_total = 0 WHERE id = %s",
    "UPDATE invoices_invoices SET currency = 'EUR' WHERE id = %s",
    "DELETE FROM invoices_invoices WHERE id = %s",
    "UPDATE invoices_lines SET invoice_total = 12 WHERE invoice_id = %s",
    "UPDATE invoices_lines SET invoice_id = id WHERE invoice_id = %s",
]


@pytest.mark.parametrize("statement", PAID)
async def test_the_database_refuses_other_money_of_a_paid_invoice(
    conn: Conn, database: Database, alice: Person, statement: str
) -> None:
    invoice = await make_invoice(database, account_id=alice.account.id)
    async with database.transaction() as inside:
        await payments.pay(
            inside,
            account_id=alice.account.id,
            invoice_id=invoice.id,
            method="bank",
            reference="R",
            amount=usd("11.00"),
        )
    with pytest.raises(psycopg.errors.CheckViolation):
        await conn.execute(statement.encode(), [invoice.id])


@pytest.mark.parametrize("statement", ISSUED)
async def test_the_database_refuses_states_and_amounts_that_do_not_fit(
    conn: Conn, database: Database, alice: Person, statement: str
) -> None:
    invoice = await make_invoice(database, account_id=alice.account.id)
    with pytest.raises(psycopg.errors.CheckViolation):
        await conn.execute(statement.encode(), [invoice.id])


@pytest.mark.parametrize("statement", NAMED)
async def test_an_invoice_keeps_its_lines_its_currency_and_its_total(
    conn: Conn, database: Database, alice: Person, statement: str
) -> None:
    invoice = await make_invoice(database, account_id=alice.account.id)
    with pytest.raises(psycopg.errors.ForeignKeyViolation):
        await conn.execute(statement.encode(), [invoice.id])


async def test_only_sandbox_accounts_can_be_cleared(database: Database, alice: Person) -> None:
    live = await make_invoice(database, account_id=alice.account.id)
    sandbox: dict[str, Any] = {"account_id": alice.account.sandbox_id}
    made = await make_invoice(database, **sandbox, is_test=True)
    async with database.transaction() as conn:
        await payments.pay(conn, **sandbox, invoice_id=made.id, method="bank", reference="R", amount=usd("11.00"))
        with pytest.raises(ValueError, match="not a sandbox"):
            await invoices.clear(conn, account_id=alice.account.id)
        assert await invoices.clear(conn, **sandbox) == 1
        assert await invoices.clear(conn, **sandbox) == 0
        assert (
            await invoices.get_invoice(conn, account_id=alice.account.id, invoice_id=live.id)
        ).number == live.number
