"""The checks of `builders doctor`. They change nothing, and report failures as findings instead of raising."""

import errno
import shutil
import socket
import sys
import tempfile
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

import psycopg
from psycopg.conninfo import conninfo_to_dict

from builders.kit.db.embedded import binaries
from builders.kit.db.embedded.server import EmbeddedServer
from builders.kit.db.embedded.system_user import EmbeddedServerError

MIN_PYTHON = (3, 11)
MIN_POSTGRESQL = 15
MIN_FREE_BYTES = 512 * 2**20  # bytes
CONNECT_TIMEOUT_S = 3
MAX_LISTED_NAMES = 3  # migrations

SET_TIMEOUT = "SET statement_timeout = '3s'"
GET_RIGHTS = """
    SELECT coalesce(has_schema_privilege(current_schema(), 'CREATE'), false), pg_is_in_recovery()
"""

# A part of libpq's error message, and the next action for it; the first match applies.
REMEDIES = (
    ("authentication failed", "Correct the user and the password in BUILDERS_DATABASE_URL."),
    ("no password supplied", "Put the password into BUILDERS_DATABASE_URL."),
    ("does not exist", "Create this database or role (createdb, createuser), or correct BUILDERS_DATABASE_URL."),
    ("resolve host", "Correct the host in BUILDERS_DATABASE_URL."),
    ("too many", "End some of the server's connections, or raise its max_connections."),
    ("", "Start the PostgreSQL server, or correct the host and port in BUILDERS_DATABASE_URL."),
)

ListPending = Callable[[str], Collection[str]]  # pending migrations of a conninfo; may raise psycopg.Error
IsOwnService = Callable[[str, int], bool]  # True if this service responds at the host and port


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """The result of one check; `next_action` is the remedy of a failure."""

    check: str
    ok: bool
    detail: str
    next_action: str | None = None


CheckData = Callable[[str], Finding]  # a package's check of a migrated database by its conninfo


def run_checks(
    *,
    data_dir: Path,
    conninfo: str | None,
    host: str,
    port: int,
    pending: ListPending | None = None,
    is_ours: IsOwnService | None = None,
    check_data: CheckData | None = None,
) -> list[Finding]:
    """Run all checks, the database last; without `conninfo`, check the embedded database.

    Start an existing embedded database if it is not running; do not create one.
    """
    findings = [
        check_python(),
        check_data_dir(data_dir),
        check_disk_space(data_dir),
        check_port(host, port, is_ours),
    ]
    if conninfo is None:
        return findings + check_embedded_database(data_dir, pending, check_data)
    return findings + check_database(conninfo, pending, check_data)


def check_python(version: tuple[int, int] = sys.version_info[:2]) -> Finding:
    """Check the Python version."""
    name = "Python {}.{}".format(*version)
    if version >= MIN_PYTHON:
        return Finding(check="python", ok=True, detail=f"{name}.")
    wanted = "{}.{}".format(*MIN_PYTHON)
    return Finding(
        check="python",
        ok=False,
        detail=f"{name} is too old.",
        next_action=f"Install Python {wanted} or newer and create the virtual environment again.",
    )


def check_data_dir(data_dir: Path) -> Finding:
    """Check that the data directory is writable or can be created."""
    try:
        with tempfile.TemporaryFile(dir=_nearest_existing(data_dir)) as file:
            file.write(b"written")
    except OSError as error:
        return Finding(
            check="data directory",
            ok=False,
            detail=f"Cannot write in {data_dir}: {error.strerror}.",
            next_action="Run as its owner, correct its permissions, or set BUILDERS_DATA_DIR to another folder.",
        )
    return Finding(check="data directory", ok=True, detail=f"{data_dir.absolute()} can be written.")


def check_disk_space(data_dir: Path) -> Finding:
    """Check the free space on the disks of the data directory and of the database in it."""
    try:
        free_bytes = {
            place: shutil.disk_usage(place).free
            for place in map(_nearest_existing, (data_dir, data_dir / "postgres"))
        }
    except OSError as error:
        return Finding(
            check="space",
            ok=False,
            detail=f"Cannot determine the free space of {data_dir}: {error.strerror}.",
            next_action="Run as its owner, or set BUILDERS_DATA_DIR to another folder.",
        )
    place, free = min(free_bytes.items(), key=lambda each: each[1])
    enough = free >= MIN_FREE_BYTES
    return Finding(
        check="space",
        ok=enough,
        detail=f"{free // 2**20} MB are free for {place}.",
        next_action=None if enough else f"Free at least {MIN_FREE_BYTES // 2**20} MB.",
    )


def check_port(host: str, port: int, is_ours: IsOwnService | None = None) -> Finding:
    """Check that the service can listen at the address, or is already listening there."""
    check, where = "port", f"{host} port {port}"
    try:
        for family, kind, protocol, _, address in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM):
            with socket.socket(family, kind, protocol) as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as the server sets it
                probe.bind(address)
    except (OSError, UnicodeError) as error:
        if is_ours is not None and getattr(error, "errno", None) == errno.EADDRINUSE and is_ours(host, port):
            return Finding(check=check, ok=True, detail=f"The service responds at {where}.")
        reason = getattr(error, "strerror", None) or str(error)
        return Finding(
            check=check,
            ok=False,
            detail=f"Cannot listen at {where}: {reason}.",
            next_action="End the program that uses the port, or set BUILDERS_PORT or BUILDERS_HOST. If it is this "
            "service, it does not respond: see its log.",
        )
    return Finding(check=check, ok=True, detail=f"{where} is free.")


def check_embedded_database(
    data_dir: Path, pending: ListPending | None = None, check_data: CheckData | None = None
) -> list[Finding]:
    """Check the embedded database."""
    try:
        binaries.find()
        home = data_dir / "postgres"
        lost = home.is_symlink() and not home.exists()
        if not lost and not (home / "cluster").exists():
            detail = f"PostgreSQL {binaries.MAJOR} is installed; the first start creates the database."
            return [Finding(check="database", ok=True, detail=detail)]
        with EmbeddedServer(data_dir) as running:
            return check_database(running.conninfo, pending, check_data)
    except (EmbeddedServerError, OSError) as error:
        action = "Follow this message, or set BUILDERS_DATABASE_URL to a PostgreSQL 15 or newer."
        return [Finding(check="database", ok=False, detail=str(error), next_action=action)]


def check_database(
    conninfo: str,
    pending: ListPending | None = None,
    check_data: CheckData | None = None,
    *,
    connect_timeout_s: int = CONNECT_TIMEOUT_S,
    min_postgresql: int = MIN_POSTGRESQL,
) -> list[Finding]:
    """Check the connection, the version, the role's rights, the migrations, and then the data."""
    if wrong := _find_malformed(conninfo):
        return [wrong]
    try:
        with psycopg.connect(conninfo, connect_timeout=connect_timeout_s, autocommit=True) as conn:
            conn.execute(SET_TIMEOUT)
            version, row = conn.info.server_version // 10_000, conn.execute(GET_RIGHTS).fetchone()
    except (psycopg.Error, OSError, UnicodeError) as error:
        said = " ".join(str(error).split())
        action = next(action for sign, action in REMEDIES if sign in said)
        return [Finding(check="database", ok=False, detail=f"No response: {said}", next_action=action)]
    may_create, is_replica = row or (False, False)
    found = [
        Finding(check="database", ok=True, detail="It responds."),
        _check_version(version, minimum=min_postgresql),
    ]
    found.append(_check_rights(may_create=may_create, is_replica=is_replica))
    if pending is not None:
        found.append(_check_migrations(conninfo, pending))
    if check_data is not None and all(each.ok for each in found):
        found.append(check_data(conninfo))
    return found


def _check_version(major: int, *, minimum: int) -> Finding:
    new = major >= minimum
    action = None if new else f"Upgrade the server to {minimum} or newer, or use the embedded one."
    return Finding(check="version", ok=new, detail=f"PostgreSQL {major}.", next_action=action)


def _check_rights(*, may_create: bool, is_replica: bool) -> Finding:
    check = "rights"
    if is_replica:
        action = "Point BUILDERS_DATABASE_URL at the primary server."
        return Finding(check=check, ok=False, detail="The server is a read-only replica.", next_action=action)
    if not may_create:
        action = "As the database's owner: GRANT CREATE ON SCHEMA public TO the role, or let it own the database."
        detail = "The role may not create tables in the database."
        return Finding(check=check, ok=False, detail=detail, next_action=action)
    return Finding(check=check, ok=True, detail="The role may create tables.")


def _check_migrations(conninfo: str, pending: ListPending) -> Finding:
    try:
        names = pending(conninfo)
    except psycopg.Error as error:
        detail = f"Cannot determine the applied migrations: {' '.join(str(error).split())}"
        return Finding(
            check="migrations", ok=False, detail=detail, next_action="Correct the error and run the check again."
        )
    detail = f"{len(names)} pending: {_shortened(list(names))}." if names else "All migrations are applied."
    action = "Run `builders migrate` or `builders serve`." if names else None
    return Finding(check="migrations", ok=not names, detail=detail, next_action=action)


def _shortened(names: Sequence[str]) -> str:
    """Return the names, or the first and last name of a long list."""
    return ", ".join(names) if len(names) <= MAX_LISTED_NAMES else f"{names[0]} to {names[-1]}"


def _find_malformed(conninfo: str) -> Finding | None:
    """Return the finding for a malformed conninfo, without quoting it, since any part may contain the password."""
    try:
        parts = conninfo_to_dict(conninfo)
    except psycopg.Error:
        parts = {"port": "?"}
    if "@" not in str(parts.get("host", "")) and str(parts.get("port") or "0").replace(",", "").isdigit():
        return None
    return Finding(
        check="database",
        ok=False,
        detail="BUILDERS_DATABASE_URL is not a PostgreSQL connection string.",
        next_action="Write it as postgresql://user:password@host:5432/database; in user and password write "
        "characters such as @ : / ? # % as %40 %3A %2F %3F %23 %25.",
    )


def _nearest_existing(place: Path) -> Path:
    """Return the path, or its nearest existing parent."""
    place = place.absolute()
    return next(each for each in (place, *place.parents) if each.exists())
