"""The door: PostgreSQL of our own, shared by all processes that use the data directory.

Two files beside the database order them. `postgres.lock` is held alone by whoever starts or stops the
server; `postgres.users` is held together by all who use it, so the one that finds nobody else there stops it.
Both are locks of the kernel, which also a kill -9 releases.
"""

import errno
import fcntl
import os
import threading
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import Self

import psycopg
from psycopg import sql

from builders.kit.db.embedded.binaries import usable_by
from builders.kit.db.embedded.cluster import Cluster
from builders.kit.db.embedded.directory import Home, find
from builders.kit.db.embedded.errors import EmbeddedFailed
from builders.kit.db.embedded.locks import exclusive, open_lock, try_exclusive
from builders.kit.db.embedded.system_user import choose
from builders.kit.process import log

DATABASE = "builders"
FIND_DATABASE = "SELECT datname FROM pg_database WHERE datname = %s"
TURN_S = 180  # others may make the database or recover it meanwhile
LOOK_S = 1.0
LOOK_AFTER_FAILURE_S = 10.0

logger = log.get_logger()


class Embedded:
    """PostgreSQL in a data directory; `start` and `stop` are for one thread, `watch` is for a second one.

    The object must not be carried over a fork: the child would be a user whom nobody counts.
    """

    def __init__(self, data_dir: Path, *, durable: bool = True) -> None:
        self._dir = data_dir.absolute()
        self._durable = durable
        self._home: Home | None = None
        self._users: int | None = None  # the descriptor by which we are counted

    def __repr__(self) -> str:
        return f"Embedded({str(self._dir)!r})"

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def conninfo(self) -> str:
        """The connection string, which child processes may be given; it names a file with the password."""
        if self._home is None or self._users is None:
            raise EmbeddedFailed("The embedded PostgreSQL is not started.")
        return self._home.conninfo(DATABASE)

    def start(self) -> str:
        """Have the database there and running, be counted as a user, and give the connection string.

        Makes what is missing; a second call changes nothing. Raises EmbeddedFailed.
        """
        if self._users is None:
            try:
                # Root's lets others pass through, or PostgreSQL's user could not reach its own folder in it.
                self._dir.mkdir(mode=0o711 if os.geteuid() == 0 else 0o700, parents=True, exist_ok=True)
                with self._turn() as turn:
                    self._join(turn)
            except OSError as error:
                raise EmbeddedFailed(self._words(error)) from error
        return self.conninfo

    def stop(self) -> None:
        """Be counted no more, and stop the server when nobody else uses it; raises EmbeddedFailed."""
        if self._users is None:
            return
        try:
            with self._turn() as turn:
                self._leave(self._find_cluster(turn))
        except OSError as error:
            raise EmbeddedFailed(self._words(error)) from error
        finally:
            self._drop()

    def watch(self, stop: threading.Event) -> None:
        """Start the server again within a second or so whenever it died, until `stop` is set; never raises.

        For a thread of its own; set `stop` and join the thread before calling `stop()`.
        """
        pause = LOOK_S
        while not stop.wait(pause):
            pause = LOOK_S
            try:
                self._look()
            except (EmbeddedFailed, OSError) as error:
                logger.error("embedded_postgresql_away", reason=str(error))  # noqa: TRY400 - no stack, words
                pause = LOOK_AFTER_FAILURE_S

    def _look(self) -> None:
        home = self._home
        if home is None or (home.is_listening() and not home.has_long_log()):
            return
        with self._turn() as turn:
            if self._users is None:  # stopped in the meantime, by ourselves
                return
            if not home.is_listening():
                logger.warning("embedded_postgresql_died")
            self._bring_up(self._find_cluster(turn))

    def _join(self, turn: int) -> None:
        self._users = open_lock(self._dir / "postgres.users")
        # Free: it is held alone only during a turn, and this one is ours.
        fcntl.flock(self._users, fcntl.LOCK_SH)
        try:
            cluster = self._find_cluster(turn)
            cluster.create()
            self._bring_up(cluster)
        except BaseException:
            self._drop()  # and leave the server alone: it may be in a long recovery
            raise
        try:
            _ensure_database(cluster.home)
        except BaseException:
            self._leave(cluster)
            raise

    def _bring_up(self, cluster: Cluster) -> None:
        self._home = cluster.home
        cluster.trim_log()
        cluster.start()

    def _leave(self, cluster: Cluster) -> None:
        try:
            if self._users is not None and try_exclusive(self._users):
                cluster.stop()
        finally:
            self._drop()

    def _drop(self) -> None:
        if self._users is not None:
            os.close(self._users)
            self._users = None

    def _turn(self) -> AbstractContextManager[int]:
        return exclusive(self._dir / "postgres.lock", wait_s=TURN_S)

    def _find_cluster(self, turn: int) -> Cluster:
        account = choose(self._dir / "postgres", self._dir, turn=turn)
        return Cluster(
            home=find(self._dir, account),
            binaries=usable_by(account),
            account=account,
            durable=self._durable,
        )

    def _words(self, error: OSError) -> str:
        advice = {
            errno.ENOSPC: "Make room on its disk",
            errno.EDQUOT: "Make room in the quota of its disk",
            errno.EROFS: "Its disk is read-only: mount it for writing",
        }.get(error.errno or 0, f"Let user {os.geteuid()} write there, or run as its owner")
        reason = f"{error.strerror or error}" + (f" ({error.filename})" if error.filename else "")
        return (
            f"Cannot keep a database in {self._dir}: {reason}. {advice}, "
            "or choose another folder by BUILDERS_DATA_DIR."
        )


def _ensure_database(home: Home) -> None:
    try:
        with psycopg.connect(home.conninfo("postgres"), connect_timeout=10, autocommit=True) as conn:
            if conn.execute(FIND_DATABASE, [DATABASE]).fetchone() is None:
                conn.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(DATABASE)))
    except psycopg.Error as error:
        raise EmbeddedFailed(f"The PostgreSQL in {home.folder} runs, but refuses us: {error}") from error
