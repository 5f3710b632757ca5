"""GET /v1/invoices/{id}: as JSON, page and PDF."""

import asyncio
import io
from typing import Any

import pytest
from pypdf import PdfReader

from builders.invoices import issuance, payments
from builders.invoices.api import FEW_LINES
from builders.invoices.records import BillingDetails, Invoice
from builders.kit.db.connections import Database
from builders.kit.values import clock, ids
from tests.browser import ACCEPT as BROWSER
from tests.cast import Client, Person
from tests.heavy import held_turn
from tests.invoices.make import DUE, line, make_invoice

PATH = "/v1/invoices"
HOSTILE = '<script>alert("1")</script>'


@pytest.fixture
async def invoice(database: Database, alice: Person) -> Invoice:
    """Return an invoice of Alice with tax."""
    return await make_invoice(
        database, account_id=alice.account.id, lines=[line("10.00"), line("2.50", quantity=2)], tax="8.875"
    )


async def test_the_default_format_is_json(alice: Person, invoice: Invoice) -> None:
    answer = await alice.get(f"{PATH}/{invoice.id}")
    shown: dict[str, Any] = answer.json()
    assert shown["number"] == invoice.number
    assert shown["tax_rate"] == "8.875"
    assert [each["amount"]["amount"] for each in shown["lines"]] == ["10.00", "5.00"]
    assert [each["tax_amount"]["amount"] for each in shown["lines"]] == ["0.89", "0.44"]
    assert (shown["subtotal"]["amount"], shown["tax_total"]["amount"]) == ("15.00", "1.33")
    assert shown["amount_due"] == shown["total"] == {"amount": "16.33", "currency": "USD"}
    assert shown["seller"]["name"] == "Harbour Names Ltd"
    assert shown["buyer"]["email"] == alice.account.email
    assert shown["lines"][0]["period"]["end"] is not None


async def test_browsers_get_a_page(alice: Person, invoice: Invoice) -> None:
    answer = await alice.get(f"{PATH}/{invoice.id}", headers={"Accept": BROWSER})
    assert answer.headers["content-type"].startswith("text/html")
    assert "<script" not in answer.text
    assert all(each in answer.text for each in (invoice.number or "", "16.33 USD", "Tax 8.875 %", "Quay"))
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["vary"] == "Accept"


async def test_text_from_users_is_escaped(database: Database, alice: Person) -> None:
    async with database.transaction() as conn:
        await issuance.put_billing_details(
            conn, account_id=alice.account.id, details=BillingDetails(name=HOSTILE, address=[HOSTILE])
        )
    made = await make_invoice(database, account_id=alice.account.id, lines=[line(description=HOSTILE)])
    page = (await alice.get(f"{PATH}/{made.id}", headers={"Accept": BROWSER})).text
    assert "<script" not in page
    assert page.count("&lt;script&gt;") == 3


@pytest.mark.parametrize(("ending", "accept"), [("", "application/pdf"), ("/pdf", "*/*")])
async def test_the_pdf_has_the_same_content(alice: Person, invoice: Invoice, ending: str, accept: str) -> None:
    answer = await alice.get(f"{PATH}/{invoice.id}{ending}", headers={"Accept": accept})
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/pdf"
    assert f'filename="{invoice.number}.pdf"' in answer.headers["content-disposition"]
    (page,) = PdfReader(io.BytesIO(answer.content)).pages
    text = page.extract_text()
    assert text.count("ada@harbour.example, 1 year") == 2
    for each in (invoice.number or "", "16.33 USD", "8.875 %", "Harbour Names Ltd", alice.account.email):
        assert each in text


@pytest.mark.parametrize(
    ("accept", "kind"),
    [
        ("*/*", "application/json"),
        ("application/json", "application/json"),
        ("application/json, text/html;q=0.9", "application/json"),
        ("text/html, application/json;q=0.9", "text/html"),
        ("application/pdf, text/html", "application/pdf"),
        ("text/html, application/pdf", "text/html"),
        ("application/pdf;q=0.5, text/html;q=0.4", "application/pdf"),
        ("application/pdf;q=0", "application/json"),
        ("image/png", "application/json"),
    ],
)
async def test_the_preferred_format_is_returned(alice: Person, invoice: Invoice, accept: str, kind: str) -> None:
    answer = await alice.get(f"{PATH}/{invoice.id}", headers={"Accept": accept})
    assert answer.headers["content-type"].partition(";")[0] == kind


async def test_the_page_shows_the_status(database: Database, alice: Person, invoice: Invoice) -> None:
    async def status() -> str:
        page = (await alice.get(f"{PATH}/{invoice.id}", headers={"Accept": BROWSER})).text
        return page.partition('class="status')[2].partition(">")[2].partition("<")[0]

    assert await status() == "Open"
    clock.move(DUE)
    assert await status() == "Overdue"
    async with database.transaction() as conn:
        await payments.void(conn, account_id=alice.account.id, invoice_id=invoice.id)
    assert await status() == "Void"


async def test_another_account_gets_404(
    database: Database, alice: Person, bob: Person, anyone: Client, invoice: Invoice
) -> None:
    sandbox_invoice = await make_invoice(database, account_id=alice.account.sandbox_id, is_test=True)
    for ending in ("", "/pdf"):
        for client, wanted in (
            (bob, invoice.id),
            (alice.test, invoice.id),
            (alice, sandbox_invoice.id),
            (alice, ids.new()),
        ):
            answer = await client.get(f"{PATH}/{wanted}{ending}")
            assert (answer.status_code, answer.json()["code"]) == (404, "invoice_not_found")
        assert (await alice.get(f"{PATH}/no-id{ending}")).status_code == 404
        assert (await anyone.get(f"{PATH}/{invoice.id}{ending}")).status_code == 401
    assert (await alice.test.get(f"{PATH}/{sandbox_invoice.id}")).json()["number"].startswith("TEST-")


async def test_a_large_pdf_does_not_block_the_event_loop(database: Database, alice: Person) -> None:
    lines = [line(description=f"name{at}@harbour.example") for at in range(2_000)]
    made = await make_invoice(database, account_id=alice.account.id, lines=lines)
    waits: list[float] = []

    async def watch() -> None:
        loop = asyncio.get_running_loop()
        while True:
            before = loop.time()
            await asyncio.sleep(0.005)
            waits.append(loop.time() - before)

    watching = asyncio.create_task(watch())
    answer = await alice.get(f"{PATH}/{made.id}/pdf")
    watching.cancel()
    pages = PdfReader(io.BytesIO(answer.content)).pages
    text = "\n".join(page.extract_text() for page in (pages[0], *pages[-2:]))  # to read all takes seconds
    assert len(pages) > 40
    assert all(f"name{at}@harbour.example" in text for at in (0, 1_999))
    assert len(answer.content) < 1_000_000
    assert len(waits) > 3  # the event loop was not blocked
    assert len((await alice.get(f"{PATH}/{made.id}")).json()["lines"]) == 2_000


@pytest.mark.parametrize("accept", ["application/json", BROWSER])
async def test_only_a_long_invoice_is_written_on_the_second_loop(
    database: Database, alice: Person, invoice: Invoice, accept: str
) -> None:
    lines = [line("1.00") for _ in range(FEW_LINES + 1)]
    long = await make_invoice(database, account_id=alice.account.id, lines=lines)
    headers = {"Accept": accept}
    async with held_turn(alice.service, alice.account.id):
        assert (await alice.get(f"{PATH}/{invoice.id}", headers=headers)).status_code == 200
        busy = await alice.get(f"{PATH}/{long.id}", headers=headers)
        assert busy.status_code == 429
    written = await alice.get(f"{PATH}/{long.id}", headers=headers)
    assert (written.status_code, written.text.replace("<wbr>", "").count("ada@harbour.example")) == (
        200,
        len(lines),
    )
