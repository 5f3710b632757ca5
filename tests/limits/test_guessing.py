"""Guessing of credentials: after some refusals the keys of a network are verified slowly."""

import asyncio
from datetime import timedelta
from uuid import uuid4

import pytest

from builders.app import Service
from builders.identity import keys
from builders.identity.key_checks import KeyChecks
from builders.identity.records import KeyKind, KeySecret, Preset
from builders.kit.db.connections import Database
from builders.kit.errors import DatabaseBusy, DatabaseUnavailable
from builders.kit.limits.policies import RateLimited
from builders.kit.process.settings import Settings
from builders.kit.values import clock
from tests.cast import Client, make_person
from tests.identity.sign_in_messages import Postbox
from tests.limits.conftest import MakeService

PATH = "/v1/api-keys"
SESSION = "/v1/auth/session"
GUESSES = 30


def secret() -> KeySecret:
    return keys.generate_secret(KeyKind.LIVE, uuid4())


def made_up() -> dict[str, str]:
    return {"X-API-Key": secret().text}


async def start_without_hold(start: MakeService) -> Service:
    """Return a service that refuses invalid keys beyond the limit without a pause."""
    service = await start()
    service.api.state.authenticate.key_checks.hold_s = 0
    return service


def questions(service: Service) -> int:
    """Return how often a connection to the database was taken."""
    database: Database = service.api.state.database
    return database.pool.get_stats().get("requests_num", 0)


async def guess(anyone: Client, times: int = GUESSES) -> None:
    for _ in range(times):
        assert (await anyone.get(PATH, headers=made_up())).status_code == 401


async def test_keys_beyond_30_invalid_ones_are_verified_together(start: MakeService) -> None:
    service = await start_without_hold(start)
    async with Client(service) as anyone:
        await guess(anyone)
        before = questions(service)
        answers = await asyncio.gather(*(anyone.get(PATH, headers=made_up()) for _ in range(100)))
        # The first alone, at once; all others a tenth of a second later, in one statement.
        assert questions(service) - before <= 3

    assert {answer.status_code for answer in answers} == {401}


async def test_an_invalid_key_beyond_the_limit_is_refused_for_60_s_without_a_query(
    start: MakeService, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = await start_without_hold(start)
    async with Client(service) as anyone:
        await guess(anyone)
        same, at = made_up(), clock.monotonic()
        monkeypatch.setattr(clock, "monotonic", lambda: at)
        await anyone.get(PATH, headers=same)
        before = questions(service)
        monkeypatch.setattr(clock, "monotonic", lambda: at + 59)
        assert (await anyone.get(PATH, headers=same)).status_code == 401
        assert (
            await anyone.post(PATH, headers=same, json={})
        ).status_code == 401  # which skips the cache otherwise
        assert questions(service) == before
        monkeypatch.setattr(clock, "monotonic", lambda: at + 61)
        assert (await anyone.get(PATH, headers=same)).status_code == 401
        assert questions(service) == before + 1


async def test_a_key_that_was_not_used_lately_is_accepted_beside_guesses(
    start: MakeService, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = await start_without_hold(start)
    ada = await make_person(service, name="ada", preset=Preset.DEVELOPER_FULL)
    async with ada, Client(service) as anyone:
        at = clock.monotonic()
        monkeypatch.setattr(clock, "monotonic", lambda: at)  # else the key is forgotten after a second
        assert (await ada.get(PATH)).status_code == 200
        await guess(anyone)

        taken = []
        for _ in range(3):  # the use of keys is written meanwhile, at most once
            before = questions(service)
            assert (await ada.get(PATH)).status_code == 200  # lately accepted: as without the guesses
            taken.append(questions(service) - before)
        assert min(taken) == 1
        flood = asyncio.gather(*(anyone.get(PATH, headers=made_up()) for _ in range(700)))
        assert (await ada.test.get(PATH)).status_code == 200
        await flood


async def test_the_keys_of_another_network_do_not_wait_behind_those_of_a_flood(database: Database) -> None:
    checks = KeyChecks(database)
    flood = [asyncio.ensure_future(checks.find_holder(secret(), network="a")) for n in range(1_500)]
    await checks.find_holder(secret(), network="b")
    assert sum(each.done() for each in flood) <= 500
    await asyncio.gather(*flood)


async def test_a_refusal_beyond_the_limit_is_held_and_an_acceptance_is_not(start: MakeService) -> None:
    service = await start()
    ada = await make_person(service, name="ada", preset=Preset.DEVELOPER_FULL)
    async with ada, Client(service) as anyone:
        await guess(anyone)
        refused = asyncio.ensure_future(anyone.get(PATH, headers=made_up()))
        assert (await ada.get(PATH)).status_code == 200
        assert not refused.done()
        assert (await refused).status_code == 401


async def test_a_key_waits_at_most_two_seconds_and_is_told_to_repeat(database: Database) -> None:
    checks = KeyChecks(database, max_wait_s=0.0)
    with pytest.raises(RateLimited) as refused:
        await checks.find_holder(secret(), network="a")
    assert refused.value.headers["Retry-After"] == "2"


async def test_keys_that_wait_are_answered_when_the_database_is_away(settings: Settings) -> None:
    away = Database("postgresql://nobody@127.0.0.1:1/there", settings.model_copy(update={"pool_timeout_s": 0.1}))
    await away.pool.open(wait=False)
    try:
        checks = KeyChecks(away)
        found = await asyncio.gather(
            *(checks.find_holder(secret(), network="a") for n in range(3)),
            return_exceptions=True,
        )
    finally:
        await away.close()
    assert {type(each) for each in found} <= {DatabaseUnavailable, DatabaseBusy, RateLimited}


async def test_beyond_10_000_waiting_keys_another_is_refused_at_once(database: Database) -> None:
    checks = KeyChecks(database, max_wait_s=0.0)
    waiting = [asyncio.ensure_future(checks.find_holder(secret(), network="a")) for n in range(10_000)]
    await asyncio.sleep(0)
    with pytest.raises(RateLimited):
        await checks.find_holder(secret(), network="b")
    await asyncio.gather(*waiting, return_exceptions=True)


async def test_other_addresses_are_not_limited(start: MakeService) -> None:
    service = await start(trusted_proxies=("127.0.0.1",))
    forged = {"Authorization": "Bearer x.y.z"}
    async with Client(service) as anyone:
        anyone.headers["X-Forwarded-For"] = "192.0.2.1"
        await guess(anyone)
        assert (await anyone.get(PATH, headers=forged)).status_code == 429
        anyone.headers["X-Forwarded-For"] = "192.0.2.2"
        assert (await anyone.get(PATH, headers=forged)).status_code == 401


async def test_invalid_keys_and_tokens_count_and_missing_ones_do_not(start: MakeService) -> None:
    service = await start()
    async with Client(service) as anyone:
        for _ in range(40):
            assert (await anyone.get(PATH)).status_code == 401
        for n in range(GUESSES):
            bad = {"X-API-Key": "svc_live_x"} if n % 2 else {"Authorization": "Bearer x.y.z"}
            assert (await anyone.get(PATH, headers=bad)).status_code == 401
        answer = await anyone.get(PATH, headers={"Authorization": "Bearer x.y.z"})
        assert (answer.status_code, answer.json()["violated_policies"]) == (429, ["failed_credentials"])
        assert answer.headers["RateLimit"].startswith('"failed_credentials";r=0;t=')
        assert (await anyone.get(PATH)).json()["code"] == "credentials_missing"
        assert (await anyone.get("/v1/catalog/categories", headers=made_up())).status_code == 200


async def test_an_expired_session_does_not_count_as_a_guess(start: MakeService, settings: Settings) -> None:
    service = await start()
    async with await make_person(service, name="ada", preset=Preset.DEVELOPER_FULL) as ada:
        ended, expired = await ada.sign_in(), await ada.sign_in()
        assert (await ada.delete(f"/v1/auth/sessions/{ended.session.id}")).status_code == 200
        async with Client(service, cookie=ended.token) as browser:
            for _ in range(GUESSES + 1):
                assert (await browser.get(SESSION)).status_code == 401
        clock.move(timedelta(hours=13))
        async with Client(service, cookie=expired.token) as browser:
            for _ in range(GUESSES + 1):
                assert (await browser.get(SESSION)).status_code == 401
        async with Client(service) as browser:
            message = await Postbox(service.api.state.database, settings).ask(browser, ada.account.email)
            redeemed = await browser.post("/v1/auth/login/redeem", json={"token": message.token})
            assert (redeemed.status_code, (await browser.get(SESSION)).status_code) == (200, 200)


async def test_a_signed_token_is_accepted_beside_guesses_and_a_forged_one_is_not(
    start: MakeService,
) -> None:
    service = await start()
    async with (
        await make_person(service, name="ada", preset=Preset.DEVELOPER_FULL) as ada,
        Client(service) as anyone,
    ):
        token = (await ada.sign_in()).token
        await guess(anyone)

        forged = token[:-10] + ("A" if token[-10] != "A" else "B") + token[-9:]
        assert (await anyone.get(SESSION, headers={"Authorization": f"Bearer {forged}"})).status_code == 429
        assert (await anyone.get(SESSION, headers={"Authorization": f"Bearer {token}"})).status_code == 200


async def test_a_revoked_key_does_not_count_as_a_guess(start: MakeService) -> None:
    service = await start()
    async with (
        await make_person(service, name="ada", preset=Preset.DEVELOPER_FULL) as ada,
        Client(service) as anyone,
    ):
        made = (await ada.post(PATH, json={"label": "x", "key_kind": "live", "preset": "developer_full"})).json()
        await ada.delete(f"{PATH}/{made['id']}")
        for _ in range(GUESSES + 1):
            assert (await anyone.get(PATH, headers={"X-API-Key": made["secret"]})).status_code == 401
        body = made["secret"][:-38] + "0" * 32
        for _ in range(GUESSES):
            made_up = {"X-API-Key": body + keys.checksum(body)}
            assert (await anyone.get(PATH, headers=made_up)).status_code == 401
        assert (await anyone.get(PATH, headers={"Authorization": "Bearer x.y.z"})).status_code == 429


async def test_guesses_of_an_ipv6_site_count_together(start: MakeService) -> None:
    service = await start(trusted_proxies=("127.0.0.1",))
    async with Client(service) as anyone:
        for n in range(GUESSES):
            anyone.headers["X-Forwarded-For"] = f"2001:db8:0:{n:x}::1"
            await guess(anyone, 1)
        anyone.headers["X-Forwarded-For"] = "2001:db8:0:ff::1"
        assert (await anyone.get(PATH, headers={"Authorization": "Bearer x.y.z"})).status_code == 429
        assert (await anyone.post("/v1/auth/login", json={"email": "ada@example.net"})).status_code == 200
        anyone.headers["X-Forwarded-For"] = "2001:db8:0:100::1"
        assert (await anyone.get(PATH, headers=made_up())).status_code == 401


async def test_sign_in_codes_of_an_ipv6_site_count_together(start: MakeService) -> None:
    service = await start(trusted_proxies=("127.0.0.1",))
    async with Client(service) as anyone:
        answers = [
            await anyone.post(
                "/v1/auth/login",
                json={"email": "ada@example.net"},
                headers={"X-Forwarded-For": f"2001:db8:0:{n:x}::1"},
            )
            for n in range(11)
        ]

    assert [answer.status_code for answer in answers] == [200] * 10 + [429]
