"""Guessing of credentials: after some refusals, only recently valid credentials are accepted."""

from datetime import timedelta

from builders.app import Service
from builders.identity import keys
from builders.identity.records import KeyKind, Preset
from builders.kit.db.connections import Database
from builders.kit.process.settings import Settings
from builders.kit.values import clock
from tests.cast import Client, make_person
from tests.identity.sign_in_messages import Postbox
from tests.limits.conftest import MakeService

PATH = "/v1/api-keys"
SESSION = "/v1/auth/session"
GUESSES = 30


def made_up() -> dict[str, str]:
    return {"X-API-Key": keys.generate_secret(KeyKind.LIVE).text}


def questions(service: Service) -> int:
    """Return how often a connection to the database was taken."""
    database: Database = service.api.state.database
    return database.pool.get_stats().get("requests_num", 0)


async def guess(anyone: Client, times: int = GUESSES) -> None:
    for _ in range(times):
        assert (await anyone.get(PATH, headers=made_up())).status_code == 401


async def test_the_31st_invalid_key_is_429_without_a_query(start: MakeService) -> None:
    service = await start()
    async with Client(service) as anyone:
        await guess(anyone)
        before = questions(service)
        answer = await anyone.get(PATH, headers=made_up())
        assert questions(service) == before

    assert (answer.status_code, answer.json()["violated_policies"]) == (429, ["failed_credentials"])
    assert answer.headers["RateLimit"].startswith('"failed_credentials";r=0;t=')
    assert 0 < int(answer.headers["Retry-After"]) <= 300


async def test_a_recently_valid_key_is_accepted_and_another_waits(start: MakeService) -> None:
    service = await start()
    ada = await make_person(service, name="ada", preset=Preset.DEVELOPER_FULL)
    async with ada, Client(service) as anyone:
        assert (await ada.get(PATH)).status_code == 200
        await guess(anyone)

        assert (await ada.get(PATH)).status_code == 200
        clock.move(timedelta(seconds=10))  # the database is asked again, and the key is still no guess
        assert (await ada.get(PATH)).status_code == 200
        assert (await ada.test.get(PATH)).status_code == 429
        clock.move(timedelta(seconds=300))
        assert (await ada.test.get(PATH)).status_code == 200


async def test_other_addresses_are_not_limited(start: MakeService) -> None:
    service = await start(trusted_proxies=("127.0.0.1",))
    async with Client(service) as anyone:
        anyone.headers["X-Forwarded-For"] = "192.0.2.1"
        await guess(anyone)
        assert (await anyone.get(PATH, headers=made_up())).status_code == 429
        anyone.headers["X-Forwarded-For"] = "192.0.2.2"
        assert (await anyone.get(PATH, headers=made_up())).status_code == 401


async def test_invalid_keys_and_tokens_count_and_missing_ones_do_not(start: MakeService) -> None:
    service = await start()
    async with Client(service) as anyone:
        for _ in range(40):
            assert (await anyone.get(PATH)).status_code == 401
        for n in range(GUESSES):
            bad = {"X-API-Key": "svc_live_x"} if n % 2 else {"Authorization": "Bearer x.y.z"}
            assert (await anyone.get(PATH, headers=bad)).status_code == 401
        assert (await anyone.get(PATH, headers=made_up())).status_code == 429
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
        assert (await anyone.get(PATH, headers={"X-API-Key": made["secret"]})).status_code == 429


async def test_guesses_of_an_ipv6_site_count_together(start: MakeService) -> None:
    service = await start(trusted_proxies=("127.0.0.1",))
    async with Client(service) as anyone:
        for n in range(GUESSES):
            anyone.headers["X-Forwarded-For"] = f"2001:db8:0:{n:x}::1"
            await guess(anyone, 1)
        anyone.headers["X-Forwarded-For"] = "2001:db8:0:ff::1"
        assert (await anyone.get(PATH, headers=made_up())).status_code == 429
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
