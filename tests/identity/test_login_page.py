import re
from datetime import timedelta

import pytest

from builders.kit.values import clock
from tests.browser import press
from tests.cast import Client, Person
from tests.identity.sign_in_messages import Postbox, SignInMessage

LINK = "/v1/auth/login"
PAGE = "/v1/auth/login/page"
REDEEM = "/v1/auth/login/redeem"
SESSION = "/v1/auth/session"
BROWSER = {"Accept": "text/html,application/xhtml+xml", "Sec-Fetch-Site": "same-origin"}


@pytest.fixture
async def message(anyone: Client, alice: Person, postbox: Postbox) -> SignInMessage:
    """Return a sign-in message to Alice."""
    return await postbox.ask(anyone, alice.account.email)


async def test_the_link_opens_a_page_whose_button_signs_in(
    anyone: Client, alice: Person, message: SignInMessage
) -> None:
    page = await anyone.get(message.link, headers={"Accept": "text/html", "Sec-Fetch-Site": "cross-site"})
    action, token = re.search(r'action="([^"]+)"', page.text), re.search(r'value="([^"]+)"', page.text)
    assert action is not None
    assert token is not None
    answer = await anyone.post(action[1], data={"token": token[1]}, headers=BROWSER)

    assert (page.status_code, answer.status_code, answer.headers["location"]) == (200, 303, "/console")
    assert page.text.count("<button") == 1
    assert "HttpOnly" in answer.headers["set-cookie"]
    assert (await anyone.get(SESSION)).json()["account"]["id"] == str(alice.account.id)


async def test_the_button_signs_in_over_plain_http(anyone: Client, alice: Person, message: SignInMessage) -> None:
    answer = await press(anyone, await anyone.get(message.link, headers={"Accept": "text/html"}))

    assert (answer.status_code, answer.headers["location"]) == (303, "/console")
    assert (await anyone.get(SESSION)).json()["account"]["id"] == str(alice.account.id)


@pytest.mark.parametrize("headers", [{"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"}])
async def test_what_another_site_sent_is_refused_with_a_page(
    anyone: Client, message: SignInMessage, headers: dict[str, str]
) -> None:
    answer = await anyone.post(PAGE, data={"token": message.token}, headers={**headers, "Accept": "text/html"})

    assert (answer.status_code, answer.headers["content-type"]) == (403, "text/html; charset=utf-8")
    assert "You are not signed in" in answer.text
    assert "set-cookie" not in answer.headers
    assert (await anyone.post(REDEEM, json={"token": message.token})).status_code == 200


async def test_the_page_says_who_signs_in_and_no_more(
    anyone: Client, alice: Person, message: SignInMessage
) -> None:
    page = await anyone.get(message.link)

    assert "a***@example.net" in page.text
    assert alice.account.email not in page.text
    assert message.code not in page.text
    assert "set-cookie" not in page.headers


async def test_the_token_leaves_the_page_with_nothing_but_the_button(
    anyone: Client, message: SignInMessage
) -> None:
    headers = (await anyone.get(message.link)).headers

    assert headers["referrer-policy"] == "same-origin"
    assert headers["cache-control"] == "no-store"
    assert headers["x-frame-options"] == "DENY"
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "form-action 'self'" in policy
    assert "script-src" not in policy


@pytest.mark.parametrize("method", ["GET", "HEAD"])
async def test_opening_the_link_does_not_sign_in(anyone: Client, message: SignInMessage, method: str) -> None:
    for headers in ({}, {"Sec-Purpose": "prefetch"}, BROWSER):
        answer = await anyone.request(method, message.link, headers=headers)
        assert answer.status_code == 200
        assert "set-cookie" not in answer.headers

    assert (await anyone.get(SESSION)).status_code == 401
    assert (await anyone.post(REDEEM, json={"token": message.token})).status_code == 200


@pytest.mark.parametrize("path", [PAGE, REDEEM, LINK])
@pytest.mark.parametrize(
    "headers",
    [
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "cross-site", "Origin": "http://builders.test"},
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
    ],
)
async def test_a_request_from_another_origin_does_not_sign_in(
    anyone: Client, message: SignInMessage, path: str, headers: dict[str, str]
) -> None:
    body = {"data": {"token": message.token}} if path == PAGE else {"json": {"token": message.token}}
    if path == LINK:
        body = {"json": {"email": message.to}}
    answer = await anyone.post(path, headers=headers, **body)  # type: ignore[arg-type] # a form or JSON, by the case

    assert (answer.status_code, answer.json()["code"]) == (403, "origin_forbidden")
    assert "set-cookie" not in answer.headers
    assert (await anyone.post(REDEEM, json={"token": message.token})).status_code == 200


@pytest.mark.parametrize("headers", [{}, {"Sec-Fetch-Site": "none"}, {"Origin": "http://builders.test"}])
async def test_our_own_page_and_programs_may(
    anyone: Client, message: SignInMessage, headers: dict[str, str]
) -> None:
    assert (await anyone.post(PAGE, data={"token": message.token}, headers=headers)).status_code == 200


async def test_an_ended_link_is_refused_with_a_page_or_a_problem(anyone: Client, message: SignInMessage) -> None:
    clock.move(timedelta(minutes=15))
    pages = [
        await anyone.get(message.link, headers=BROWSER),
        await anyone.get(f"{LINK}?token=never-was-one", headers=BROWSER),
        await anyone.post(PAGE, data={"token": message.token}, headers=BROWSER),
    ]
    answers = [await anyone.get(message.link), await anyone.post(PAGE, data={"token": message.token})]

    assert {each.status_code for each in (*pages, *answers)} == {400}
    assert len({each.text for each in pages}) == 1
    assert pages[0].headers["content-type"].startswith("text/html")
    assert {each.json()["code"] for each in answers} == {"token_invalid"}


async def test_the_button_works_once(anyone: Client, message: SignInMessage) -> None:
    answers = [await anyone.post(PAGE, data={"token": message.token}, headers=BROWSER) for _ in range(2)]

    assert [each.status_code for each in answers] == [303, 400]
    assert "set-cookie" not in answers[1].headers


@pytest.mark.parametrize(
    "sent",
    [
        {"content": b""},
        {"data": {"tok": "x"}},
        {"data": {"token": ""}},
        {"json": {"token": "x" * 40}},
        {"content": b"token=%ff%00&token=", "headers": {"Content-Type": "application/x-www-form-urlencoded"}},
        {"content": b"a&" * 8_000},
        {"content": b"&".join(b"a%d=1" % n for n in range(20))},
    ],
)
async def test_a_form_without_a_token_is_refused(anyone: Client, sent: dict[str, object]) -> None:
    answer = await anyone.post(PAGE, **sent)  # type: ignore[arg-type] # a form or JSON, by the case

    assert answer.status_code in {400, 413, 415, 422}


@pytest.mark.parametrize("token", ["", "short", "x" * 201])
async def test_a_token_of_no_length_is_refused(anyone: Client, token: str) -> None:
    assert (await anyone.get(LINK, params={"token": token})).status_code == 422


async def test_a_token_is_written_into_the_page_as_text(anyone: Client) -> None:
    page = await anyone.get(LINK, params={"token": '"><script>alert(1)</script>'}, headers=BROWSER)

    assert page.status_code == 400
    assert "<script>" not in page.text
