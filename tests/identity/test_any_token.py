"""Any text in place of a token is refused wherever a token is sent: it lets nobody in, and breaks nothing."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from hypothesis import given, strategies as st

from tests.cast import Client, Person
from tests.changes import changed_text, check
from tests.loop_time import loop_time
from tests.random_cases import cases

Send = Callable[[Client, str], Awaitable[httpx.Response]]
REFUSED = {400, 401, 403, 404, 410, 422}
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=80)
SHAPES = st.sampled_from(
    [
        *(
            "svc_live_" + "0" * 60,
            "svc_test_x",
            "svc_grant_" + "a" * 43,
            "e30.e30.e30",
            "eyJhbGciOiJub25lIn0.e30.",
        ),
        *("0" * 5_000, "a" * 43, "=" * 44, "%00", "../..", "1", "null", "AAAA-AAAA", "\u0131" * 40),
    ]
)


def in_header(name: str, path: str, prefix: str = "") -> Send:
    async def send(client: Client, text: str) -> httpx.Response:
        value = prefix.encode() + text.encode().translate(None, b"\r\n\0")
        return await client.get(path, headers={name.encode(): value})

    return send


def in_path(path: str, **query: str) -> Send:
    async def send(client: Client, text: str) -> httpx.Response:
        return await client.get(path.format(quote(text, safe="")), params=query)

    return send


def in_query(path: str) -> Send:
    async def send(client: Client, text: str) -> httpx.Response:
        return await client.get(path, params={"token": text})

    return send


def in_body(path: str, member: str, **others: Any) -> Send:
    async def send(client: Client, text: str) -> httpx.Response:
        return await client.post(path, json={member: text, **others})

    return send


PLACES: Mapping[str, Send] = {
    "key": in_header("X-API-Key", "/v1/me"),
    "bearer": in_header("Authorization", "/v1/me", "Bearer "),
    "cookie": in_header("Cookie", "/v1/me", "svc_access_token="),
    "calendar": in_query("/v1/portfolio/renewals.ics"),
    "click": in_path("/v1/t/c/{}", u="https://harbour.example/", m="x"),
    "unsubscribe": in_path("/v1/mail/unsubscribe/{}"),
    "lead": in_query("/v1/leads/confirm"),
    "address": in_query("/v1/account/email-verification/confirm"),
    "destination": in_query("/v1/aliases/destinations/confirm"),
    "sign-in": in_body("/v1/auth/login/redeem", "token"),
    "code": in_body("/v1/auth/login/redeem", "code", email="ada@example.net"),
    "grant": in_body("/v1/auth/login-as", "grant"),
    "device": in_body("/v1/auth/device/token", "device_code"),
    "erasure": in_query("/v1/account/erasure/cancel"),
}


@pytest.mark.fuzzer
@cases(60)
@given(place=st.sampled_from(sorted(PLACES)), data=st.data())
async def test_any_text_in_place_of_a_token_is_refused(
    anyone: Client, alice: Person, place: str, data: st.DataObject
) -> None:
    real = data.draw(st.sampled_from((alice.key, (await alice.sign_in()).token)))
    text = data.draw(TEXTS | SHAPES | changed_text(real))
    if text.translate({0: None, 10: None, 13: None}).strip() == real:  # as a header has it
        return
    with loop_time() as loop:
        answer = await PLACES[place](anyone, text)
    assert answer.status_code in REFUSED, (answer.status_code, answer.text)
    check(answer, loop)
    assert "set-cookie" not in answer.headers or 'svc_access_token=""' in answer.headers["set-cookie"]
    assert alice.account.email not in answer.text
    assert real not in answer.text
