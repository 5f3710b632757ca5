"""The service behind Debian's PgBouncer: what it refuses, and what it serves."""

import asyncio
import json
import os
import re
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest

from bench.pgbouncer import UNPACKED, pgbouncer
from bench.scenarios import DOMAINS
from builders.kit.db import migrations, sessions
from builders.kit.db.connections import Database
from builders.kit.db.sessions import SessionsUnusable, Sharing
from builders.kit.process.settings import Settings
from builders.kit.values import ids
from tests.cli.databases import own_database
from tests.cli.serving import Serving, builders, data_folder, free_port

pytestmark = [
    pytest.mark.system,
    pytest.mark.skipif(UNPACKED is None, reason="tests/kit/db/system/check"),
]
KEY = ("--kind", "live", "--preset", "developer_full", "--json")
CLIENTS, ROUNDS = 24, 12
COUNT_LOCKS = """
    SELECT count(*) FROM pg_locks JOIN pg_database ON pg_database.oid = pg_locks.database
    WHERE locktype = 'advisory' AND datname = current_database()
"""
COUNT_EVENTS = "SELECT count(*) FROM catalog_events WHERE session_id LIKE %s"
_ALTER = re.compile(r"ALTER ROLE [^;]+;")


@pytest.fixture
def folder() -> Iterator[Path]:
    """Return a folder that the user of PgBouncer reads."""
    with tempfile.TemporaryDirectory(prefix="builders-pgbouncer-") as name:
        path = Path(name)
        path.chmod(0o777)
        yield path


@pytest.fixture
def direct(server: str) -> Iterator[str]:
    """Return an empty database."""
    with own_database(server) as conninfo:
        yield conninfo


def settings_of(through: str, direct: str | None = None) -> Settings:
    pooled = {} if direct is None else {"database_pooled": True, "database_direct_url": direct}
    return Settings.model_validate({"database_url": through, **pooled})


async def refusal(settings: Settings) -> SessionsUnusable:
    with pytest.raises(SessionsUnusable) as caught:
        await sessions.check(settings)
    return caught.value


async def set_by_role(direct: str, settings: Settings) -> None:
    """Run the statements that the refusal names."""
    error = await refusal(settings)
    statements = _ALTER.findall(error.next_action)
    assert statements, error
    async with await psycopg.AsyncConnection.connect(direct, autocommit=True) as conn:
        for statement in statements:
            await conn.execute(statement)


async def test_an_idle_pool_in_transaction_mode_is_found(folder: Path, direct: str) -> None:
    with pgbouncer(folder, direct, mode="transaction") as through:
        error = await refusal(settings_of(through))

    assert "transaction mode" in error.reason
    assert "BUILDERS_DATABASE_POOLED=true" in error.next_action


async def test_a_busy_pool_in_transaction_mode_is_always_found(folder: Path, direct: str) -> None:
    with pgbouncer(folder, direct, mode="transaction", sessions=10) as through:

        async def load() -> None:
            async with await psycopg.AsyncConnection.connect(through, autocommit=True) as conn:
                while True:
                    await conn.execute("SELECT pg_sleep(0.002 * random())", prepare=False)

        loads = [asyncio.create_task(load()) for _ in range(12)]
        found = Counter[Sharing]()
        for _ in range(40):
            async with await psycopg.AsyncConnection.connect(through, autocommit=True) as conn:
                found[await sessions.get_sharing(conn)] += 1
        for each in loads:
            each.cancel()
        await asyncio.wait(loads)

    assert found == {Sharing.TRANSACTION: 40}


async def test_a_pool_in_statement_mode_is_refused_with_the_setting_too(folder: Path, direct: str) -> None:
    with pgbouncer(folder, direct, mode="statement") as through:
        error = await refusal(settings_of(through, direct))

    assert "statement mode" in error.reason


async def test_a_pool_in_session_mode_that_refuses_options_is_refused(folder: Path, direct: str) -> None:
    with pgbouncer(folder, direct, mode="session") as through:
        error = await refusal(settings_of(through))

    assert "`options`" in error.reason


async def test_a_pool_in_session_mode_that_drops_options_needs_the_parameters_of_the_role(
    folder: Path, direct: str
) -> None:
    with pgbouncer(folder, direct, mode="session", ignored="options") as through:
        await set_by_role(direct, settings_of(through))
    with pgbouncer(folder, direct, mode="session", ignored="options") as through:
        sharing = await sessions.check(settings_of(through))

    assert sharing is Sharing.SESSION


async def test_a_direct_url_that_leads_to_the_pool_is_refused(folder: Path, direct: str) -> None:
    with pgbouncer(folder, direct, mode="transaction") as through:
        await set_by_role(direct, settings_of(through, direct))
    with pgbouncer(folder, direct, mode="transaction") as through:
        error = await refusal(settings_of(through, f"{through} application_name=direct"))

    assert "BUILDERS_DATABASE_DIRECT_URL" in error.next_action


async def test_a_pool_of_the_service_gives_out_no_connection_that_would_run_wrong_statements(
    folder: Path, direct: str
) -> None:
    with pgbouncer(folder, direct, mode="transaction", ignored="options") as through:
        settings = settings_of(through).model_copy(update={"pool_timeout_s": 1.0})
        database = Database(through, settings)
        await database.open()
        with pytest.raises(Exception, match="database is unavailable"):
            await database.ping()
        await database.close()


@pytest.mark.parametrize("command", ["migrate", "worker", "serve", "doctor"])
def test_each_start_refuses_a_pool_in_transaction_mode(folder: Path, direct: str, command: str) -> None:
    with data_folder() as data, pgbouncer(folder, direct, mode="transaction") as through:
        ended = builders(data, command, BUILDERS_DATABASE_URL=through, BUILDERS_PORT="0")

    assert ended.returncode == (1 if command == "doctor" else os.EX_CONFIG)
    assert "BUILDERS_DATABASE_POOLED=true" in ended.stdout + ended.stderr
    with psycopg.connect(direct) as conn:
        assert conn.execute("SELECT to_regclass('kit_migrations')").fetchone() == (None,)


def test_migrations_through_a_pool_leave_no_lock(folder: Path, direct: str) -> None:
    with pgbouncer(folder, direct, mode="transaction") as through:
        migrations.migrate(through)
        with psycopg.connect(direct) as conn:
            held = conn.execute(COUNT_LOCKS).fetchone()

    assert held == (0,)


def make_key(data: Path, environment: Mapping[str, str]) -> str:
    """Return an API key of a new account."""
    account = f"{ids.new().hex}@example.net"
    made = builders(data, "accounts", "create", "--email", account, **environment)
    assert made.returncode == 0, made.stderr
    key = builders(data, "keys", "create", "--account", account, *KEY, **environment)
    return str(json.loads(key.stdout)["secret"])


async def load(port: int, keys: Sequence[str]) -> tuple[Counter[int], list[str], int]:
    """Write and read projects and funnel events; return the statuses, what was wrong, and the number of events."""
    statuses, wrong, run = Counter[int](), list[str](), f"load-{ids.new().hex}"
    limits = httpx.Limits(max_connections=CLIENTS)
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=30, limits=limits) as api:

        async def ask(method: str, path: str, key: str = "", **arguments: Any) -> Any:
            headers = {"X-API-Key": key, "Idempotency-Key": ids.new().hex} if key else {}
            answer = await api.request(method, path, headers=headers, **arguments)
            statuses[answer.status_code] += 1
            return answer.json()

        async def work(client: int) -> None:
            key = keys[client % len(keys)]
            for each in range(ROUNDS):
                name = f"Project {client} {each}"
                made = await ask("POST", "/v1/builders/projects", key, json={"name": name})
                found = await ask("GET", f"/v1/builders/projects/{made.get('id')}", key)
                changed = await ask(
                    "PATCH", f"/v1/builders/projects/{made.get('id')}", key, json={"name": name * 2}
                )
                listed = await ask("GET", "/v1/builders/projects?limit=200", key)
                event = {"kind": "view", "domain": DOMAINS[0], "event_id": f"{run}-{client}-{each}"}
                await ask("POST", "/v1/catalog/events", json={**event, "session_id": f"{run}-{client}"})
                names = [project["name"] for project in listed.get("items", []) if project["id"] == made.get("id")]
                seen = [made.get("name"), found.get("name"), changed.get("name"), *names]
                wrong.extend([] if seen == [name, name, name * 2, name * 2] else [str(seen)])

        await asyncio.gather(*(work(each) for each in range(CLIENTS)))
    return statuses, wrong, CLIENTS * ROUNDS


async def test_the_service_works_behind_a_pool_in_transaction_mode(folder: Path, direct: str) -> None:
    """Two processes with 20 connections share 6 sessions; each response must fit its request."""
    with (
        pgbouncer(folder, direct, mode="transaction", sessions=6) as through,
    ):
        await set_by_role(direct, settings_of(through, direct))
    with (
        data_folder() as data,
        pgbouncer(folder, direct, mode="transaction", sessions=6) as through,
    ):
        environment = {
            "BUILDERS_DATABASE_URL": through,
            "BUILDERS_DATABASE_POOLED": "true",
            "BUILDERS_DATABASE_DIRECT_URL": direct,
            "BUILDERS_LIMITS": "off",
        }
        with Serving(data, "--workers", "2", "--demo", port=free_port(), **environment) as serving:
            serving.wait()
            keys = [make_key(data, environment) for _ in range(4)]
            statuses, wrong, sent = await load(serving.port, keys)
            checked = builders(data, "doctor", **environment)
            with psycopg.connect(direct) as conn:
                stored = conn.execute(COUNT_EVENTS, ["load-%"]).fetchone()
                held = conn.execute(COUNT_LOCKS).fetchone()

    assert set(statuses) == {200, 201}, statuses
    assert wrong == []
    assert stored == (sent,)
    assert held == (0,)
    assert "sessions: There is a pooler in transaction mode." in checked.stdout, checked.stdout
