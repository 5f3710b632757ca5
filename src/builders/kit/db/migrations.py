"""Migrations: numbered SQL files, applied once, in order, under an advisory lock (decision 0064).

The job queue's package ships its schema: the whole schema for a new database, migration files for an existing one.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from importlib import resources
from importlib.resources.abc import Traversable
from itertools import takewhile
from pathlib import Path

import psycopg
from procrastinate.schema import SchemaManager
from psycopg import sql

from builders.kit.db import backfills, distribution, indexes, rights
from builders.kit.db.migration_files import Migration, MigrationError
from builders.kit.process import log
from builders.kit.process.version import VERSION, order_of
from builders.kit.values import clock

LOCK = 4_711_020_26  # arbitrary, the same in every release
OLDEST_SERVER, NEWEST_SERVER = 15, 18  # major versions
MAX_SHOWN = 3  # names in a message
POLL_S = 1.0  # for the lock of another process
ATTEMPTS = 60  # of a file, whose statements wait for a lock on a table
PAUSE_S = 1.0  # between them, for the statements that waited behind it

CREATE_TABLE = """
    CREATE TABLE IF NOT EXISTS kit_migrations (
        name text PRIMARY KEY,
        digest text NOT NULL,
        applied_at timestamptz NOT NULL,
        works_with text NOT NULL -- the oldest release that works after it
    )
"""
CREATE_RELEASES = """
    -- The releases that have migrated the database; the last one is that before an upgrade.
    CREATE TABLE IF NOT EXISTS kit_releases (
        release text PRIMARY KEY,
        migrated_at timestamptz NOT NULL -- the last time
    )
"""
RECORD = "INSERT INTO kit_migrations (name, digest, applied_at, works_with) VALUES (%s, %s, %s, %s)"
RECORD_RELEASE = """
    INSERT INTO kit_releases VALUES (%s, %s)
    ON CONFLICT (release) DO UPDATE SET migrated_at = EXCLUDED.migrated_at
"""
APPLIED = "SELECT name, digest FROM kit_migrations"
# Those that were applied with the newest one, within a minute.
LAST_APPLIED = """
    SELECT name, applied_at FROM kit_migrations
    WHERE applied_at > (SELECT max(applied_at) FROM kit_migrations) - interval '1 minute'
    ORDER BY applied_at DESC, name DESC LIMIT 3
"""
WORKS_WITH = "SELECT works_with FROM kit_migrations"
LAST_RELEASE = "SELECT release FROM kit_releases ORDER BY migrated_at DESC LIMIT 1"
# A lock of a transaction: a pooler would keep that of a session. A statement that waits for it would stop an index
# of the process that has it, which waits for all statements that began before.
TRY_LOCK = "SELECT pg_try_advisory_xact_lock(%s)"
HAS_TABLE = "SELECT to_regclass(%s) IS NOT NULL"
BRIEF_LOCK = "SET LOCAL lock_timeout = '500ms'"  # statements that wait behind the lock wait for this time

# A line of a migration before the foreign keys of its tables: Citus adds them to tables that are distributed.
KEYS = "\n-- Foreign keys\n"

FIND_DATABASE = "SELECT datname FROM pg_database WHERE datname = %s"

START_AGAIN = (
    "A database of a development version cannot be migrated: use an empty one (another BUILDERS_DATA_DIR or "
    "BUILDERS_DATABASE_URL). If you edited a file, undo the edit and add a new file instead."
)
MIGRATE = "Run `builders migrate`, then start this release."

_log = log.get_logger()


def get_release() -> str:
    """Return the release of this code."""
    return VERSION


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """What a database has of the migrations of this release."""

    release: str | None  # that migrated it last; null: it has no schema yet, or only a part
    oldest: str  # release that works with it
    pending: Sequence[Migration]  # in order

    @property
    def before(self) -> Sequence[Migration]:
        """Return the pending files that run before the processes of this release start."""
        return [each for each in self.pending if not each.header.is_after]

    @property
    def stops(self) -> Sequence[str]:
        """Return the releases to install before this one: a pending file excludes what came before them."""
        if self.release is None:
            return []
        return sorted(
            {each.header.works_with for each in self.pending if each.excludes(self.release)}, key=order_of
        )

    def require(self) -> None:
        """Raise MigrationError unless this release works with the database."""
        self.require_new_enough()
        if self.before:
            raise MigrationError(f"{len(self.before)} migrations are pending.", MIGRATE)

    def require_new_enough(self) -> None:
        """Raise MigrationError if the database excludes this release."""
        if order_of(self.oldest) > order_of(get_release()):
            reason = f"The database works with release {self.oldest} or newer, and this is {get_release()}."
            raise MigrationError(reason, f"Install {self.oldest} or newer.")

    def list_due(self, *, after: bool) -> Sequence[Migration]:
        """Return the files that a run applies. Raise MigrationError if something else has to be done first."""
        self.require_new_enough()
        if self.release is None:
            return self.pending
        if stops := self.stops:
            reason = f"The way from {self.release} to {get_release()} is by {', then '.join(stops)}."
            action = f"Install {stops[0]}, with `builders migrate`, a restart and `builders migrate --after`."
            raise MigrationError(reason, action)
        if not after:
            self._require_sequence()
            return self.before
        due = list(takewhile(lambda each: each.header.is_after, self.pending))
        if self.before and not due:
            raise MigrationError(f"{len(self.before)} migrations run before the others.", MIGRATE)
        return due

    def _require_sequence(self) -> None:
        own = [each for each in self.pending if not each.is_of_queue]
        ahead = len(list(takewhile(lambda each: not each.header.is_after, own)))
        if not all(each.header.is_after for each in own[ahead:]):
            reason = f"{own[ahead].name} of an earlier release is pending."
            by = "Install that release first, with `builders migrate`, a restart and" if ahead else "First run"
            raise MigrationError(reason, f"{by} `builders migrate --after`.")


def list_migrations() -> list[Migration]:
    """Return the service's migrations in order. Raise MigrationError if this release does not work with a file."""
    files = _read_folder(resources.files("builders") / "migrations", "")
    for each in files:
        if each.excludes(get_release()):
            reason = f"{each.name} works with {each.header.works_with} or newer, and this is {get_release()}."
            raise MigrationError(reason, "The file is wrong: name this release, or one before it.")
    return files


def _list_queue_migrations() -> list[Migration]:
    return _read_folder(Path(SchemaManager.get_migrations_path()), "procrastinate/")


def _read_folder(folder: Traversable, prefix: str) -> list[Migration]:
    files = sorted((each for each in folder.iterdir() if each.name.endswith(".sql")), key=lambda each: each.name)
    return [Migration(f"{prefix}{each.name}", each.read_text(encoding="utf-8")) for each in files]


def list_pending(conninfo: str) -> list[str]:
    """Return the names of the migrations that are not applied to this database, in order.

    Raise MigrationError if other files were applied to it.
    """
    return [each.name for each in read(conninfo).pending]


def list_last(conninfo: str) -> Mapping[str, datetime]:
    """Return when the newest migrations were applied, by their names, the last one first."""
    with psycopg.connect(conninfo, connect_timeout=5) as conn:
        return dict(conn.execute(LAST_APPLIED).fetchall())


def read(conninfo: str) -> State:
    """Return the state of a database. Raise MigrationError if other files were applied to it."""
    with psycopg.connect(conninfo, connect_timeout=5) as conn:
        return _read(conn)


def _read(conn: psycopg.Connection) -> State:
    files = [*_list_queue_migrations(), *list_migrations()]
    applied, releases, oldest = dict[str, str](), list[tuple[str]](), "0.0.0"
    if _has_table(conn, "kit_migrations"):
        applied = _applied(conn)
        oldest = max((each for (each,) in conn.execute(WORKS_WITH).fetchall()), key=order_of, default=oldest)
    if _has_table(conn, "kit_releases"):
        releases = conn.execute(LAST_RELEASE).fetchall()
    return State(
        release=releases[0][0] if releases else None,
        oldest=oldest,
        pending=[each for each in files if each.name not in applied],
    )


def create_database(conninfo: str, name: str) -> None:
    """Create the database on this server if it is missing."""
    with psycopg.connect(conninfo, connect_timeout=10, autocommit=True) as conn:
        if conn.execute(FIND_DATABASE, [name]).fetchone() is None:
            conn.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))


def prepare(conninfo: str) -> list[str]:
    """Create the schema in an empty database; else raise MigrationError unless this release works with it."""
    state = read(conninfo)
    if state.release is None:
        return migrate(conninfo)
    state.require()
    return []


def migrate(conninfo: str, *, after: bool = False, attempts: int = ATTEMPTS) -> list[str]:
    """Apply the pending migrations and return their names; a concurrent process waits, then applies none.

    `after` applies those that run when only processes of this release run. Where none is pending, a role needs no
    right to create tables. Raise RightMissing where it needs one, and MigrationError if the server is too old,
    other files were applied to the database, or something else has to be done first.
    """
    with psycopg.connect(conninfo, autocommit=True, connect_timeout=5) as conn:
        major = conn.info.server_version // 10_000
        if major < OLDEST_SERVER:
            reason = f"PostgreSQL {major} is too old; the service runs on {OLDEST_SERVER} to {NEWEST_SERVER}."
            raise MigrationError(reason, "Upgrade the server, or use the embedded one.")
        state = _read(conn)
        if state.release == get_release() and not state.list_due(after=after):
            return []
        rights.get(conn).require(of_owner=True)
        with _locked(conninfo):
            return _apply(conn, after=after, attempts=attempts)


@contextmanager
def _locked(conninfo: str) -> Iterator[None]:
    """Be the only process that migrates the database; wait for the other one."""
    with psycopg.connect(conninfo, connect_timeout=5) as holder:
        while holder.execute(TRY_LOCK, (LOCK,)).fetchone() != (True,):
            holder.rollback()
            time.sleep(POLL_S)
        # This also ends the portal of the statement above, for whose snapshot an index would wait.
        distribution.lift_limits(holder)
        yield


def _apply(conn: psycopg.Connection, *, after: bool, attempts: int) -> list[str]:
    """Apply what is pending, which another process may have done before this one got the lock."""
    with conn.transaction():
        distribution.lift_limits(conn)
        conn.execute(CREATE_TABLE)
        conn.execute(CREATE_RELEASES)
    state = _read(conn)
    due = state.list_due(after=after)
    if not _has_table(conn, "procrastinate_jobs"):
        with conn.transaction():
            distribution.lift_limits(conn)
            conn.execute(SchemaManager.get_schema())
            for migration in _list_queue_migrations():
                _record(conn, migration)
    applied = _applied(conn)  # also what came with the schema of the queue
    for migration in [each for each in due if each.name not in applied]:
        if state.release is not None and migration.header.backfill is not None:
            backfills.require_filled(conn, migration.name, migration.header.backfill)
        _apply_one(conn, migration, attempts)
    conn.execute(RECORD_RELEASE, (get_release(), clock.now()))
    return [each.name for each in due]


def _apply_one(conn: psycopg.Connection, migration: Migration, attempts: int) -> None:
    """Apply a file; begin again while other transactions have its tables. Raise MigrationError in the end."""
    for _ in range(attempts):
        try:
            if migration.header.in_transaction:
                _run_whole(conn, migration)
            else:
                for statement in migration.split():
                    indexes.run(conn, statement)
                _record(conn, migration)
        except (psycopg.errors.LockNotAvailable, psycopg.errors.DeadlockDetected) as error:
            _log.warning("migration_waits", migration=migration.name, reason=error.diag.message_primary)
            time.sleep(PAUSE_S)
        else:
            return
    reason = f"{migration.name} did not get a lock in {attempts} attempts: other transactions have its tables."
    raise MigrationError(reason, "End long transactions (`pg_stat_activity` lists them), and run it again.")


def _run_whole(conn: psycopg.Connection, migration: Migration) -> None:
    with conn.transaction():
        distribution.lift_limits(conn)
        conn.execute(BRIEF_LOCK)
        tables, _, keys = migration.text.partition(KEYS)
        conn.execute(tables.encode())
        distribution.place_new(conn)
        if keys:
            conn.execute(keys.encode())
        _record(conn, migration)


def _record(conn: psycopg.Connection, migration: Migration) -> None:
    conn.execute(RECORD, (migration.name, migration.digest, clock.now(), migration.header.works_with))


def _has_table(conn: psycopg.Connection, name: str) -> bool:
    return conn.execute(HAS_TABLE, (name,)).fetchone() == (True,)


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
