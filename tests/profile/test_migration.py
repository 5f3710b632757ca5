"""The migration records the steps of existing accounts, whose events were dispatched before."""

import uuid
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import make_conninfo

from builders.kit.db import migrations
from builders.kit.values import ids

EARLIER, LATER = datetime(2026, 1, 5, tzinfo=UTC), datetime(2026, 2, 5, tzinfo=UTC)
ACCOUNT = "INSERT INTO identity_accounts VALUES (%s, %s, %s, 'Ada', %s, %s)"
KEY = """
    INSERT INTO identity_keys (account_id, id, label, kind, preset, prefix, last4, created_at, created_by)
    VALUES (%s, %s, 'ci', 'live', %s, 'svc_live_x', 'abcd', %s, 'operator')
"""
PLAN = "INSERT INTO sandbox_plans VALUES (%s, %s, 'm', '{}', %s, 'd', '[]', '[]', '[]', 'operator', %s, %s)"


def migrate_to(name: str, conninfo: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Apply the migrations before this one."""
    earlier = [each for each in migrations.list_migrations() if each.name < name]
    with monkeypatch.context() as patched:
        patched.setattr(migrations, "list_migrations", lambda: earlier)
        migrations.migrate(conninfo)


@pytest.fixture
def before(server: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Create a database without the migrations of the profile."""
    name = f"own_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(server, autocommit=True) as conn:
        conn.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    conninfo = make_conninfo(server, dbname=name)
    migrate_to("0009", conninfo, monkeypatch)
    yield conninfo
    with psycopg.connect(server, autocommit=True) as conn:
        conn.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


def test_steps_before_the_migration_are_recorded(before: str) -> None:
    ada, grace, sandbox = ids.new(), ids.new(), ids.new()
    with psycopg.connect(before, autocommit=True) as conn:
        conn.execute(ACCOUNT, [ada, None, "ada@example.net", EARLIER, EARLIER])
        conn.execute(ACCOUNT, [sandbox, ada, "ada@example.net", EARLIER, EARLIER])
        conn.execute(ACCOUNT, [grace, None, "grace@example.net", None, EARLIER])
        for preset, at in (("developer_full", LATER), ("domainer_full", EARLIER)):
            conn.execute(KEY, [ada, ids.new(), preset, at])
        for status in ("blocked", "ready"):
            conn.execute(PLAN, [ada, ids.new(), status, LATER, LATER])
        conn.execute(PLAN, [grace, ids.new(), "blocked", LATER, LATER])

        migrations.migrate(before)

        profiles: list[Any] = conn.execute("SELECT account_id, roles, version FROM profile_profiles").fetchall()
        steps = conn.execute("SELECT account_id, step, done_at FROM profile_steps").fetchall()

    assert sorted(profiles) == sorted([(ada, ["builder", "domainer"], 1), (grace, [], 1)])
    assert set(steps) == {
        (ada, "verify_email", EARLIER),
        (ada, "create_api_key", EARLIER),
        (ada, "first_plan", LATER),
    }


def test_existing_steps_are_not_overwritten(before: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ada = ids.new()
    migrate_to("0014", before, monkeypatch)
    with psycopg.connect(before, autocommit=True) as conn:
        conn.execute(ACCOUNT, [ada, None, "ada@example.net", EARLIER, EARLIER])
        conn.execute(
            "INSERT INTO profile_profiles (account_id, company, version) VALUES (%s, 'Engines', 4)", [ada]
        )
        conn.execute("INSERT INTO profile_steps VALUES (%s, 'verify_email', %s)", [ada, LATER])

        assert "0014_profile_backfill.sql" in migrations.migrate(before)

        profiles: list[Any] = conn.execute("SELECT company, version FROM profile_profiles").fetchall()
        steps = conn.execute("SELECT step, done_at FROM profile_steps").fetchall()

    assert (profiles, steps) == ([("Engines", 4)], [("verify_email", LATER)])
