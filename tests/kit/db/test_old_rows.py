"""Rows are deleted when they are old by the declaration of their table."""

import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from datetime import timedelta

import psycopg
import pytest

from builders import worker
from builders.kit.db import old_rows
from builders.kit.db.connections import Conn, Database
from builders.kit.jobs import queue
from builders.kit.process.settings import Settings
from builders.kit.values import clock

COUNT = "SELECT count(*) FROM things"
INSERT = "INSERT INTO things SELECT number, %s, %s, %s FROM generate_series(%s::int, %s) AS number"
PRIMARY_KEY = """
    SELECT string_agg(attname, ', ' ORDER BY position) FROM pg_index
    CROSS JOIN LATERAL unnest(indkey::int2[]) WITH ORDINALITY AS part (number, position)
    JOIN pg_attribute ON attrelid = indrelid AND attnum = part.number
    WHERE indisprimary AND indrelid = %s::regclass
"""

assert worker.JOBS  # their modules declare tables
# What the worker does not declare; a process of its own, because the suite imports all modules.
FORGOTTEN = """
import builders.worker
from builders.kit.db import old_rows
known = set(old_rows.STATEMENTS)
from importlib import import_module
from pkgutil import walk_packages
for each in walk_packages(builders.__path__, "builders."):
    if not each.name.endswith("__main__"):
        import_module(each.name)
print(sorted(set(old_rows.STATEMENTS) - known), len(known))
"""


@pytest.fixture
async def things(conn: Conn) -> AsyncIterator[Conn]:
    """Create a table that no other test has."""
    await conn.execute("CREATE TABLE things (id int PRIMARY KEY, at timestamptz, day date, done boolean)")
    yield conn
    await conn.execute("DROP TABLE things")
    for name in ("missing", "things", "things, done"):
        old_rows.STATEMENTS.pop(name, None)


async def fill(conn: Conn, age: timedelta, *, first: int = 1, last: int = 1, is_done: bool = True) -> None:
    at = clock.now() - age
    await conn.execute(INSERT, [at, at.date(), is_done, first, last])


async def left(conn: Conn) -> int:
    ((count,),) = await (await conn.execute(COUNT)).fetchall()
    return int(count)


async def test_several_batches_are_deleted(things: Conn, database: Database) -> None:
    old_rows.declare("things", key="id", age="at", after=timedelta(hours=1), batch=2)
    await fill(things, timedelta(hours=2), last=5)
    await fill(things, timedelta(minutes=59), first=6, last=7)
    await old_rows.delete(database, "things")
    assert await left(things) == 2


async def test_rows_that_are_excepted_stay(things: Conn, database: Database) -> None:
    old_rows.declare("things", key="id", age="at", after=timedelta(), only="done")
    await fill(things, timedelta(days=1), is_done=False)
    await fill(things, timedelta(days=1), first=2, last=2)
    await old_rows.delete(database, "things")
    assert await left(things) == 1


async def test_rows_without_an_age_stay(things: Conn, database: Database) -> None:
    old_rows.declare("things", key="id", age="at", after=timedelta())
    await things.execute("INSERT INTO things (id) VALUES (1)")
    await old_rows.delete(database, "things")
    assert await left(things) == 1


@pytest.mark.parametrize(("days", "count"), [(3, 1), (4, 0)])
async def test_a_day_is_old_after_a_number_of_days(
    things: Conn, database: Database, days: int, count: int
) -> None:
    old_rows.declare("things", key="id", age="day", after=3)
    await fill(things, timedelta(days=days))
    await old_rows.delete(database, "things")
    assert await left(things) == count


async def test_only_the_named_tables_are_changed(things: Conn, database: Database) -> None:
    old_rows.declare("things", key="id", age="at", after=timedelta(), only="done")
    await fill(things, timedelta(days=1))
    await old_rows.delete(database, "others")
    assert await left(things) == 1
    await old_rows.delete(database, "things")
    assert await left(things) == 0


async def test_an_error_of_a_table_keeps_no_other(things: Conn, database: Database) -> None:
    old_rows.declare("missing", key="id", age="at", after=timedelta())
    old_rows.declare("things", key="id", age="at", after=timedelta())
    await fill(things, timedelta(days=1))
    with pytest.raises(ExceptionGroup):
        await old_rows.delete(database, "missing", "things")
    assert await left(things) == 0


async def test_a_job_deletes_them(things: Conn, database: Database, settings: Settings) -> None:
    old_rows.declare("things", key="id", age="at", after=timedelta())
    await fill(things, timedelta(days=1))
    async with database.transaction() as conn:
        await queue.defer(conn, queue.delete_old_rows, timestamp=0)
    await queue.run_pending(database, settings)
    assert await left(things) == 0


@pytest.fixture(scope="module")
def migrated(conninfo: str) -> Iterator[psycopg.Connection]:
    with psycopg.connect(conninfo, autocommit=True) as conn:
        yield conn


@pytest.mark.parametrize("name", old_rows.STATEMENTS)
def test_each_table_is_declared_by_its_key_and_an_indexed_age(migrated: psycopg.Connection, name: str) -> None:
    text = old_rows.STATEMENTS[name].as_string()
    key, _, selected = text.rpartition(") IN (")
    found = migrated.execute(PRIMARY_KEY, [name.partition(",")[0]]).fetchone()
    assert found == (key.rpartition("(")[2],)
    migrated.execute("SET enable_seqscan = off")
    before = old_rows.oldest(name)
    plan = migrated.execute(f"EXPLAIN {selected.strip()[:-1]}".encode(), {"before": before, "batch": 10})
    lines = "\n".join(line for (line,) in plan)
    assert "Index Cond" in lines, lines


def test_the_worker_deletes_the_rows_of_each_declaration() -> None:
    done = subprocess.run([sys.executable, "-c", FORGOTTEN], capture_output=True, text=True, check=True)
    forgotten, count = done.stdout.rsplit(maxsplit=1)
    assert (forgotten, int(count) > 30) == ("[]", True)
