"""Payment end to end: an invoice, credit, a payment link of Stripe, and the webhook to the account."""

import json
from typing import Any

from standardwebhooks.webhooks import Webhook

from builders.app import Service
from builders.invoices import payments
from builders.kit.db.connections import Database
from tests.cast import Client, Person
from tests.invoices.make import line, make_invoice, usd
from tests.invoices.stripe_server import StripeServer, event
from tests.invoices.test_checkout import link
from tests.invoices.test_stripe import send_event
from tests.webhooks import make as hooks
from tests.worker import Worker

Json = dict[str, Any]


def received(raw: bytes, secret: str) -> Json:
    """Return the event of a delivery after verifying its signature."""
    head, _, body = raw.partition(b"\r\n\r\n")
    fields = dict(each.split(": ", 1) for each in head.decode().split("\r\n")[1:])
    Webhook(secret).verify(body, {name.lower(): value for name, value in fields.items()})
    event: Json = json.loads(body)
    return event


async def test_a_payment_by_link_pays_the_invoice_and_sends_a_webhook(
    service: Service, database: Database, alice: Person, anyone: Client, worker: Worker, stripe: StripeServer
) -> None:
    made = await hooks.create(alice, url=f"{stripe.url}/hooks", events=["invoice.*"])
    async with database.transaction() as conn:
        await payments.grant_credit(
            conn, account_id=alice.account.id, amount=usd("4.00"), reason="Welcome.", reference="1"
        )
    name = line("10.00")
    invoice = await make_invoice(database, account_id=alice.account.id, lines=[name], tax="20")
    assert (invoice.total, invoice.credit_applied, invoice.amount_due) == (usd("12.00"), usd("4.00"), usd("8.00"))

    page = await link(alice, invoice)
    assert page["amount"]["amount"] == "8.00"
    assert stripe.sessions[0]["amount_total"] == 800
    assert await send_event(anyone, event(stripe.sessions[0])) == "applied"
    assert await send_event(anyone, event(stripe.sessions[0])) == "noted"

    shown = (await alice.get(f"/v1/invoices/{invoice.id}")).json()
    assert (shown["status"], shown["amount_paid"]["amount"], shown["amount_due"]["amount"]) == (
        "paid",
        "8.00",
        "0.00",
    )
    subjects = [each["Subject"] for each in await worker.list_emails(alice.account.email)]
    assert len(subjects) == 2
    assert "thank you" in subjects[1]

    assert await hooks.send_due(service, account_id=alice.account.id) == 2
    published = {each["type"]: each for each in (received(raw, made["signing_secret"]) for raw in stripe.others)}
    assert set(published) == {"invoice.created", "invoice.paid"}
    paid = published["invoice.paid"]
    assert (paid["account_id"], paid["livemode"]) == (str(alice.account.id), True)
    assert paid["data"]["number"] == invoice.number
    assert paid["data"]["alias_ids"] == [str(name.alias_id)]
    assert paid["data"]["credit_applied"] == {"amount": "4.00", "currency": "USD"}
    assert paid["data"]["amount_due"] == {"amount": "0.00", "currency": "USD"}


async def test_an_event_of_a_sandbox_account_is_in_test_mode(
    service: Service, database: Database, alice: Person, worker: Worker, stripe: StripeServer
) -> None:
    made = await hooks.create(alice.test, url=f"{stripe.url}/hooks", events=["invoice.created"])
    await make_invoice(database, account_id=alice.account.sandbox_id, is_test=True)
    await worker.work()
    assert await hooks.send_due(service, account_id=alice.account.sandbox_id) == 1
    published = received(stripe.others[0], made["signing_secret"])
    assert (published["livemode"], published["account_id"]) == (False, str(alice.account.id))
    assert published["data"]["number"].startswith("TEST-")
