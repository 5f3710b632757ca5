"""/v1/leads and the builders waitlist: public; known and unknown addresses get the same reply."""

from typing import Annotated

from fastapi import Query, Request
from starlette.responses import HTMLResponse, Response

from builders.kit.db.connections import Pool, Tx
from builders.kit.errors import TokenInvalid, problems
from builders.kit.http import forms
from builders.kit.http.bodies import ReplyWithHeaders
from builders.kit.http.dependencies import ClientAddress, KeyringDep
from builders.kit.http.forms import FormToken
from builders.kit.http.routes import BEYOND_SPEC, LINK, Router
from builders.kit.http.visitors import CHANGES_STATE, truncate_address
from builders.kit.limits.policies import Policy, declare, rate_limit
from builders.leads import lifecycle, schemas
from builders.leads.records import WAITLIST, Interest, Receipt
from builders.mail.link_pages import LinkPages

router = Router(prefix="/v1/leads", tags=["leads"])
waitlist_router = Router(prefix="/public/v1/builders/waitlist", tags=["leads"])
LEADS = declare(
    Policy(name="leads", quota=20, window_s=600, by="address", counts="Forms of leads and of the waitlist.")
)


def _question(email: str) -> tuple[str, list[str], str]:
    paragraphs = [
        f"The address {email} was entered on one of our pages.",
        "If you did not do this, close this page. You will receive no further email.",
    ]
    return "Confirm your email address", paragraphs, "Confirm this address"


_PAGES = LinkPages(
    action="/v1/leads/confirm/page",
    find=lifecycle.find_unused_link,
    question=_question,
    confirm=lifecycle.confirm,
    reply=schemas.LeadConfirmedReply.of,
    hint="Enter your address again to receive a new link.",
)


@router.post("", status_code=201, response_model=schemas.LeadReply, dependencies=[rate_limit(LEADS)])
async def create(body: schemas.CreateLeadRequest, address: ClientAddress, conn: Tx) -> Receipt:
    """Submit an address, which receives a confirmation email.

    The response is the same for known and unknown addresses.
    """
    request = body.request(address, source=body.source, interest=body.interest)
    return await lifecycle.create(conn, request=request, is_trapped=body.is_trapped)


@waitlist_router.post("", status_code=201, response_model=schemas.LeadReply, dependencies=[rate_limit(LEADS)])
async def join_waitlist(body: schemas.BuildersWaitlistRequest, address: ClientAddress, conn: Tx) -> Receipt:
    """Join the builders waitlist: stored as a lead of the source `builders_waitlist`."""
    request = body.request(address, source=WAITLIST, interest=Interest.BUILDER)
    return await lifecycle.create(conn, request=request, is_trapped=body.is_trapped)


@router.get(
    "/confirm",
    response_model=schemas.LeadConfirmedReply,
    responses=problems(TokenInvalid),
    dependencies=[CHANGES_STATE, LINK],
)
async def confirm(
    request: Request,
    token: Annotated[str, Query(min_length=8, description="Token of the emailed link.")],
    address: ClientAddress,
    database: Pool,
    keys: KeyringDep,
) -> ReplyWithHeaders | Response:
    """Confirm a lead by the emailed link; idempotent.

    `Accept: application/json` confirms at once. Otherwise, the response is a page with a button that confirms,
    because mail scanners also follow links.
    """
    return await _PAGES.show(request, database, keys, token, client=truncate_address(address))


@router.post(
    "/confirm/page",
    response_class=HTMLResponse,
    response_model=None,
    responses=problems(TokenInvalid),
    openapi_extra={**BEYOND_SPEC, **forms.TOKEN_FORM_BODY},
)
async def confirm_page(
    request: Request, token: FormToken, address: ClientAddress, database: Pool, keys: KeyringDep
) -> ReplyWithHeaders | Response:
    """Confirm a lead by the button of the link's page. The token is the only credential."""
    return await _PAGES.press(request, database, keys, token, client=truncate_address(address))
