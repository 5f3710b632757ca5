from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
from click.testing import CliRunner, Result

from builders.cli.main import main
from builders.kit.db import known_keys
from builders.kit.values import ids
from tests import log_lines

Cli = Callable[..., Result]


@pytest.fixture
def plain_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[pytest.MonkeyPatch]:
    """Set the data folder alone, and reset the logs afterwards."""
    monkeypatch.delenv("DATABASE_URL", raising=False)
    monkeypatch.setenv("BUILDERS_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("BUILDERS_PORT", "0")
    monkeypatch.setenv("BUILDERS_LOG_LEVEL", "error")
    yield monkeypatch
    log_lines.write_errors_only()


@pytest.fixture
def command(plain_environment: pytest.MonkeyPatch) -> Cli:
    """Return a function that runs `builders`, by default without a database."""
    del plain_environment

    def run(*words: str | Path) -> Result:
        result = CliRunner().invoke(main, [str(word) for word in words])
        assert result.exception is None or isinstance(result.exception, SystemExit), result.output
        return result

    return run


@pytest.fixture
def unused_database(conninfo: str) -> str:
    """Return the database of the tests without known keys and failed jobs, as if no service had used it."""
    with psycopg.connect(conninfo, autocommit=True) as conn:
        conn.execute(known_keys.FORGET)
        conn.execute("DELETE FROM procrastinate_jobs WHERE status = 'failed'")
    return conninfo


@pytest.fixture
def builders(plain_environment: pytest.MonkeyPatch, command: Cli, unused_database: str) -> Cli:
    """Return a function that runs `builders` on the database of the tests."""
    plain_environment.setenv("BUILDERS_DATABASE_URL", unused_database)
    return command


@pytest.fixture
def email() -> str:
    """Return an unused address."""
    return f"ada-{ids.new().hex}@example.net"


@pytest.fixture
def account(builders: Cli, email: str) -> str:
    """Return the address of a new account."""
    assert builders("accounts", "create", "--email", email).exit_code == 0
    return email
