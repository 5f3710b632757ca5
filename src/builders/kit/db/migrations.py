"""Migrations: numbered SQL files, applied once, in order, under an advisory lock.

The job queue's package ships its schema: the whole schema for a new database, migration files for an existing one.
"""

import hashlib
from dataclasses import dataclass
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path

import psycopg
from procrastinate.schema import SchemaManager
from psycopg import sql

from builders.kit.db import distribution, rights
from builders.kit.values import clock

LOCK = 4_711_020_26  # arbitrary, the same in every release
OLDEST_SERVER, NEWEST_SERVER = 15, 18  # major versions
MAX_SHOWN = 3  # names in a message

CREATE_TABLE = """
    CREATE TABLE IF NOT EXISTS kit_migrations (
        name text PRIMARY KEY, digest text NOT NULL, applied_at timestamptz NOT NULL
    )
"""
RECORD = "INSERT INTO kit_migrations (name, digest, applied_at) VALUES (%s, %s, %s)"
APPLIED = "SELECT name, digest FROM kit_migrations"
# A lock of a transaction: a pooler would keep that of a session.
TAKE_LOCK = "SELECT pg_advisory_xact_lock(%s)"
HAS_MIGRATIONS_TABLE = "SELECT to_regclass('kit_migrations') IS NOT NULL"
HAS_QUEUE_TABLE = "SELECT to_regclass('procrastinate_jobs') IS NOT NULL"

# A line of a migration before the foreign keys of its tables: Citus adds them to tables that are distributed.
KEYS = "\n-- Foreign keys\n"

FIND_DATABASE = "SELECT datname FROM pg_database WHERE datname = %s"

START_AGAIN = (
    "A database of a development version cannot be migrated: use an empty one (another BUILDERS_DATA_DIR or "
    "BUILDERS_DATABASE_URL). If you edited a file, undo the edit and add a new file instead."
)


class MigrationError(Exception):
    """The database cannot be migrated; the message says why and what to do."""

    def __init__(self, reason: str, next_action: str) -> None:
        super().__init__(f"{reason} {next_action}")
        self.reason = reason
        self.next_action = next_action


@dataclass(frozen=True, slots=True)
class Migration:
    """One SQL file."""

    name: str
    text: str

    @property
    def digest(self) -> str:
        """Return a hash that detects a change of an applied file."""
        return hashlib.sha256(self.text.encode()).hexdigest()


def list_migrations() -> list[Migration]:
    """Return the service's migrations in order."""
    return _read_folder(resources.files("builders") / "migrations", "")


def _list_queue_migrations() -> list[Migration]:
    return _read_folder(Path(SchemaManager.get_migrations_path()), "procrastinate/")


def _read_folder(folder: Traversable, prefix: str) -> list[Migration]:
    files = sorted((each for each in folder.iterdir() if each.name.endswith(".sql")), key=lambda each: each.name)
    return [Migration(f"{prefix}{each.name}", each.read_text(encoding="utf-8")) for each in files]


def list_pending(conninfo: str) -> list[str]:
    """Return the names of the migrations that are not applied to this database, in order.

    Raise MigrationError if other files were applied to it.
    """
    with psycopg.connect(conninfo, connect_timeout=5) as conn:
        return _list_pending(conn)


def _list_pending(conn: psycopg.Connection) -> list[str]:
    row = conn.execute(HAS_MIGRATIONS_TABLE).fetchone()
    applied = _applied(conn) if row == (True,) else {}
    return [each.name for each in (*_list_queue_migrations(), *list_migrations()) if each.name not in applied]


def create_database(conninfo: str, name: str) -> None:
    """Create the database on this server if it is missing."""
    with psycopg.connect(conninfo, connect_timeout=10, autocommit=True) as conn:
        if conn.execute(FIND_DATABASE, [name]).fetchone() is None:
            conn.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))


def migrate(conninfo: str) -> list[str]:
    """Apply the pending migrations and return their names; a concurrent process waits, then applies none.

    Where none is pending, a role needs no right to create tables. Raise RightMissing where it needs one, and
    MigrationError if the server is too old or other files were applied to the database.
    """
    with psycopg.connect(conninfo, autocommit=True, connect_timeout=5) as conn:
        major = conn.info.server_version // 10_000
        if major < OLDEST_SERVER:
            reason = f"PostgreSQL {major} is too old; the service runs on {OLDEST_SERVER} to {NEWEST_SERVER}."
            raise MigrationError(reason, "Upgrade the server, or use the embedded one.")
        if not _list_pending(conn):
            return []
        rights.get(conn).require(of_owner=True)
        with psycopg.connect(conninfo, connect_timeout=5) as holder:
            distribution.lift_limits(holder)
            holder.execute(TAKE_LOCK, (LOCK,))
            return _apply(conn)


def _apply(conn: psycopg.Connection) -> list[str]:
    """Apply what is pending, which another process may have done before this one got the lock."""
    with conn.transaction():
        distribution.lift_limits(conn)
        conn.execute(CREATE_TABLE)
        applied = _applied(conn)
    queue = [each for each in _list_queue_migrations() if each.name not in applied]
    own = [each for each in list_migrations() if each.name not in applied]
    if conn.execute(HAS_QUEUE_TABLE).fetchone() == (False,):
        with conn.transaction():
            distribution.lift_limits(conn)
            conn.execute(SchemaManager.get_schema())
            for migration in queue:
                conn.execute(RECORD, (migration.name, migration.digest, clock.now()))
    else:
        own = [*queue, *own]
    for migration in own:
        with conn.transaction():
            distribution.lift_limits(conn)
            tables, _, keys = migration.text.partition(KEYS)
            conn.execute(tables.encode())
            distribution.place_new(conn)
            if keys:
                conn.execute(keys.encode())
            conn.execute(RECORD, (migration.name, migration.digest, clock.now()))
    return [each.name for each in dict.fromkeys((*queue, *own))]


def _applied(conn: psycopg.Connection) -> dict[str, str]:
    """Return the digests of the applied files by name. Raise MigrationError if this version has other files."""
    applied: dict[str, str] = dict(conn.execute(APPLIED).fetchall())
    known = {each.name: each.digest for each in list_migrations()}
    # Names after the last known one are those of the queue and of a newer version, which may run at the same time.
    others = sorted(name for name, digest in applied.items() if name <= max(known) and known.get(name) != digest)
    if others:
        shown = ", ".join(others[:MAX_SHOWN]) + (" …" if len(others) > MAX_SHOWN else "")
        raise MigrationError(f"Other migrations created this database: {shown}.", START_AGAIN)
    return applied
