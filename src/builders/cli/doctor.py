"""The checks of `builders doctor`. They change nothing, and report failures as findings instead of raising."""

import asyncio
import errno
import shutil
import socket
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import psycopg
from psycopg.conninfo import conninfo_to_dict

from builders.cli.embedded import directory
from builders.cli.embedded.server import EmbeddedServer
from builders.cli.embedded.system_user import EmbeddedServerError
from builders.kit.db import migrations, rights, sessions
from builders.kit.db.migration_files import MigrationError
from builders.kit.db.migrations import NEWEST_SERVER, OLDEST_SERVER
from builders.kit.db.sessions import Sharing
from builders.kit.process.settings import Settings

MIN_FREE_BYTES = 512 * 2**20
CONNECT_TIMEOUT_S = 3
MAX_LISTED_NAMES = 3  # migrations

FULL = (
    "The server runs and has no connection left. End some of its connections, lower BUILDERS_POOL_SIZE, or raise "
    "max_connections (of a pooler: max_client_conn)."
)
# A part of libpq's error message, and the next action for it; the first match applies.
REMEDIES = (
    ("authentication failed", "Correct the user and the password in BUILDERS_DATABASE_URL."),
    ("no password supplied", "Put the password into BUILDERS_DATABASE_URL."),
    ("does not exist", "Create this database or role (createdb, createuser), or correct BUILDERS_DATABASE_URL."),
    ("resolve host", "Correct the host in BUILDERS_DATABASE_URL."),
    ("too many", FULL),
    ("remaining connection slots", FULL),
    ("no more connections", FULL),
    ("", "Start the PostgreSQL server, or correct the host and port in BUILDERS_DATABASE_URL."),
)
MALFORMED = (
    "Write it as postgresql://user:password@host:5432/database; in user and password write characters such as "
    "@ : / ? # % as %40 %3A %2F %3F %23 %25."
)

IsOwnService = Callable[[str, int], bool]  # True if this service responds at the host and port


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """The result of one check; `next_action` is the remedy of a failure."""

    check: str
    ok: bool
    detail: str
    next_action: str | None = None


CheckData = Callable[[str], Finding]  # a check of a migrated database by its conninfo


def _passed(check: str, detail: str) -> Finding:
    return Finding(check=check, ok=True, detail=detail)


def _failed(check: str, detail: str, next_action: str) -> Finding:
    return Finding(check=check, ok=False, detail=detail, next_action=next_action)


def run_checks(
    *,
    data_dir: Path,
    conninfo: str | None,
    host: str,
    port: int,
    is_ours: IsOwnService | None = None,
    settings: Settings | None = None,
    check_data: Sequence[CheckData] = (),
) -> list[Finding]:
    """Run all checks, the database last; without `conninfo`, check the embedded database.

    With `settings`, check also what a pooler makes of them.

    Start an existing embedded database if it is not running; do not create one.
    """
    findings = [check_data_dir(data_dir), check_disk_space(data_dir), check_port(host, port, is_ours)]
    if conninfo is None:
        return findings + check_embedded_database(data_dir, check_data)
    return findings + check_database(conninfo, check_data, settings=settings)


def check_data_dir(data_dir: Path) -> Finding:
    """Check that the data directory is writable or can be created."""
    check = "data directory"
    try:
        with tempfile.TemporaryFile(dir=_nearest_existing(data_dir)) as file:
            file.write(b"written")
    except OSError as error:
        action = "Run as its owner, correct its permissions, or set BUILDERS_DATA_DIR to another folder."
        return _failed(check, f"Cannot write in {data_dir}: {error.strerror}.", action)
    return _passed(check, f"{data_dir.absolute()} can be written.")


def check_disk_space(data_dir: Path) -> Finding:
    """Check the free space on the disks of the data directory and of the database in it."""
    places = map(_nearest_existing, (data_dir, data_dir / "postgres"))
    try:
        free, place = min((shutil.disk_usage(each).free, each) for each in places)
    except OSError as error:
        action = "Run as its owner, or set BUILDERS_DATA_DIR to another folder."
        return _failed("space", f"Cannot determine the free space of {data_dir}: {error.strerror}.", action)
    detail = f"{free // 2**20} MB are free for {place}."
    if free < MIN_FREE_BYTES:
        return _failed("space", detail, f"Free at least {MIN_FREE_BYTES // 2**20} MB.")
    return _passed("space", detail)


def check_port(host: str, port: int, is_ours: IsOwnService | None = None) -> Finding:
    """Check that the service can listen at the address, or is already listening there."""
    where = f"{host} port {port}"
    try:
        for family, kind, protocol, _, address in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM):
            with socket.socket(family, kind, protocol) as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as the server sets it
                probe.bind(address)
    except (OSError, UnicodeError) as error:
        if is_ours is not None and getattr(error, "errno", None) == errno.EADDRINUSE and is_ours(host, port):
            return _passed("port", f"The service responds at {where}.")
        action = (
            "End the program that uses the port, or set BUILDERS_PORT or BUILDERS_HOST. If it is this service, it "
            "does not respond: see its log."
        )
        return _failed("port", f"Cannot listen at {where}: {getattr(error, 'strerror', None) or error}.", action)
    return _passed("port", f"{where} is free.")


def check_embedded_database(data_dir: Path, check_data: Sequence[CheckData] = ()) -> list[Finding]:
    """Check the embedded database."""
    try:
        directory.find()
        home = data_dir / "postgres"
        lost = home.is_symlink() and not home.exists()
        if not lost and not any((home / each).exists() for each in ("cluster", "cluster.old")):
            detail = f"PostgreSQL {directory.MAJOR} is installed; the first start creates the database."
            return [_passed("database", detail)]
        with EmbeddedServer(data_dir) as running:
            return check_database(running.conninfo, check_data) + _check_upgrade(home)
    except (EmbeddedServerError, OSError) as error:
        action = "Follow this message, or set BUILDERS_DATABASE_URL to a PostgreSQL of version 15 to 18."
        return [_failed("database", str(error), action)]


def _check_upgrade(home: Path) -> list[Finding]:
    if not (kept := home / "cluster.old").exists():
        return []
    action = (
        "Run `builders postgres confirm` when the service works, which deletes it, or `builders postgres revert`."
    )
    detail = f"{kept} has the database of an earlier PostgreSQL."
    return [Finding(check="upgrade", ok=True, detail=detail, next_action=action)]


def check_database(
    conninfo: str, check_data: Sequence[CheckData] = (), *, settings: Settings | None = None
) -> list[Finding]:
    """Check the server, the sessions with `settings`, the migrations, and then the data."""
    found = check_server(conninfo, is_own=settings is not None)
    if found[0].ok and settings is not None:
        found.append(check_sessions(settings))
    if all(each.ok for each in found if each.check in {"database", "sessions"}):
        found.append(_check_migrations(conninfo))
    if all(each.ok for each in found):
        found += [_check_data(check, conninfo) for check in check_data]
    return found


def _check_data(check: CheckData, conninfo: str) -> Finding:
    try:
        return check(conninfo)
    except psycopg.errors.InsufficientPrivilege as error:
        detail = f"Not checked: {error.diag.message_primary}."
        action = "Repeat `doctor` with the URL of another process, or of the owner."
        return Finding(check="data", ok=True, detail=detail, next_action=action)


def check_server(
    conninfo: str, *, connect_timeout_s: int = CONNECT_TIMEOUT_S, is_own: bool = True
) -> list[Finding]:
    """Check the connection, the version and the role's rights. `is_own`: the server is no embedded one."""
    if _is_malformed(conninfo):
        detail = "BUILDERS_DATABASE_URL is not a PostgreSQL connection string."
        return [_failed("database", detail, MALFORMED)]
    try:
        with psycopg.connect(conninfo, connect_timeout=connect_timeout_s) as conn:
            version, found = conn.info.server_version // 10_000, rights.get(conn)
    except (psycopg.Error, OSError, UnicodeError) as error:
        reason = " ".join(str(error).split())
        return [_failed("database", f"No response: {reason}", remedy_of(reason))]
    return [
        _passed("database", "It responds."),
        _check_version(version),
        _check_rights(found, is_own=is_own),
    ]


def remedy_of(reason: str) -> str:
    """Return what to do about an error of libpq."""
    return next(action for sign, action in REMEDIES if sign in reason)


def check_sessions(settings: Settings) -> Finding:
    """Check that no pooler shares the sessions, or that the settings and the role allow for it."""
    try:
        sharing = asyncio.run(sessions.check(settings))
    except sessions.SessionsUnusable as error:
        return _failed("sessions", error.reason, error.next_action)
    except (psycopg.Error, OSError, UnicodeError) as error:
        action = "Correct BUILDERS_DATABASE_DIRECT_URL." if settings.database_direct_url else "Repeat the check."
        return _failed("sessions", f"No response: {' '.join(str(error).split())}", action)
    if settings.database_pooled and sharing is not Sharing.TRANSACTION:
        detail = f"There is {sharing.value}, and the service prepares no statements."
        return Finding(check="sessions", ok=True, detail=detail, next_action="Unset BUILDERS_DATABASE_POOLED.")
    return _passed("sessions", f"There is {sharing.value}.")


def _check_version(major: int) -> Finding:
    if major < OLDEST_SERVER:
        action = f"Upgrade the server to {OLDEST_SERVER} to {NEWEST_SERVER}, or use the embedded one."
        return _failed("version", f"PostgreSQL {major} is too old.", action)
    if major > NEWEST_SERVER:
        detail = f"PostgreSQL {major}: the service is tested on {OLDEST_SERVER} to {NEWEST_SERVER} only."
        return Finding(check="version", ok=True, detail=detail, next_action="Use one of these versions.")
    return _passed("version", f"PostgreSQL {major}.")


def _check_rights(found: rights.Rights, *, is_own: bool) -> Finding:
    """Find which processes the role may run; without one, say what it lacks for the nearest."""
    able = [process for process, lacked in found.lacked.items() if not lacked and process != rights.LOOKUP]
    nearest = min(found.lacked, key=lambda process: (process == rights.LOOKUP, len(found.lacked[process])))
    try:
        found.require(*(able or [nearest]), of_owner=found.owner is None)
    except rights.RightMissing as error:
        return _failed("rights", error.reason, error.next_action)
    if found.has_rights_of_owner:
        detail = f"The role {found.role} owns the tables."
        action = "Let each process have a role that cannot drop them: `builders roles`."
        return Finding(check="rights", ok=True, detail=detail, next_action=action if is_own else None)
    return _passed(
        "rights", f"The role {found.role} has the rights of {' and '.join(able)}, and not of the owner."
    )


def _check_migrations(conninfo: str) -> Finding:
    try:
        state = migrations.read(conninfo)
        state.require_new_enough()
    except MigrationError as error:
        return _failed("migrations", error.reason, error.next_action)
    except psycopg.Error as error:
        detail = f"Cannot determine the applied migrations: {' '.join(str(error).split())}"
        return _failed("migrations", detail, "Correct the error and run the check again.")
    names = [each.name for each in (state.before if state.release else state.pending)]
    if not state.pending:
        return _passed("migrations", "All migrations are applied.")
    if not names:
        detail = f"{len(state.pending)} wait until only processes of this release run."
        action = "Then run `builders migrate --after`."
        return Finding(check="migrations", ok=True, detail=detail, next_action=action)
    listed = ", ".join(names) if len(names) <= MAX_LISTED_NAMES else f"{names[0]} to {names[-1]}"
    return _failed("migrations", f"{len(names)} pending: {listed}.", "Run `builders migrate`.")


def _is_malformed(conninfo: str) -> bool:
    """Return whether a conninfo cannot be read; no message quotes it, since any part may contain the password."""
    try:
        parts = conninfo_to_dict(conninfo)
    except psycopg.Error:
        return True
    return "@" in str(parts.get("host", "")) or not str(parts.get("port") or "0").replace(",", "").isdigit()


def _nearest_existing(place: Path) -> Path:
    """Return the path, or its nearest existing parent."""
    place = place.absolute()
    return next(each for each in (place, *place.parents) if each.exists())
