"""A handler that cannot be compiled is an error when the route is declared."""

from collections.abc import AsyncIterator, Callable, Iterator
from typing import Annotated, Any

import pytest
from fastapi import BackgroundTasks, Body, Depends, Query, Response
from fastapi.requests import HTTPConnection
from fastapi.security import SecurityScopes
from starlette.types import ASGIApp

from builders.kit.callers import Caller
from builders.kit.db.connections import Reads, Tx
from builders.kit.http import application
from builders.kit.http.bodies import ReplyWithHeaders
from builders.kit.http.callers import needs
from builders.kit.http.routes import PathRouter, Router
from builders.kit.limits import policies
from tests.kit.asgi import ask


async def _yields() -> AsyncIterator[int]:
    yield 1


def _yields_at_once() -> Iterator[int]:
    yield 1


def _below(number: Annotated[int, Query()]) -> int:
    return number


def _with_transaction(conn: Tx) -> int:
    return conn.info.backend_pid


def _with_a_scope(caller: Annotated[Caller, needs("a:read")]) -> Caller:
    return caller


def _with_body(number: Annotated[int, Body()]) -> int:
    return number


def _with_response(response: Response) -> int:
    return response.status_code


class _Class:
    """A dependency that is a class."""


async def _response(response: Response) -> None:
    del response


async def _background(tasks: BackgroundTasks) -> None:
    del tasks


async def _connection(connection: HTTPConnection) -> None:
    del connection


async def _scopes(scopes: SecurityScopes) -> None:
    del scopes


async def _two_connections(one: Tx, other: Reads) -> None:
    del one, other


async def _two_scopes(
    one: Annotated[Caller, needs("b:read")], other: Annotated[Caller, Depends(_with_a_scope)]
) -> None:
    del one, other


async def _two_callers(one: Annotated[Caller, needs("a:read")], other: Annotated[Caller, needs("b:read")]) -> None:
    del one, other


def _not_a_coroutine() -> None:
    pass


def _handler_with(dependency: Callable[..., Any]) -> Callable[..., Any]:
    async def handler(number: Annotated[int, Depends(dependency)]) -> None:
        del number

    return handler


HANDLERS = [
    *(_response, _background, _connection, _scopes, _two_connections, _two_callers, _two_scopes, _not_a_coroutine),
]
DEPENDENCIES: list[Callable[..., Any]] = [
    *(_yields, _yields_at_once, _with_transaction, _with_body, _with_response, _Class),
]


@pytest.mark.parametrize("handler", [*HANDLERS, *map(_handler_with, DEPENDENCIES)])
def test_a_handler_that_cannot_be_compiled_is_refused(handler: Callable[..., Any]) -> None:
    with pytest.raises(TypeError, match=r"^/things: "):
        Router(tags=["things"]).add_api_route("/things", handler)


@pytest.mark.parametrize("policy", [policies.KEY, policies.ACCOUNT])
def test_an_unknown_policy_is_refused(policy: policies.Policy) -> None:
    async def handler() -> None:
        pass

    with pytest.raises(TypeError, match=rf"^/things: the policy {policy.name} counts by {policy.by}"):
        Router(tags=["things"]).add_api_route("/things", handler, dependencies=[policies.rate_limit(policy)])


def _front(handler: Callable[..., Any], **options: Any) -> ASGIApp:
    router = Router(tags=["things"])
    router.add_api_route("/things", handler, **options)
    app = application.make_app()
    app.state.database = None
    return PathRouter(app, [router])


async def test_a_result_without_a_response_model_is_an_error() -> None:
    async def handler() -> Any:
        return {"a": 1}

    with pytest.raises(TypeError, match="has no reply model"):
        await ask(_front(handler, response_model=None), "GET", "/things")


async def test_a_result_that_violates_its_model_is_an_error() -> None:
    async def handler() -> Any:
        return {"a": "not a number"}

    with pytest.raises(TypeError, match="handler returned a result that does not match its reply model"):
        await ask(_front(handler, response_model=dict[str, int]), "GET", "/things")


async def test_a_handler_may_return_nothing() -> None:
    async def handler() -> None:
        pass

    answer = await ask(_front(handler, status_code=204), "GET", "/things")
    assert (answer.status, answer.body, answer.header("content-type")) == (204, b"", None)


async def test_a_handler_may_return_headers() -> None:
    async def handler() -> Any:
        return ReplyWithHeaders({"a": 1}, {"ETag": '"7"', "Set-Cookie": "a=b"})

    answer = await ask(_front(handler, response_model=dict[str, int]), "GET", "/things")
    assert (answer.status, answer.body, answer.header("content-type")) == (200, b'{"a":1}', "application/json")
    assert (answer.header("etag"), answer.header("set-cookie")) == ('"7"', "a=b")
