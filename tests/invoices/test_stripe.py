"""POST /v1/invoices/stripe: each event is applied once, and each payment is booked."""

import asyncio
import json
from datetime import timedelta
from typing import Any

import pytest
from pydantic import SecretStr

from builders.app import Service
from builders.invoices import invoices, jobs, payments
from builders.invoices.records import Invoice, InvoiceStatus
from builders.kit.db import old_rows
from builders.kit.db.connections import Conn, Database
from builders.kit.values import clock, ids
from builders.kit.values.money import Money
from tests.cast import Client, Person
from tests.invoices.make import make_invoice, published, usd
from tests.invoices.stripe_server import COMPLETED, StripeServer, event, sign
from tests.invoices.test_checkout import link
from tests.invoices.test_credit import balances

PATH = "/v1/invoices/stripe"
EXPIRED = "checkout.session.expired"
SUCCEEDED = "checkout.session.async_payment_succeeded"
FAILED = "checkout.session.async_payment_failed"

Json = dict[str, Any]


@pytest.fixture
async def invoice(database: Database, alice: Person, stripe: StripeServer) -> Invoice:
    """Return an invoice of Alice over 10 USD with a payment link."""
    made = await make_invoice(database, account_id=alice.account.id)
    await link(alice, made)
    assert stripe.sessions
    return made


async def send_event(client: Client, payload: bytes) -> str:
    """Send a signed event and return its outcome."""
    answer = await client.post(
        PATH, content=payload, headers={**sign(payload), "Content-Type": "application/json"}
    )
    assert answer.status_code == 200, answer.text
    outcome: str = answer.json()["outcome"]
    return outcome


async def state(database: Database, invoice: Invoice) -> Invoice:
    """Return the present invoice."""
    async with database.connection() as conn:
        return await invoices.get_invoice(conn, account_id=invoice.account_id, invoice_id=invoice.id)


async def test_a_completed_session_pays_the_invoice(
    conn: Conn, database: Database, anyone: Client, invoice: Invoice, stripe: StripeServer
) -> None:
    assert await send_event(anyone, event(stripe.sessions[0])) == "applied"
    after = await state(database, invoice)
    assert (after.status, after.payment_method) == (InvoiceStatus.PAID, "stripe")
    assert after.payment_reference == stripe.sessions[0]["id"]
    assert len(await published(conn, invoice.account_id, "invoice.paid")) == 1


async def test_each_event_is_applied_once(
    conn: Conn, database: Database, alice: Person, anyone: Client, invoice: Invoice, stripe: StripeServer
) -> None:
    payload = event(stripe.sessions[0])
    outcomes = await asyncio.gather(*(send_event(anyone, payload) for _ in range(5)))
    assert set(outcomes) == {"applied"}
    # Another event about the same payment.
    assert await send_event(anyone, event(stripe.sessions[0], SUCCEEDED)) == "noted"
    assert (await state(database, invoice)).amount_paid == usd("10.00")
    assert len(await published(conn, invoice.account_id, "invoice.paid")) == 1
    assert await balances(database, alice) == []


async def test_a_pending_payment_is_booked_later(
    database: Database, anyone: Client, invoice: Invoice, stripe: StripeServer
) -> None:
    assert await send_event(anyone, event(stripe.sessions[0], payment_status="unpaid")) == "noted"
    assert (await state(database, invoice)).status is InvoiceStatus.OPEN
    assert await send_event(anyone, event(stripe.sessions[0], SUCCEEDED)) == "applied"
    assert (await state(database, invoice)).status is InvoiceStatus.PAID


@pytest.mark.parametrize("kind", [EXPIRED, FAILED])
async def test_a_session_that_ends_without_payment_is_recorded(
    database: Database, alice: Person, anyone: Client, invoice: Invoice, stripe: StripeServer, kind: str
) -> None:
    assert await send_event(anyone, event(stripe.sessions[0], kind, payment_status="unpaid")) == "noted"
    assert (await state(database, invoice)).status is InvoiceStatus.OPEN
    await link(alice, invoice)
    assert len(stripe.sessions) == 2  # the old link is not returned again


async def test_concurrent_payments_by_bank_and_stripe_pay_once(
    conn: Conn, database: Database, alice: Person, anyone: Client, invoice: Invoice, stripe: StripeServer
) -> None:
    async def by_bank() -> None:
        async with database.transaction() as inside:
            await payments.pay(
                inside,
                account_id=invoice.account_id,
                invoice_id=invoice.id,
                method="bank",
                reference="R",
                amount=usd("10.00"),
            )

    await asyncio.gather(by_bank(), send_event(anyone, event(stripe.sessions[0])))
    assert (await state(database, invoice)).status is InvoiceStatus.PAID
    assert len(await published(conn, invoice.account_id, "invoice.paid")) == 1
    assert await balances(database, alice) == [usd("10.00")]


@pytest.mark.parametrize(
    ("before", "after", "credit"),
    [
        pytest.param("void", InvoiceStatus.VOID, [usd("10.00")], id="void: all of it becomes credit"),
        pytest.param("give_up", InvoiceStatus.PAID, [], id="uncollectible: the invoice is paid"),
        pytest.param("part", InvoiceStatus.PAID, [usd("4.00")], id="paid in part: the rest becomes credit"),
    ],
)
async def test_a_payment_is_booked_for_an_invoice_of_any_status(
    database: Database,
    alice: Person,
    anyone: Client,
    invoice: Invoice,
    stripe: StripeServer,
    before: str,
    after: InvoiceStatus,
    credit: list[Money],
) -> None:
    key = {"account_id": invoice.account_id, "invoice_id": invoice.id}
    async with database.transaction() as conn:
        if before == "part":
            await payments.pay(conn, **key, method="bank", reference="R", amount=usd("4.00"))
        else:
            await {"void": payments.void, "give_up": invoices.mark_uncollectible}[before](conn, **key)
    assert await send_event(anyone, event(stripe.sessions[0])) == "applied"
    assert (await state(database, invoice)).status is after
    assert await balances(database, alice) == credit


@pytest.mark.parametrize(
    "changes",
    [
        {"amount_total": 999},
        {"amount_total": 1001},
        {"amount_total": "1000"},
        {"amount_total": None},
        {"currency": "eur"},
        {"id": "cs_another"},
    ],
)
async def test_an_event_that_does_not_match_is_a_discrepancy(
    database: Database, anyone: Client, invoice: Invoice, stripe: StripeServer, changes: Json
) -> None:
    event_id = f"evt_{ids.new().hex}"
    assert await send_event(anyone, event(stripe.sessions[0], event_id=event_id, **changes)) == "discrepancy"
    assert (await state(database, invoice)).status is InvoiceStatus.OPEN
    async with database.connection() as conn:
        found = await payments.list_discrepancies(conn)
        _, _, events = await invoices.get_history(conn, account_id=invoice.account_id, invoice_id=invoice.id)
    (mine,) = [each for each in found if each.id == event_id]
    assert mine.invoice_id == invoice.id
    assert [each.id for each in events] == [event_id]


@pytest.mark.parametrize("kind", [COMPLETED, EXPIRED, FAILED])
async def test_another_session_of_the_checkout_is_a_discrepancy(
    database: Database, anyone: Client, invoice: Invoice, stripe: StripeServer, kind: str
) -> None:
    assert await send_event(anyone, event(stripe.sessions[0], kind, id="cs_another")) == "discrepancy"
    assert await send_event(anyone, event(stripe.sessions[0])) == "applied"
    assert (await state(database, invoice)).status is InvoiceStatus.PAID


@pytest.mark.parametrize(("key", "livemode"), [("rk_live_51NotARealKey", False), ("sk_test_51NotARealKey", True)])
async def test_an_event_of_the_other_mode_is_a_discrepancy(
    service: Service,
    database: Database,
    anyone: Client,
    invoice: Invoice,
    stripe: StripeServer,
    key: str,
    *,
    livemode: bool,
) -> None:
    state_of = service.api.state
    state_of.settings = state_of.settings.model_copy(update={"stripe_key": SecretStr(key)})
    other_mode = json.loads(event(stripe.sessions[0])) | {"livemode": livemode}
    assert await send_event(anyone, json.dumps(other_mode).encode()) == "discrepancy"
    assert (await state(database, invoice)).status is InvoiceStatus.OPEN
    right = json.loads(event(stripe.sessions[0])) | {"livemode": not livemode}
    assert await send_event(anyone, json.dumps(right).encode()) == "applied"


@pytest.mark.parametrize("body", [None, {}, {"object": None}])
async def test_an_event_without_our_metadata_is_ignored(
    anyone: Client, stripe: StripeServer, body: object
) -> None:
    assert stripe.url
    payload = json.dumps({"id": f"evt_{ids.new().hex}", "object": "event", "type": "ping", "data": body}).encode()
    assert await send_event(anyone, payload) == "ignored"


async def test_an_unknown_checkout_is_a_discrepancy(
    database: Database, anyone: Client, invoice: Invoice, stripe: StripeServer
) -> None:
    other = {**stripe.sessions[0]["metadata"], "builders_checkout": str(ids.new())}
    assert await send_event(anyone, event(stripe.sessions[0], metadata=other)) == "discrepancy"
    assert (await state(database, invoice)).status is InvoiceStatus.OPEN


async def test_other_sessions_of_the_stripe_account_are_ignored(anyone: Client, stripe: StripeServer) -> None:
    assert stripe.url
    for session in ({"id": "cs_1", "metadata": {}}, {"id": "cs_2", "metadata": None}, {"id": "cs_3"}):
        assert await send_event(anyone, event({**session, "amount_total": 1, "currency": "usd"})) == "ignored"
    assert await send_event(anyone, event({"id": "in_1", "object": "invoice"}, "invoice.paid")) == "ignored"


async def test_a_payment_is_booked_if_the_response_with_the_link_was_lost(
    database: Database, alice: Person, anyone: Client, stripe: StripeServer
) -> None:
    made = await make_invoice(database, account_id=alice.account.id)
    stripe.unanswered = 1
    assert (await alice.post(f"/v1/invoices/{made.id}/checkout")).status_code == 503
    assert await send_event(anyone, event(stripe.sessions[0])) == "applied"
    assert (await state(database, made)).status is InvoiceStatus.PAID


async def test_the_operator_can_book_a_discrepancy(
    database: Database, anyone: Client, invoice: Invoice, stripe: StripeServer
) -> None:
    await send_event(anyone, event(stripe.sessions[0], amount_total=400))
    async with database.transaction() as conn:
        await payments.pay(
            conn,
            account_id=invoice.account_id,
            invoice_id=invoice.id,
            method="stripe",
            reference=stripe.sessions[0]["id"],
            amount=usd("4.00"),
        )
    assert (await state(database, invoice)).amount_due == usd("6.00")


async def test_old_ignored_events_are_deleted(
    conn: Conn, anyone: Client, database: Database, invoice: Invoice, stripe: StripeServer
) -> None:
    foreign = f"evt_{ids.new().hex}"
    await send_event(anyone, event({"id": "cs_1"}, event_id=foreign))
    await send_event(anyone, event(stripe.sessions[0]))
    await old_rows.delete(database, "invoices_stripe_events")
    query = "SELECT count(*) FROM invoices_stripe_events WHERE id = %s OR invoice_id = %s"
    assert await (await conn.execute(query, [foreign, invoice.id])).fetchone() == (2,)
    with clock.moved(jobs.IGNORED_KEPT + timedelta(days=1)):
        await old_rows.delete(database, "invoices_stripe_events")
    assert await (await conn.execute(query, [foreign, invoice.id])).fetchone() == (1,)
