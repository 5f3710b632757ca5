"""Where the database lives: `postgres` in the data directory, a folder or a link to one.

A link is also the record of a choice: it leads to a folder under /var/lib when PostgreSQL's user cannot
reach the data directory, and `socket` in the home leads to a short path when its own does not suit. No
permission of a folder that was there before is ever changed.
"""

import hashlib
import os
import stat
import tempfile
from pathlib import Path

from builders.kit.embedded.account import Account
from builders.kit.embedded.binaries import SHELTER
from builders.kit.embedded.errors import EmbeddedFailed

SOCKET = ".s.PGSQL.5432"
LONGEST = 103  # bytes of a socket's path: macOS takes 103, Linux 107
AWKWARD = frozenset('"$`\\\n\r')  # pg_ctl hands paths to a shell between double quotes


def settle(data_dir: Path, account: Account) -> Path:
    """The home of the database, made when it is missing.

    Raises EmbeddedFailed when it is out of reach.
    """
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
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    parents = [Path(tempfile.gettempdir())]
    if Path(runtime).is_absolute() and Path(runtime).is_dir() and not account.switched:
        parents.insert(0, Path(runtime))  # ours alone, and no cleaner of old files comes by
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
