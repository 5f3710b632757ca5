import uuid
from collections.abc import AsyncIterator, Iterator
from io import StringIO

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import make_conninfo
from pydantic import SecretStr

from builders.kit.db import migrations
from builders.kit.db.connections import Database
from builders.kit.process import log
from builders.kit.process.settings import Settings
from tests import log_lines
from tests.kit.outbound.receivers import forget_authorities
from tests.webhooks.engine.harness import Harness


@pytest.fixture(scope="module")
def own(server: str, settings: Settings) -> Iterator[Settings]:
    """Settings with a migrated database for this module, since the sender sends every due delivery in it."""
    name = f"own_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(server, autocommit=True) as conn:
        conn.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    conninfo = make_conninfo(server, dbname=name)
    migrations.migrate(conninfo)
    yield settings.model_copy(update={"database_url": SecretStr(conninfo)})
    with psycopg.connect(server, autocommit=True) as conn:
        conn.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


@pytest.fixture(autouse=True)
def _authorities(monkeypatch: pytest.MonkeyPatch) -> None:
    forget_authorities(monkeypatch)


@pytest.fixture
def logged() -> Iterator[StringIO]:
    """A stream with what is logged meanwhile."""
    stream = StringIO()
    log.configure(level="info", stream=stream)
    yield stream
    log_lines.write_errors_only()


@pytest.fixture
async def harness(own: Settings) -> AsyncIterator[Harness]:
    """A harness on the module's empty database."""
    assert own.database_url is not None
    database = Database(own.database_url.get_secret_value(), own)
    await database.open()
    harness = Harness(database=database, settings=own)
    await harness.empty()
    yield harness
    await database.close()
