"""The dependencies of a handler, compiled: their order is found at import, and each is called once for a request.

A dependency can have dependencies of its own, among them the caller and a connection (`Reads`). It gets the
connection of the handler; if the handler has none, one that is given back before the handler runs.
"""

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from inspect import iscoroutinefunction
from typing import Any, NamedTuple

from fastapi import Request
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute

from builders.kit.db import connections
from builders.kit.http import idempotency, parameters, visitors
from builders.kit.http.body_limits import BodyLimit
from builders.kit.http.callers import ScopeRequirement
from builders.kit.http.heavy_requests import HeavyOperation
from builders.kit.http.parameters import Parameters, Values, is_plain_function
from builders.kit.limits import policies

_MARKS = {*idempotency.MARKS, visitors.changes_state, parameters.opened_by_link}  # dependencies without a value
_MARK_TYPES = (policies.RateLimit, BodyLimit, HeavyOperation)
Connect = Callable[[connections.Database], AbstractAsyncContextManager[connections.Conn | None]]
Supplied = dict[Any, Any]  # the value of each dependency of a request, by its function


def _no_connection(_: connections.Database) -> AbstractAsyncContextManager[None]:
    return nullcontext()


class _Dependency(NamedTuple):
    """A dependency other than the caller and the connection."""

    call: Callable[..., Any]
    parameters: Parameters | None  # None when it has none
    request_name: str | None
    needs: Mapping[str, Any]  # the function of the dependency that each of its parameters has the value of
    is_async: bool


_CONNECTIONS: Mapping[Any, Connect] = {
    connections.transaction: connections.Database.transaction,
    connections.connection: connections.Database.connection,
}


class DependencyTree:
    """The dependencies of one handler. Raise TypeError for one that only FastAPI itself could supply."""

    def __init__(self, route: APIRoute) -> None:
        self._path = route.path
        self.requirement: ScopeRequirement | None = None
        self.connect: Connect = _no_connection
        self.conn_name = ""  # the parameter of the handler
        self._early: dict[Any, _Dependency] = {}  # by function, each after those that it needs
        self._late: dict[Any, _Dependency] = {}  # that need a connection
        self._names: list[tuple[str, Any]] = []  # the parameters of the handler with the function of each
        self._marks: list[Any] = []
        for each in route.dependant.dependencies:
            if each.call in _CONNECTIONS:
                self._connect(each)
            elif isinstance(each.call, _MARK_TYPES) or each.call in _MARKS:
                self._marks.append(each.call)
            else:
                self._add(each)
                if each.name is not None:
                    self._names.append((each.name, each.call))
        self.asks_database = bool(self.conn_name or self._late) or connections.database in self._early

    def _connect(self, dependency: Dependant) -> None:
        if self.conn_name or dependency.name is None:
            raise TypeError(f"{self._path}: a handler has one connection, with a name")
        self.connect, self.conn_name = _CONNECTIONS[dependency.call], dependency.name

    def _add(self, dependency: Dependant) -> None:
        call = dependency.call
        if call in self._early or call in self._late or call is connections.connection:
            return
        if isinstance(call, ScopeRequirement) and self.requirement in {None, call}:
            self.requirement = call
            return
        # A dataclass is a dependency whose fields are parameters.
        is_dataclass = isinstance(call, type) and dataclasses.is_dataclass(call)
        if call is None or not (is_dataclass or is_plain_function(call)) or dependency.body_params:
            raise TypeError(f"{self._path}: the dependency {dependency.name or call} cannot be compiled")
        parameters.require_supported(self._path, dependency)
        for each in dependency.dependencies:
            self._add(each)
        needs = {str(each.name): each.call for each in dependency.dependencies}
        is_late = any(each is connections.connection or each in self._late for each in needs.values())
        declared = Parameters(dependency)
        (self._late if is_late else self._early)[call] = _Dependency(
            call,
            declared if declared.are_any else None,
            dependency.request_param_name,
            needs,
            iscoroutinefunction(call),
        )

    def calls(self) -> Iterator[Callable[..., Any]]:
        """Yield the functions of all dependencies, marks included."""
        yield from self._marks
        yield from self._early
        yield from self._late

    def parameters(self) -> Iterator[Parameters]:
        """Yield the parameters of the dependencies that have some."""
        every = (*self._early.values(), *self._late.values())
        yield from (each.parameters for each in every if each.parameters is not None)

    async def supply(self, request: Request, supplied: Supplied) -> list[Any]:
        """Call the dependencies that need no connection; return the errors of the parameters of all.

        The value of one that needs a connection is its arguments until `supply_late` calls it.
        """
        errors: list[Any] = []
        for call, declared, request_name, needs, is_async in self._early.values():
            arguments: Values = {request_name: request} if request_name else {}
            found = declared.read(request, arguments) if declared is not None else ()
            if found:
                errors += found
            elif not needs or _add_needs(arguments, needs, supplied):
                supplied[call] = await call(**arguments) if is_async else call(**arguments)
        for call, declared, request_name, *_ in self._late.values():
            supplied[call] = arguments = {request_name: request} if request_name else {}
            if declared is not None:
                errors += declared.read(request, arguments)
        return errors

    async def supply_late(
        self, database: connections.Database, conn: connections.Conn | None, supplied: Supplied, values: Values
    ) -> None:
        """Call the dependencies that need a connection, and add all to the arguments (`values`) of the handler.

        The connection is that of the handler, if it has one.
        """
        if conn is None and self._late:
            async with database.connection() as own:  # given back before the handler asks other services
                await self.supply_late(database, own, supplied, values)
            return
        supplied[connections.connection] = conn
        for call, _, _, needs, is_async in self._late.values():
            arguments = supplied[call]
            _add_needs(arguments, needs, supplied)
            supplied[call] = await call(**arguments) if is_async else call(**arguments)
        if self.conn_name:
            values[self.conn_name] = conn
        for name, call in self._names:
            values[name] = supplied[call]


def _add_needs(arguments: Values, needs: Mapping[str, Any], supplied: Supplied) -> bool:
    """Add the values of other dependencies; return whether all have one: wrong parameters leave one without."""
    for name, call in needs.items():
        if call not in supplied:
            return False
        arguments[name] = supplied[call]
    return True
