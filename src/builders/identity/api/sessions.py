"""/v1/auth/session, /v1/auth/sessions and /v1/auth/logout."""

from typing import Annotated
from uuid import UUID

from fastapi import Path, Request, Response

from builders.identity import service as identity
from builders.identity.api import cookies
from builders.identity.errors import NoSession, SessionNotFound
from builders.identity.schemas import sessions as schemas
from builders.kit.db.connections import Reads, Tx
from builders.kit.errors import problems
from builders.kit.http import html
from builders.kit.http.bodies import ReplyWithHeaders
from builders.kit.http.callers import Caller, ImpersonationForbidden, needs
from builders.kit.http.idempotency import WITHOUT_IDEMPOTENCY
from builders.kit.http.pagination import Page, PageQuery, PageReply
from builders.kit.http.resource_ids import ResourceId
from builders.kit.http.routes import BEYOND_SPEC, Router

router = Router(prefix="/v1/auth", tags=["auth"])
SessionId = Annotated[UUID, Path(description="Identifier of the session."), ResourceId(SessionNotFound)]
Reader = Annotated[Caller, needs("account:read")]
Leaver = Annotated[Caller, needs("account:read", support=())]
Writer = Annotated[Caller, needs("account:write", support=())]


@router.get("/session", response_model=schemas.SessionReply)
async def get_session(caller: Reader, conn: Reads) -> schemas.SessionReply:
    """Who is asking: the account, the credentials that were sent, and what they may do."""
    standing = await identity.get_standing(
        conn,
        account_id=caller.live_account_id,
        key_id=caller.key_id,
        session_id=caller.session_id,
    )
    return schemas.current(standing, caller)


@router.post(
    "/logout",
    response_model=schemas.LogoutReply,
    responses=problems(NoSession),
    openapi_extra=BEYOND_SPEC,
    dependencies=[WITHOUT_IDEMPOTENCY],
)
async def log_out(
    request: Request, caller: Leaver, conn: Tx, secure: cookies.Secure
) -> ReplyWithHeaders | Response:
    """End the session that asks, and have the browser forget its cookie."""
    if caller.session_id is None:
        raise NoSession(
            "An API key, or a token of another issuer, is no session of ours.",
            next_action="Revoke a key with DELETE /v1/api-keys/{key_id}; end a foreign token where it was issued.",
        )
    await identity.log_out(conn, account_id=caller.account_id, session_id=caller.session_id, actor=caller.actor)
    return _signed_out(request, cookies.without_cookie(schemas.LogoutReply(), secure=secure))


def _signed_out(request: Request, answer: ReplyWithHeaders) -> ReplyWithHeaders | Response:
    if not html.is_browser_navigation(request.scope):
        return answer
    return html.page("You are signed out", links=[html.HOME_LINK], headers=answer.headers)


@router.get("/sessions", response_model=PageReply[schemas.SessionItem], openapi_extra=BEYOND_SPEC)
async def list_sessions(caller: Reader, conn: Reads, page: PageQuery) -> Page[schemas.SessionItem]:
    """List the account's sessions that live, support's too, newest first; with a test key there are none."""
    found = await identity.list_sessions(conn, account_id=caller.account_id, page=page)
    items = [schemas.listed(each, caller) for each in found.items]
    return Page(items=items, next_cursor=found.next_cursor)


@router.delete(
    "/sessions/{session_id}",
    response_model=schemas.SessionItem,
    responses=problems(SessionNotFound, ImpersonationForbidden),
    openapi_extra=BEYOND_SPEC,
)
async def end_session(session_id: SessionId, caller: Writer, conn: Tx) -> schemas.SessionItem:
    """End a session of the account; its token is refused everywhere within the cache time of keys."""
    ended = await identity.end_session(
        conn, account_id=caller.account_id, session_id=session_id, actor=caller.actor
    )
    return schemas.listed(ended, caller)
