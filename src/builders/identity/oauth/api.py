"""/oauth and /.well-known: what clients call; /v1/auth: what people see and decide.

The endpoints of clients follow the standards and are described there and by their metadata, so the document of the
API leaves them out.
"""

import json
from typing import Annotated, Any
from uuid import UUID

from fastapi import Depends, Path, Request, Response
from fastapi.responses import RedirectResponse

from builders.identity.api import secure
from builders.identity.errors import KeyLimit
from builders.identity.oauth import connections, schemas, tokens
from builders.identity.oauth.errors import (
    ClientUnavailable,
    ConnectionNotFound,
    RequestChanged,
    RequestInvalid,
    RequestNotFound,
)
from builders.identity.oauth.records import (
    AUTHORIZE,
    RESOURCE_METADATA,
    RESOURCE_PATH,
    REVOKE,
    SERVER_METADATA,
    TOKEN,
    Connection,
    Decided,
    OpenedRequest,
    Tokens,
    WaitingRequest,
)
from builders.identity.oauth.requests import LIFETIME, Begun, Flow
from builders.identity.records import KeyKind
from builders.kit.callers import APPROVE, Caller
from builders.kit.db.connections import Pool, Reads, Tx
from builders.kit.effects import Effect
from builders.kit.errors import problems
from builders.kit.http.callers import CALLER, LiveKeyRequired, needs
from builders.kit.http.dependencies import KeyringDep, SettingsDep
from builders.kit.http.forms import FormFields
from builders.kit.http.media_types import JSON
from builders.kit.http.origins import OriginForbidden
from builders.kit.http.pagination import Listing, PageQuery, PageReply
from builders.kit.http.parameters import ResourceId
from builders.kit.http.routes import BEYOND_SPEC, LINK, Router
from builders.kit.limits.policies import SITE_PREFIX_BITS, STOPS, Policy, declare, rate_limit
from builders.kit.limits.rate_limiter import RATE_LIMITER, RateLimiter
from builders.kit.mandates import Toolset
from builders.kit.pages import Page

router = Router(tags=["auth"])
PAGE = "/console/connect"


def _by_address(name: str, quota: int, counts: str) -> Policy:
    policy = Policy(name=name, quota=quota, window_s=600, by="address", network=SITE_PREFIX_BITS, counts=counts)
    return declare(policy)


BEGUN = _by_address("oauth_authorize", 60, "Programs that ask for a connection.")
TOKENS = _by_address("oauth_token", 600, "Requests of clients for tokens, and revocations of tokens.")
METADATA = _by_address("oauth_metadata", 600, "Requests for the metadata of OAuth.")
DOCUMENTS = declare(
    Policy(
        name="oauth_documents",
        quota=20,
        window_s=3_600,
        by="person",
        counts="Descriptions of programs that are fetched for a person.",
    )
)
RequestId = Annotated[UUID, Path(description="Identifier of the request."), ResourceId(RequestNotFound)]
ConnectionId = Annotated[UUID, Path(description="Identifier of the connection."), ResourceId(ConnectionNotFound)]
Person = Annotated[Caller, needs(APPROVE, fresh=True)]  # who has signed in lately
Reader = Annotated[Caller, needs("keys:read")]
Holder = Annotated[Caller, needs("keys:write", effect=Effect.AUTHORITY)]
_FOR_CLIENTS: dict[str, Any] = {"response_class": Response, "include_in_schema": False}
_MAX_AGE_S = 300
_SUPPORTED: dict[str, Any] = {
    "response_types_supported": ["code"],
    "response_modes_supported": ["query"],
    "grant_types_supported": ["authorization_code", "refresh_token"],
    "token_endpoint_auth_methods_supported": ["none"],
    "revocation_endpoint_auth_methods_supported": ["none"],
    "code_challenge_methods_supported": ["S256"],
    "authorization_response_iss_parameter_supported": True,
    "client_id_metadata_document_supported": True,
    "scopes_supported": list(Toolset),
}


def _cookie_name(request: Request) -> str:
    # Of the prefix, browsers take no cookie from another host of the domain (RFC 6265bis, 4.1.3.2).
    return "__Host-svc_authorize" if secure(request) else "svc_authorize"


def _flow(request: Request) -> Flow:
    state = request.app.state

    async def admit() -> None:
        caller: Caller = request.scope[CALLER]
        limits: RateLimiter | None = request.scope.get(RATE_LIMITER)
        if limits is not None:
            await limits.charge(DOCUMENTS, subject=caller.live_account_id, units=1)

    return Flow(
        database=state.database,
        keyring=state.keyring,
        documents=state.client_documents,
        url=state.settings.url,
        browser=request.cookies.get(_cookie_name(request)),
        admit=admit,
    )


RequestFlow = Annotated[Flow, Depends(_flow)]


@router.get(AUTHORIZE, dependencies=[LINK, rate_limit(BEGUN)], **_FOR_CLIENTS)
async def authorize(request: Request, flow: RequestFlow) -> Response:
    """Store the request of a client, and lead the browser to the page on which the person decides."""
    if request.headers.get("sec-fetch-dest", "document") != "document":
        raise OriginForbidden("A program opens this address in a window of the browser, not within a page.")
    return _to_page(request, await flow.begin(request.url.query))


def _to_page(request: Request, begun: Begun) -> Response:
    """Return the redirect to the page of a request, with the cookie that binds it to the browser."""
    response = RedirectResponse(f"{PAGE}/{begun.id}", 303, {"Cache-Control": "no-store"})
    suffix = "; Secure" if secure(request) else ""
    left_s = int(LIFETIME.total_seconds())
    cookie = f"{_cookie_name(request)}={begun.browser}; Max-Age={left_s}; Path=/; HttpOnly; SameSite=Lax{suffix}"
    response.headers.append("Set-Cookie", cookie)
    return response


@router.post(TOKEN, dependencies=[rate_limit(TOKENS)], **_FOR_CLIENTS)
async def issue(form: FormFields, database: Pool, keyring: KeyringDep, settings: SettingsDep) -> Response:
    """Exchange a code, or refresh tokens (RFC 6749, 4.1.3 and 6)."""
    found = await tokens.grant(database, keyring=keyring, url=settings.url, form=form)
    return _token_response(found)


def _token_response(found: Tokens) -> Response:
    body = {
        "access_token": found.access,
        "token_type": "Bearer",
        "expires_in": found.expires_in,
        "refresh_token": found.refresh,
        "scope": found.scope,
    }
    return Response(json.dumps(body), 200, {"Cache-Control": "no-store"}, JSON)


@router.post(REVOKE, dependencies=[rate_limit(TOKENS)], **_FOR_CLIENTS)
async def revoke_token(form: FormFields, database: Pool) -> Response:
    """Revoke a token of a client (RFC 7009); a refresh token with its connection."""
    await tokens.revoke(database, form=form)
    return Response(status_code=200)


@router.get(SERVER_METADATA, dependencies=[LINK, rate_limit(METADATA)], **_FOR_CLIENTS)
async def show_server(settings: SettingsDep) -> Response:
    """Describe the authorization server (RFC 8414)."""
    url = settings.url
    return _metadata(
        issuer=url,
        authorization_endpoint=f"{url}{AUTHORIZE}",
        token_endpoint=f"{url}{TOKEN}",
        revocation_endpoint=f"{url}{REVOKE}",
        service_documentation=f"{url}/guide",
        **_SUPPORTED,
    )


@router.get(RESOURCE_METADATA, dependencies=[LINK, rate_limit(METADATA)], **_FOR_CLIENTS)
async def show_resource(settings: SettingsDep) -> Response:
    """Describe what access tokens open, and who issues them (RFC 9728)."""
    return _metadata(
        resource=f"{settings.url}{RESOURCE_PATH}",
        authorization_servers=[settings.url],
        bearer_methods_supported=["header"],
        scopes_supported=list(Toolset),
        resource_name=settings.seller_name,
        resource_documentation=f"{settings.url}/guide",
    )


def _metadata(**members: Any) -> Response:  # JSON values
    return Response(json.dumps(members), 200, {"Cache-Control": f"public, max-age={_MAX_AGE_S}"}, JSON)


@router.get("/v1/auth/oauth/requests", openapi_extra=BEYOND_SPEC)
async def list_connection_requests(
    _: Annotated[Caller, needs("account:read", effect=Effect.AUTHORITY)], flow: RequestFlow
) -> Listing[WaitingRequest]:
    """List the programs that ask for a connection in this browser, and wait for a decision."""
    return Listing(items=list(await flow.list_waiting()))


@router.get(
    "/v1/auth/oauth/requests/{request_id}",
    responses=problems(RequestInvalid, ClientUnavailable),
    openapi_extra=BEYOND_SPEC,
)
async def open_connection_request(request_id: RequestId, _: Person, flow: RequestFlow) -> OpenedRequest:
    """Read which program asks for a connection in this browser; needs a person who has signed in lately.

    It fetches the program's description.
    """
    return await flow.open(request_id)


@router.post(
    "/v1/auth/oauth/requests/{request_id}/decision",
    response_model=schemas.ConnectionDecision,
    responses=problems(RequestInvalid, RequestChanged, ClientUnavailable, KeyLimit),
    openapi_extra=BEYOND_SPEC,
)
async def decide_connection(
    request_id: RequestId, body: schemas.ConnectionDecisionCreate, caller: Person, flow: RequestFlow
) -> Decided:
    """Connect a program with a mandate, or refuse; needs a person who has signed in lately.

    The browser takes the answer to the program. The account and its deciders get an email.
    """
    return await flow.decide(
        request_id,
        account_id=caller.account_id,
        actor=caller.actor,
        client_digest=body.client_digest,
        terms=body.terms(),
    )


@router.get("/v1/auth/connections", response_model=PageReply[Connection], openapi_extra=BEYOND_SPEC)
async def list_connections(caller: Reader, conn: Reads, page: PageQuery) -> Page[Connection]:
    """List the programs that people have connected to the account, newest first."""
    return await connections.list_connections(conn, account_id=caller.live_account_id, page=page)


@router.delete(
    "/v1/auth/connections/{connection_id}",
    responses=problems(LiveKeyRequired),
    openapi_extra=BEYOND_SPEC,
    dependencies=[STOPS],
)
async def revoke_connection(connection_id: ConnectionId, caller: Holder, conn: Tx) -> Connection:
    """Revoke a connection with its tokens; every process refuses them within a second."""
    return await connections.revoke(
        conn,
        account_id=caller.live_account_id,
        connection_id=connection_id,
        revoked_by=KeyKind(caller.mode),
        actor=caller.actor,
    )
