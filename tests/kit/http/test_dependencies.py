"""Dependencies of handlers that have dependencies of their own."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Annotated, Any

import pytest
from fastapi import Depends, Path, Query

from builders.kit.callers import Caller
from builders.kit.db.connections import Pool, Reads, Tx, held_connections
from builders.kit.errors import NotFound, Problem, Refuses, refuses
from builders.kit.http.bodies import Reply
from builders.kit.http.callers import needs
from builders.kit.http.idempotency import InFlight
from builders.kit.http.routes import Route, Router
from builders.kit.process.settings import Settings
from tests.kit.asgi import Answer, ask
from tests.kit.scratch import serve


class Forbidden(Problem):
    """The number is forbidden."""

    status, code = 403, "number_forbidden"
    remedy = "Send another number."


class Seen(Reply):
    """What a handler was given."""

    number: int
    in_transaction: bool = False
    calls: int = 0


Number = Annotated[int, Query(description="A number.")]
calls: list[int] = []


@refuses(Forbidden)
async def allowed(caller: Annotated[Caller, needs("things:read")], conn: Reads, number: Number) -> int:
    """A dependency on the caller and a connection."""
    calls.append(number)
    if number == 13:
        raise Forbidden
    row = await (await conn.execute("SELECT %s + %s::int", (number, caller.account_id.int))).fetchone()
    assert row is not None
    total: int = row[0]
    return total


async def process(conn: Reads) -> int:
    """A dependency that shows which connection it has."""
    return conn.info.backend_pid


def next_number(number: Annotated[int, Depends(allowed)]) -> int:
    """A dependency on one that needs a connection."""
    return number + 1


Allowed = Annotated[int, Depends(allowed)]
router = Router(prefix="/things", tags=["things"])


@router.get("/tx")
async def in_a_transaction(number: Allowed, process_id: Annotated[int, Depends(process)], conn: Tx) -> Seen:
    """Run in the transaction that the dependency had."""
    assert conn.info.backend_pid == process_id
    return Seen(number=number, in_transaction=conn.info.transaction_status.name == "INTRANS")


@router.get("/pool")
async def without_a_connection(number: Allowed, database: Pool) -> Seen:
    """Run after the connection of the dependency was given back."""
    assert not [*held_connections()]
    assert database.held == 0
    return Seen(number=number)


@router.get("/two")
async def called_once(number: Allowed, following: Annotated[int, Depends(next_number)], conn: Reads) -> Seen:
    """Run with two dependencies, one of which needs the other."""
    del conn
    return Seen(number=number + following, calls=len(calls))


@router.post("/unnamed", dependencies=[Depends(allowed)])
async def without_its_value() -> Seen:
    """Run after a dependency whose value is not used."""
    return Seen(number=0)


@router.get("/{name}", responses={})
async def by_name(name: Annotated[str, Path(description="Any name."), Refuses(NotFound)]) -> Seen:
    """Read a thing."""
    return Seen(number=len(name))


@pytest.fixture
def service(settings: Settings) -> AbstractAsyncContextManager[Any]:
    calls.clear()
    return _serve(settings)


@asynccontextmanager
async def _serve(settings: Settings) -> AsyncIterator[Any]:
    async with serve(settings, router) as served:

        async def get(path: str, method: str = "GET", key: str = "reader") -> Answer:
            return await ask(served.middleware, method, f"/things{path}", headers=[("X-API-Key", key)])

        yield get


async def test_a_dependency_has_the_transaction_of_the_handler(service: Any) -> None:
    async with service as get:
        found = await get("/tx?number=3")
    assert found.json() == {"number": 10, "in_transaction": True, "calls": 0}


async def test_a_handler_without_a_connection_runs_after_that_of_the_dependency(service: Any) -> None:
    async with service as get:
        found = await get("/pool?number=3")
    assert (found.status, found.json()["number"]) == (200, 10)


async def test_a_dependency_of_two_is_called_once(service: Any) -> None:
    async with service as get:
        found = await get("/two?number=3")
    assert found.json() == {"number": 21, "in_transaction": False, "calls": 1}


async def test_a_dependency_without_a_name_is_called(service: Any) -> None:
    async with service as get:
        found = await get("/unnamed?number=13", "POST")
    assert (found.status, found.json()["code"]) == (403, "number_forbidden")


async def test_wrong_parameters_come_before_the_refusal_of_a_dependency(service: Any) -> None:
    async with service as get:
        found = await get("/tx?number=x")
    assert (found.status, calls) == (422, [])


async def test_the_caller_comes_before_the_parameters(service: Any) -> None:
    async with service as get:
        found = await get("/tx?number=x", key="nobody")
    assert found.status == 401


def _codes(path: str, status: int) -> list[str]:
    route = next(each for each in router.routes if isinstance(each, Route) and each.path == f"/things{path}")
    codes: list[str] = route.responses[status]["x-codes"]
    return codes


@pytest.mark.parametrize("path", ["/tx", "/two", "/unnamed"])
def test_the_document_has_the_refusals_of_dependencies(path: str) -> None:
    assert _codes(path, 403)[-1] == "number_forbidden"


def test_the_document_has_the_refusals_of_parameters() -> None:
    assert _codes("/{name}", 404) == ["not_found"]


def test_the_document_has_the_refusal_of_a_repeated_request() -> None:
    assert _codes("/unnamed", 409) == [InFlight.code]
