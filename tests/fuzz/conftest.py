import uuid
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import make_conninfo

from tests.fuzz.served import Served, serve
from tests.fuzz.wire import ask
from tests.shared_servers import shared

MEMORY = 64 * 1024 * 1024  # bytes that one test may add


@pytest.fixture(scope="module")
def served(
    request: pytest.FixtureRequest, server: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Served]:
    """Return the service in a separate process and database, which fuzzing may fill."""

    @contextmanager
    def start() -> Iterator[Served]:
        name = f"fuzz_{uuid.uuid4().hex[:12]}"
        database = sql.Identifier(name)
        with psycopg.connect(server, autocommit=True) as conn:
            conn.execute(sql.SQL("CREATE DATABASE {}").format(database))
        with serve(tmp_path_factory.mktemp("fuzz"), conninfo=make_conninfo(server, dbname=name)) as running:
            yield running
        with psycopg.connect(server, autocommit=True) as conn:
            conn.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(database))

    with shared(request, start) as running:
        yield running


@pytest.fixture
def unharmed(served: Served) -> Iterator[Served]:
    """Return the service, and assert that its health is the same after the test."""
    before = served.look()
    yield served
    assert ask(served.port, b"GET /livez HTTP/1.1\r\n").status == 200
    after = served.look()
    assert after.lives, "the HTTP process died, and another was started"
    assert after.memory - before.memory < MEMORY
    assert after.complaints == before.complaints
