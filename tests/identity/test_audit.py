import json
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from builders.identity import accounts
from builders.identity.records import About, AuditAction
from builders.identity.store import accounts as store
from builders.kit.callers import OPERATOR, Actor
from builders.kit.db import partitions
from builders.kit.db.connections import Conn, Database
from builders.kit.values import clock
from tests.cast import Client, Person
from tests.identity.make import PATH as KEYS, Json, mint

PATH = "/v1/account/audit"

FILL = """
    INSERT INTO identity_audit (account_id, id, created_at, action, actor_type, about)
    SELECT %s, gen_random_uuid(), %s::timestamptz - n * interval '1 minute', 'api_key.minted', 'operator', '{}'
    FROM generate_series(1, %s) AS n
"""


async def entries(client: Client, **query: str) -> list[Json]:
    answer = await client.get(PATH, params=query)
    assert answer.status_code == 200, answer.text
    found: list[Json] = answer.json()["items"]
    return found


async def key_id(person: Person, which: str) -> str:
    keys: list[Json] = (await person.get(KEYS)).json()["items"]
    return next(str(key["id"]) for key in keys if key["label"].endswith(which))


async def test_a_minted_key_stands_in_the_list_with_who_minted_it_and_in_which_request(alice: Person) -> None:
    request_id = "audit-of-a-mint-1"
    alice.headers["X-Request-ID"] = request_id
    key = await mint(alice, label="ci")

    newest = (await entries(alice))[0]

    assert newest["action"] == "api_key.minted"
    assert newest["actor"] == {"type": "key", "id": await key_id(alice, "live"), "label": None}
    assert newest["request_id"] == request_id
    assert newest["at"] >= key["created_at"]
    assert newest["about"] == {
        "key_id": key["id"],
        "label": "ci",
        "key_kind": "live",
        "preset": "developer_full",
    }
    assert key["secret"] not in json.dumps(await entries(alice))


async def test_what_the_operator_did_is_the_operators(alice: Person) -> None:
    actors = [entry["actor"] for entry in await entries(alice)]  # whose two keys were made so

    assert actors == [{"type": "operator", "id": None, "label": None}] * 2


async def test_a_rotation_names_both_keys(alice: Person) -> None:
    old = await mint(alice)
    new = (await alice.post(f"{KEYS}/{old['id']}/rotate")).json()

    rotated, minted, _ = (await entries(alice))[:3]

    assert (rotated["action"], minted["action"]) == ("api_key.rotated", "api_key.minted")
    assert rotated["about"]["key_id"] == old["id"]
    assert rotated["about"]["replaced_by"] == new["id"] == minted["about"]["key_id"]


async def test_a_revocation_stands_there_once_however_often_it_is_asked_for(alice: Person) -> None:
    key = await mint(alice)
    for _ in range(3):
        clock.move(timedelta(seconds=1))
        await alice.delete(f"{KEYS}/{key['id']}")

    [entry] = await entries(alice, action="api_key.revoked")

    assert entry["about"]["key_id"] == key["id"]
    assert entry["actor"]["type"] == "key"


async def test_a_refused_act_leaves_no_line(alice: Person) -> None:
    before = await entries(alice)
    key = await mint(alice.test, key_kind="test")

    await alice.test.post(KEYS, json={"label": "x", "key_kind": "live", "preset": "developer_full"})
    await alice.test.delete(f"{KEYS}/{await key_id(alice, 'live')}")
    await alice.delete(f"{KEYS}/{UUID(int=1)}")

    assert [entry["about"].get("key_id") for entry in await entries(alice)] == [
        key["id"],
        *(entry["about"]["key_id"] for entry in before),
    ]


async def test_a_rolled_back_action_has_no_entry(alice: Person, database: Database) -> None:
    before = await entries(alice)

    async with database.connection() as conn, conn.transaction(force_rollback=True):
        await audit(conn, alice)

    assert await entries(alice) == before


async def test_pages_join_to_the_whole_list(alice: Person, database: Database) -> None:
    async with database.transaction() as conn:
        for _ in range(5):
            await audit(conn, alice)
    whole = await entries(alice)
    pages: list[Json] = []
    cursor: str | None = ""
    while cursor is not None:
        page = (await alice.get(PATH, params={"limit": 3} | ({"cursor": cursor} if cursor else {}))).json()
        assert len(page["items"]) <= 3
        pages += page["items"]
        cursor = page["next_cursor"]

    assert len(whole) == 7
    assert pages == whole
    assert [entry["id"] for entry in whole] == sorted((entry["id"] for entry in whole), reverse=True)


async def test_the_list_can_be_of_one_kind(alice: Person, database: Database) -> None:
    async with database.transaction() as conn:
        await audit(conn, alice, action=AuditAction.EMAIL_CHANGED)
        await audit(conn, alice)

    [entry] = await entries(alice, action="email.changed")

    assert entry["action"] == "email.changed"
    assert await entries(alice, action="plan.promoted") == []


async def test_a_cursor_of_one_kind_is_none_of_another(alice: Person) -> None:
    page = (await alice.get(PATH, params={"limit": 1, "action": "api_key.minted"})).json()

    answer = await alice.get(PATH, params={"cursor": page["next_cursor"]})

    assert page["next_cursor"]
    assert answer.status_code == 422


async def test_an_unknown_kind_is_refused(alice: Person) -> None:
    answer = await alice.get(PATH, params={"action": "key.minted"})

    assert answer.status_code == 422
    assert answer.json()["detail"][0]["loc"] == ["query", "action"]


async def test_a_test_key_sees_the_list_of_the_real_account(alice: Person) -> None:
    await mint(alice.test, key_kind="test")

    assert await entries(alice.test) == await entries(alice)


async def test_another_account_does_not_see_it(alice: Person, bob: Person) -> None:
    await mint(alice)
    hers, his = await entries(alice), await entries(bob)

    assert len(hers) == 3
    assert len(his) == 2
    assert not {entry["id"] for entry in hers} & {entry["id"] for entry in his}
    cursor = (await alice.get(PATH, params={"limit": 1})).json()["next_cursor"]
    assert (await bob.get(PATH, params={"cursor": cursor})).status_code == 422


async def test_it_takes_credentials(anyone: Client) -> None:
    assert (await anyone.get(PATH)).status_code == 401


async def test_texts_are_kept_as_they_are(alice: Person, database: Database) -> None:
    label = 'Ünïcode "quoted" \\ \n end'
    about: About = {"text": label, "number": 7, "yes": True, "nothing": None}
    async with database.transaction() as conn:
        await accounts.record_audit(
            conn,
            account_id=alice.account.id,
            actor=Actor(type="support", id=UUID(int=7), label=label),
            action=AuditAction.PROFILE_CHANGED,
            about=about,
        )

    newest = (await entries(alice))[0]

    assert newest["about"] == about
    assert newest["actor"] == {"type": "support", "id": str(UUID(int=7)), "label": label}
    assert newest["request_id"] is None


async def test_the_table_is_one_of_those_that_turn_with_the_months(conn: Conn, alice: Person) -> None:
    async with conn.transaction():
        await partitions.rotate_partitions(conn)
    async with conn.transaction():
        await audit(conn, alice)
    cursor = await conn.execute(
        "SELECT DISTINCT tableoid::regclass::text FROM identity_audit WHERE account_id = %s", [alice.account.id]
    )
    placed = {name for (name,) in await cursor.fetchall()}

    assert f"identity_audit_{clock.now():%Y_%m}" in placed


@pytest.mark.parametrize("action", [None, AuditAction.API_KEY_MINTED])
async def test_a_page_costs_the_same_in_a_long_list(
    conn: Conn, alice: Person, bob: Person, action: AuditAction | None
) -> None:
    async with conn.transaction(force_rollback=True):
        await partitions.rotate_partitions(conn)
        await conn.execute(FILL, [bob.account.id, clock.now(), 20_000])
        await conn.execute(FILL, [alice.account.id, clock.now(), 200])
        await conn.execute("ANALYZE identity_audit")
        few = await buffers(conn, alice, action)
        many = await buffers(conn, bob, action)

    assert many <= few * 3  # a level or two more of each index, not a hundred times the rows


async def audit(conn: Conn, person: Person, action: AuditAction = AuditAction.SESSION_OPENED) -> None:
    await accounts.record_audit(conn, account_id=person.account.id, actor=OPERATOR, action=action, about={})


async def buffers(conn: Conn, person: Person, action: AuditAction | None) -> int:
    """How many pages of the database a page of the list reads."""
    query = store.list_entries if action is None else store.list_entries_of_action
    row: dict[str, Any] = {
        "account_id": person.account.id,
        "action": action,
        "after": UUID(int=2**127),
        "limit": 10,
    }
    cursor = await conn.execute(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {query.text}", row)
    found = await cursor.fetchone()
    assert found is not None
    plan = found[0][0]["Plan"]
    return int(plan["Shared Hit Blocks"]) + int(plan["Shared Read Blocks"])
