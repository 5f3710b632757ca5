"""A copy of the embedded database while it runs, and a database that is made of one."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import IO

from builders.cli.embedded.directory import (
    MAJOR,
    SYSTEM_DIR,
    DatabaseDirectory,
    create_socket_folder,
    get_for_user,
    open_directory,
    resolve_folder,
)
from builders.cli.embedded.server import Cluster
from builders.cli.embedded.system_user import EmbeddedServerError, SystemUser, choose_user
from builders.cli.embedded.upgrade import Place

STAGING = "restored"  # the folder beside the cluster in which a copy becomes a database


@contextmanager
def base_backup(data_dir: Path, *, system_dir: Path = SYSTEM_DIR) -> Iterator[IO[bytes]]:
    """Yield a tar archive of the running cluster, with the log that it needs. Raise EmbeddedServerError."""
    user = choose_user(data_dir / "postgres", data_dir)
    directory = open_directory(data_dir, user, system_dir)
    binaries = get_for_user(user, system_dir, major=MAJOR)
    program = user.open(
        *(binaries / "bin" / "pg_basebackup", "-d", directory.conninfo("postgres"), "-w", "-D", "-", "-Ft"),
        *("-X", "fetch", "--checkpoint=fast"),
        stdout=subprocess.PIPE,
    )
    assert program.stdout is not None  # noqa: S101 - a pipe
    try:
        yield program.stdout
        if program.wait() != 0:
            raise EmbeddedServerError("pg_basebackup failed; the log of PostgreSQL says why.")
    finally:
        program.kill()
        program.wait()


@contextmanager
def unpacking(place: Place) -> Iterator[tuple[IO[bytes], DatabaseDirectory]]:
    """Yield where a tar archive is written to, and the directory that it becomes. Raise EmbeddedServerError."""
    staging = DatabaseDirectory(folder=place.directory.folder / STAGING, sockets=place.directory.sockets)
    remove(place)
    made = place.user.shell('mkdir -p "$1"', staging.cluster)
    if made.returncode != 0:
        raise EmbeddedServerError(f"Cannot create {staging.cluster}: {made.stderr}")
    program = place.user.open("tar", "-xf", "-", "-C", staging.cluster, stdin=subprocess.PIPE)
    assert program.stdin is not None  # noqa: S101 - a pipe
    try:
        yield program.stdin, staging
        program.stdin.close()
        if program.wait() != 0:
            raise EmbeddedServerError("tar could not unpack the archive.")
    finally:
        program.kill()
        program.wait()


def cluster_of(place: Place, directory: DatabaseDirectory) -> Cluster:
    """Return the cluster in a staging directory."""
    return replace(place.cluster(MAJOR), directory=directory)


def use(place: Place, staging: DatabaseDirectory) -> None:
    """Put the database of a staging directory in the place of the used one, which must not exist."""
    script = 'mv "$2" "$4" && chmod 700 "$1" && mv "$1" "$3" && rm -rf "$5"'
    names = (staging.cluster, staging.password, place.directory.cluster, place.directory.password, staging.folder)
    done = place.user.shell(script, *names)
    if done.returncode != 0:
        raise EmbeddedServerError(f"The restored database is in {staging.folder}: {done.stderr}")


def remove(place: Place) -> None:
    """Remove what a restore left that was ended."""
    place.user.shell('rm -rf "$1"', place.directory.folder / STAGING)


def prepare(data_dir: Path, *, system_dir: Path = SYSTEM_DIR) -> SystemUser:
    """Create the database folder of a machine that has none; return the user of PostgreSQL."""
    data_dir.mkdir(mode=0o711, parents=True, exist_ok=True)
    user = choose_user(data_dir / "postgres", data_dir)
    create_socket_folder(resolve_folder(data_dir, user, system_dir), user)
    return user
