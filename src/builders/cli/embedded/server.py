"""The embedded PostgreSQL server, shared by all processes that use the data directory.

Two lock files coordinate the processes. A process that starts or stops the server holds `postgres.lock`
exclusively. All processes that use the server hold `postgres.users` shared; the last one stops the server. The
kernel releases both locks when a process ends, even after kill -9.
"""

import errno
import fcntl
import os
import secrets
import shlex
import shutil
import threading
import time
from collections.abc import Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from subprocess import CompletedProcess
from types import TracebackType
from typing import Self

import psutil
import psycopg
from psycopg.pq import PGconn, Ping

from builders.cli.embedded.directory import (
    MAJOR,
    ROLE,
    SYSTEM_DIR,
    DatabaseDirectory,
    find,
    get_for_user,
    open_directory,
)
from builders.cli.embedded.lease import Lease, require_local
from builders.cli.embedded.locks import exclusive, open_lock, try_exclusive
from builders.cli.embedded.system_user import EmbeddedServerError, SystemUser, choose_user
from builders.kit.db import migrations
from builders.kit.process import log

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
START_POLL_S = 0.2
LOG_BYTES, LOG_SHARE = 10 * 2**30, 0.2  # of the disk: log that may wait to be archived
LOW_SPACE_BYTES = 128 * 2**20  # less free space is mentioned in error messages

# Written to postgresql.conf at creation; the operator may change them there.
INITIAL_SETTINGS = ("max_connections=200", "shared_buffers=128MB", "timezone=UTC", "log_timezone=UTC")
CONVERT = "Stop the service, back up the database, and run `builders postgres upgrade`."
RESTORE = (
    "Start the release that created it, save the database with pg_dump, move the folder away, start this one and "
    "restore."
)


def _is_installed(major: str) -> bool:
    try:
        return bool(find(int(major)))
    except (EmbeddedServerError, ValueError):
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """A database directory, the PostgreSQL programs and the system user that runs them."""

    directory: DatabaseDirectory
    binaries: Path
    user: SystemUser
    durable: bool  # False disables fsync, for tests
    grace_s: float  # for processes that end by themselves after a kill
    settings: Mapping[str, str] = field(default_factory=dict)  # of this start, besides its own
    start_timeout_s: float = START_TIMEOUT_S

    def create(self) -> None:
        """Create the cluster if it is missing. Raise EmbeddedServerError, also for another PostgreSQL version."""
        self.take_back()
        if self.directory.cluster.exists():
            self._check()
            return
        fresh, secret = self.directory.fresh, self.directory.password
        password = secrets.token_urlsafe(32)
        # One file for two programs: initdb reads the first line, libpq the matching one.
        text = f"{password}\n*:*:*:{ROLE}:{password}\n"
        self._check_created(
            self.user.shell('rm -rf "$1"; cat >"$2.new" && mv "$2.new" "$2"', fresh, secret, text=text)
        )
        self.initialize(
            # Byte-order collation, the same on each machine; case conversion as Unicode defines.
            *("--encoding=UTF8", "--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"),
            *("--data-checksums", *(f"--set={setting}" for setting in INITIAL_SETTINGS)),
        )
        if self.durable:
            os.sync()  # including the password, before the rename below marks the cluster as complete
        self._check_created(self.user.run("mv", fresh, self.directory.cluster))

    def initialize(self, *options: str) -> None:
        """Create a cluster beside the one that is used. Raise EmbeddedServerError."""
        initdb = self.user.run(
            self.binaries / "bin" / "initdb",
            *("-D", self.directory.fresh, "--username", ROLE, "--pwfile", self.directory.password),
            *("--auth=scram-sha-256", *options, *(() if self.durable else ("--no-sync",))),
            wait_s=CREATE_TIMEOUT_S,
        )
        self._check_created(initdb)

    def take_back(self) -> None:
        """Use the kept cluster, without the other, if an upgrade or its return was killed between renames."""
        place = self.directory
        if place.kept.exists() and not place.cluster.exists():
            script = 'mv "$1" "$2" && rm -rf "$3"'
            self._check_created(self.user.shell(script, place.kept, place.cluster, place.fresh))

    def start(self) -> None:
        """Start the server unless it is running.

        Raise EmbeddedServerError with the end of the server's log if it does not start.
        """
        began = time.monotonic()
        while not self._is_up(waited := time.monotonic() - began):
            if waited > self.start_timeout_s:
                what = f"PostgreSQL did not start in {self.start_timeout_s:.0f} s"
                raise self._failed(f"{what}; if crash recovery is running, try again", self._read_log_end())
            time.sleep(START_POLL_S)

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
            "start", "-w", "-t", f"{self.start_timeout_s:.0f}", "-l", self.directory.log, "-o", self._options()
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
                + (CONVERT if _is_installed(found) else RESTORE)
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
            "max_slot_wal_keep_size": f"{self._limit_log() // 2**20}MB",
            **self.settings,
        }
        if not self.durable:
            settings |= {"fsync": "off", "full_page_writes": "off"}
        return " ".join(f"-c {shlex.quote(f'{name}={value}')}" for name, value in settings.items())

    def _limit_log(self) -> int:
        """Return how many bytes of the log may wait to be archived, before the archive is given up."""
        return min(LOG_BYTES, int(LOG_SHARE * shutil.disk_usage(self.directory.folder).total))

    def _ping(self) -> Ping:
        return Ping(PGconn.ping(f"{self.directory.conninfo('postgres')} connect_timeout=2".encode()))

    def _pg_ctl(self, verb: str, *words: str | Path) -> CompletedProcess[str]:
        user = replace(self.user, lock_fd=None)  # else the server would inherit the lock and hold it
        program = self.binaries / "bin" / "pg_ctl"
        return user.run(program, verb, "-D", self.directory.cluster, *words, wait_s=2 * self.start_timeout_s)

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


DATABASE = "builders"

logger = log.get_logger()


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """How long a server waits, in seconds."""

    lock_timeout_s: float = 180  # another process may be creating or recovering the database
    grace_s: float = 3  # for processes that end by themselves after a kill
    watch_interval_s: float = 1
    watch_interval_after_failure_s: float = 10
    renew_lease_s: float = 5


DEFAULT_TIMING = Timing()


class EmbeddedServer:
    """PostgreSQL in a data directory. Call `start` and `stop` from one thread, and `watch` from a second one.

    Do not use the object after a fork: the child would not be counted as a user. `system_dir` is for files that
    PostgreSQL's user cannot access elsewhere.
    """

    def __init__(
        self,
        data_dir: Path,
        *,
        durable: bool = True,
        timing: Timing = DEFAULT_TIMING,
        system_dir: Path = SYSTEM_DIR,
    ) -> None:
        self._data_dir = data_dir.absolute()
        self._durable = durable
        self._timing = timing
        self._system_dir = system_dir
        self._directory: DatabaseDirectory | None = None
        self._users_fd: int | None = None  # the descriptor of the shared lock
        self._lease = Lease(self._data_dir, renew_s=timing.renew_lease_s)
        self._left = threading.Event()

    def __repr__(self) -> str:
        return f"EmbeddedServer({str(self._data_dir)!r})"

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def conninfo(self) -> str:
        """Return the connection string; it refers to a password file, so child processes may receive it."""
        if self._directory is None or self._users_fd is None:
            raise EmbeddedServerError("The embedded PostgreSQL is not started.")
        return self._directory.conninfo(DATABASE)

    def start(self) -> str:
        """Start the server and register as a user; return the connection string.

        Create the database if it is missing; a second call has no effect. Raise EmbeddedServerError.
        """
        if self._users_fd is None:
            try:
                require_local(self._data_dir / "postgres")  # which can be a link
                # Traversable if root owns it, so that PostgreSQL's user can access its folder in it.
                self._data_dir.mkdir(mode=0o711 if os.geteuid() == 0 else 0o700, parents=True, exist_ok=True)
                with self._lock() as lock_fd:
                    self._join(lock_fd)
                self._left.clear()
                threading.Thread(target=self._renew, daemon=True).start()
            except OSError as error:
                raise EmbeddedServerError(self._explain(error)) from error
        return self.conninfo

    def stop(self) -> None:
        """Unregister, and stop the server if no other process uses it. Raise EmbeddedServerError."""
        if self._users_fd is None:
            return
        self._left.set()
        try:
            with self._lock() as lock_fd:
                self._leave(self._open_cluster(lock_fd))
        except OSError as error:
            raise EmbeddedServerError(self._explain(error)) from error
        finally:
            self._release()

    def watch(self, stop: threading.Event) -> None:
        """Restart the server within about a second of a crash, until `stop` is set. Never raises.

        Run it in a separate thread; set `stop` and join the thread before calling `stop()`.
        """
        pause = self._timing.watch_interval_s
        while not stop.wait(pause):
            pause = self._timing.watch_interval_s
            try:
                self._check()
            except (EmbeddedServerError, OSError) as error:
                logger.error("embedded_postgresql_unavailable", reason=str(error))  # noqa: TRY400 - the message suffices
                pause = self._timing.watch_interval_after_failure_s

    def _check(self) -> None:
        directory = self._directory
        if directory is None or (directory.is_listening() and not directory.has_long_log()):
            return
        with self._lock() as lock_fd:
            if self._users_fd is None:  # `stop` was called
                return
            if not directory.is_listening():
                logger.warning("embedded_postgresql_died")
            self._start_cluster(self._open_cluster(lock_fd))

    def _join(self, lock_fd: int) -> None:
        self._users_fd = open_lock(self._data_dir / "postgres.users")
        # Does not block: a process locks it exclusively only while it holds postgres.lock, as this one does now.
        fcntl.flock(self._users_fd, fcntl.LOCK_SH)
        try:
            cluster = self._open_cluster(lock_fd)
            cluster.create()
            self._start_cluster(cluster)
        except BaseException:
            self._release()  # do not stop the server: it may be in a long recovery
            raise
        try:
            directory = cluster.directory
            try:
                migrations.create_database(directory.conninfo("postgres"), DATABASE)
            except psycopg.Error as error:
                raise EmbeddedServerError(
                    f"The PostgreSQL in {directory.folder} is running but refuses the connection: {error}"
                ) from error
        except BaseException:
            self._leave(cluster)
            raise

    def _start_cluster(self, cluster: Cluster) -> None:
        self._directory = cluster.directory
        self._lease.take()
        cluster.trim_log()
        cluster.start()

    def _renew(self) -> None:
        """Renew the lease until the stop; when another host has it, stop the server, which writes no more."""
        while not self._left.wait(self._timing.renew_lease_s):
            with suppress(OSError, EmbeddedServerError):
                if not self._lease.renew():
                    logger.error("embedded_postgresql_lease_lost")
                    with self._lock() as lock_fd:
                        self._open_cluster(lock_fd).stop()

    def _leave(self, cluster: Cluster) -> None:
        try:
            if self._users_fd is not None and try_exclusive(self._users_fd):
                cluster.stop()
                self._lease.release()
        finally:
            self._release()

    def _release(self) -> None:
        if self._users_fd is not None:
            os.close(self._users_fd)
            self._users_fd = None

    def _lock(self) -> AbstractContextManager[int]:
        return exclusive(self._data_dir / "postgres.lock", wait_s=self._timing.lock_timeout_s)

    def _open_cluster(self, lock_fd: int) -> Cluster:
        user = choose_user(self._data_dir / "postgres", self._data_dir, lock_fd=lock_fd)
        return Cluster(
            directory=open_directory(self._data_dir, user, self._system_dir),
            binaries=get_for_user(user, self._system_dir),
            user=user,
            durable=self._durable,
            grace_s=self._timing.grace_s,
        )

    def _explain(self, error: OSError) -> str:
        advice = {
            errno.ENOSPC: "Free space on its disk",
            errno.EDQUOT: "Free space in its disk quota",
            errno.EROFS: "Its disk is read-only: mount it for writing",
        }.get(error.errno or 0, f"Let user {os.geteuid()} write there, or run as its owner")
        reason = f"{error.strerror or error}" + (f" ({error.filename})" if error.filename else "")
        return (
            f"Cannot keep a database in {self._data_dir}: {reason}. {advice}, "
            "or choose another folder by BUILDERS_DATA_DIR."
        )
