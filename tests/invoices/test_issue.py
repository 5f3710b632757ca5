"""Issue invoices: numbers, totals, seller and buyer, drafts."""

import asyncio
import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from builders.identity import accounts
from builders.invoices import invoices, issuance
from builders.invoices.errors import InvoiceNotFound
from builders.invoices.records import BillingDetails, InvoiceStatus
from builders.kit.db.connections import Conn, Database
from builders.kit.values import clock, ids
from tests import wire
from tests.cast import Person
from tests.invoices.make import SELLER, line, make_invoice, published, usd

LAST = "SELECT last FROM invoices_series WHERE series = %s"


async def counted(conn: Conn, series: str) -> int:
    """Return the last number of the series."""
    row = await (await conn.execute(LAST, [series])).fetchone()
    return row[0] if row else 0


async def test_the_number_has_the_year(database: Database, alice: Person) -> None:
    invoice = await make_invoice(database, account_id=alice.account.id)
    assert re.fullmatch(rf"INV-{clock.now().year}-\d{{6}}", invoice.number or "")
    assert invoice.status is InvoiceStatus.OPEN
    assert invoice.amount_due == usd("10.00")


async def test_a_sandbox_account_has_its_own_series(conn: Conn, database: Database, alice: Person) -> None:
    before = await counted(conn, f"INV-{clock.now().year}")
    invoice = await make_invoice(database, account_id=alice.account.sandbox_id, is_test=True)
    assert (invoice.number or "").startswith(f"TEST-{clock.now().year}-")
    assert invoice.buyer is not None
    assert invoice.buyer.email == alice.account.email
    assert await counted(conn, f"INV-{clock.now().year}") == before


async def test_live_and_test_invoices_are_not_mixed(conn: Conn, database: Database, alice: Person) -> None:
    series = [f"{each}-{clock.now().year}" for each in ("INV", "TEST")]
    before = [await counted(conn, each) for each in series]
    for account_id, is_test in ((alice.account.id, True), (alice.account.sandbox_id, False)):
        with pytest.raises(ValueError, match="sandbox"):
            await make_invoice(database, account_id=account_id, is_test=is_test)
    assert [await counted(conn, each) for each in series] == before


async def test_a_new_year_starts_a_new_series(database: Database, alice: Person) -> None:
    with clock.moved(timedelta(days=366 * 40)):
        year = clock.now().year
        first = await make_invoice(database, account_id=alice.account.id)
        second = await make_invoice(database, account_id=alice.account.id)
    assert (first.number, second.number) == (f"INV-{year}-000001", f"INV-{year}-000002")


async def test_a_rollback_leaves_no_gap_in_the_numbers(conn: Conn, database: Database, alice: Person) -> None:
    series = f"INV-{clock.now().year}"
    before = await counted(conn, series)

    async def issue(at: int) -> str | None:
        async with database.transaction() as inside:
            invoice = await make_invoice(inside, account_id=alice.account.id)
            await asyncio.sleep(0)
            if at % 3 == 0:
                raise LookupError("undone")
            return invoice.number

    numbers = await asyncio.gather(*(issue(at) for at in range(12)), return_exceptions=True)
    given = sorted(each for each in numbers if isinstance(each, str))
    assert given == [f"{series}-{before + at:06}" for at in range(1, 9)]
    assert await counted(conn, series) == before + 8


async def test_accounts_share_the_series_of_numbers(database: Database, alice: Person, bob: Person) -> None:
    made = [await make_invoice(database, account_id=each.account.id) for each in (alice, bob)]
    assert len({each.number for each in made}) == 2
    async with database.connection() as conn:
        for each in made:
            assert await invoices.get_ids_by_number(conn, number=(each.number or "").lower()) == (
                each.account_id,
                each.id,
            )
        with pytest.raises(InvoiceNotFound):
            await invoices.get_ids_by_number(conn, number="INV-1999-000001")


async def test_lines_and_total_have_tax(database: Database, alice: Person) -> None:
    invoice = await make_invoice(
        database, account_id=alice.account.id, lines=[line("10.00"), line("0.05", quantity=3)], tax="20"
    )
    assert (invoice.subtotal, invoice.tax_total, invoice.total) == (usd("10.15"), usd("2.03"), usd("12.18"))
    async with database.connection() as conn:
        whole = await invoices.get_invoice(conn, account_id=alice.account.id, invoice_id=invoice.id)
    assert [each.tax_amount for each in whole.lines] == [usd("2.00"), usd("0.03")]
    assert whole.alias_ids == [each.alias_id for each in whole.lines]


async def test_an_invoice_with_a_zero_total_is_paid_at_issue(
    conn: Conn, database: Database, alice: Person
) -> None:
    invoice = await make_invoice(database, account_id=alice.account.id, lines=[line("0.00")])
    assert invoice.status is InvoiceStatus.PAID
    assert invoice.paid_at == invoice.issued_at
    assert [name for name, _ in await published(conn, alice.account.id)] == ["invoice.created", "invoice.paid"]


async def test_the_event_contains_the_alias_ids(conn: Conn, database: Database, alice: Person) -> None:
    names = [ids.new(), ids.new()]
    lines = [line(alias_id=names[0]), line(alias_id=None), line(alias_id=names[1])]
    promotion_id = ids.new()
    invoice = await make_invoice(database, account_id=alice.account.id, lines=lines, promotion_id=promotion_id)
    ((name, data),) = await published(conn, alice.account.id)
    assert name == "invoice.created"
    assert data["alias_ids"] == [str(each) for each in names]
    assert (data["number"], data["currency"], data["total"]) == (
        invoice.number,
        "USD",
        {"amount": "30.00", "currency": "USD"},
    )
    assert data["promotion_id"] == str(promotion_id)


async def test_seller_and_buyer_do_not_change_after_issue(database: Database, alice: Person) -> None:
    key: dict[str, Any] = {"account_id": alice.account.id}
    details = BillingDetails(name="Engines", address=["1 Row"], country="GB", tax_id="GB9")
    async with database.transaction() as conn:
        await issuance.put_billing_details(conn, **key, details=details)
    invoice = await make_invoice(database, **key)
    async with database.transaction() as conn:
        await issuance.put_billing_details(conn, **key, details=BillingDetails(name="Others"))
    async with database.connection() as conn:
        found = await invoices.get_invoice(conn, **key, invoice_id=invoice.id)
    assert found.buyer is not None
    assert (found.buyer.name, found.buyer.address, found.buyer.country) == ("Engines", ["1 Row"], "GB")
    assert (found.buyer.tax_id, found.buyer.email) == ("GB9", alice.account.email)
    assert (found.seller.name, found.seller.tax_id, list(found.seller.address)) == (
        SELLER.name,
        SELLER.tax_id,
        list(SELLER.address),
    )


async def test_without_billing_details_the_account_is_the_buyer(database: Database, alice: Person) -> None:
    invoice = await make_invoice(database, account_id=alice.account.id)
    async with database.connection() as conn:
        account = await accounts.get_account(conn, account_id=alice.account.id)
    assert invoice.buyer is not None
    assert (invoice.buyer.name, invoice.buyer.email) == (account.name, account.email)


async def test_the_number_of_statements_is_constant(conn: Conn, tmp_path: Path, alice: Person) -> None:
    counts: list[int] = []
    for lines in (1, 1, 500):  # the first call caches whether the account is a sandbox account
        with wire.counted(conn, tmp_path / "wire") as sent:
            async with conn.transaction():
                await make_invoice(conn, account_id=alice.account.id, lines=[line()] * lines)
        counts += sent
    assert counts[1] == counts[2]
    assert 0 < counts[1] <= 16
