"""What the service does about a pooler; tests/kit/db/system has PgBouncer itself."""

import asyncio
import re
from collections.abc import AsyncIterator, Iterator, Mapping

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict
from pydantic import SecretStr, ValidationError

from builders.kit.db import migrations, sessions
from builders.kit.db.connections import Conn, Database
from builders.kit.db.sessions import SessionsUnusable, Sharing
from builders.kit.process.settings import Settings
from tests.cli.databases import own_database
from tests.kit.scratch import until

COUNT_PREPARED = "SELECT count(*) FROM pg_prepared_statements"
COUNT_LOCKS = """
    SELECT count(*) FROM pg_locks JOIN pg_database ON pg_database.oid = pg_locks.database
    WHERE locktype = 'advisory' AND datname = current_database()
"""
# Migrations ask for the lock again and again, outside of a statement.
COUNT_WAITING = """
    SELECT count(*) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid() AND query = 'ROLLBACK'
"""
SHOWN = "SELECT current_setting('statement_timeout'), current_setting('timezone')"
URL = "postgresql://db.example/builders"


async def connect(conninfo: str) -> Conn:
    return await psycopg.AsyncConnection.connect(conninfo, autocommit=True)


@pytest.fixture
async def one(conninfo: str) -> AsyncIterator[Conn]:
    async with await connect(conninfo) as conn:
        yield conn


@pytest.fixture
def fresh(server: str) -> Iterator[str]:
    """Return an empty database of this test, whose role has no parameters."""
    with own_database(server) as conninfo:
        yield conninfo


def pooled(settings: Settings, conninfo: str) -> Settings:
    """Return settings for a pooler."""
    return settings.model_copy(
        update={
            "database_url": SecretStr(conninfo),
            "database_pooled": True,
            "database_direct_url": SecretStr(conninfo),
        }
    )


async def test_a_connection_to_the_server_has_its_own_session(one: Conn) -> None:
    assert await sessions.get_sharing(one) is Sharing.NONE


async def test_connections_that_use_one_session_in_turn_share_it(one: Conn) -> None:
    async def again() -> Conn:
        return one

    assert await sessions.changes_process(one, again)


async def test_connections_that_keep_their_sessions_do_not_share_them(one: Conn, conninfo: str) -> None:
    assert not await sessions.changes_process(one, lambda: connect(conninfo))


async def test_missing_time_limits_are_refused_with_the_statements_that_set_them(
    fresh: str, settings: Settings
) -> None:
    with pytest.raises(SessionsUnusable) as caught:
        await sessions.check(pooled(settings, fresh))
    async with await connect(fresh) as conn:
        for statement in re.findall(r"ALTER ROLE [^;]+;", caught.value.next_action):
            await conn.execute(statement)

    assert "statement_timeout is 0" in caught.value.reason
    assert await sessions.check(pooled(settings, fresh)) is Sharing.NONE


async def test_behind_a_pooler_nothing_is_left_in_a_session(fresh: str, settings: Settings) -> None:
    own = pooled(settings, fresh)
    with pytest.raises(SessionsUnusable) as caught:
        await sessions.check(own.model_copy(update={"statement_timeout_s": 7.0}))
    async with await connect(fresh) as conn:
        for statement in re.findall(r"ALTER ROLE [^;]+;", caught.value.next_action):
            await conn.execute(statement)
    database = Database(fresh, own.model_copy(update={"statement_timeout_s": 7.0}))
    await database.open()

    async with database.connection() as conn:
        for _ in range(10):
            await conn.execute(SHOWN)
        prepared = await (await conn.execute(COUNT_PREPARED)).fetchone()
        shown = await (await conn.execute(SHOWN)).fetchone()
    await database.close()

    assert prepared == (0,)
    assert shown == ("7s", "UTC")
    assert "options" not in conninfo_to_dict(database.conninfo)
    assert "statement_timeout=7s" in str(conninfo_to_dict(database.session_conninfo)["options"])


async def test_migrations_wait_for_others_whatever_limits_the_role_has(fresh: str) -> None:
    async with await connect(fresh) as conn, await connect(fresh) as holder:

        async def asked_and_waits() -> bool:
            return await (await conn.execute(COUNT_WAITING)).fetchone() == (1,)

        role = sql.SQL("ALTER ROLE CURRENT_USER IN DATABASE {} ").format(sql.Identifier(conn.info.dbname))
        await holder.execute("SELECT pg_advisory_lock(%s)", [migrations.LOCK])
        await conn.execute(role + sql.SQL("SET statement_timeout = '300ms'"))
        try:
            migrating = asyncio.create_task(asyncio.to_thread(migrations.migrate, fresh))
            await until(asked_and_waits)
            await holder.execute("SELECT pg_sleep(0.5), pg_advisory_unlock(%s)", [migrations.LOCK])
            await migrating
        finally:
            await conn.execute(role + sql.SQL("RESET ALL"))
        held = await (await conn.execute(COUNT_LOCKS)).fetchone()

    assert held == (0,)


@pytest.mark.parametrize(
    "given",
    [
        {"database_pooled": True},
        {"database_pooled": True, "database_url": URL},
        {"database_pooled": True, "database_direct_url": URL},
    ],
)
def test_a_pooler_requires_a_url_past_it(given: Mapping[str, object], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DATABASE_URL", raising=False)

    with pytest.raises(ValidationError, match="URL past the pooler"):
        Settings.model_validate(given)


def test_what_needs_a_session_goes_past_the_pooler() -> None:
    direct = "postgresql://db.example:5433/builders"
    settings = Settings.model_validate(
        {"database_pooled": True, "database_url": URL, "database_direct_url": direct}
    )

    assert settings.session_url == SecretStr(direct)
