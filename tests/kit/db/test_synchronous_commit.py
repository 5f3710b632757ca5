"""A commit that waits for a standby: a canceled wait is no acknowledgment."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import psycopg
import pytest

from builders.app import create_app, lifespan
from builders.cli.embedded.server import EmbeddedServer
from builders.identity import accounts, keys
from builders.identity.records import KeyKind, Preset
from builders.kit.callers import OPERATOR
from builders.kit.db import migrations
from builders.kit.db.connections import Database
from builders.kit.process.settings import Settings
from builders.kit.values import ids
from tests.cast import Client
from tests.cli.serving import data_folder

REQUIRE_STANDBY = "ALTER SYSTEM SET synchronous_standby_names = 'none_is_there'"
REQUIRE_NONE = "ALTER SYSTEM RESET synchronous_standby_names"
RELOAD = "SELECT pg_reload_conf()"
CANCEL = "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
TERMINATE = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
PROJECT = {"name": "Shop"}


@pytest.fixture(scope="module")
def alone() -> Iterator[str]:
    """Return the conninfo of a migrated server that no other test uses."""
    with data_folder() as data, EmbeddedServer(data) as server:
        migrations.migrate(server.conninfo)
        yield server.conninfo


@pytest.fixture
async def client(alone: str, tmp_path: Path) -> AsyncIterator[Client]:
    """Return a client of a service on this server, with a key; then each commit waits for a standby in vain."""
    service = create_app(Settings.model_validate({"database_url": alone, "data_dir": tmp_path, "limits": "off"}))
    async with lifespan(service.api), Client(service) as client:
        client.headers["X-API-Key"] = await make_key(service.api.state.database)
        assert (await client.get("/v1/builders/projects")).status_code == 200
        say(alone, REQUIRE_STANDBY, RELOAD)
        yield client
        say(alone, REQUIRE_NONE, RELOAD)


async def make_key(database: Database) -> str:
    async with database.transaction() as conn:
        account = await accounts.create_account(conn, email=f"{ids.new()}@example.net", verified=True)
        made = await keys.create_key(
            conn,
            account_id=account.id,
            label="key",
            key_kind=KeyKind.LIVE,
            preset=Preset.DEVELOPER_FULL,
            minted_by=KeyKind.LIVE,
            actor=OPERATOR,
        )
    return made.secret


def say(conninfo: str, *statements: str) -> int:
    """Run statements; return the number of rows of the last one."""
    with psycopg.connect(conninfo, autocommit=True) as conn:
        return [conn.execute(each.encode()).rowcount for each in statements][-1]


@pytest.mark.parametrize("end", [CANCEL, TERMINATE], ids=["canceled", "terminated"])
async def test_a_commit_whose_wait_for_a_standby_ended_early_is_not_acknowledged(
    client: Client, alone: str, end: str
) -> None:
    asking = asyncio.create_task(client.post("/v1/builders/projects", json=PROJECT))
    while not asking.done() and not await asyncio.to_thread(say, alone, end):
        pass
    answer = await asking

    assert (answer.status_code, answer.json()["code"]) == (503, "database_unavailable")
    assert answer.headers["Retry-After"] == "1"
