"""/v1/me and /v1/account/email-verification."""

from typing import Annotated

from fastapi import Query, Request
from starlette.responses import Response

from builders.identity import service as identity
from builders.kit import html, versions
from builders.kit.bodies import Answer
from builders.kit.callers import Caller, ImpersonationForbidden, needs
from builders.kit.crypto import Keyring
from builders.kit.db import Database, Pool, Reads, Tx
from builders.kit.errors import DatabaseAway, DatabaseBusy, Problem, TokenInvalid, problems
from builders.kit.idempotency import InFlight
from builders.kit.limits import Policy, declare, within
from builders.kit.routes import Router
from builders.kit.supplies import Config, Keys, Offered
from builders.kit.versions import IfMatch, IfNoneMatch
from builders.profile import schemas
from builders.profile import service as profiles
from builders.profile.errors import PrefetchRefused, ResendTooSoon
from builders.profile.records import Confirmation, Verification

router = Router(prefix="/v1", tags=["profile"])
Reader = Annotated[Caller, needs("account:read")]
Writer = Annotated[Caller, needs("account:write")]
VERIFICATION = "/account/email-verification"
# Besides the gap between two messages and their number in a day, which the database keeps.
RESEND = declare(
    Policy(name="resend", quota=10, window_s=600, by="account", counts="Verification messages that are asked for.")
)
UNSEEN = {"Cache-Control": "no-store"}
# What a browser says when it fetches ahead of its user (W3C Prefetch; the older ones of Chrome and Firefox).
_AHEAD = ("sec-purpose", "purpose", "x-moz", "x-purpose")


@router.get("/me", response_model=schemas.ProfileReply, responses=dict(versions.READ))
async def get(caller: Reader, conn: Reads, known: IfNoneMatch) -> Answer | Response:
    """Own profile. With a test key it is the real account's."""
    profile = await profiles.get(conn, account_id=caller.live_account_id)
    return known.answer(profile, profile.version)


@router.patch(
    "/me",
    response_model=schemas.ProfileUpdated,
    responses={**versions.WRITTEN, **problems(ResendTooSoon, ImpersonationForbidden)},
)
async def update(
    body: schemas.CustomerProfileUpdate, caller: Writer, conn: Tx, expected: IfMatch, keys: Keys, settings: Config
) -> Answer:
    """Update the own profile: a merge patch. Another email address is pending until it is confirmed."""
    profile = await profiles.update(
        conn,
        keyring=keys,
        settings=settings,
        account_id=caller.live_account_id,
        actor=caller.actor,
        change=body.change(),
        expected=expected,
    )
    return versions.tagged(profile, profile.version)


@router.get(VERIFICATION, response_model=schemas.VerificationReply)
async def get_verification(caller: Reader, conn: Reads) -> Verification:
    """Verification status of the account's email address."""
    return await profiles.get_verification(conn, account_id=caller.live_account_id)


@router.post(
    f"{VERIFICATION}/resend",
    response_model=schemas.ResendReply,
    responses=problems(ResendTooSoon, InFlight),
    dependencies=[within(RESEND)],
)
async def resend(caller: Writer, conn: Tx, keys: Keys, settings: Config) -> schemas.ResendReply:
    """Resend the verification message, unless there is nothing to confirm."""
    sent, verification = await profiles.resend(
        conn, keyring=keys, settings=settings, account_id=caller.live_account_id
    )
    return schemas.resent(sent=sent, verification=verification)


@router.get(
    f"{VERIFICATION}/confirm",
    response_model=schemas.ConfirmationReply,
    responses={
        200: {"content": {"text/html": {"schema": {"type": "string"}}}},
        **problems(TokenInvalid, identity.EmailTaken, PrefetchRefused, DatabaseAway, DatabaseBusy),
    },
)
async def confirm(
    request: Request,
    token: Annotated[str, Query(min_length=8, description="Of the link that was mailed.")],
    database: Pool,
    keys: Keys,
    offered: Offered,
) -> Answer | Response:
    """Public confirm link: the token proves ownership. Nobody is signed in; repeating it is harmless."""
    del offered
    try:
        confirmation = await _confirm(request, database, keys, token)
    except (TokenInvalid, identity.EmailTaken, PrefetchRefused) as refusal:
        return _refused(request, refusal)
    return _confirmed(request, confirmation)


async def _confirm(request: Request, database: Database, keyring: Keyring, token: str) -> Confirmation:
    if any("prefetch" in request.headers.get(name, "").lower() for name in _AHEAD):
        raise PrefetchRefused("Open the link yourself.", retry_after=1)
    async with database.transaction() as conn:
        return await profiles.confirm(conn, keyring=keyring, token=token)


def _confirmed(request: Request, confirmation: Confirmation) -> Answer | Response:
    if not html.wants_html(request):
        return Answer(schemas.confirmed(confirmation), UNSEEN)
    said = "was confirmed before" if confirmation.repeated else "is confirmed"
    paragraph = f"The address {confirmation.email} {said}. You can close this page."
    return html.page("Thank you", [paragraph], headers=UNSEEN)


def _refused(request: Request, refusal: Problem) -> Response:
    refusal.headers |= UNSEEN
    if not html.wants_html(request):
        return refusal.response()
    paragraphs = [refusal.detail, "Sign in, or use your API key, to have a new link sent."]
    return html.page("This did not work", paragraphs, status=refusal.status, headers=refusal.headers)
