import uuid
from collections.abc import AsyncIterator, Iterator
from io import StringIO

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import make_conninfo
from pydantic import SecretStr

from builders.kit.db import migrations, partitions
from builders.kit.db.connections import Conn, Database
from builders.kit.events import dispatcher, outbox
from builders.kit.http import access_log
from builders.kit.http.middleware import RequestMiddleware
from builders.kit.jobs import queue
from builders.kit.process import log
from builders.kit.process.settings import Settings
from tests import log_lines
from tests.kit.http.middleware_routes import LIMIT, make_router
from tests.kit.jobs.recorder import Recorder
from tests.kit.scratch import serve


@pytest.fixture
async def middleware(settings: Settings) -> AsyncIterator[RequestMiddleware]:
    """Yield a service of the test's own routes that writes no request lines."""
    async with serve(settings, make_router(), body_limit=LIMIT) as scratch:
        yield scratch.middleware


@pytest.fixture
def logged() -> Iterator[StringIO]:
    """Yield a stream with what is logged meanwhile."""
    access_log.flush()  # lines of requests before, whose timer went with their event loop
    stream = StringIO()
    log.configure(level="info", stream=stream)
    yield stream
    log_lines.write_errors_only()


@pytest.fixture(scope="module")
def empty(server: str) -> Iterator[str]:
    """Yield an empty database for this module alone."""
    name = f"own_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(server, autocommit=True) as conn:
        conn.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    yield make_conninfo(server, dbname=name)
    with psycopg.connect(server, autocommit=True) as conn:
        conn.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


@pytest.fixture(scope="module")
def own(empty: str, settings: Settings) -> Settings:
    """Return settings with a migrated database for this module alone, for tests that read whole tables."""
    migrations.migrate(empty)
    return settings.model_copy(update={"database_url": SecretStr(empty)})


@pytest.fixture
async def own_database(own: Settings) -> AsyncIterator[Database]:
    """Yield a pool on the module's database."""
    assert own.database_url is not None
    pool = Database(own.database_url.get_secret_value(), own)
    await pool.open()
    yield pool
    await pool.close()


@pytest.fixture
def registers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Restore the registries after the test."""
    monkeypatch.setattr(outbox, "_registry", dict(outbox._registry))
    monkeypatch.setattr(
        dispatcher, "_subscribers", {name: dict(each) for name, each in dispatcher._subscribers.items()}
    )
    monkeypatch.setattr(dispatcher, "_batch_subscribers", {})
    monkeypatch.setattr(partitions, "_tables", dict(partitions._tables))
    monkeypatch.setattr(queue.app, "tasks", dict(queue.app.tasks))


@pytest.fixture
async def jobs_conn(own_database: Database) -> AsyncIterator[Conn]:
    """Yield a connection to the module's database, whose job queue is empty."""
    async with own_database.connection() as conn:
        await conn.execute("TRUNCATE procrastinate_jobs, procrastinate_workers CASCADE")
        yield conn


@pytest.fixture
def recorder(registers: None) -> Recorder:
    """Return a task that records its calls."""
    assert registers is None
    return Recorder()
