import os
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, suppress
from datetime import timedelta
from typing import Any

import psycopg
import pytest

from builders.aliases.events import ALIAS_CREATED
from builders.app import Service
from builders.kit.db.connections import Conn, Database
from builders.kit.errors import DatabaseBusy, DatabaseUnavailable
from builders.kit.events import dispatcher, outbox
from builders.kit.process import parts
from builders.kit.process.parts import PartsFile, Trouble
from builders.kit.values import clock, ids
from tests.cast import Client
from tests.kit.db.proxy import DatabaseProxy
from tests.probes.conftest import Limited, MakeAsker

NOWHERE = "host=/nowhere"


FREEZE = "UPDATE procrastinate_workers SET last_heartbeat = now() - %s"
FORGET = "DELETE FROM procrastinate_workers"


@pytest.fixture(autouse=True)
def worker(conninfo: str) -> Iterator[psycopg.Connection]:
    """Let a worker be alive; return a connection that may change that."""
    with psycopg.connect(conninfo, autocommit=True) as conn:
        conn.execute("INSERT INTO procrastinate_workers DEFAULT VALUES")
        yield conn
        conn.execute(FORGET)


async def test_a_service_without_a_worker_is_ready_and_says_so(anyone: Client, worker: psycopg.Connection) -> None:
    assert (await anyone.get("/readyz")).json()["checks"]["worker"]["status"] == "ok"
    worker.execute(FORGET)

    answer = await anyone.get("/readyz?writes=required")

    assert (answer.status_code, answer.json()["status"]) == (200, "ready")
    assert answer.json()["detail"] == "ready; worker: none runs"
    assert answer.json()["checks"]["worker"] == {"status": "degraded", "latency_ms": None}


@pytest.mark.parametrize(("age_s", "said"), [(29, "ready"), (32, "ready; worker: none responds for 32 s")])
async def test_a_frozen_worker_is_named(anyone: Client, worker: psycopg.Connection, age_s: int, said: str) -> None:
    worker.execute(FREEZE, [timedelta(seconds=age_s)])
    answer = await anyone.get("/readyz")
    assert (answer.status_code, answer.json()["detail"]) == (200, said)


async def test_a_service_with_its_database_is_ready(anyone: Client) -> None:
    asked_at = clock.monotonic()
    answer = await anyone.get("/readyz")
    took_ms = (clock.monotonic() - asked_at) * 1000

    assert answer.status_code == 200
    assert answer.headers["Cache-Control"] == "no-store"
    found = answer.json()
    assert (found["status"], found["detail"]) == ("ready", "ready")
    assert found["checks"]["database"]["status"] == "ok"
    assert 0 <= found["checks"]["database"]["latency_ms"] <= round(took_ms)
    assert found["checks"]["cache"] == {"status": "skipped", "latency_ms": None}


async def test_readiness_names_an_absent_database_without_waiting_for_the_pool(
    asker: MakeAsker, limited: Limited
) -> None:
    client = await asker(database_url=NOWHERE, pool_timeout_s=3600)
    with limited("DATABASE_S"):
        answer = await client.get("/readyz")

    assert answer.status_code == 503
    assert answer.headers["Cache-Control"] == "no-store"
    assert int(answer.headers["Retry-After"]) > 0
    assert (answer.json()["status"], answer.json()["detail"]) == ("not_ready", "database: away")
    assert answer.json()["checks"]["database"] == {"status": "away", "latency_ms": None}


async def test_readiness_names_a_hanging_database(
    asker: MakeAsker, relay: DatabaseProxy, limited: Limited
) -> None:
    client = await asker(database_url=relay.conninfo)
    assert (await client.get("/readyz")).status_code == 200
    relay.hang()

    with limited("DATABASE_S"):
        answer = await client.get("/readyz")

    assert (answer.status_code, answer.json()["detail"]) == (503, "database: away")
    relay.resume()
    assert (await client.get("/readyz")).status_code == 200


async def test_readiness_names_the_processes_with_a_trouble_and_no_reason(
    anyone: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = PartsFile()
    monkeypatch.setenv(parts.PARTS_FILE, str(file.descriptor))
    found = []
    for troubles in (
        {"http-1": None, "worker": None},
        {"http-1": None, "worker": Trouble.ENDS, "filter": Trouble.SILENT, "mail-log": Trouble.NOT_STARTED},
        {"http-1": None, "worker": None},
    ):
        file.write(troubles)
        answer = await anyone.get("/readyz")
        found.append((answer.status_code, answer.json()["detail"], answer.json()["checks"]["processes"]["status"]))
    os.close(file.descriptor)

    assert found == [
        (200, "ready", "ok"),
        (200, "ready; filter: does not respond; mail-log: has not started; worker: keeps ending", "degraded"),
        (200, "ready", "ok"),
    ]


async def test_a_process_without_a_supervisor_says_nothing_about_processes(anyone: Client) -> None:
    assert (await anyone.get("/readyz")).json()["checks"]["processes"]["status"] == "skipped"


@pytest.mark.parametrize("is_away", [True, False])
async def test_no_host_user_or_version_is_shown(asker: MakeAsker, relay: DatabaseProxy, *, is_away: bool) -> None:
    away = {"database_url": "postgresql://ada:hidden@127.0.0.1:1/there", "pool_timeout_s": 0.2}
    client = await asker(**away if is_away else {"database_url": relay.conninfo})

    answer = await client.get("/readyz")

    assert answer.status_code == (503 if is_away else 200)
    assert not re.search(r"hidden|ada|there|127\.|builders|/|\d\.\d|postgres", answer.text, re.IGNORECASE)
    assert "server" not in answer.headers


async def test_undispatched_events_are_named_without_failing_readiness(anyone: Client, database: Database) -> None:
    async with database.transaction() as conn:
        await outbox.publish(conn, ALIAS_CREATED, account_id=ids.new(), data=ALIAS_CREATED.example)
    assert (await anyone.get("/readyz")).json()["detail"] == "ready"
    clock.move(timedelta(seconds=90))

    answer = await anyone.get("/readyz")

    assert answer.status_code == 200
    assert re.fullmatch(
        r"ready; outbox: events wait for 9\d s; worker: none responds for \d+ s", answer.json()["detail"]
    )
    assert answer.json()["checks"]["outbox"] == {"status": "degraded", "latency_ms": None}


@pytest.mark.parametrize("look", ["SELECT created_at FROM kit_nothing", "SELECT now() FROM pg_sleep(1)"])
async def test_an_unreadable_outbox_is_named_without_failing_readiness(
    anyone: Client, monkeypatch: pytest.MonkeyPatch, limited: Limited, look: str
) -> None:
    async def fail(conn: Conn) -> None:
        await conn.execute(look.encode())

    monkeypatch.setattr(dispatcher, "get_pending_age", fail)

    with limited("OUTBOX_S"):
        answer = await anyone.get("/readyz")

    assert answer.status_code == 200
    assert answer.json()["detail"] == "ready; outbox: could not be checked"
    assert answer.json()["checks"]["outbox"] == {"status": "degraded", "latency_ms": None}


NO_SPACE = """
    CREATE FUNCTION refuse_for_lack_of_space() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        RAISE EXCEPTION 'could not extend file "base/1/2": No space left on device' USING ERRCODE = 'disk_full';
    END $$
"""


@pytest.fixture
async def full(conn: psycopg.AsyncConnection[Any]) -> AsyncIterator[Callable[[str], Awaitable[None]]]:
    """Return a function that makes the disk full for a table."""
    tables: list[str] = []
    await conn.execute(NO_SPACE)

    async def fill(table: str) -> None:
        tables.append(table)
        await conn.execute(
            f"CREATE TRIGGER full_disk BEFORE INSERT ON {table} EXECUTE FUNCTION refuse_for_lack_of_space()"
        )

    yield fill
    await conn.execute("DROP FUNCTION refuse_for_lack_of_space() CASCADE")


@pytest.mark.parametrize(
    ("table", "check"),
    [("probes_writes", "database"), ("kit_outbox_pending", "outbox"), ("kit_outbox", "outbox")],
)
async def test_on_a_full_disk_the_service_is_ready_to_be_read(
    anyone: Client,
    conn: psycopg.AsyncConnection[Any],
    full: Callable[[str], Awaitable[None]],
    table: str,
    check: str,
) -> None:
    assert (await anyone.get("/readyz")).status_code == 200
    await full(table)
    clock.move(timedelta(seconds=5))

    answer = await anyone.get("/readyz")

    assert answer.status_code == 200
    assert (answer.json()["writes"], answer.json()["detail"]) == (False, f"ready; {check}: cannot be written")
    strict = await anyone.get("/readyz?writes=required")
    assert (strict.status_code, strict.headers["Retry-After"]) == (503, "5")
    assert answer.json()["checks"][check]["status"] == "degraded"
    await conn.execute(f"DROP TRIGGER full_disk ON {table}")
    clock.move(timedelta(seconds=5))
    assert (await anyone.get("/readyz?writes=required")).json()["detail"] == "ready"


async def test_a_read_only_database_is_ready_to_be_read(
    asker: MakeAsker, relay: DatabaseProxy, conn: psycopg.AsyncConnection[Any]
) -> None:
    name = conn.info.dbname
    await conn.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    try:
        answer = await (await asker(database_url=relay.conninfo)).get("/readyz")
    finally:
        await conn.execute(f"ALTER DATABASE {name} RESET default_transaction_read_only")

    assert (answer.status_code, answer.json()["writes"]) == (200, False)
    assert answer.json()["detail"] == "ready; database: cannot be written; outbox: cannot be written"


async def test_requests_that_hold_all_connections_leave_the_service_ready(
    anyone: Client, service: Service
) -> None:
    database = service.api.state.database
    async with AsyncExitStack() as held:
        while not database.is_exhausted:  # the service holds some itself
            with suppress(DatabaseBusy, DatabaseUnavailable):  # a busy machine connects late
                await held.enter_async_context(database.connection())
        answer = await anyone.get("/readyz")
    assert (answer.status_code, answer.json()["writes"]) == (200, True)


async def test_the_write_check_leaves_no_row_and_is_cached(
    anyone: Client,
    conn: psycopg.AsyncConnection[Any],
    full: Callable[[str], Awaitable[None]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    at = clock.monotonic()
    monkeypatch.setattr(clock, "monotonic", lambda: at)
    assert (await anyone.get("/readyz")).status_code == 200
    cursor = await conn.execute(
        "SELECT count(*) FROM (SELECT id FROM kit_outbox_pending UNION ALL "
        "SELECT account_id FROM kit_outbox WHERE name = 'kit.write_probe' UNION ALL "
        "SELECT NULL FROM probes_writes) AS found"
    )
    assert await cursor.fetchone() == (0,)
    await full("kit_outbox")
    assert (await anyone.get("/readyz")).json()["writes"]
    monkeypatch.setattr(clock, "monotonic", lambda: at + 5)
    assert not (await anyone.get("/readyz")).json()["writes"]
    await conn.execute("DROP TRIGGER full_disk ON kit_outbox")
    monkeypatch.setattr(clock, "monotonic", lambda: at + 10)
    assert (await anyone.get("/readyz")).json()["writes"]  # also what is cached for the next test


async def test_a_concurrent_write_check_is_not_a_full_disk(
    anyone: Client, conn: psycopg.AsyncConnection[Any], limited: Limited
) -> None:
    async with conn.transaction(force_rollback=True):
        await conn.execute("LOCK TABLE probes_writes")
        with limited("WRITE_S"):
            assert (await anyone.get("/readyz")).status_code == 200
