"""Well-formed requests for unknown paths, with unusual text."""

import re
from functools import cache
from urllib.parse import quote

import pytest

from tests.fuzz.served import Served
from tests.fuzz.wire import ask
from tests.published import published

METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "QUERY", "PROPFIND"]
PAGES = {"/docs": {"GET", "HEAD"}, "/redoc": {"GET", "HEAD"}, "/openapi.json": {"GET", "HEAD"}}
# Whose GET changes something, so that there is no HEAD.
CHANGING = {
    "/v1/leads/confirm",
    "/v1/account/email-verification/confirm",
    "/v1/aliases/destinations/confirm",
}
ODD = [
    "%ff%fe",  # not UTF-8
    "%ed%a0%80",  # a surrogate
    "%c0%ae%c0%ae",  # dots, too long
    "%f4%90%80%80",  # beyond Unicode
    "%00",
    "%0d%0aX:%20y",
    "%zz",
    "%",
    "%25%32%35",
    "%e2%80%ae",  # right to left from here
    "%ef%bf%bf",
    "%cc%81" * 500,
    quote("ﷺ") * 500,  # NFKC makes eighteen of each
    "a" * 20_000,
    "..;/",
    "*",
    "{}",
    "[",
]
VALUES = [
    b"\xff\xfe",
    "☃".encode(),
    b'"',
    b"," * 20_000,
    b'"a", ' * 10_000,
    b"a" * 60_000,
    b"=;" * 20_000,
    b"%00",
    b"../../etc/passwd",
    b"-1",
    b"bytes=" + b"0-0," * 10_000,
    b"Bearer svc_live_\xff",
    b"svc_access_token=\xff\xfe",
    b"svc_live_" + b"0" * 50,
]
HEADERS = [
    "Accept",
    "Accept-Encoding",
    "Authorization",
    "Content-Type",
    "Cookie",
    "Expect",
    "Forwarded",
    "Host",
    "Idempotency-Key",
    "If-Modified-Since",
    "If-None-Match",
    "If-Range",
    "Origin",
    "Range",
    "traceparent",
    "X-API-Key",
    "X-Forwarded-For",
    "X-HTTP-Method-Override",
    "X-Request-ID",
]
OUTSIDE = [
    "../" * 8 + "etc/passwd",
    "..%2f" * 8 + "etc%2fpasswd",
    "%2e%2e/" * 8 + "etc/passwd",
    "%2e%2e%2f" * 8 + "etc%2fpasswd",
    "..%5c" * 8 + "etc%5cpasswd",
    "....//" * 8 + "etc/passwd",
    "/etc/passwd",
    "%2fetc%2fpasswd",
    "file:///etc/passwd",
    "../secret_keys",
    "%2e%2e%2fsecret_keys",
    "../demo-keys.json",
    "..%2fdemo-keys.json",
    "../__init__.py",
    "%2e%2e/__init__.py",
    "logo.png/../../__init__.py",
    "..",
    ".",
    "",
    "%00",
    "logo.png%00.png",
    "a" * 5_000,
    "a/" * 5_000,
]


@cache
def methods_by_path() -> dict[str, set[str]]:
    """Return the methods of each published path."""
    paths = published().document["paths"]
    found = {path: {method.upper() for method in each} for path, each in paths.items()}
    for path, methods in found.items():
        if "GET" in methods and path not in CHANGING:
            methods.add("HEAD")
    return found


def _there(template: str) -> re.Pattern[str]:
    return re.compile(re.sub(r"\{\w+\}", "[^/]+", template))


def _methods(path: str) -> set[str]:
    """Return the methods of a path; a literal path comes before a template."""
    every = {**methods_by_path(), **PAGES}
    if path in every:
        return every[path]
    return set().union(*(methods for template, methods in every.items() if _there(template).fullmatch(path)))


@pytest.mark.parametrize("method", METHODS)
def test_an_unpublished_method_is_refused_on_every_path(unharmed: Served, method: str) -> None:
    secret = unharmed.header()
    for template in [*methods_by_path(), *PAGES]:
        path = re.sub(r"\{\w+\}", "x", template)
        answer = ask(unharmed.port, f"{method} {path} HTTP/1.1\r\n".encode() + secret)
        if method in _methods(path):
            assert answer.status != 405, path
        else:
            assert answer.status == 405, path
            assert set(answer.headers["Allow"].split(", ")) == _methods(path)
        assert secret.split()[1] not in answer.body + str(answer.headers).encode()


@pytest.mark.parametrize("at", range(len(ODD)))
def test_unusual_text_in_a_path_or_a_query_is_no_error(unharmed: Served, at: int) -> None:
    """Each path gets a third of the texts, and each text a third of the paths."""
    odd, templates = ODD[at], [each for each in methods_by_path() if "{" in each]
    paths = [re.sub(r"\{\w+\}", odd, template) for template in templates[at % 3 :: 3]]
    queries = [f"{name}={odd}" for name in ("q", "category", "limit", "cursor", odd)]
    paths += [f"/v1/catalog/domains?{query}" for query in queries]
    paths += [f"/v1/catalog/suggest?q={odd}", f"/v1/api-keys?cursor={odd}", f"/{odd}", f"/docs/{odd}"]
    paths += [f"/v1/catalog/check?local_part={odd}&domain=harbour.example"]
    paths += [f"/v1/catalog/check?local_part=ada&domain={odd}"]
    for path in paths:
        answer = ask(unharmed.port, f"GET {path} HTTP/1.1\r\n".encode() + unharmed.header())
        assert answer.status in {200, 400, 403, 404, 405, 422}, path[:80]


@pytest.mark.parametrize("name", HEADERS)
def test_an_unusual_header_is_no_error(unharmed: Served, name: str) -> None:
    filename = "0" * 64 + ".png"
    for value in VALUES:
        header = name.encode() + b": " + value + b"\r\n"
        for path in ("/v1/catalog/domains", f"/v1/catalog/assets/{filename}", "/docs"):
            ask(unharmed.port, f"GET {path} HTTP/1.1\r\n".encode() + header)
        for key in (b"", unharmed.header()):
            ask(unharmed.port, b"GET /v1/api-keys HTTP/1.1\r\n" + header + key)
        ask(unharmed.port, b"POST /v1/sandbox/plan HTTP/1.1\r\n" + header + unharmed.header(), b"{}")


@pytest.mark.parametrize(
    "given", [b"abc", b"a" * 129, b"abcdefgh%0d%0aSet-Cookie:a=b", b"abcdefgh Set-Cookie: a=b", "ä".encode() * 8]
)
def test_an_ambiguous_request_id_is_not_repeated(unharmed: Served, given: bytes) -> None:
    answer = ask(unharmed.port, b"GET /livez HTTP/1.1\r\nX-Request-ID: " + given + b"\r\n")
    assert re.fullmatch("[0-9a-f]{32}", answer.headers["X-Request-ID"])
    assert answer.headers["Set-Cookie"] is None


def test_two_request_ids_give_one(unharmed: Served) -> None:
    answer = ask(unharmed.port, b"GET /livez HTTP/1.1\r\nX-Request-ID: abcdefgh\r\nX-Request-ID: ijklmnop\r\n")
    assert len(answer.headers.get_all("X-Request-ID", [])) == 1


def test_a_path_cannot_leave_the_assets(unharmed: Served) -> None:
    for outside in OUTSIDE:
        answer = ask(unharmed.port, f"GET /v1/catalog/assets/{outside} HTTP/1.1\r\n".encode())
        assert answer.status in {404, 422}, outside
        assert answer.headers["Content-Type"].endswith("json")


@pytest.mark.parametrize("path", ["/v1/api%2dkeys", "/%761/api-keys"])
def test_another_spelling_of_a_path_still_needs_a_key(unharmed: Served, path: str) -> None:
    assert ask(unharmed.port, f"GET {path} HTTP/1.1\r\n".encode()).status == 401


@pytest.mark.parametrize("path", ["/v1%2fapi-keys", "/v1/api-keys%2fscopes"])
def test_an_encoded_slash_is_not_a_separator(unharmed: Served, path: str) -> None:
    assert ask(unharmed.port, f"GET {path} HTTP/1.1\r\n".encode()).status == 404


@pytest.mark.parametrize(
    "path",
    ["//v1/api-keys", "/v1//api-keys", "/v1/api-keys/", "/v1/./api-keys", "/livez/../v1/api-keys", "/livez/"],
)
def test_a_path_that_is_not_normalized_is_unknown(unharmed: Served, path: str) -> None:
    assert ask(unharmed.port, f"GET {path} HTTP/1.1\r\n".encode() + unharmed.header()).status == 404


def test_the_host_of_an_absolute_url_is_ignored(unharmed: Served) -> None:
    for path in ("/livez", "/v1/catalog/domains", "/docs", "/openapi.json", "/nowhere"):
        answer = ask(unharmed.port, f"GET http://other.example{path} HTTP/1.1\r\n".encode())
        assert answer.status == (404 if path == "/nowhere" else 200)
        assert b"other.example" not in answer.body + str(answer.headers).encode()
