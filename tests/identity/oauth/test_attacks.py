"""Attacks on the flow: each is refused, and what they could have stolen ends."""

import base64
import hashlib
import re
from datetime import timedelta
from typing import Any

import pytest

from builders.app import Service
from builders.identity.oauth.requests import CODE_LIFETIME
from builders.kit.db.connections import Conn, Database
from builders.kit.process.redaction import redact
from builders.kit.process.settings import Settings
from builders.kit.values import clock
from tests.browser import ACCEPT
from tests.cast import Client, Person
from tests.conftest import StopClock
from tests.identity.oauth.conftest import Find
from tests.identity.oauth.program import LOOPBACK, URL, Program, Publisher, answer_of, browsing, error_of, reasons
from tests.worker import Worker

GRANT = {"error": "invalid_grant"}


# The code.


async def test_a_code_works_for_60_seconds(program: Program, stop_clock: StopClock) -> None:
    code, now = await program.get_code(), clock.now()
    stop_clock(now + CODE_LIFETIME)

    assert error_of(await program.redeem(code)) == "invalid_grant"


async def test_a_code_works_until_its_last_second(program: Program) -> None:
    code = await program.get_code()
    clock.move(CODE_LIFETIME - timedelta(seconds=5))

    assert (await program.redeem(code)).status_code == 200


@pytest.mark.parametrize(
    "changed",
    [
        {"client_id": "https://other.example/program.json"},
        {"redirect_uri": "http://127.0.0.1:51235/callback"},
        {"code_verifier": "A" * 43},
    ],
)
async def test_a_code_is_bound(program: Program, alice: Person, changed: dict[str, str]) -> None:
    code = await program.get_code()

    assert error_of(await program.redeem(code, **changed)) == "invalid_grant"
    assert error_of(await program.redeem(code)) == "invalid_grant"  # it was used up
    assert await reasons(alice) == ["the code did not fit the program that presented it"]


async def test_a_code_of_another_request_is_useless(program: Program) -> None:
    """Code injection: the attacker puts a code of their own flow, or a stolen one, into another flow."""
    stolen = await program.get_code()
    program.verifier = "B" * 43  # of the flow into which it is injected

    assert error_of(await program.redeem(stolen)) == "invalid_grant"


async def test_a_second_use_of_a_code_ends_what_the_first_got(
    program: Program, find: Find, alice: Person, database: Database, settings: Settings
) -> None:
    code = await program.get_code()
    first = (await program.redeem(code)).json()

    assert error_of(await program.redeem(code)) == "invalid_grant"
    assert await find(first["access_token"]) is None
    assert error_of(await program.refresh(first["refresh_token"])) == "invalid_grant"
    assert await reasons(alice) == ["the code was used twice"]
    mailed = await Worker(database, settings).list_emails(alice.account.email)
    assert [each["Subject"] for each in mailed if "ended" in each["Subject"]] == [
        "A connection was ended: Ada s Editor"
    ]


async def test_a_code_ends_with_the_session_that_gave_it(program: Program) -> None:
    code = await program.get_code()
    await program.browser.post("/v1/auth/logout")

    assert error_of(await program.redeem(code)) == "invalid_grant"


@pytest.mark.parametrize("resource", ["https://other.example/mcp", f"{URL}/v1", f"{URL}/mcp/", URL])
async def test_a_code_gets_no_token_of_another_resource(program: Program, resource: str) -> None:
    assert error_of(await program.redeem(await program.get_code(), resource=resource)) == "invalid_target"


async def test_made_up_codes_and_tokens_are_refused(program: Program) -> None:
    code = await program.get_code()
    made_up = f"{code[:-1]}{'0' if code[-1] != '0' else '1'}"

    assert error_of(await program.redeem(made_up)) == "invalid_grant"
    assert error_of(await program.refresh(made_up)) == "invalid_grant"
    assert error_of(await program.refresh(code)) == "invalid_grant"


async def test_a_missing_parameter_is_named(program: Program) -> None:
    answer = await program.redeem(await program.get_code(), code_verifier="")

    assert error_of(answer) == "invalid_request"
    assert "code_verifier" in answer.json()["error_description"]


async def test_other_grants_are_refused(program: Program) -> None:
    answer = await program.client.post("/oauth/token", data={"grant_type": "client_credentials"})

    assert error_of(answer) == "unsupported_grant_type"


# PKCE, and other errors of the request: nothing is sent anywhere before a person says so.


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        ({"code_challenge": None}, "invalid_request"),
        ({"code_challenge": "A" * 42}, "invalid_request"),
        ({"code_challenge_method": None}, "invalid_request"),
        ({"code_challenge_method": "plain"}, "invalid_request"),
        ({"response_mode": "fragment"}, "invalid_request"),
        ({"response_mode": "form_post"}, "invalid_request"),
        ({"response_type": None}, "invalid_request"),
        ({"response_type": "token"}, "unsupported_response_type"),
        ({"resource": "https://other.example/mcp"}, "invalid_target"),
        ({"state": "s" * 4_001}, "invalid_request"),
    ],
)
async def test_a_bad_request_is_told_and_never_allowed(program: Program, changed: Any, error: str) -> None:
    path = await program.begin(**changed)
    opened = (await program.browser.get(path)).json()
    decided = await program.decide(path)

    assert opened["error"] == error
    sent = answer_of(opened["redirect_url"])
    assert (sent["error"], sent["iss"]) == (error, URL)
    assert decided.json()["code"] == "authorization_request_invalid"


async def test_a_repeated_parameter_is_refused(program: Program) -> None:
    sent = [*program.parameters.items(), ("redirect_uri", LOOPBACK)]
    answer = await program.browser.get("/oauth/authorize", params=sent)
    path = f"/v1/auth/oauth/requests/{answer.headers['location'].rpartition('/')[2]}"

    assert (await program.browser.get(path)).json()["code"] == "authorization_request_invalid"


# The address that gets the answer.


@pytest.mark.parametrize("host", ["127.0.0.1", "[::1]", "localhost"])
@pytest.mark.parametrize("port", ["", ":1", ":51234", ":65535"])
async def test_a_program_on_this_computer_has_any_port(program: Program, host: str, port: str) -> None:
    program.publisher.document["redirect_uris"] = [f"http://{host}:7000/callback"]
    path = await program.begin(redirect_uri=f"http://{host}{port}/callback")
    opened = (await program.browser.get(path)).json()

    assert (opened["error"], opened["redirect_host"]) == (None, None)


@pytest.mark.parametrize(
    "where",
    [
        "http://127.0.0.1:51234/other",
        "http://127.0.0.1:51234/callback/",
        "http://127.0.0.1:51234/callback?x=1",
        "http://127.0.0.1:51234/callback#x",
        "http://127.0.0.1:51234@evil.example/callback",
        "http://127.0.0.2:51234/callback",
        "http://[::1]:51234/callback",
        "http://localhost.evil.example/callback",
        "https://127.0.0.1:51234/callback",
        "https://evil.example/callback",
        "http://127.0.0.1:51234/callback\\@evil.example",
        "com.example.editor:/callback",
        "javascript:alert(1)",
    ],
)
async def test_no_other_address_gets_the_answer(program: Program, where: str) -> None:
    path = await program.begin(redirect_uri=where)
    opened = await program.browser.get(path)

    assert opened.json()["code"] == "authorization_request_invalid"
    assert "redirect_url" not in opened.json()
    assert (await program.decide(path)).json()["code"] == "authorization_request_invalid"


async def test_an_address_of_the_web_is_exact(program: Program, publisher: Publisher) -> None:
    exact = f"https://127.0.0.1:{publisher.receiver.port}/callback"
    other = "https://127.0.0.1:1/callback"
    opened = (await program.browser.get(await program.begin(redirect_uri=exact))).json()
    refused = (await program.browser.get(await program.begin(redirect_uri=other))).json()

    assert (opened["redirect_host"], opened["error"]) == ("127.0.0.1", None)
    assert refused["code"] == "authorization_request_invalid"


# The browser, the session and the person.


async def test_a_request_continues_only_in_its_browser(program: Program, reading: Service, alice: Person) -> None:
    path = await program.begin()
    async with browsing(reading, alice) as other:
        opened = await other.get(path)
        decided = await other.post(f"{path}/decision", json={"decision": "deny", "client_digest": ""})
        waiting = await other.get("/v1/auth/oauth/requests")

    assert opened.json()["code"] == decided.json()["code"] == "authorization_request_not_found"
    assert waiting.json()["items"] == []


async def test_a_request_begun_by_an_attacker_does_not_open_for_the_victim(
    program: Program, reading: Service, bob: Person
) -> None:
    async with browsing(reading, bob) as attacker:
        path = await program.begin(attacker)
    page = await program.browser.get(f"/console/connect/{path.rpartition('/')[2]}", headers={"Accept": ACCEPT})

    assert page.status_code == 404


@pytest.mark.parametrize("within", ["iframe", "image", "empty"])
async def test_another_site_cannot_begin_a_request_within_its_page(program: Program, within: str) -> None:
    sent = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Dest": within}
    answer = await program.client.get("/oauth/authorize", params=program.parameters, headers=sent)

    assert answer.json()["code"] == "origin_forbidden"
    assert "set-cookie" not in answer.headers


async def test_another_site_cannot_decide(program: Program) -> None:
    path = await program.begin()
    digest = (await program.browser.get(path)).json()["client_digest"]
    body = {"decision": "allow", "client_digest": digest, "mandate": {"toolsets": ["names"]}}
    for site in ("cross-site", "same-site"):
        answer = await program.browser.post(f"{path}/decision", json=body, headers={"Sec-Fetch-Site": site})
        assert answer.json()["code"] == "origin_forbidden"

    assert (await program.browser.get("/v1/auth/connections")).json()["items"] == []


async def test_keys_tokens_and_support_cannot_decide(program: Program, alice: Person, reading: Service) -> None:
    path = await program.begin()
    cookie = "; ".join(
        f"{each.name}={each.value}" for each in program.browser.cookies.jar if "authorize" in each.name
    )
    body = {"decision": "deny", "client_digest": ""}
    key = await alice.post(f"{path}/decision", json=body, headers={"Cookie": cookie})
    async with Client(reading, token=(await alice.sign_in()).token) as bearer:
        token = await bearer.post(f"{path}/decision", json=body, headers={"Cookie": cookie})
    async with Client(reading, cookie=(await alice.admit_support(may_write=True)).token) as support:
        support.headers["Sec-Fetch-Site"] = "same-origin"
        helped = await support.post(f"{path}/decision", json=body)

    assert [key.json()["code"], token.json()["code"], helped.json()["code"]] == ["person_required"] * 3


async def test_an_old_session_cannot_decide(program: Program) -> None:
    path = await program.begin()
    clock.move(timedelta(minutes=9))
    path = await program.begin()
    clock.move(timedelta(minutes=2))

    assert (await program.browser.get(path)).json()["code"] == "fresh_sign_in_required"


async def test_the_cookie_is_of_this_host_and_not_for_scripts(program: Program) -> None:
    answer = await program.client.get("https://builders.test/oauth/authorize", params=program.parameters)
    cookie = answer.headers["set-cookie"]

    assert re.fullmatch(
        r"__Host-svc_authorize=[\w-]{43}; Max-Age=600; Path=/; HttpOnly; SameSite=Lax; Secure", cookie
    )


async def test_the_secret_of_the_browser_and_the_code_are_not_stored(program: Program, conn: Conn) -> None:
    code = await program.get_code()
    found = (await program.redeem(code)).json()
    rows = []
    for table in ("requests", "codes", "tokens"):
        text = f"SELECT row_to_json(r)::text FROM identity_oauth_{table} AS r"  # noqa: S608 - names of tables
        rows += await (await conn.execute(text.encode())).fetchall()
    secrets = [each.value or "" for each in program.browser.cookies.jar if "authorize" in each.name]

    for secret in (code, found["access_token"], found["refresh_token"], *secrets):
        assert secret[-30:] not in str(rows)


async def test_tokens_are_masked_in_logs(program: Program) -> None:
    code = await program.get_code()
    found = (await program.redeem(code)).json()

    for secret in (code, found["access_token"], found["refresh_token"]):
        shown = redact(f"the text {secret} and more")
        assert secret[12:] not in shown
        assert shown.endswith("*** and more")


async def test_a_challenge_that_fits_is_needed_bit_by_bit(program: Program) -> None:
    digest = hashlib.sha256(program.verifier.encode()).digest()
    as_challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()

    assert error_of(await program.redeem(await program.get_code(), code_verifier=as_challenge)) == "invalid_grant"
