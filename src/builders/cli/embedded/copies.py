"""A copy of the embedded database while it runs, and a database that is made of one."""

import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import IO

from builders.cli.embedded.directory import (
    MAJOR,
    SYSTEM_DIR,
    DatabaseDirectory,
    get_for_user,
    open_directory,
)
from builders.cli.embedded.server import Cluster
from builders.cli.embedded.system_user import EmbeddedServerError, SystemUser, choose_user
from builders.cli.embedded.upgrade import Place, opened

STAGING = "restored"  # the folder beside the cluster in which a copy becomes a database
LOG = "pg_wal"


def open_used(data_dir: Path) -> tuple[SystemUser, DatabaseDirectory]:
    """Return the user of the running cluster, and its directory. Raise EmbeddedServerError."""
    user = choose_user(data_dir / "postgres", data_dir)
    return user, open_directory(data_dir, user, SYSTEM_DIR)


def base_backup(data_dir: Path) -> AbstractContextManager[IO[bytes]]:
    """Return what opens a tar archive of the running cluster, with the log that it needs."""
    user, directory = open_used(data_dir)
    return user.piped(
        *(get_for_user(user, SYSTEM_DIR) / "bin" / "pg_basebackup", "-d", directory.conninfo("postgres"), "-w"),
        *("-D", "-", "-Ft", "-X", "fetch", "--checkpoint=fast"),
        writes=False,
        failure="pg_basebackup failed; the log of PostgreSQL says why.",
    )


@contextmanager
def unpacking(place: Place) -> Iterator[tuple[IO[bytes], DatabaseDirectory]]:
    """Yield where a tar archive is written to, and the directory that it becomes. Raise EmbeddedServerError."""
    staging = _staging_of(place)
    remove(place)
    made = place.user.shell('mkdir -p "$1"', staging.cluster)
    if made.returncode != 0:
        raise EmbeddedServerError(f"Cannot create {staging.cluster}: {made.stderr}")
    command = ("tar", "-xf", "-", "-C", staging.cluster)
    with place.user.piped(*command, writes=True, failure="tar could not unpack the archive.") as file:
        yield file, staging


def segment(data_dir: Path, name: str) -> AbstractContextManager[IO[bytes]]:
    """Return what opens a segment of the log of the running cluster."""
    user, directory = open_used(data_dir)
    path = directory.cluster / LOG / name
    return user.piped("cat", path, writes=False, failure=f"{path} cannot be read.")


def writing(place: Place, staging: DatabaseDirectory, name: str) -> AbstractContextManager[IO[bytes]]:
    """Return what writes a segment of the log of a staging directory."""
    path = staging.cluster / LOG / name
    command = ("/bin/sh", "-c", 'umask 077; cat >"$1"', "sh", path)
    return place.user.piped(*command, writes=True, failure=f"{path} cannot be written.")


def _staging_of(place: Place) -> DatabaseDirectory:
    """Return the directory beside the cluster in which a copy becomes a database."""
    return DatabaseDirectory(folder=place.directory.folder / STAGING, sockets=place.directory.sockets)


def _cluster_of(place: Place, directory: DatabaseDirectory) -> Cluster:
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
    cluster = replace(_cluster_of(place, staging), settings=settings, start_timeout_s=wait_s)
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


def prepare(data_dir: Path) -> None:
    """Create the database folder of a machine that has none."""
    data_dir.mkdir(mode=0o711, parents=True, exist_ok=True)
    open_used(data_dir)


def remove_all(data_dir: Path) -> None:
    """Remove a data folder that nobody uses, with its database, also if that runs after a kill of its command."""
    if (data_dir / "postgres").exists():
        with opened(data_dir) as place:
            _cluster_of(place, _staging_of(place)).stop()
            place.user.shell('rm -rf "$1" "$2"', place.directory.folder, place.directory.sockets)
    shutil.rmtree(data_dir, ignore_errors=True)
