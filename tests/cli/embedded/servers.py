"""The processes of a data directory, seen from outside."""

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from subprocess import PIPE, Popen

import psutil
import psycopg

from builders.cli.embedded import directory
from builders.cli.embedded.server import ServerProcesses, Timing
from builders.cli.embedded.system_user import SystemUser

ROOT = os.geteuid() == 0
NOBODY = 65534
QUICK = Timing(grace_s=0.3, watch_interval_s=0.01, watch_interval_after_failure_s=0.01)

# A user of the database in a process of its own: it says where, then holds on until its input ends. As
# another user it first loads what it needs, since the interpreter may be out of that user's reach.
USER = """
import os, sys
from pathlib import Path
import psycopg
from builders.cli.embedded import directory, server
data, uid, found = Path(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3])
directory.find = lambda major=18: found
if uid != os.geteuid():
    os.setgroups([]); os.setgid(uid); os.setuid(uid)
with server.EmbeddedServer(data, durable=False) as embedded:
    with psycopg.connect(embedded.conninfo) as conn:
        conn.execute("SELECT 1")
    print(embedded.conninfo, flush=True)
    sys.stdin.read()
"""


def python_path() -> dict[str, str]:
    """An environment in which Python finds what we find."""
    return os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}


@contextmanager
def user_of(data: Path, *, uid: int | None = None) -> Iterator["Popen[str]"]:
    """A process that uses the database until its input ends; `read_answer` waits until it is in."""
    me = os.geteuid()
    user = me if uid is None else uid
    found = (
        directory.find()
        if user == me
        else directory.get_for_user(SystemUser(uid=user, gid=user, must_switch=True), directory.SYSTEM_DIR)
    )
    process = Popen(
        [sys.executable, "-c", USER, str(data), str(user), str(found)],
        stdin=PIPE,
        stdout=PIPE,
        stderr=PIPE,
        text=True,
        env=python_path(),
    )
    with process:
        try:
            yield process
        finally:
            process.kill()


def read_answer(user: "Popen[str]") -> str:
    """The connection string that the user got."""
    assert user.stdout is not None
    return user.stdout.readline().strip()


def leftovers(data: Path) -> ServerProcesses:
    cluster = (data / "postgres").resolve() / "cluster"
    owner = cluster.stat()
    return ServerProcesses(data=cluster, user=SystemUser(uid=owner.st_uid, gid=owner.st_gid, must_switch=ROOT))


def processes(data: Path) -> list[psutil.Process]:
    """The living processes of the server."""
    return leftovers(data).list_processes() if (data / "postgres" / "cluster").exists() else []


def postmaster(data: Path) -> psutil.Process:
    """The first process of the server, which must be running."""
    pid = leftovers(data).find_postmaster()
    assert pid is not None
    return psutil.Process(pid)


def process_of(pid: int) -> psutil.Process:
    return psutil.Process(pid)


def kill(*victims: psutil.Process) -> None:
    """kill -9, until none of them does anything any more."""
    for victim in victims:
        with suppress(psutil.NoSuchProcess):  # a child of PostgreSQL that ended with the others
            victim.kill()
    wait_until(lambda: not any(map(lives, victims)))


def lives(process: psutil.Process) -> bool:
    """Whether it can still do anything; who is dead may wait long for its parent to notice."""
    try:
        return bool(process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def wait_until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not true():
        assert time.monotonic() < deadline, "waited 60 s in vain"
        time.sleep(0.05)  # a look at the processes of the machine takes milliseconds of a core


def ask(conninfo: str, question: str) -> object:
    """The one value that the database answers, or None."""
    with psycopg.connect(conninfo, connect_timeout=5, autocommit=True) as conn:
        cursor = conn.execute(question.encode())
        row = cursor.fetchone() if cursor.description else None
    return row[0] if row else None
