"""An invoice in a browser: sign in from the link of the email, see, download and pay the invoice."""

import re

import pytest

from builders.invoices.records import Invoice
from builders.kit.db.connections import Database
from builders.kit.http.callers import COOKIE
from tests.browser import ACCEPT, OWN, press
from tests.cast import Client, Person
from tests.invoices.make import make_invoice
from tests.invoices.stripe_server import StripeServer

BROWSER = {"Accept": ACCEPT}


@pytest.fixture
async def invoice(database: Database, alice: Person) -> Invoice:
    """Return an invoice of Alice over 10 USD."""
    return await make_invoice(database, account_id=alice.account.id)


async def sign_in(client: Client, person: Person) -> None:
    """Set the cookie of a new session in the client."""
    client.cookies.set(COOKIE, (await person.sign_in()).token)


async def test_a_visitor_without_a_session_signs_in_and_returns(anyone: Client, invoice: Invoice) -> None:
    for path in (f"/v1/invoices/{invoice.id}", f"/v1/invoices/{invoice.id}/pdf"):
        answer = await anyone.get(path, headers=BROWSER)
        assert (answer.status_code, answer.headers["content-type"]) == (401, "text/html; charset=utf-8")
        assert f'name="return_to" value="{path}"' in answer.text
        assert (invoice.number or "") not in answer.text


async def test_the_page_offers_the_pdf_and_payment(
    anyone: Client, alice: Person, invoice: Invoice, stripe: StripeServer
) -> None:
    await sign_in(anyone, alice)
    page = await anyone.get(f"/v1/invoices/{invoice.id}", headers=BROWSER)
    pdf = re.search(r'href="([^"]+/pdf)"', page.text)
    assert pdf is not None
    paying = await press(anyone, page)
    [session] = stripe.sessions

    assert (await anyone.get(pdf[1], headers=BROWSER)).headers["content-type"] == "application/pdf"
    assert paying.status_code == 200
    assert paying.headers["refresh"] == f"0; url={session['url']}"
    assert f'href="{session["url"]}"' in paying.text


async def test_without_stripe_there_is_no_payment_button(anyone: Client, alice: Person, invoice: Invoice) -> None:
    await sign_in(anyone, alice)
    page = await anyone.get(f"/v1/invoices/{invoice.id}", headers=BROWSER)

    assert "<form" not in page.text
    answer = await anyone.post(f"/v1/invoices/{invoice.id}/checkout", headers={**BROWSER, "Origin": OWN})
    assert (answer.status_code, answer.headers["content-type"]) == (503, "text/html; charset=utf-8")


@pytest.mark.parametrize("accept", [None, ACCEPT, "application/pdf"])
async def test_each_format_varies_by_accept(alice: Person, invoice: Invoice, accept: str | None) -> None:
    answer = await alice.get(f"/v1/invoices/{invoice.id}", headers={"Accept": accept} if accept else {})

    assert (answer.status_code, answer.headers["vary"], answer.headers["cache-control"]) == (
        200,
        "Accept",
        "no-store",
    )


async def test_an_invoice_of_another_account_is_404(anyone: Client, bob: Person, invoice: Invoice) -> None:
    await sign_in(anyone, bob)
    for path in (f"/v1/invoices/{invoice.id}", f"/v1/invoices/{invoice.id}/pdf"):
        answer = await anyone.get(path, headers=BROWSER)
        assert (answer.status_code, answer.headers["content-type"]) == (404, "text/html; charset=utf-8")
        assert "/v1/auth/login?return_to=" in answer.text


async def test_a_support_session_gets_no_payment_button(
    anyone: Client, alice: Person, invoice: Invoice, stripe: StripeServer
) -> None:
    assert stripe.url
    anyone.cookies.set(COOKIE, (await alice.admit_support()).token)
    page = await anyone.get(f"/v1/invoices/{invoice.id}", headers=BROWSER)

    assert (page.status_code, "<form" in page.text) == (200, False)


async def test_a_request_from_another_origin_is_refused(
    anyone: Client, alice: Person, invoice: Invoice, stripe: StripeServer
) -> None:
    await sign_in(anyone, alice)
    headers = {**BROWSER, "Origin": "https://evil.example"}
    answer = await anyone.post(f"/v1/invoices/{invoice.id}/checkout", headers=headers)

    assert (answer.status_code, stripe.asked) == (403, [])
