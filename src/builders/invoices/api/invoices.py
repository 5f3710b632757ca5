"""/v1/invoices: the account's invoices as JSON, as a page, as a PDF, and a link to pay one by."""

from pathlib import Path
from typing import Annotated
from urllib.parse import quote
from uuid import UUID

from fastapi import Path as PathParameter, Query, Request
from starlette.responses import Response

from builders.invoices import schemas, service as invoices
from builders.invoices.errors import (
    InvalidTransition,
    InvoiceNotFound,
    NothingDue,
    StripeAway,
    StripeNotConfigured,
    StripeRefused,
)
from builders.invoices.records import Checkout, Invoice, InvoiceStatus
from builders.invoices.schemas import InvoiceItem
from builders.kit.db.connections import Database, Pool, Reads
from builders.kit.errors import problems
from builders.kit.http import html
from builders.kit.http.bodies import ReplyWithHeaders
from builders.kit.http.callers import Caller, LiveKeyRequired, needs
from builders.kit.http.dependencies import OutboundDep, SettingsDep
from builders.kit.http.pagination import PageQuery, PageReply
from builders.kit.http.resource_ids import ResourceId
from builders.kit.http.routes import Router
from builders.kit.limits.policies import OperationLimits, Policy, declare, rate_limit
from builders.kit.limits.rate_limiter import RATE_LIMIT_HEADERS, RATE_LIMITER, RateLimiter
from builders.kit.process.settings import Settings

router = Router(prefix="/v1/invoices", tags=["invoices"], beyond=True)
InvoiceId = Annotated[
    UUID, PathParameter(description="Identifier of the invoice; not its number."), ResourceId(InvoiceNotFound)
]
Reader = Annotated[Caller, needs("invoices:read")]
router.refuse(
    "POST", "", remedy="An invoice is issued by the promotion that claims names: POST /v1/sandbox/promote."
)
# No scope of its own: a key that may not write has no business with the account's purse.
Payer = Annotated[Caller, needs("account:write")]
INVOICE = declare(
    Policy(name="invoice", quota=120, window_s=60, by="account", counts="Single invoices, in whatever form.")
)
# What an account can have of the one thread that writes them: 3 ms for a line, 25 with a font of one's own, half a
# second for two thousand lines, and six where each of these is as long as can be.
PDFS = declare(
    Policy(
        name="invoice_pdf", quota=30, window_s=600, by="account", counts="Invoices as PDF, by path or `Accept`."
    )
)
PAGE, PDF = "text/html", "application/pdf"
_BY_HAND = OperationLimits((PDFS,))
_BYTES = {"schema": {"type": "string", "format": "binary"}}
_SAFE = ":/%#?=@[]!$&'()*+,~"  # of an address, as a header holds it


@router.get("", response_model=PageReply[schemas.InvoiceItem])
async def list_invoices(
    caller: Reader,
    conn: Reads,
    page: PageQuery,
    status: Annotated[schemas.Issued | None, Query(description="Only what stands so.")] = None,
) -> PageReply[InvoiceItem]:
    """List invoices, newest first, without their lines."""
    wanted = None if status is None else InvoiceStatus(status)
    found = await invoices.list_invoices(conn, account_id=caller.account_id, page=page, status=wanted)
    return schemas.page(found)


@router.get(
    "/{invoice_id}",
    response_model=schemas.InvoiceDetail,
    responses=problems(InvoiceNotFound),
    dependencies=[rate_limit(INVOICE)],
)
async def get_invoice(
    invoice_id: InvoiceId, request: Request, caller: Reader, database: Pool, settings: SettingsDep
) -> ReplyWithHeaders | Response:
    """Read an invoice: JSON, or by `Accept` a page to print (`text/html`) or a PDF (`application/pdf`)."""
    form = html.preferred_media_type(request, PAGE, PDF)
    if form == PDF:
        await _count_pdf(request, caller)
    invoice = await _read(database, caller, invoice_id)
    if form is None:
        return ReplyWithHeaders(schemas.whole(invoice), html.NEGOTIATED)
    return await _pdf(invoice, font=settings.invoice_font) if form == PDF else _page(invoice, caller, settings)


@router.get(
    "/{invoice_id}/pdf",
    response_model=None,
    response_class=Response,
    responses={200: {"content": {PDF: _BYTES}}, **problems(InvoiceNotFound)},
    dependencies=[rate_limit(PDFS, INVOICE)],
)
async def get_invoice_pdf(
    invoice_id: InvoiceId, caller: Reader, database: Pool, settings: SettingsDep
) -> Response:
    """Read an invoice as a PDF."""
    return await _pdf(await _read(database, caller, invoice_id), font=settings.invoice_font)


@router.post(
    "/{invoice_id}/checkout",
    response_model=schemas.CheckoutReply,
    responses=problems(
        InvoiceNotFound,
        InvalidTransition,
        NothingDue,
        LiveKeyRequired,
        StripeNotConfigured,
        StripeAway,
        StripeRefused,
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
    """Get a link to pay an invoice by, at Stripe; the one of before while it is good. A browser goes on to it."""
    found = await invoices.create_checkout(
        database,
        outbound=outbound,
        settings=settings,
        account_id=caller.account_id,
        invoice_id=invoice_id,
    )
    return _checkout_page(found) if html.is_browser_navigation(request.scope) else found


async def _count_pdf(request: Request, caller: Caller) -> None:
    """Counts by hand, for the operation's other forms do not count on it. Raises RateLimited."""
    limits: RateLimiter | None = request.scope.get(RATE_LIMITER)
    if limits is None:
        return
    (name, general), _ = request.scope[RATE_LIMIT_HEADERS]
    try:
        await limits.spend(_BY_HAND, request.scope, account=caller.live_account_id)
    finally:
        (_, own), left = request.scope[RATE_LIMIT_HEADERS]
        request.scope[RATE_LIMIT_HEADERS] = ((name, b"%b, %b" % (own, general)), left)


async def _read(database: Database, caller: Caller, invoice_id: InvoiceId) -> Invoice:
    # Not for the whole request: to write two thousand lines takes long, and needs no connection.
    async with database.connection() as conn:
        return await invoices.get_invoice(conn, account_id=caller.account_id, invoice_id=invoice_id)


def _page(invoice: Invoice, caller: Caller, settings: Settings) -> Response:
    may_pay = caller.impersonation is None and "account:write" in caller.scopes
    can_pay = may_pay and invoices.can_pay(settings, invoice)
    return html.rendered_page(invoices.write_html(invoice, can_pay=can_pay))


def _checkout_page(found: Checkout) -> Response:
    """Takes a browser on to Stripe: by a header, since a form may be redirected to no other site (form-action)."""
    link = html.Link(href=found.url, label=f"Pay {found.amount} at Stripe")
    said = ["You go on to the payment page of Stripe. If nothing happens, follow the link."]
    headers = {"Refresh": f"0; url={quote(found.url, safe=_SAFE)}"}
    return html.page("Pay by card", said, links=[link], headers=headers)


async def _pdf(invoice: Invoice, *, font: Path | None) -> Response:
    content = await invoices.render_pdf(invoice, font=font)
    name = {"Content-Disposition": f'inline; filename="{invoice.number}.pdf"'}
    return Response(content, 200, {**html.NEGOTIATED, **name}, PDF)
