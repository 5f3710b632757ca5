"""/v1/auth/login and /v1/auth/login-as."""

from fastapi import Request, Response

from builders.identity import service as identity
from builders.identity.api import cookies, login_page
from builders.identity.api.visitors import LOGIN, LOGIN_AS, REDEEM, AnyVisitor, Visitor
from builders.identity.errors import GrantInvalid
from builders.identity.records import SignedIn
from builders.identity.schemas import login as schemas
from builders.kit.db.connections import Pool, Tx
from builders.kit.errors import TokenInvalid, problems
from builders.kit.http import forms, html
from builders.kit.http.bodies import ReplyWithHeaders
from builders.kit.http.compiled_routes import EXTRA_MEDIA_TYPES
from builders.kit.http.dependencies import KeyringDep, SettingsDep
from builders.kit.http.origins import OriginForbidden
from builders.kit.http.routes import BEYOND_SPEC, Router
from builders.kit.limits.policies import rate_limit

router = Router(prefix="/v1/auth", tags=["auth"])


def _signed_in(new: SignedIn, *, secure: bool) -> ReplyWithHeaders:
    """What GET /v1/auth/session will answer to the cookie, with the cookie."""
    session = new.session
    reply = schemas.signed_in(new.standing, identity.caller_of(session, method="cookie"))
    return cookies.with_cookie(reply, token=new.token, expires_at=session.expires_at, secure=secure)


@router.post(
    "/login",
    response_model=schemas.LoginReply,
    responses=problems(OriginForbidden),
    openapi_extra={**BEYOND_SPEC, EXTRA_MEDIA_TYPES: [forms.MEDIA_TYPE]},
    dependencies=[rate_limit(LOGIN)],
)
async def request_login(
    request: Request, body: schemas.LoginRequest, visitor: Visitor, conn: Tx
) -> schemas.LoginReply | Response:
    """Have a one-time code and a link mailed to an account's address; the answer is the same if there is none.

    The body is JSON; a browser sends a form and gets the page (`text/html`) on which to enter the code.
    """
    await identity.request_code(conn, email=body.email, client=visitor.address, return_to=body.return_to)
    if html.is_browser_navigation(request.scope):
        return login_page.sent_page(body.email, return_to=body.return_to)
    return schemas.LoginReply(expires_in_s=int(identity.CODE_LIFE.total_seconds()))


@router.post(
    "/login/redeem",
    response_model=schemas.SignedInReply,
    responses=problems(TokenInvalid, OriginForbidden),
    openapi_extra=BEYOND_SPEC,
    dependencies=[rate_limit(REDEEM)],
)
async def redeem_login(
    body: schemas.LoginRedeem,
    visitor: Visitor,
    database: Pool,
    keyring: KeyringDep,
    settings: SettingsDep,
    secure: cookies.Secure,
) -> ReplyWithHeaders:
    """Sign in with the code that was mailed, or the token of its link; sets the cookie."""
    new = await identity.sign_in(
        database,
        keyring=keyring,
        settings=settings,
        proof=body.proof(),
        address=visitor.address,
        user_agent=visitor.user_agent,
    )
    return _signed_in(new, secure=secure)


@router.post(
    "/login-as",
    response_model=schemas.SignedInReply,
    responses=problems(GrantInvalid, OriginForbidden),
    dependencies=[rate_limit(LOGIN_AS)],
)
async def login_as(
    body: schemas.LoginAsRedeemRequest,
    visitor: AnyVisitor,
    conn: Tx,
    keyring: KeyringDep,
    settings: SettingsDep,
    secure: cookies.Secure,
) -> ReplyWithHeaders:
    """Redeem a login-as grant, once: support signs in as the account, for an hour; sets the cookie."""
    new = await identity.redeem_grant(
        conn,
        keyring=keyring,
        settings=settings,
        text=body.grant,
        address=visitor.address,
        user_agent=visitor.user_agent,
    )
    return _signed_in(new, secure=secure)
