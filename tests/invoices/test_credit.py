"""Account credit: a ledger key balance is used first, and once."""

import asyncio
from uuid import uuid4

import pytest

from builders.invoices import invoices, payments
from builders.invoices.records import CreditGrant, CreditKind, InvoiceStatus
from builders.kit.db.connections import Conn, Database
from builders.kit.values.money import Money
from tests.cast import Person
from tests.invoices.make import line, make_invoice, published, usd

BLOCKED = "SELECT FROM pg_stat_activity WHERE %s = ANY(pg_blocking_pids(pid))"


async def grant(database: Database, person: Person, amount: Money, reference: str | None = None) -> CreditGrant:
    """Grant credit to an account."""
    async with database.transaction() as conn:
        return await payments.grant_credit(
            conn,
            account_id=person.account.id,
            amount=amount,
            reason="Sorry.",
            reference=reference or uuid4().hex,
        )


async def balances(database: Database, person: Person) -> list[Money]:
    """Return the credit balances of an account."""
    async with database.connection() as conn:
        return list((await payments.get_credit(conn, account_id=person.account.id)).balances)


async def is_blocking(database: Database, conn: Conn) -> bool:
    """Return whether another connection waits for a lock of this one."""
    async with database.connection() as watching:
        found = await watching.execute(BLOCKED, [conn.info.backend_pid])
        return await found.fetchone() is not None


async def test_an_invoice_uses_credit_first(database: Database, alice: Person) -> None:
    await grant(database, alice, usd("4.00"))
    invoice = await make_invoice(database, account_id=alice.account.id)
    assert (invoice.credit_applied, invoice.amount_due) == (usd("4.00"), usd("6.00"))
    assert await balances(database, alice) == [usd("0.00")]


async def test_an_invoice_covered_by_credit_is_paid_at_issue(
    conn: Conn, database: Database, alice: Person
) -> None:
    await grant(database, alice, usd("25.00"))
    invoice = await make_invoice(database, account_id=alice.account.id)
    assert (invoice.status, invoice.amount_paid) == (InvoiceStatus.PAID, usd("0.00"))
    assert await balances(database, alice) == [usd("15.00")]
    assert len(await published(conn, alice.account.id, "invoice.paid")) == 1


async def test_the_same_reference_is_one_grant(database: Database, alice: Person, bob: Person) -> None:
    grants = await asyncio.gather(*(grant(database, alice, usd("5.00"), "outage") for _ in range(4)))
    assert sorted(each.repeated for each in grants) == [False, True, True, True]
    assert len({each.entry.id for each in grants}) == 1
    assert await balances(database, alice) == [usd("5.00")]

    with pytest.raises(ValueError, match=r"outage was already used for a grant of 5\.00 USD, not 6\.00"):
        await grant(database, alice, usd("6.00"), "outage")
    with pytest.raises(ValueError, match="already used for a grant"):
        await grant(database, alice, Money.of("5.00", "EUR"), "outage")
    assert not (await grant(database, bob, usd("5.00"), "outage")).repeated


async def test_concurrent_grants_with_one_reference_in_two_currencies_are_one_grant(
    database: Database, alice: Person
) -> None:
    async with database.transaction() as conn:
        first = await payments.grant_credit(
            conn, account_id=alice.account.id, amount=usd("5.00"), reason="Sorry.", reference="outage"
        )
        second = asyncio.create_task(grant(database, alice, Money.of("5.00", "EUR"), "outage"))
        while not await is_blocking(database, conn):
            assert not second.done()
    with pytest.raises(ValueError, match=r"outage was already used for a grant of 5\.00 USD, not 5\.00 EUR"):
        await second
    assert not first.repeated
    assert await balances(database, alice) == [usd("5.00")]


async def test_blanks_around_a_reference_are_ignored(database: Database, alice: Person) -> None:
    await grant(database, alice, usd("5.00"), "Störung")
    assert (await grant(database, alice, usd("5.00"), " Sto\u0308rung\n")).repeated
    assert await balances(database, alice) == [usd("5.00")]


@pytest.mark.parametrize(
    ("reference", "why"),
    [
        (" ", "reference is missing"),
        ("x" * 201, "200 characters"),
        ("a\nb", "control"),
        ("\u202eb", "bidirectional"),
    ],
)
async def test_an_invalid_reference_is_refused(
    database: Database, alice: Person, reference: str, why: str
) -> None:
    with pytest.raises(ValueError, match=why):
        await grant(database, alice, usd("5.00"), reference)
    assert await balances(database, alice) == []
    await grant(database, alice, usd("5.00"), "\N{DOG FACE}" * 200)  # fits in the index


@pytest.mark.parametrize(
    ("reason", "why"),
    [(" ", "reason is missing"), ("x" * 501, "500 characters"), ("a\nb", "control"), ("\u202eb", "bidirectional")],
)
async def test_an_invalid_reason_is_refused(database: Database, alice: Person, reason: str, why: str) -> None:
    async with database.transaction() as conn:
        with pytest.raises(ValueError, match=why):
            await payments.grant_credit(
                conn, account_id=alice.account.id, amount=usd("5.00"), reason=reason, reference="1"
            )
    assert await balances(database, alice) == []


async def test_a_cleared_sandbox_accepts_the_same_reference_again(
    database: Database, alice: Person, bob: Person
) -> None:
    async def give(person: Person) -> bool:
        async with database.transaction() as conn:
            sandbox = person.account.sandbox_id
            made = await payments.grant_credit(
                conn, account_id=sandbox, amount=usd("5.00"), reason="Try.", reference="1"
            )
            return not made.repeated

    assert [await give(alice), await give(alice), await give(bob)] == [True, False, True]
    async with database.transaction() as conn:
        await invoices.clear(conn, account_id=alice.account.sandbox_id)
    assert [await give(alice), await give(bob)] == [True, False]
    async with database.connection() as conn:
        credit = await payments.get_credit(conn, account_id=alice.account.sandbox_id)
    assert credit.balances == [usd("5.00")]


async def test_credit_pays_only_its_currency(database: Database, alice: Person) -> None:
    await grant(database, alice, Money.of("50.00", "EUR"))
    invoice = await make_invoice(database, account_id=alice.account.id)
    assert invoice.credit_applied == usd("0.00")
    assert Money.of("50.00", "EUR") in await balances(database, alice)


async def test_credit_of_another_account_is_not_used(database: Database, alice: Person, bob: Person) -> None:
    await grant(database, bob, usd("50.00"))
    invoice = await make_invoice(database, account_id=alice.account.id)
    assert invoice.credit_applied == usd("0.00")


async def test_concurrent_invoices_use_credit_once(database: Database, alice: Person) -> None:
    await grant(database, alice, usd("35.00"))
    made = await asyncio.gather(*(make_invoice(database, account_id=alice.account.id) for _ in range(6)))
    zero = usd("0.00")
    assert sum((each.credit_applied for each in made), zero) == usd("35.00")
    assert sorted(each.credit_applied for each in made) == [zero, zero, usd("5.00"), *[usd("10.00")] * 3]
    assert await balances(database, alice) == [zero]


async def test_a_rollback_restores_the_credit(database: Database, alice: Person) -> None:
    await grant(database, alice, usd("5.00"))

    async def undone() -> None:
        async with database.transaction() as conn:
            await make_invoice(conn, account_id=alice.account.id)
            raise LookupError

    with pytest.raises(LookupError):
        await undone()
    assert await balances(database, alice) == [usd("5.00")]


async def test_the_balance_cannot_become_negative(database: Database, alice: Person) -> None:
    await grant(database, alice, usd("5.00"))
    await grant(database, alice, usd("-2.00"))
    with pytest.raises(ValueError, match=r"3\.00 USD"):
        await grant(database, alice, usd("-3.01"))
    assert await balances(database, alice) == [usd("3.00")]


async def test_a_voided_invoice_returns_its_credit(database: Database, alice: Person) -> None:
    await grant(database, alice, usd("4.00"))
    invoice = await make_invoice(database, account_id=alice.account.id)
    async with database.transaction() as conn:
        await payments.void(conn, account_id=alice.account.id, invoice_id=invoice.id)
    async with database.connection() as conn:
        credit = await payments.get_credit(conn, account_id=alice.account.id)
    assert credit.balances == [usd("4.00")]
    assert [each.kind for each in credit.entries] == [
        CreditKind.RETURNED,
        CreditKind.APPLIED,
        CreditKind.GRANTED,
    ]
    again = await make_invoice(database, account_id=alice.account.id, lines=[line("4.00")])
    assert again.status is InvoiceStatus.PAID
