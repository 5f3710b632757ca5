"""/v1/aliases/destinations: whose readers have agreed, and the link by which they do."""

from typing import Annotated, Any

from fastapi import Query, Request
from starlette.responses import Response

from builders.aliases import replies, schemas, service as aliases
from builders.aliases.api.names import Reader
from builders.aliases.errors import AskedTooSoon, DestinationNotFound
from builders.aliases.records import Confirmation, Destination
from builders.kit.db.connections import Database, Pool, Reads, Tx
from builders.kit.errors import DatabaseBusy, DatabaseUnavailable, Problem, TokenInvalid, problems
from builders.kit.http import forms, html
from builders.kit.http.bodies import ReplyWithHeaders
from builders.kit.http.callers import Caller, needs
from builders.kit.http.dependencies import KeyringDep, SettingsDep
from builders.kit.http.forms import FormToken
from builders.kit.http.idempotency import InFlight
from builders.kit.http.pagination import Page, PageQuery, PageReply
from builders.kit.http.prefetch import CHANGES_STATE, PrefetchRefused, refuse_prefetch
from builders.kit.http.routes import Router
from builders.kit.limits.policies import Policy, declare, rate_limit
from builders.kit.process.secret_keys import Keyring

router = Router(prefix="/v1/aliases/destinations", tags=["aliases"], beyond=True)
# Support may have a recipient asked again; never another one.
Asker = Annotated[Caller, needs("aliases:write", support=("email",))]
ON_PAGE = "/v1/aliases/destinations/confirm/page"
# Besides the gap between two mails and their number in a day, which the database keeps for each address.
RESEND = declare(
    Policy(name="destinations", quota=30, window_s=600, by="account", counts="Readers that are to be asked again.")
)
PAGE: dict[int | str, dict[str, Any]] = {200: {"content": {"text/html": {"schema": {"type": "string"}}}}}


@router.get("", response_model=PageReply[replies.DestinationReply])
async def list_destinations(
    caller: Reader, conn: Reads, page: PageQuery, settings: SettingsDep
) -> Page[Destination]:
    """List the addresses that the account's names forward to, or did, and whether their readers agreed."""
    most = settings.confirmations_per_day
    return await aliases.list_destinations(conn, account_id=caller.account_id, page=page, most=most)


@router.post(
    "/resend",
    response_model=replies.DestinationResent,
    responses=problems(DestinationNotFound, AskedTooSoon, InFlight),
    dependencies=[rate_limit(RESEND)],
)
async def resend_confirmation(
    body: schemas.DestinationResend, caller: Asker, conn: Tx, settings: SettingsDep
) -> replies.DestinationResent:
    """Have the reader of a destination asked again, unless they have agreed."""
    sent, destination = await aliases.resend(
        conn, account_id=caller.account_id, email=body.email, most=settings.confirmations_per_day
    )
    return replies.resent(destination, sent=sent)


@router.get(
    "/confirm",
    response_model=replies.DestinationConfirmed,
    responses=problems(TokenInvalid, PrefetchRefused, DatabaseUnavailable, DatabaseBusy),
    dependencies=[CHANGES_STATE],
)
async def confirm_destination(
    request: Request,
    token: Annotated[str, Query(min_length=8, description="Of the link that was mailed.")],
    database: Pool,
    keys: KeyringDep,
) -> ReplyWithHeaders | Response:
    """Public confirm link of a destination: its recipient agrees to receive mail.

    With `Accept: application/json` the request confirms at once. Without it, the answer is a page (`text/html`)
    whose button confirms: mail scanners follow links too.
    """
    try:
        refuse_prefetch(request)
        if _is_program(request):
            return ReplyWithHeaders(replies.confirmed(await _confirm(database, keys, token)), html.NEGOTIATED)
        return await _ask(database, keys, token) or _thanks(await _confirm(database, keys, token))
    except (TokenInvalid, PrefetchRefused) as refusal:
        return _refused(request, refusal)


@router.post(
    "/confirm/page",
    response_class=Response,
    responses={**problems(TokenInvalid), **forms.FORM_RESPONSES, **PAGE},
    openapi_extra=dict(forms.TOKEN_FORM_BODY),
)
async def confirm_destination_page(
    request: Request, token: FormToken, database: Pool, keys: KeyringDep
) -> Response:
    """Confirm a destination with the link's page: what its button posts. The token alone counts."""
    try:
        return _thanks(await _confirm(database, keys, token))
    except TokenInvalid as refusal:
        return _refused(request, refusal)


async def _confirm(database: Database, keyring: Keyring, token: str) -> Confirmation:
    async with database.transaction() as conn:
        return await aliases.confirm(conn, keyring=keyring, token=token)


def _is_program(request: Request) -> bool:
    """Whether a program has said that it is one; scanners of mail take anything, as browsers do."""
    return "application/json" in request.headers.get("accept", "").lower() and not html.wants_html(request)


async def _ask(database: Database, keyring: Keyring, token: str) -> Response | None:
    """A page with a button; None for a link that was followed before.

    Scanners of mail follow links in whole browsers, and must not agree in their reader's place.
    """
    async with database.connection() as conn:
        address = await aliases.find_question(conn, keyring=keyring, token=token)
    if address is None:
        return None
    paragraphs = [
        f"Somebody, hopefully you, wants mail to be forwarded to {address}.",
        "If that was not you, close this page: nothing is forwarded to you.",
    ]
    button = html.Form(action=ON_PAGE, label="Yes, forward it", fields={"token": token})
    return html.page("May mail be forwarded to you?", paragraphs, button=button)


def _thanks(confirmation: Confirmation) -> Response:
    said = "was confirmed before" if confirmation.repeated else "is confirmed"
    paragraph = f"The address {confirmation.email_masked} {said}. You can close this page."
    return html.page("Thank you", [paragraph])


def _refused(request: Request, refusal: Problem) -> Response:
    refusal.headers |= html.NEGOTIATED
    if not html.wants_html(request):
        return refusal.response()
    paragraphs = [refusal.detail, "Whoever has the name can have a new link sent to you."]
    return html.page("This did not work", paragraphs, status=refusal.status, headers=refusal.headers)
