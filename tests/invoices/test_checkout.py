"""POST /v1/invoices/{id}/checkout: payment links of Stripe."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from builders.app import Service
from builders.invoices import payments
from builders.invoices.records import Invoice
from builders.kit.db.connections import Conn, Database
from builders.kit.values import clock
from builders.kit.values.money import Money
from tests.cast import Client, Person
from tests.invoices.make import line, make_invoice, usd
from tests.invoices.stripe_server import KEY, StripeServer, failure

Json = dict[str, Any]


def path(invoice: Invoice) -> str:
    """Return the path that creates a payment link."""
    return f"/v1/invoices/{invoice.id}/checkout"


@pytest.fixture
async def invoice(database: Database, alice: Person) -> Invoice:
    """Return an invoice of Alice over 10 USD."""
    return await make_invoice(database, account_id=alice.account.id)


async def link(client: Client, invoice: Invoice) -> Json:
    """Create a payment link and return the response."""
    answer = await client.post(path(invoice))
    assert answer.status_code == 200, answer.text
    shown: Json = answer.json()
    return shown


async def test_the_link_charges_the_amount_due(
    database: Database, alice: Person, invoice: Invoice, stripe: StripeServer
) -> None:
    async with database.transaction() as conn:
        await payments.grant_credit(
            conn, account_id=alice.account.id, amount=invoice.total, reason="later", reference="1"
        )
        await payments.pay(
            conn,
            account_id=alice.account.id,
            invoice_id=invoice.id,
            method="bank",
            reference="R",
            amount=usd("2.50"),
        )
    made = await link(alice, invoice)
    assert made["amount"] == {"amount": "7.50", "currency": "USD"}
    assert made["url"] == stripe.sessions[0]["url"]
    (asked,) = stripe.asked
    assert asked["line_items[0][price_data][unit_amount]"] == "750"
    assert asked["line_items[0][price_data][currency]"] == "usd"
    assert asked["line_items[0][price_data][product_data][name]"] == f"Invoice {invoice.number}"
    assert asked["metadata[builders_invoice]"] == asked["client_reference_id"] == str(invoice.id)
    assert asked["success_url"] == f"http://builders.test/v1/invoices/{invoice.id}"
    assert asked["customer_email"] == alice.account.email


async def test_no_description_of_the_machine_is_sent_to_stripe(
    alice: Person, invoice: Invoice, stripe: StripeServer
) -> None:
    await link(alice, invoice)
    (head,) = stripe.heads
    assert head["authorization"] == f"Bearer {KEY}"
    assert head["idempotency-key"].startswith("builders-")
    assert not [name for name in head if name.startswith("x-stripe-client")]


async def test_a_valid_link_is_returned_again(alice: Person, invoice: Invoice, stripe: StripeServer) -> None:
    first, second = await link(alice, invoice), await link(alice, invoice)
    assert first == second
    assert len(stripe.asked) == 1
    clock.move(timedelta(hours=22, minutes=30))  # the link is about to expire
    assert (await link(alice, invoice))["url"] != first["url"]


async def test_concurrent_requests_create_one_session(
    alice: Person, invoice: Invoice, stripe: StripeServer
) -> None:
    made = await asyncio.gather(*(link(alice, invoice) for _ in range(4)))
    assert len({each["url"] for each in made}) == 1
    assert len(stripe.sessions) == 1


async def test_a_partial_payment_makes_a_new_link(
    database: Database, alice: Person, invoice: Invoice, stripe: StripeServer
) -> None:
    first = await link(alice, invoice)
    async with database.transaction() as conn:
        await payments.pay(
            conn,
            account_id=alice.account.id,
            invoice_id=invoice.id,
            method="bank",
            reference="R",
            amount=usd("1.00"),
        )
    second = await link(alice, invoice)
    assert second["amount"]["amount"] == "9.00"
    assert second["url"] != first["url"]
    assert len(stripe.sessions) == 2


async def test_a_lost_response_is_503_and_the_retry_returns_the_same_session(
    alice: Person, invoice: Invoice, stripe: StripeServer
) -> None:
    stripe.unanswered = 1
    answer = await alice.post(path(invoice))
    assert (answer.status_code, answer.json()["code"]) == (503, "stripe_unavailable")
    assert int(answer.headers["retry-after"]) > 0
    made = await link(alice, invoice)
    (session,) = stripe.sessions  # the session key response was lost
    assert made["url"] == session["url"]
    assert stripe.heads[0]["idempotency-key"] == stripe.heads[1]["idempotency-key"]


@pytest.mark.parametrize(
    ("status", "error", "message"),
    [
        (400, failure("invalid_request_error", "No such currency", param="currency"), (502, "stripe_refused")),
        (402, failure("card_error", "Declined", code="card_declined"), (502, "stripe_refused")),
        (403, failure("invalid_request_error", "Not permitted"), (502, "stripe_refused")),
        (409, failure("idempotency_error", "Another request is in progress"), (503, "stripe_unavailable")),
        (429, failure("rate_limit_error", "Too many requests", code="rate_limit"), (503, "stripe_unavailable")),
        (500, failure("api_error", "Something went wrong"), (502, "stripe_refused")),
        (503, {"nonsense": True}, (502, "stripe_refused")),
    ],
)
async def test_errors_of_stripe_become_problems(
    alice: Person, invoice: Invoice, stripe: StripeServer, status: int, error: Json, message: tuple[int, str]
) -> None:
    stripe.failures = [(status, error)]
    answer = await alice.post(path(invoice))
    assert (answer.status_code, answer.json()["code"]) == message
    assert "not charged" in answer.json()["detail"]
    assert "Declined" not in answer.text
    await link(alice, invoice)


async def test_a_wrong_key_is_not_in_the_response(
    service: Service, alice: Person, invoice: Invoice, stripe: StripeServer
) -> None:
    state = service.api.state
    wrong = type(state.settings.stripe_key)("sk_test_wrong")
    state.settings = state.settings.model_copy(update={"stripe_key": wrong})
    answer = await alice.post(path(invoice))
    assert (answer.status_code, answer.json()["code"]) == (502, "stripe_refused")
    assert "sk_test" not in answer.text
    assert stripe.sessions == []


async def test_the_same_idempotency_key_creates_one_session(
    conn: Conn, alice: Person, invoice: Invoice, stripe: StripeServer
) -> None:
    head = {"Idempotency-Key": "k1"}
    first = await alice.post(path(invoice), headers=head)
    second = await alice.post(path(invoice), headers=head)
    assert first.json() == second.json()
    assert len(stripe.asked) == 1
    query = "SELECT count(*) FROM invoices_checkouts WHERE invoice_id = %s"
    assert await (await conn.execute(query, [invoice.id])).fetchone() == (1,)


async def test_an_invoice_that_cannot_be_paid_has_no_link(
    database: Database, alice: Person, bob: Person, anyone: Client, invoice: Invoice, stripe: StripeServer
) -> None:
    sandbox_invoice = await make_invoice(database, account_id=alice.account.sandbox_id, is_test=True)
    answer = await alice.test.post(path(sandbox_invoice))
    assert (answer.status_code, answer.json()["code"]) == (403, "live_key_required")
    for client in (bob, alice.test):
        assert (await client.post(path(invoice))).status_code == 404
    assert (await anyone.post(path(invoice))).status_code == 401
    voided, paid = [await make_invoice(database, account_id=alice.account.id) for _ in range(2)]
    async with database.transaction() as conn:
        await payments.void(conn, account_id=alice.account.id, invoice_id=voided.id)
        await payments.pay(conn, account_id=alice.account.id, invoice_id=paid.id, method="bank", reference="R")
    answer = await alice.post(path(voided))
    assert (answer.status_code, answer.json()["code"], answer.json()["from"]) == (
        409,
        "invalid_transition",
        "void",
    )
    assert (await alice.post(path(paid))).json()["code"] == "nothing_due"
    assert stripe.asked == []


async def test_an_amount_with_too_many_decimals_for_stripe_has_no_link(
    database: Database, alice: Person, stripe: StripeServer
) -> None:
    fine = line(unit_amount=Money.of("10.50", "MGA"))
    made = await make_invoice(database, account_id=alice.account.id, lines=[fine], currency="MGA")
    answer = await alice.post(path(made))
    assert (answer.status_code, answer.json()["code"]) == (502, "stripe_refused")
    assert "bank transfer" in answer.json()["detail"]
    assert stripe.asked == []


async def test_a_link_that_is_not_https_is_refused(alice: Person, invoice: Invoice, stripe: StripeServer) -> None:
    stripe.failures = [(200, {"id": "cs_1", "object": "checkout.session", "url": "javascript:alert(1)"})]
    answer = await alice.post(path(invoice))
    assert (answer.status_code, answer.json()["code"]) == (502, "stripe_refused")


async def test_a_support_session_gets_no_link(
    service: Service, alice: Person, invoice: Invoice, stripe: StripeServer
) -> None:
    session = await alice.admit_support(may_write=True)
    async with Client(service, token=session.token) as support:
        answer = await support.post(path(invoice))
    assert (answer.status_code, answer.json()["code"]) == (403, "impersonation_forbidden")
    assert stripe.asked == []


async def test_without_a_stripe_key_the_response_is_503(alice: Person, invoice: Invoice) -> None:
    answer = await alice.post(path(invoice))
    assert (answer.status_code, answer.json()["code"]) == (503, "stripe_not_configured")
