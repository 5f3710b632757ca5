"""Migrations of tables that are in use: locks, indexes, processes that are killed, rows that a job fills."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from builders.kit.db import backfills as batches, migrations
from builders.kit.db.connections import Database
from builders.kit.db.migration_files import Migration, MigrationError
from builders.kit.jobs import backfills, queue
from builders.kit.process.settings import Settings
from tests.kit.db.files import ask, make_file

PART = """
import sys
from builders.kit.db import backfills as batches
from builders.kit.db import migrations
from tests.kit.db.test_migrations_in_use import CREATE, INDEX
migrations.list_migrations = lambda: [CREATE, INDEX]
print(*migrations.migrate(sys.argv[1]))
"""
CREATE = make_file("0001_create.sql", "CREATE TABLE things (account_id int, id int, note text)")
INDEX = make_file(
    "0002_index.sql",
    "CREATE INDEX CONCURRENTLY things_by_note ON things (note);\nCREATE INDEX CONCURRENTLY by_id ON things (id);",
    first="-- no transaction\n",
)
PARTITIONED = make_file(
    "0001_create.sql",
    """
    CREATE TABLE parts (id int, day date) PARTITION BY RANGE (day);
    CREATE TABLE parts_default PARTITION OF parts DEFAULT;
    CREATE TABLE parts_2026_10 PARTITION OF parts FOR VALUES FROM ('2026-10-01') TO ('2026-11-01');
    CREATE TABLE parts_2026_11 PARTITION OF parts FOR VALUES FROM ('2026-11-01') TO ('2026-12-01');
    """,
)
INVALID = "SELECT indexrelid::regclass::text FROM pg_index WHERE NOT indisvalid ORDER BY 1"
AT_INDEX = """
    SELECT application_name FROM pg_stat_activity WHERE query ~ '^(CREATE|DROP) +INDEX CONC' AND state = 'active'
"""
ROWS = "INSERT INTO things SELECT n, n, 'note ' || n FROM generate_series(1, %s) AS n"


@pytest.fixture
def files(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Return a function that sets the files."""

    def change(*given: Migration) -> None:
        monkeypatch.setattr(migrations, "list_migrations", lambda: list(given))

    return change


def wait_for(true: Callable[[], object], *, within_s: float = 30) -> None:
    deadline = time.monotonic() + within_s
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def start(conninfo: str, name: str) -> subprocess.Popen[str]:
    """Start a process that migrates."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    program = [sys.executable, "-c", PART, make_conninfo(conninfo, application_name=name)]
    return subprocess.Popen(program, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def test_one_of_three_processes_is_killed_in_an_index_and_no_invalid_index_stays(
    fresh: str, files: Callable[..., None]
) -> None:
    files(CREATE)
    migrations.migrate(fresh)
    with psycopg.connect(fresh) as old:
        old.execute(ROWS, (100,))
        processes = {name: start(fresh, name) for name in ("one", "two", "three")}
        wait_for(lambda: ask(fresh, AT_INDEX))  # it waits for the transaction of the rows
        [(first,)] = ask(fresh, AT_INDEX)
        processes[first].send_signal(signal.SIGKILL)
        wait_for(lambda: ask(fresh, AT_INDEX) not in ([(first,)], []))  # the next one begins again
        assert ask(fresh, INVALID) == [("things_by_note",)]
    said = {name: process.communicate(timeout=60) for name, process in processes.items()}

    codes = {name: process.returncode for name, process in processes.items()}
    assert codes.pop(first) == -signal.SIGKILL
    assert list(codes.values()) == [0, 0], said
    assert sorted(said[name][0].strip() for name in codes) == ["", INDEX.name]
    assert ask(fresh, INVALID) == []
    names = [name for (name,) in ask(fresh, "SELECT indexname FROM pg_indexes WHERE tablename = 'things'")]
    assert sorted(names) == ["by_id", "things_by_note"]


def test_a_process_that_waits_for_the_lock_has_no_statement_that_runs(
    fresh: str, files: Callable[..., None]
) -> None:
    files(CREATE)
    with psycopg.connect(fresh) as holder:
        holder.execute("SELECT pg_advisory_xact_lock(%s)", (migrations.LOCK,))
        waiting = threading.Thread(target=migrations.migrate, args=(fresh,))
        waiting.start()
        wait_for(lambda: ask(fresh, "SELECT FROM pg_stat_activity WHERE query LIKE '%try_advisory%'"))
        blocked = "SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
        assert [ask(fresh, blocked) for _ in range(20)] == [[]] * 20
    waiting.join(timeout=30)
    assert ask(fresh, "SELECT to_regclass('things') IS NOT NULL") == [(True,)]


def test_partitions_get_an_index_one_after_the_other(fresh: str, files: Callable[..., None]) -> None:
    files(PARTITIONED)
    migrations.migrate(fresh)
    by_id = make_file(
        "0002_index.sql",
        "CREATE UNIQUE INDEX CONCURRENTLY parts_id ON parts (id, day)",
        first="-- no transaction\n",
    )
    with psycopg.connect(fresh, autocommit=True) as conn:  # what an ended attempt has left
        conn.execute("CREATE UNIQUE INDEX parts_id ON ONLY parts (id, day)")
        conn.execute("INSERT INTO parts VALUES (1, '2026-11-05'), (1, '2026-11-05')")
        with pytest.raises(psycopg.errors.UniqueViolation):
            conn.execute("CREATE UNIQUE INDEX CONCURRENTLY parts_id_2026_11 ON parts_2026_11 (id, day)")
        conn.execute("DELETE FROM parts WHERE ctid IN (SELECT ctid FROM parts_2026_11 LIMIT 1)")
    assert ask(fresh, INVALID) == [("parts_id",), ("parts_id_2026_11",)]
    files(PARTITIONED, by_id)
    migrations.migrate(fresh)

    assert ask(fresh, INVALID) == []
    assert [name for (name,) in ask(fresh, "SELECT indexname FROM pg_indexes ORDER BY 1") if "parts" in name] == [
        *("parts_id", "parts_id_2026_10", "parts_id_2026_11", "parts_id_default")
    ]


def test_a_file_without_a_transaction_can_be_run_again(fresh: str, files: Callable[..., None]) -> None:
    files(CREATE, INDEX)
    migrations.migrate(fresh)
    with psycopg.connect(fresh) as conn:
        conn.execute("DELETE FROM kit_migrations WHERE name = %s", (INDEX.name,))
    assert migrations.migrate(fresh) == [INDEX.name]


def test_a_file_gives_up_a_lock_so_that_nobody_waits_behind_it(fresh: str, files: Callable[..., None]) -> None:
    files(CREATE)
    migrations.migrate(fresh)
    files(CREATE, make_file("0002_colour.sql", "ALTER TABLE things ADD colour text"))
    with psycopg.connect(fresh) as reader:
        reader.execute("SELECT FROM things")
        with pytest.raises(MigrationError, match=r"0002_colour\.sql did not get a lock in 2 attempts"):
            migrations.migrate(fresh, attempts=2)
        assert ask(fresh, "SELECT FROM kit_migrations WHERE name LIKE '0002%'") == []
    assert migrations.migrate(fresh) == ["0002_colour.sql"]


def test_a_file_begins_again_until_it_gets_its_lock(fresh: str, files: Callable[..., None]) -> None:
    files(CREATE)
    migrations.migrate(fresh)
    files(CREATE, make_file("0002_colour.sql", "ALTER TABLE things ADD colour text"))
    reader = psycopg.connect(fresh)
    reader.execute("SELECT FROM things")
    ending = threading.Timer(0.8, reader.close)  # beyond one wait for the lock
    ending.start()
    assert migrations.migrate(fresh) == ["0002_colour.sql"]
    ending.join()


BACKFILL = "-- backfill: things (account_id, id)\n-- rows: note IS NULL\n-- set: note = 'none'\n"
FILLED = make_file("0003_filled.sql", "ALTER TABLE things ALTER note SET NOT NULL", run="after", last=BACKFILL)


@pytest.fixture
async def database(fresh: str, settings: Settings, files: Callable[..., None]) -> Any:
    """Yield a database with 5 rows that wait for a job."""
    files(CREATE)
    migrations.migrate(fresh)
    files(CREATE, FILLED)
    pool = Database(fresh, settings)
    await pool.open()
    async with pool.connection() as conn:
        await conn.execute("INSERT INTO things (account_id, id) SELECT n, n FROM generate_series(1, 5) AS n")
    yield pool
    await pool.close()


async def test_a_job_fills_rows_until_a_file_can_run(database: Database, fresh: str, settings: Settings) -> None:
    with pytest.raises(MigrationError, match="waits: rows of things are not filled yet"):
        migrations.migrate(fresh, after=True)

    async with database.transaction() as conn:
        await queue.defer(conn, backfills.fill_rows, timestamp=0)
    await queue.run_pending(database, settings)

    assert ask(fresh, "SELECT count(*), min(note) FROM things") == [(5, "none")]
    assert migrations.migrate(fresh, after=True) == [FILLED.name]


async def test_rows_are_filled_in_batches(database: Database, fresh: str) -> None:
    backfill = FILLED.header.backfill
    assert backfill is not None

    async def fill() -> bool:
        async with database.transaction() as conn:
            return await batches.fill(conn, backfill, batch=2)

    assert await fill()
    assert ask(fresh, "SELECT id FROM things WHERE note IS NOT NULL ORDER BY id") == [(1,), (2,)]
    assert [await fill(), await fill()] == [True, False]
    assert ask(fresh, "SELECT FROM things WHERE note IS NULL") == []


async def test_a_job_leaves_what_is_applied_or_filled_by_a_package(
    database: Database, fresh: str, files: Callable[..., None]
) -> None:
    async def fill_next() -> bool:
        async with database.transaction() as conn:
            return await backfills.fill_next(conn)

    own = make_file("0003_own.sql", "SELECT", run="after", last=BACKFILL.rpartition("-- set")[0])
    files(CREATE, own)
    assert await fill_next() is False
    assert ask(fresh, "SELECT count(*) FROM things WHERE note IS NULL") == [(5,)]
    files(CREATE, FILLED)
    with psycopg.connect(fresh) as conn:
        conn.execute(migrations.RECORD, (FILLED.name, FILLED.digest, "2026-11-01", "1.0.0"))
    assert await fill_next() is False
    assert ask(fresh, "SELECT count(*) FROM things WHERE note IS NULL") == [(5,)]
