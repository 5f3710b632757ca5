import re
from datetime import timedelta
from typing import Any

import pytest

from builders.aliases.events import ALIAS_CREATED, ALIAS_DELETED
from builders.app import Service
from builders.identity.events import KEY_CREATED
from builders.kit.db import partitions
from builders.kit.db.connections import Conn, Database
from builders.kit.values import clock, ids
from builders.webhooks.store import deliveries as store
from tests.cast import Person
from tests.kit.outbound.receivers import Receiver, saying
from tests.webhooks.make import DELIVERIES, PATH, create, deliveries, happen, send_due


async def test_a_delivery_is_listed_as_soon_as_it_happened(alice: Person, database: Database) -> None:
    made = await create(alice)
    (event,) = await happen(database, alice.account.id)

    (delivery,) = await deliveries(alice)
    assert delivery["webhook_id"] == made["id"]
    assert (delivery["event_id"], delivery["event"]) == (str(event.id), "alias.created")
    assert (delivery["status"], delivery["trigger"], delivery["attempt_count"]) == ("pending", "event", 0)
    assert delivery["next_attempt_at"] is not None
    assert delivery["livemode"] is True


async def test_a_delivery_is_read_with_its_attempts_and_payload(
    alice: Person, database: Database, service: Service, receiver: Receiver
) -> None:
    await create(alice, url=receiver.url)
    receiver.answer = saying(b"HTTP/1.1 503 Busy\r\nContent-Length: 11\r\n\r\nbusy\x1b[31m\xff!")
    await happen(database, alice.account.id)
    await send_due(service, account_id=alice.account.id)
    (listed,) = await deliveries(alice)

    shown = (await alice.get(f"{DELIVERIES}/{listed['id']}")).json()

    (attempt,) = shown["attempts"]
    assert shown["payload"].encode() == receiver.body
    assert (attempt["n"], attempt["status"], attempt["error"]) == (1, 503, "http_status")
    assert attempt["response_excerpt"].startswith("busy")
    assert "\x1b" not in attempt["response_excerpt"]
    assert attempt["duration_ms"] >= 0
    assert {name: shown[name] for name in listed} == listed
    assert (listed["status"], listed["last_status"], listed["last_error"]) == ("pending", 503, "http_status")


async def test_the_newest_is_first_and_pages_follow_each_other(alice: Person, database: Database) -> None:
    await create(alice, events=["*"])
    published = await happen(database, alice.account.id, *[ALIAS_CREATED] * 7)
    seen, cursor = [], None
    while True:
        params = {"limit": "3"} | ({"cursor": cursor} if cursor else {})
        page = (await alice.get(DELIVERIES, params=params)).json()
        seen += [each["event_id"] for each in page["items"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break

    assert seen == [str(each.id) for each in published[::-1]]


async def test_pending_deliveries_have_pages(alice: Person, database: Database) -> None:
    await create(alice, events=["*"])
    published = await happen(database, alice.account.id, *[ALIAS_CREATED, ALIAS_DELETED] * 4)
    for filters, wanted in (({}, published), ({"event": "alias.deleted"}, published[1::2])):
        seen, cursor = [], None
        while True:
            params = {"limit": "3", "status": "pending", **filters} | ({"cursor": cursor} if cursor else {})
            page = (await alice.get(DELIVERIES, params=params)).json()
            seen += [each["event_id"] for each in page["items"]]
            cursor = page["next_cursor"]
            if cursor is None:
                break
        assert seen == [str(each.id) for each in wanted[::-1]]


async def test_filters_narrow_the_list(
    alice: Person, database: Database, service: Service, receiver: Receiver
) -> None:
    first = await create(alice, url=receiver.url, events=["alias.*"])
    second = await create(alice, url=receiver.url, events=["*"])
    early = clock.now()
    await happen(database, alice.account.id, ALIAS_CREATED)
    await send_due(service, account_id=alice.account.id)
    clock.move(timedelta(hours=3))
    late = clock.now()
    await happen(database, alice.account.id, ALIAS_DELETED, KEY_CREATED)

    async def count(**filters: Any) -> int:
        return len(await deliveries(alice, **filters))

    assert await count() == 5
    assert await count(webhook_id=first["id"]) == 2
    assert await count(webhook_id=second["id"], event="alias.deleted") == 1
    assert await count(event="alias.created") == 2
    assert await count(event="never.was") == 0
    assert await count(status="succeeded") == 2
    assert await count(status="pending") == 3
    assert await count(status="pending", webhook_id=second["id"]) == 2
    assert await count(status="delivering") == 0
    assert await count(status="failed") == await count(status="cancelled") == 0
    assert await count(since=late.isoformat()) == 3
    assert await count(until=late.isoformat()) == 2
    assert await count(since=early.isoformat(), until=late.isoformat()) == 2
    assert await count(since=late.isoformat(), status="pending", event="alias.deleted") == 2
    assert await count(until=early.isoformat()) == 0
    assert await count(since="0001-01-01T00:00:00Z", until="9999-12-31T23:59:59Z") == 5


async def test_test_sends_can_be_left_out(
    alice: Person, bob: Person, database: Database, receiver: Receiver
) -> None:
    receiver.answer = saying(b"HTTP/1.1 500 Broken\r\nContent-Length: 0\r\n\r\n")
    made = await create(alice, url=receiver.url, events=["alias.*"])
    sample = (await alice.post(f"{PATH}/{made['id']}/test")).json()
    await happen(database, alice.account.id, ALIAS_CREATED)

    async def listed(**filters: Any) -> list[str]:
        return [each["trigger"] for each in await deliveries(alice, **filters)]

    assert sorted(await listed()) == ["event", "test"]
    assert await listed(status="failed") == ["test"]
    for filters in ({}, {"webhook_id": made["id"]}):
        assert await listed(test=True, **filters) == ["test"]
        assert await listed(test=False, **filters) == ["event"]
    assert await listed(status="failed", test=False) == []
    assert await listed(status="pending", test=True) == []
    assert await listed(status="pending", test=False) == ["event"]
    assert (await deliveries(alice, test=True))[0]["id"] == sample["id"]
    assert await deliveries(bob, test=True) == []


@pytest.mark.parametrize("offset", ["+02:00", "+00:00"])
async def test_a_plus_sign_that_was_not_encoded_is_named(alice: Person, offset: str) -> None:
    for path in ("/v1/notifications/deliveries", "/v1/events"):
        answer = await alice.get(f"{path}?since=2026-01-05T00:00:00{offset}")
        [error] = answer.json()["detail"]
        assert (answer.status_code, error["type"]) == (422, "instant_form")
        assert f"2026-01-05T00:00:00%2B{offset[1:]}" in error["msg"]
        encoded = offset.replace("+", "%2B")
        assert (await alice.get(f"{path}?since=2026-01-05T00:00:00{encoded}")).status_code == 200


@pytest.mark.parametrize("webhook_id", ["x", "0193a1b2-0000-7000-8000-000000000005", ""])
async def test_a_filter_for_an_unknown_destination_finds_nothing(
    alice: Person, database: Database, webhook_id: str
) -> None:
    await create(alice)
    await happen(database, alice.account.id)

    assert await deliveries(alice, webhook_id=webhook_id) == []


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("status", "lost"),
        ("since", "yesterday"),
        ("since", "2026-01-05T00:00:00"),
        ("until", "infinity"),
        ("until", "0.5"),
        ("since", "1767571200"),
        ("limit", "0"),
        ("cursor", "x"),
    ],
)
async def test_an_invalid_filter_is_named(alice: Person, name: str, value: str) -> None:
    answer = await alice.get(DELIVERIES, params={name: value})

    assert answer.status_code == 422
    assert [each["loc"] for each in answer.json()["detail"]] == [["query", name]]


async def test_a_cursor_is_valid_for_its_filters_alone(alice: Person, database: Database) -> None:
    await create(alice)
    await happen(database, alice.account.id, ALIAS_CREATED, ALIAS_CREATED)
    cursor = (await alice.get(DELIVERIES, params={"limit": "1"})).json()["next_cursor"]

    answer = await alice.get(DELIVERIES, params={"cursor": cursor, "event": "alias.created"})
    assert answer.status_code == 422


async def test_bob_does_not_see_alices(alice: Person, bob: Person, database: Database) -> None:
    made = await create(alice)
    await happen(database, alice.account.id)
    (delivery,) = await deliveries(alice)

    assert await deliveries(bob) == []
    assert await deliveries(bob, webhook_id=made["id"]) == []
    assert await deliveries(alice.test) == []
    for client in (bob, alice.test):
        answer = await client.get(f"{DELIVERIES}/{delivery['id']}")
        assert (answer.status_code, answer.json()["code"]) == (404, "delivery_not_found")


@pytest.mark.parametrize(
    "delivery_id",
    [
        *("x", "0193a1b2-0000-7000-8000-00000000000f", "00000000-0000-4000-8000-000000000000"),
        "f" * 8 + "-ffff" * 4,
        "e677d21f-d818-7000-8000-000000000005",  # of the last second of the year 9999
    ],
)
async def test_an_unknown_or_malformed_id_is_not_found(alice: Person, delivery_id: str) -> None:
    for answer in (
        await alice.get(f"{DELIVERIES}/{delivery_id}"),
        await alice.post(f"{DELIVERIES}/{delivery_id}/retry"),
    ):
        assert (answer.status_code, answer.json()["code"]) == (404, "delivery_not_found")


async def test_test_keys_read_the_deliveries_of_the_sandbox(alice: Person, database: Database) -> None:
    await create(alice)
    await create(alice.test)
    await happen(database, alice.account.sandbox_id)

    (delivery,) = await deliveries(alice.test)
    shown = (await alice.test.get(f"{DELIVERIES}/{delivery['id']}")).json()
    assert delivery["livemode"] is shown["livemode"] is False
    assert f'"account_id":"{alice.account.id}","livemode":false' in shown["payload"]
    assert await deliveries(alice) == []


FILL = """
    INSERT INTO webhooks_deliveries (account_id, id, created_at, destination_id, event_id, event, status, trigger)
    SELECT %(account_id)s,
           (lpad(to_hex((extract(epoch FROM at) * 1000)::bigint << 16 | 28672), 16, '0')
            || '8000' || lpad(to_hex(n), 12, '0'))::uuid,
           at, CASE WHEN n %% 2 = 0 THEN %(one)s ELSE %(other)s END, gen_random_uuid(), 'alias.created',
           CASE WHEN n %% 9 = 0 THEN 'failed' ELSE 'succeeded' END, 'event'
    FROM (SELECT n, %(now)s::timestamptz - n * interval '6 minutes' AS at
          FROM generate_series(0, 19999) AS n) AS rows
"""


async def touched(conn: Conn, statement: str, row: dict[str, Any]) -> tuple[int, str]:
    """Return how many 8 KiB blocks PostgreSQL touches for a statement, and its plan."""
    found = await conn.execute(f"EXPLAIN (ANALYZE, BUFFERS, COSTS OFF, TIMING OFF) {statement}", row)
    plan = "\n".join(line for (line,) in await found.fetchall())
    first = next(line for line in plan.splitlines() if "Buffers: shared" in line)
    return sum(map(int, re.findall(r"(?:hit|read)=(\d+)", first))), plan


@pytest.mark.parametrize("which", ["all", "of a destination", "failed"])
async def test_a_page_reads_few_blocks_of_all_months(alice: Person, conn: Conn, which: str) -> None:
    made, now = await create(alice), clock.now()
    row: dict[str, Any] = {
        "account_id": alice.account.id,
        "is_test": None,
        "destination_id": made["id"] if which == "of a destination" else None,
        "event": None,
        "status": "failed" if which == "failed" else None,
        "livemode": True,
        "limit": 50,
        "now": now,
        "first": ids.lowest(now - timedelta(days=130)),
        "since": now - timedelta(days=130),
        "until": now + timedelta(hours=1),
    }
    statement = {"all": store.LIST, "failed": store.LIST_FAILED}.get(which, store.LIST_OF_DESTINATION)

    async with conn.transaction(force_rollback=True):
        for months in range(1, 4):
            before = {"table": "webhooks_deliveries", "now": now - timedelta(days=30 * months)}
            await conn.execute(partitions.MAKE, before)
        await conn.execute(
            FILL, {"account_id": alice.account.id, "one": made["id"], "other": ids.new(), "now": now}
        )
        await conn.execute("UPDATE webhooks_deliveries SET given_up_at = created_at WHERE status = 'failed'")
        await conn.execute("ANALYZE webhooks_deliveries")
        for age in (timedelta(), timedelta(days=35), timedelta(days=70)):
            after = ids.lowest(now - age + timedelta(seconds=1))
            blocks, plan = await touched(conn, statement, row | {"after": after})
            assert blocks < 80, plan  # a whole month has about 150, and the indexes as many


async def test_a_page_of_many_pending_deliveries_reads_few_blocks(
    alice: Person, database: Database, conn: Conn
) -> None:
    await create(alice)
    await happen(database, alice.account.id, *[ALIAS_CREATED] * 30)
    now = clock.now()
    row: dict[str, Any] = {
        "account_id": alice.account.id,
        "is_test": None,
        "destination_id": None,
        "event": None,
        "status": "pending",
        "livemode": True,
        "limit": 3,
        "now": now,
        "after": ids.LAST,
        "first": ids.lowest(now - timedelta(hours=1)),
        "since": now - timedelta(hours=1),
        "until": now + timedelta(hours=1),
    }
    _, plan = await touched(conn, store.LIST_PENDING, row)
    assert len(re.findall(r"Limit \(actual rows=4\b", plan)) == 2, plan  # of what is due, then of the page


async def test_deleted_destinations_are_still_a_filter(alice: Person, database: Database) -> None:
    made = await create(alice)
    await happen(database, alice.account.id)
    await alice.delete(f"{PATH}/{made['id']}")

    assert len(await deliveries(alice, webhook_id=made["id"])) == 1
