"""Daily sums of the funnel, the operator's report of them, and the popularity of domains."""

import asyncio
import itertools
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from builders.app import Service
from builders.catalog import funnel, jobs as catalog_jobs, store
from builders.catalog.records import FunnelLine
from builders.kit.db import old_rows, partitions
from builders.kit.db.connections import Conn, Database
from builders.kit.jobs import queue
from builders.kit.process.settings import Settings
from builders.kit.values import clock
from tests.cast import Client
from tests.catalog.make import Loader, catch_up, fresh
from tests.catalog.many_events import fill
from tests.catalog.test_events import BROWSER, PATH, own_id

MANY = 100_000  # a million in soak/public_endpoints.py


@pytest.fixture(autouse=True)
async def _empty(conn: Conn) -> None:
    """Delete the events of other tests."""
    await conn.execute("TRUNCATE catalog_events, catalog_event_keys, catalog_daily")


@pytest.fixture
async def domain(load: Loader) -> str:
    name = fresh("funnel")
    await load({"domain": name})
    return name


async def send(client: Client, domain: str | None, kind: str = "view", **more: object) -> None:
    event = {"kind": kind, "domain": domain, "session_id": own_id(), **more}
    answer = await client.post(PATH, json=event, headers=BROWSER)
    assert answer.status_code == 200


async def sums(conn: Conn) -> list[tuple[Any, ...]]:
    found = await conn.execute(
        "SELECT day, domain, kind, result, people, machines, sessions FROM catalog_daily ORDER BY 1, 2, 3, 4"
    )
    return await found.fetchall()


def today() -> date:
    return clock.now().astimezone(UTC).date()


def bounds() -> dict[str, Any]:
    """Return the bounds of today for a roll-up."""
    start = datetime.combine(today(), datetime.min.time(), UTC)
    return {"start": start, "end": start + timedelta(days=1), "late": timedelta(days=1), "early": timedelta()}


async def wait_for_blocked(conn: Conn) -> None:
    """Wait until a transaction waits for a lock."""
    for _ in itertools.count():
        cursor = await conn.execute("SELECT count(*) FROM pg_locks WHERE NOT granted")
        if await cursor.fetchone() != (0,):
            return
        await asyncio.sleep(0.01)


async def test_events_are_summed_up_by_day_domain_and_step(
    anyone: Client, domain: str, database: Database, conn: Conn
) -> None:
    session = own_id()
    await send(anyone, domain, session_id=session, event_id=own_id())
    await send(anyone, domain, session_id=session, event_id=own_id())
    await send(anyone, domain)
    await send(anyone, None)
    await send(anyone, domain, "check", local_part="ada", result="available")
    await send(anyone, domain, "claim", local_part="ada", result="completed")
    await anyone.post(PATH, json={"kind": "view", "domain": domain}, headers={"User-Agent": "Googlebot/2.1"})

    for _ in range(2):
        await funnel.roll_up(database)
        assert await sums(conn) == [
            (today(), "", "view", "", 1, 0, 1),
            (today(), domain, "check", "available", 1, 0, 1),
            (today(), domain, "claim", "completed", 1, 0, 1),
            (today(), domain, "view", "", 3, 1, 2),
        ]
    [line] = await funnel.report_funnel(conn, days=30, domain=domain)
    assert line == FunnelLine(
        domain=domain, views=3, checks=1, available=1, claims=1, completed=1, sessions=4, machines=1
    )


async def test_a_late_event_counts_on_its_own_day(
    anyone: Client, domain: str, database: Database, conn: Conn
) -> None:
    noon = datetime(2031, 5, 10, 12, tzinfo=UTC)
    clock.move(noon - clock.now())
    await send(anyone, domain)
    await send(anyone, domain, occurred_at=(noon - timedelta(hours=13)).isoformat())
    await funnel.roll_up(database)
    assert [(day, people) for day, _, _, _, people, _, _ in await sums(conn)] == [
        (date(2031, 5, 9), 1),
        (date(2031, 5, 10), 1),
    ]

    clock.move(timedelta(hours=23))  # the next day, 11:00
    await send(anyone, domain, occurred_at=(clock.now() - timedelta(hours=12)).isoformat())
    await funnel.roll_up(database)
    assert [(day, people) for day, _, _, _, people, _, _ in await sums(conn)] == [
        (date(2031, 5, 9), 1),
        (date(2031, 5, 10), 2),
    ]


async def test_sums_remain_after_the_events_are_deleted(
    anyone: Client, domain: str, database: Database, conn: Conn
) -> None:
    await send(anyone, domain)
    await funnel.roll_up(database)
    await conn.execute("TRUNCATE catalog_events")
    clock.move(timedelta(days=5))
    await funnel.roll_up(database)
    [line] = await funnel.report_funnel(conn, days=30)
    assert (line.domain, line.views) == (domain, 1)
    assert await funnel.report_funnel(conn, days=2) == []


async def test_days_without_a_roll_up_are_summed_up_later(
    anyone: Client, domain: str, database: Database, conn: Conn
) -> None:
    await send(anyone, domain)
    await funnel.roll_up(database)
    await send(anyone, domain)
    clock.move(timedelta(days=1))
    await send(anyone, domain)
    clock.move(timedelta(days=6))
    await funnel.roll_up(database)
    assert [people for _, _, _, _, people, _, _ in await sums(conn)] == [2, 1]


async def test_a_roll_up_that_waits_for_another_reads_events_after_it(
    anyone: Client, domain: str, database: Database, conn: Conn
) -> None:
    await send(anyone, domain)
    async with database.transaction() as slow:
        await store.roll_up(slow, day=today(), **bounds())
        fast = asyncio.create_task(funnel.roll_up(database))
        await wait_for_blocked(conn)
        await send(anyone, domain)
    await fast
    assert [people for _, _, _, _, people, _, _ in await sums(conn)] == [2]


async def test_a_hundred_thousand_events_are_summed_up_in_one_roll_up(
    domain: str, database: Database, conn: Conn
) -> None:
    at = datetime.combine(today(), datetime.min.time(), UTC) + timedelta(hours=23)
    clock.move(at - clock.now())
    await fill(conn, until=at, domains=[domain], count=MANY)
    await funnel.roll_up(database)
    counted = [people + machines for _, _, _, _, people, machines, _ in await sums(conn)]
    assert (len(counted), sum(counted)) == (3, MANY)


class TestPopularity:
    """The public popularity: low, medium or high."""

    async def shown(self, client: Client, domain: str) -> tuple[str, str]:
        answer = await client.get(f"/v1/catalog/domains/{domain}")
        return answer.json()["popularity"], answer.headers["ETag"]

    async def rank(self, service: Service, database: Database, settings: Settings) -> None:
        await funnel.roll_up(database)
        async with database.transaction() as conn:
            await queue.defer(conn, catalog_jobs.rank_popularity, timestamp=0)
        await queue.run_pending(database, settings)
        await catch_up(service.api.state.catalog)

    async def test_popularity_follows_the_visitors(
        self, anyone: Client, load: Loader, service: Service, database: Database, settings: Settings, conn: Conn
    ) -> None:
        domains = [fresh("popular") for _ in range(10)]
        await load(*({"domain": each} for each in domains))
        before = [await self.shown(anyone, each) for each in domains]
        assert {popularity for popularity, _ in before} == {"low"}
        day = "INSERT INTO catalog_daily VALUES (%s, %s, 'view', '', %s, 0, %s)"
        for n, each in enumerate(domains):
            await conn.execute(day, [today(), each, n * 10, n * 10])
        await self.rank(service, database, settings)

        after = [await self.shown(anyone, each) for each in domains]
        assert [popularity for popularity, _ in after] == ["low"] * 6 + ["medium"] * 3 + ["high"]
        changed = [old != new for (_, old), (_, new) in zip(before, after, strict=True)]
        assert changed == [False] * 6 + [True] * 4  # only the validators of changed domains

        clock.move(timedelta(days=40))
        await self.rank(service, database, settings)
        assert {(await self.shown(anyone, each))[0] for each in domains} == {"low"}

    async def test_a_few_visitors_do_not_change_the_popularity(
        self, anyone: Client, domain: str, service: Service, database: Database, settings: Settings
    ) -> None:
        await send(anyone, domain, "check", local_part="ada")
        await self.rank(service, database, settings)
        assert (await self.shown(anyone, domain))[0] == "low"

    async def test_a_load_does_not_change_the_popularity(
        self, anyone: Client, load: Loader, service: Service, database: Database, settings: Settings, conn: Conn
    ) -> None:
        domain = fresh("popular")
        await load({"domain": domain})
        await conn.execute("INSERT INTO catalog_daily VALUES (%s, %s, 'view', '', 500, 0, 500)", [today(), domain])
        await self.rank(service, database, settings)
        await load({"domain": domain, "title": "Another"})
        assert (await self.shown(anyone, domain))[0] == "high"


async def test_deduplication_keys_expire_after_a_week(
    anyone: Client, domain: str, database: Database, conn: Conn
) -> None:
    await send(anyone, domain, event_id=own_id())
    clock.move(timedelta(days=8))
    await send(anyone, domain, event_id=own_id())
    await old_rows.delete(database, "catalog_event_keys")
    assert await (await conn.execute("SELECT count(*) FROM catalog_event_keys")).fetchone() == (1,)


async def test_events_of_a_month_without_a_partition_are_written(anyone: Client, domain: str, conn: Conn) -> None:
    clock.move(timedelta(days=400))
    await send(anyone, domain)
    found = await conn.execute("SELECT count(*) FROM ONLY catalog_events_default WHERE domain = %s", [domain])
    assert await found.fetchone() == (1,)
    assert partitions._tables["catalog_events"].setting == "tracking_days"
