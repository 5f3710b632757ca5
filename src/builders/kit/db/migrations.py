"""Migrations: numbered SQL files, applied once, in order, by whoever gets the lock.

The queue's own schema comes with its package: whole on a new database, later its shipped migration files.
"""

import hashlib
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

import psycopg
from procrastinate.schema import SchemaManager

from builders.kit.values import clock

LOCK = 4_711_020_26  # any number, the same in every version
OLDEST = 150000

TABLE = """
    CREATE TABLE IF NOT EXISTS kit_migrations (
        name text PRIMARY KEY, digest text NOT NULL, applied_at timestamptz NOT NULL
    )
"""
RECORD = "INSERT INTO kit_migrations (name, digest, applied_at) VALUES (%s, %s, %s)"
APPLIED = "SELECT name, digest FROM kit_migrations"
TAKE_LOCK = "SELECT pg_advisory_lock(%s)"
OURS_THERE = "SELECT to_regclass('kit_migrations') IS NOT NULL"
QUEUE_THERE = "SELECT to_regclass('procrastinate_jobs') IS NOT NULL"


class MigrationRefused(Exception):
    """The database cannot be migrated; the text says why and what to do."""


@dataclass(frozen=True, slots=True)
class Migration:
    """One SQL file."""

    name: str
    text: str

    @property
    def digest(self) -> str:
        """Tells an applied file that was changed afterwards."""
        return hashlib.sha256(self.text.encode()).hexdigest()


def ours() -> list[Migration]:
    """The service's own migrations in order."""
    folder = resources.files("builders") / "migrations"
    files = sorted((each for each in folder.iterdir() if each.name.endswith(".sql")), key=lambda each: each.name)
    return [Migration(each.name, each.read_text(encoding="utf-8")) for each in files]


def _queues() -> list[Migration]:
    folder = Path(SchemaManager.get_migrations_path())
    files = sorted(folder.glob("*.sql"))
    return [Migration(f"procrastinate/{each.name}", each.read_text(encoding="utf-8")) for each in files]


def pending(conninfo: str) -> list[str]:
    """Names of the migrations that this database still needs."""
    with psycopg.connect(conninfo, connect_timeout=5) as conn:
        there = conn.execute(OURS_THERE).fetchone()
        applied = _applied(conn) if there == (True,) else {}
    return [each.name for each in (*_queues(), *ours()) if each.name not in applied]


def migrate(conninfo: str) -> list[str]:
    """Applies what is pending and gives its names; a second process waits and finds nothing to do.

    Raises MigrationRefused for a server that is too old or a file that was changed after it was applied.
    """
    with psycopg.connect(conninfo, autocommit=True, connect_timeout=5) as conn:
        if conn.info.server_version < OLDEST:
            raise MigrationRefused(
                f"PostgreSQL {conn.info.server_version // 10000} is too old; the service needs 15 or newer."
            )
        conn.execute(TAKE_LOCK, (LOCK,))
        conn.execute(TABLE)
        applied = _applied(conn)
        changed = [each.name for each in ours() if applied.get(each.name, each.digest) != each.digest]
        if changed:
            raise MigrationRefused(
                f"Changed after it was applied: {', '.join(changed)}. Undo the change and add a new one instead."
            )
        done = _migrate_queue(conn, applied)
        for each in ours():
            if each.name not in applied:
                _apply(conn, each)
                done.append(each.name)
        return done


def _migrate_queue(conn: psycopg.Connection, applied: dict[str, str]) -> list[str]:
    new = [each for each in _queues() if each.name not in applied]
    row = conn.execute(QUEUE_THERE).fetchone()
    if row is not None and not row[0]:
        with conn.transaction():
            conn.execute(SchemaManager.get_schema())
            for each in new:
                conn.execute(RECORD, (each.name, each.digest, clock.now()))
    else:
        for each in new:
            _apply(conn, each)
    return [each.name for each in new]


def _apply(conn: psycopg.Connection, migration: Migration) -> None:
    with conn.transaction():
        conn.execute(migration.text.encode())
        conn.execute(RECORD, (migration.name, migration.digest, clock.now()))


def _applied(conn: psycopg.Connection) -> dict[str, str]:
    return dict(conn.execute(APPLIED).fetchall())
