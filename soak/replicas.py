"""A primary and a standby that acknowledges each commit, of the PostgreSQL in the service's requirements."""

import os
import shutil
import signal
import socket
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import psutil
import psycopg
from psycopg.conninfo import make_conninfo

from builders.cli.embedded.directory import SYSTEM_DIR, get_for_user
from builders.cli.embedded.system_user import SystemUser, choose_user

ROLE = "builders"
START_S = 30.0
POLL_S = 0.02
SETTINGS = (
    *("max_connections=100", "shared_buffers=32MB", "wal_level=replica", "max_wal_senders=6", "hot_standby=on"),
    *("timezone=UTC", "log_timezone=UTC", "fsync=off", "wal_receiver_status_interval=1s"),
    *("wal_retrieve_retry_interval=100ms", "synchronous_commit=on", "max_wal_size=256MB"),
    "synchronous_standby_names=ANY 1 (*)",
)
# A base backup streams too.
COUNT_STANDBYS = """
    SELECT count(*) FROM pg_stat_replication
    WHERE state = 'streaming' AND sync_state <> 'async' AND application_name <> 'pg_basebackup'
"""


class Servers(ABC):
    """A primary and its standby. Each commit waits for the standby."""

    @abstractmethod
    def conninfo(self, database: str) -> str:
        """Return the conninfo of whichever server is the primary."""

    @abstractmethod
    def kill_primary(self) -> None:
        """Kill the primary."""

    @abstractmethod
    def recover(self) -> None:
        """Return when the standby is the primary, and the former primary its standby."""


@dataclass(slots=True, kw_only=True)
class Node:
    """A server, which can be started, killed, promoted, and made a copy of another one."""

    name: str
    folder: Path
    binaries: Path
    user: SystemUser
    port: int

    @property
    def data(self) -> Path:
        """Return PGDATA."""
        return self.folder / self.name

    @property
    def conninfo(self) -> str:
        """Return the conninfo of this server alone."""
        return make_conninfo(host="127.0.0.1", port=self.port, user=ROLE, dbname="postgres", connect_timeout=2)

    def run(self, program: str, *words: str) -> None:
        """Run a program of PostgreSQL."""
        done = self.user.run(self.binaries / "bin" / program, *words, wait_s=60)
        assert done.returncode == 0, (program, done.stdout, done.stderr)

    def create(self) -> None:
        """Create the first server."""
        self.run(
            "initdb", "-D", str(self.data), "-U", ROLE, "--auth=trust", "-E", "UTF8", "--no-locale", "--no-sync"
        )

    def copy(self, primary: "Node") -> None:
        """Become a standby of a primary, whatever the server was before."""
        self.user.run("rm", "-rf", str(self.data))
        source = f"{primary.conninfo} application_name={self.name}"
        self.run(
            "pg_basebackup", "-D", str(self.data), "-R", "-c", "fast", "-X", "stream", "--no-sync", "-d", source
        )

    def start(self) -> None:
        """Start the server."""
        own = (f"port={self.port}", "listen_addresses=127.0.0.1", f"unix_socket_directories={self.folder}")
        options = " ".join(f"-c '{each}'" for each in (*SETTINGS, *own))
        log = str(self.folder / f"{self.name}.log")
        self.run(
            "pg_ctl", "-D", str(self.data), "-w", "-t", str(round(START_S)), "-l", log, "-o", options, "start"
        )

    def promote(self) -> None:
        """Make the standby the primary."""
        self.run("pg_ctl", "-D", str(self.data), "-w", "-t", str(round(START_S)), "promote")


@dataclass(slots=True, kw_only=True)
class Pair(Servers):
    """Two servers, of which this program promotes the standby."""

    primary: Node
    standby: Node

    def conninfo(self, database: str) -> str:
        """Return the conninfo of whichever server is the primary."""
        return conninfo_of(sorted((self.primary.port, self.standby.port)), database)

    def kill_primary(self) -> None:
        """Kill all processes of the primary at once, as the end of a machine does."""
        kill_server(self.primary.data)

    def recover(self) -> None:
        """Promote the standby, and make the former primary its standby."""
        self.standby.promote()
        self.primary, self.standby = self.standby, self.primary
        self.standby.copy(self.primary)
        self.standby.start()
        self.wait_until_streaming()

    def wait_until_streaming(self) -> None:
        """Wait until the standby acknowledges commits."""
        deadline = time.monotonic() + START_S
        while not streams(self.primary.conninfo):
            assert time.monotonic() < deadline, "the standby does not stream"
            time.sleep(POLL_S)


def conninfo_of(ports: Sequence[int], database: str) -> str:
    """Return the conninfo of that server of this machine which accepts writes."""
    return make_conninfo(
        host=",".join("127.0.0.1" for _ in ports),
        port=",".join(map(str, ports)),
        user=ROLE,
        dbname=database,
        target_session_attrs="read-write",
    )


def streams(conninfo: str) -> bool:
    """Return whether a standby acknowledges the commits of a primary."""
    with suppress(psycopg.OperationalError), psycopg.connect(conninfo, autocommit=True, connect_timeout=2) as conn:
        return conn.execute(COUNT_STANDBYS).fetchone() == (1,)
    return False


def kill_server(data: Path) -> None:
    """Kill all processes of the server of a folder, if it runs."""
    with suppress(FileNotFoundError, ValueError):
        kill_all(int((data / "postmaster.pid").read_text().split("\n", 1)[0]))


def kill_all(pid: int) -> None:
    """Kill a process and its descendants."""
    with suppress(psutil.NoSuchProcess):
        process = psutil.Process(pid)
        family = [process, *process.children(recursive=True)]
        for each in family:
            with suppress(psutil.NoSuchProcess):
                each.send_signal(signal.SIGKILL)
        psutil.wait_procs(family, timeout=START_S)


@contextmanager
def replicated() -> Iterator[Pair]:
    """Run a primary and a standby."""
    user = choose_user()
    binaries = get_for_user(user, SYSTEM_DIR)
    folder = Path(tempfile.mkdtemp(prefix="builders-pair-"))
    folder.chmod(0o700)
    if user.must_switch:
        os.chown(folder, user.uid, user.gid)
    first, second = (
        Node(name=name, folder=folder, binaries=binaries, user=user, port=free_port()) for name in ("a", "b")
    )
    try:
        first.create()
        first.start()
        second.copy(first)
        second.start()
        pair = Pair(primary=first, standby=second)
        pair.wait_until_streaming()
        yield pair
    finally:
        kill_server(first.data)
        kill_server(second.data)
        shutil.rmtree(folder, ignore_errors=True)


def free_port() -> int:
    """Return an unused port."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])
