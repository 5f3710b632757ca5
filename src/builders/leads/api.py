"""/v1/leads and the builders waitlist: public; known and unknown addresses get the same reply."""

from typing import Annotated

from fastapi import Query, Request
from starlette.responses import HTMLResponse, Response

from builders.kit.db.connections import Database, Pool, Tx
from builders.kit.errors import Problem, TokenInvalid, problems
from builders.kit.http import forms, html
from builders.kit.http.bodies import ReplyWithHeaders
from builders.kit.http.dependencies import ClientAddress, KeyringDep
from builders.kit.http.forms import FormToken
from builders.kit.http.routes import BEYOND_SPEC, LINK, Router
from builders.kit.http.visitors import CHANGES_STATE, PrefetchRefused, refuse_prefetch, truncate_address
from builders.kit.limits.policies import Policy, declare, rate_limit
from builders.kit.process.secret_keys import Keyring
from builders.leads import lifecycle, schemas
from builders.leads.records import WAITLIST, Confirmation, Interest, Receipt

router = Router(prefix="/v1/leads", tags=["leads"])
waitlist_router = Router(prefix="/public/v1/builders/waitlist", tags=["leads"])
LEADS = declare(
    Policy(name="leads", quota=20, window_s=600, by="address", counts="Forms of leads and of the waitlist.")
)
ON_PAGE = "/v1/leads/confirm/page"


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
    """Confirm a lead by the emailed link; idempotent. A browser gets a page whose button confirms."""
    try:
        refuse_prefetch(request)
        if not html.wants_html(request):
            reply = schemas.LeadConfirmedReply.from_record(await _confirm(database, keys, token, address))
            return ReplyWithHeaders(reply, html.NEGOTIATED)
        return await _form_page(database, keys, token) or _thanks(await _confirm(database, keys, token, address))
    except (TokenInvalid, PrefetchRefused) as refusal:
        return _error_page(request, refusal)


@router.post(
    "/confirm/page",
    response_class=HTMLResponse,
    responses=problems(TokenInvalid),
    openapi_extra={**BEYOND_SPEC, **forms.TOKEN_FORM_BODY},
)
async def confirm_page(
    request: Request, token: FormToken, address: ClientAddress, database: Pool, keys: KeyringDep
) -> Response:
    """Confirm a lead by the button of the link's page. The token is the only credential."""
    try:
        return _thanks(await _confirm(database, keys, token, address))
    except TokenInvalid as refusal:
        return _error_page(request, refusal)


async def _form_page(database: Database, keyring: Keyring, token: str) -> Response | None:
    """Return a page with a button; None for a link that is used or not valid.

    Mail scanners open links in browsers, and must not confirm for the recipient.
    """
    async with database.connection() as conn:
        email = await lifecycle.find_unused_link(conn, keyring=keyring, token=token)
    if email is None:
        return None
    paragraphs = [
        f"The address {email} was entered on one of our pages.",
        "If you did not do this, close this page. You will receive no further email.",
    ]
    button = html.Form(action=ON_PAGE, label="Confirm this address", fields={"token": token})
    return html.page("Confirm your email address", paragraphs, button=button)


async def _confirm(database: Database, keyring: Keyring, token: str, address: str) -> Confirmation:
    async with database.transaction() as conn:
        return await lifecycle.confirm(conn, keyring=keyring, token=token, client=truncate_address(address))


def _thanks(confirmation: Confirmation) -> Response:
    state = "is already confirmed" if confirmation.repeated else "is confirmed"
    return html.page("Thank you", [f"The address {confirmation.email_masked} {state}. You can close this page."])


def _error_page(request: Request, refusal: Problem) -> Response:
    hint = "Enter your address again to receive a new link."
    return html.refusal_page(request, refusal, "The address could not be confirmed", hint)
