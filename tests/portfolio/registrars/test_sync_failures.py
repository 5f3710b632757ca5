"""Syncs that fail, hang, are killed, or run at the same time."""

import asyncio
import contextvars
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from types import ModuleType
from typing import Any

import pytest

from builders.demo.registrars.fake import FakeServer, Fault
from builders.identity.records import Preset
from builders.kit.db.connections import Conn, Database
from builders.kit.jobs import queue
from builders.kit.outbound.client import Outbound
from builders.kit.process.settings import Settings
from builders.kit.values import clock, ids
from builders.portfolio.registrars import inventory_sync, requests
from builders.portfolio.registrars.api_client import TOTAL_S, ApiClient
from builders.portfolio.registrars.store import connections as store
from builders.portfolio.runs import runs, work as portfolio_work
from tests.cast import Person
from tests.conftest import MakePerson
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
from tests.portfolio.team.make import code


@asynccontextmanager
async def running(database: Database, worker: Settings) -> AsyncIterator[None]:
    """A worker that runs jobs."""
    task = asyncio.create_task(queue.run(database, worker))
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def beside(
    alice: Person, fakes: FakeServer, worker: Settings, fault: Fault, monkeypatch: pytest.MonkeyPatch
) -> Json:
    """Sync a registrar with a lasting fault beside another one."""

    def make(*, base_url: str, **options: Any) -> ApiClient:
        hangs = fault is Fault.HANG and "/godaddy" in base_url
        return ApiClient(base_url=base_url, total_s=0.1 if hangs else TOTAL_S, **options)

    monkeypatch.setattr(requests, "ApiClient", make)
    fake = fake_of("godaddy", "godaddy.com")
    fake.account.faults.extend([fault] * 3)
    await connect(alice, fake, fakes)
    await connect(alice, fake_of("spaceship", "spaceship.com"), fakes)
    return await sync(alice, worker)


FAULTS = {
    Fault.HANG: "provider_unavailable",
    Fault.SERVER_ERROR: "provider_unavailable",
    Fault.WEB_PAGE: "provider_unavailable",
    Fault.RATE_LIMITED: "provider_rate_limited",
    Fault.REFUSED: "provider_refused",
}


@pytest.mark.parametrize("fault", FAULTS)
async def test_a_registrar_with_a_fault_affects_no_other(
    alice: Person, fakes: FakeServer, worker: Settings, fault: Fault, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = by_provider(await beside(alice, fakes, worker, fault, monkeypatch))
    assert (found["godaddy"]["error"]["code"], found["spaceship"]["state"]) == (FAULTS[fault], "completed")


async def test_a_run_is_completed_when_one_of_its_registrars_is(
    alice: Person, fakes: FakeServer, worker: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = await beside(alice, fakes, worker, Fault.REFUSED, monkeypatch)
    assert (run["state"], run["summary"]["completed"], run["summary"]["failed"]) == ("completed", 1, 1)


async def test_the_inventory_has_what_the_other_registrar_listed(
    alice: Person, fakes: FakeServer, worker: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    await beside(alice, fakes, worker, Fault.REFUSED, monkeypatch)
    assert [each["domain"] for each in ok(await alice.get(INVENTORY))["items"]] == ["spaceship.com"]


async def test_the_end_of_a_run_and_each_failure_are_published(
    alice: Person, fakes: FakeServer, worker: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    await beside(alice, fakes, worker, Fault.REFUSED, monkeypatch)
    assert await events(alice) == ["sync.completed", "sync.failed"]


async def test_a_request_waits_for_the_end_of_its_run(alice: Person, fakes: FakeServer, worker: Settings) -> None:
    await connect(alice, fake_of("spaceship", "a.com"), fakes)
    async with running(database_of(alice), worker):
        run = ok(await alice.post(SYNC, params={"wait": 20}))
    assert run["state"] == "completed"


async def events(person: Person) -> list[str]:
    async with database_of(person).connection() as conn:
        rows = await conn.execute(
            "SELECT name FROM kit_outbox WHERE account_id = %s AND name LIKE 'portfolio.sync.%%'",
            [person.account.id],
        )
        return sorted(name.removeprefix("portfolio.") for (name,) in await rows.fetchall())


async def test_a_sync_that_runs_is_returned_to_whoever_starts_it_again(
    alice: Person, fakes: FakeServer, worker: Settings
) -> None:
    await connect(alice, fake_of("porkbun", "a.com"), fakes)
    one, two = await asyncio.gather(start(alice), start(alice))
    assert one["run_id"] == two["run_id"]
    assert one["state"] == "queued"
    await connect(alice, fake_of("gandi", "b.com"), fakes)
    other = await start(alice)
    assert other["run_id"] != one["run_id"]
    found = by_provider(other)
    assert (found["gandi"]["state"], found["porkbun"]["state"]) == ("queued", "skipped")
    assert (found["porkbun"]["error"]["code"], found["porkbun"]["error"]["run_id"]) == (
        "sync_running",
        one["run_id"],
    )
    await work(alice, worker)
    assert (await read(alice, one))["state"] == (await read(alice, other))["state"] == "completed"


class Killed(BaseException):
    """A worker was killed."""


# What a worker does, in its order, and how often before it is killed; it is killed after the call, or before it.
POINTS = (
    *((runs, "claim_part", 1, after) for after in (True,)),
    *((inventory_sync, "take_batch", call, after) for call in (1, 2, 3) for after in (False, True)),
    *((runs, "advance_part", call, True) for call in (1, 3, 4)),
    (inventory_sync, "close_listing", 1, True),
    (requests, "record_outcome", 1, True),
    *((runs, "finish_part", 1, after) for after in (False, True)),
)
OWN = frozenset(("connection_id", "domain_id", "id", "created_at", "updated_at", "first_seen_at", "last_seen_at"))


async def state_of(person: Person) -> list[Json]:
    """Return what syncs have written, without what each account has of its own."""
    inventory = ok(await person.get(INVENTORY))
    domains = ok(await person.get(DOMAINS, params={"sort": "domain"}))
    rows = [*inventory["items"], *domains["items"]]
    kept = [{name: value for name, value in each.items() if name not in OWN} for each in rows]
    for each in kept:
        each["missing_since"] = each.get("missing_since") is not None
    snapshots = [{"complete": each["complete"], "domains": each["domains"]} for each in inventory["snapshots"]]
    return [*kept, *snapshots]


async def synced(
    person: Person, fakes: FakeServer, outbound: Outbound, monkeypatch: pytest.MonkeyPatch, point: Any = None
) -> tuple[list[Json], Json]:
    """Sync twice, the second time with a worker that is killed at a point, and then another one."""
    fake = fake_of("porkbun", *(f"d{n}.com" for n in range(5)))
    await connect(person, fake, fakes)
    for name in ("d0.com", "d1.com", "d3.com", "d5.com"):
        await add(person, name)
    await run_parts(person, await start(person), outbound, batch_size=2)
    fake.account.domains = [held(f"d{n}.com", auto_renew=n > 1) for n in range(1, 6)]
    run = await start(person)
    if point is not None:
        with monkeypatch.context() as patch:
            kill_at(patch, *point)
            with pytest.raises(Killed):
                await run_parts(person, run, outbound, batch_size=2)
    await run_parts(person, run, outbound, batch_size=2)
    return await state_of(person), await read(person, run)


def kill_at(patch: pytest.MonkeyPatch, module: ModuleType, name: str, call: int, after: bool) -> None:
    real, calls = getattr(module, name), 0

    async def killed(*arguments: Any, **options: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == call and not after:
            raise Killed
        found = await real(*arguments, **options)
        if calls == call:
            raise Killed
        return found

    patch.setattr(module, name, killed)


async def test_a_sync_that_is_killed_anywhere_and_continued_ends_the_same(
    people: MakePerson, fakes: FakeServer, outbound: Outbound, monkeypatch: pytest.MonkeyPatch
) -> None:
    undisturbed = await people("alice", Preset.DOMAINER_FULL)
    state, run = await synced(undisturbed, fakes, outbound, monkeypatch)
    assert (run["summary"]["seen"], run["summary"]["new"], run["summary"]["missing"]) == (5, 1, 1)
    assert run["summary"]["updated"] == 2  # d1 and d5
    for point in POINTS:
        person = await people("alice", Preset.DOMAINER_FULL)
        found, ended = await synced(person, fakes, outbound, monkeypatch, point)
        assert found == state, point
        assert ended["summary"] == run["summary"], point
        assert [each["field"] for each in ended["changes"]] == [each["field"] for each in run["changes"]], point
        assert await events(person) == ["sync.completed", "sync.completed"], point


async def test_a_slow_worker_writes_nothing_after_another_one_has_taken_over(
    alice: Person, fakes: FakeServer, outbound: Outbound, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = fake_of("porkbun", "a.com")
    await connect(alice, fake, fakes)
    await add(alice, "a.com")
    run = await start(alice)
    real = store.lock_connected

    async def slow(*arguments: Any, **options: Any) -> Any:
        monkeypatch.setattr(store, "lock_connected", real)
        fake.account.domains[0].auto_renew = False
        # In a context of its own, for there a transaction is open.
        await asyncio.create_task(run_parts(alice, run, outbound), context=contextvars.Context())
        return await real(*arguments, **options)

    monkeypatch.setattr(store, "lock_connected", slow)
    await run_parts(alice, run, outbound)
    assert ok(await alice.get(f"{DOMAINS}/a.com"))["auto_renew"] is False
    assert (await read(alice, run))["summary"]["seen"] == 1


async def test_a_job_that_keeps_failing_ends_its_part(
    alice: Person, fakes: FakeServer, worker: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    await connect(alice, fake_of("porkbun", "a.com"), fakes)

    async def broken(*_: Any, **__: Any) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr(inventory_sync, "take_batch", broken)
    run = await start(alice)
    async with database_of(alice).connection() as conn:
        await conn.execute(
            "UPDATE portfolio_runs_parts SET attempts = %s WHERE run_id = %s",
            [portfolio_work.MAX_ATTEMPTS, run["run_id"]],
        )
    await work(alice, worker)
    run = await read(alice, run)
    assert (run["state"], by_provider(run)["porkbun"]["error"]["code"]) == ("failed", "sync_failed")
    assert await events(alice) == ["sync.failed"]


async def test_a_part_whose_job_is_lost_is_done_by_another_one(
    alice: Person, fakes: FakeServer, worker: Settings
) -> None:
    await connect(alice, fake_of("porkbun", "a.com"), fakes)
    stuck = await start(alice)
    async with database_of(alice).transaction() as conn:
        await conn.execute(
            "DELETE FROM procrastinate_jobs WHERE args ->> 'account_id' = %s", [str(alice.account.id)]
        )
    with clock.moved(runs.IDLE + timedelta(minutes=1)):
        async with database_of(alice).transaction() as conn:
            await runs.resume_parts(conn)
    await work(alice, worker)
    assert (await read(alice, stuck))["state"] == "completed"


async def test_a_part_whose_worker_is_killed_each_time_is_abandoned(
    alice: Person, fakes: FakeServer, outbound: Outbound, monkeypatch: pytest.MonkeyPatch
) -> None:
    await connect(alice, fake_of("porkbun", "a.com"), fakes)
    run = await start(alice)
    with monkeypatch.context() as patch:
        for _ in range(portfolio_work.MAX_ATTEMPTS):
            kill_at(patch, inventory_sync, "open_adapter", 1, after=False)
            with pytest.raises(Killed):
                await run_parts(alice, run, outbound)
            patch.undo()
    await run_parts(alice, run, outbound)
    assert by_provider(await read(alice, run))["porkbun"]["error"]["code"] == "sync_failed"


async def test_connections_are_synced_on_schedule(
    alice: Person, fakes: FakeServer, worker: Settings, conn: Conn
) -> None:
    fake = fake_of("spaceship", "a.com")
    await connect(alice, fake, fakes)

    async def pass_hours(hours: float) -> int:
        before = fake.account.requests
        with clock.moved(timedelta(hours=hours)):
            async with conn.transaction():
                await inventory_sync.schedule_syncs(conn, after=(alice.account.id, ids.NIL))
            await work(alice, worker)
        return fake.account.requests - before

    assert await pass_hours(0) == 1  # never synced
    assert await pass_hours(23) == 0
    fake.account.faults.extend([Fault.SERVER_ERROR] * 6)
    assert [await pass_hours(hours) for hours in (24.1, 24.5, 25.2, 26.3)] == [3, 0, 3, 1]
    assert await events(alice) == ["sync.completed", "sync.completed", "sync.failed"]  # one of two in a row
    fake.account.faults.append(Fault.BAD_KEY)
    assert [await pass_hours(hours) for hours in (50.4, 52, 74.5)] == [1, 0, 1]


async def test_what_is_not_done_has_a_reason(
    alice: Person, bob: Person, fakes: FakeServer, worker: Settings
) -> None:
    assert (await start(alice))["providers"] == []
    refused = await alice.post(SYNC, params={"provider": "porkbun", "wait": 0})
    assert code(refused) == (409, "not_connected")
    assert code(await alice.post(SYNC, params={"provider": "porkbum"})) == (404, "provider_not_found")
    await connect(alice, fake_of("porkbun", "a.com"), fakes)
    await connect(alice, fake_of("gandi", "b.com"), fakes)
    run = await sync(alice, worker, provider="Porkbun")
    assert by_provider(run).keys() == {"porkbun"}
    assert code(await bob.get(f"{REGISTRARS}/runs/{run['run_id']}")) == (404, "registrar_run_not_found")
    assert ok(await bob.get(INVENTORY))["items"] == []
