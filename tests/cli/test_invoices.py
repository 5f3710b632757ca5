"""`builders invoices`."""

import asyncio
import json
from typing import Any

import psycopg
import pytest

from builders.identity import accounts
from builders.kit.db.connections import Database
from builders.kit.process.settings import Settings
from tests.cli.conftest import Cli
from tests.invoices.make import make_invoice

Json = dict[str, Any]


@pytest.fixture
def number(conninfo: str, settings: Settings, account: str) -> str:
    """Return the number of an invoice of the account, for 10 USD."""

    async def make() -> str:
        database = Database(conninfo, settings)
        await database.open()
        try:
            async with database.connection() as conn:
                owner = await accounts.get_account_by_email(conn, email=account)
            return (await make_invoice(database, account_id=owner.id)).number or ""
        finally:
            await database.close()

    return asyncio.run(make())


def show(builders: Cli, number: str) -> Json:
    """Return the JSON output of the invoice."""
    found: Json = json.loads(builders("invoices", "show", number, "--json").stdout)
    return found


def test_invoices_are_listed(builders: Cli, account: str, number: str) -> None:
    words = ("invoices", "list", "--account", account)
    assert builders(*words).stdout.splitlines()[1].startswith(number)
    (item,) = json.loads(builders(*words, "--json").stdout)
    assert (item["number"], item["status"], item["amount_due"]["amount"]) == (number, "open", "10.00")
    assert builders(*words, "--status", "paid").stdout.strip() == "No invoices."
    assert builders(*words, "--sandbox").stdout.strip() == "No invoices."
    assert number in builders("invoices", "list", "--status", "open", "--limit", "1000").stdout
    assert "requires --account" in builders("invoices", "list", "--sandbox").output


def test_a_payment_is_recorded_once(builders: Cli, number: str) -> None:
    first = builders("invoices", "pay", number, "--reference", "R-1", "--amount", "4.00")
    assert first.stdout.strip() == f"4.00 USD for {number}; 6.00 USD is due."
    again = builders("invoices", "pay", number, "--reference", "R-1", "--amount", "4.00")
    assert again.stdout.startswith("Already recorded: 4.00 USD")
    other = builders("invoices", "pay", number, "--reference", "R-1", "--amount", "5.00")
    assert other.exit_code != 0
    assert "was already booked with 4.00 USD" in other.output
    rest = json.loads(builders("invoices", "pay", number, "--reference", "R-2", "--json").stdout)
    assert (rest["invoice"]["status"], rest["payment"]["amount"]["amount"]) == ("paid", "6.00")
    assert [each["reference"] for each in show(builders, number)["payments"]] == ["R-1", "R-2"]
    refused = builders("invoices", "pay", number, "--reference", "R-3")
    assert refused.exit_code != 0
    assert "is paid" in refused.output


def test_an_overpayment_is_shown_as_credit(builders: Cli, account: str, number: str) -> None:
    paid = builders("invoices", "pay", number.lower(), "--reference", "R", "--amount", "12.50")
    assert paid.stdout.strip() == f"12.50 USD for {number}; 2.50 USD became credit; it is paid."
    shown = builders("invoices", "credit", "--account", account)
    assert "has a credit of 2.50 USD" in shown.stdout


@pytest.mark.parametrize("amount", ["0", "-1", "1.234", "ten", "1e3"])
def test_an_invalid_amount_is_refused(builders: Cli, number: str, amount: str) -> None:
    result = builders("invoices", "pay", number, "--reference", "R", f"--amount={amount}")
    assert result.exit_code != 0
    assert "Traceback" not in result.output
    assert show(builders, number)["invoice"]["status"] == "open"


def test_an_invoice_is_voided_once(builders: Cli, number: str) -> None:
    assert builders("invoices", "void", number).stdout.strip() == f"{number} is void."
    again = builders("invoices", "void", number)
    assert again.exit_code != 0
    assert "is void and cannot become void" in again.output


def test_an_invoice_is_marked_uncollectible(builders: Cli, number: str) -> None:
    found = json.loads(builders("invoices", "give-up", number, "--json").stdout)
    assert found["status"] == "uncollectible"


def test_credit_is_granted_and_shown(builders: Cli, account: str) -> None:
    words = ("invoices", "credit", "--account", account)
    assert "a credit of nothing" in builders(*words).stdout
    given = [builders(*words, "--amount", "10.00", "--reason", "Sorry.", "--reference", "1") for _ in range(2)]
    assert ["credit did not change" in each.output for each in given] == [False, True]
    builders(*words, "--amount", "5", "--currency", "jpy", "--reason", "Yen.", "--reference", "2")
    found = json.loads(builders(*words, "--json").stdout)
    assert found["balances"] == [{"amount": "5", "currency": "JPY"}, {"amount": "10.00", "currency": "USD"}]
    assert [each["reason"] for each in found["entries"]] == ["Yen.", "Sorry."]
    assert builders(*words, "--amount", "1.00", "--reason", "x").exit_code != 0  # without a reference
    assert "credit of 10.00 USD" in builders(*words, "--amount=-11.00", "--reason", "x", "--reference", "3").output
    assert "credit of nothing" in builders(*words, "--sandbox").stdout


@pytest.mark.parametrize("reference", ["", " ", "a\x1b[2J", "x" * 3000])
def test_an_invalid_reference_is_refused(builders: Cli, account: str, number: str, reference: str) -> None:
    for words in (
        ("invoices", "credit", "--account", account, "--amount", "1.00", "--reason", "x"),
        ("invoices", "pay", number),
    ):
        result = builders(*words, "--reference", reference)
        assert (result.exit_code, "Traceback" in result.output) == (1, False)
        assert "reference" in result.output or "control characters" in result.output


@pytest.mark.parametrize(
    ("reason", "why"),
    [
        ("x" * 501, "at most 500 characters, not 501"),
        (" ", "reason is missing"),
        ("a\nb", "control characters"),
    ],
)
def test_an_invalid_reason_is_refused(builders: Cli, account: str, reason: str, why: str) -> None:
    words = ("invoices", "credit", "--account", account)
    result = builders(*words, "--amount", "1.00", "--reference", "1", "--reason", reason)
    assert (result.exit_code, "Traceback" in result.output) == (1, False)
    assert why in result.output
    assert "credit of nothing" in builders(*words).stdout
    fits = builders(*words, "--amount", "1.00", "--reference", "1", "--reason", "é" * 500)
    assert (fits.exit_code, "é" * 500 in fits.stdout) == (0, True)


def test_an_unknown_invoice_is_refused(builders: Cli, conninfo: str) -> None:
    for words in (("show", "INV-1999-000001"), ("void", "x"), ("pay", "x", "--reference", "R")):
        result = builders("invoices", *words)
        assert result.exit_code != 0
        assert "There is no invoice" in result.output
    with psycopg.connect(conninfo, autocommit=True) as conn:
        conn.execute("DELETE FROM invoices_stripe_events WHERE outcome = 'discrepancy'")
    assert builders("invoices", "discrepancies").stdout.strip() == "No discrepancies."
