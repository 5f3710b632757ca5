"""What is wrong, in words: the checks behind `builders doctor`. None raises, none changes anything."""

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
from builders.kit.db.embedded.errors import EmbeddedFailed
from builders.kit.db.embedded.server import Embedded

OLDEST_PYTHON = (3, 11)
OLDEST_POSTGRESQL = 15
SPACE_NEEDED = 512 * 2**20  # bytes
CONNECT_S = 3
MOST_NAMES = 3  # of migrations that are listed

LIMIT = "SET statement_timeout = '3s'"
STATE = """
    SELECT coalesce(has_schema_privilege(current_schema(), 'CREATE'), false), pg_is_in_recovery()
"""

# What PostgreSQL's client says, and what to do then; the first that fits.
REMEDIES = (
    ("authentication failed", "Correct the user and the password in BUILDERS_DATABASE_URL."),
    ("no password supplied", "Put the password into BUILDERS_DATABASE_URL."),
    ("does not exist", "Make that database or role (createdb, createuser), or correct BUILDERS_DATABASE_URL."),
    ("resolve host", "Correct the host in BUILDERS_DATABASE_URL."),
    ("too many", "End some of the server's connections, or raise its max_connections."),
    ("", "Start the PostgreSQL server, or correct the host and port in BUILDERS_DATABASE_URL."),
)

Pending = Callable[[str], Collection[str]]  # of a connection string; may raise psycopg.Error
IsOurs = Callable[[str, int], bool]  # whether this service answers at a host and port


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What one check saw; `next_action` says what to do when it is not well."""

    check: str
    ok: bool
    detail: str
    next_action: str | None = None


def examine(
    *,
    data_dir: Path,
    conninfo: str | None,
    host: str,
    port: int,
    pending: Pending | None = None,
    is_ours: IsOurs | None = None,
) -> list[Finding]:
    """All checks, those of the database last; without a `conninfo` it is the embedded one.

    An embedded database that exists is started for this if it does not run; none is made.
    """
    findings = [python(), writable(data_dir), space(data_dir), listening(host, port, is_ours)]
    return findings + (embedded(data_dir, pending) if conninfo is None else database(conninfo, pending))


def python(version: tuple[int, int] = sys.version_info[:2]) -> Finding:
    """Whether this Python is new enough."""
    name = "Python {}.{}".format(*version)
    if version >= OLDEST_PYTHON:
        return Finding(check="python", ok=True, detail=f"{name}.")
    wanted = "{}.{}".format(*OLDEST_PYTHON)
    return Finding(
        check="python",
        ok=False,
        detail=f"{name} is too old.",
        next_action=f"Install Python {wanted} or newer and make the virtual environment again.",
    )


def writable(data_dir: Path) -> Finding:
    """Whether files can be made in the data directory, or it itself."""
    try:
        with tempfile.TemporaryFile(dir=_nearest(data_dir)) as file:
            file.write(b"written")
    except OSError as error:
        return Finding(
            check="data directory",
            ok=False,
            detail=f"Cannot write in {data_dir}: {error.strerror}.",
            next_action="Run as its owner, mend its permissions, or set BUILDERS_DATA_DIR to another folder.",
        )
    return Finding(check="data directory", ok=True, detail=f"{data_dir.absolute()} can be written.")


def space(data_dir: Path) -> Finding:
    """Whether the disks of the data directory and of the database in it have room."""
    try:
        rooms = {
            place: shutil.disk_usage(place).free for place in map(_nearest, (data_dir, data_dir / "postgres"))
        }
    except OSError as error:
        return Finding(
            check="space",
            ok=False,
            detail=f"Cannot see how much room {data_dir} has: {error.strerror}.",
            next_action="Run as its owner, or set BUILDERS_DATA_DIR to another folder.",
        )
    place, free = min(rooms.items(), key=lambda each: each[1])
    enough = free >= SPACE_NEEDED
    return Finding(
        check="space",
        ok=enough,
        detail=f"{free // 2**20} MB are free for {place}.",
        next_action=None if enough else f"Make room: {SPACE_NEEDED // 2**20} MB at least.",
    )


def listening(host: str, port: int, is_ours: IsOurs | None = None) -> Finding:
    """Whether the service could listen at the address, or does."""
    check, where = "port", f"{host} port {port}"
    try:
        for family, kind, protocol, _, address in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM):
            with socket.socket(family, kind, protocol) as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as the service will
                probe.bind(address)
    except (OSError, UnicodeError) as error:
        if is_ours is not None and getattr(error, "errno", None) == errno.EADDRINUSE and is_ours(host, port):
            return Finding(check=check, ok=True, detail=f"{where} is where the service answers.")
        reason = getattr(error, "strerror", None) or str(error)
        return Finding(
            check=check,
            ok=False,
            detail=f"Cannot listen at {where}: {reason}.",
            next_action="End the program that has the port, or set BUILDERS_PORT or BUILDERS_HOST. If it is this "
            "service, it does not answer: its log says why.",
        )
    return Finding(check=check, ok=True, detail=f"{where} is free.")


def embedded(data_dir: Path, pending: Pending | None = None) -> list[Finding]:
    """The checks of the embedded database."""
    try:
        binaries.find()
        home = data_dir / "postgres"
        lost = home.is_symlink() and not home.exists()
        if not lost and not (home / "cluster").exists():
            detail = f"PostgreSQL {binaries.MAJOR} is here; the first start makes the database."
            return [Finding(check="database", ok=True, detail=detail)]
        with Embedded(data_dir) as running:
            return database(running.conninfo, pending)
    except (EmbeddedFailed, OSError) as error:
        action = "Do what it says, or set BUILDERS_DATABASE_URL to a PostgreSQL 15 or newer."
        return [Finding(check="database", ok=False, detail=str(error), next_action=action)]


def database(conninfo: str, pending: Pending | None = None) -> list[Finding]:
    """Whether the database answers, and if so, whether it will do."""
    if wrong := _find_garbled(conninfo):
        return [wrong]
    try:
        with psycopg.connect(conninfo, connect_timeout=CONNECT_S, autocommit=True) as conn:
            conn.execute(LIMIT)
            version, row = conn.info.server_version // 10_000, conn.execute(STATE).fetchone()
    except (psycopg.Error, OSError, UnicodeError) as error:
        said = " ".join(str(error).split())
        action = next(action for sign, action in REMEDIES if sign in said)
        return [Finding(check="database", ok=False, detail=f"No answer: {said}", next_action=action)]
    may_create, is_copy = row or (False, False)
    found = [Finding(check="database", ok=True, detail="It answers."), _version(version)]
    found.append(_rights(may_create=may_create, is_copy=is_copy))
    return [*found, _migrations(conninfo, pending)] if pending else found


def _version(major: int) -> Finding:
    new = major >= OLDEST_POSTGRESQL
    action = None if new else f"Upgrade the server to {OLDEST_POSTGRESQL} or newer, or use the embedded one."
    return Finding(check="version", ok=new, detail=f"PostgreSQL {major}.", next_action=action)


def _rights(*, may_create: bool, is_copy: bool) -> Finding:
    check = "rights"
    if is_copy:
        action = "Point BUILDERS_DATABASE_URL at the primary server."
        return Finding(check=check, ok=False, detail="The server is a read-only copy.", next_action=action)
    if not may_create:
        action = "As the database's owner: GRANT CREATE ON SCHEMA public TO the role, or let it own the database."
        detail = "The role may not make tables in the database."
        return Finding(check=check, ok=False, detail=detail, next_action=action)
    return Finding(check=check, ok=True, detail="Tables can be made.")


def _migrations(conninfo: str, pending: Pending) -> Finding:
    try:
        names = pending(conninfo)
    except psycopg.Error as error:
        detail = f"Cannot see which are applied: {' '.join(str(error).split())}"
        return Finding(check="migrations", ok=False, detail=detail, next_action="Mend that, and ask again.")
    detail = f"{len(names)} pending: {_shortened(list(names))}." if names else "All are applied."
    action = "Run `builders migrate`; `builders serve` does it too." if names else None
    return Finding(check="migrations", ok=not names, detail=detail, next_action=action)


def _shortened(names: Sequence[str]) -> str:
    """Return all of a few names, and the ends of a long list."""
    return ", ".join(names) if len(names) <= MOST_NAMES else f"{names[0]} to {names[-1]}"


def _find_garbled(conninfo: str) -> Finding | None:
    """What is wrong with the string itself, without showing any of it: a part may be of the password."""
    try:
        parts = conninfo_to_dict(conninfo)
    except psycopg.Error:
        parts = {"port": "?"}
    if "@" not in str(parts.get("host", "")) and str(parts.get("port") or "0").replace(",", "").isdigit():
        return None
    return Finding(
        check="database",
        ok=False,
        detail="BUILDERS_DATABASE_URL is no connection string of PostgreSQL.",
        next_action="Write it as postgresql://user:password@host:5432/database; in user and password write "
        "signs such as @ : / ? # % as %40 %3A %2F %3F %23 %25.",
    )


def _nearest(place: Path) -> Path:
    """The place itself, or what is there of the path to it."""
    place = place.absolute()
    return next(each for each in (place, *place.parents) if each.exists())
