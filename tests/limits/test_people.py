"""The limits of people: what a program does with keys uses up none of them."""

import asyncio
from collections import Counter

import pytest

from builders.app import Service
from builders.kit.http.compiled_routes import places
from builders.kit.values import ids
from tests.cast import Client, Person

KEYS, SESSIONS = "/v1/api-keys", "/v1/auth/sessions"
PLAN = f"/v1/sandbox/plans/{ids.new()}/approval"
APPROVE = {"decision": "approve", "digest": "0" * 64}
NEW_KEY = {"label": "new", "key_kind": "live", "preset": "developer_full"}


async def use_up(client: Client, times: int, path: str = KEYS) -> Counter[int]:
    return Counter([(await client.get(path)).status_code for _ in range(times)])


async def mint(person: Person) -> Client:
    made = await person.post(KEYS, json=NEW_KEY)
    return Client(person.service, made.json()["secret"])


async def test_keys_that_cannot_decide_use_up_no_decision_of_a_person(ada: Person) -> None:
    refused = [(await ada.post(PLAN, json=APPROVE)).status_code for _ in range(7)]
    async with ada.browser() as browser:
        decided = [
            await browser.post(PLAN, json=APPROVE | {"decision": "reject"}),
            await browser.delete(PLAN),
            await browser.put("/v1/sandbox/approval-policy", json={"mode": "never"}),
        ]

    assert refused == [403] * 7
    assert 429 not in {answer.status_code for answer in decided}


async def test_a_key_that_is_refused_by_the_handler_uses_up_no_operation_limit(ada: Person) -> None:
    live = NEW_KEY | {"key_kind": "live"}
    assert {(await ada.test.post(KEYS, json=live)).status_code for _ in range(4)} == {403}
    assert (await ada.post(KEYS, json=NEW_KEY)).status_code == 200


async def test_a_person_revokes_keys_that_have_used_up_the_account(ada: Person) -> None:
    async with await mint(ada) as second, await mint(ada) as third:
        assert await use_up(ada, 58) == {200: 58}
        assert await use_up(second, 60) == {200: 60}
        assert await use_up(third, 61) == {200: 60, 429: 1}
    async with ada.browser() as browser:
        listed = await browser.get(KEYS)
        revoked = await browser.delete(KEYS)
        again = await browser.delete(KEYS)

    assert listed.headers["RateLimit-Policy"] == '"session";q=60;w=60, "person";q=180;w=60'
    assert (revoked.status_code, len(revoked.json()["items"])) == (200, 3)
    assert {each["revoked_at"] is None for each in revoked.json()["items"]} == {False}
    assert again.json()["items"] == []
    assert (await ada.get(KEYS)).status_code == 401


async def test_all_keys_are_revoked_test_keys_too_and_each_has_its_event_and_audit_entry(ada: Person) -> None:
    assert (await ada.test.get(KEYS)).status_code == 200
    async with ada.browser() as browser:
        revoked = (await browser.delete(KEYS)).json()["items"]
        audit = (await browser.get("/v1/account/audit?action=api_key.revoked")).json()["items"]
        events = (await browser.get("/v1/account/audit")).json()["items"]

    assert {each["key_kind"] for each in revoked} == {"live", "test"}
    assert {each["about"]["key_id"] for each in audit} == {each["id"] for each in revoked}
    assert len(events) >= len(revoked)
    assert (await ada.test.get(KEYS)).status_code == 401


@pytest.mark.parametrize("kind", ["live", "test", "bearer"])
async def test_no_program_revokes_all_keys(ada: Person, kind: str) -> None:
    bearer = Client(ada.service, token=(await ada.sign_in()).token)
    async with bearer:
        clients: dict[str, Client] = {"live": ada, "test": ada.test, "bearer": bearer}
        answer = await clients[kind].delete(KEYS)
    assert (answer.status_code, answer.json()["code"]) == (403, "person_required")
    assert (await ada.get(KEYS)).status_code == 200


async def test_bobs_keys_work_after_a_person_has_revoked_hers(ada: Person, eve: Person) -> None:
    async with ada.browser() as browser:
        assert (await browser.delete(KEYS)).status_code == 200
    assert (await eve.get(KEYS)).status_code == 200


async def test_a_session_that_has_used_up_its_limit_can_still_stop(ada: Person) -> None:
    other = await ada.sign_in()
    async with ada.browser() as browser:
        assert await use_up(browser, 61) == {200: 60, 429: 1}
        stops = [
            await browser.post(PLAN, json=APPROVE | {"decision": "reject"}),
            await browser.delete(KEYS),
            await browser.delete(f"{SESSIONS}/{other.session.id}"),
        ]
        beyond = await browser.delete(f"{KEYS}/{ids.NIL}")

    assert [answer.status_code for answer in stops] == [404, 200, 200]
    assert stops[0].headers["RateLimit"].startswith('"reserve";r=2;')
    assert (beyond.status_code, beyond.json()["violated_policies"]) == (429, ["reserve"])


async def test_an_approval_does_not_use_the_reserve_for_stops(ada: Person) -> None:
    async with ada.browser() as browser:
        await use_up(browser, 60)
        answer = await browser.post(PLAN, json=APPROVE)
    assert (answer.status_code, answer.json()["violated_policies"]) == (429, ["session"])


async def test_a_key_has_no_reserve(ada: Person) -> None:
    await use_up(ada, 60)
    assert (await ada.delete(f"{KEYS}/{ids.NIL}")).status_code == 429


async def test_all_sessions_of_a_person_have_one_limit(ada: Person) -> None:
    for _ in range(3):
        async with ada.browser() as browser:
            assert await use_up(browser, 60) == {200: 60}
    async with ada.browser() as browser:
        answer = await browser.get(KEYS)
    assert (answer.status_code, answer.json()["violated_policies"]) == (429, ["person"])
    assert (await ada.get(KEYS)).status_code == 200


async def test_the_support_does_not_use_up_the_limit_of_the_person(ada: Person) -> None:
    support = await ada.admit_support()
    async with Client(ada.service, cookie=support.token) as client:
        answer = await client.get("/v1/auth/session")
    assert answer.headers["RateLimit-Policy"] == '"session";q=60;w=60'


async def test_a_person_does_not_wait_for_the_programs_of_the_account(ada: Person, limited: Service) -> None:
    account, count = ada.account.id, limited.api.state.database.pool.max_size
    for _ in range(count):
        await places.take(account, alone=count)
    try:
        waiting = asyncio.ensure_future(ada.get(KEYS))
        async with ada.browser() as browser:
            answer = await browser.delete(KEYS)
        assert (answer.status_code, waiting.done()) == (200, False)
    finally:
        for _ in range(count):
            places.free(account)
    await waiting
