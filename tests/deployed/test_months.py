"""Fourteen months of the worker under its role: months are made and dropped, and old rows are deleted."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

from builders import worker
from builders.identity import accounts
from builders.kit.db import partitions
from builders.kit.db.connections import Conn, Database
from builders.kit.db.rights import HTTP, WORKER
from builders.kit.events import dispatcher
from builders.kit.jobs import queue
from builders.kit.process.settings import Settings
from builders.kit.values import clock
from tests.cli.databases import Roles, database_with_roles

assert worker.JOBS  # of all packages
MONTH, MONTHS = timedelta(days=31), 14
AHEAD = "CREATE OR REPLACE FUNCTION kit_now() RETURNS timestamptz LANGUAGE sql STABLE RETURN now() + {}"
RESERVE = "INSERT INTO kit_quotas VALUES ('mail', %s, %s, %s, 1, 1, 1)"  # which is old when it has ended
LEFT = "SELECT task_name, status::text, attempts FROM procrastinate_jobs"


@pytest.fixture(scope="module")
def prepared(server: str) -> Iterator[Roles]:
    with database_with_roles(server) as found:
        yield found


@pytest.fixture
def worker_settings(prepared: Roles, tmp_path: Path) -> Settings:
    """Return settings without the services of others, and for connections that pass a pooler, if there is one."""
    return Settings(
        database_url=prepared.of(WORKER),
        database_pooled=False,
        data_dir=tmp_path,
        exchange_rates="off",
        rdap="off",
    )


async def work(database: Database, settings: Settings) -> list[tuple[str, str, int]]:
    """Run each periodic job and what it enqueues; return the jobs that are left."""
    names = {each.task.name for each in queue.app.periodic_registry.periodic_tasks.values()}
    assert len(names) > 20
    async with database.transaction() as conn:
        await dispatcher.dispatch(conn)
        for name in sorted(names):
            await queue.defer(conn, name, timestamp=0)
    await queue.run_pending(database, settings)
    async with database.connection() as conn:
        return await (await conn.execute(LEFT)).fetchall()


async def months_of(conn: Conn) -> dict[str, list[str]]:
    return dict(await (await conn.execute(partitions.LIST)).fetchall())


async def test_fourteen_months_pass_under_the_role_of_the_worker(
    prepared: Roles, worker_settings: Settings
) -> None:
    database = Database(prepared.of(WORKER), worker_settings)
    http = Database(prepared.of(HTTP), worker_settings)
    await database.open()
    await http.open()
    try:
        began = clock.now()
        seen: set[str] = set()
        for month in range(MONTHS + 1):
            async with http.transaction() as conn:
                await accounts.create_account(conn, email=f"month-{month}@example.net", verified=True)
                await conn.execute(RESERVE, [str(month), clock.now(), clock.now() + timedelta(hours=1)])
            assert await work(database, worker_settings) == []
            async with database.connection() as conn:
                present = await months_of(conn)
                lacks = await partitions.read_months(conn)
            assert (lacks.missing, lacks.strays) == ([], {})
            seen |= {name for names in present.values() for name in names}
            move(prepared)
        async with http.connection() as conn:
            kept = await (await conn.execute("SELECT subject FROM kit_quotas")).fetchall()
        assert kept == [(str(MONTHS),)]
        for table in partitions.tables():
            first = f"{table}_{began:%Y_%m}"
            assert first in seen
            assert first not in present[table]
            assert f"{table}_{clock.now() - MONTH:%Y_%m}" in present[table]
    finally:
        await database.close()
        await http.close()


def move(prepared: Roles) -> None:
    """Move the clock of the service, and as the owner that of the database, by a month."""
    clock.move(MONTH)
    with psycopg.connect(prepared.owner) as conn:
        ahead = clock.now() - datetime.now(clock.now().tzinfo)
        conn.execute(sql.SQL(AHEAD).format(sql.Literal(ahead)))
