"""What the issuer answers when a person signs in there: bad tokens, failures, and which account it opens."""

import re
from collections.abc import Callable
from datetime import timedelta
from io import StringIO
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from builders.kit.db.connections import Database
from builders.kit.process import log
from builders.kit.values import clock
from tests import log_lines
from tests.browser import ACCEPT
from tests.cast import Client, Person
from tests.identity.conftest import Trust
from tests.identity.issuer_browser import (
    CALLBACK,
    LOGIN,
    PENDING,
    SESSIONS,
    at_issuer,
    begin,
    check_refused,
    choices,
    come_back,
    sign_in,
)
from tests.identity.issuer_tokens import person
from tests.identity.make import need_person
from tests.identity.provider import (
    AUDIENCE,
    CLIENT_ID,
    CLIENT_SECRET,
    Json,
    Provider,
    jwk_of,
    make_key,
    signing_in,
)
from tests.identity.refused_tokens import now
from tests.identity.token_forger import Forger, by_hmac

Make = Callable[[Forger, Json], str]
STOLEN = make_key("ES256")


def stolen(forger: Forger) -> Forger:
    """The same token by a key that the issuer does not publish."""
    return Forger(header={**forger.header, "alg": "ES256", "kid": "x"}, claims=forger.claims, key=STOLEN)


TOKENS: dict[str, tuple[Make, str]] = {
    "another nonce": (lambda made, usual: made.make(**usual | {"nonce": "x"}), "belongs to another sign-in"),
    "no nonce": (lambda made, usual: made.make(drop=("nonce",), **usual), "belongs to another sign-in"),
    "a nonce of another type": (lambda made, usual: made.make(**usual | {"nonce": 7}), "another sign-in"),
    "another audience": (lambda made, usual: made.make(**usual | {"aud": AUDIENCE}), "another audience"),
    "another party": (lambda made, usual: made.make(**usual, azp="evil"), "another client"),
    "a shared audience": (lambda made, usual: made.make(**usual | {"aud": [CLIENT_ID, "evil"]}), "another client"),
    "an old token": (lambda made, usual: made.make(**usual, exp=now() - 60), "expired"),
    "a future token": (lambda made, usual: made.make(**usual, iat=now() + 120), "not valid yet"),
    "another issuer": (lambda made, usual: made.make(**usual, iss="https://evil.example"), "of its own"),
    "an access token": (lambda made, usual: made.make(header={"typ": "at+jwt"}, **usual), "of its own"),
    "a logout token": (lambda made, usual: made.make(**usual, events={}), "not accepted"),
    "no signature": (lambda made, usual: made.make(header={"alg": "none"}, **usual), "not accepted"),
    "signed with the client secret": (
        lambda made, usual: made.make(header={"alg": "HS256"}, sign=by_hmac(CLIENT_SECRET.encode()), **usual),
        "not accepted",
    ),
    "signed with an unknown key": (lambda made, usual: stolen(made).make(**usual), "no such key"),
    "its own key": (lambda made, usual: made.make(header={"jwk": jwk_of(STOLEN, "x")}, **usual), "not supported"),
    "no subject": (lambda made, usual: made.make(drop=("sub",), **usual), "not valid"),
    "no token": (lambda _made, _usual: "x", "not a token"),
    "a token of another type": (lambda _made, _usual: 7, "no ID token"),  # type: ignore[dict-item,return-value] # hostile
}


@pytest.mark.parametrize(("make", "says"), TOKENS.values(), ids=TOKENS.keys())
async def test_a_bad_id_token_signs_nobody_in(browser: Client, provider: Provider, make: Make, says: str) -> None:
    provider.make = make
    check_refused(await sign_in(browser), says)


async def test_a_token_for_several_clients_names_this_one(browser: Client, provider: Provider) -> None:
    provider.make = lambda made, usual: made.make(**usual | {"aud": [CLIENT_ID, "other"], "azp": CLIENT_ID})

    assert (await sign_in(browser)).status_code == 303


async def test_a_wrong_verifier_is_refused_by_the_issuer(browser: Client, provider: Provider) -> None:
    address = await at_issuer(await begin(browser))
    for sent in provider.codes.values():
        sent["code_challenge"] = "x"
    check_refused(await come_back(browser, address), "Harbour did not confirm the sign-in.")


ANSWERS = {
    "used code": ((400, b'{"error": "invalid_grant"}'), "did not confirm", 400),
    "wrong secret": ((401, b'{"error": "invalid_client"}'), "did not confirm", 400),
    "redirect": ((302, b""), "did not confirm", 400),
    "no JSON": ((200, b"<html>"), "no ID token", 400),
    "a list": ((200, b"[]"), "no ID token", 400),
    "no token": ((200, b"{}"), "no ID token", 400),
    "deep": ((200, b"[" * 100_000), "no ID token", 400),
    "huge": ((200, b" " * 400_000), "Harbour is not available.", 503),
    "failure": ((500, b"stack trace"), "Harbour is not available.", 503),
    "busy": ((429, b"{}"), "Harbour is not available.", 503),
}


@pytest.mark.parametrize(("answer", "says", "status"), ANSWERS.values(), ids=ANSWERS.keys())
async def test_a_failed_exchange_signs_nobody_in(
    browser: Client, provider: Provider, answer: tuple[int, bytes], says: str, status: int
) -> None:
    provider.token_answer = answer
    check_refused(await sign_in(browser), says, status=status)


async def test_an_issuer_that_is_down_leaves_the_sign_in_by_mail(browser: Client, provider: Provider) -> None:
    provider.status = 500
    headers = {"Accept": ACCEPT}
    ((href, _),) = choices(await browser.get(LOGIN, headers=headers))
    down = await browser.get(href, headers=headers)
    provider.status = 200
    with clock.moved(timedelta(seconds=11)):
        again = await browser.get(href, headers=headers)

    check_refused(down, "Harbour is not available.", status=503)
    assert down.headers["retry-after"] == "10"
    assert again.status_code == 303
    assert provider.asked.count("/.well-known/openid-configuration") == 2


@pytest.mark.parametrize(
    "changes",
    [
        {"issuer": "https://evil.example"},
        {"authorization_endpoint": "http://evil.example/authorize"},
        {"token_endpoint": "javascript:alert(1)"},
        {"authorization_endpoint": None},
        {"token_endpoint": 7},
    ],
)
async def test_a_bad_discovery_document_is_not_used(browser: Client, provider: Provider, changes: Json) -> None:
    provider.configuration |= changes
    answer = await browser.get(f"{LOGIN}/issuer", params={"issuer": provider.issuer})

    assert (answer.status_code, answer.json()["code"]) == (503, "issuer_unavailable")


async def test_an_issuer_that_reports_a_failure_is_away(browser: Client, provider: Provider) -> None:
    provider.denial = {"error": "temporarily_unavailable"}
    check_refused(await sign_in(browser), "Harbour is not available.", status=503)


async def test_the_private_network_is_not_reached(browser: Client, provider: Provider) -> None:
    provider.configuration["token_endpoint"] = "https://127.0.0.1:1/token"
    check_refused(await sign_in(browser), "Harbour is not available.", status=503)


async def test_an_unknown_person_is_told_what_to_do(provider: Provider, trust: Trust) -> None:
    provider.signs = provider.forger(**person())
    browser = await trust(**signing_in(provider))

    check_refused(await sign_in(browser), "No account is linked to the subject")


@pytest.mark.parametrize("email_verified", [False, "true", None])
async def test_an_unverified_address_opens_no_account(
    alice: Person, provider: Provider, trust: Trust, *, email_verified: object
) -> None:
    provider.signs = provider.forger(email=alice.account.email, email_verified=email_verified)
    browser = await trust(**signing_in(provider, link_by_email=True, sign_up=True))

    check_refused(await sign_in(browser), "no verified address")


async def test_a_new_person_gets_an_account_where_the_issuer_may_sign_up(provider: Provider, trust: Trust) -> None:
    provider.signs = provider.forger(**person())
    browser = await trust(**signing_in(provider, sign_up=True))
    answer = await sign_in(browser, return_to=None)

    assert (answer.status_code, answer.headers["location"]) == (303, "/console")
    assert (await browser.get("/v1/auth/session")).json()["account"]["email_verified"] is True


async def test_a_verified_address_opens_its_account_where_the_issuer_is_trusted_with_it(
    alice: Person, anyone: Client, postbox: Any, provider: Provider, trust: Trust
) -> None:
    message = await postbox.ask(anyone, alice.account.email)  # her account verifies its address
    await anyone.post(f"{LOGIN}/redeem", json={"token": message.token})
    provider.signs = provider.forger(email=alice.account.email, email_verified=True)
    browser = await trust(**signing_in(provider, link_by_email=True))
    await sign_in(browser)

    assert (await browser.get("/v1/auth/session")).json()["account"]["id"] == str(alice.account.id)


async def test_an_account_whose_plans_people_approve_is_not_linked_by_address(
    alice: Person, anyone: Client, database: Database, postbox: Any, provider: Provider, trust: Trust
) -> None:
    message = await postbox.ask(anyone, alice.account.email)
    await anyone.post(f"{LOGIN}/redeem", json={"token": message.token})
    await need_person(database, alice)
    provider.signs = provider.forger(email=alice.account.email, email_verified=True)
    browser = await trust(**signing_in(provider, link_by_email=True))

    check_refused(await sign_in(browser), "needs a person")


@pytest.mark.parametrize(
    ("claims", "status"),
    [({}, 200), ({"auth_time": -601}, 401), ({"auth_time": None}, 401), ({"auth_time": "x"}, 401)],
    ids=["just now", "long ago", "not stated", "not a time"],
)
async def test_a_decision_needs_a_person_whom_the_issuer_has_just_asked(
    alice: Person, browser: Client, database: Database, provider: Provider, claims: Json, status: int
) -> None:
    stated = {name: now() + value if isinstance(value, int) else value for name, value in claims.items()}
    provider.make = lambda made, usual: made.make(**usual | stated)
    other = await alice.sign_in()
    await need_person(database, alice)
    await sign_in(browser)
    headers = {"Sec-Fetch-Site": "same-origin"}
    answer = await browser.delete(f"{SESSIONS}/{other.session.id}", headers=headers)

    assert answer.status_code == status
    assert status == 200 or answer.json()["code"] == "fresh_sign_in_required"


async def test_nothing_secret_is_logged_or_audited(alice: Person, browser: Client, provider: Provider) -> None:
    lines = StringIO()
    log.configure(level="debug", style="json", stream=lines)
    address = await at_issuer(await begin(browser))
    pending = browser.cookies[PENDING]
    await come_back(browser, address)
    provider.responds = {"error": "Mallory was here", "error_description": "Mallory"}
    await sign_in(browser)
    provider.responds, provider.token_answer = {}, (400, b'{"error": "Mallory was here"}')
    await sign_in(browser)
    log_lines.write_errors_only()
    # The clients of this test and the provider log what they send and receive.
    others = re.compile('"logger":"(http|aiohttp.access)')
    own = (each for each in lines.getvalue().splitlines() if not others.search(each))
    written = "".join(own)
    audit = (await alice.get("/v1/account/audit")).text

    assert "issuer_sign_in_failed" in written
    sent = parse_qs(urlsplit(address).query)
    verifier = provider.exchanges[0]["code_verifier"]
    for secret in (sent["code"][0], sent["state"][0], verifier, CLIENT_SECRET, pending, "Mallory"):
        assert secret not in written
        assert secret not in audit


async def test_a_program_gets_a_problem(browser: Client) -> None:
    answer = await browser.get(CALLBACK, params={"state": "x", "code": "y"})

    assert (answer.status_code, answer.json()["code"]) == (400, "issuer_sign_in_refused")
    assert answer.json()["next_action"]
