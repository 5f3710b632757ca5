"""/v1/invoices: invoices as JSON, page and PDF, payment links, billing details, and the webhook of Stripe."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Annotated
from urllib.parse import quote
from uuid import UUID

from fastapi import Header, Path as PathParameter, Query, Request
from pydantic import TypeAdapter
from starlette.responses import Response

from builders.invoices import checkout, invoices, issuance
from builders.invoices.documents import document
from builders.invoices.errors import (
    EventMalformed,
    InvalidTransition,
    InvoiceNotFound,
    NothingDue,
    SignatureInvalid,
    StripeNotConfigured,
    StripeRefused,
    StripeUnavailable,
)
from builders.invoices.records import (
    BillingDetails,
    Checkout,
    Invoice,
    InvoiceDetail,
    InvoiceStatus,
    Issued,
    StripeEvent,
)
from builders.invoices.schemas import BillingDetailsReply, BillingDetailsUpdate
from builders.kit.callers import Caller
from builders.kit.db.connections import Database, Pool, Reads, Tx
from builders.kit.effects import Effect
from builders.kit.errors import BodyTooLarge, problems
from builders.kit.http import html
from builders.kit.http.bodies import RawResponse
from builders.kit.http.body_limits import body_limit
from builders.kit.http.callers import LiveKeyRequired, needs
from builders.kit.http.dependencies import OutboundDep, SettingsDep
from builders.kit.http.heavy_requests import HeavyRequestRunning, run_on_second_loop
from builders.kit.http.pagination import PageQuery, PageReply
from builders.kit.http.parameters import ResourceId
from builders.kit.http.routes import LINK, Router
from builders.kit.limits.policies import CountedPolicies, Policy, declare, rate_limit
from builders.kit.limits.rate_limiter import RATE_LIMIT_HEADERS, RATE_LIMITER, RateLimiter
from builders.kit.pages import Page
from builders.kit.process.settings import Settings

router = Router(prefix="/v1/invoices", tags=["invoices"], beyond=True)
InvoiceId = Annotated[
    UUID, PathParameter(description="Identifier of the invoice; not its number."), ResourceId(InvoiceNotFound)
]
Reader = Annotated[Caller, needs("invoices:read")]
router.refuse(
    "POST", "", remedy="An invoice is issued by the promotion that claims names: POST /v1/sandbox/promote."
)
# Payments have no separate scope.
AccountReader = Annotated[Caller, needs("account:read")]
AccountWriter = Annotated[Caller, needs("account:write", effect=Effect.AUTHORITY)]
Payer = Annotated[Caller, needs("account:write", effect=Effect.WRITE)]
INVOICE = declare(
    Policy(name="invoice", quota=120, window_s=60, by="account", counts="Requests for one invoice, in any format.")
)
# One thread writes all PDFs: 3 ms for one line, 25 ms with a custom font, 0.5 s for 2,000 lines, and up to 6 s if
# these have the maximal length.
PDFS = declare(
    Policy(
        name="invoice_pdf", quota=30, window_s=600, by="account", counts="Invoices as PDF, by path or `Accept`."
    )
)
PAGE, PDF = "text/html", "application/pdf"
FEW_LINES = 100  # of an invoice that the main loop writes
_DETAIL = TypeAdapter(InvoiceDetail)
_PDF_LIMITS = CountedPolicies((PDFS,))
_BYTES = {"schema": {"type": "string", "format": "binary"}}
_SAFE = ":/%#?=@[]!$&'()*+,~"  # characters of a URL that a header can hold
MAX_EVENT = 256 * 1024  # bytes; a Stripe event has a few thousand
_EVENT = {
    "type": "object",
    "description": "An event of the Stripe API.",
    "required": ["id", "type"],
    "properties": {
        "id": {"type": "string"},
        "type": {"type": "string"},
        "data": {"type": "object", "additionalProperties": True},
    },
    "examples": [{"id": "evt_1QxYzAbCdEfGhIjK", "type": "checkout.session.completed", "data": {"object": {}}}],
}
_EVENT_BODY = {"required": True, "content": {"application/json": {"schema": _EVENT}}}


@router.get("", response_model=PageReply[Invoice])
async def list_invoices(
    caller: Reader,
    conn: Reads,
    page: PageQuery,
    status: Annotated[Issued | None, Query(description="Only invoices with this status.")] = None,
    number: Annotated[
        str | None,
        Query(max_length=320, description="Only the invoice with this number, such as INV-2026-000001."),
    ] = None,
) -> Page[Invoice]:
    """List invoices, newest first, without their lines."""
    wanted = None if status is None else InvoiceStatus(status)
    return await invoices.list_invoices(
        conn, account_id=caller.account_id, page=page, status=wanted, number=number and number.strip().upper()
    )


@router.get("/billing-details", response_model=BillingDetailsReply)
async def get_billing_details(caller: AccountReader, conn: Reads) -> BillingDetails:
    """Read the billing details: the buyer on invoices."""
    return await issuance.get_billing_details(conn, account_id=caller.account_id)


@router.put("/billing-details", response_model=BillingDetailsReply)
async def put_billing_details(body: BillingDetailsUpdate, caller: AccountWriter, conn: Tx) -> BillingDetails:
    """Set the billing details: the buyer on invoices. Issued invoices do not change."""
    return await issuance.put_billing_details(
        conn, account_id=caller.account_id, details=BillingDetails(**body.values())
    )


@router.post(
    "/stripe",
    response_model=StripeEvent,
    responses=problems(SignatureInvalid, EventMalformed, BodyTooLarge),
    openapi_extra={"requestBody": _EVENT_BODY},
    dependencies=[body_limit(MAX_EVENT)],
)
async def receive_stripe(
    request: Request,
    database: Pool,
    settings: SettingsDep,
    signature: Annotated[
        str | None, Header(alias="Stripe-Signature", description="Signature of Stripe over the exact body.")
    ] = None,
) -> StripeEvent:
    """Receive a Stripe event.

    The signature of the exact body authenticates the request. Each event is applied once.
    """
    payload = await request.body()
    async with database.transaction() as conn:
        return await checkout.receive_stripe_event(conn, settings=settings, payload=payload, signature=signature)


@router.get(
    "/{invoice_id}",
    response_model=InvoiceDetail,
    responses=problems(HeavyRequestRunning),
    dependencies=[rate_limit(INVOICE), LINK],
)
async def get_invoice(
    invoice_id: InvoiceId, request: Request, caller: Reader, database: Pool, settings: SettingsDep
) -> Response:
    """Read an invoice as JSON, or by `Accept` as a printable page (`text/html`) or a PDF (`application/pdf`)."""
    form = html.preferred_media_type(request, PAGE, PDF)
    if form == PDF:
        await _count_pdf(request, caller)
    invoice = await _read(database, caller, invoice_id)
    if form == PDF:
        return await _pdf(invoice, request, caller)
    writing = partial(_json, invoice) if form is None else partial(_page, invoice, caller, settings)
    return await _write(invoice, request, caller, writing)


@router.get(
    "/{invoice_id}/pdf",
    response_model=None,
    response_class=Response,
    responses={200: {"content": {PDF: _BYTES}}, **problems(HeavyRequestRunning)},
    dependencies=[rate_limit(PDFS, INVOICE)],
)
async def get_invoice_pdf(invoice_id: InvoiceId, request: Request, caller: Reader, database: Pool) -> Response:
    """Read an invoice as a PDF."""
    return await _pdf(await _read(database, caller, invoice_id), request, caller)


@router.post(
    "/{invoice_id}/checkout",
    response_model=Checkout,
    responses=problems(
        InvalidTransition, NothingDue, LiveKeyRequired, StripeNotConfigured, StripeUnavailable, StripeRefused
    ),
)
async def create_checkout(
    request: Request,
    invoice_id: InvoiceId,
    caller: Payer,
    database: Pool,
    outbound: OutboundDep,
    settings: SettingsDep,
) -> Checkout | Response:
    """Get a payment link of Stripe for an invoice: the existing one while it is valid. A browser is redirected."""
    found = await checkout.create_checkout(
        database, outbound=outbound, settings=settings, account_id=caller.account_id, invoice_id=invoice_id
    )
    return _checkout_page(found) if html.is_browser_navigation(request.scope) else found


async def _count_pdf(request: Request, caller: Caller) -> None:
    """Count a PDF of the operation that also has other formats. Raise RateLimited."""
    limits: RateLimiter | None = request.scope.get(RATE_LIMITER)
    if limits is None:
        return
    (name, general), _ = request.scope[RATE_LIMIT_HEADERS]
    try:
        await limits.spend(_PDF_LIMITS, request.scope, account=caller.live_account_id)
    finally:
        (_, own), left = request.scope[RATE_LIMIT_HEADERS]
        request.scope[RATE_LIMIT_HEADERS] = ((name, b"%b, %b" % (own, general)), left)


async def _read(database: Database, caller: Caller, invoice_id: InvoiceId) -> InvoiceDetail:
    # The connection is not held while the PDF is written.
    async with database.connection() as conn:
        return await invoices.get_invoice(conn, account_id=caller.account_id, invoice_id=invoice_id)


async def _write(
    invoice: Invoice, request: Request, caller: Caller, writing: Callable[[], Awaitable[Response]]
) -> Response:
    """Write a response with an invoice; one with many lines on the second loop, because it takes 0.1 s."""
    if len(invoice.lines) <= FEW_LINES:
        return await writing()
    return await run_on_second_loop(request, writing, account=caller.live_account_id)


async def _json(invoice: InvoiceDetail) -> Response:
    return RawResponse(_DETAIL.dump_json(invoice), 200, html.NEGOTIATED, is_json=True)


async def _page(invoice: Invoice, caller: Caller, settings: Settings) -> Response:
    may_pay = caller.impersonation is None and "account:write" in caller.scopes
    can_pay = may_pay and checkout.can_pay(settings, invoice)
    return html.rendered_page(document.render_html(invoice, can_pay=can_pay))


def _checkout_page(found: Checkout) -> Response:
    """Redirect a browser to Stripe by a `Refresh` header: the form-action policy forbids redirects of forms."""
    url = found.url or ""
    link = html.Link(href=url, label=f"Pay {found.amount} at Stripe")
    text = ["The payment page of Stripe opens. If it does not open, follow the link."]
    headers = {"Refresh": f"0; url={quote(url, safe=_SAFE)}"}
    return html.page("Pay by card", text, links=[link], headers=headers)


async def _pdf(invoice: Invoice, request: Request, caller: Caller) -> Response:
    settings: Settings = request.app.state.settings
    writing = partial(_render_pdf, invoice, settings)
    content = await run_on_second_loop(request, writing, account=caller.live_account_id)
    disposition = {"Content-Disposition": f'inline; filename="{invoice.number}.pdf"'}
    return Response(content, 200, {**html.NEGOTIATED, **disposition}, PDF)


async def _render_pdf(invoice: Invoice, settings: Settings) -> bytes:
    from builders.invoices.documents import pdf  # noqa: PLC0415 - the second loop may wait for it, each start may not

    return await pdf.render_pdf(invoice, font=settings.invoice_font)
