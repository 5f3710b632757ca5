"""A database of an earlier PostgreSQL is upgraded by pg_upgrade, in a copy.

`cluster` is used, `cluster.new` is being made, and `cluster.old` is kept until it is confirmed. Only renames
change which one is used. A command that is killed between two of them is undone by the next one, or by the next
start (`Cluster.take_back`); killed before or after them, it is repeated. PostgreSQL's programs have a session of
their own and inherit the lock: what still runs after a kill ends first.
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg

from builders.cli.embedded.directory import (
    MAJOR,
    ROLE,
    SYSTEM_DIR,
    DatabaseDirectory,
    get_for_user,
    open_directory,
)
from builders.cli.embedded.lease import Lease, require_local
from builders.cli.embedded.locks import exclusive, open_lock, try_exclusive
from builders.cli.embedded.server import DATABASE, DEFAULT_TIMING, Cluster
from builders.cli.embedded.system_user import EmbeddedServerError, SystemUser, choose_user
from builders.kit.db import layouts

UPGRADE_TIMEOUT_S = 24 * 3600
MARGIN_BYTES = 256 * 2**20
# pg_upgrade writes a script into the current folder that deletes the old cluster by its path, which is that of the
# new one after the renames. Its output is a file: a pipe would end it with this process, and leave its server.
UPGRADE_SCRIPT = (
    'cd "$1" && export PGPASSFILE="$2" && shift 2 && "$@" >upgrade.log 2>&1; status=$?; '
    "[ $status = 0 ] || tail -n 30 upgrade.log; rm -f upgrade.log delete_old_cluster.sh; exit $status"
)
# What the operator may have changed; a setting that the new version does not know fails the start.
SETTINGS_SCRIPT = 'cd "$1" && cp -p postgresql.conf postgresql.auto.conf pg_hba.conf pg_ident.conf "$2"'


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A database folder that no process uses or can start to use."""

    directory: DatabaseDirectory
    user: SystemUser
    system_dir: Path
    durable: bool

    def upgrade(self) -> str:
        """Upgrade an earlier version, or continue a check that was ended; return what to do next."""
        found = self.read_major()
        if found == MAJOR and not self.directory.kept.exists():
            return f"The database is of PostgreSQL {MAJOR}: there is nothing to do."
        if found == MAJOR:
            self._check(expected=None)
        else:
            self._convert(found)
        return (
            f"The database is of PostgreSQL {MAJOR} now. Start the service and try it; then run `builders "
            f"postgres confirm`, which deletes {self.directory.kept}, or `builders postgres revert`, which "
            "uses it again without what was written since."
        )

    def ask_to_revert(self) -> str:
        """Return a question that says what `revert` deletes."""
        self._require_kept()
        return (
            f"This deletes the database of PostgreSQL {MAJOR} in {self.directory.cluster}, with all that was "
            f"written since the upgrade, and puts that of {self.directory.kept} in its place. Go on?"
        )

    def revert(self) -> str:
        """Use the kept cluster again, and delete the upgraded one; return what to do next."""
        self._require_kept()
        self.cluster(MAJOR).stop()
        self._rename('rm -rf "$2" && mv "$1" "$2" && mv "$3" "$1" && rm -rf "$2"')
        return f"The database is of PostgreSQL {self.read_major()} again: start the release that made it."

    def ask_to_confirm(self) -> str:
        """Return a question that says what `confirm` deletes."""
        self._require_kept()
        return (
            f"This deletes the database of the earlier PostgreSQL in {self.directory.kept}. There is no way back "
            "to it then. Go on?"
        )

    def confirm(self) -> str:
        """Delete the kept cluster; return what was done."""
        self._require_kept()
        if self.read_major() != MAJOR:
            raise EmbeddedServerError(f"The used database is not of PostgreSQL {MAJOR}. Nothing is deleted.")
        # Renamed first, because a folder that is deleted in part must not be used again.
        self._rename('rm -rf "$2" && mv "$3" "$2" && rm -rf "$2"')
        return "The database of the earlier PostgreSQL is deleted."

    def _convert(self, major: int) -> None:
        if self.directory.kept.exists():
            raise EmbeddedServerError(f"{self.directory.kept} is of another upgrade. Move it away.")
        with self._running(major) as old:  # recovers from a crash; pg_upgrade needs a clean stop
            options = layouts.read_options(self.directory.conninfo("postgres"))
            expected = layouts.count(self.directory.conninfo(DATABASE))
        self._require_space()
        self._run("rm", "-rf", self.directory.fresh)
        self.cluster(MAJOR).initialize(*options)
        self._pg_upgrade(old.binaries, "--check")
        self._pg_upgrade(old.binaries)
        self._run("/bin/sh", "-c", SETTINGS_SCRIPT, "sh", self.directory.cluster, self.directory.fresh)
        self._rename('mv "$1" "$3" && mv "$2" "$1"')
        try:
            self._check(expected=expected)
        except BaseException:
            self.revert()
            raise

    def _check(self, *, expected: int | None) -> None:
        """Start the new version, collect statistics, and compare how many tables and indexes it has."""
        with self._running(MAJOR):
            found = layouts.count(self.directory.conninfo(DATABASE), analyzes=True)
        if expected not in {None, found}:
            raise EmbeddedServerError(f"The upgraded database has {found} tables and indexes of {expected}.")

    @contextmanager
    def _running(self, major: int) -> Iterator[Cluster]:
        """Run the server of the used cluster, by the programs of its version."""
        cluster = self.cluster(major)
        cluster.start()
        try:
            yield cluster
        except psycopg.Error as error:
            raise EmbeddedServerError(f"The PostgreSQL {major} refuses the connection: {error}") from error
        finally:
            cluster.stop()

    def _pg_upgrade(self, old_binaries: Path, *options: str) -> None:
        binaries = self.cluster(MAJOR).binaries
        self._run(
            *("/bin/sh", "-c", UPGRADE_SCRIPT, "sh", self.directory.folder, self.directory.password),
            *(binaries / "bin" / "pg_upgrade", "--copy", "-U", ROLE, "-s", self.directory.sockets),
            *("-b", old_binaries / "bin", "-B", binaries / "bin", *options, *(() if self.durable else ("-N",))),
            *("-d", self.directory.cluster, "-D", self.directory.fresh),
        )

    def _require_space(self) -> None:
        used = int(self._run("du", "-sk", self.directory.cluster).split()[0]) * 1024 + MARGIN_BYTES
        free = shutil.disk_usage(self.directory.folder).free
        if free < used:
            raise EmbeddedServerError(
                f"The upgrade copies the database: {used // 2**20} MB must be free for {self.directory.folder}, "
                f"and {free // 2**20} MB are."
            )

    def _require_kept(self) -> None:
        if not self.directory.kept.exists():
            raise EmbeddedServerError(f"No upgrade waits to be confirmed: {self.directory.kept} is missing.")

    def read_major(self) -> int:
        """Return the version of the used cluster. Raise EmbeddedServerError."""
        try:
            return int((self.directory.cluster / "PG_VERSION").read_text())
        except (FileNotFoundError, ValueError):
            raise EmbeddedServerError(f"{self.directory.cluster} is no database of PostgreSQL.") from None

    def _rename(self, script: str) -> None:
        """Run a script with the paths of the used, the new and the kept cluster, on data that is on the disk."""
        if self.durable:
            os.sync()
        names = (self.directory.cluster, self.directory.fresh, self.directory.kept)
        self._run("/bin/sh", "-c", script, "sh", *names)

    def _run(self, *command: str | Path) -> str:
        done = self.user.run(*command, wait_s=UPGRADE_TIMEOUT_S)
        if done.returncode != 0:
            raise EmbeddedServerError(
                f"A step failed. The database that was used before is unchanged:\n{done.stdout}{done.stderr}"
            )
        return done.stdout

    def cluster(self, major: int) -> Cluster:
        """Return the cluster of a major version."""
        return Cluster(
            directory=self.directory,
            binaries=get_for_user(self.user, self.system_dir, major=major),
            user=self.user,
            durable=self.durable,
            grace_s=DEFAULT_TIMING.grace_s,
        )


@contextmanager
def opened(data_dir: Path, *, durable: bool = True, system_dir: Path = SYSTEM_DIR) -> Iterator[Place]:
    """Hold the database folder, which no other process or host can use meanwhile. Raise EmbeddedServerError."""
    home = data_dir / "postgres"
    if not home.exists():
        raise EmbeddedServerError(f"There is no database in {data_dir}.")
    require_local(home)
    with exclusive(data_dir / "postgres.lock", wait_s=DEFAULT_TIMING.lock_timeout_s) as lock_fd:
        users = open_lock(data_dir / "postgres.users")
        try:
            if not try_exclusive(users):
                raise EmbeddedServerError(f"Processes of the service use the database in {data_dir}. Stop them.")
            user = choose_user(home, data_dir, lock_fd=lock_fd)
            directory = open_directory(data_dir, user, system_dir)
            place = Place(directory=directory, user=user, system_dir=system_dir, durable=durable)
            with Lease(data_dir, renew_s=DEFAULT_TIMING.renew_lease_s).held():
                place.cluster(MAJOR).take_back()
                yield place
        finally:
            os.close(users)
