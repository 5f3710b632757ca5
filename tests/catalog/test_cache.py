"""Updates of the catalog cache of a process from the database."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest

from builders.catalog.snapshot import CatalogCache
from builders.kit.db.connections import Conn, Database
from builders.kit.errors import DatabaseUnavailable
from builders.kit.process.settings import Settings
from builders.kit.values import clock
from tests.catalog.make import Loader, fresh

Tick = Callable[[], None]
GUARD_S = 60.0  # no test but those of the wait gets the old catalog, however slow the machine is


class Counted(Database):
    """A database that counts requested connections, and can be unavailable or slow."""

    asked = 0
    is_away = False
    slow: asyncio.Event | None = None  # the second and later connections wait for it
    waits: asyncio.Event

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Conn]:
        self.asked += 1
        if self.is_away:
            raise DatabaseUnavailable("Unavailable for this test.")
        if self.slow is not None and self.asked > 1:
            self.waits.set()
            await self.slow.wait()
        async with super().connection() as conn:
            yield conn


@pytest.fixture
async def counted(conninfo: str, settings: Settings) -> AsyncIterator[Counted]:
    database = Counted(conninfo, settings)
    database.waits = asyncio.Event()
    await database.open()
    yield database
    await database.close()


@pytest.fixture(autouse=True)
def tick(monkeypatch: pytest.MonkeyPatch) -> Tick:
    """Let the time stand still; return a function that lets a second pass."""
    seconds = itertools.count(clock.monotonic())

    def pass_second() -> None:
        monkeypatch.setattr(clock, "monotonic", partial(float, next(seconds)))

    pass_second()
    return pass_second


async def test_concurrent_requests_share_one_read(counted: Counted, load: Loader) -> None:
    await load({"domain": fresh()})
    cache = CatalogCache(counted, assets=Path(), wait_s=GUARD_S)
    found = await asyncio.gather(*(cache.current() for _ in range(50)))
    assert len({id(snapshot) for snapshot in found}) == 1
    assert counted.asked == 2  # the version, and the changed domains


async def test_the_version_is_read_once_a_second(counted: Counted, tick: Tick) -> None:
    cache = CatalogCache(counted, assets=Path(), wait_s=GUARD_S)
    await cache.current()
    before = counted.asked
    for _ in range(10):
        await cache.current()
    assert counted.asked == before
    tick()
    await asyncio.gather(*(cache.current() for _ in range(10)))
    assert counted.asked == before + 1


async def test_only_changed_domains_are_read(counted: Counted, load: Loader, tick: Tick) -> None:
    domain, other = fresh(), fresh()
    await load({"domain": domain, "title": "Old"}, {"domain": other, "title": "Other"})
    cache = CatalogCache(counted, assets=Path(), wait_s=GUARD_S)
    old = await cache.current()
    await load({"domain": domain, "title": "New"})
    tick()
    new = await cache.current()
    assert (old.by_domain[domain].title, new.by_domain[domain].title) == ("Old", "New")
    assert new.by_domain[other] is old.by_domain[other]
    assert new.version > old.version


async def test_a_client_that_disconnects_cancels_no_other_request(counted: Counted) -> None:
    cache = CatalogCache(counted, assets=Path(), wait_s=GUARD_S)
    first, second = asyncio.create_task(cache.current()), asyncio.create_task(cache.current())
    await asyncio.sleep(0)
    first.cancel()
    assert (await second).version > 0
    assert first.cancelled()


async def test_without_the_database_no_stale_catalog_is_returned(counted: Counted, tick: Tick) -> None:
    cache = CatalogCache(counted, assets=Path(), wait_s=GUARD_S)
    await cache.current()
    counted.is_away = True
    await cache.current()  # checked less than a second ago
    tick()
    with pytest.raises(DatabaseUnavailable):
        await cache.current()
    counted.is_away = False
    assert (await cache.current()).version > 0


async def test_the_first_request_waits_for_the_catalog(counted: Counted) -> None:
    cache = CatalogCache(counted, assets=Path(), wait_s=0)
    counted.is_away = True
    with pytest.raises(DatabaseUnavailable):
        await cache.current()
    counted.is_away, counted.asked, counted.slow = False, 0, asyncio.Event()
    first = asyncio.create_task(cache.current())
    await counted.waits.wait()
    counted.slow.set()
    assert (await first).version > 0


async def test_an_older_database_is_read_as_a_whole(counted: Counted, load: Loader, tick: Tick) -> None:
    domain = fresh()
    await load({"domain": domain})
    cache = CatalogCache(counted, assets=Path(), wait_s=GUARD_S)
    snapshot = await cache.current()
    cache._snapshot = snapshot.changed([], [], snapshot.version + 1000)  # as if a backup had been restored
    tick()
    assert (await cache.current()).version == snapshot.version
    assert domain in (await cache.current()).by_domain


async def test_requests_get_the_old_catalog_during_a_large_update(
    counted: Counted, load: Loader, tick: Tick
) -> None:
    cache = CatalogCache(counted, assets=Path(), wait_s=0.01)
    old = await cache.current()
    domain = fresh()
    await load({"domain": domain})
    tick()
    counted.asked, counted.slow = 0, asyncio.Event()
    assert await cache.current() is old
    counted.slow.set()
    assert cache._updating is not None
    await cache._updating
    assert domain in (await cache.current()).by_domain
