"""The cookie: how it is set, and for which requests it counts."""

from collections.abc import AsyncIterator
from datetime import timedelta
from types import SimpleNamespace

import pytest
from fastapi import Request

from builders.identity import api, sign_in_pages
from builders.kit.http.callers import CredentialsInvalid, find_credential
from builders.kit.http.origins import origin_of
from builders.kit.values import clock
from tests.cast import Client, Person
from tests.contract.document import operations

OWN = "http://builders.test"
PATH = "/v1/auth/logout"


@pytest.fixture
async def browser(alice: Person) -> AsyncIterator[Client]:
    """Alice, signed in with her browser."""
    async with Client(alice.service, cookie=(await alice.sign_in()).token) as client:
        yield client


@pytest.mark.parametrize(
    ("headers", "passes"),
    [
        pytest.param({"Sec-Fetch-Site": "same-origin"}, True, id="a request of our page"),
        pytest.param({"Sec-Fetch-Site": "none"}, True, id="a request of the user"),
        # Only browsers write Sec-Fetch-Site.
        pytest.param(
            {"Sec-Fetch-Site": "same-origin", "Origin": "null"}, True, id="same-origin outweighs a null origin"
        ),
        pytest.param({"Origin": OWN}, True, id="our origin"),
        # The sign-in page answers alike.
        pytest.param({"Origin": OWN, "Sec-Fetch-Site": "cross-site"}, False, id="cross-site outweighs our origin"),
        pytest.param({}, False, id="no header"),
        pytest.param({"Sec-Fetch-Site": "same-site"}, False, id="same-site"),
        pytest.param({"Sec-Fetch-Site": "cross-site"}, False, id="cross-site"),
        pytest.param(
            {"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"},
            False,
            id="cross-site with its origin",
        ),
        pytest.param({"Sec-Fetch-Site": "Same-Origin"}, False, id="capitals"),
        pytest.param({"Sec-Fetch-Site": ""}, False, id="an empty Sec-Fetch-Site"),
        pytest.param({"Origin": "null"}, False, id="a null origin"),
        pytest.param({"Origin": ""}, False, id="an empty origin"),
        pytest.param({"Origin": "https://builders.test"}, False, id="another scheme"),
        pytest.param({"Origin": f"{OWN}:8000"}, False, id="another port"),
        pytest.param({"Origin": f"{OWN}/"}, False, id="a trailing slash"),
        pytest.param({"Origin": "http://evil.builders.test"}, False, id="a subdomain"),
        pytest.param({"Origin": "http://builders.test.evil.example"}, False, id="a domain that begins equally"),
        # The client writes Host.
        pytest.param(
            {"Origin": "https://evil.example", "Host": "evil.example"}, False, id="the Host of the other site"
        ),
        pytest.param(
            {"Origin": "http://evil.example", "Host": "evil.example", "Referer": f"{OWN}/docs"},
            False,
            id="our page as the Referer",
        ),
    ],
)
async def test_an_unsafe_request_must_come_from_our_own_origin(
    browser: Client, headers: dict[str, str], *, passes: bool
) -> None:
    answer = await browser.post(PATH, headers=headers)

    assert answer.status_code == (200 if passes else 403)
    if not passes:
        assert answer.json()["code"] == "origin_forbidden"


async def test_twice_is_not_once(browser: Client) -> None:
    for name, value in (("Origin", OWN), ("Sec-Fetch-Site", "same-origin")):
        answer = await browser.post(PATH, headers=[(name, value), (name, "https://evil.example")])
        assert answer.status_code == 403


async def test_reading_is_free(browser: Client) -> None:
    answer = await browser.get("/v1/auth/session", headers={"Origin": "https://evil.example"})

    assert answer.status_code == 200
    assert "Access-Control-Allow-Origin" not in answer.headers  # so that the other site does not see it


async def test_a_bearer_may_come_from_anywhere(alice: Person) -> None:
    async with Client(alice.service, token=(await alice.sign_in()).token) as client:
        answer = await client.post(
            PATH, headers={"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"}
        )

    assert answer.status_code == 200


async def test_a_key_before_the_cookie_decides(browser: Client, alice: Person) -> None:
    answer = await browser.delete("/v1/auth/sessions/x", headers={"X-API-Key": alice.key})

    assert answer.status_code == 404  # and not 403: the cookie was not what counted


async def test_of_two_cookies_that_differ_neither_counts(alice: Person, anyone: Client) -> None:
    one, other = [(await alice.sign_in()).token for _ in range(2)]

    twice = f"svc_access_token={one}; a=b; svc_access_token={one}"
    planted = f"svc_access_token={other}; svc_access_token={one}"

    assert (await anyone.get("/v1/auth/session", headers={"Cookie": twice})).status_code == 200
    assert (await anyone.get("/v1/auth/session", headers={"Cookie": planted})).status_code == 401


def test_cookies_in_headers_of_their_own_are_read_together() -> None:
    raw = [(b"cookie", b"svc_access_token=a"), (b"cookie", b"b=c"), (b"cookie", b"svc_access_token=d")]

    with pytest.raises(CredentialsInvalid, match="several cookies"):
        find_credential({"type": "http", "headers": raw})
    assert find_credential({"type": "http", "headers": raw[:2]}) is not None


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        ("http://builders.test", OWN),
        ("https://Builders.Example:443/base/path", "https://builders.example"),
        ("http://127.0.0.1:8000", "http://127.0.0.1:8000"),
        ("http://builders.test:80", OWN),
        ("http://[::1]:8000", "http://[::1]:8000"),
        ("https://builders.example:8443", "https://builders.example:8443"),
    ],
)
def test_our_origin_is_written_as_browsers_write_it(url: str, origin: str) -> None:
    assert origin_of(url) == origin


@pytest.mark.parametrize(
    ("scheme", "base_url", "secure"),
    [
        ("http", "http://builders.test", False),
        ("https", "http://builders.test", True),
        ("http", "https://builders.example", True),  # behind a proxy that ends TLS
    ],
)
async def test_the_cookie_is_secure_where_there_is_tls(
    alice: Person, scheme: str, base_url: str, *, secure: bool
) -> None:
    settings = alice.service.api.state.settings.model_copy(update={"base_url": base_url})
    app = SimpleNamespace(state=SimpleNamespace(settings=settings))
    scope = {"type": "http", "scheme": scheme, "headers": [], "path": "/", "server": ("x", 1), "app": app}

    assert api.secure(Request(scope)) is secure


def test_the_cookie_is_for_us_alone_and_lasts_as_long_as_the_token() -> None:
    ends = clock.now() + timedelta(minutes=10, milliseconds=900)

    answer = sign_in_pages.with_cookie({}, token="a.b.c", expires_at=ends, secure=True)

    assert answer.headers["Set-Cookie"] == (
        "svc_access_token=a.b.c; Max-Age=600; Path=/; HttpOnly; SameSite=Lax; Secure"
    )
    past = sign_in_pages.with_cookie({}, token="a.b.c", expires_at=ends - timedelta(days=1), secure=False)
    assert "; Max-Age=0;" in past.headers["Set-Cookie"]


async def test_unsafe_operations_publish_the_refusal(alice: Person) -> None:
    responses = operations(alice.service.openapi())["POST /v1/auth/logout"]["responses"]

    assert "origin_forbidden" in responses["403"]["description"]
    assert "issuer_unavailable" in responses["503"]["description"]
