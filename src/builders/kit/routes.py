"""Routes that cost little: FastAPI's interface, without its walk and its dependency solver.

A `Router` is an APIRouter whose routes compile their handler: the caller and the connection are supplied
directly, declared parameters go through FastAPI's own parsers, and the signature still feeds OpenAPI. `Front`
(kit/front.py) finds the route in a path table. tests/kit/test_routes.py holds both against plain FastAPI (decision
0006).
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Coroutine, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from functools import cached_property
from inspect import isasyncgenfunction, iscoroutinefunction, isfunction, isgeneratorfunction
from typing import Any, NamedTuple, TypeGuard

from fastapi import APIRouter, Request, Response
from fastapi.dependencies.models import Dependant
from fastapi.dependencies.utils import request_body_to_args
from fastapi.routing import APIRoute
from pydantic import TypeAdapter, ValidationError
from starlette.types import Receive, Scope, Send

from builders.kit import bodies, callers, db, idempotency, limits
from builders.kit.allowances import LIMITS, Limits
from builders.kit.callers import Caller, Needs
from builders.kit.errors import UNAVAILABLE, BodyTooLarge, Invalid, Problem, problems
from builders.kit.limits import Terms
from builders.kit.pages import JsonPage
from builders.kit.parameters import Parameters, Values
from builders.kit.patience import Patience

LARGE_BODY = 64 * 1024  # bytes
LONGEST_S = 45  # of a request, its body included; shorter than idempotency.ABANDONED
_patience = Patience()


_CONNECTIONS: dict[Any, Callable[[db.Database], AbstractAsyncContextManager[db.Conn]]] = {
    db.transaction: db.Database.transaction,
    db.reading: db.Database.reading,
}


def _no_connection(_: db.Database) -> AbstractAsyncContextManager[None]:
    return nullcontext()


class Route(APIRoute):
    """A route with a compiled handler."""

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:  # APIRoute's options
        super().__init__(path, endpoint, **options)
        self.summary = self.summary or _first_sentence(self.description)
        self.needs = self.compiled.needs
        if self.compiled.has_body:
            self.responses = _joined(problems(BodyTooLarge), self.responses)
        if self.needs is not None or self.compiled.asks_database:
            self.responses = _joined(UNAVAILABLE, self.responses)
        if self.compiled.terms is not None:
            self.openapi_extra = {**self.compiled.terms.described, **(self.openapi_extra or {})}
            self.responses = _joined(limits.refusals(), self.responses)
        if self.needs is not None:
            self.openapi_extra = {"x-scope": self.needs.scope, **(self.openapi_extra or {})}
            if self.compiled.repeatable:
                self.openapi_extra["parameters"] = [idempotency.PARAMETER]
            refusals = problems(
                callers.CredentialsMissing,
                callers.CredentialsInvalid,
                callers.InsufficientScope,
                callers.ImpersonationForbidden,
                callers.OriginForbidden,
                callers.IssuerAway,
            )
            self.responses = _joined(refusals, self.responses)

    @cached_property
    def compiled(self) -> "Compiled":
        """The handler, compiled once."""
        return Compiled(self)

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """What FastAPI runs when a request reaches it past the front: the same."""
        return self.compiled.answer


def _joined(
    first: Mapping[int | str, dict[str, Any]], second: Mapping[int | str, dict[str, Any]]
) -> dict[int | str, dict[str, Any]]:
    joined = {**first, **second}
    for status in first.keys() & second.keys():
        described = f"{first[status]['description']}; {second[status]['description']}"
        joined[status] = {**second[status], "description": described}
    return joined


def _first_sentence(docstring: str) -> str:
    return " ".join(docstring.split()).partition(". ")[0].removesuffix(".")


class Router(APIRouter):
    """An APIRouter of compiled routes."""

    def __init__(self, *, tags: list[str], prefix: str = "") -> None:
        super().__init__(
            prefix=prefix,
            tags=list(tags),
            route_class=Route,
            redirect_slashes=False,
            generate_unique_id_function=lambda route: f"{tags[0].replace('-', '_')}_{route.name}",
        )


class _Solved(NamedTuple):
    """A dependency that is no caller and no connection."""

    name: str
    call: Callable[..., Any]
    parameters: Parameters
    request_name: str | None
    is_async: bool


class Compiled:
    """An ASGI endpoint made from a route, once, at import."""

    def __init__(self, route: Route) -> None:
        dependant = route.dependant
        if dependant.call is None or not iscoroutinefunction(dependant.call):
            raise TypeError(f"{route.path}: a handler is an async function")
        _refuse_unknown(route, dependant)
        self.call: Callable[..., Awaitable[Any]] = dependant.call
        self.needs = next((each.call for each in dependant.dependencies if isinstance(each.call, Needs)), None)
        self.caller_name = self.conn_name = ""
        self.connect: Callable[[db.Database], AbstractAsyncContextManager[Any]] = _no_connection
        self.solved: list[_Solved] = []
        marks = [each.call for each in dependant.dependencies if isinstance(each.call, limits.Within)]
        is_kept = all(each.call is not idempotency.every_time for each in dependant.dependencies)
        for each in dependant.dependencies:
            if each.call not in marks and each.call is not idempotency.every_time:
                self._supply(route, each)
        try:
            self.terms = limits.terms_of(marks, has_caller=self.needs is not None)
        except ValueError as error:
            raise TypeError(f"{route.path}: {error}") from error
        self.asks_database = bool(self.conn_name) or any(call is db.database for _, call, *_ in self.solved)
        self.parameters = Parameters(dependant)
        self.request_name = dependant.request_param_name
        self.body_fields = dependant.body_params
        self.has_body = route.body_field is not None
        # Media types that the document promises besides JSON are JSON under another name.
        self.also: Collection[str] = tuple((route.openapi_extra or {}).get("requestBody", {}).get("content", ()))
        self.embed = route._embed_body_fields  # noqa: SLF001 - FastAPI keeps how a body is wrapped only here
        self.whole = self.body_fields[0] if len(self.body_fields) == 1 and not self.embed else None
        self.reply = None if route.response_field is None else TypeAdapter[Any](route.response_model)
        self.model = route.response_model
        self.status = route.status_code or 200
        self.repeatable = is_kept and self.needs is not None and "POST" in (route.methods or ())

    def _supply(self, route: Route, dependency: Dependant) -> None:
        name, call = dependency.name, dependency.call
        if name is not None and call is self.needs and not self.caller_name:
            self.caller_name = name
        elif name is not None and call in _CONNECTIONS and not self.conn_name:
            self.connect, self.conn_name = _CONNECTIONS[call], name
        elif name is None or not _plain(call) or dependency.dependencies or dependency.body_params:
            raise TypeError(f"{route.path}: the dependency {name or call} cannot be compiled")
        else:
            _refuse_unknown(route, dependency)
            is_async = iscoroutinefunction(call)  # asked once: to ask for each request takes 3 µs
            self.solved.append(
                _Solved(name, call, Parameters(dependency), dependency.request_param_name, is_async)
            )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers one request."""
        response = await self.answer(bodies.Incoming(scope, receive, send))
        await response(scope, receive, send)

    async def answer(self, request: Request) -> Response:
        """The answer, or the refusal; in bounded time, though the client or the database hangs."""
        try:
            return await _patience.run(self.respond(request), longest_s=LONGEST_S)
        except (Problem, Invalid) as refusal:
            return refusal.response()

    async def respond(self, request: Request) -> Response:
        """Authenticates, reads the request, and runs the handler; commits before it returns."""
        values: Values = {}
        caller: Caller | None = None
        if self.needs is not None:
            caller = await self.needs.caller(request)
            values[self.caller_name] = caller
        if self.terms is not None:
            await _spend(self.terms, request, caller)
        if self.needs is not None and caller is not None:
            await self.needs.judge(caller, request)
        body = await bodies.read(request, also=self.also) if self.has_body else None
        await self._read(request, body, values)
        if self.request_name:
            values[self.request_name] = request
        database: db.Database = request.app.state.database
        if caller is not None and self.repeatable:
            claim = await idempotency.claim(request, database, account_id=caller.account_id, body=body)
            if claim is not None:
                return await claim.run(lambda: self._run(database, values, claim), database)
        return await self._run(database, values, None)

    async def _run(self, database: db.Database, values: Values, claim: idempotency.Claim | None) -> Response:
        if not self.conn_name and claim is None:
            return self._answer(await self.call(**values), values)[0]
        async with self.connect(database) as conn:
            if self.conn_name:
                values[self.conn_name] = conn
            response, stored = self._answer(await self.call(**values), values)
            if claim is not None and self.connect is db.Database.transaction:
                await claim.finish(conn, status=response.status_code, body=stored)
        if claim is not None and self.connect is not db.Database.transaction:
            async with database.reading() as conn:
                await claim.finish(conn, status=response.status_code, body=stored)
        return response

    async def _read(self, request: Request, body: Any, values: Values) -> None:
        errors: list[Any] = []
        for name, call, parameters, request_name, is_async in self.solved:
            arguments: Values = {request_name: request} if request_name else {}
            found = parameters.read(request, arguments) if parameters.are_any else ()
            errors += found
            if not found:
                values[name] = await call(**arguments) if is_async else call(**arguments)
        errors += self.parameters.read(request, values)
        if self.body_fields:
            # A large body can take seconds to judge; in a thread they are nobody else's seconds.
            is_large = len(await request.body()) > LARGE_BODY
            if self.whole is not None and not is_large and isinstance(body, dict):  # as mostly
                values[self.whole.name], wrong = self.whole.validate(body, loc=("body",))
                errors += wrong
            else:
                judging = request_body_to_args(self.body_fields, body, self.embed)
                found_values, found = await (asyncio.to_thread(asyncio.run, judging) if is_large else judging)
                values.update(found_values)
                errors += found
        if errors:
            raise Invalid.many(errors)

    def _answer(self, result: Any, values: Values) -> tuple[Response, bytes]:
        """The response, and its body as it may be kept for a replay: without secrets."""
        headers: Mapping[str, str] = {}
        if isinstance(result, bodies.Answer):
            result, headers = result.reply, result.headers
        if isinstance(result, Response):
            return result, bytes(result.body) if hasattr(result, "body") else b""
        if isinstance(result, JsonPage):
            text = result.json()
            return bodies.WrittenJson(text, self.status), text
        if self.reply is None:
            if result is not None or self.status not in _EMPTY:
                raise TypeError(f"{self.call.__name__} has no reply model for what it answered")
            return Response(status_code=self.status), b""
        try:
            is_meant = type(result) is self.model  # then it was judged when it was made
            value = result if is_meant else self.reply.validator.validate_python(result, from_attributes=True)
        except ValidationError as error:
            raise TypeError(f"{self.call.__name__} answered what its reply does not allow") from error
        bodies.warn(value, *(values[field.name] for field in self.body_fields))
        text = self.reply.serializer.to_json(value, by_alias=True)
        once = value.shown_once if isinstance(value, bodies.Reply) else ()
        stored = self.reply.serializer.to_json(value, by_alias=True, exclude=_excluded(once)) if once else text
        return bodies.WrittenJson(text, self.status, headers), stored


def _excluded(once: Collection[str] | Mapping[str, Any]) -> set[str] | dict[str, Any]:
    return dict(once) if isinstance(once, Mapping) else set(once)


async def _spend(terms: Terms, request: Request, caller: Caller | None) -> None:
    """Counts the request, before anything is read or claimed. Raises RateLimited."""
    scope = request.scope
    kept: Limits | None = scope.get(LIMITS)
    if kept is None:
        return
    account = None if caller is None else caller.live_account_id
    key = None if caller is None else caller.key_id or caller.session_id or account
    if not kept.spend_known(terms, scope, key=key, account=account):
        await kept.spend(terms, scope, key=key, account=account)


_EMPTY = {204, 205}  # answers without a body
# What FastAPI would inject and a compiled handler does not get.
_UNKNOWN = ("response", "background_tasks", "security_scopes", "http_connection", "websocket")


def _refuse_unknown(route: Route, dependant: Dependant) -> None:
    for what in _UNKNOWN:
        if getattr(dependant, f"{what}_param_name"):
            raise TypeError(f"{route.path}: the parameter for {what} cannot be compiled")


def _plain(call: object) -> TypeGuard[Callable[..., Any]]:
    return isfunction(call) and not isgeneratorfunction(call) and not isasyncgenfunction(call)
