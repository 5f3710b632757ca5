"""A POST repeated with its Idempotency-Key gets the first response, and nothing is executed twice."""

import asyncio
import uuid
from collections import Counter
from datetime import timedelta
from typing import Any

import httpx
import pytest
from psycopg import AsyncConnection

from builders.kit.db import old_rows
from builders.kit.db.connections import Database
from builders.kit.http import idempotency
from builders.kit.values import clock
from tests.cast import Client, Person

KEYS, PLAN = "/v1/api-keys", "/v1/sandbox/plan"
MANIFEST = {"api_version": "v1", "kind": "Manifest", "metadata": {"name": "empty"}, "resources": {"aliases": []}}
Conn = AsyncConnection[Any]


def wanted(label: str = "ci", kind: str = "test") -> dict[str, str]:
    return {"label": label, "key_kind": kind, "preset": "developer_full"}


async def post(who: Client, path: str, body: object, *, key: str) -> httpx.Response:
    return await who.post(path, json=body, headers={"Idempotency-Key": key})


async def labels(who: Client) -> Counter[str]:
    return Counter(item["label"] for item in (await who.get(KEYS)).json()["items"])


def is_replay(answer: httpx.Response) -> bool:
    return bool(answer.headers.get("Idempotent-Replayed") == "true")


async def stored(conn: Conn, who: Person) -> list[tuple[str, int | None, str | None]]:
    found = await conn.execute(
        "SELECT key, status, body FROM kit_idempotency WHERE account_id = %s", [who.account.id]
    )
    return await found.fetchall()


async def test_a_repeated_plan_is_the_same_plan(alice: Person) -> None:
    first = await post(alice, PLAN, MANIFEST, key="plan")
    again = await post(alice, PLAN, MANIFEST, key="plan")

    assert (first.status_code, is_replay(first)) == (200, False)
    assert (again.status_code, is_replay(again)) == (200, True)
    assert again.content == first.content
    assert again.headers["content-type"] == first.headers["content-type"]
    assert again.headers["x-request-id"] != first.headers["x-request-id"]


async def test_a_repeated_key_creation_makes_one_key_and_shows_its_secret_once(alice: Person) -> None:
    first = await post(alice, KEYS, wanted("once"), key="mint")
    again = await post(alice, KEYS, wanted("once"), key="mint")

    assert (await labels(alice))["once"] == 1
    assert is_replay(again)
    secret = first.json().pop("secret")
    assert secret.startswith("svc_test_")
    assert again.json() == {name: value for name, value in first.json().items() if name != "secret"}


async def test_the_stored_response_holds_no_secret(alice: Person, conn: Conn) -> None:
    secret = (await post(alice, KEYS, wanted(), key="kept")).json()["secret"]

    [(key, status, body)] = await stored(conn, alice)

    assert (key, status) == ("kept", 200)
    assert body is not None
    assert "secret" not in body
    assert secret not in body


@pytest.mark.parametrize("other", [(KEYS, wanted("other")), (PLAN, MANIFEST)], ids=["body", "path"])
async def test_a_key_is_for_one_request(alice: Person, other: tuple[str, object]) -> None:
    await post(alice, KEYS, wanted(), key="taken")

    answer = await post(alice, *other, key="taken")

    assert answer.status_code == 422
    [error] = answer.json()["detail"]
    assert (error["loc"], error["type"]) == (["header", "Idempotency-Key"], "key_reused")
    assert "other" not in await labels(alice)


async def test_the_order_of_members_and_quotes_around_the_key_make_no_difference(alice: Person) -> None:
    await post(alice, KEYS, wanted("quoted"), key='"a key"')
    turned = dict(reversed(wanted("quoted").items()))

    assert is_replay(await post(alice, KEYS, turned, key="a key"))
    assert (await labels(alice))["quoted"] == 1


@pytest.mark.parametrize("count", [2, 10])
async def test_of_many_concurrent_requests_one_is_executed(alice: Person, count: int) -> None:
    answers = await asyncio.gather(*(post(alice, KEYS, wanted("race"), key="race") for _ in range(count)))

    assert (await labels(alice))["race"] == 1
    assert sum(answer.status_code == 200 and not is_replay(answer) for answer in answers) == 1
    late = [answer for answer in answers if answer.status_code != 200]
    # A late one that came after the end of the first has its answer.
    assert {(answer.status_code, answer.json()["code"]) for answer in late} <= {(409, "idempotency_in_flight")}
    assert all(answer.headers["Retry-After"] == "1" for answer in late)
    assert is_replay(await post(alice, KEYS, wanted("race"), key="race"))


async def test_after_a_refusal_the_key_is_free_again(alice: Person) -> None:
    refused = await post(alice.test, KEYS, wanted(kind="live"), key="again")
    assert (refused.status_code, refused.json()["code"]) == (403, "live_key_required")

    answer = await post(alice.test, KEYS, wanted("again"), key="again")

    assert (answer.status_code, is_replay(answer)) == (200, False)
    assert (await labels(alice))["again"] == 1


async def test_an_invalid_body_does_not_use_the_key(alice: Person, conn: Conn) -> None:
    assert (await post(alice, KEYS, {}, key="early")).status_code == 422
    assert await stored(conn, alice) == []


async def test_a_key_expires_after_a_day(alice: Person) -> None:
    await post(alice, KEYS, wanted("monday"), key="daily")
    clock.move(idempotency.RETENTION - timedelta(seconds=5))
    assert is_replay(await post(alice, KEYS, wanted("monday"), key="daily"))
    clock.move(timedelta(seconds=10))

    answer = await post(alice, KEYS, wanted("tuesday"), key="daily")

    assert (answer.status_code, is_replay(answer)) == (200, False)
    assert {"monday", "tuesday"} <= set(await labels(alice))


async def test_another_account_has_keys_of_its_own(alice: Person, bob: Person) -> None:
    await post(alice, KEYS, wanted("hers"), key="same")

    answer = await post(bob, KEYS, wanted("his"), key="same")

    assert (answer.status_code, is_replay(answer)) == (200, False)
    assert answer.json()["label"] == "his"


async def test_the_sandbox_has_keys_of_its_own(alice: Person) -> None:
    await post(alice, PLAN, MANIFEST, key="both")
    assert not is_replay(await post(alice.test, PLAN, MANIFEST, key="both"))


async def test_a_key_of_a_dead_process_is_free_after_its_lease(alice: Person, conn: Conn) -> None:
    await post(alice, KEYS, wanted("dead"), key="dead")
    died = """
        UPDATE kit_idempotency SET status = NULL, body = NULL, lease_until = clock_timestamp() + %s
        WHERE account_id = %s
    """
    await conn.execute(died, [idempotency.LEASE, alice.account.id])
    assert (await post(alice, KEYS, wanted("dead"), key="dead")).status_code == 409
    await conn.execute(died, [timedelta(), alice.account.id])

    answer = await post(alice, KEYS, wanted("dead"), key="dead")

    assert (answer.status_code, is_replay(answer)) == (200, False)
    assert is_replay(await post(alice, KEYS, wanted("dead"), key="dead"))


@pytest.mark.parametrize("key", ["", '""', " ", "k" * 256, f'"{"k" * 256}"'])
async def test_a_key_has_1_to_255_characters(alice: Person, key: str) -> None:
    answer = await post(alice, KEYS, wanted(), key=key)

    assert answer.status_code == 422
    [error] = answer.json()["detail"]
    assert (error["loc"], error["type"]) == (["header", "Idempotency-Key"], "key_length")


@pytest.mark.parametrize("key", ["k" * 255, f'"{"k" * 255}"', "'", 'say "hi"', "gr\xfc\xdfe"])
async def test_a_key_may_be_any_text(alice: Person, key: str) -> None:
    headers = {b"Idempotency-Key": key.encode("latin-1")}
    answers = [await alice.post(KEYS, json=wanted(), headers=headers) for _ in range(2)]

    assert [is_replay(answer) for answer in answers] == [False, True]


async def test_a_get_ignores_the_key(alice: Person, conn: Conn) -> None:
    answer = await alice.get(KEYS, headers={"Idempotency-Key": "k" * 300})

    assert answer.status_code == 200
    assert await stored(conn, alice) == []


async def test_old_keys_are_deleted_and_young_ones_kept(alice: Person, conn: Conn, database: Database) -> None:
    for _ in range(5):
        await post(alice, PLAN, MANIFEST, key=uuid.uuid4().hex)
    clock.move(idempotency.RETENTION - timedelta(seconds=5))
    await post(alice, PLAN, MANIFEST, key="young")
    clock.move(timedelta(seconds=10))

    await old_rows.delete(database, "kit_idempotency")

    assert [key for key, _, _ in await stored(conn, alice)] == ["young"]


async def test_a_replay_has_the_media_type_of_the_first_response(alice: Person) -> None:
    headers = {"Idempotency-Key": "text", "Accept": "text/plain"}
    first, again = [await alice.post(PLAN, json=MANIFEST, headers=headers) for _ in range(2)]

    assert (first.status_code, is_replay(first), is_replay(again)) == (200, False, True)
    assert first.headers["content-type"] == again.headers["content-type"] == "text/plain; charset=utf-8"
    assert again.content == first.content
    assert {name: again.headers.get(name) for name in idempotency.REPLAYED_HEADERS} == {
        name: first.headers.get(name) for name in idempotency.REPLAYED_HEADERS
    }


async def test_another_accept_is_another_request(alice: Person) -> None:
    headers = {"Idempotency-Key": "other"}
    assert (await alice.post(PLAN, json=MANIFEST, headers=headers)).status_code == 200
    answer = await alice.post(PLAN, json=MANIFEST, headers={**headers, "Accept": "text/plain"})

    assert (answer.status_code, answer.json()["code"]) == (422, "key_reused")


@pytest.mark.parametrize("accept", ["*/*", "application/json", "Application/JSON", ""])
async def test_accept_that_asks_for_json_is_the_same_request(alice: Person, accept: str) -> None:
    await alice.post(PLAN, json=MANIFEST, headers={"Idempotency-Key": "same"})
    answer = await alice.post(PLAN, json=MANIFEST, headers={"Idempotency-Key": "same", "Accept": accept})
    assert is_replay(answer)
