"""Signatures of Stripe events: the exact body, signed a moment ago."""

import time

from builders.invoices.records import Invoice, InvoiceStatus
from builders.kit.db.connections import Conn, Database
from tests.cast import Client
from tests.invoices.stripe_server import StripeServer, event, sign
from tests.invoices.test_stripe import PATH, invoice, send_event, state

__all__ = ["invoice"]


async def test_one_valid_signature_of_several_is_enough(
    database: Database, anyone: Client, invoice: Invoice, stripe: StripeServer
) -> None:
    payload = event(stripe.sessions[0])
    stamp, good, _ = sign(payload)["Stripe-Signature"].split(",")
    old = sign(payload, secret="whsec_of_before")["Stripe-Signature"].split(",")[1]
    head = {"Stripe-Signature": f"{stamp},{old},{good}", "Content-Type": "application/json"}
    assert (await anyone.post(PATH, content=payload, headers=head)).json()["outcome"] == "applied"
    assert (await state(database, invoice)).status is InvoiceStatus.PAID


def damaged(payload: bytes) -> list[tuple[bytes, dict[str, str]]]:
    """Return bodies with invalid signatures."""
    good = sign(payload)["Stripe-Signature"]
    return [
        (payload, {}),
        (payload, {"Stripe-Signature": ""}),
        (payload, {"Stripe-Signature": "nonsense"}),
        (payload, {"Stripe-Signature": "t=x,v1=y"}),
        (payload, {"Stripe-Signature": good.replace("v1=", "v2=")}),
        (payload.replace(b"1000", b"1"), {"Stripe-Signature": good}),
        (payload + b" ", {"Stripe-Signature": good}),
        (b"\xff\xfe", {"Stripe-Signature": good}),
        (payload, sign(payload, secret="whsec_other")),
        (payload, sign(payload, at=time.time() - 301)),
    ]


async def test_a_body_without_a_valid_signature_is_refused(
    conn: Conn, database: Database, anyone: Client, invoice: Invoice, stripe: StripeServer
) -> None:
    payload = event(stripe.sessions[0])
    for body, head in damaged(payload):
        answer = await anyone.post(PATH, content=body, headers={**head, "Content-Type": "application/json"})
        assert (answer.status_code, answer.json()["code"]) == (400, "signature_invalid"), head
        assert "whsec" not in answer.text
    foreign = {b"Stripe-Signature": "t=1,v1=é".encode("latin-1"), b"Content-Type": b"application/json"}
    assert (await anyone.post(PATH, content=payload, headers=foreign)).status_code == 400
    assert (await state(database, invoice)).status is InvoiceStatus.OPEN
    query = "SELECT count(*) FROM invoices_stripe_events WHERE invoice_id = %s"
    assert await (await conn.execute(query, [invoice.id])).fetchone() == (0,)
    assert await send_event(anyone, payload) == "applied"


async def test_without_a_secret_every_event_is_refused(anyone: Client) -> None:
    payload = event({"id": "cs_1", "metadata": {}})
    answer = await anyone.post(PATH, content=payload, headers=sign(payload))
    assert (answer.status_code, answer.json()["code"]) == (400, "signature_invalid")
