"""/v1/api-keys, /v1/auth, /v1/account/audit and /.well-known/jwks.json.

The operations of a login are for programs, and as pages for people. Opening an emailed link does not sign in,
because mail scanners also open links. The button of its page does.
"""

from datetime import timedelta
from typing import Annotated, Any
from uuid import UUID

from fastapi import Depends, Path, Query, Request, Response

from builders.identity import (
    access_tokens,
    accounts,
    issuer_sign_in,
    keys,
    leaks,
    schemas,
    scopes,
    sessions,
    sign_in_pages,
    sign_up,
    unused_scopes,
)
from builders.identity.errors import (
    GrantInvalid,
    IssuerSignInRefused,
    KeyLimit,
    KeyLimited,
    KeyNotFound,
    KeyRevoked,
    NoSession,
    SessionNotFound,
)
from builders.identity.records import (
    ApiKey,
    AuditAction,
    Client,
    KeyKind,
    LeakReport,
    ListedKey,
    MailedLink,
    NewApiKey,
    NewSession,
    Principal,
    Scope,
    Session,
)
from builders.kit.callers import Caller, FreshSignInRequired, PersonRequired, require_person
from builders.kit.db.connections import Pool, Reads, Tx
from builders.kit.effects import Effect
from builders.kit.errors import RotationInProgress, TokenInvalid, problems
from builders.kit.http import forms, html
from builders.kit.http.bodies import ReplyWithHeaders
from builders.kit.http.callers import IssuerUnavailable, LiveKeyRequired, needs
from builders.kit.http.dependencies import OPTIONAL_CREDENTIALS, KeyringDep, SettingsDep, client_address
from builders.kit.http.idempotency import WITHOUT_IDEMPOTENCY
from builders.kit.http.json_bodies import ALSO_JSON
from builders.kit.http.origins import OriginForbidden, require_own_origin
from builders.kit.http.pagination import JsonPage, Listing, PageQuery, PageReply
from builders.kit.http.parameters import ResourceId
from builders.kit.http.routes import BEYOND_SPEC, LINK, Router
from builders.kit.limits.policies import SITE_PREFIX_BITS, STOPS, UNLIMITED, Policy, declare, rate_limit
from builders.kit.pages import Page
from builders.kit.process.settings import Settings
from builders.kit.values import clock

keys_router = Router(prefix="/v1/api-keys", tags=["api-keys"])
router = Router(prefix="/v1/auth", tags=["auth"])
jwks_router = Router(tags=["auth"])
audit_router = Router(prefix="/v1/account", tags=["account"])
login_router = Router(prefix="/v1/auth", tags=["auth"])
KeyId = Annotated[UUID, Path(description="Identifier of the API key; not the secret."), ResourceId(KeyNotFound)]
KeyReader = Annotated[Caller, needs("keys:read")]
Minter = Annotated[Caller, needs("keys:write", effect=Effect.AUTHORITY, fresh=True)]
MINT = declare(Policy(name="mint", quota=30, window_s=600, by="account", counts="New and rotated API keys."))
STOP: dict[str, Any] = {"openapi_extra": BEYOND_SPEC, "dependencies": [STOPS]}
# A link to the rotation of the new key (OpenAPI 3.1, "Link Object").
ROTATION: dict[int | str, dict[str, Any]] = {
    200: {"links": {"rotate": {"operationId": "api_keys_rotate", "parameters": {"key_id": "$response.body#/id"}}}}
}


@keys_router.post(
    "",
    response_model=schemas.ApiKeyCreated,
    responses={**problems(LiveKeyRequired, KeyLimit, KeyLimited), **ROTATION},
    dependencies=[rate_limit(MINT)],
)
async def create(body: schemas.ApiKeyCreate, caller: Minter, conn: Tx) -> NewApiKey:
    """Mint an API key. Only this response contains the secret."""
    account_id, kind = caller.live_account_id, KeyKind(caller.mode)
    return await keys.create_key(conn, account_id=account_id, minted_by=kind, actor=caller.actor, **body.values())


@keys_router.get("/scopes", dependencies=[needs("keys:read")])
async def list_scopes() -> Listing[Scope]:
    """List every scope and the presets that hold it."""
    return Listing(items=scopes.CATALOG)


@keys_router.get("", response_model=PageReply[ListedKey], openapi_extra=BEYOND_SPEC)
async def list_keys(caller: KeyReader, conn: Reads, page: PageQuery) -> JsonPage:
    """List the account's API keys, newest first."""
    return await keys.list_keys(conn, account_id=caller.live_account_id, page=page)


@keys_router.get("/{key_id}", openapi_extra=BEYOND_SPEC)
async def get(key_id: KeyId, caller: KeyReader, conn: Reads) -> ApiKey:
    """Read one API key."""
    return unused_scopes.shown(await keys.get_key(conn, account_id=caller.live_account_id, key_id=key_id))


@keys_router.delete("", responses=problems(PersonRequired), **STOP)
async def revoke_all(caller: Minter, conn: Tx) -> Listing[ApiKey]:
    """Stop all machines: revoke all keys and connections, live and test, as a person who has signed in.

    Promotions that wait for an approval end, and no key starts one after the answer. `items` are the keys that
    worked until then. Every process refuses them within a second.
    """
    require_person(caller.actor, account_id=caller.live_account_id)
    revoked = await keys.revoke_all(conn, account_id=caller.live_account_id, actor=caller.actor)
    return Listing(items=list(revoked))


@keys_router.delete("/{key_id}", responses=problems(LiveKeyRequired), **STOP)
async def revoke(key_id: KeyId, caller: Minter, conn: Tx) -> ApiKey:
    """Revoke an API key; every process refuses it within a second."""
    return await keys.revoke_key(
        conn, account_id=caller.live_account_id, key_id=key_id, revoked_by=KeyKind(caller.mode), actor=caller.actor
    )


@keys_router.post(
    "/{key_id}/rotate",
    response_model=schemas.ApiKeyCreated,
    responses=problems(KeyRevoked, RotationInProgress, KeyLimit, KeyLimited, LiveKeyRequired),
    openapi_extra=BEYOND_SPEC,
    dependencies=[rate_limit(MINT)],
)
async def rotate(key_id: KeyId, caller: Minter, conn: Tx, body: schemas.ApiKeyRotate | None = None) -> NewApiKey:
    """Replace an API key; the old key works until the end of the overlap."""
    return await keys.rotate_key(
        conn,
        account_id=caller.live_account_id,
        key_id=key_id,
        overlap=timedelta(hours=(body or schemas.ApiKeyRotate()).overlap_hours),
        rotated_by=KeyKind(caller.mode),
        actor=caller.actor,
    )


@keys_router.post("/{key_id}/remove-scopes", responses=problems(PersonRequired), openapi_extra=BEYOND_SPEC)
async def remove_scopes(key_id: KeyId, body: schemas.ScopesRemove, caller: Minter, conn: Tx) -> ApiKey:
    """Take scopes away from an API key or a connection for ever, as a person who has signed in."""
    account_id, actor = caller.live_account_id, caller.actor
    return await unused_scopes.remove(conn, account_id=account_id, key_id=key_id, removed=body.scopes, actor=actor)


@keys_router.post("/{key_id}/enable", responses=problems(PersonRequired), openapi_extra=BEYOND_SPEC)
async def enable(key_id: KeyId, caller: Minter, conn: Tx) -> ApiKey:
    """Enable an API key that a restore disabled."""
    return await keys.enable_key(conn, account_id=caller.live_account_id, key_id=key_id, actor=caller.actor)


def _by_address(name: str, quota: int, counts: str) -> Policy:
    """Declare a limit per client address; each email address has its own as well (builders.identity.sessions)."""
    policy = Policy(name=name, quota=quota, window_s=600, by="address", network=SITE_PREFIX_BITS, counts=counts)
    return declare(policy)


LOGIN = _by_address("login", 10, "Requests for codes and links.")
REDEEM = _by_address("login_redeem", 20, "Attempts to redeem codes and links.")
LOGIN_AS = _by_address("login_as", 10, "Attempts to redeem login-as grants.")
LEAKS = _by_address("leaked_keys", 60, "Reports about leaked keys.")


def login_client(request: Request) -> Client:
    """Return the client. Raise OriginForbidden for a request that another site made the browser send.

    Such a site could sign its visitor in to the attacker's account, and then read the visitor's actions.
    """
    require_own_origin(request, allow_missing_origin=True)
    return Client(address=client_address(request), user_agent=request.headers.get("user-agent"))


def secure(request: Request) -> bool:
    """Return whether clients reach the service with TLS, so that the cookie can be limited to it."""
    settings: Settings = request.app.state.settings
    return request.url.scheme == "https" or settings.url.startswith("https://")


LoginClient = Annotated[Client, Depends(login_client)]
Secure = Annotated[bool, Depends(secure)]


def _issuer_flow(request: Request) -> issuer_sign_in.Flow:
    state = request.app.state
    return issuer_sign_in.Flow(
        database=state.database, issuers=state.issuers, keyring=state.keyring, settings=state.settings
    )


def _issuer_response(
    state: Annotated[str, Query(description="The state of the sign-in, from the issuer.")] = "",
    code: Annotated[str, Query(description="The code of the issuer.")] = "",
    error: Annotated[str, Query(description="Why the issuer refused.")] = "",
    iss: Annotated[str | None, Query(description="The issuer (RFC 9207).")] = None,
) -> issuer_sign_in.Response:
    return issuer_sign_in.Response(state=state, code=code, error=error, issuer=iss)


IssuerFlow = Annotated[issuer_sign_in.Flow, Depends(_issuer_flow)]
IssuerResponse = Annotated[issuer_sign_in.Response, Depends(_issuer_response)]


SessionId = Annotated[UUID, Path(description="Identifier of the session."), ResourceId(SessionNotFound)]
Reader = Annotated[Caller, needs("account:read")]
SessionOwner = Annotated[Caller, needs("account:read", effect=Effect.AUTHORITY, support=())]
Writer = Annotated[Caller, needs("account:write", effect=Effect.AUTHORITY, support=())]
JWKS_MAX_AGE_S = 300


@router.post("/leaked-keys", openapi_extra=BEYOND_SPEC, dependencies=[rate_limit(LEAKS), WITHOUT_IDEMPOTENCY])
async def report_leaked_key(body: schemas.LeakedKey, conn: Tx) -> LeakReport:
    """Revoke an API key that you found, whoever it belongs to. Its account gets an email.

    A repeated report changes nothing. Every process refuses the key within a second.
    """
    return await leaks.revoke_leaked(conn, text=body.key)


@router.get("/session")
async def get_session(caller: Reader, conn: Reads) -> schemas.SessionReply:
    """Read the session: the account, the credentials of the request, and their scopes."""
    return schemas.session_reply(await sessions.get_principal(conn, caller=caller), caller)


@router.post(
    "/logout",
    response_model=schemas.LogoutReply,
    responses=problems(NoSession),
    openapi_extra=BEYOND_SPEC,
    dependencies=[WITHOUT_IDEMPOTENCY, STOPS],
)
async def log_out(request: Request, caller: SessionOwner, conn: Tx, secure: Secure) -> ReplyWithHeaders | Response:
    """End the session of the request, and delete its cookie."""
    if caller.session_id is None:
        raise NoSession
    await sessions.log_out(conn, account_id=caller.account_id, session_id=caller.session_id, actor=caller.actor)
    answer = sign_in_pages.with_cookie(schemas.LogoutReply(), token="", expires_at=clock.now(), secure=secure)
    if not html.is_browser_navigation(request.scope):
        return answer
    return html.page("You are signed out", links=[html.HOME_LINK], headers=answer.headers)


@router.get("/sessions", response_model=PageReply[Session], openapi_extra=BEYOND_SPEC)
async def list_sessions(caller: Reader, conn: Reads, page: PageQuery) -> Page[Session]:
    """List the account's active sessions, newest first, with support sessions; none with a test key."""
    return await sessions.list_sessions(conn, account_id=caller.account_id, page=page)


@router.delete("/sessions/{session_id}", responses=problems(PersonRequired, FreshSignInRequired), **STOP)
async def end_session(session_id: SessionId, caller: Writer, conn: Tx) -> Session:
    """End a session of the account; every process refuses its token within a second.

    While plans of the account need an approval, only a person who has signed in lately ends another session.
    """
    return await sessions.end_session(
        conn, account_id=caller.account_id, session_id=session_id, actor=caller.actor
    )


@jwks_router.get(
    "/.well-known/jwks.json", response_model=schemas.JwksReply, openapi_extra=BEYOND_SPEC, dependencies=[UNLIMITED]
)
async def list_public_keys(keyring: KeyringDep) -> ReplyWithHeaders:
    """List the public keys that verify our tokens."""
    found = [schemas.JwkReply(kid=kid, x=x) for kid, x in access_tokens.list_public_keys(keyring).items()]
    return ReplyWithHeaders(schemas.JwksReply(keys=found), {"Cache-Control": f"public, max-age={JWKS_MAX_AGE_S}"})


@audit_router.get("/audit", response_model=PageReply[schemas.AuditEntryReply], openapi_extra=BEYOND_SPEC)
async def list_audit(
    caller: Reader,
    conn: Reads,
    page: PageQuery,
    action: Annotated[AuditAction | None, Query(description="Only entries of this kind.")] = None,
) -> JsonPage:
    """List the audit entries of the account, newest first; with a test key, those of the real account."""
    return await accounts.list_audit(conn, account_id=caller.live_account_id, page=page, action=action)


def _signed_in_answer(new: NewSession, *, secure: bool) -> ReplyWithHeaders:
    """Return the reply of GET /v1/auth/session, with the cookie."""
    principal = Principal(account=new.account, session=new.session)
    session = schemas.session_reply(principal, sessions.caller_of(new.session, method="cookie"))
    reply = schemas.SignedInReply.from_record(session)
    return sign_in_pages.with_cookie(reply, token=new.token, expires_at=new.session.expires_at, secure=secure)


@login_router.post(
    "/login",
    response_model=schemas.LoginReply,
    responses=problems(OriginForbidden),
    openapi_extra={**BEYOND_SPEC, ALSO_JSON: [forms.MEDIA_TYPE]},
    dependencies=[rate_limit(LOGIN)],
)
async def request_login(
    request: Request, body: schemas.LoginRequest, client: LoginClient, conn: Tx
) -> schemas.LoginReply | Response:
    """Send a one-time code and a link to an email address; the response is the same without an account.

    The body is JSON; a browser sends a form and gets the page (`text/html`) with the form for the code.
    """
    await sessions.request_code(conn, email=body.email, client=client, return_to=body.return_to)
    if html.is_browser_navigation(request.scope):
        needs_work = await sign_up.is_busy(conn)
        return sign_in_pages.code_page(body.email, return_to=body.return_to, needs_work=needs_work)
    return schemas.LoginReply(expires_in_s=int(sessions.CODE_LIFETIME.total_seconds()))


@login_router.post("/login/work", include_in_schema=False, dependencies=[rate_limit(LOGIN), WITHOUT_IDEMPOTENCY])
async def request_login_with_work(form: forms.FormFields, client: LoginClient, conn: Tx) -> Response:
    """Send a one-time code, also to a new address while many are new, for the work that the browser has proved."""
    email = sign_in_pages.parse_address(form)
    is_proved = sign_up.is_proof(form.get("work", ""), email=email)
    back = forms.local_path(form.get("return_to"))
    await sessions.request_code(conn, email=email, client=client, return_to=back, is_proved=is_proved)
    alert = None if is_proved else "Your browser has proved no work, or too late."
    return sign_in_pages.code_page(email, return_to=back, alert=alert, needs_work=not is_proved)


@login_router.post(
    "/login/redeem",
    response_model=schemas.SignedInReply,
    responses=problems(TokenInvalid, OriginForbidden),
    openapi_extra=BEYOND_SPEC,
    dependencies=[rate_limit(REDEEM)],
)
async def redeem_login(
    body: schemas.LoginRedeem,
    client: LoginClient,
    database: Pool,
    keyring: KeyringDep,
    settings: SettingsDep,
    secure: Secure,
) -> ReplyWithHeaders:
    """Sign in with the emailed code or the token of the link; sets the cookie."""
    new = await sessions.sign_in(database, keyring=keyring, settings=settings, proof=body.proof(), client=client)
    return _signed_in_answer(new, secure=secure)


@login_router.post(
    "/login-as",
    response_model=schemas.SignedInReply,
    responses=problems(GrantInvalid, OriginForbidden),
    dependencies=[rate_limit(LOGIN_AS), OPTIONAL_CREDENTIALS],
)
async def login_as(
    body: schemas.LoginAsRedeemRequest,
    client: LoginClient,
    conn: Tx,
    keyring: KeyringDep,
    settings: SettingsDep,
    secure: Secure,
) -> ReplyWithHeaders:
    """Redeem a login-as grant once: support signs in as the account for an hour; sets the cookie."""
    new = await sessions.redeem_grant(conn, keyring=keyring, settings=settings, text=body.grant, client=client)
    return _signed_in_answer(new, secure=secure)


_SIGNED_IN: dict[int | str, dict[str, Any]] = {
    303: {
        "description": "A browser is redirected to `return_to` or to the console.",
        "headers": {"Location": {"schema": {"type": "string"}}},
    }
}
_FORM = forms.form_body(
    {
        "type": "object",
        "description": "The token of the link, or the code with the email address it was sent to.",
        "anyOf": [{"required": ["token"]}, {"required": ["email", "code"]}],
        "properties": {
            "token": {"type": "string", "minLength": 1},
            "email": {"type": "string", "minLength": 3},
            "code": {"type": "string", "minLength": 1},
            "return_to": {"type": "string", "description": "A path of this service."},
        },
        "examples": [{"token": "d2VsbC10aGlzLWlzLW9ubHktYW4tZXhhbXBsZS10b2tlbg"}],
    }
)
_TOKEN = Query(
    min_length=8, max_length=200, description="Token of the emailed link; without it, the response is the form."
)
_RETURN_TO = Query(description="The path to open after signing in; a path of another site is ignored.")


@login_router.get(
    "/login",
    response_class=Response,
    responses={**problems(TokenInvalid), **html.PAGE},
    openapi_extra=BEYOND_SPEC,
    dependencies=[LINK],
)
async def show_login(
    request: Request,
    conn: Reads,
    keyring: KeyringDep,
    token: Annotated[str | None, _TOKEN] = None,
    return_to: Annotated[str | None, _RETURN_TO] = None,
) -> Response:
    """Show the sign-in form, or with `token` the page of an emailed link, whose button signs in."""
    back = sign_in_pages.target_of(return_to, is_mailed=token is not None)
    if token is None:
        return sign_in_pages.address_page(request, back)
    try:
        address = await sessions.get_link_address(conn, keyring=keyring, token=token)
    except TokenInvalid as refusal:
        return sign_in_pages.refusal_page(request, refusal, back)
    return sign_in_pages.link_page(address, token=token, return_to=back)


@login_router.post(
    "/login/page",
    response_class=Response,
    responses={**problems(TokenInvalid, OriginForbidden), **html.PAGE, **_SIGNED_IN},
    openapi_extra={**BEYOND_SPEC, **_FORM},
    dependencies=[rate_limit(REDEEM)],
)
async def redeem_page(
    request: Request,
    form: forms.FormFields,
    database: Pool,
    keyring: KeyringDep,
    settings: SettingsDep,
    secure: Secure,
) -> Response:
    """Sign in with the form of a page: the token of a link, or a code with its email address; sets the cookie."""
    proof = sign_in_pages.parse_proof(form)
    back = sign_in_pages.target_of(form.get("return_to"), is_mailed=isinstance(proof, MailedLink))
    try:
        client = login_client(request)
        new = await sessions.sign_in(database, keyring=keyring, settings=settings, proof=proof, client=client)
    except (TokenInvalid, OriginForbidden) as refusal:
        return sign_in_pages.refusal_page(request, refusal, back, proof)
    return sign_in_pages.signed_in_page(request, new, return_to=back, secure=secure)


ISSUER_REFUSALS = problems(IssuerSignInRefused, IssuerUnavailable, OriginForbidden)
_AT_ISSUER: dict[int | str, dict[str, Any]] = {
    303: {"description": "The browser opens the issuer.", "headers": {"Location": {"schema": {"type": "string"}}}}
}


@login_router.get(
    "/login/issuer",
    response_class=Response,
    responses={**ISSUER_REFUSALS, **html.PAGE, **_AT_ISSUER},
    openapi_extra=BEYOND_SPEC,
    dependencies=[rate_limit(LOGIN)],
)
async def begin_at_issuer(
    request: Request,
    flow: IssuerFlow,
    secure: Secure,
    issuer: Annotated[str, Query(description="An issuer of the sign-in page.")],
    return_to: Annotated[str | None, _RETURN_TO] = None,
) -> Response:
    """Begin a sign-in at another issuer; redirects a browser there."""
    back = forms.local_path(return_to)
    try:
        require_own_origin(request, allow_missing_origin=True)
        begun = await flow.begin(issuer, return_to=back)
    except (IssuerSignInRefused, IssuerUnavailable, OriginForbidden) as refusal:
        return sign_in_pages.issuer_refusal_page(request, refusal, back)
    return sign_in_pages.issuer_redirect(request, begun, secure=secure)


@login_router.get(
    "/login/callback",
    response_class=Response,
    responses={**problems(IssuerSignInRefused, IssuerUnavailable), **html.PAGE, **_SIGNED_IN},
    openapi_extra=BEYOND_SPEC,
    dependencies=[LINK, rate_limit(REDEEM)],
)
async def finish_at_issuer(request: Request, flow: IssuerFlow, secure: Secure, answer: IssuerResponse) -> Response:
    """End a sign-in at another issuer, which sends the browser here; sets the cookie."""
    client, back = Client(address=client_address(request), user_agent=request.headers.get("user-agent")), None
    try:
        pending = flow.match(sign_in_pages.read_pending(request, secure=secure), answer)
        back = pending.return_to
        new = await flow.finish(pending, answer, client=client)
    except (IssuerSignInRefused, IssuerUnavailable) as refusal:
        return sign_in_pages.issuer_refusal_page(request, refusal, back)
    return sign_in_pages.signed_in_at_issuer(request, new, return_to=back, secure=secure)
