"""A person signs in at another issuer, in a browser that others attack."""

import asyncio
import base64
import re
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from builders.identity.records import SessionKind
from builders.kit.http.callers import COOKIE
from builders.kit.values import clock
from tests.browser import ACCEPT
from tests.cast import Client, Person
from tests.identity.conftest import Trust
from tests.identity.issuer_browser import (
    CALLBACK,
    LOGIN,
    PENDING,
    SESSIONS,
    WANTED,
    at_issuer,
    begin,
    check_refused,
    choices,
    come_back,
    sign_in,
)
from tests.identity.provider import (
    AUDIENCE,
    CLIENT_ID,
    Provider,
    signing_in,
)
from tests.identity.token_forger import Forger


async def test_a_person_signs_in_and_returns_to_where_they_wanted_to_go(
    alice: Person, browser: Client, provider: Provider
) -> None:
    answer = await sign_in(browser)

    assert (answer.status_code, answer.headers["location"]) == (303, WANTED)
    assert (answer.headers["cache-control"], answer.headers["vary"]) == ("no-store", "Accept")
    session = (await browser.get("/v1/auth/session")).json()
    assert (session["account"]["id"], session["method"]) == (str(alice.account.id), "cookie")
    assert "plans:approve" in session["scopes"]
    mine = (await browser.get(SESSIONS)).json()["items"][0]
    assert (mine["kind"], mine["signed_in_by"], mine["current"]) == ("login", provider.issuer, True)
    assert provider.issuer in (await browser.get("/console/sessions", headers={"Accept": ACCEPT})).text


async def test_the_query_of_an_endpoint_is_kept(browser: Client, provider: Provider) -> None:
    """Azure AD B2C names the user flow so."""
    for name in ("authorization_endpoint", "token_endpoint", "jwks_uri"):
        provider.configuration[name] += "?p=b2c_1_sign_in"
    location = await begin(browser)
    answer = await come_back(browser, await at_issuer(location))

    assert (answer.status_code, answer.headers["location"]) == (303, WANTED)
    assert parse_qs(urlsplit(location).query)["p"] == ["b2c_1_sign_in"]
    assert provider.exchanges[-1]["query"] == "p=b2c_1_sign_in"


async def test_the_request_to_the_issuer_has_pkce_state_and_nonce(browser: Client, provider: Provider) -> None:
    first, second = [parse_qs(urlsplit(await begin(browser)).query) for _ in range(2)]

    assert first["code_challenge_method"] == ["S256"]
    assert (first["response_type"], first["scope"]) == (["code"], ["openid email"])
    assert (first["client_id"], first["max_age"]) == ([CLIENT_ID], ["600"])
    assert first["redirect_uri"] == [f"http://builders.test{CALLBACK}"]
    for name in ("state", "nonce", "code_challenge"):
        assert len(first[name][0]) == 43
        assert first[name] != second[name]
    assert provider.exchanges == []


async def test_the_cookie_of_a_sign_in_is_sealed_and_short_lived(browser: Client, provider: Provider) -> None:
    location = await begin(browser)
    ((href, _),) = choices(await browser.get(LOGIN, headers={"Accept": ACCEPT}))
    cookie = (await browser.get(href, headers={"Accept": ACCEPT})).headers["set-cookie"]

    assert re.fullmatch(rf"{PENDING}=[\w-]+; Max-Age=600; Path=/; HttpOnly; SameSite=Lax", cookie)
    sealed = base64.urlsafe_b64decode(browser.cookies[PENDING] + "==")
    assert provider.issuer.encode() not in sealed
    assert parse_qs(urlsplit(location).query)["state"][0].encode() not in sealed


async def test_with_tls_no_other_host_of_the_domain_can_set_the_cookie(provider: Provider, trust: Trust) -> None:
    browser = await trust(**signing_in(provider), base_url="https://builders.test")
    ((href, _),) = choices(await browser.get(LOGIN, headers={"Accept": ACCEPT}))
    answer = await browser.get(href, headers={"Accept": ACCEPT})

    assert answer.headers["set-cookie"].startswith("__Host-svc_sign_in=")
    assert answer.headers["set-cookie"].endswith("; Path=/; HttpOnly; SameSite=Lax; Secure")


async def test_each_sign_in_is_a_new_session(browser: Client) -> None:
    await sign_in(browser)
    first = browser.cookies[COOKIE]
    await sign_in(browser)

    assert browser.cookies[COOKIE] != first
    assert PENDING not in browser.cookies


async def test_a_sign_in_by_mail_is_named_too(alice: Person, anyone: Client, postbox: Any) -> None:
    message = await postbox.ask(anyone, alice.account.email)
    await anyone.post(f"{LOGIN}/redeem", json={"email": alice.account.email, "code": message.code})
    by_code = (await anyone.get(SESSIONS)).json()["items"][0]["signed_in_by"]
    message = await postbox.ask(anyone, alice.account.email)
    await anyone.post(f"{LOGIN}/redeem", json={"token": message.token})
    by_link = (await anyone.get(SESSIONS)).json()["items"][0]["signed_in_by"]
    await alice.sign_in(kind=SessionKind.TOKEN)
    operator = (await anyone.get(SESSIONS)).json()["items"][0]["signed_in_by"]

    assert (by_code, by_link, operator) == ("mail_code", "mail_link", None)


async def test_an_issuer_of_tokens_only_is_not_offered(trust: Trust, provider: Provider) -> None:
    browser = await trust()
    page = await browser.get(LOGIN, headers={"Accept": ACCEPT})
    answer = await browser.get(f"{LOGIN}/issuer", params={"issuer": provider.issuer})

    assert choices(page) == []
    assert (answer.status_code, answer.json()["code"]) == (400, "issuer_sign_in_refused")


async def test_a_page_that_needs_an_account_offers_the_issuer(browser: Client) -> None:
    page = await browser.get(WANTED, headers={"Accept": ACCEPT})
    ((href, label),) = choices(page)
    location = (await browser.get(href, headers={"Accept": ACCEPT})).headers["location"]
    answer = await come_back(browser, await at_issuer(location))

    assert (page.status_code, label) == (401, "Sign in with Harbour")
    assert (answer.status_code, answer.headers["location"]) == (303, WANTED)


async def test_the_id_token_is_no_bearer_token(browser: Client, forger: Forger) -> None:
    token = forger.make(aud=CLIENT_ID)
    answer = await browser.get("/v1/auth/session", headers={"Authorization": f"Bearer {token}"})

    assert answer.status_code == 401


async def test_an_issuer_can_do_both(provider: Provider, trust: Trust, forger: Forger) -> None:
    browser = await trust(**signing_in(provider, audience=AUDIENCE))
    authorization = {"Authorization": f"Bearer {forger.make()}"}

    assert (await browser.get("/v1/auth/session", headers=authorization)).json()["method"] == "jwt"
    assert (await sign_in(browser)).status_code == 303


async def test_the_secret_is_in_the_body_where_the_issuer_takes_it_only_there(
    browser: Client, provider: Provider
) -> None:
    provider.configuration["token_endpoint_auth_methods_supported"] = ["client_secret_post"]
    answer = await sign_in(browser)

    assert (answer.status_code, provider.exchanges[0]["authorization"]) == (303, None)


@pytest.mark.parametrize("elsewhere", ["https://evil.example/", "//evil.example", "/\\evil.example", "/x\r\nA: b"])
async def test_the_sign_in_never_leads_to_another_site(
    browser: Client, provider: Provider, elsewhere: str
) -> None:
    params = {"issuer": provider.issuer, "return_to": elsewhere}
    begun = await browser.get(f"{LOGIN}/issuer", params=params, headers={"Accept": ACCEPT})
    answer = await come_back(browser, await at_issuer(begun.headers["location"]))

    assert (answer.status_code, answer.headers["location"]) == (303, "/console")


async def test_another_site_begins_no_sign_in(browser: Client, provider: Provider) -> None:
    headers = {"Accept": ACCEPT, "Sec-Fetch-Site": "cross-site"}
    answer = await browser.get(f"{LOGIN}/issuer", params={"issuer": provider.issuer}, headers=headers)

    check_refused(answer, "another site", status=403)
    assert PENDING not in browser.cookies


async def test_a_person_who_declines_can_choose_another_way(browser: Client, provider: Provider) -> None:
    provider.denial = {"error": "access_denied", "error_description": "<script>alert(1)</script>"}
    answer = await sign_in(browser)

    check_refused(answer, "You, or Harbour, declined the sign-in.")
    assert "alert(1)" not in answer.text
    assert f"return_to={WANTED.replace('/', '%2F').replace('?', '%3F').replace('=', '%3D')[:10]}" in answer.text


async def test_a_response_for_another_browser_is_refused(
    browser: Client, provider: Provider, trust: Trust
) -> None:
    """An attacker signs in as himself and gives his response to the victim."""
    victim = await trust(**signing_in(provider))
    address = await at_issuer(await begin(browser))
    without = await come_back(victim, address)
    await begin(victim)
    with_own = await come_back(victim, address)

    check_refused(without, "This browser has not begun a sign-in")
    check_refused(with_own, "another sign-in than the newest of this browser")
    assert provider.exchanges == []


async def test_a_response_without_the_state_is_refused(browser: Client, provider: Provider) -> None:
    await begin(browser)
    for query in ("", "?code=x", "?state=&code=x", "?state=%ED%A0%80&code=x", f"?state={'x' * 5000}&code=x"):
        check_refused(await come_back(browser, CALLBACK + query), "another sign-in")
    assert provider.exchanges == []


async def test_a_cookie_that_was_altered_is_refused(browser: Client, provider: Provider) -> None:
    address = await at_issuer(await begin(browser))
    sealed = browser.cookies[PENDING]
    for altered in ("x", "%", "é", sealed[:-2], f"B{sealed[1:]}", sealed[:40] + "AAAA" + sealed[44:]):
        browser.cookies.clear()
        headers = {b"Accept": ACCEPT.encode(), b"Cookie": f"{PENDING}={altered}".encode()}
        answer = await browser.get(address.removeprefix("http://builders.test"), headers=headers)
        check_refused(answer, "This browser has not begun a sign-in")
    assert provider.exchanges == []


async def test_a_sign_in_is_used_once(browser: Client, provider: Provider) -> None:
    address = await at_issuer(await begin(browser))
    kept = browser.cookies[PENDING]
    assert (await come_back(browser, address)).status_code == 303
    browser.cookies.clear()
    check_refused(await come_back(browser, address), "This browser has not begun a sign-in")
    browser.cookies.set(PENDING, kept)
    check_refused(await come_back(browser, address), "This sign-in was used.")
    assert len(provider.exchanges) == 1


async def test_of_concurrent_uses_one_signs_in(browser: Client, provider: Provider) -> None:
    address = await at_issuer(await begin(browser))
    answers = await asyncio.gather(*(come_back(browser, address) for _ in range(5)))

    assert sorted(each.status_code for each in answers) == [303, 400, 400, 400, 400]
    assert len(provider.exchanges) == 1


async def test_a_sign_in_ends_after_ten_minutes(browser: Client, provider: Provider) -> None:
    address = await at_issuer(await begin(browser))
    with clock.moved(timedelta(minutes=10, seconds=1)):
        answer = await come_back(browser, address)

    check_refused(answer, "A sign-in takes at most 10 minutes.")
    assert provider.exchanges == []


async def test_another_issuers_response_is_refused(browser: Client, provider: Provider) -> None:
    provider.responds = {"iss": "https://evil.example"}
    check_refused(await sign_in(browser), "The response comes from another issuer.")
    assert provider.exchanges == []


async def test_an_issuer_that_names_itself_must_always_do_so(browser: Client, provider: Provider) -> None:
    provider.configuration["authorization_response_iss_parameter_supported"] = True
    check_refused(await sign_in(browser), "The response comes from another issuer.")
    provider.responds = {"iss": provider.issuer, "session_state": "x"}
    assert (await sign_in(browser)).status_code == 303


async def test_a_program_gets_a_page_with_the_way_to_the_issuer(browser: Client, provider: Provider) -> None:
    answer = await browser.get(f"{LOGIN}/issuer", params={"issuer": provider.issuer})

    assert answer.status_code == 200
    assert f'href="{provider.issuer}/authorize?' in answer.text
