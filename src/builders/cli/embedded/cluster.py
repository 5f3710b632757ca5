"""Create, start and stop one PostgreSQL cluster.

The caller holds the start lock (see `server`), so no other process starts or stops the cluster at the same time.
"""

import os
import secrets
import shlex
import shutil
import time
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from subprocess import CompletedProcess

import psutil
from psycopg.pq import PGconn, Ping

from builders.cli.embedded.binaries import MAJOR
from builders.cli.embedded.directory import ROLE, DatabaseDirectory
from builders.cli.embedded.system_user import EmbeddedServerError, SystemUser

REPLACE_PID_SCRIPT = '{ echo "$2" && tail -n +2 "$1"; } >"$1.new" && mv "$1.new" "$1"'


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerProcesses:
    """The server processes of one cluster, and the files that refer to them."""

    data: Path
    user: SystemUser

    @property
    def pid_file(self) -> Path:
        """Return the path of the file that the postmaster creates, and removes at a clean shutdown."""
        return self.data / "postmaster.pid"

    @property
    def title(self) -> str:
        """Return the text in the title of each process of this cluster; it survives a move of the folder."""
        seen = self.data.stat()
        return f"builders[{seen.st_dev:x}.{seen.st_ino:x}]"

    def find_postmaster(self) -> int | None:
        """Return the pid of the running postmaster.

        The recorded pid must be one of the cluster's processes: after a kill or in a new container, another
        program may have it.
        """
        pid = self._find_recorded()
        return pid if pid and pid in {process.pid for process in self.list_processes()} else None

    def clear(self, *, socket: Path, force: bool) -> None:
        """Remove stale files before a start; `force` also ends processes that did not end by themselves."""
        if postmaster := self.find_postmaster():
            if force and not socket.exists():  # no client can connect to it
                self._signal("INT", postmaster)
            return
        pid = self._find_recorded()
        if pid and psutil.pid_exists(pid):
            # PostgreSQL assumes that any process with this pid is a postmaster, except pg_ctl's parent: this one.
            # Keep the rest of the file: PostgreSQL uses it to detect remaining children.
            self.user.shell(REPLACE_PID_SCRIPT, self.pid_file, str(os.getpid()))
        self.user.shell('rm -f "$1" "$1.lock"', socket)
        if force:
            for process in self.list_processes():
                self._signal("KILL", process.pid)

    def _signal(self, name: str, pid: int) -> None:
        # As the process's own user: root in a container may lack the capability.
        self.user.shell('kill -s "$1" "$2"', name, str(pid))

    def _find_recorded(self) -> int | None:
        try:
            return abs(int(self.pid_file.read_text().split("\n", 1)[0]))
        except (FileNotFoundError, ValueError):
            return None

    def list_processes(self) -> list[psutil.Process]:
        """Return the running processes of this cluster."""
        found = []
        for process in psutil.process_iter():
            with suppress(psutil.Error):
                matches = process.name() == "postgres" and process.uids().real == self.user.uid
                if matches and self.title in " ".join(process.cmdline()):
                    found.append(process)
        return found


CREATE_TIMEOUT_S = 180
START_TIMEOUT_S = 60  # includes crash recovery
STOP_TIMEOUT_S = 30
POLL_INTERVAL_S = 0.2
LOW_SPACE_BYTES = 128 * 2**20  # less free space is mentioned in error messages

# Written to postgresql.conf at creation; the operator may change them there.
INITIAL_SETTINGS = ("max_connections=200", "shared_buffers=128MB", "timezone=UTC", "log_timezone=UTC")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """A database directory, the PostgreSQL programs and the system user that runs them."""

    directory: DatabaseDirectory
    binaries: Path
    user: SystemUser
    durable: bool  # False disables fsync, for tests
    grace_s: float  # for processes that end by themselves after a kill

    def create(self) -> None:
        """Create the cluster if it is missing. Raise EmbeddedServerError, also for another PostgreSQL version."""
        if self.directory.cluster.exists():
            self._check()
            return
        fresh, secret = self.directory.folder / "cluster.new", self.directory.password
        password = secrets.token_urlsafe(32)
        # One file for two programs: initdb reads the first line, libpq the matching one.
        text = f"{password}\n*:*:*:{ROLE}:{password}\n"
        self._check_created(
            self.user.shell('rm -rf "$1"; cat >"$2.new" && mv "$2.new" "$2"', fresh, secret, text=text)
        )
        initdb = self.user.run(
            self.binaries / "bin" / "initdb",
            *("-D", fresh, "--username", ROLE, "--pwfile", secret, "--auth=scram-sha-256"),
            # Byte-order collation, the same on each machine; case conversion as Unicode defines.
            *("--encoding=UTF8", "--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"),
            *("--data-checksums", *(f"--set={setting}" for setting in INITIAL_SETTINGS)),
            *(() if self.durable else ("--no-sync",)),
            wait_s=CREATE_TIMEOUT_S,
        )
        self._check_created(initdb)
        if self.durable:
            os.sync()  # including the password, before the rename below marks the cluster as complete
        self._check_created(self.user.run("mv", fresh, self.directory.cluster))

    def start(self) -> None:
        """Start the server unless it is running.

        Raise EmbeddedServerError with the end of the server's log if it does not start.
        """
        began = time.monotonic()
        while not self._is_up(waited := time.monotonic() - began):
            if waited > START_TIMEOUT_S:
                what = f"PostgreSQL did not start in {START_TIMEOUT_S} s; if crash recovery is running, try again"
                raise self._failed(what, self._read_log_end())
            time.sleep(POLL_INTERVAL_S)

    def _is_up(self, waited: float) -> bool:
        """Return True if the server responds, after one attempt to start it.

        Raise EmbeddedServerError if further attempts cannot succeed. Several attempts may be necessary: after a
        kill of the postmaster, its children hold the shared memory for a moment.
        """
        answer = self._ping()
        if answer is Ping.NO_ATTEMPT:
            raise EmbeddedServerError("Cannot reach PostgreSQL: unset the PG... variables, such as PGSERVICE.")
        if answer is not Ping.NO_RESPONSE:  # running, starting or stopping
            return answer is Ping.OK
        late = waited > self.grace_s
        self._processes.clear(socket=self.directory.socket, force=late)
        alone = not self._processes.list_processes()
        started = self._pg_ctl(
            "start", "-w", "-t", str(START_TIMEOUT_S), "-l", self.directory.log, "-o", self._options()
        )
        if started.returncode != 0 and alone and late:
            raise self._failed("PostgreSQL did not start", self._read_log_end() or started.stderr)
        return started.returncode == 0 and self._ping() is Ping.OK

    def stop(self) -> None:
        """Stop the server and end its sessions. Raise EmbeddedServerError if it does not stop."""
        for mode in ("fast", "immediate"):  # `immediate` skips the shutdown checkpoint and loses nothing
            if not self._processes.find_postmaster():
                return
            if self._pg_ctl("stop", "-w", "-t", str(STOP_TIMEOUT_S), "-m", mode).returncode == 0:
                return
        raise self._failed("PostgreSQL did not stop", self._read_log_end())

    def trim_log(self) -> None:
        """Copy a long log to `log.1` and truncate it."""
        if self.directory.has_long_log():
            # Truncated in place: the server keeps the file open and appends.
            self.user.shell('cp "$1" "$1.1"\n: >"$1"', self.directory.log)

    def _check(self) -> None:
        try:
            found = (self.directory.cluster / "PG_VERSION").read_text().strip()
        except FileNotFoundError:
            raise EmbeddedServerError(
                f"{self.directory.cluster} exists but is not a PostgreSQL database. Move it away."
            ) from None
        if found != str(MAJOR):
            raise EmbeddedServerError(
                f"{self.directory.cluster} belongs to PostgreSQL {found}; this release contains {MAJOR}. "
                "Start the release that created it, save the database with pg_dump, move the folder away, start "
                "this one and restore."
            )
        if not self.directory.password.exists():
            raise EmbeddedServerError(
                f"{self.directory.password} is missing; no client can connect without it. Restore it."
            )

    def _options(self) -> str:
        settings = {
            "listen_addresses": "",
            "port": "5432",
            "unix_socket_directories": f'"{self.directory.sockets}"',  # a list of quoted names
            "unix_socket_permissions": "0700",
            "cluster_name": self._processes.title,
            "log_error_verbosity": "terse",  # keeps row values out of the log
        }
        if not self.durable:
            settings |= {"fsync": "off", "full_page_writes": "off"}
        return " ".join(f"-c {shlex.quote(f'{name}={value}')}" for name, value in settings.items())

    def _ping(self) -> Ping:
        return Ping(PGconn.ping(f"{self.directory.conninfo('postgres')} connect_timeout=2".encode()))

    def _pg_ctl(self, verb: str, *words: str | Path) -> CompletedProcess[str]:
        user = replace(self.user, lock_fd=None)  # else the server would inherit the lock and hold it
        program = self.binaries / "bin" / "pg_ctl"
        return user.run(program, verb, "-D", self.directory.cluster, *words, wait_s=2 * START_TIMEOUT_S)

    @property
    def _processes(self) -> ServerProcesses:
        return ServerProcesses(data=self.directory.cluster, user=self.user)

    def _read_log_end(self) -> str:
        return self.user.shell('tail -n 12 "$1"', self.directory.log).stdout

    def _check_created(self, step: CompletedProcess[str]) -> None:
        if step.returncode != 0:
            raise self._failed("PostgreSQL could not create its database", step.stderr)

    def _failed(self, what: str, output: str) -> EmbeddedServerError:
        free = shutil.disk_usage(self.directory.folder).free
        space = f"; only {free // 2**20} MB are free there: free some space" if free < LOW_SPACE_BYTES else ""
        return EmbeddedServerError(
            f"{what}. It is in {self.directory.folder}{space}. Its last output:\n{output.strip() or '(none)'}"
        )
