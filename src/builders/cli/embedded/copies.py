"""A copy of the embedded database while it runs, and a database that is made of one."""

import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
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
from builders.cli.embedded.upgrade import Place, opened

STAGING = "restored"  # the folder beside the cluster in which a copy becomes a database
LOG = "pg_wal"


@contextmanager
def base_backup(data_dir: Path, *, system_dir: Path = SYSTEM_DIR) -> Iterator[IO[bytes]]:
    """Yield a tar archive of the running cluster, with the log that it needs. Raise EmbeddedServerError."""
    user = choose_user(data_dir / "postgres", data_dir)
    directory = open_directory(data_dir, user, system_dir)
    binaries = get_for_user(user, system_dir, major=MAJOR)
    command = (
        *(binaries / "bin" / "pg_basebackup", "-d", directory.conninfo("postgres"), "-w", "-D", "-", "-Ft"),
        *("-X", "fetch", "--checkpoint=fast"),
    )
    with _reading(user, command, failure="pg_basebackup failed; the log of PostgreSQL says why.") as archive:
        yield archive


@contextmanager
def _reading(user: SystemUser, command: Sequence[str | Path], *, failure: str) -> Iterator[IO[bytes]]:
    """Yield the output of a program. Raise EmbeddedServerError if it fails."""
    with user.open(*command, stdout=subprocess.PIPE) as program:
        assert program.stdout is not None  # noqa: S101 - a pipe
        try:
            yield program.stdout
            if program.wait() != 0:
                raise EmbeddedServerError(failure)
        finally:
            program.kill()


@contextmanager
def _writing(user: SystemUser, command: Sequence[str | Path], *, failure: str) -> Iterator[IO[bytes]]:
    """Yield the input of a program. Raise EmbeddedServerError if it fails."""
    with user.open(*command, stdin=subprocess.PIPE) as program:
        assert program.stdin is not None  # noqa: S101 - a pipe
        try:
            yield program.stdin
            program.stdin.close()
            if program.wait() != 0:
                raise EmbeddedServerError(failure)
        finally:
            program.kill()


@contextmanager
def unpacking(place: Place) -> Iterator[tuple[IO[bytes], DatabaseDirectory]]:
    """Yield where a tar archive is written to, and the directory that it becomes. Raise EmbeddedServerError."""
    staging = staging_of(place)
    remove(place)
    made = place.user.shell('mkdir -p "$1"', staging.cluster)
    if made.returncode != 0:
        raise EmbeddedServerError(f"Cannot create {staging.cluster}: {made.stderr}")
    command = ("tar", "-xf", "-", "-C", staging.cluster)
    with _writing(place.user, command, failure="tar could not unpack the archive.") as file:
        yield file, staging


@contextmanager
def segment(data_dir: Path, name: str, *, system_dir: Path = SYSTEM_DIR) -> Iterator[IO[bytes]]:
    """Open a segment of the log of the running cluster. Raise EmbeddedServerError."""
    user = choose_user(data_dir / "postgres", data_dir)
    path = open_directory(data_dir, user, system_dir).cluster / LOG / name
    with _reading(user, ("cat", path), failure=f"{path} cannot be read.") as file:
        yield file


@contextmanager
def writing(place: Place, staging: DatabaseDirectory, name: str) -> Iterator[IO[bytes]]:
    """Write a segment of the log of a staging directory. Raise EmbeddedServerError."""
    path = staging.cluster / LOG / name
    command = ("/bin/sh", "-c", 'umask 077; cat >"$1"', "sh", path)
    with _writing(place.user, command, failure=f"{path} cannot be written.") as file:
        yield file


def staging_of(place: Place) -> DatabaseDirectory:
    """Return the directory beside the cluster in which a copy becomes a database."""
    return DatabaseDirectory(folder=place.directory.folder / STAGING, sockets=place.directory.sockets)


def cluster_of(place: Place, directory: DatabaseDirectory) -> Cluster:
    """Return the cluster in a staging directory."""
    return replace(place.cluster(MAJOR), directory=directory)


def reserve_timelines(place: Place, staging: DatabaseDirectory, timelines: Sequence[int]) -> None:
    """Let the restored database take none of these timelines, which have logs of their own."""
    script = 'cd "$1" && shift && for each; do : >"$each"; done'
    place.user.shell(script, staging.cluster / LOG, *(f"{each:08X}.history" for each in timelines))


def recover(place: Place, staging: DatabaseDirectory, settings: Mapping[str, str], *, wait_s: float) -> Cluster:
    """Start the database of a staging directory, and wait until it has read its log. Raise EmbeddedServerError."""
    place.user.shell(': >"$1"', staging.cluster / "recovery.signal")
    # Without hot_standby nobody connects before the end.
    settings = {**settings, "hot_standby": "off"}
    cluster = replace(cluster_of(place, staging), settings=settings, start_timeout_s=wait_s)
    cluster.start()
    return cluster


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


def remove_all(data_dir: Path) -> None:
    """Remove a data folder that nobody uses, with its database, also if that runs after a kill of its command."""
    if (data_dir / "postgres").exists():
        with opened(data_dir) as place:
            cluster_of(place, staging_of(place)).stop()
            place.user.shell('rm -rf "$1" "$2"', place.directory.folder, place.directory.sockets)
    shutil.rmtree(data_dir, ignore_errors=True)
