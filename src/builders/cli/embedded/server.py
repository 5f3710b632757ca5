"""The embedded PostgreSQL server, shared by all processes that use the data directory.

Two lock files coordinate the processes. A process that starts or stops the server holds `postgres.lock`
exclusively. All processes that use the server hold `postgres.users` shared; the last one stops the server. The
kernel releases both locks when a process ends, even after kill -9.
"""

import errno
import fcntl
import os
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

import psycopg

from builders.cli.embedded.binaries import SYSTEM_DIR, find_for_user
from builders.cli.embedded.cluster import Cluster
from builders.cli.embedded.directory import DatabaseDirectory, open_directory
from builders.cli.embedded.system_user import EmbeddedServerError, choose_user
from builders.kit.db import migrations
from builders.kit.process import log

POLL_INTERVAL_S = 0.05  # flock has no timeout


def open_lock(path: Path) -> int:
    """Open the lock file, creating it if missing; child processes do not inherit the descriptor (PEP 446)."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    except FileExistsError:
        return os.open(path, os.O_RDWR | os.O_NOFOLLOW)
    if os.geteuid() == 0:
        # the owner of the folder must be able to lock the file later
        owner = path.parent.stat()
        os.fchown(descriptor, owner.st_uid, owner.st_gid)
    return descriptor


def try_exclusive(descriptor: int) -> bool:
    """Try to take the exclusive lock without waiting; return True on success."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@contextmanager
def exclusive(path: Path, *, wait_s: float) -> Iterator[int]:
    """Hold the exclusive lock during the block; provide its descriptor.

    Raise EmbeddedServerError if the lock is not available within `wait_s` seconds.
    """
    deadline = time.monotonic() + wait_s
    descriptor = open_lock(path)
    try:
        while not try_exclusive(descriptor):
            if time.monotonic() > deadline:
                raise EmbeddedServerError(
                    f"Another process has been starting or stopping PostgreSQL for {wait_s:.0f} s "
                    f"(it holds {path}). Check what it does, end it, and try again."
                )
            time.sleep(POLL_INTERVAL_S)
        yield descriptor
    finally:
        os.close(descriptor)


DATABASE = "builders"

logger = log.get_logger()


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """How long a server waits, in seconds."""

    lock_timeout_s: float = 180  # another process may be creating or recovering the database
    grace_s: float = 3  # for processes that end by themselves after a kill
    watch_interval_s: float = 1
    watch_interval_after_failure_s: float = 10


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
                # Traversable if root owns it, so that PostgreSQL's user can access its folder in it.
                self._data_dir.mkdir(mode=0o711 if os.geteuid() == 0 else 0o700, parents=True, exist_ok=True)
                with self._lock() as lock_fd:
                    self._join(lock_fd)
            except OSError as error:
                raise EmbeddedServerError(self._explain(error)) from error
        return self.conninfo

    def stop(self) -> None:
        """Unregister, and stop the server if no other process uses it. Raise EmbeddedServerError."""
        if self._users_fd is None:
            return
        try:
            with self._lock() as lock_fd:
                self._leave(self._find_cluster(lock_fd))
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
            self._start_cluster(self._find_cluster(lock_fd))

    def _join(self, lock_fd: int) -> None:
        self._users_fd = open_lock(self._data_dir / "postgres.users")
        # Does not block: a process locks it exclusively only while it holds postgres.lock, as this one does now.
        fcntl.flock(self._users_fd, fcntl.LOCK_SH)
        try:
            cluster = self._find_cluster(lock_fd)
            cluster.create()
            self._start_cluster(cluster)
        except BaseException:
            self._release()  # do not stop the server: it may be in a long recovery
            raise
        try:
            _ensure_database(cluster.directory)
        except BaseException:
            self._leave(cluster)
            raise

    def _start_cluster(self, cluster: Cluster) -> None:
        self._directory = cluster.directory
        cluster.trim_log()
        cluster.start()

    def _leave(self, cluster: Cluster) -> None:
        try:
            if self._users_fd is not None and try_exclusive(self._users_fd):
                cluster.stop()
        finally:
            self._release()

    def _release(self) -> None:
        if self._users_fd is not None:
            os.close(self._users_fd)
            self._users_fd = None

    def _lock(self) -> AbstractContextManager[int]:
        return exclusive(self._data_dir / "postgres.lock", wait_s=self._timing.lock_timeout_s)

    def _find_cluster(self, lock_fd: int) -> Cluster:
        user = choose_user(self._data_dir / "postgres", self._data_dir, lock_fd=lock_fd)
        return Cluster(
            directory=open_directory(self._data_dir, user, self._system_dir),
            binaries=find_for_user(user, self._system_dir),
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


def _ensure_database(directory: DatabaseDirectory) -> None:
    try:
        migrations.create_database(directory.conninfo("postgres"), DATABASE)
    except psycopg.Error as error:
        raise EmbeddedServerError(
            f"The PostgreSQL in {directory.folder} is running but refuses the connection: {error}"
        ) from error
