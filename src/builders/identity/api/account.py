"""/v1/auth/session, /v1/auth/sessions, /v1/auth/logout, /v1/account/audit and /.well-known/jwks.json."""

from typing import Annotated
from uuid import UUID

from fastapi import Path, Query, Request, Response

from builders.identity import service as identity
from builders.identity.api import browsers
from builders.identity.errors import NoSession, SessionNotFound
from builders.identity.records import AuditAction
from builders.identity.schemas import account as schemas
from builders.kit.db.connections import Reads, Tx
from builders.kit.errors import problems
from builders.kit.http import html
from builders.kit.http.bodies import ReplyWithHeaders
from builders.kit.http.callers import Caller, ImpersonationForbidden, needs
from builders.kit.http.dependencies import KeyringDep
from builders.kit.http.idempotency import WITHOUT_IDEMPOTENCY
from builders.kit.http.pagination import JsonPage, Page, PageQuery, PageReply
from builders.kit.http.parameters import ResourceId
from builders.kit.http.routes import BEYOND_SPEC, Router
from builders.kit.limits.policies import UNLIMITED

router = Router(prefix="/v1/auth", tags=["auth"])
jwks_router = Router(tags=["auth"])
audit_router = Router(prefix="/v1/account", tags=["account"])
SessionId = Annotated[UUID, Path(description="Identifier of the session."), ResourceId(SessionNotFound)]
Reader = Annotated[Caller, needs("account:read")]
SessionOwner = Annotated[Caller, needs("account:read", support=())]
Writer = Annotated[Caller, needs("account:write", support=())]
JWKS_MAX_AGE_S = 300


@router.get("/session", response_model=schemas.SessionReply)
async def get_session(caller: Reader, conn: Reads) -> schemas.SessionReply:
    """Read the session: the account, the credentials of the request, and their scopes."""
    principal = await identity.get_principal(
        conn,
        account_id=caller.live_account_id,
        key_id=caller.key_id,
        session_id=caller.session_id,
    )
    return schemas.session_reply(principal, caller)


@router.post(
    "/logout",
    response_model=schemas.LogoutReply,
    responses=problems(NoSession),
    openapi_extra=BEYOND_SPEC,
    dependencies=[WITHOUT_IDEMPOTENCY],
)
async def log_out(
    request: Request, caller: SessionOwner, conn: Tx, secure: browsers.Secure
) -> ReplyWithHeaders | Response:
    """End the session of the request, and delete its cookie."""
    if caller.session_id is None:
        raise NoSession(
            "An API key, or a token of another issuer, is no session of ours.",
            next_action="Revoke a key with DELETE /v1/api-keys/{key_id}; end a foreign token where it was issued.",
        )
    await identity.log_out(conn, account_id=caller.account_id, session_id=caller.session_id, actor=caller.actor)
    return _logout_answer(request, browsers.without_cookie(schemas.LogoutReply(), secure=secure))


def _logout_answer(request: Request, answer: ReplyWithHeaders) -> ReplyWithHeaders | Response:
    if not html.is_browser_navigation(request.scope):
        return answer
    return html.page("You are signed out", links=[html.HOME_LINK], headers=answer.headers)


@router.get("/sessions", response_model=PageReply[schemas.SessionItem], openapi_extra=BEYOND_SPEC)
async def list_sessions(caller: Reader, conn: Reads, page: PageQuery) -> Page[schemas.SessionItem]:
    """List the account's active sessions, newest first, with support sessions; none with a test key."""
    found = await identity.list_sessions(conn, account_id=caller.account_id, page=page)
    items = [schemas.session_item(each, caller) for each in found.items]
    return Page(items=items, next_cursor=found.next_cursor)


@router.delete(
    "/sessions/{session_id}",
    response_model=schemas.SessionItem,
    responses=problems(SessionNotFound, ImpersonationForbidden),
    openapi_extra=BEYOND_SPEC,
)
async def end_session(session_id: SessionId, caller: Writer, conn: Tx) -> schemas.SessionItem:
    """End a session of the account; its token is refused within the cache time of credentials."""
    ended = await identity.end_session(
        conn, account_id=caller.account_id, session_id=session_id, actor=caller.actor
    )
    return schemas.session_item(ended, caller)


@jwks_router.get(
    "/.well-known/jwks.json", response_model=schemas.JwksReply, openapi_extra=BEYOND_SPEC, dependencies=[UNLIMITED]
)
async def list_public_keys(keyring: KeyringDep) -> ReplyWithHeaders:
    """List the public keys that verify our tokens."""
    keys = [schemas.jwk_reply(each) for each in identity.list_public_keys(keyring)]
    return ReplyWithHeaders(schemas.JwksReply(keys=keys), {"Cache-Control": f"public, max-age={JWKS_MAX_AGE_S}"})


@audit_router.get("/audit", response_model=PageReply[schemas.AuditEntryReply], openapi_extra=BEYOND_SPEC)
async def list_audit(
    caller: Reader,
    conn: Reads,
    page: PageQuery,
    action: Annotated[AuditAction | None, Query(description="Only entries of this kind.")] = None,
) -> JsonPage:
    """List the audit entries of the account, newest first; with a test key, those of the real account."""
    return await identity.list_audit(conn, account_id=caller.live_account_id, page=page, action=action)
