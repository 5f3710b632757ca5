import pytest

from builders.app import Service
from builders.kit.db.connections import Database
from tests.cast import Person
from tests.kit.outbound.receivers import Receiver, saying
from tests.webhooks.make import PATH, create, happen, read, send_due

FAILING = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 4\r\n\r\nbusy"


async def test_the_newest_is_first_and_pages_follow_each_other(alice: Person) -> None:
    made = [(await create(alice, label=f"number {n}"))["id"] for n in range(5)]
    seen, cursor = [], None
    while True:
        params = {"limit": "2"} | ({"cursor": cursor} if cursor else {})
        page = (await alice.get(PATH, params=params)).json()
        seen += [each["id"] for each in page["items"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break

    assert seen == made[::-1]


async def test_no_secret_is_in_a_list_or_a_read(alice: Person) -> None:
    made = await create(alice)

    for path in (PATH, f"{PATH}/{made['id']}"):
        text = (await alice.get(path)).text
        assert made["signing_secret"] not in text
        assert "whsec_" not in text
        assert made["secret_hint"] in text


async def test_a_destination_shows_its_health(
    alice: Person, database: Database, service: Service, receiver: Receiver
) -> None:
    made = await create(alice, url=receiver.url)
    assert [made[name] for name in ("pending", "success_rate_24h", "last_success_at", "last_failure")] == [
        *(0, None, None, None)
    ]

    await happen(database, alice.account.id)
    await send_due(service, account_id=alice.account.id)
    arrived = await read(alice, made)
    assert (arrived["status"], arrived["pending"], arrived["success_rate_24h"]) == ("enabled", 0, 1.0)
    assert arrived["last_success_at"] is not None

    receiver.answer = saying(FAILING)
    await happen(database, alice.account.id)
    await send_due(service, account_id=alice.account.id)
    failed = await read(alice, made)
    assert (failed["status"], failed["pending"], failed["success_rate_24h"]) == ("failing", 1, 0.5)
    assert (failed["last_failure"]["status"], failed["last_failure"]["error"]) == (503, "http_status")
    assert failed["failing_since"] is not None
    assert failed["version"] == made["version"]  # what its owner may change did not


async def test_bob_does_not_see_alices(alice: Person, bob: Person) -> None:
    made = await create(alice)

    assert (await bob.get(PATH)).json()["items"] == []
    strangers, unknown = [
        (await bob.get(f"{PATH}/{each}")).json() | {"request_id": None}
        for each in (made["id"], "0193a1b2-0000-7000-8000-000000000005")
    ]
    assert strangers == unknown
    assert strangers["code"] == "webhook_not_found"


@pytest.mark.parametrize("webhook_id", ["x", "0193a1b2-0000-7000-8000-000000000005", "%20", "1"])
async def test_an_unknown_or_malformed_id_is_not_found(alice: Person, webhook_id: str) -> None:
    answer = await alice.get(f"{PATH}/{webhook_id}")

    assert (answer.status_code, answer.json()["code"]) == (404, "webhook_not_found")


async def test_a_test_key_reads_the_sandbox(alice: Person) -> None:
    live, test = await create(alice), await create(alice.test)

    assert [each["id"] for each in (await alice.get(PATH)).json()["items"]] == [live["id"]]
    assert [each["id"] for each in (await alice.test.get(PATH)).json()["items"]] == [test["id"]]
