"""Destinations of before they confirmed themselves: their readers are asked once the service runs."""

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
    """A database as it was before."""
    name = f"own_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(server, autocommit=True) as conn:
        conn.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    conninfo = make_conninfo(server, dbname=name)
    migrate_to("0017", conninfo, monkeypatch)
    yield conninfo
    with psycopg.connect(server, autocommit=True) as conn:
        conn.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


def test_readers_of_before_are_asked_but_for_those_who_need_not(before: str) -> None:
    ada, twin = ids.new(), ids.new()
    with psycopg.connect(before, autocommit=True) as conn:
        conn.execute(ACCOUNT, [ada, None, "ada@example.net", AT, AT])
        conn.execute(ACCOUNT, [twin, ada, "ada@example.net", AT, AT])
        for account, email, verified in (
            (ada, "Ada@example.net", None),
            (ada, "known@example.net", AT),
            (ada, "new@example.net", None),
            (twin, "new@example.net", None),
        ):
            conn.execute(DESTINATION, [account, email, verified, AT])

        migrations.migrate(before)

        rows = conn.execute("SELECT account_id, email, verified_at, ask_at FROM aliases_destinations").fetchall()
    assert {(row[0], row[1]): (row[2], row[3]) for row in rows} == {
        (ada, "Ada@example.net"): (AT, None),
        (ada, "known@example.net"): (AT, None),
        (ada, "new@example.net"): (None, AT),
        (twin, "new@example.net"): (AT, None),
    }
