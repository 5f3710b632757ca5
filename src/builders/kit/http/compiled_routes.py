"""A handler compiled from its route: it runs without FastAPI's dependency solver.

FastAPI's own parsers read declared parameters and bodies, and the signature still feeds the OpenAPI document
(kit/http/routes.py). tests/kit/http/test_routes.py compares the result with plain FastAPI (decision 0006).
"""

import asyncio
import dataclasses
from collections.abc import Awaitable, Callable, Collection, Hashable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext, suppress
from functools import partial
from http import HTTPStatus
from inspect import isasyncgenfunction, iscoroutinefunction, isfunction, isgeneratorfunction
from typing import Any, NamedTuple, TypeVar

from fastapi import Request, Response
from fastapi.dependencies.models import Dependant
from fastapi.dependencies.utils import request_body_to_args
from fastapi.routing import APIRoute
from pydantic import TypeAdapter, ValidationError
from starlette.types import Receive, Scope, Send

from builders.kit.callers import Caller
from builders.kit.db import connections
from builders.kit.db.restores import Known
from builders.kit.effects import Effect
from builders.kit.errors import Invalid, Problem, RequestTimeout
from builders.kit.http import (
    bodies,
    error_pages,
    forms,
    idempotency,
    json_bodies,
    members,
    parameters,
    request_metrics,
    visitors,
)
from builders.kit.http.body_limits import PUBLIC_BODY_LIMIT, BodyLimit, LimitedRequest
from builders.kit.http.callers import ScopeRequirement, audit_refusal
from builders.kit.http.deadline import Deadlines
from builders.kit.http.heavy_requests import HeavyOperation, run_on_second_loop
from builders.kit.http.json_bodies import ALSO_JSON, RAW_MEMBERS, as_member
from builders.kit.http.pagination import JsonPage
from builders.kit.http.parameters import Parameters, Values
from builders.kit.limits import policies
from builders.kit.limits.places import MAX_WAITING, REQUESTS, AccountPlaces, too_many_waiting
from builders.kit.limits.policies import OF_RESERVE, RateLimited
from builders.kit.limits.rate_limiter import ON_RESERVE, RATE_LIMITER, RateLimiter
from builders.kit.marks import Mark
from builders.kit.values import ids
from builders.kit.values.resources import shown_once_of

Connect = Callable[[connections.Database], AbstractAsyncContextManager[connections.Conn | None]]
Supplied = dict[Any, Any]  # the value of each dependency of a request, by its function


class _Dependency(NamedTuple):
    """A dependency other than the caller and the connection."""

    call: Callable[..., Any]
    parameters: Parameters | None  # None when it has none
    request_name: str | None
    needs: Mapping[str, Any]  # the function of the dependency that each of its parameters has the value of
    is_async: bool


_CONNECTIONS: Mapping[Any, Connect] = {
    connections.transaction: connections.Database.transaction,
    connections.connection: connections.BorrowedConnection,
}


class DependencyTree:
    """The parameters and dependencies of one handler. Raise TypeError for one that only FastAPI could supply."""

    def __init__(self, route: APIRoute, *, ignores_body: bool) -> None:
        self._path = route.path
        self._ignores_body = ignores_body
        self.requirement: ScopeRequirement | None = None
        self.connect: Connect = lambda _: nullcontext()
        self.conn_name = ""  # the parameter of the handler
        self._early: dict[Any, _Dependency] = {}  # by function, each after those that it needs
        self.late: dict[Any, _Dependency] = {}  # that need a connection
        self._names: list[tuple[str, Any]] = []  # the parameters of the handler with the function of each
        self._marks: list[Any] = []
        for dependency in route.dependant.dependencies:
            if dependency.call in _CONNECTIONS:
                if self.conn_name or dependency.name is None:
                    raise TypeError(f"{self._path}: a handler has one connection, with a name")
                self.connect, self.conn_name = _CONNECTIONS[dependency.call], dependency.name
            elif isinstance(dependency.call, Mark):
                self._marks.append(dependency.call)
            else:
                self._add(dependency)
                if dependency.name is not None:
                    self._names.append((dependency.name, dependency.call))
        self.asks_database = bool(self.conn_name or self.late) or connections.database in self._early
        parameters.require_supported(self._path, route.dependant)
        self.own = Parameters(route.dependant)
        self._query_names = frozenset[str]().union(*(each.query_names for each in self.parameters()))
        self._repeatable = frozenset[str]().union(*(each.repeatable for each in self.parameters()))
        self._is_link = parameters.opened_by_link in self._marks

    def _add(self, dependency: Dependant) -> None:
        call = dependency.call
        if call in self._early or call in self.late or call is connections.connection:
            return
        if isinstance(call, ScopeRequirement) and self.requirement in {None, call}:
            self.requirement = call
            return
        # A dataclass is a dependency whose fields are parameters.
        is_dataclass = isinstance(call, type) and dataclasses.is_dataclass(call)
        is_plain = isfunction(call) and not isgeneratorfunction(call) and not isasyncgenfunction(call)
        if call is None or not (is_dataclass or is_plain) or dependency.body_params:
            raise TypeError(f"{self._path}: the dependency {dependency.name or call} cannot be compiled")
        parameters.require_supported(self._path, dependency)
        for each in dependency.dependencies:
            self._add(each)
        needs = {str(each.name): each.call for each in dependency.dependencies}
        is_late = any(each is connections.connection or each in self.late for each in needs.values())
        declared = Parameters(dependency)
        read, request_name = declared if declared.are_any else None, dependency.request_param_name
        found = _Dependency(call, read, request_name, needs, iscoroutinefunction(call))
        (self.late if is_late else self._early)[call] = found

    def calls(self) -> Iterator[Callable[..., Any]]:
        """Yield the functions of all dependencies, marks included."""
        yield from self._marks
        yield from self._early
        yield from self.late

    def parameters(self) -> Iterator[Parameters]:
        """Yield the parameters of the handler, and those of its dependencies."""
        yield self.own
        every = (*self._early.values(), *self.late.values())
        yield from (each.parameters for each in every if each.parameters is not None)

    async def supply(self, request: Request, supplied: Supplied, values: Values) -> list[Any]:
        """Call the dependencies that need no connection, and add them and the parameters to `values`.

        Return the errors of the parameters of all. The value of a dependency that needs a connection is its
        arguments until `supply_late` calls it. Raise Invalid for wrong names in the query and an unexpected body,
        before a dependency reads a form or calls a service.
        """
        errors: list[Any] = []
        query = request.scope["query_string"]
        if query and not self._is_link:
            sent = parameters.query_parameters(request)
            is_odd = sent.keys() - self._query_names or query.count(b"&") >= len(sent)
            errors += parameters.query_errors(request, self._query_names, self._repeatable) if is_odd else ()
        if self._ignores_body:
            errors += await bodies.unread_body_errors(request)
        if errors:
            raise Invalid.many(errors)
        for call, declared, request_name, needs, is_async in self._early.values():
            arguments: Values = {request_name: request} if request_name else {}
            found = declared.read(request, arguments) if declared is not None else ()
            if found:
                errors += found
            elif not needs or _add_needs(arguments, needs, supplied):
                supplied[call] = await call(**arguments) if is_async else call(**arguments)
        for call, declared, request_name, *_ in self.late.values():
            supplied[call] = arguments = {request_name: request} if request_name else {}
            if declared is not None:
                errors += declared.read(request, arguments)
        for name, call in self._names:
            values[name] = supplied.get(call)  # absent after an error
        return [*errors, *self.own.read(request, values)] if self.own.are_any else errors

    async def supply_late(
        self, database: connections.Database, conn: connections.Conn | None, supplied: Supplied, values: Values
    ) -> None:
        """Call the dependencies that need a connection: that of the handler, if it has one."""
        if conn is None:
            async with database.connection() as own:  # given back before the handler asks other services
                await self.supply_late(database, own, supplied, values)
            return
        supplied[connections.connection] = conn
        for call, _, _, needs, is_async in self.late.values():
            arguments = supplied[call]
            _add_needs(arguments, needs, supplied)
            supplied[call] = await call(**arguments) if is_async else call(**arguments)
        for name, call in self._names:
            values[name] = supplied[call]


def _add_needs(arguments: Values, needs: Mapping[str, Any], supplied: Supplied) -> bool:
    """Add the values of other dependencies; return whether all have one: wrong parameters leave one without."""
    for name, call in needs.items():
        if call not in supplied:
            return False
        arguments[name] = supplied[call]
    return True


LARGE_BODY = 64 * 1024  # bytes
REQUEST_TIMEOUT_S = 45  # of a request, its body included
MODE_HINT_TIMEOUT_S = 5  # of the look-up of an id in the other mode
KEEP_TIMEOUT_S = 5  # of keeping a form whose session has ended
AUDIT_TIMEOUT_S = 5  # of the audit entry about a refusal
_deadlines = Deadlines()
# A request waits for others, such as events or registrars, without a connection: then it has no place either.
# While no other account has a place, an account may use half of the connections.
places = AccountPlaces(REQUESTS, most_waiting=MAX_WAITING, refusal=too_many_waiting)
T = TypeVar("T")
_EMPTY = {204, 205}  # statuses without a body
_WARNINGS = TypeAdapter(list[bodies.UnknownField])


class CompiledRoute:
    """An ASGI endpoint that is compiled from a route at import."""

    def __init__(self, route: APIRoute) -> None:
        dependant = route.dependant
        if dependant.call is None or not iscoroutinefunction(dependant.call):
            raise TypeError(f"{route.path}: a handler is an async function")
        self.call: Callable[..., Awaitable[Any]] = dependant.call
        self.path = route.path
        self.operation = route.unique_id if route.include_in_schema else request_metrics.CONSOLE
        self.has_body = route.body_field is not None
        described = (route.openapi_extra or {}).get("requestBody")
        # A handler that describes its body in openapi_extra reads it: a form, or a signed message.
        ignores_body = not self.has_body and described is None and "GET" not in (route.methods or ())
        self.may_have_body = self.has_body or ignores_body
        self.dependencies = DependencyTree(route, ignores_body=ignores_body)
        self.needs = self.dependencies.requirement
        methods, calls = route.methods or (), {each.call for each in dependant.dependencies}
        self.heavy = next((each for each in calls if isinstance(each, HeavyOperation)), None)
        # Each POST accepts an Idempotency-Key, unless a mark excludes it.
        may_repeat = "POST" in methods and idempotency.without_idempotency not in calls
        self.repeatable = self.needs is not None and (may_repeat or idempotency.with_idempotency in calls)
        self.has_head = "GET" in methods and visitors.changes_state not in calls
        # While nobody has accepted a restored database, only these operations are served.
        self.only_reads = self.has_head if self.needs is None else self.needs.effect is Effect.READ
        own = next((each for each in calls if isinstance(each, BodyLimit)), None)
        self.form_keeper = next((each for each in calls if isinstance(each, forms.FormKeeper)), None)
        general = PUBLIC_BODY_LIMIT if self.needs is None else None  # None: that of the service
        self.largest_body = general if own is None else own.size
        self.exceeds_body_limit = own is not None and own.exceeds
        marks = [each.call for each in dependant.dependencies if isinstance(each.call, policies.RateLimit)]
        self.limits = policies.operation_limits(route.path, marks, has_caller=self.needs is not None)
        self.request_name = dependant.request_param_name
        self.body_fields = dependant.body_params
        self.also: Collection[str] = tuple((route.openapi_extra or {}).get(ALSO_JSON, ()))
        self.raw: Mapping[str, str] = (route.openapi_extra or {}).get(RAW_MEMBERS, {})
        # FastAPI uses the field of the only body parameter as the field of the body, unless it embeds it.
        self.body_model = next((each for each in self.body_fields if each is route.body_field), None)
        self.responses = ResponseWriter(route)
        self.takes_place = self.needs is not None and bool(self.dependencies.conn_name)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Respond to one request."""
        scope[request_metrics.OPERATION] = self.operation
        request = LimitedRequest(scope, receive, send, limit=self.largest_body, exceeds=self.exceeds_body_limit)
        try:
            response = await _deadlines.run(self.respond(request), timeout_s=REQUEST_TIMEOUT_S)
        except (Problem, Invalid) as refusal:
            if isinstance(refusal, Problem) and refusal.collection is not None:
                hint = error_pages.add_mode_hint(refusal, request, has_body=self.has_body)
                with suppress(RequestTimeout):
                    await _deadlines.run(hint, timeout_s=MODE_HINT_TIMEOUT_S)
            if isinstance(refusal, Problem) and (refusal.audits_caller or refusal.audited_for is not None):
                with suppress(RequestTimeout):
                    await _deadlines.run(
                        audit_refusal(refusal, request, operation=self.path), timeout_s=AUDIT_TIMEOUT_S
                    )
            if self.form_keeper is not None and getattr(refusal, "status", 0) == HTTPStatus.UNAUTHORIZED:
                with suppress(Problem, Invalid):
                    kept = self.form_keeper.keep(request)
                    scope[forms.KEPT_FORM] = await _deadlines.run(kept, timeout_s=KEEP_TIMEOUT_S)
            response = error_pages.respond(scope, refusal)
        finally:
            if request.held:
                request.release()
        del request  # frees its body while a slow client reads the response
        await response(scope, receive, send)

    async def respond(self, request: Request) -> Response:
        """Authenticate, count, read and handle the request; commit before returning. Raise RateLimited."""
        caller = None if self.needs is None else await self.needs.caller(request)
        restores: Known | None = getattr(request.app.state, "restores", None)
        if restores is not None and not self.only_reads:
            await restores.require_accepted()
        limiter: RateLimiter | None = request.scope.get(RATE_LIMITER)
        if self.limits is None or limiter is None:
            return await self._serve(request, caller)
        counted = self.limits.of_keys if caller is None or caller.key_id is not None else self.limits.of_sessions
        if caller is not None and caller.impersonation is not None:
            counted = self.limits.of_support
        account = None if caller is None else caller.live_account_id
        key = None if caller is None else caller.credential_id
        spent = limiter.count_in_memory(counted, request.scope, key=key, account=account)
        try:
            if spent is None:
                spent = await limiter.spend(counted, request.scope, key=key, account=account)
        except RateLimited as refusal:
            if counted is not self.limits.of_sessions or not self.limits.has_reserve:
                raise
            await limiter.spend(OF_RESERVE, request.scope, key=key)
            request.scope[ON_RESERVE] = refusal
        try:
            return await self._serve(request, caller)
        except Problem as refusal:
            if refusal.is_of_kind and spent is not None:
                limiter.give_back(counted, spent)
            raise

    async def _serve(self, request: Request, caller: Caller | None) -> Response:
        if self.needs is not None and caller is not None:
            await self.needs.authorize(caller, request)
        work = partial(self.run_handler, request, caller)
        if self.heavy is not None:
            address = None if request.client is None else request.client.host
            subject = address if caller is None else caller.queue
            return await self.heavy.run(request, work, account=subject, has_body=self.may_have_body)
        return await work()

    async def run_handler(self, request: Request, caller: Caller | None) -> Response:
        """Read the request and run the handler for an authorized caller, on the current event loop."""
        values: Values = {}
        supplied: Supplied = {self.needs: caller}
        reading = partial(json_bodies.read_json, request, also=self.also, raw=self.raw)
        is_large = self.has_body and len(await request.body()) > LARGE_BODY
        body = await self._on_body(request, caller, reading, is_large=is_large) if self.has_body else None
        errors = await self.dependencies.supply(request, supplied, values)
        if self.body_fields:
            sent = as_member(request, body, self.raw) if self.raw else body
            reading_values = partial(self._read_body, sent, values)
            errors += await self._on_body(request, caller, reading_values, is_large=is_large)
        if errors:
            raise Invalid.many(errors)
        if self.needs is not None and caller is not None and caller.impersonation is not None:
            self.needs.require_settable(values[field.name] for field in self.body_fields)
        for name, alias, refusal in self.dependencies.own.resource_ids:
            if values[name] == ids.NIL:  # a malformed id is that of no resource
                raise refusal.for_malformed(request.path_params[alias])
        if self.request_name:
            values[self.request_name] = request
        database: connections.Database = request.app.state.database
        # A request on the second loop has the turn of its account.
        is_here = self.heavy is None or request.app.state.loop is asyncio.get_running_loop()
        account = None if caller is None or not (self.takes_place and is_here) else caller.queue
        run = partial(self._run, account, database, supplied, values)
        if caller is not None and self.repeatable:
            claim = await idempotency.claim(request, database, caller=caller, body=body)
            if claim is not None:
                # The only transaction of a handler stores the response, which checks the claim.
                is_transaction = self.dependencies.connect is connections.Database.transaction
                once = claim.run if is_transaction else claim.run_fenced
                return await once(partial(run, claim), database)
        return await run(None)

    async def _run(
        self,
        account: Hashable | None,  # that takes one of its places
        database: connections.Database,
        supplied: Supplied,
        values: Values,
        claim: idempotency.Claim | None,
    ) -> Response:
        is_transaction = self.dependencies.connect is connections.Database.transaction
        if account is not None:
            await places.take(account, alone=database.pool.max_size // 2)
        try:
            async with self.dependencies.connect(database) as conn:
                if self.dependencies.conn_name:
                    values[self.dependencies.conn_name] = conn
                if self.dependencies.late:
                    await self.dependencies.supply_late(database, conn, supplied, values)
                result = await self.call(**values)
                response, stored = self.responses.write(result, values, supplied.get(self.needs))
                if claim is not None and conn is not None and is_transaction:
                    await claim.finish(conn, response=response, body=stored)
            if claim is not None and not is_transaction:
                async with database.connection() as conn:
                    await claim.finish(conn, response=response, body=stored)
            return response
        finally:
            if account is not None:
                places.free(account, alone=database.pool.max_size // 2)

    async def _on_body(
        self, request: Request, caller: Caller | None, work: Callable[[], Awaitable[T]], *, is_large: bool
    ) -> T:
        """Do work that takes as long as the body is large: a large one on the second event loop."""
        if not is_large:
            return await work()
        return await run_on_second_loop(request, work, account=None if caller is None else caller.queue)

    async def _read_body(self, body: Any, values: Values) -> Sequence[Any]:
        """Add the values of the body; return its errors in pydantic's form."""
        if self.body_model is not None and isinstance(body, dict):
            # request_body_to_args would do the same in twice the time (script/bench: 5 % of a beacon).
            values[self.body_model.name], errors = self.body_model.validate(body, loc=("body",))
        else:
            found, errors = await request_body_to_args(self.body_fields, body, self.body_model is None)
            values.update(found)
        return list(errors) if errors else ()


class ResponseWriter:
    """Writes the responses of one route."""

    def __init__(self, route: APIRoute) -> None:
        self._handler = route.endpoint.__name__
        self.model = route.response_model
        # A handler returns the record; what a change adds to it is written here.
        self._record = members.record_of(self.model)
        self._adapter = None if route.response_field is None else TypeAdapter[Any](self._record or self.model)
        self._once = shown_once_of(self._record or self.model)
        self._status = route.status_code or 200
        self.collection: str | None = None  # of a route that creates: the path below which `GET /{id}` reads
        self._body_names = [field.name for field in route.dependant.body_params]

    def write(self, result: Any, values: Values, caller: Caller | None) -> tuple[Response, bytes]:
        """Return the response to the caller, and its body without secrets, which is stored for a replay."""
        headers: Mapping[str, str] = {}
        if isinstance(result, bodies.ReplyWithHeaders):
            result, headers = result.reply, result.headers
        if isinstance(result, Response):
            return result, bytes(result.body) if hasattr(result, "body") else b""
        if isinstance(result, JsonPage):
            text = result.json()
            return bodies.RawResponse(text, self._status, is_json=True), text
        if self._adapter is None:
            if result is not None or self._status not in _EMPTY:
                raise TypeError(f"{self._handler} has no reply model for its result")
            return Response(status_code=self._status), b""
        try:
            result = result if caller is None else members.shown(result, caller)
            is_validated = type(result) is (self._record or self.model)  # then it was when it was created
            validate = self._adapter.validator.validate_python
            value = result if is_validated else validate(result, from_attributes=True)
        except ValidationError as error:
            raise TypeError(f"{self._handler} returned a result that does not match its reply model") from error
        if isinstance(value, bodies.WriteReply):
            bodies.add_warnings(value, *(values[name] for name in self._body_names))
        if self.collection is not None and hasattr(value, "id"):
            headers = {**headers, "Location": f"{self.collection}/{value.id}"}
        write = partial(self._adapter.serializer.to_json, value, by_alias=True)
        warnings = self._warnings(value, values)
        text = _with_warnings(write(), warnings)
        if not self._once:
            return bodies.RawResponse(text, self._status, headers, is_json=True), text
        stored = _with_warnings(write(exclude=self._once), warnings)
        return bodies.RawResponse(text, self._status, headers, is_json=True, has_secret=True), stored

    def _warnings(self, value: Any, values: Values) -> list[bodies.UnknownField] | None:
        """Return the warnings of a record, and those about the bodies; None where a model has them itself."""
        if self._record is None:
            return None
        own = value.warnings if isinstance(value, self.model) else ()
        return [*own, *bodies.list_warnings(*(values[name] for name in self._body_names))]


def _with_warnings(text: bytes, warnings: list[bodies.UnknownField] | None) -> bytes:
    if warnings is None:
        return text
    return text.removesuffix(b"}") + b',"warnings":' + _WARNINGS.dump_json(warnings) + b"}"
