"""The path /mcp: one credential, one caller, one JSON-RPC message; the SDK is imported by the first request.

`transport` and what it imports stay unloaded until then: the SDK would cost each start of a process a second.
"""

import asyncio
from contextvars import Context
from dataclasses import replace
from http import HTTPStatus
from importlib import import_module
from types import TracebackType
from typing import Protocol, Self

from fastapi import FastAPI, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from builders.kit.callers import Caller
from builders.kit.errors import NOT_JSON, BadRequest, Invalid, Problem
from builders.kit.http import error_pages, internal_calls, json_bodies
from builders.kit.http.body_limits import LimitedRequest
from builders.kit.http.callers import (
    COOKIE,
    GIVEN_CALLER,
    Credential,
    CredentialsInvalid,
    CredentialsMissing,
    authenticate,
    invalid_credentials,
)
from builders.kit.http.deadline import Deadlines
from builders.kit.http.parameters import UNKNOWN_PARAMETER
from builders.kit.limits.policies import CountedPolicies, Policy, declare
from builders.kit.limits.rate_limiter import RATE_LIMITER, RateLimiter
from builders.kit.mandates import READ_ONLY

PATH = "/mcp"
METADATA_PATH = f"/.well-known/oauth-protected-resource{PATH}"  # RFC 9728
_WITH_CHALLENGE = (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN)
REQUEST_TIMEOUT_S = 45  # as of a request of the API
IN_CALL = "builders.mcp"  # key of the ASGI scope of a message: its Exchange
# Headers that the SDK reads; a tool passes on two others.
_OF_PROTOCOL = frozenset((b"accept", b"content-length", b"content-type", b"host", b"origin"))
_PASSED_ON = frozenset((b"x-request-id", b"traceparent"))
_CREDENTIALS_OF_QUERY = frozenset(("access_token", "api_key", "key", "token", "x-api-key"))
_ONE = "Send one credential: X-API-Key with a key, or Authorization: Bearer with a token of an OAuth client."
LIMIT = CountedPolicies(
    (
        declare(
            Policy(
                name="mcp",
                quota=600,
                window_s=60,
                by="key",
                counts="Requests to `/mcp`, beside the requests of the API that tools send.",
            )
        ),
    )
)


class Exchange:
    """One message: who sent it, and what its tools need to call the API."""

    def __init__(self, request: Request, credential: Credential, caller: Caller) -> None:
        self.request, self._credential = request, credential
        self.caller = caller
        self.missing_scope: str | None = None  # that the token lacks for what was called
        self.app: FastAPI = request.app
        self.receive = request.receive  # after the body: when the client disconnects
        passed_on = [each for each in request.scope["headers"] if each[0] in _PASSED_ON]
        self.scope: Scope = {
            **{name: value for name, value in request.scope.items() if name not in {"headers", "path_params"}},
            "query_string": b"",
            "headers": passed_on,
            GIVEN_CALLER: self._give,
        }

    async def _give(self, *, fresh: bool) -> Caller:
        """Return the caller, whose credential is verified again for an operation that ignores the cache."""
        if not fresh:
            return self.caller
        return bounded(await authenticate(self.request, self._credential, fresh=True))


class Transport(Protocol):
    """An MCP server as an ASGI application, while it runs."""

    app: ASGIApp

    async def __aenter__(self) -> Self:
        """Start it."""

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End it."""


class McpEndpoint:
    """The ASGI application of the path."""

    def __init__(self) -> None:
        self._deadlines = Deadlines()
        self._starting: asyncio.Task[ASGIApp] | None = None
        self._running: asyncio.Task[None] | None = None
        self._stopping = asyncio.Event()

    async def __aenter__(self) -> Self:
        """Return the object itself."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the server, if a request has started it."""
        self._stopping.set()
        if self._running is not None:
            await asyncio.wait([self._running])

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Respond to one message."""
        request = LimitedRequest(scope, receive, send)
        try:
            response = await self._deadlines.run(self._respond(request), timeout_s=REQUEST_TIMEOUT_S)
        except (Problem, Invalid) as refusal:
            if isinstance(refusal, Problem) and refusal.status in _WITH_CHALLENGE:
                error = {"error": "invalid_token"} if isinstance(refusal, CredentialsInvalid) else {}
                refusal.headers["WWW-Authenticate"] = _challenge(request, **error)
            response = error_pages.respond(scope, refusal)
        finally:
            if request.held:
                request.release()
        await response(scope, receive, send)

    async def _respond(self, request: Request) -> Response:
        credential = read_credential(request)
        caller = bounded(await authenticate(request, credential, fresh=False))
        request.scope["account_id"] = caller.account_id
        limiter: RateLimiter | None = request.scope.get(RATE_LIMITER)
        if limiter is not None:
            await limiter.spend(LIMIT, request.scope, key=caller.key_id)
        body = await request.body()
        await _require_single(request)
        app = await self._started(request.app)
        headers = [each for each in request.scope["headers"] if _is_of_protocol(each[0])]
        call = Exchange(request, credential, caller)
        inner: Scope = {**request.scope, "headers": headers, IN_CALL: call}
        status, sent, content = await internal_calls.exchange(app, inner, body, after=request.receive)
        shown = {name.decode(): value.decode("latin-1") for name, value in sent.items()}
        if call.missing_scope is not None:
            challenge = _challenge(request, error="insufficient_scope", scope=call.missing_scope)
            status, shown = HTTPStatus.FORBIDDEN, shown | {"www-authenticate": challenge}
        return Response(content, status, shown)

    async def _started(self, api: FastAPI) -> ASGIApp:
        if self._starting is None:
            # In an empty context: the current one belongs to the first request.
            self._starting = asyncio.get_running_loop().create_task(self._start(api), context=Context())
        try:
            return await asyncio.shield(self._starting)
        except Exception:
            self._starting = None
            raise

    async def _start(self, api: FastAPI) -> ASGIApp:
        loop = asyncio.get_running_loop()
        module = await asyncio.to_thread(import_module, "builders.mcp_server.server")
        transport: Transport = await asyncio.to_thread(module.make_transport, api)
        started: asyncio.Future[None] = loop.create_future()

        async def run() -> None:  # one task enters and leaves the task group of the SDK
            async with transport:
                started.set_result(None)
                await self._stopping.wait()

        self._running = loop.create_task(run())
        await asyncio.wait([self._running, started], return_when=asyncio.FIRST_COMPLETED)
        if self._running.done():
            self._running.result()
        return transport.app


def add_mcp(api: FastAPI) -> McpEndpoint:
    """Serve /mcp; the endpoint ends with the lifespan of the application."""
    endpoint = McpEndpoint()
    api.add_route(PATH, endpoint, methods=["POST"], include_in_schema=False)  # type: ignore[arg-type] # an ASGI application
    return endpoint


def bounded(caller: Caller) -> Caller:
    """Return the caller with a mandate: a key without one only reads and proposes here."""
    return caller if caller.mandate is not None else replace(caller, mandate=READ_ONLY)


def read_credential(request: Request) -> Credential:
    """Return the only credential of a request. Raise CredentialsMissing, CredentialsInvalid.

    A cookie of a session, a key in `Authorization`, a credential in the query and a second one are refused.
    """
    keys, tokens = request.headers.getlist("x-api-key"), request.headers.getlist("authorization")
    named = {name.lower() for name in request.query_params}
    if named & _CREDENTIALS_OF_QUERY or COOKIE in request.cookies:
        raise invalid_credentials(
            f"A cookie and a query are no credential of {PATH}.", next_action=_ONE, is_guess=False
        )
    if named:
        raise Invalid(("query",), f"{PATH} has no query parameters.", UNKNOWN_PARAMETER)
    if not keys and not tokens:
        raise CredentialsMissing(f"{PATH} needs credentials.", next_action=_ONE)
    if len(keys) + len(tokens) > 1:
        raise _refuse("The request has several credentials.")
    if keys:
        return Credential("api_key", keys[0].strip())
    scheme, _, token = tokens[0].partition(" ")
    if scheme.lower() != "bearer" or token.strip().startswith(("svc_live_", "svc_test_")):
        raise _refuse("The token is not one of this resource.")
    return Credential("oauth", token.strip())


def _refuse(detail: str) -> CredentialsInvalid:
    return invalid_credentials(detail, next_action=_ONE, is_guess=False)


async def _require_single(request: Request) -> None:
    """Raise BadRequest for a batch, Invalid for a member that is there twice: only one of them would count."""
    try:
        message = await json_bodies.read_json(request)
    except Invalid as refusal:
        if any(each["type"] == NOT_JSON for each in refusal.errors):
            return  # the SDK answers as JSON-RPC says
        raise
    if isinstance(message, list):
        raise BadRequest("JSON-RPC batches are not accepted: send one message.")


def _challenge(request: Request, **members: str) -> str:
    """Return the challenge that names where a client finds how to authorize (RFC 6750, 3; RFC 9728, 5.1)."""
    shown = {"resource_metadata": f"{request.app.state.settings.url}{METADATA_PATH}", **members}
    return "Bearer " + ", ".join(f'{name}="{value}"' for name, value in shown.items())


def _is_of_protocol(name: bytes) -> bool:
    return name in _OF_PROTOCOL or name.startswith(b"mcp-")
