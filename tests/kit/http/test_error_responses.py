"""Errors, timeouts and disconnects get a response and a log line without secrets."""

import asyncio
import json
from collections.abc import Coroutine
from io import StringIO
from typing import Any, TypeVar

import pytest
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from builders.app import Service
from builders.kit.http import access_log, compiled_routes
from builders.kit.http.deadline import Deadlines
from builders.kit.http.middleware import RequestMiddleware
from tests.kit.asgi import Answer, ask
from tests.kit.http.middleware_routes import LIMIT

ID = "X-Request-ID"
T = TypeVar("T")


def lines(stream: StringIO) -> list[dict[str, Any]]:
    access_log.flush()
    return [json.loads(line) for line in stream.getvalue().splitlines()]


async def test_an_internal_error_is_a_500_and_its_traceback_is_logged(
    middleware: RequestMiddleware, logged: StringIO
) -> None:
    headers = [(ID, "failing-1"), ("X-API-Key", "svc_live_hidden3"), ("Cookie", "svc_access_token=hidden4")]
    answer = await ask(middleware, "GET", "/fails/luck?token=hidden5", headers=headers)

    assert (answer.status, answer.header("content-type")) == (500, "application/problem+json")
    assert answer.json() == {
        "type": "urn:builders:problem:internal_error",
        "title": "An internal error occurred",
        "status": 500,
        "detail": "An internal error occurred; it was logged.",
        "code": "internal_error",
        "request_id": "failing-1",
    }
    [line] = lines(logged)
    assert (line["event"], line["level"], line["request_id"]) == ("request_failed", "error", "failing-1")
    assert (line["method"], line["path"]) == ("GET", "/fails/luck")
    assert "RuntimeError: no luck" in line["exception"]
    assert "hidden" not in logged.getvalue()


async def plain(app: ASGIApp, target: str = "/") -> Answer:
    middleware = RequestMiddleware(app, body_limit=LIMIT, secret_paths=("/v1/invites/", "/v1/t/"))
    return await ask(middleware, "GET", target, headers=[(ID, "request-1")])


async def test_an_error_after_the_response_started_is_only_logged(logged: StringIO) -> None:
    async def half(_scope: Scope, _receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [(b"host", b"x")]})
        raise ZeroDivisionError

    answer = await plain(half)

    assert (answer.status, answer.body) == (200, b"")
    assert [line["event"] for line in lines(logged)] == ["request_failed", "request"]


async def test_a_response_without_headers_gets_the_security_headers() -> None:
    async def bare(_scope: Scope, _receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 204})
        await send({"type": "http.response.body"})

    assert (await plain(bare)).header("x-request-id") == "request-1"


async def test_a_disconnected_client_is_no_error(middleware: RequestMiddleware, logged: StringIO) -> None:
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "POST", "path": "/size", "query_string": b"", "headers": [(b"host", b"x")]}
    await RequestMiddleware(middleware.app, body_limit=LIMIT)(scope, receive, send)

    assert sent == []
    [line] = lines(logged)
    assert (line["event"], line["level"], line["status"]) == ("request", "info", 0)


@pytest.mark.parametrize(
    ("target", "path"),
    [
        ("/id?token=hidden", "/id"),
        ("/v1/t/o/hidden", "/v1/t/…"),
        ("/v1/t/c/hidden?u=hidden&m=hidden", "/v1/t/…"),
        ("/v1/invites/hidden", "/v1/invites/…"),
        ("/v1/things/shown", "/v1/things/shown"),
        ("/v1/api-keys/svc_live_hidden", "/v1/api-keys/svc_live_***"),
    ],
)
async def test_a_request_is_one_line_without_secrets(logged: StringIO, target: str, path: str) -> None:
    await plain(Response(status_code=202), target)

    [line] = lines(logged)
    assert line.pop("ms") >= 0
    assert line.pop("timestamp").endswith("Z")
    assert line == {
        "level": "info",
        "event": "request",
        "request_id": "request-1",
        "method": "GET",
        "path": path,
        "status": 202,
        "client": "192.0.2.1",
    }


async def test_the_service_hides_the_tokens_of_mail_links(logged: StringIO, service: Service) -> None:
    await ask(service, "GET", "/v1/t/o/hidden")
    assert [line["path"] for line in lines(logged) if line["event"] == "request"] == ["/v1/t/…"]


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("/v1/mail/unsubscrib/hidden", "/v1/mail/…"),
        ("/v1//t/o/hidden", "/v1//…"),
        (f"/unsubscribe/hidden{'h' * 40}", "/unsubscribe/…"),
        (f"/hidden{'h' * 40}", "/…"),
        ("/v1/alias", "/v1/alias"),
    ],
)
async def test_a_path_that_no_route_has_is_logged_without_what_may_be_a_token(
    logged: StringIO, service: Service, path: str, shown: str
) -> None:
    assert (await ask(service, "GET", path)).status == 404
    assert [line["path"] for line in lines(logged) if line["event"] == "request"] == [shown]


class Milliseconds(Deadlines):
    """Deadlines a thousand times as early."""

    async def run(self, work: Coroutine[Any, Any, T], *, timeout_s: float) -> T:
        return await super().run(work, timeout_s=timeout_s / 1000)


async def test_a_request_over_its_time_limit_is_ended(
    middleware: RequestMiddleware, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiled_routes, "_deadlines", Milliseconds())
    answer = await ask(middleware, "GET", "/waits")
    assert (answer.status, answer.json()["code"], answer.header("retry-after")) == (503, "request_timeout", "5")


async def test_a_missing_body_times_out(middleware: RequestMiddleware, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled_routes, "_deadlines", Milliseconds())
    started: list[Message] = []

    async def receive() -> Message:
        return await asyncio.Event().wait() and {}

    async def send(message: Message) -> None:
        started.append(message)

    scope = {"type": "http", "method": "POST", "path": "/size", "query_string": b"", "headers": [(b"host", b"x")]}
    await middleware(scope, receive, send)

    assert started[0]["status"] == 503


async def test_a_timeout_within_a_handler_is_an_internal_error(middleware: RequestMiddleware) -> None:
    assert (await ask(middleware, "GET", "/times-out")).json()["code"] == "internal_error"


async def test_other_scopes_pass_unchanged() -> None:
    seen: list[str] = []

    async def app(scope: Scope, _receive: Receive, _send: Send) -> None:
        seen.append(scope["type"])

    async def receive() -> Message:
        return {}

    async def send(_: Message) -> None:
        pass

    for kind in ("lifespan", "websocket"):
        await RequestMiddleware(app, body_limit=LIMIT)({"type": kind}, receive, send)
    assert seen == ["lifespan", "websocket"]
