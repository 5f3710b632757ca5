"""/v1/leads and the builders waitlist: public, and the same answer to all."""

from typing import Annotated

from fastapi import Query, Request
from starlette.responses import Response

from builders.kit import html
from builders.kit.bodies import Answer
from builders.kit.crypto import Keyring
from builders.kit.db import Database, Pool, Tx
from builders.kit.errors import DatabaseAway, DatabaseBusy, Problem, TokenInvalid, problems
from builders.kit.limits import Policy, declare, within
from builders.kit.prefetch import PrefetchRefused, refuse_ahead
from builders.kit.routes import Router
from builders.kit.supplies import Address, Keys
from builders.kit.visitors import network_of
from builders.leads import schemas
from builders.leads import service as leads
from builders.leads.records import Confirmation, Receipt

router = Router(prefix="/v1/leads", tags=["leads"])
waitlist_router = Router(prefix="/public/v1/builders/waitlist", tags=["leads"])
LEADS = declare(
    Policy(name="leads", quota=20, window_s=600, by="address", counts="Forms of leads and of the waitlist.")
)
UNSEEN = {"Cache-Control": "no-store"}


@router.post("", status_code=201, response_model=schemas.LeadReply, dependencies=[within(LEADS)])
async def create(body: schemas.CreateLeadRequest, address: Address, conn: Tx) -> Receipt:
    """Leave an address: its reader is asked by mail to confirm. The same answer whether it is known or not."""
    return await leads.create(conn, request=body.request(address))


@waitlist_router.post("", status_code=201, response_model=schemas.LeadReply, dependencies=[within(LEADS)])
async def join_waitlist(body: schemas.BuildersWaitlistRequest, address: Address, conn: Tx) -> Receipt:
    """Join the builders waitlist: stored as a lead of the source `builders_waitlist`."""
    return await leads.create(conn, request=body.request(address))


@router.get(
    "/confirm",
    response_model=schemas.LeadConfirmedReply,
    responses={
        200: {"content": {"text/html": {"schema": {"type": "string"}}}},
        **problems(TokenInvalid, PrefetchRefused, DatabaseAway, DatabaseBusy),
    },
)
async def confirm(
    request: Request,
    token: Annotated[str, Query(min_length=8, description="Of the link that was mailed.")],
    address: Address,
    database: Pool,
    keys: Keys,
) -> Answer | Response:
    """Confirm link of a lead: a page for browsers, JSON for programs. Repeating it is harmless."""
    try:
        confirmation = await _confirm(request, database, keys, token=token, address=address)
    except (TokenInvalid, PrefetchRefused) as refusal:
        return _refused(request, refusal)
    return _confirmed(request, confirmation)


async def _confirm(
    request: Request, database: Database, keyring: Keyring, *, token: str, address: str
) -> Confirmation:
    refuse_ahead(request)
    async with database.transaction() as conn:
        return await leads.confirm(conn, keyring=keyring, token=token, client=network_of(address))


def _confirmed(request: Request, confirmation: Confirmation) -> Answer | Response:
    if not html.wants_html(request):
        return Answer(schemas.confirmed(confirmation), UNSEEN)
    said = "was confirmed before" if confirmation.repeated else "is confirmed"
    paragraph = f"The address {confirmation.email_masked} {said}. You can close this page."
    return html.page("Thank you", [paragraph], headers=UNSEEN)


def _refused(request: Request, refusal: Problem) -> Response:
    refusal.headers |= UNSEEN
    if not html.wants_html(request):
        return refusal.response()
    paragraphs = [refusal.detail, "Leave your address once more, and a new link is on its way to you."]
    return html.page("This did not work", paragraphs, status=refusal.status, headers=refusal.headers)
