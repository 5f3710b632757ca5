"""Bounds of what a registrar, or a stand-in for one, can write."""

from types import SimpleNamespace

import pytest

from builders.demo.registrars.fake import FakeServer, Fault
from builders.kit.outbound.client import Outbound
from builders.kit.process.settings import Settings
from builders.portfolio.registrars import inventory, inventory_sync, requests
from builders.portfolio.registrars.providers import get_profile
from builders.portfolio.registrars.records import Connection
from tests.cast import Person
from tests.portfolio.domains.make import DOMAINS, add
from tests.portfolio.registrars.make import REGISTRARS, connect, database_of
from tests.portfolio.registrars.sync import (
    INVENTORY,
    SYNC,
    Json,
    by_provider,
    fake_of,
    held,
    ok,
    read,
    run_parts,
    start,
    sync,
    work,
)

COUNT = "SELECT count(*) FROM portfolio_registrars_holdings WHERE account_id = %s"


FILL = """
    INSERT INTO portfolio_registrars_holdings (
        account_id, connection_id, domain, provider, status, source, listing_id, first_seen_at, last_seen_at
    ) SELECT %(account_id)s, %(id)s, 'f' || number || '.com', 'gandi', 'active', 'api', %(id)s, now(), now()
    FROM generate_series(1, %(count)s) AS number
"""


def hold_at_most(monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    """Lower the maximum of a real account."""
    real = inventory.max_held
    assert real(is_sandbox=False) == 200_000

    def lower(*, is_sandbox: bool) -> int:
        return real(is_sandbox=True) if is_sandbox else most

    monkeypatch.setattr(inventory, "max_held", lower)


async def fill(person: Person, connection: Connection, count: int) -> None:
    """Let a connection hold many domains."""
    row = {"account_id": connection.account_id, "id": connection.id, "count": count}
    async with database_of(person).transaction() as conn:
        await conn.execute(FILL, row)


def names(count: int, prefix: str = "d") -> list[str]:
    return [f"{prefix}{number:03}.com" for number in range(count)]


async def stored(person: Person, *, is_sandbox: bool = False) -> int:
    account = person.account.sandbox_id if is_sandbox else person.account.id
    async with database_of(person).connection() as conn:
        [(count,)] = await (await conn.execute(COUNT, [account])).fetchall()
    return int(count)


async def part_of(person: Person, worker: Settings, **query: object) -> Json:
    [part] = (await sync(person, worker, **query))["providers"]
    found: Json = part
    return found


@pytest.mark.maximum("registrar_inventory")
async def test_a_listing_stops_at_the_maximum_and_a_first_one_leaves_nothing(
    alice: Person, fakes: FakeServer, worker: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    hold_at_most(monkeypatch, 150)
    fake = fake_of("spaceship", *names(151))  # pages of 100
    await connect(alice, fake, fakes)
    part = await part_of(alice, worker)
    assert (part["state"], part["error"]["code"], part["new"]) == ("failed", "inventory_limit", 0)
    assert "at most 150 domains" in part["error"]["hint"]
    assert "keep_inventory=false" in part["error"]["hint"]
    assert await stored(alice) == 0
    assert ok(await alice.get(INVENTORY))["snapshots"] == []
    fake.account.domains.pop()
    assert (await part_of(alice, worker))["new"] == await stored(alice) == 150


async def test_connections_share_the_maximum_and_a_later_listing_keeps_what_is_held(
    alice: Person, fakes: FakeServer, worker: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    hold_at_most(monkeypatch, 20)
    fake = fake_of("spaceship", *names(12))
    await connect(alice, fake, fakes)
    await sync(alice, worker)
    await connect(alice, fake_of("gandi", *names(9, "g")), fakes)
    found = {each["provider"]: each for each in (await sync(alice, worker))["providers"]}
    assert (found["gandi"]["error"]["code"], found["spaceship"]["state"]) == ("inventory_limit", "completed")
    assert await stored(alice) == 12
    fake.account.domains.extend(map(held, names(9, "e")))
    part = await part_of(alice, worker, provider="spaceship")
    assert (part["error"]["code"], part["missing"], await stored(alice)) == ("inventory_limit", 0, 12)
    [item] = [each for each in ok(await alice.get(REGISTRARS))["items"] if each["provider"] == "spaceship"]
    assert (item["connected"], item["status"]) == (True, "ok")


@pytest.mark.maximum("sandbox_registrar_inventory")
async def test_a_test_key_has_a_lower_maximum(alice: Person, fakes: FakeServer, worker: Settings) -> None:
    connection = await connect(alice, fake_of("spaceship", *names(11)), fakes, is_sandbox=True)
    before = inventory.MAX_SANDBOX_HELD - 10
    other = await connect(alice, fake_of("gandi"), fakes, is_sandbox=True)
    await fill(alice, other, before)
    run = ok(await alice.test.post(SYNC, params={"wait": 0, "provider": connection.provider}))
    await work(alice, worker)
    [part] = ok(await alice.test.get(f"{REGISTRARS}/runs/{run['run_id']}"))["providers"]
    assert part["error"]["code"] == "inventory_limit"
    assert await stored(alice, is_sandbox=True) == before


async def test_a_dry_run_stops_at_the_maximum(
    alice: Person, fakes: FakeServer, worker: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    hold_at_most(monkeypatch, 20)
    await connect(alice, fake_of("spaceship", *names(21)), fakes)
    assert (await part_of(alice, worker, dry_run=True))["error"]["code"] == "inventory_limit"


async def test_an_import_of_the_inventory_stops_at_the_maximum(
    alice: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    hold_at_most(monkeypatch, 20)
    body = {"provider": "manual:corner", "domains": names(21)}
    answer = await alice.post(f"{REGISTRARS}/inventory/import", json=body)
    assert (answer.status_code, answer.json()["code"]) == (409, "inventory_limit")
    assert "keep_inventory=false" in answer.json()["next_action"]
    assert await stored(alice) == 0


async def test_what_a_failed_first_listing_wrote_is_deleted_and_what_a_later_one_wrote_stays(
    alice: Person, fakes: FakeServer, worker: Settings
) -> None:
    fake = fake_of("spaceship", *names(150))
    await connect(alice, fake, fakes)
    domain = await add(alice, "d000.com")
    fake.account.faults.extend([None, *[Fault.SERVER_ERROR] * 3])  # the second page
    part = await part_of(alice, worker)
    assert (part["error"]["code"], part["seen"], part["new"]) == ("provider_unavailable", 100, 0)
    assert await stored(alice) == 0
    assert ok(await alice.get(f"{DOMAINS}/{domain['id']}"))["expires_at"] == "2027-02-28T12:00:00Z"
    await sync(alice, worker)
    fake.account.domains.insert(0, held("new.com"))
    fake.account.faults.extend([None, *[Fault.SERVER_ERROR] * 3])
    assert (await part_of(alice, worker))["new"] == 1
    assert await stored(alice) == 151


async def test_what_a_first_listing_wrote_is_deleted_in_batches(
    alice: Person, fakes: FakeServer, outbound: Outbound
) -> None:
    fake = fake_of("spaceship", *names(150))
    await connect(alice, fake, fakes)
    fake.account.faults.extend([None, *[Fault.SERVER_ERROR] * 3])
    run = await start(alice)
    await run_parts(alice, run, outbound, batch_size=4)  # 40 at once
    assert (by_provider(await read(alice, run))["spaceship"]["counts"]["discarded"], await stored(alice)) == (
        100,
        0,
    )


async def test_a_failed_first_listing_keeps_what_a_member_imported(
    alice: Person, fakes: FakeServer, worker: Settings
) -> None:
    fake = fake_of("spaceship", *names(150))
    await connect(alice, fake, fakes)
    body = {"provider": "spaceship", "domains": ["d000.com", "mine.com"]}
    ok(await alice.post(f"{REGISTRARS}/inventory/import", json=body))
    fake.account.faults.extend([None, *[Fault.SERVER_ERROR] * 3])
    await sync(alice, worker)
    listed = [each["domain"] for each in ok(await alice.get(INVENTORY))["items"]]
    assert listed == ["d000.com", "mine.com"]


async def test_a_stand_in_has_a_maximum_of_pages(
    alice: Person, fakes: FakeServer, worker: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inventory_sync, "max_pages", lambda connection: min(3, requests.max_pages(connection)))
    fake = fake_of("spaceship", *names(8))
    fake.account.most_rows = 2
    await connect(alice, fake, fakes)
    assert (await part_of(alice, worker))["error"]["code"] == "provider_unavailable"
    assert fake.account.requests == 4


async def test_a_stand_in_has_a_slower_pace_than_any_registrar_needs(
    alice: Person, fakes: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    connection = await connect(alice, fake_of("spaceship"), fakes)
    waits = list[float]()

    async def note(seconds: float) -> None:
        waits.append(seconds)

    monkeypatch.setattr(requests, "asyncio", SimpleNamespace(sleep=note))  # other tasks of the process go on
    limit = requests.pace_of(database_of(alice), connection, get_profile("spaceship"), max_wait_s=60)
    for _ in range(200):  # at once
        await limit.acquire()
    assert len(waits) >= 40
