import asyncio
import re
from datetime import datetime, timedelta

import pytest

from builders.kit.db.connections import Conn
from builders.kit.values import clock
from tests.browser import press
from tests.cast import OF_LINK_OPENERS, Client, Person
from tests.conftest import INSTANT, StopClock
from tests.profile.make import (
    BROWSER,
    CONFIRM,
    ProfileWorker,
    audited,
    me,
    published,
    steps,
    text,
    verification,
)

SIGN_IN = re.compile(r"/v1/auth/login\?token=([\w-]+)")
DIGEST = "SELECT digest::text || row_to_json(profile_tokens)::text FROM profile_tokens WHERE account_id = %s"


async def test_following_the_link_confirms_the_address(
    ursula: Person, anyone: Client, worker: ProfileWorker
) -> None:
    token = await worker.token(ursula.account.email)
    answer = await anyone.get(CONFIRM, params={"token": token})

    local_part = ursula.account.email.partition("@")[0]
    assert (answer.status_code, answer.json()) == (
        200,
        {"status": "confirmed", "email": f"{local_part[0]}***@example.net"},
    )
    assert answer.headers["Cache-Control"] == "no-store"
    assert ((await verification(ursula))["status"], (await me(ursula))["email_verified"]) == ("verified", True)
    assert "verify_email" in steps(await me(ursula))


async def test_following_the_link_does_not_sign_in(ursula: Person, anyone: Client, worker: ProfileWorker) -> None:
    answer = await anyone.get(CONFIRM, params={"token": await worker.token(ursula.account.email)})

    assert "set-cookie" not in answer.headers
    assert (await anyone.get("/v1/me")).status_code == 401


async def test_promotions_are_allowed_after_confirmation(
    ursula: Person, anyone: Client, worker: ProfileWorker
) -> None:
    before = (await ursula.get("/v1/sandbox/status")).json()
    await anyone.get(CONFIRM, params={"token": await worker.token(ursula.account.email)})
    after = (await ursula.get("/v1/sandbox/status")).json()

    assert "email_unverified" in before["reasons"]
    assert "email_unverified" not in after["reasons"]


async def test_the_sandbox_account_is_confirmed_too(
    ursula: Person, anyone: Client, worker: ProfileWorker, conn: Conn
) -> None:
    await anyone.get(CONFIRM, params={"token": await worker.token(ursula.account.email)})

    found = await conn.execute(
        "SELECT count(email_verified_at) FROM identity_accounts WHERE email = %s", [ursula.account.email]
    )
    assert await found.fetchone() == (2,)


async def test_following_the_link_is_idempotent_until_it_expires(
    ursula: Person, anyone: Client, worker: ProfileWorker
) -> None:
    token = await worker.token(ursula.account.email)
    await anyone.get(CONFIRM, params={"token": token})
    verified = await verification(ursula)

    clock.move(timedelta(hours=23, minutes=59))
    again = await anyone.get(CONFIRM, params={"token": token})
    assert (again.status_code, again.json()["status"]) == (200, "already_confirmed")
    assert await verification(ursula) == verified

    clock.move(timedelta(minutes=2))
    assert (await anyone.get(CONFIRM, params={"token": token})).status_code == 400


async def test_concurrent_requests_confirm_once(
    ursula: Person, anyone: Client, worker: ProfileWorker, conn: Conn
) -> None:
    token = await worker.token(ursula.account.email)
    answers = await asyncio.gather(*(anyone.get(CONFIRM, params={"token": token}) for _ in range(5)))

    assert sorted(each.json()["status"] for each in answers) == [*["already_confirmed"] * 4, "confirmed"]
    assert len(await published(conn, ursula, "email.verified")) == 1
    assert len(await audited(ursula, "email.verified")) == 1


async def test_invalid_tokens_get_the_same_response(ursula: Person, anyone: Client, worker: ProfileWorker) -> None:
    token = await worker.token(ursula.account.email)
    wrong = [f"{token[:-1]}{'A' if token[-1] != 'A' else 'B'}", token.upper(), "x" * 8, "é" * 20, "x" * 5000]
    answers = [await anyone.get(CONFIRM, params={"token": each}) for each in wrong]
    clock.move(timedelta(hours=24))
    answers.append(await anyone.get(CONFIRM, params={"token": token}))

    assert {each.status_code for each in answers} == {400}
    assert {each.json()["code"] for each in answers} == {"token_invalid"}
    assert len({each.text.replace(each.json()["request_id"], "") for each in answers}) == 1
    assert (await verification(ursula))["verified_at"] is None


async def test_a_link_ends_at_its_exact_instant(
    ursula: Person, anyone: Client, worker: ProfileWorker, stop_clock: StopClock
) -> None:
    token = await worker.token(ursula.account.email)
    ends = datetime.fromisoformat((await verification(ursula))["expires_at"])
    found = []
    for at in (ends, ends - INSTANT):
        stop_clock(at)
        state = (await verification(ursula))["status"]
        found.append((state, (await anyone.get(CONFIRM, params={"token": token})).status_code))
    assert found == [("expired", 400), ("sent", 200)]


async def test_a_short_token_is_422(anyone: Client) -> None:
    answer = await anyone.get(CONFIRM, params={"token": "x" * 7})

    assert (answer.status_code, answer.json()["detail"][0]["loc"]) == (422, ["query", "token"])
    assert (await anyone.get(CONFIRM)).status_code == 422


@pytest.mark.parametrize(
    "header",
    [
        {"Sec-Purpose": "prefetch"},
        {"Sec-Purpose": "prefetch;prerender"},
        {"Purpose": "prefetch"},
        {"X-Moz": "prefetch"},
    ],
)
@pytest.mark.parametrize("browser", [{}, BROWSER])
async def test_a_prefetch_does_not_confirm(
    ursula: Person, anyone: Client, worker: ProfileWorker, header: dict[str, str], browser: dict[str, str]
) -> None:
    token = await worker.token(ursula.account.email)
    answer = await anyone.get(CONFIRM, params={"token": token}, headers={**header, **browser})

    assert (answer.status_code, answer.headers["Cache-Control"]) == (503, "no-store")
    assert (await verification(ursula))["status"] == "sent"
    assert (await anyone.get(CONFIRM, params={"token": token})).json()["status"] == "confirmed"


@pytest.mark.parametrize("accept", OF_LINK_OPENERS)
async def test_a_link_scanner_does_not_confirm(
    ursula: Person, anyone: Client, worker: ProfileWorker, accept: str
) -> None:
    token = await worker.token(ursula.account.email)
    page = await anyone.get(CONFIRM, params={"token": token}, headers={"Accept": accept})

    assert (page.status_code, page.headers["Content-Type"]) == (200, "text/html; charset=utf-8")
    assert (await verification(ursula))["status"] == "sent"
    assert (await anyone.get(CONFIRM, params={"token": token})).json()["status"] == "confirmed"


async def test_a_head_request_does_not_confirm(ursula: Person, anyone: Client, worker: ProfileWorker) -> None:
    answer = await anyone.head(CONFIRM, params={"token": await worker.token(ursula.account.email)})

    assert answer.status_code == 405
    assert (await verification(ursula))["status"] == "sent"


async def test_a_browser_gets_a_page_with_a_button_that_confirms(
    ursula: Person, anyone: Client, worker: ProfileWorker
) -> None:
    token = await worker.token(ursula.account.email)
    link = {"token": token}
    opened = [await anyone.get(CONFIRM, params=link, headers=BROWSER) for _ in range(2)]
    assert (await verification(ursula))["status"] == "sent"
    pages = [
        *opened,
        await press(anyone, opened[0]),
        await anyone.get(CONFIRM, params=link, headers=BROWSER),
        await anyone.get(CONFIRM, params={"token": "x" * 9}, headers=BROWSER),
    ]

    assert [each.status_code for each in pages] == [200, 200, 200, 200, 400]
    assert [each.headers["Content-Type"] for each in pages] == ["text/html; charset=utf-8"] * 5
    assert opened[0].text.count("<button") == 1
    assert "is confirmed" in pages[2].text
    assert "was confirmed before" in pages[3].text
    assert "not valid" in pages[4].text
    assert not any(token in page.text for page in pages[2:])
    for page in pages:
        assert ursula.account.email not in page.text
        assert (page.headers["Cache-Control"], page.headers["Referrer-Policy"]) == ("no-store", "same-origin")


async def test_credentials_are_ignored(ursula: Person, bob: Person, anyone: Client, worker: ProfileWorker) -> None:
    token = await worker.token(ursula.account.email)

    assert (await bob.get(CONFIRM, params={"token": token})).status_code == 200
    assert (await anyone.get(CONFIRM, params={"token": token}, headers={"X-API-Key": "bad"})).status_code == 200
    assert (await me(bob))["email"] == bob.account.email
    assert (await verification(ursula))["status"] == "verified"


async def test_the_token_is_not_stored(ursula: Person, worker: ProfileWorker, conn: Conn) -> None:
    token = await worker.token(ursula.account.email)

    found = await (await conn.execute(DIGEST, [ursula.account.id])).fetchone()
    assert found is not None
    assert token not in found[0]
    assert token.encode().hex() not in found[0]


async def test_signing_in_and_following_the_link_publish_one_event(
    ursula: Person, anyone: Client, worker: ProfileWorker, conn: Conn
) -> None:
    token = await worker.token(ursula.account.email)
    await anyone.post("/v1/auth/login", json={"email": ursula.account.email})
    [*_, email] = await worker.list_emails(ursula.account.email)
    sign_in = SIGN_IN.search(text(email))
    assert sign_in is not None
    assert (await anyone.post("/v1/auth/login/redeem", json={"token": sign_in[1]})).status_code == 200

    [entry] = await audited(ursula, "email.verified")
    assert (entry["actor"]["type"], entry["about"]) == ("user", {"email": "u***@example.net"})
    assert (await anyone.get(CONFIRM, params={"token": token})).status_code == 200
    assert (
        len(await published(conn, ursula, "email.verified")) == len(await audited(ursula, "email.verified")) == 1
    )


async def test_a_confirmation_is_published_and_audited(
    ursula: Person, anyone: Client, worker: ProfileWorker, conn: Conn
) -> None:
    await anyone.get(CONFIRM, params={"token": await worker.token(ursula.account.email)})

    [event] = await published(conn, ursula, "email.verified")
    [entry] = await audited(ursula, "email.verified")
    assert event["email"] == ursula.account.email
    assert (entry["actor"]["type"], entry["about"]) == ("user", {"email": "u***@example.net"})
