"""/v1/invoices/stripe: what Stripe tells, signed by Stripe."""

from typing import Annotated

from fastapi import Header, Request

from builders.invoices import schemas, service as invoices
from builders.invoices.errors import EventMalformed, SignatureInvalid
from builders.invoices.schemas import StripeReceived
from builders.kit.db.connections import Pool
from builders.kit.errors import BodyTooLarge, problems
from builders.kit.http.body_limits import body_limit
from builders.kit.http.dependencies import SettingsDep
from builders.kit.http.routes import Router

router = Router(prefix="/v1/invoices/stripe", tags=["invoices"], beyond=True)
LARGEST = 256 * 1024  # bytes; an event of Stripe has a few thousand
_EVENT = {
    "type": "object",
    "description": "An event object of Stripe's API.",
    "required": ["id", "type"],
    "properties": {"id": {"type": "string"}, "type": {"type": "string"}, "data": {"type": "object"}},
    "examples": [{"id": "evt_1QxYzAbCdEfGhIjK", "type": "checkout.session.completed", "data": {"object": {}}}],
}
_BODY = {"required": True, "content": {"application/json": {"schema": _EVENT}}}


@router.post(
    "",
    response_model=schemas.StripeReceived,
    responses=problems(SignatureInvalid, EventMalformed, BodyTooLarge),
    openapi_extra={"requestBody": _BODY},
    dependencies=[body_limit(LARGEST)],
)
async def receive_stripe(
    request: Request,
    database: Pool,
    settings: SettingsDep,
    signature: Annotated[
        str | None, Header(alias="Stripe-Signature", description="Signature of Stripe over the exact body.")
    ] = None,
) -> StripeReceived:
    """Webhook of Stripe: its signature over the exact body is the credential, and each event counts once."""
    payload = await request.body()
    async with database.transaction() as conn:
        event = await invoices.receive_stripe(conn, settings=settings, payload=payload, signature=signature)
    return schemas.received(event)
