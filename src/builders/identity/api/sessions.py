"""/v1/auth/session, /v1/auth/sessions, /v1/auth/logout, /v1/account/audit and /.well-known/jwks.json.

Also the rate limits, the client and the cookie (RFC 6265) of a login.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated
from uuid import UUID

from fastapi import Depends, Path, Query, Request, Response

from builders.identity import accounts, sessions, tokens
from builders.identity.errors import NoSession, SessionNotFound
from builders.identity.records import AuditAction
from builders.identity.schemas import account as schemas
from builders.kit.db.connections import Reads, Tx
from builders.kit.errors import problems
from builders.kit.http import html
from builders.kit.http.bodies import ReplyWithHeaders
from builders.kit.http.callers import Caller, needs
from builders.kit.http.credentials import COOKIE, AccessToken, Authorization, XApiKey
from builders.kit.http.dependencies import KeyringDep, client_address
from builders.kit.http.idempotency import WITHOUT_IDEMPOTENCY
from builders.kit.http.origins import require_own_origin
from builders.kit.http.pagination import JsonPage, Page, PageQuery, PageReply
from builders.kit.http.parameters import ResourceId
from builders.kit.http.routes import BEYOND_SPEC, Router
from builders.kit.limits.policies import SITE_PREFIX_BITS, UNLIMITED, Policy, declare
from builders.kit.process.settings import Settings
from builders.kit.values import clock


def _by_address(name: str, quota: int, counts: str) -> Policy:
    """Declare a limit per client address; each email address has its own as well (builders.identity.login)."""
    policy = Policy(name=name, quota=quota, window_s=600, by="address", network=SITE_PREFIX_BITS, counts=counts)
    return declare(policy)


LOGIN = _by_address("login", 10, "Requests for codes and links.")
REDEEM = _by_address("login_redeem", 20, "Attempts to redeem codes and links.")
LOGIN_AS = _by_address("login_as", 10, "Attempts to redeem login-as grants.")


@dataclass(frozen=True, slots=True, kw_only=True)
class LoginClient:
    """The client of a login; stored with the session, so that its owner can recognize it."""

    address: str
    user_agent: str | None


def login_client(request: Request) -> LoginClient:
    """Return the client. Raise OriginForbidden for a request that another site made the browser send.

    Such a site could sign its visitor in to the attacker's account, and then read the visitor's actions.
    """
    require_own_origin(request, allow_missing_origin=True)
    return LoginClient(address=client_address(request), user_agent=request.headers.get("user-agent"))


def login_client_with_credentials(
    request: Request,
    authorization: Authorization = None,
    x_api_key: XApiKey = None,
    svc_access_token: AccessToken = None,
) -> LoginClient:
    """Return the client, for a handler whose document lists credentials; they are ignored."""
    del authorization, x_api_key, svc_access_token
    return login_client(request)


Client = Annotated[LoginClient, Depends(login_client)]
ClientWithCredentials = Annotated[LoginClient, Depends(login_client_with_credentials)]


def secure(request: Request) -> bool:
    """Return whether clients reach the service with TLS, so that the cookie can be limited to it."""
    settings: Settings = request.app.state.settings
    return request.url.scheme == "https" or settings.url.startswith("https://")


Secure = Annotated[bool, Depends(secure)]


def with_cookie(reply: object, *, token: str, expires_at: datetime, secure: bool) -> ReplyWithHeaders:
    """Return the reply with a cookie that holds the token until it expires."""
    left_s = max(0, int((expires_at - clock.now()).total_seconds()))
    return ReplyWithHeaders(reply, {"Set-Cookie": _cookie(token, left_s, secure=secure)})


def without_cookie(reply: object, *, secure: bool) -> ReplyWithHeaders:
    """Return the reply with a header that deletes the cookie."""
    return ReplyWithHeaders(reply, {"Set-Cookie": _cookie("", 0, secure=secure)})


def _cookie(token: str, max_age_s: int, *, secure: bool) -> str:
    """Return the header. No Domain: only this host gets it. Lax: other sites' forms do not send it."""
    suffix = "; Secure" if secure else ""
    return f"{COOKIE}={token}; Max-Age={max_age_s}; Path=/; HttpOnly; SameSite=Lax{suffix}"


router = Router(prefix="/v1/auth", tags=["auth"])
jwks_router = Router(tags=["auth"])
audit_router = Router(prefix="/v1/account", tags=["account"])
SessionId = Annotated[UUID, Path(description="Identifier of the session."), ResourceId(SessionNotFound)]
Reader = Annotated[Caller, needs("account:read")]
SessionOwner = Annotated[Caller, needs("account:read", support=())]
Writer = Annotated[Caller, needs("account:write", support=())]
JWKS_MAX_AGE_S = 300


@router.get("/session")
async def get_session(caller: Reader, conn: Reads) -> schemas.SessionReply:
    """Read the session: the account, the credentials of the request, and their scopes."""
    return schemas.session_reply(await sessions.get_principal(conn, caller=caller), caller)


@router.post(
    "/logout",
    response_model=schemas.LogoutReply,
    responses=problems(NoSession),
    openapi_extra=BEYOND_SPEC,
    dependencies=[WITHOUT_IDEMPOTENCY],
)
async def log_out(request: Request, caller: SessionOwner, conn: Tx, secure: Secure) -> ReplyWithHeaders | Response:
    """End the session of the request, and delete its cookie."""
    if caller.session_id is None:
        raise NoSession(
            "The credentials are an API key or a token of another issuer, not a session of this service."
        )
    await sessions.log_out(conn, account_id=caller.account_id, session_id=caller.session_id, actor=caller.actor)
    return _logout_answer(request, without_cookie(schemas.LogoutReply(), secure=secure))


def _logout_answer(request: Request, answer: ReplyWithHeaders) -> ReplyWithHeaders | Response:
    if not html.is_browser_navigation(request.scope):
        return answer
    return html.page("You are signed out", links=[html.HOME_LINK], headers=answer.headers)


@router.get("/sessions", response_model=PageReply[schemas.SessionItem], openapi_extra=BEYOND_SPEC)
async def list_sessions(caller: Reader, conn: Reads, page: PageQuery) -> Page[schemas.SessionItem]:
    """List the account's active sessions, newest first, with support sessions; none with a test key."""
    found = await sessions.list_sessions(conn, account_id=caller.account_id, page=page)
    items = [schemas.session_item(each, caller) for each in found.items]
    return Page(items=items, next_cursor=found.next_cursor)


@router.delete("/sessions/{session_id}", openapi_extra=BEYOND_SPEC)
async def end_session(session_id: SessionId, caller: Writer, conn: Tx) -> schemas.SessionItem:
    """End a session of the account; its token is refused within the cache time of credentials."""
    ended = await sessions.end_session(
        conn, account_id=caller.account_id, session_id=session_id, actor=caller.actor
    )
    return schemas.session_item(ended, caller)


@jwks_router.get(
    "/.well-known/jwks.json", response_model=schemas.JwksReply, openapi_extra=BEYOND_SPEC, dependencies=[UNLIMITED]
)
async def list_public_keys(keyring: KeyringDep) -> ReplyWithHeaders:
    """List the public keys that verify our tokens."""
    keys = [schemas.jwk_reply(each) for each in tokens.list_public_keys(keyring)]
    return ReplyWithHeaders(schemas.JwksReply(keys=keys), {"Cache-Control": f"public, max-age={JWKS_MAX_AGE_S}"})


@audit_router.get("/audit", response_model=PageReply[schemas.AuditEntryReply], openapi_extra=BEYOND_SPEC)
async def list_audit(
    caller: Reader,
    conn: Reads,
    page: PageQuery,
    action: Annotated[AuditAction | None, Query(description="Only entries of this kind.")] = None,
) -> JsonPage:
    """List the audit entries of the account, newest first; with a test key, those of the real account."""
    return await accounts.list_audit(conn, account_id=caller.live_account_id, page=page, action=action)
