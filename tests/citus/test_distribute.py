"""`builders distribute`: what it does, what it refuses, and how it continues."""

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from builders.kit.db import distribution, migrations, placement
from builders.kit.db.migration_files import Migration
from builders.kit.values import ids
from tests.citus import cluster
from tests.citus.cluster import LIMITS
from tests.cli.conftest import Cli
from tests.cli.serving import environment

WORDS = [sys.executable, "-m", "builders", "distribute"]
TABLES = "SELECT logicalrelid::text FROM pg_dist_partition ORDER BY 1"
KEYS = """
    SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid) FROM pg_constraint
    WHERE contype = 'f' AND conparentid = 0 AND connamespace = 'public'::regnamespace ORDER BY 1, 2
"""
SETTING = "SELECT current_setting(%s)"
ACCOUNT = "INSERT INTO identity_accounts (id, email, name, created_at) VALUES (%s, %s, '', now())"
PROFILE = "INSERT INTO profile_profiles (account_id) VALUES (%s)"
# What has no rows on its node to refer to.
FALLS_AWAY = {"invoices_numbers", "portfolio_renewals_tokens", "profile_tokens", "aliases_links"}


@pytest.fixture
def migrated(empty: str, plain_environment: pytest.MonkeyPatch) -> str:
    """Return a migrated database of a cluster that is not distributed, also for commands."""
    plain_environment.setenv("BUILDERS_DATABASE_URL", empty)
    migrations.migrate(empty)
    return empty


@pytest.fixture
def conn(migrated: str) -> Iterator[psycopg.Connection]:
    with psycopg.connect(migrated, autocommit=True) as connection:
        yield connection


def add_profiles(conn: psycopg.Connection, count: int) -> None:
    for _ in range(count):
        account = ids.new()
        conn.execute(ACCOUNT, [account, f"{account}@example.net"])
        conn.execute(PROFILE, [account])


def test_a_distributed_database_keeps_its_rows_and_has_nothing_left_to_do(
    conn: psycopg.Connection,
    command: Cli,
) -> None:
    add_profiles(conn, 20)
    before = conn.execute(KEYS).fetchall()

    shown = command("distribute", "--dry-run").stdout
    assert "create_distributed_table('profile_profiles', 'account_id'" in shown
    assert conn.execute(TABLES).fetchall() == []
    assert command("distribute").stdout == "The tables are distributed.\n"
    assert command("distribute").stdout == "There is nothing to do.\n"

    assert conn.execute("SELECT count(*) FROM profile_profiles").fetchone() == (20,)
    assert conn.execute("SELECT pg_relation_size('profile_profiles')").fetchone() == (0,)  # on the coordinator
    assert {table for table, *_ in {*before} - {*conn.execute(KEYS).fetchall()}} == FALLS_AWAY


def test_a_run_that_ends_after_any_step_is_continued(
    migrated: str,
    conn: psycopg.Connection,
    command: Cli,
) -> None:
    before, ended = conn.execute(KEYS).fetchall(), 0
    while steps := distribution.plan(conn, LIMITS):
        distribution.distribute(conn, steps[:1])
        ended += 1
        if ended == 3:
            refused = command("serve", "--port", "0").stderr
            assert "distributed in part" in refused
    distribution.require_whole(migrated)
    assert ended > 100
    assert {table for table, *_ in {*before} - {*conn.execute(KEYS).fetchall()}} == FALLS_AWAY


@pytest.mark.parametrize("seconds", [1.5, 2.5, 4.0])
def test_a_killed_command_is_continued(migrated: str, tmp_path: Path, seconds: float) -> None:
    environ = environment(tmp_path, BUILDERS_DATABASE_URL=migrated)
    with subprocess.Popen(WORDS, env=environ) as process:
        time.sleep(seconds)
        process.send_signal(signal.SIGKILL)
    deadline = time.monotonic() + 60
    while subprocess.run(WORDS, env=environ, check=False).returncode:
        assert time.monotonic() < deadline  # the session of the killed one ends late
    distribution.require_whole(migrated)


def test_rows_that_break_a_key_are_named(conn: psycopg.Connection, command: Cli) -> None:
    add_profiles(conn, 1)
    with conn.transaction():
        conn.execute("SET LOCAL session_replication_role = replica")  # as `pg_restore --disable-triggers`
        conn.execute(PROFILE, [ids.new()])

    refused = command("distribute")

    assert refused.exit_code == 1
    assert "Rows of profile_profiles break profile_profiles_account_id_fkey: Key (account_id)=(" in refused.stderr
    assert conn.execute(TABLES).fetchall() == []


def test_a_service_that_runs_is_not_distributed(migrated: str, command: Cli) -> None:
    with psycopg.connect(migrated, application_name="builders"):
        refused = command("distribute")
    assert refused.exit_code == 1
    assert "Stop all its processes" in refused.stderr


def test_a_worker_node_is_refused(
    url: str,
    migrated: str,
    command: Cli,
    plain_environment: pytest.MonkeyPatch,
) -> None:
    name = psycopg.conninfo.conninfo_to_dict(migrated)["dbname"]
    node = cluster.on_node(url, cluster.list_nodes(url)[1], dbname=str(name))
    plain_environment.setenv("BUILDERS_DATABASE_URL", node)
    for words in (["distribute"], ["migrate"], ["serve", "--port", "0"], ["worker"]):
        refused = command(*words)
        assert refused.exit_code == 1
        assert "Point BUILDERS_DATABASE_URL at the coordinator." in refused.stderr, words
    assert "WRONG  rights: The server is a worker node of Citus." in command("doctor").stdout


LATER = Migration(
    "9999_projects.sql",
    """-- works with: 1.0.0
-- run: before

    CREATE TABLE projects_notes (
        account_id uuid NOT NULL REFERENCES identity_accounts, id uuid NOT NULL, project_id uuid NOT NULL,
        PRIMARY KEY (account_id, id)
    );
-- Foreign keys
    ALTER TABLE projects_notes ADD FOREIGN KEY (account_id, project_id) REFERENCES projects (account_id, id);
    """,
)
BROKEN = Migration("9999_projects.sql", LATER.text + "SELECT 1 / 0;")


@pytest.fixture
def _no_later_table(admin: psycopg.Connection) -> Iterator[None]:
    yield
    admin.execute("DROP TABLE IF EXISTS projects_notes")
    admin.execute("DELETE FROM kit_migrations WHERE name = %s", [LATER.name])


@pytest.mark.usefixtures("_no_later_table")
def test_a_later_migration_places_its_tables(
    conninfo: str, admin: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    present = migrations.list_migrations()
    monkeypatch.setattr(migrations, "list_migrations", lambda: [*present, BROKEN])
    with pytest.raises(psycopg.errors.DivisionByZero):
        migrations.migrate(conninfo)
    assert admin.execute("SELECT to_regclass('projects_notes')").fetchone() == (None,)

    monkeypatch.setattr(migrations, "list_migrations", lambda: [*present, LATER])
    assert migrations.migrate(conninfo) == [LATER.name]
    assert ("projects_notes",) in admin.execute(TABLES).fetchall()
    distribution.require_whole(conninfo)


def test_each_table_is_where_the_list_has_it(admin: psycopg.Connection) -> None:
    tables = distribution.read_tables(admin)
    assert [each.name for each in tables if each.is_placed] == [
        each.name for each in tables if placement.place_of(each.name) != placement.NODE
    ]
    assert len(tables) > 100


def test_a_limit_reaches_the_nodes(url: str, admin: psycopg.Connection) -> None:
    for node in cluster.list_nodes(url):
        with psycopg.connect(cluster.on_node(url, node, dbname=admin.info.dbname)) as conn:
            shown = [conn.execute(SETTING, [name]).fetchone() for name in distribution.LIMITS]
        assert shown == [("10s",), ("3s",), ("5s",)]
