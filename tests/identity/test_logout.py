from datetime import timedelta

import pytest

from builders.kit.values import clock
from tests.cast import Client, Person

PATH = "/v1/auth/logout"
OURS = {"Origin": "http://builders.test"}
REMEMBERED = timedelta(seconds=1)  # as the settings of the tests say


@pytest.mark.parametrize("form", ["token", "cookie"])
async def test_the_session_ends_and_the_browser_forgets_it(alice: Person, form: str) -> None:
    new = await alice.sign_in()
    async with Client(alice.service, **{form: new.token}) as client:
        answer = await client.post(PATH, headers=OURS)
        after = await client.get("/v1/auth/session")

    assert answer.json() == {"authenticated": False}
    assert answer.headers["Set-Cookie"] == ("svc_access_token=; Max-Age=0; Path=/; HttpOnly; SameSite=Lax")
    assert after.status_code == 401


async def test_a_repetition_is_refused_because_the_session_has_ended(alice: Person) -> None:
    new = await alice.sign_in()
    async with Client(alice.service, token=new.token) as client:
        answers = [await client.post(PATH) for _ in range(2)]

    assert [each.status_code for each in answers] == [200, 401]


async def test_the_same_idempotency_key_ends_the_other_session_too(alice: Person) -> None:
    for new in (await alice.sign_in(), await alice.sign_in()):
        async with Client(alice.service, token=new.token) as client:
            answer = await client.post(PATH, headers={"Idempotency-Key": "bye"})

            assert (answer.status_code, "Idempotent-Replayed" in answer.headers) == (200, False)
            assert (await client.get("/v1/auth/session")).status_code == 401


async def test_other_sessions_stay_open(alice: Person) -> None:
    one, other = await alice.sign_in(), await alice.sign_in()
    async with Client(alice.service, token=one.token) as client:
        await client.post(PATH)

    assert [each["id"] for each in (await alice.get("/v1/auth/sessions")).json()["items"]] == [
        str(other.session.id)
    ]


async def test_support_logs_out_though_it_may_only_read(alice: Person) -> None:
    new = await alice.admit_support()
    async with Client(alice.service, cookie=new.token) as client:
        assert (await client.post(PATH, headers=OURS)).status_code == 200


async def test_an_api_key_cannot_log_out(alice: Person) -> None:
    for client in (alice, alice.test):
        answer = await client.post(PATH)

        assert (answer.status_code, answer.json()["code"]) == (409, "no_session")
        assert "/v1/api-keys" in answer.json()["next_action"]


async def test_another_site_does_not_log_anybody_out(alice: Person) -> None:
    new = await alice.sign_in()
    async with Client(alice.service, cookie=new.token) as client:
        assert (await client.post(PATH, headers={"Origin": "https://evil.example"})).status_code == 403
        clock.move(REMEMBERED)
        assert (await client.get("/v1/auth/session")).status_code == 200
