"""What a sync leaves behind: in the connection, in the inventory, in domains, in events and in the history."""

import asyncio
import json
from datetime import timedelta
from typing import Any, cast
from uuid import UUID

import pytest

from builders.demo.registrars.fake import FakeRegistrar, FakeServer, Fault
from builders.kit.outbound.client import Outbound
from builders.kit.process.settings import Settings
from builders.kit.values import clock
from builders.portfolio.runs.records import WorkKind
from tests.cast import Person
from tests.portfolio.domains.make import DOMAINS, add
from tests.portfolio.registrars.make import REGISTRARS, connect, database_of, events_of
from tests.portfolio.registrars.reconcile_make import named, report
from tests.portfolio.registrars.sync import (
    INVENTORY,
    SYNC,
    Json,
    do_part,
    fake_of,
    held,
    ok,
    read,
    start,
    sync,
    work,
)
from tests.portfolio.team.make import join, of

FIND_EVENTS = "SELECT data FROM kit_outbox WHERE account_id = %s AND name = %s ORDER BY id"
pytestmark = pytest.mark.usefixtures("calls_fakes")


async def part_of(person: Person, worker: Settings, **query: object) -> Json:
    [part] = (await sync(person, worker, **query))["providers"]
    return dict(part)


async def connection_of(person: Person, provider: str = "porkbun") -> Json:
    [item] = [each for each in ok(await person.get(REGISTRARS))["items"] if each["provider"] == provider]
    return dict(item)


async def domain_of(person: Person, name: str = "a.com") -> Json:
    return ok(await person.get(f"{DOMAINS}/{name}"))


async def events(person: Person, name: str) -> list[Json]:
    async with database_of(person).connection() as conn:
        rows = await conn.execute(FIND_EVENTS, [person.account.id, name])
        return [json.loads(data) for (data,) in await rows.fetchall()]


async def test_a_sync_dates_the_connection(alice: Person, fakes: FakeServer, worker: Settings) -> None:
    await connect(alice, fake_of("porkbun"), fakes)
    await sync(alice, worker)
    found = await connection_of(alice)
    assert (found["status"], found["last_sync_at"] is not None) == ("ok", True)


async def test_a_dry_run_does_not_date_the_connection(alice: Person, fakes: FakeServer, worker: Settings) -> None:
    await connect(alice, fake_of("porkbun"), fakes)
    await sync(alice, worker, dry_run=True)
    assert (await connection_of(alice))["status"] == "never_synced"


async def test_a_connection_is_stale_after_two_intervals(
    alice: Person, fakes: FakeServer, worker: Settings
) -> None:
    await connect(alice, fake_of("porkbun"), fakes)
    ok(await alice.put(f"{REGISTRARS}/manual:corner", json={}))
    await sync(alice, worker, provider="porkbun")
    with clock.moved(timedelta(hours=47)):
        assert (await connection_of(alice))["status"] == "ok"
    with clock.moved(timedelta(hours=49)):
        assert (await connection_of(alice))["status"] == "stale"


@pytest.mark.parametrize(
    ("fault", "status"),
    [
        (Fault.BAD_KEY, "auth_failed"),
        (Fault.RESTRICTED, "restricted"),
        (Fault.RATE_LIMITED, "rate_limited"),
        (Fault.SERVER_ERROR, "never_synced"),
        (Fault.LIMITED_IN_WORDS, "rate_limited"),
        (Fault.MALFORMED, "never_synced"),
        (Fault.EMPTY, "never_synced"),
        (Fault.WEB_PAGE, "never_synced"),  # with 403, and yet no refused key
        (Fault.REFUSED, "never_synced"),
    ],
)
async def test_a_failed_sync_sets_the_status(
    alice: Person, fakes: FakeServer, worker: Settings, fault: Fault, status: str
) -> None:
    fake = fake_of("godaddy", "a.com")
    fake.account.faults.extend([fault] * 3)
    await connect(alice, fake, fakes)
    await sync(alice, worker)
    assert (await connection_of(alice, "godaddy"))["status"] == status


async def test_a_failed_sync_names_the_remedy(alice: Person, fakes: FakeServer, worker: Settings) -> None:
    fake = fake_of("porkbun", "a.com")
    fake.account.faults.append(Fault.BAD_KEY)
    await connect(alice, fake, fakes)
    part = await part_of(alice, worker)
    assert part["error"]["hint"] == "Check both keys, and that API access is switched on for the account."
    assert (await connection_of(alice))["status_detail"].endswith(part["error"]["hint"])


async def test_credentials_that_become_invalid_are_published_once(
    alice: Person, fakes: FakeServer, worker: Settings
) -> None:
    fake = fake_of("porkbun", "a.com")
    await connect(alice, fake, fakes)
    await sync(alice, worker)
    fake.account.faults.extend([Fault.BAD_KEY] * 2)
    for _ in range(2):
        await sync(alice, worker)
    assert await events_of(alice) == ["credentials_invalid"]


async def test_a_member_who_starts_a_sync_gets_each_of_its_failures(
    alice: Person, fakes: FakeServer, worker: Settings
) -> None:
    fake = fake_of("porkbun", "a.com")
    connection = await connect(alice, fake, fakes)
    fake.account.faults.extend([Fault.BAD_KEY] * 2)
    runs = [await sync(alice, worker) for _ in range(2)]
    found = await events(alice, "portfolio.sync.failed")
    assert [each["run_id"] for each in found] == [each["run_id"] for each in runs]
    assert (found[0]["code"], found[0]["connection_id"]) == ("provider_auth_failed", str(connection.id))


def rotated(fake: FakeRegistrar, key: str) -> FakeRegistrar:
    """The same account with another key."""
    credentials = {**fake.credentials, "api_key": key}
    return cast(FakeRegistrar, type("Rotated", (type(fake),), {"credentials": credentials})(fake.account))


async def test_a_sync_fails_with_a_key_that_was_rotated(
    alice: Person, fakes: FakeServer, worker: Settings
) -> None:
    fake = fake_of("porkbun", "a.com")
    await connect(alice, fake, fakes, is_sandbox=True)
    fakes.add(rotated(fake, "pk1_rotated"))
    [part] = (await sync_sandbox(alice, worker))["providers"]
    assert part["error"]["code"] == "provider_auth_failed"


async def test_a_sync_succeeds_with_the_new_key(alice: Person, fakes: FakeServer, worker: Settings) -> None:
    fake = fake_of("porkbun", "a.com")
    await connect(alice, fake, fakes, is_sandbox=True)
    fakes.add(rotated(fake, "pk1_rotated"))
    await sync_sandbox(alice, worker)
    ok(await alice.test.put(f"{REGISTRARS}/porkbun", json={"credentials": {"api_key": "pk1_rotated"}}))
    assert (await sync_sandbox(alice, worker))["state"] == "completed"


async def sync_sandbox(person: Person, worker: Settings) -> Json:
    run = await start(person.test)
    await work(person, worker)
    return ok(await person.test.get(f"{REGISTRARS}/runs/{run['run_id']}"))


async def test_no_request_is_sent_while_the_registrar_accepts_none(
    alice: Person, fakes: FakeServer, worker: Settings
) -> None:
    fake = fake_of("godaddy", "a.com")
    fake.account.faults.append(Fault.RATE_LIMITED)
    await connect(alice, fake, fakes)
    await sync(alice, worker)
    await sync(alice, worker)
    assert fake.account.requests == 1


async def test_a_rate_limit_ends_with_its_time(alice: Person, fakes: FakeServer, worker: Settings) -> None:
    fake = fake_of("godaddy", "a.com")
    fake.account.faults.append(Fault.RATE_LIMITED)
    await connect(alice, fake, fakes)
    await sync(alice, worker)
    clock.move(timedelta(seconds=3601))
    assert (await part_of(alice, worker))["state"] == "completed"


async def test_a_failed_part_says_when_to_try_again(alice: Person, fakes: FakeServer, worker: Settings) -> None:
    fake = fake_of("godaddy", "a.com")
    fake.account.faults.append(Fault.RATE_LIMITED)
    await connect(alice, fake, fakes)
    error = (await part_of(alice, worker))["error"]
    assert error["retry_at"][:13] == (clock.now() + timedelta(hours=1)).isoformat()[:13]


async def test_an_event_says_what_a_sync_has_done(alice: Person, fakes: FakeServer, worker: Settings) -> None:
    connection = await connect(alice, fake_of("porkbun", "a.com", "b.com"), fakes)
    await add(alice, "a.com", auto_renew=False)
    run = await sync(alice, worker)
    [event] = await events(alice, "portfolio.sync.completed")
    assert event == {
        "run_id": run["run_id"],
        "registrars": [
            {
                "connection_id": str(connection.id),
                "provider": "porkbun",
                "state": "completed",
                "seen": 2,
                "updated": 1,
                "missing": 0,
                "error": None,
            }
        ],
    }


async def test_a_dry_run_publishes_nothing(alice: Person, fakes: FakeServer, worker: Settings) -> None:
    await connect(alice, fake_of("porkbun", "a.com"), fakes)
    await sync(alice, worker, dry_run=True)
    assert await events(alice, "portfolio.sync.completed") == []


async def test_a_sync_that_fails_everywhere_is_not_published_as_completed(
    alice: Person, fakes: FakeServer, worker: Settings
) -> None:
    fake = fake_of("porkbun", "a.com")
    fake.account.faults.append(Fault.BAD_KEY)
    await connect(alice, fake, fakes)
    await sync(alice, worker)
    assert await events(alice, "portfolio.sync.completed") == []


async def test_a_sync_adds_no_domain(alice: Person, fakes: FakeServer, worker: Settings) -> None:
    await connect(alice, fake_of("porkbun", "a.com"), fakes)
    await sync(alice, worker)
    assert ok(await alice.get(DOMAINS))["items"] == []


async def test_a_sync_removes_no_domain(alice: Person, fakes: FakeServer, worker: Settings) -> None:
    fake = fake_of("porkbun", "a.com")
    await connect(alice, fake, fakes)
    await add(alice, "a.com")
    await sync(alice, worker)
    fake.account.domains.clear()
    assert (await part_of(alice, worker))["missing"] == 1
    assert (await domain_of(alice))["status"] == "owned"


@pytest.mark.parametrize(
    ("at_registrar", "entered", "expected"),
    [
        ({"auto_renew": False}, {"auto_renew": True}, {"auto_renew": False}),
        ({"auto_renew": True}, {}, {"auto_renew": True}),
        ({"locked": False}, {"locked": True}, {"locked": True}),
        ({"locked": False}, {}, {"locked": False}),
        ({"privacy": False}, {"privacy": True}, {"privacy": True}),
        ({}, {"registrar": "Elsewhere"}, {"registrar": "Elsewhere"}),
        ({}, {}, {"registrar": "Porkbun", "registered_on": "2020-02-29"}),
        ({}, {"registered_on": "2019-01-01"}, {"registered_on": "2019-01-01"}),
        ({}, {"expires_at": "2027-02-28T23:59:59Z"}, {"expires_at": "2027-02-28T23:59:59Z"}),
        ({}, {"expires_at": "2027-02-28"}, {"expires_at": "2027-02-28T00:00:00Z"}),
        ({}, {"expires_at": "2027-03-01T00:00:00Z"}, {"expires_at": "2027-02-28T12:00:00Z"}),
        ({"expires_at": None}, {"expires_at": "2026-01-01T00:00:00Z"}, {"expires_at": "2026-01-01T00:00:00Z"}),
    ],
    ids=str,
)
async def test_which_value_a_sync_takes(
    alice: Person, fakes: FakeServer, worker: Settings, at_registrar: Json, entered: Json, expected: Json
) -> None:
    await connect(alice, fake_of("porkbun", held("a.com", **at_registrar)), fakes)
    await add(alice, "a.com", **entered)
    await sync(alice, worker)
    found = await domain_of(alice)
    assert {name: found[name] for name in expected} == expected


async def test_the_renewal_price_of_a_registrar_is_filled_in(
    alice: Person, fakes: FakeServer, worker: Settings
) -> None:
    await connect(alice, fake_of("namecom", "a.com"), fakes)
    await add(alice, "a.com")
    await sync(alice, worker)
    assert (await domain_of(alice))["renewal_price"] == {"amount": "10.98", "currency": "USD"}


async def test_a_role_without_finance_sees_that_a_price_changed_and_not_how(
    alice: Person, charlie: Person, fakes: FakeServer, worker: Settings
) -> None:
    await connect(alice, fake_of("namecom", "a.com"), fakes)
    await add(alice, "a.com")
    run = await sync(alice, worker)
    await join(alice, charlie, "viewer")
    seen = await read(charlie, run, headers=of(alice))
    [price] = [each for each in seen["changes"] if each["field"] == "renewal_price"]
    assert (price["from"], price["to"], seen["redacted"]) == (None, None, ["finance"])


async def test_a_lost_name_changes_no_domain(alice: Person, fakes: FakeServer, worker: Settings) -> None:
    await connect(alice, fake_of("godaddy", held("a.com", state="TRANSFERRED_OUT", auto_renew=False)), fakes)
    await add(alice, "a.com", auto_renew=True)
    await sync(alice, worker)
    found = await domain_of(alice)
    assert (found["auto_renew"], found["connection_id"]) == (True, None)


async def test_a_name_that_moves_between_two_connections_follows_the_new_one(
    alice: Person, fakes: FakeServer, worker: Settings
) -> None:
    losing, gaining = fake_of("porkbun", "a.com"), fake_of("spaceship")
    await connect(alice, losing, fakes)
    target = await connect(alice, gaining, fakes)
    await add(alice, "a.com")
    await sync(alice, worker)
    losing.account.domains.clear()
    gaining.account.domains.append(held("a.com", auto_renew=False))
    await sync(alice, worker, provider="porkbun")
    await sync(alice, worker, provider="spaceship")
    found = await domain_of(alice)
    assert (found["connection_id"], found["auto_renew"]) == (str(target.id), False)


async def test_a_name_that_two_connections_hold_follows_its_own(
    alice: Person, fakes: FakeServer, worker: Settings
) -> None:
    own = await connect(alice, fake_of("porkbun", "a.com"), fakes)
    await add(alice, "a.com")
    await sync(alice, worker)
    await connect(alice, fake_of("spaceship", held("a.com", auto_renew=False)), fakes)
    await sync(alice, worker)
    found = await domain_of(alice)
    assert (found["connection_id"], found["auto_renew"]) == (str(own.id), True)


async def test_a_name_that_moved_is_a_duplicate_until_the_losing_registrar_is_listed(
    alice: Person, fakes: FakeServer, worker: Settings
) -> None:
    losing, gaining = fake_of("porkbun", "a.com"), fake_of("spaceship")
    await connect(alice, losing, fakes)
    await connect(alice, gaining, fakes)
    await add(alice, "a.com")
    await sync(alice, worker)
    gaining.account.domains.append(losing.account.domains.pop())
    await sync(alice, worker, provider="spaceship")
    assert named(await report(alice, min_severity="warn")) == [("warn", "duplicate_across_registrars", "a.com")]
    await sync(alice, worker, provider="porkbun")
    assert named(await report(alice, category="duplicate_across_registrars")) == []


async def at_once(person: Person, run: Json, outbound: Outbound, times: int = 1) -> Json:
    """Do the parts of a run at the same time, each so often, and return the run."""
    subjects = [UUID(each["connection_id"]) for each in run["providers"]] * times
    await asyncio.gather(*(do_part(person, WorkKind.SYNC, each, outbound) for each in subjects))
    return await read(person, run)


async def test_two_registrars_that_list_the_same_names_at_once_count_their_own(
    alice: Person, fakes: FakeServer, outbound: Outbound
) -> None:
    names = [f"d{number}.com" for number in range(20)]
    for provider in ("porkbun", "spaceship"):
        await connect(alice, fake_of(provider, *names), fakes)
    for name in names[:5]:
        await add(alice, name)
    ended = await at_once(alice, await start(alice), outbound)
    assert [(each["seen"], each["matched"]) for each in ended["providers"]] == [(20, 5), (20, 5)]


async def test_what_three_jobs_of_one_connection_list_at_once_is_counted_once(
    alice: Person, fakes: FakeServer, outbound: Outbound
) -> None:
    await connect(alice, fake_of("spaceship", "a.com", "b.com"), fakes)
    [part] = (await at_once(alice, await start(alice), outbound, times=3))["providers"]
    assert (part["state"], part["seen"], part["new"]) == ("completed", 2, 2)


async def test_the_first_listing_of_a_name_is_dated(alice: Person, fakes: FakeServer, worker: Settings) -> None:
    await connect(alice, fake_of("porkbun", "a.com"), fakes)
    await sync(alice, worker)
    first = ok(await alice.get(INVENTORY))["items"][0]
    clock.move(timedelta(days=1))
    await sync(alice, worker)
    again = ok(await alice.get(INVENTORY))["items"][0]
    assert again["first_seen_at"] == first["first_seen_at"]
    assert again["last_seen_at"] > first["last_seen_at"]


async def test_a_vanished_name_keeps_the_day_when_it_was_seen_last(
    alice: Person, fakes: FakeServer, worker: Settings
) -> None:
    fake = fake_of("porkbun", "a.com")
    await connect(alice, fake, fakes)
    await sync(alice, worker)
    fake.account.domains.clear()
    clock.move(timedelta(days=1))
    await sync(alice, worker)
    [found] = ok(await alice.get(INVENTORY))["items"]
    assert found["last_seen_at"] < found["missing_since"]


async def test_a_vanished_name_stays_missing_since_the_first_time(
    alice: Person, fakes: FakeServer, worker: Settings
) -> None:
    fake = fake_of("porkbun", "a.com")
    await connect(alice, fake, fakes)
    await sync(alice, worker)
    fake.account.domains.clear()
    await sync(alice, worker)
    first = ok(await alice.get(INVENTORY))["items"][0]["missing_since"]
    clock.move(timedelta(days=1))
    assert (await part_of(alice, worker))["missing"] == 0
    assert ok(await alice.get(INVENTORY))["items"][0]["missing_since"] == first


async def test_a_registrar_that_leaves_out_a_value_keeps_the_listed_one(
    alice: Person, fakes: FakeServer, worker: Settings
) -> None:
    fake = fake_of("porkbun", "a.com")
    await connect(alice, fake, fakes)
    await sync(alice, worker)
    fake.account.domains[0].expires_at = None
    await sync(alice, worker)
    assert ok(await alice.get(INVENTORY))["items"][0]["expires_at"] == "2027-02-28T12:00:00Z"


async def test_a_sync_of_one_registrar_leaves_the_other_alone(
    alice: Person, fakes: FakeServer, worker: Settings
) -> None:
    porkbun, spaceship = fake_of("porkbun", "a.com"), fake_of("spaceship", "b.com")
    for fake in (porkbun, spaceship):
        await connect(alice, fake, fakes)
    await sync(alice, worker, provider="spaceship")
    assert (porkbun.account.requests, spaceship.account.requests) == (0, 1)


@pytest.mark.parametrize("provider", [["porkbun"], ["porkbun", "spaceship"]])
async def test_a_sync_names_one_registrar_or_several(
    alice: Person, fakes: FakeServer, provider: list[str]
) -> None:
    for each in ("gandi", "porkbun", "spaceship"):
        await connect(alice, fake_of(each), fakes)
    run = ok(await alice.post(SYNC, params={"wait": 0, "provider": provider}))
    assert sorted(each["provider"] for each in run["providers"]) == provider


async def test_a_sync_of_the_sandbox_touches_no_live_domain(
    alice: Person, fakes: FakeServer, worker: Settings
) -> None:
    await connect(alice, fake_of("porkbun", held("a.com", auto_renew=False)), fakes, is_sandbox=True)
    await add(alice, "a.com", auto_renew=True)
    await sync_sandbox(alice, worker)
    assert (await domain_of(alice))["auto_renew"] is True
    assert ok(await alice.get(INVENTORY))["items"] == []


async def reconnected(person: Person, fakes: FakeServer, fake: Any, **query: Any) -> None:
    """Disconnect the registrar, and connect it again."""
    ok(await person.test.delete(f"{REGISTRARS}/{fake.provider}", params=query))
    body = {"credentials": fake.credentials, "base_url": fakes.add(fake), "verify": False}
    ok(await person.test.put(f"{REGISTRARS}/{fake.provider}", json=body))


@pytest.mark.parametrize(("keep", "names"), [(True, ["a.com"]), (False, [])])
async def test_a_connection_that_is_made_again_has_the_inventory_that_was_kept(
    alice: Person, fakes: FakeServer, worker: Settings, keep: bool, names: list[str]
) -> None:
    fake = fake_of("porkbun", "a.com")
    await connect(alice, fake, fakes, is_sandbox=True)
    await sync_sandbox(alice, worker)
    await reconnected(alice, fakes, fake, keep_inventory=keep)
    assert [each["domain"] for each in ok(await alice.test.get(INVENTORY))["items"]] == names


async def test_a_connection_that_is_made_again_is_synced(
    alice: Person, fakes: FakeServer, worker: Settings
) -> None:
    fake = fake_of("porkbun", "a.com")
    await connect(alice, fake, fakes, is_sandbox=True)
    await sync_sandbox(alice, worker)
    await reconnected(alice, fakes, fake)
    [part] = (await sync_sandbox(alice, worker))["providers"]
    assert (part["state"], part["new"]) == ("completed", 0)


async def test_a_disconnected_registrar_is_not_compared(
    alice: Person, fakes: FakeServer, worker: Settings
) -> None:
    await connect(alice, fake_of("porkbun", "a.com"), fakes)
    await sync(alice, worker)
    assert [each["category"] for each in (await report(alice))["findings"]] == ["missing_in_portfolio"]
    ok(await alice.delete(f"{REGISTRARS}/porkbun"))
    found = await report(alice)
    assert (found["findings"], found["not_checked"], found["summary"]["ok"]) == ([], [], False)
