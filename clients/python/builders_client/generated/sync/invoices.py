# Written by script/clients.
"""Operations: invoices."""

from collections.abc import Mapping
from typing import Any, Literal, Unpack

from builders_client.generated.bodies.invoices import BillingDetailsUpdate
from builders_client.generated.models.invoices import (
    BillingDetailsReply,
    CheckoutReply,
    InvoiceDetail,
    InvoiceItem,
    InvoiceItemPage,
    StripeReceived,
)
from builders_client.generated.sync.pages import Pages
from builders_client.generated.sync.sender import Sender
from builders_client.values import File


class Invoices:
    """Invoices, billing details and payment."""

    def __init__(self, client: Sender) -> None:
        self._client = client

    def create_checkout(
        self,
        invoice_id: str,
    ) -> CheckoutReply:
        """Get a payment link of Stripe for an invoice: the existing one while it is valid. A browser is
        redirected.

        Requires the scope `account:write`.

        Errors: `invoice_not_found`, `invalid_transition`, `nothing_due`.

        Args:
            invoice_id: Identifier of the invoice; not its number.
        """
        return self._client.send("invoices_create_checkout", CheckoutReply, path={"invoice_id": invoice_id})

    def get_billing_details(
        self,
    ) -> BillingDetailsReply:
        """Read the billing details: the buyer on invoices.

        Requires the scope `account:read`.
        """
        return self._client.send("invoices_get_billing_details", BillingDetailsReply)

    def get_invoice(
        self,
        invoice_id: str,
    ) -> InvoiceDetail:
        """Read an invoice as JSON, or by `Accept` as a printable page (`text/html`) or a PDF (`application/pdf`).

        Requires the scope `invoices:read`.

        Errors: `invoice_not_found`.

        Args:
            invoice_id: Identifier of the invoice; not its number.
        """
        return self._client.send("invoices_get_invoice", InvoiceDetail, path={"invoice_id": invoice_id})

    def get_invoice_pdf(
        self,
        invoice_id: str,
    ) -> File:
        """Read an invoice as a PDF.

        Requires the scope `invoices:read`.

        Errors: `invoice_not_found`.

        Args:
            invoice_id: Identifier of the invoice; not its number.
        """
        return self._client.send("invoices_get_invoice_pdf", File, path={"invoice_id": invoice_id})

    def list_invoices(
        self,
        *,
        status: Literal["open", "paid", "void", "uncollectible"] | None = None,
        number: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Pages[InvoiceItemPage, InvoiceItem]:
        """List invoices, newest first, without their lines.

        Requires the scope `invoices:read`.

        Args:
            status: Only invoices with this status.
            number: Only the invoice with this number, such as INV-2026-000001.
            limit: Items on a page; 50 by default.
            cursor: `next_cursor` of the page before.
        """
        return Pages(
            self._client,
            "invoices_list_invoices",
            InvoiceItemPage,
            "items",
            query={"status": status, "number": number, "limit": limit, "cursor": cursor},
        )

    def put_billing_details(
        self,
        **body: Unpack[BillingDetailsUpdate],
    ) -> BillingDetailsReply:
        """Set the billing details: the buyer on invoices. Issued invoices do not change.

        Requires the scope `account:write`.
        """
        return self._client.send("invoices_put_billing_details", BillingDetailsReply, body=body)

    def receive_stripe(
        self,
        body: Mapping[str, Any],
        *,
        stripe_signature: str | None = None,
    ) -> StripeReceived:
        """Receive a Stripe event.

        The signature of the exact body authenticates the request. Each event is applied once.

        Requires no credentials.

        Args:
            stripe_signature: Signature of Stripe over the exact body.
        """
        return self._client.send(
            "invoices_receive_stripe", StripeReceived, headers={"Stripe-Signature": stripe_signature}, body=body
        )
