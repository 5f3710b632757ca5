"""How large a body may be without credentials, and what of a request's form every operation refuses."""

import pytest

from builders.app import Service
from tests.kit.asgi import ask

KB = 1024
JSON = ("Content-Type", "application/json")
PUBLIC = {
    "/v1/invoices/stripe": 256 * KB,
    "/v1/auth/login": 16 * KB,
    "/v1/auth/login/redeem": 16 * KB,
    "/v1/auth/login-as": 16 * KB,
    "/v1/leads": 16 * KB,
    "/public/v1/builders/waitlist": 16 * KB,
    "/v1/catalog/events": 64 * KB,
    "/v1/auth/login/page": 16 * KB,
}


@pytest.mark.parametrize(("path", "limit"), PUBLIC.items())
@pytest.mark.parametrize("parts", [1, 3])
async def test_a_body_without_credentials_has_a_small_limit(
    service: Service, path: str, limit: int, parts: int
) -> None:
    body = b"x" * (limit + 1)
    chunks = [body[at : at + limit // parts] for at in range(0, len(body), limit // parts)]
    answer = await ask(service, "POST", path, headers=[JSON], body=chunks)
    assert (answer.status, answer.json()["code"]) == (413, "body_too_large")
    assert f" {limit} bytes" in answer.json()["detail"]


@pytest.mark.parametrize("headers", [[("Host", "a"), ("Host", "a")], [("Host", "a"), ("Host", "b")]])
async def test_two_hosts_are_refused(service: Service, headers: list[tuple[str, str]]) -> None:
    answer = await ask(service, "GET", "/livez", headers=headers)
    assert (answer.status, answer.json()["code"], answer.header("connection")) == (400, "bad_request", "close")


@pytest.mark.parametrize(
    ("version", "status"), [("1.1", 400), ("1.0", 200), ("2.0", 505), ("0.9", 505), ("2", 200)]
)
async def test_no_host_and_a_version(service: Service, version: str, status: int) -> None:
    assert (await ask(service, "GET", "/livez", without_host=True, version=version)).status == status


@pytest.mark.parametrize("coding", ["gzip, chunked", "gzip", "identity", "chunked, chunked", "x"])
async def test_a_transfer_coding_besides_chunked_is_not_understood(service: Service, coding: str) -> None:
    answer = await ask(service, "POST", "/v1/leads", headers=[("Transfer-Encoding", coding)])
    assert (answer.status, answer.json()["code"]) == (501, "transfer_coding_unsupported")


@pytest.mark.parametrize("path", ["/v1%2fme", "/v1%2Fme", "/v1/t/o/a%2fb"])
async def test_an_encoded_slash_is_not_a_slash(service: Service, path: str) -> None:
    answer = await ask(service, "GET", path)
    assert (answer.status, answer.json()["code"]) == (404, "not_found")
