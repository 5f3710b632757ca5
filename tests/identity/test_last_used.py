import asyncio
from datetime import datetime, timedelta
from typing import Any

import psycopg
import pytest

from builders.app import Service
from builders.identity.authenticator import USE_INTERVAL, Authenticator
from builders.kit.db.connections import Database
from builders.kit.errors import DatabaseBusy
from builders.kit.http.callers import Credential
from builders.kit.process.settings import Settings
from builders.kit.values import clock
from tests.cast import Client, Person
from tests.identity.make import PATH, Json, mint, status

VERSION = "SELECT xmin::text, ctid::text FROM identity_keys WHERE account_id = %s AND id = %s"


@pytest.fixture
def authenticator(service: Service) -> Authenticator:
    """The service's own, which it flushes every half minute."""
    found: Authenticator = service.api.state.authenticate
    return found


async def last_used(person: Person, key: Json) -> str | None:
    found: str | None = (await person.get(f"{PATH}/{key['id']}")).json()["last_used_at"]
    return found


async def test_an_unused_key_has_no_last_use(alice: Person, authenticator: Authenticator) -> None:
    key = await mint(alice)
    await authenticator.flush()

    assert await last_used(alice, key) is None


async def test_a_use_is_written_down_with_the_next_flush(
    alice: Person, anyone: Client, authenticator: Authenticator
) -> None:
    key, before = await mint(alice), clock.now()
    await status(anyone, key["secret"])
    await authenticator.flush()

    noted = await last_used(alice, key)

    assert noted is not None
    assert before <= datetime.fromisoformat(noted) <= clock.now()


async def test_a_refused_use_is_no_use(alice: Person, anyone: Client, authenticator: Authenticator) -> None:
    key = await mint(alice)
    await alice.delete(f"{PATH}/{key['id']}")
    await status(anyone, key["secret"])
    await authenticator.flush()

    assert await last_used(alice, key) is None


async def test_a_busy_key_is_written_once_in_five_minutes(
    alice: Person, anyone: Client, authenticator: Authenticator, conn: psycopg.AsyncConnection[Any]
) -> None:
    key, versions = await mint(alice), set()
    for _ in range(10):  # 4 minutes and a half
        await asyncio.gather(*(status(anyone, key["secret"]) for _ in range(5)))
        await authenticator.flush()
        versions.add(await (await conn.execute(VERSION, [alice.account.id, key["id"]])).fetchone())
        clock.move(timedelta(seconds=30))
    early = await last_used(alice, key)

    clock.move(timedelta(seconds=31))
    await status(anyone, key["secret"])
    await authenticator.flush()
    late = await last_used(alice, key)

    assert len(versions) == 1
    assert early is not None
    assert late is not None
    assert datetime.fromisoformat(late) - datetime.fromisoformat(early) > USE_INTERVAL


async def test_a_flush_without_requests_writes_nothing(
    alice: Person, authenticator: Authenticator, conn: psycopg.AsyncConnection[Any]
) -> None:
    key = await mint(alice)
    await status(alice, key["secret"])
    await authenticator.flush()
    before = await (await conn.execute(VERSION, [alice.account.id, key["id"]])).fetchone()
    clock.move(timedelta(hours=1))
    await authenticator.flush()

    assert await (await conn.execute(VERSION, [alice.account.id, key["id"]])).fetchone() == before


async def test_concurrent_flushes_write_once_and_do_not_wait(
    alice: Person, database: Database, conn: psycopg.AsyncConnection[Any]
) -> None:
    key = await mint(alice)
    processes = [Authenticator(database, cache_s=5) for _ in range(4)]
    for each in processes:
        await each(Credential("api_key", key["secret"]), fresh=False)

    async with conn.transaction():
        await conn.execute("SELECT FROM identity_keys WHERE id = %s FOR UPDATE", [key["id"]])
        await processes[0].flush()  # not held up by whoever has the row
    await asyncio.gather(*(each.flush() for each in processes[1:]))
    found = await (await conn.execute(VERSION, [alice.account.id, key["id"]])).fetchone()
    await processes[1].flush()

    assert await last_used(alice, key) is not None
    assert await (await conn.execute(VERSION, [alice.account.id, key["id"]])).fetchone() == found


async def test_a_use_outlives_a_flush_that_failed(alice: Person, settings: Settings, conninfo: str) -> None:
    key = await mint(alice)
    database = Database(conninfo, settings.model_copy(update={"pool_size": 1, "pool_timeout_s": 0.1}))
    authenticator = Authenticator(database, cache_s=5)
    await database.open()
    await database.pool.wait()  # a busy machine connects late
    await authenticator(Credential("api_key", key["secret"]), fresh=False)

    async with database.connection():  # the only connection
        with pytest.raises(DatabaseBusy):
            await authenticator.flush()
    await authenticator.flush()
    await database.close()

    assert await last_used(alice, key) is not None
