"""What every request passes on its way in and out: its id, the headers, and what is refused unread."""

import asyncio
import gc
import re

import pytest
from starlette.responses import Response
from starlette.types import Message

from builders.app import Service
from builders.kit.http.middleware import RequestMiddleware
from tests.kit.asgi import ask
from tests.kit.http.middleware_routes import LIMIT

JSON = ("Content-Type", "application/json")
ID = "X-Request-ID"


async def test_a_request_gets_its_own_id(middleware: RequestMiddleware) -> None:
    answers = await asyncio.gather(*(ask(middleware, "GET", "/id") for _ in range(20)))

    ids = [answer.header("x-request-id") for answer in answers]
    assert [answer.json()["id"] for answer in answers] == ids
    assert len(set(ids)) == 20
    assert all(re.fullmatch(r"[0-9a-f]{32}", given or "") for given in ids)


@pytest.mark.parametrize("given", ["12345678", "a.b-C_d9", "x" * 128])
async def test_a_valid_request_id_is_kept(middleware: RequestMiddleware, given: str) -> None:
    answer = await ask(middleware, "GET", "/id", headers=[(ID, given)])
    assert (answer.header("x-request-id"), answer.json()["id"]) == (given, given)


@pytest.mark.parametrize(
    "given", ["", "1234567", "x" * 129, "with space", "line\nbreak", "ümlaut-id", 'a"b{c}d,e', "12345678\n"]
)
async def test_an_invalid_request_id_is_replaced(middleware: RequestMiddleware, given: str) -> None:
    answer = await ask(middleware, "GET", "/id", headers=[(ID, given)])
    assert re.fullmatch(r"[0-9a-f]{32}", answer.header("x-request-id") or "")


async def test_a_refusal_holds_the_request_id(middleware: RequestMiddleware) -> None:
    for method, path in (("GET", "/nothing"), ("PATCH", "/id"), ("GET", "/fails/x"), ("POST", "/id")):
        answer = await ask(middleware, method, path, headers=[(ID, "my-request-1")])
        assert answer.json()["request_id"] == answer.header("x-request-id") == "my-request-1"


@pytest.mark.parametrize(("method", "body"), [("GET", b""), ("POST", b'{"a": "b"}')])
async def test_a_request_leaves_nothing_for_the_garbage_collector(
    middleware: RequestMiddleware, method: str, body: bytes
) -> None:
    target, headers = ("/size", [JSON]) if body else ("/id", [])
    await ask(middleware, method, target, headers=headers, body=body)
    gc.collect()
    gc.disable()
    try:
        for _ in range(20):
            await ask(middleware, method, target, headers=headers, body=body)
        assert gc.collect() < 20  # cycles made a request a sixth slower
    finally:
        gc.enable()


EVERY_KIND = {
    200: ("GET", "/id", b""),
    404: ("GET", "/nothing", b""),
    405: ("PATCH", "/id", b""),
    413: ("POST", "/size", b"x" * (LIMIT + 1)),
    422: ("POST", "/size", b"[]"),
    500: ("GET", "/fails/x", b""),
}


@pytest.mark.parametrize("status", EVERY_KIND)
@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_every_response_has_the_security_headers(
    middleware: RequestMiddleware, status: int, scheme: str
) -> None:
    method, path, body = EVERY_KIND[status]
    answer = await ask(middleware, method, path, body=body, headers=[JSON], scheme=scheme)

    assert answer.status == status
    assert answer.header("x-content-type-options") == "nosniff"
    assert answer.header("x-frame-options") == "DENY"
    assert answer.header("x-request-id")
    assert answer.header("referrer-policy") == "no-referrer"
    assert answer.header("cross-origin-resource-policy") == "same-origin"
    assert answer.header("cache-control") == "private, no-store"
    assert answer.header("content-security-policy") == "default-src 'none'; frame-ancestors 'none'"
    assert answer.header("strict-transport-security") == ("max-age=31536000" if scheme == "https" else None)
    assert len(answer.headers) == len({name for name, _ in answer.headers})


async def test_a_response_keeps_its_own_policies(service: Service) -> None:
    answer = await ask(service, "GET", "/docs")
    assert "style-src 'sha256-" in (answer.header("content-security-policy") or "")
    assert answer.header("cache-control") == "no-cache"


@pytest.mark.parametrize(
    ("policy", "own"), [("cross-origin-resource-policy", "cross-origin"), ("referrer-policy", "same-origin")]
)
async def test_a_policy_of_a_response_is_sent_once(policy: str, own: str) -> None:
    answer = await ask(RequestMiddleware(Response("", headers={policy: own}), body_limit=LIMIT), "GET", "/")
    assert [value for name, value in answer.headers if name == policy.encode()] == [own.encode()]


async def test_a_response_object_sent_twice_has_each_header_once(middleware: RequestMiddleware) -> None:
    first, second = [await ask(middleware, "GET", "/shared", headers=[(ID, f"request-{n}")]) for n in range(2)]
    assert len(first.headers) == len(second.headers)
    assert second.header("x-request-id") == "request-1"


def sized(size: int) -> bytes:
    return b'{"a": "%s"}' % (b"x" * (size - 9))


@pytest.mark.parametrize("parts", [1, 2, 7])
@pytest.mark.parametrize(("size", "status"), [(LIMIT, 200), (LIMIT + 1, 413)])
async def test_a_body_over_the_limit_is_refused_in_one_or_many_parts(
    middleware: RequestMiddleware, parts: int, size: int, status: int
) -> None:
    body = sized(size)
    step = -(-size // parts)
    chunks = [body[at : at + step] for at in range(0, size, step)]

    answer = await ask(middleware, "POST", "/size", headers=[JSON], body=chunks)

    assert answer.status == status
    if status == 413:
        assert answer.json()["code"] == "body_too_large"


async def test_the_content_length_of_a_chunked_body_is_ignored(middleware: RequestMiddleware) -> None:
    headers = [JSON, ("Content-Length", "2"), ("Transfer-Encoding", "chunked")]  # some servers let both pass
    body = sized(LIMIT + 1)
    assert (await ask(middleware, "POST", "/size", headers=headers, body=[body[:9], body[9:]])).status == 413


async def test_a_body_with_a_large_content_length_is_not_read(middleware: RequestMiddleware) -> None:
    async def receive() -> Message:
        raise AssertionError

    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    headers = [(b"host", b"x"), (b"content-length", str(LIMIT + 1).encode())]
    scope = {"type": "http", "method": "POST", "path": "/size", "query_string": b"", "headers": headers}
    await middleware(scope, receive, send)

    assert sent[0]["status"] == 413


@pytest.mark.parametrize("length", ["abc", "-1", "+5", "1_0", "1e3", " 5", "0x10", "5.0", "\xb2", "5, 5"])
async def test_a_malformed_length_is_a_bad_request(middleware: RequestMiddleware, length: str) -> None:
    answer = await ask(middleware, "POST", "/size", headers=[JSON, ("Content-Length", length)], body=sized(20))
    assert (answer.status, answer.json()["code"]) == (400, "bad_request")


@pytest.mark.parametrize("length", ["9" * 18, "9" * 19, "9" * 5000])
async def test_a_content_length_of_many_digits_is_too_large(middleware: RequestMiddleware, length: str) -> None:
    assert (await ask(middleware, "POST", "/size", headers=[("Content-Length", length)])).status == 413


@pytest.mark.parametrize("target", ["/id%00", "/fails/%00", "/id?a=%00", "/id?%00", "/id?a=b&c=d%00e", "/%00"])
async def test_a_nul_in_the_path_is_refused(middleware: RequestMiddleware, target: str) -> None:
    answer = await ask(middleware, "GET", target)
    assert answer.status == 422
    [error] = answer.json()["detail"]
    assert (error["loc"], error["type"]) == (["query" if "?" in target else "path"], "nul_character")


@pytest.mark.parametrize("target", ["/id?a=%2500", "/id?a=%0&b=0"])
async def test_what_only_looks_like_a_nul_passes(middleware: RequestMiddleware, target: str) -> None:
    assert (await ask(middleware, "GET", target)).status == 200
