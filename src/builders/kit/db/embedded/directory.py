"""Where the database lives: `postgres` in the data directory, a folder or a link to one.

A link is also the record of a choice: it leads to a folder under /var/lib when PostgreSQL's user cannot
reach the data directory, and `socket` in the home leads to a short path when its own does not suit. No
permission of a folder that was there before is ever changed.
"""

import hashlib
import os
import socket
import stat
import tempfile
from dataclasses import dataclass
from pathlib import Path

from psycopg.conninfo import make_conninfo

from builders.kit.db.embedded.binaries import SHELTER
from builders.kit.db.embedded.errors import EmbeddedFailed
from builders.kit.db.embedded.system_user import Account

SOCKET = ".s.PGSQL.5432"
LONGEST = 103  # bytes of a socket's path: macOS takes 103, Linux 107
LOG_LIMIT = 8 * 2**20  # bytes; as much again is kept of what was before
ROLE = "builders"
AWKWARD = frozenset('"$`\\\n\r')  # pg_ctl hands paths to a shell between double quotes


@dataclass(frozen=True, slots=True, kw_only=True)
class Home:
    """Where all is, and what can be seen from there without touching anything."""

    folder: Path
    sockets: Path

    @property
    def cluster(self) -> Path:
        """PGDATA."""
        return self.folder / "cluster"

    @property
    def log(self) -> Path:
        """What the server says."""
        return self.folder / "log"

    @property
    def password(self) -> Path:
        """The password of ROLE, in a file for libpq."""
        return self.folder / "password"

    @property
    def socket(self) -> Path:
        """Where the server listens."""
        return self.sockets / SOCKET

    def conninfo(self, database: str) -> str:
        """A connection string that holds no secret but the name of the file with it."""
        return make_conninfo(
            host=str(self.sockets),
            port=5432,
            user=ROLE,
            dbname=database,
            password="",  # keeps a PGPASSWORD of the environment from being sent
            passfile=str(self.password),
        )

    def is_listening(self) -> bool:
        """Whether somebody is behind the socket; takes no time, and no session of the server.

        Not libpq's ping, which holds the interpreter's lock while it waits.
        """
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
            probe.setblocking(False)
            try:
                probe.connect(str(self.socket))
            except (FileNotFoundError, ConnectionRefusedError):
                return False
            except OSError:
                return True  # as when its queue is full
        return True

    def has_long_log(self) -> bool:
        """Whether the log is about to fill the disk."""
        return self.log.exists() and self.log.stat().st_size > LOG_LIMIT


def find(data_dir: Path, account: Account) -> Home:
    """The home of the database, for a start; what is missing is made, as `settle` says."""
    folder = settle(data_dir, account)
    return Home(folder=folder, sockets=socket_folder(folder, account))


def settle(data_dir: Path, account: Account) -> Path:
    """The folder of the home, made when it is missing; raises EmbeddedFailed when it is out of reach."""
    place = data_dir / "postgres"
    if not place.exists():
        if place.is_symlink():
            raise EmbeddedFailed(
                f"The database folder {place.readlink()} that {place} points to is gone. Put it back, or "
                "remove the link to start with an empty database."
            )
        _make(place, account)
    home = place.resolve()
    if account.switched and place.is_symlink() and place.lstat().st_uid not in {0, account.uid}:
        raise EmbeddedFailed(f"{place} is a link into another user's files. Remove it, or make it as root.")
    if AWKWARD & set(str(home)):
        raise EmbeddedFailed(f"PostgreSQL's pg_ctl takes no path with one of \" $ ` \\ in it: {home}")
    if home.stat().st_uid != account.uid or not account.may_write(home):
        raise EmbeddedFailed(
            f"User {account.uid}, as which PostgreSQL would run, cannot use {home} (of user "
            f"{home.stat().st_uid}). Run as its owner, let it pass through the folders above, or "
            "set BUILDERS_DATA_DIR."
        )
    return home


def _make(place: Path, account: Account) -> None:
    if not account.switched:
        place.mkdir(mode=0o700)
        return
    # Under another name until it belongs to its user: a kill in between leaves nothing half made.
    fresh = place.with_name("postgres.new")
    if fresh.exists():
        fresh.rmdir()
    fresh.mkdir(mode=0o700)
    os.chown(fresh, account.uid, account.gid, follow_symlinks=False)
    if _suits(place / "socket") and account.may_write(fresh):
        fresh.rename(place)
        return
    fresh.rmdir()
    digest = hashlib.sha256(os.fsencode(place)).hexdigest()[:12]
    # Not by the digest alone: a data directory removed and made again has no claim to the old database.
    shelter = tempfile.mkdtemp(prefix=f"builders-{digest}-", dir=SHELTER)
    os.chown(shelter, account.uid, account.gid, follow_symlinks=False)
    place.symlink_to(shelter)


def socket_folder(home: Path, account: Account) -> Path:
    """The folder of the socket, 0700, made when it is missing; the same one each time where that can be."""
    inside = home / "socket"
    if _suits(inside):
        account.shell('test ! -L "$1" || rm "$1"; test -d "$1" || mkdir "$1"', inside)
        return inside
    if inside.is_symlink():
        folder = inside.readlink()
        # Made again at the same place, connection strings handed out before stay true.
        account.shell('mkdir "$1"', folder)
        if _private(folder, account):
            return folder
    folder = _short_folder(account)
    account.shell('rm -rf "$2" && ln -s "$1" "$2"', folder, inside)
    return folder


def _short_folder(account: Account) -> Path:
    parents = [Path(tempfile.gettempdir())]
    runtime = Path(os.environ.get("XDG_RUNTIME_DIR", ""))
    # Ours alone, and no cleaner of old files comes by; but sudo may have left us that of another.
    if runtime.is_absolute() and os.access(runtime, os.W_OK | os.X_OK) and not account.switched:
        parents.insert(0, runtime)
    for parent in parents:
        if _suits(parent / "builders-12345678"):
            folder = Path(tempfile.mkdtemp(prefix="builders-", dir=parent))
            if account.switched:
                os.chown(folder, account.uid, account.gid, follow_symlinks=False)
            return folder
    raise EmbeddedFailed(
        "The path of the data directory does not suit a socket (too long, or a comma), nor does TMPDIR. "
        "Shorten one."
    )


def _suits(folder: Path) -> bool:
    # libpq takes a comma for the end of one host and the begin of the next.
    return len(os.fsencode(folder / SOCKET)) <= LONGEST and not (AWKWARD | {","}) & set(str(folder))


def _private(folder: Path, account: Account) -> bool:
    try:
        seen = folder.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(seen.st_mode) and seen.st_uid == account.uid and seen.st_mode & 0o077 == 0
