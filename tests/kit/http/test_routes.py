"""Compiled routes answer like plain FastAPI, except for the differences in DIFFERENT."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest
from fastapi import FastAPI
from starlette.types import ASGIApp

from builders.kit.errors import EXPECTED
from tests.kit.asgi import Answer, ask
from tests.kit.http.plain_routes import make_compiled, make_plain

JSON = (("Content-Type", "application/json"),)
THING = b'{"name": "lamp", "size": 3}'
NEST = b'{"name":"a","parts":' * 30 + b"[]" + b"}" * 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What is asked."""

    method: str = "GET"
    path: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""

    def __str__(self) -> str:
        """As the name of a test."""
        headers = "".join(f" {name}:{value}" for name, value in self.headers if (name, value) not in JSON)
        return f"{self.method} {self.path}{headers} {self.body[:40].decode('latin-1')}".strip()


def get(path: str, *headers: tuple[str, str]) -> Request:
    return Request(path=path, headers=headers)


def send(method: str, path: str, body: bytes, *headers: tuple[str, str]) -> Request:
    return Request(method=method, path=path, body=body, headers=headers or JSON)


# Literal and parameter siblings, escapes, other scripts, dots, empty and missing segments.
PATHS = """
    /mine /yours /mine%20 /%6Dine /a%252Fb /gr%C3%BC%C3%9Fe /%F0%9F%9A%80 /ä /. /.. /a+b /a;b=c /%ff /% /%7Bname%7D
    /a/parts/b /a%2Fparts%2Fb /mine/parts/b /numbers /numbers/7 /numbers/0 /numbers/x /numbers/7.0 /numbers/1_0
    /ids/0189b0e2-7d3a-7000-8000-000000000000 /ids/x /ids/0189B0E27D3A70008000000000000000
"""
# Missing, wrong, out of bounds, empty, twice, unknown, strangely written; then of a dependency.
QUERIES = """
    ?limit=1 ?limit=500 ?limit=0 ?limit=501 ?limit= ?limit=x ?limit=1_0 ?limit=%205 ?limit=5.0 ?limit=5.5 ?limit=-0
    ?limit ?q= ?q=a ?tag=a&tag=b&tag=
    ?deep=yes ?deep=2 ?deep= ?q=%C3%A4%C3%B6 ?q=%ff%ff ?q=a+b ?q=a%2Bb ?&&q=ab& ?q=ab;limit=3 ?limit=1&q=a&deep=x
    /kinds /kinds?cursor=ab&mode=fast&colour=red&day=2026-01-02&at=2026-01-02T03:04:05Z&ratio=0.5&code=eur
    /kinds?cursor= /kinds?mode=quick&colour=RED&day=2026-13-02&at=2026-01-02T03:04:05&ratio=2&code=euro&one=x
    /kinds?one=0189b0e2-7d3a-7000-8000-000000000000 /kinds?mode=&colour=&day=&at=&ratio=&code=&one=
    /kinds?ratio=1e-1&day=1767312000 /kinds?ratio=NaN
    /box /box?depth=2&colour=red /box?depth=0&colour=purple
    /area /area?height=2&offset=1 /area?height=0&offset=x /area?offset=-1&height=y
    /window /window?number=4 /window?number=x&width=0&offset=-1 /window?number=4&offset=9 /window?number=4&width=9
"""
# Of POST: right, empty, of another type, out of bounds, with an unknown member, nested.
BODIES = [
    *(THING, b"  \n" + THING, b"", b"{}", b"[]", b"null", b'"lamp"', b"7", b"true", NEST),
    *(b'{"name": ""}', b'{"name": 5, "size": 1.5}', b'{"name": "x", "size": 0}', b'{"name": "x", "size": "3"}'),
    *(b'{"name": "x", "nmae": 1}', b'{"name": "\\u00e4\\ud83d\\ude80"}'),
    *(b'{"name": "%s"}' % name.encode() for name in ("grüße", "x" * 20, "x" * 21)),
]
JSON_TYPES = ["application/x+json", "application/JSON"]
OTHER_TYPES = ["text/plain", "json", "", "application/xml"]
TOKEN = ("X-Token", "abc")
PAIR = b'{"first": %s, "second": %s}' % (THING, THING)

SAME = [
    *map(get, ("", *PATHS.split(), *QUERIES.split())),
    # Headers and cookies, by alias and by name, given twice.
    *(get("/headers"), get("/headers", TOKEN), get("/headers", ("x-token", "ab"))),
    get("/headers", ("X-Token", "äöü")),
    get("/headers", TOKEN, ("X-Token", "defg"), ("X-Level", "1"), ("X-Level", "2")),
    get("/headers", TOKEN, ("X-Level", "one"), ("Cookie", "session=x")),
    *(get("/headers", TOKEN, ("Cookie", cookie)) for cookie in ("session", "session=5", "other=1; session=5")),
    get("/headers", TOKEN, ("Cookie", "session=5"), ("Cookie", "session=6")),
    get("/window?number=4", ("User-Agent", "test")),
    # Bodies: single, of other types, optional, several in one, wrapped, free, a list beside a query.
    *(send("POST", "", body) for body in BODIES),
    *(send("POST", "", THING, ("Content-Type", kind)) for kind in JSON_TYPES),
    send("POST", "", THING, ("Content-Type", "application/json; charset=utf-8")),
    send("POST", "", THING, *JSON, ("Content-Type", "text/plain")),
    *(send("PUT", "/lamp", body) for body in (b"", b"null", THING, b"{}", b"[]")),
    *(send("POST", "/pair", body) for body in (PAIR, THING, b"", b"[1]")),
    send("POST", "/pair", b'{"first": {}, "second": %s, "weight": "heavy"}' % THING),
    *(send("POST", "/wrapped", body) for body in (b'{"size": 4}', b"4", b'{"size": 0}', b"")),
    *(send("POST", "/anything", body) for body in (b'{"a": {"b": [1, 2.5, null, true]}}', b"{}", b"[]", b"null")),
    send("POST", "/anything", b'\xef\xbb\xbf{"a": 1}'),  # a byte order mark, which RFC 8259 lets a reader ignore
    *(send("POST", "/several?limit=0", body) for body in (b"[1, 2]", b'[1, "x"]', b"{}")),
    # Other answers: none, a response of the handler's own, refusals.
    Request(method="DELETE", path="/lamp"),
    *map(get, ("/lamp/either", "/lamp/raw", "/lamp/refused", "/lamp/invalid")),
    *(get("/lamp/owned", *headers) for headers in ((), (("X-API-Key", "reader"),), (("X-API-Key", "nobody"),))),
    *(get("/lamp/owner", *headers) for headers in ((), (("X-API-Key", "reader"),), (("X-API-Key", "nobody"),))),
    get("/lamp/owned", ("Authorization", "Basic cmVhZGVy")),
    get("/lamp/owned", ("Authorization", "Bearer reader"), ("Cookie", "svc_access_token=nobody")),
    send("POST", "/lamp/owned", THING, *JSON, ("X-API-Key", "reader")),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """Where the two part, and why that is meant."""

    why: str
    plain: int
    compiled: int
    requests: list[Request]


DIFFERENT = [
    Difference(
        why="a refusal is problem+json (RFC 9457)",
        plain=404,
        compiled=404,
        requests=[
            *map(get, ("/", "/lamp/", "//", "/a/b", "/a%2Fb", "/a/parts/", "//parts/b")),
            send("POST", "/", THING),
        ],
    ),
    Difference(
        why="a refusal is problem+json, and Allow names all methods of the path (RFC 9110, 15.5.6)",
        plain=405,
        compiled=405,
        requests=[
            *(Request(method=method, path=path) for method in ("PATCH", "OPTIONS") for path in ("", "/mine")),
            Request(method="get", path="/mine"),
            Request(method="TRACE", path="/lamp/either"),
        ],
    ),
    Difference(
        why="a caller without permission gets that error whatever the rest is, and no body is read",
        plain=422,
        compiled=401,
        requests=[send("POST", "/lamp/owned", b"{not json", *JSON, ("X-API-Key", "nobody"))],
    ),
    Difference(
        why="JSON has no NaN and no infinity (RFC 8259, 6); neither fits a column",
        plain=200,
        compiled=422,
        requests=[send("POST", "/anything", b'{"a": %s}' % number) for number in (b"NaN", b"-Infinity", b"1e999")],
    ),
    Difference(
        why="no column can hold a NUL",
        plain=200,
        compiled=422,
        requests=[send("POST", "/anything", body) for body in (b'{"a": "x\\u0000"}', b'{"\\u0000": 1}')],
    ),
    Difference(
        why="half a surrogate is no character, and breaks whatever writes it",
        plain=200,
        compiled=422,
        requests=[send("POST", "/anything", b'{"a": "\\ud800"}')],
    ),
    Difference(
        why="an unknown query parameter, and a repeated one of a single value, are refused",
        plain=200,
        compiled=422,
        requests=[get(each) for each in ("?limit=1&limit=2", "?q=ab&other=1", "?=&q=ab")],
    ),
    Difference(
        why="JSON is UTF-8 (RFC 8259, 8.1)",
        plain=200,
        compiled=422,
        requests=[send("POST", "/anything", '{"a": 1}'.encode("utf-16"))],
    ),
    Difference(
        why="of a member that is there twice only one counts, and parsers differ in which one",
        plain=201,
        compiled=422,
        requests=[send("POST", "", b'{"name": "a", "name": "b"}')],
    ),
    Difference(
        why="a body that is not UTF-8, or hides an endless number, is not JSON and so a 422 too",
        plain=400,
        compiled=422,
        requests=[send("POST", "/anything", body) for body in (b'{"a": "\xff"}', b'{"a": %s}' % (b"1" * 5000))],
    ),
    Difference(
        why="a body of another media type is refused with the accepted types (RFC 9110, 15.5.16)",
        plain=422,
        compiled=415,
        requests=[send("POST", "", THING, ("Content-Type", kind)) for kind in OTHER_TYPES],
    ),
    Difference(
        why="the place and the words of a JSON error are those of another parser",
        plain=422,
        compiled=422,
        requests=[
            send("POST", "", body) for body in (b"{not json", b'{"name": "a",}', b" ", b'{"name": "a"} x', b"01")
        ],
    ),
]


@pytest.fixture(scope="module")
def plain() -> ASGIApp:
    return make_plain()


@pytest.fixture(scope="module")
def compiled() -> ASGIApp:
    return make_compiled()[0]


async def answer(app: ASGIApp, request: Request) -> Answer:
    path = request.path.encode("utf-8").decode("latin-1")
    return await ask(app, request.method, f"/v1/things{path}", headers=request.headers, body=request.body)


def shown(found: Answer) -> Mapping[str, Any]:
    """Return what a client can distinguish.

    Left out: the echo of what was sent in FastAPI's 422, which may be a secret, messages in words of Python, and
    the type that it gives a 204.
    """
    body: Any = found.body
    if found.status == 422:
        errors = [(each["loc"], each["type"], each["msg"]) for each in found.json()["detail"]]
        body = [(loc, kind, EXPECTED.get(kind, message)) for loc, kind, message in errors]
    names = ("content-type", "allow", "content-length", "www-authenticate", "x-kind")
    unlike = {422: "content-length", 204: "content-type"}.get(found.status)
    headers = {name: found.header(name) for name in names if name != unlike}
    return {"status": found.status, "body": body, **headers}


async def test_a_body_of_another_media_type_is_refused(compiled: ASGIApp) -> None:
    form = ("Content-Type", "application/x-www-form-urlencoded")  # as curl -d sends it
    found = await answer(compiled, send("POST", "", THING, form))
    assert (found.status, found.header("accept")) == (415, "application/json")


@pytest.mark.parametrize("request_", SAME, ids=str)
async def test_responses_are_the_same(plain: ASGIApp, compiled: ASGIApp, request_: Request) -> None:
    assert shown(await answer(compiled, request_)) == shown(await answer(plain, request_))


@pytest.mark.parametrize(
    ("difference", "request_"), [(each, request) for each in DIFFERENT for request in each.requests], ids=str
)
async def test_responses_differ_only_where_listed(
    plain: ASGIApp, compiled: ASGIApp, difference: Difference, request_: Request
) -> None:
    theirs, ours = await answer(plain, request_), await answer(compiled, request_)

    assert (theirs.status, ours.status) == (difference.plain, difference.compiled)
    assert shown(theirs) != shown(ours)
    if ours.status == 422:
        assert [set(error) for error in ours.json()["detail"]] == [{"loc", "msg", "type"}]
    else:
        assert ours.header("content-type") == "application/problem+json"
        assert ours.json()["status"] == ours.status


async def test_requests_of_every_kind_are_compared(plain: ASGIApp) -> None:
    """Or the first test might compare nothing but 404s."""
    found = {(await answer(plain, request)).status for request in SAME}
    assert found == {200, 201, 204, 206, 401, 403, 404, 422}


async def test_allow_names_all_methods_of_a_path(compiled: ASGIApp) -> None:
    found = await answer(compiled, Request(method="PATCH", path="/lamp"))
    assert found.header("allow") == "DELETE, GET, HEAD, PUT"
    # A literal sibling has its own methods, and none of the parameter beside it.
    for method in ("PATCH", "PUT", "DELETE"):
        found = await answer(compiled, Request(method=method, path="/mine"))
        assert (found.status, found.header("allow")) == (405, "GET, HEAD")
    found = await answer(compiled, Request(method="PATCH", path=""))
    assert found.header("allow") == "GET, HEAD, POST"


async def test_fastapi_without_the_path_router_uses_the_compiled_handler() -> None:
    """Starlette's `$` also matches before a line break at the end, which no segment of the table has."""
    front, app = make_compiled()
    for target in ("/v1/things/mine%0A", "/v1/things/mine"):
        found = await ask(app, "GET", target)
        assert found.status == 200
    refused = await ask(front, "POST", "/v1/things/lamp/owned%0A", body=b'{"a": NaN}', headers=JSON)
    assert refused.status == 401
    assert refused.header("content-type") == "application/problem+json"


def test_the_openapi_documents_are_the_same() -> None:
    """But for scope, effect, credentials, the key that makes a POST repeatable, our own refusals, the summary."""
    theirs, ours = make_plain().openapi(), FastAPI.openapi(make_compiled()[1])
    scopes = {}
    for path, operations in ours["paths"].items():
        for method, operation in operations.items():
            scope = operation.pop("x-scope", None)
            assert operation.pop("x-rate-limit") == (
                ["address"] if scope is None else ["key", "account", "session", "person"]
            )
            assert operation["responses"].pop("429")["headers"].keys() >= {"Retry-After"}
            for status in ("413", "415"):
                assert (operation["responses"].pop(status, None) is None) == ("requestBody" not in operation)
            assert "bad_request" in operation["responses"].pop("400")["description"]
            assert scope is None or "503" in operation["responses"]
            operation["responses"].pop("503", None)
            assert "422" in operation["responses"]  # also without parameters: an unknown one is refused
            theirs["paths"][path][method]["responses"].setdefault("422", operation["responses"]["422"])
            its = theirs["paths"][path][method]
            assert operation["summary"] == its.get("description", its["summary"]).removesuffix(".")
            its["summary"] = operation["summary"]
            if "422" not in its["responses"]:  # ours refuses a body that nothing reads
                operation["responses"].pop("422", None)
            if scope is None:
                continue
            scopes[method, path.removeprefix("/v1/things")] = scope, operation.pop("x-effect")
            assert {operation["responses"].pop(status, None) is None for status in ("401", "403")} == {False}
            if method == "post":
                assert operation["parameters"].pop()["name"] == "Idempotency-Key"
                assert "idempotency_in_flight" in operation["responses"].pop("409")["description"]
            sent = [operation["parameters"].pop()["name"] for _ in range(3)]
            assert sent == ["svc_access_token", "X-API-Key", "Authorization"]

    assert scopes == {
        ("get", "/{name}/owned"): ("things:read", "read"),
        ("get", "/{name}/owner"): ("things:read", "read"),
        ("post", "/{name}/owned"): ("things:write", "write"),
    }
    assert json.dumps(ours["paths"], indent=1) == json.dumps(theirs["paths"], indent=1)
    assert ours["components"] == theirs["components"]
