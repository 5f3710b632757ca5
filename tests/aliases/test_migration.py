"""The migration requests a confirmation for existing destinations."""

import uuid
from collections.abc import Iterator
from datetime import UTC, datetime

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import make_conninfo

from builders.kit.db import migrations
from builders.kit.values import ids
from tests.profile.test_migration import migrate_to

AT = datetime(2026, 1, 5, tzinfo=UTC)
ACCOUNT = "INSERT INTO identity_accounts VALUES (%s, %s, %s, 'Ada', %s, %s)"
DESTINATION = "INSERT INTO aliases_destinations VALUES (%s, %s, %s, %s)"


@pytest.fixture
def before(server: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Return a database before the migration."""
    name = f"own_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(server, autocommit=True) as conn:
        conn.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    conninfo = make_conninfo(server, dbname=name)
    migrate_to("0017", conninfo, monkeypatch)
    yield conninfo
    with psycopg.connect(server, autocommit=True) as conn:
        conn.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


def test_existing_unconfirmed_destinations_get_a_confirmation(before: str) -> None:
    ada, sandbox = ids.new(), ids.new()
    with psycopg.connect(before, autocommit=True) as conn:
        conn.execute(ACCOUNT, [ada, None, "ada@example.net", AT, AT])
        conn.execute(ACCOUNT, [sandbox, ada, "ada@example.net", AT, AT])
        for account, email, verified in (
            (ada, "Ada@example.net", None),
            (ada, "known@example.net", AT),
            (ada, "new@example.net", None),
            (sandbox, "new@example.net", None),
        ):
            conn.execute(DESTINATION, [account, email, verified, AT])

        migrations.migrate(before)

        rows = conn.execute("SELECT account_id, email, verified_at, ask_at FROM aliases_destinations").fetchall()
    assert {(row[0], row[1]): (row[2], row[3]) for row in rows} == {
        (ada, "Ada@example.net"): (AT, None),
        (ada, "known@example.net"): (AT, None),
        (ada, "new@example.net"): (None, AT),
        (sandbox, "new@example.net"): (AT, None),
    }
