"""A handler compiled from its route: it runs without FastAPI's dependency solver.

FastAPI's own parsers read declared parameters and bodies, and the signature still feeds the OpenAPI document
(kit/http/routes.py). tests/kit/http/test_routes.py compares the result with plain FastAPI (decision 0006).
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import suppress
from functools import partial
from inspect import iscoroutinefunction
from typing import Any, TypeVar

from fastapi import Request, Response
from fastapi.dependencies.utils import request_body_to_args
from fastapi.routing import APIRoute
from starlette.types import Receive, Scope, Send

from builders.kit.db import connections
from builders.kit.errors import Invalid, Problem, RequestTimeout
from builders.kit.http import bodies, error_pages, idempotency, json_bodies, parameters, visitors
from builders.kit.http.body_limits import LimitedRequest, find_body_limit
from builders.kit.http.callers import Caller
from builders.kit.http.compression import compressed
from builders.kit.http.deadline import Deadlines
from builders.kit.http.dependency_tree import DependencyTree, Supplied
from builders.kit.http.heavy_requests import HeavyOperation, run_on_second_loop
from builders.kit.http.json_bodies import ALSO_JSON, RAW_MEMBERS, as_member
from builders.kit.http.parameters import Parameters, Values
from builders.kit.http.response_writer import ResponseWriter
from builders.kit.limits import policies
from builders.kit.limits.places import request_places
from builders.kit.limits.rate_limiter import RATE_LIMITER, RateLimiter

LARGE_BODY = 64 * 1024  # bytes
REQUEST_TIMEOUT_S = 45  # of a request, its body included; shorter than idempotency.CLAIM_TIMEOUT
MODE_HINT_TIMEOUT_S = 5  # of the look-up of an id in the other mode
_deadlines = Deadlines()
# A request waits for others, such as events or registrars, without a connection: then it has no place either.
places = request_places()
T = TypeVar("T")


class CompiledRoute:
    """An ASGI endpoint that is compiled from a route at import."""

    def __init__(self, route: APIRoute) -> None:
        dependant = route.dependant
        if dependant.call is None or not iscoroutinefunction(dependant.call):
            raise TypeError(f"{route.path}: a handler is an async function")
        parameters.require_supported(route.path, dependant)
        self.call: Callable[..., Awaitable[Any]] = dependant.call
        self.dependencies = DependencyTree(route)
        self.needs = self.dependencies.requirement
        self.heavy = parameters.find_dependency(dependant, HeavyOperation)
        self._set_methods(route.methods or (), {each.call for each in dependant.dependencies})
        self.largest_body, self.exceeds_body_limit = find_body_limit(dependant, has_caller=self.needs is not None)
        self.limits = _operation_limits(route, has_caller=self.needs is not None)
        self.parameters = Parameters(dependant)
        self.request_name = dependant.request_param_name
        self.body_fields = dependant.body_params
        read = [self.parameters, *self.dependencies.parameters()]
        self.query_names = frozenset[str]().union(*(each.query_names for each in read))
        self.repeatable_names = frozenset[str]().union(*(each.repeatable for each in read))
        self.has_body = route.body_field is not None
        described = (route.openapi_extra or {}).get("requestBody")
        # A handler that describes its body in openapi_extra reads it: a form, or a signed message.
        self.ignores_body = not self.has_body and described is None and "GET" not in (route.methods or ())
        self.also: Collection[str] = tuple((route.openapi_extra or {}).get(ALSO_JSON, ()))
        self.raw: Mapping[str, str] = (route.openapi_extra or {}).get(RAW_MEMBERS, {})
        # FastAPI uses the field of the only body parameter as the field of the body, unless it embeds it.
        self.body_model = next((each for each in self.body_fields if each is route.body_field), None)
        self.responses = ResponseWriter(route)
        self.takes_place = self.needs is not None and bool(self.dependencies.conn_name)

    def _set_methods(self, methods: Collection[str], calls: Collection[object]) -> None:
        self.repeatable = self.needs is not None and idempotency.is_repeatable(methods, calls)
        self.is_link = parameters.opened_by_link in calls
        self.has_head = "GET" in methods and visitors.changes_state not in calls

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Respond to one request."""
        request = LimitedRequest(scope, receive, send, limit=self.largest_body, exceeds=self.exceeds_body_limit)
        try:
            response = await self.respond_or_refuse(request)
        finally:
            request.release()
        del request  # frees its body while a slow client reads the response
        response = await compressed(scope, response)
        await response(scope, receive, send)

    async def respond_or_refuse(self, request: Request) -> Response:
        """Return the response or the error response, within REQUEST_TIMEOUT_S."""
        try:
            return await _deadlines.run(self.respond(request), timeout_s=REQUEST_TIMEOUT_S)
        except (Problem, Invalid) as refusal:
            if isinstance(refusal, Problem) and refusal.collection is not None:
                hint = error_pages.add_mode_hint(refusal, request, has_body=self.has_body)
                with suppress(RequestTimeout):
                    await _deadlines.run(hint, timeout_s=MODE_HINT_TIMEOUT_S)
            return error_pages.respond(request.scope, refusal)

    async def respond(self, request: Request) -> Response:
        """Authenticate, read the request and run the handler; commit before returning."""
        caller = None if self.needs is None else await self.needs.caller(request)
        if self.limits is not None:
            await _count(self.limits, request, caller)
        if self.needs is not None and caller is not None:
            await self.needs.authorize(caller, request)
        work = partial(self.run_handler, request, caller)
        if self.heavy is not None:
            address = None if request.client is None else request.client.host
            account = address if caller is None else caller.live_account_id
            may_have_body = self.has_body or self.ignores_body
            return await self.heavy.run(request, work, account=account, has_body=may_have_body)
        return await work()

    async def run_handler(self, request: Request, caller: Caller | None) -> Response:
        """Read the request and run the handler for an authorized caller, on the current event loop."""
        values: Values = {}
        supplied: Supplied = {self.needs: caller}
        reading = partial(json_bodies.read_json, request, also=self.also, raw=self.raw)
        body = await self._on_body(request, caller, reading) if self.has_body else None
        errors = await self._read(request, supplied, values)
        if self.body_fields:
            sent = as_member(request, body, self.raw) if self.raw else body
            errors += await self._on_body(request, caller, partial(self._read_body, sent, values))
        if errors:
            raise Invalid.many(errors)
        if self.needs is not None and caller is not None:
            self.needs.require_settable(caller, (values[field.name] for field in self.body_fields))
        self.parameters.require_resources(values)
        if self.request_name:
            values[self.request_name] = request
        database: connections.Database = request.app.state.database
        # A request on the second loop has the turn of its account.
        is_here = self.heavy is None or request.app.state.loop is asyncio.get_running_loop()
        in_place = self.takes_place and is_here
        run = partial(self._run_in_place, caller) if in_place and caller is not None else self._run
        if caller is not None and self.repeatable:
            claim = await idempotency.claim(request, database, caller=caller, body=body)
            if claim is not None:
                return await claim.run(partial(run, database, supplied, values, claim), database)
        return await run(database, supplied, values, None)

    async def _run_in_place(
        self,
        caller: Caller,
        database: connections.Database,
        supplied: Supplied,
        values: Values,
        claim: idempotency.Claim | None,
    ) -> Response:
        await places.take(caller.live_account_id)
        try:
            return await self._run(database, supplied, values, claim)
        finally:
            places.free(caller.live_account_id)

    async def _run(
        self,
        database: connections.Database,
        supplied: Supplied,
        values: Values,
        claim: idempotency.Claim | None,
    ) -> Response:
        is_transaction = self.dependencies.connect is connections.Database.transaction
        async with self.dependencies.connect(database) as conn:
            await self.dependencies.supply_late(database, conn, supplied)
            self.dependencies.name(conn, supplied, values)
            response, stored = self.responses.write(await self.call(**values), values)
            if claim is not None and conn is not None and is_transaction:
                await claim.finish(conn, response=response, body=stored)
        if claim is not None and not is_transaction:
            async with database.connection() as conn:
                await claim.finish(conn, response=response, body=stored)
        return response

    async def _read(self, request: Request, supplied: Supplied, values: Values) -> list[Any]:
        """Read the parameters and call the dependencies; return the errors in pydantic's form."""
        errors: list[Any] = []
        if request.scope["query_string"] and not self.is_link:
            errors += parameters.query_errors(request, self.query_names, self.repeatable_names)
        if self.ignores_body:
            errors += await bodies.unread_body_errors(request)
        if errors:  # before a dependency reads a form or calls a service
            raise Invalid.many(errors)
        errors += await self.dependencies.supply(request, supplied)
        if self.parameters.are_any:
            errors += self.parameters.read(request, values)
        return errors

    async def _on_body(self, request: Request, caller: Caller | None, work: Callable[[], Awaitable[T]]) -> T:
        """Do work that takes as long as the body is large: a large one on the second event loop."""
        if len(await request.body()) <= LARGE_BODY:
            return await work()
        return await run_on_second_loop(request, work, account=None if caller is None else caller.live_account_id)

    async def _read_body(self, body: Any, values: Values) -> Sequence[Any]:
        """Add the values of the body; return its errors in pydantic's form."""
        if self.body_model is not None and isinstance(body, dict):
            # request_body_to_args would do the same in twice the time (script/bench: 5 % of a beacon).
            values[self.body_model.name], errors = self.body_model.validate(body, loc=("body",))
        else:
            found, errors = await request_body_to_args(self.body_fields, body, self.body_model is None)
            values.update(found)
        return list(errors) if errors else ()


async def _count(limits: policies.OperationLimits, request: Request, caller: Caller | None) -> None:
    """Count the request before its body is read. Raise RateLimited."""
    scope = request.scope
    limiter: RateLimiter | None = scope.get(RATE_LIMITER)
    if limiter is None:
        return
    account = None if caller is None else caller.live_account_id
    key = None if caller is None else caller.key_id or caller.session_id or account
    if not limiter.count_in_memory(limits, scope, key=key, account=account):
        await limiter.spend(limits, scope, key=key, account=account)


def _operation_limits(route: APIRoute, *, has_caller: bool) -> policies.OperationLimits | None:
    """Return the rate limits of the operation."""
    marks = [each.call for each in route.dependant.dependencies if isinstance(each.call, policies.RateLimit)]
    try:
        return policies.operation_limits(marks, has_caller=has_caller)
    except ValueError as error:
        raise TypeError(f"{route.path}: {error}") from error
