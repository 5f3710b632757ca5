"""/v1/me and /v1/account/email-verification."""

from typing import Annotated

from fastapi import Query, Request
from starlette.responses import HTMLResponse, Response

from builders.identity.errors import EmailTaken
from builders.kit.callers import Caller, FreshSignInRequired, PersonRequired
from builders.kit.db.connections import Pool, Reads, Tx
from builders.kit.effects import Effect
from builders.kit.errors import TokenInvalid, problems
from builders.kit.http import etags, forms, html
from builders.kit.http.bodies import ReplyWithHeaders
from builders.kit.http.callers import LiveKeyRequired, needs
from builders.kit.http.dependencies import OPTIONAL_CREDENTIALS, KeyringDep, SettingsDep
from builders.kit.http.etags import IfMatch, IfNoneMatch
from builders.kit.http.forms import FormToken
from builders.kit.http.routes import BEYOND_SPEC, LINK, Router
from builders.kit.http.visitors import CHANGES_STATE, PrefetchRefused
from builders.kit.limits.policies import Policy, declare, rate_limit
from builders.kit.values.patches import Changes
from builders.mail.link_pages import LinkPages
from builders.profile import profiles, schemas, verification
from builders.profile.records import Profile, Purpose, Resent, Verification
from builders.profile.verification import ResendTooSoon

router = Router(prefix="/v1", tags=["profile"])
for _other in ("account", "profile", "user", "users/me", "whoami"):
    router.suggest(f"/v1/{_other}", meant="/me")
Reader = Annotated[Caller, needs("account:read")]
# Members that a support session can change: all but the address.
_SUPPORT = ("display_name", "company", "website", "country", "timezone", "locale", "marketing_opt_in")
Writer = Annotated[Caller, needs("account:write", effect=Effect.AUTHORITY, support=_SUPPORT)]
VERIFICATION = "/account/email-verification"
# The title of the page of a link, and the effect of its button.
_EFFECTS = {
    Purpose.VERIFY: ("Confirm your email address", "becomes the confirmed address of its Builders account."),
    Purpose.CHANGE: ("Confirm your new address", "becomes the address of the Builders account that requested it."),
}


def _question(link: tuple[Purpose, str]) -> tuple[str, list[str], str]:
    title, effect = _EFFECTS[link[0]]
    paragraphs = [f"{link[1]} {effect}", "If you did not request this, close this page. Nothing changes."]
    return title, paragraphs, "Confirm this address"


_PAGES = LinkPages(
    action=f"/v1{VERIFICATION}/confirm/page",
    find=verification.find_unused_link,
    question=_question,
    confirm=verification.confirm,
    reply=schemas.ConfirmationReply.from_record,
    hint="Sign in, or use your API key, to request a new link.",
    refusals=(TokenInvalid, EmailTaken, PrefetchRefused),
    links=[html.HOME_LINK],
)
# In addition to the limits per address and day, which the database counts.
RESEND = declare(
    Policy(name="resend", quota=10, window_s=600, by="account", counts="Requests for verification messages.")
)


@router.get("/me", response_model=Profile)
async def get(caller: Reader, conn: Reads, known: IfNoneMatch) -> ReplyWithHeaders | Response:
    """Read the profile of the account. A test key reads the profile of the real account."""
    found = await profiles.get(conn, account_id=caller.live_account_id)
    return known.answer(found, of=found.id, version=found.version)


@router.patch(
    "/me",
    response_model=schemas.ProfileUpdated,
    responses=problems(ResendTooSoon, LiveKeyRequired, PersonRequired, FreshSignInRequired),
)
async def update(
    body: schemas.CustomerProfileUpdate,
    caller: Writer,
    conn: Tx,
    expected: IfMatch,
    keys: KeyringDep,
    settings: SettingsDep,
) -> ReplyWithHeaders:
    """Update the profile of the account by a merge patch. A new address needs a live key and a confirmation.

    While plans of the account need an approval, a new address needs a person who has signed in lately.
    """
    changed = await profiles.update(
        conn,
        keyring=keys,
        settings=settings,
        account_id=caller.live_account_id,
        actor=caller.actor,
        live=caller.is_live,
        changes=Changes(body.values()),
        email=body.patch_of("email", body.email),
        expected=expected,
    )
    return etags.with_etag(changed, of=changed.id, version=changed.version)


@router.get(VERIFICATION, response_model=Verification)
async def get_verification(caller: Reader, conn: Reads) -> Verification:
    """Read the verification of the account's email address."""
    return await verification.get_verification(conn, account_id=caller.live_account_id)


@router.post(f"{VERIFICATION}/resend", responses=problems(ResendTooSoon), dependencies=[rate_limit(RESEND)])
async def resend(caller: Writer, conn: Tx, keys: KeyringDep, settings: SettingsDep) -> Resent:
    """Resend the verification message, unless no address is pending."""
    return await verification.resend(conn, keyring=keys, settings=settings, account_id=caller.live_account_id)


@router.get(
    f"{VERIFICATION}/confirm",
    response_model=schemas.ConfirmationReply,
    responses=problems(TokenInvalid, EmailTaken),
    dependencies=[CHANGES_STATE, LINK, OPTIONAL_CREDENTIALS],
)
async def confirm(
    request: Request,
    token: Annotated[str, Query(min_length=8, description="Token of the link in the email.")],
    database: Pool,
    keys: KeyringDep,
) -> ReplyWithHeaders | Response:
    """Confirm an address by the token of its link. Does not sign in. Idempotent.

    `Accept: application/json` confirms at once. Otherwise, the response is a page with a button that confirms,
    because mail scanners also follow links.
    """
    return await _PAGES.show(request, database, keys, token)


@router.post(
    f"{VERIFICATION}/confirm/page",
    response_class=HTMLResponse,
    response_model=None,
    responses=problems(TokenInvalid, EmailTaken),
    openapi_extra={**BEYOND_SPEC, **forms.TOKEN_FORM_BODY},
)
async def confirm_page(
    request: Request, token: FormToken, database: Pool, keys: KeyringDep
) -> ReplyWithHeaders | Response:
    """Confirm an address by the form on the page of the link.

    The request can have any origin: only the token counts, and the session of the browser does not change.
    """
    return await _PAGES.press(request, database, keys, token)
