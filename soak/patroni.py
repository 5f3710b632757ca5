"""Two PostgreSQL servers under Patroni, with etcd: the standby takes over by itself.

`script/soak failovers --patroni` unpacks Debian's etcd, and installs Patroni into an environment of its own. The
configuration is that of docs/how-to/survive-the-loss-of-a-database-server.md.
"""

import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from builders.cli.embedded.directory import SYSTEM_DIR, get_for_user
from builders.cli.embedded.system_user import SystemUser, choose_user
from soak.replicas import POLL_S, ROLE, Servers, conninfo_of, free_port, kill_all, kill_server, streams

GUIDE = Path(__file__).parents[1] / "docs" / "how-to" / "survive-the-loss-of-a-database-server.md"
ETCD = os.environ.get("BUILDERS_ETCD", "etcd")  # the program of Debian's etcd-server
PATRONI = os.environ.get("BUILDERS_PATRONI", "")  # the folder of its Python packages
PYTHON = "/usr/bin/python3"  # which the user of PostgreSQL may run, unlike that of an environment in a home folder
WITHIN_S = 90.0


@dataclass(slots=True, kw_only=True)
class Member:
    """Patroni and its PostgreSQL."""

    name: str
    folder: Path
    user: SystemUser
    port: int
    api_port: int
    process: subprocess.Popen[bytes] | None = None

    @property
    def data(self) -> Path:
        """Return PGDATA."""
        return self.folder / self.name

    def start(self) -> None:
        """Start Patroni, which starts its server."""
        self.process = start(
            self.user, self.folder, self.name, PYTHON, "-m", "patroni", str(self.folder / f"{self.name}.yml")
        )

    def is_primary(self) -> bool:
        """Return whether Patroni says that its server is the primary."""
        with suppress(httpx.TransportError):
            return httpx.get(f"http://127.0.0.1:{self.api_port}/primary", timeout=2).status_code == httpx.codes.OK
        return False

    def has_standby(self) -> bool:
        """Return whether Patroni would promote the standby of this primary."""
        with suppress(httpx.TransportError):
            members = httpx.get(f"http://127.0.0.1:{self.api_port}/cluster", timeout=2).json()["members"]
            return self.is_primary() and {each["role"] for each in members} == {"leader", "sync_standby"}
        return False

    def kill(self) -> None:
        """Kill Patroni and all processes of its server, as the end of a machine does."""
        if self.process is not None:
            kill_all(self.process.pid)
            self.process.wait()
        kill_server(self.data)


@dataclass(slots=True)
class Cluster(Servers):
    """The members. Each commit waits for the standby."""

    members: list[Member]
    killed: list[Member] = field(default_factory=list)

    def conninfo(self, database: str) -> str:
        """Return the conninfo of whichever server is the primary."""
        return conninfo_of([each.port for each in self.members], database)

    def kill_primary(self) -> None:
        """Kill the machine of the primary."""
        self.killed = [each for each in self.members if each.is_primary()]
        for member in self.killed:
            member.kill()

    def recover(self) -> None:
        """Start the machine again when the standby has taken over, and wait until it is the standby."""
        rest = [each for each in self.members if each not in self.killed]
        wait_until(lambda: any(each.is_primary() for each in rest), "no standby took over")
        for member in self.killed:
            member.start()
        self.wait_until_safe()

    def wait_until_safe(self) -> None:
        """Wait until the standby acknowledges commits, and Patroni would promote it."""
        wait_until(lambda: any(each.has_standby() for each in self.members), "there is no standby")
        wait_until(lambda: streams(self.conninfo("postgres")), "the standby does not stream")


@contextmanager
def managed() -> Iterator[Cluster]:
    """Run etcd, and two members."""
    user = choose_user()
    folder = Path(tempfile.mkdtemp(prefix="builders-patroni-"))
    folder.chmod(0o700)
    if user.must_switch:
        os.chown(folder, user.uid, user.gid)
    etcd_port = free_port()
    etcd = start_etcd(user, folder, etcd_port, free_port())
    members = [
        Member(name=name, folder=folder, user=user, port=free_port(), api_port=free_port())
        for name in ("one", "two")
    ]
    try:
        for member in members:
            config = folder / f"{member.name}.yml"
            config.write_text(configuration(member, get_for_user(user, SYSTEM_DIR), etcd_port=etcd_port))
            config.chmod(0o644)
            member.start()
            wait_until(lambda: any(each.is_primary() for each in members), "no member became the primary")
        cluster = Cluster(members)
        cluster.wait_until_safe()
        yield cluster
    finally:
        for member in members:
            member.kill()
        etcd.kill()
        etcd.wait()
        shutil.rmtree(folder, ignore_errors=True)


def start_etcd(user: SystemUser, folder: Path, port: int, peer_port: int) -> "subprocess.Popen[bytes]":
    """Start a cluster of one."""
    url, peer_url = f"http://127.0.0.1:{port}", f"http://127.0.0.1:{peer_port}"
    addresses = ("--listen-client-urls", url, "--advertise-client-urls", url, "--listen-peer-urls", peer_url)
    return start(user, folder, "etcd", ETCD, "--data-dir", str(folder / "etcd-data"), *addresses)


def start(user: SystemUser, folder: Path, name: str, *command: str) -> "subprocess.Popen[bytes]":
    """Start a program as the user of PostgreSQL."""
    with (folder / f"{name}.log").open("ab") as log:
        return subprocess.Popen(
            command,
            env={"PYTHONPATH": PATRONI, "PATH": "/usr/bin:/bin"},
            stdout=log,
            stderr=log,
            cwd="/",
            user=user.uid if user.must_switch else None,
            group=user.gid if user.must_switch else None,
            extra_groups=[] if user.must_switch else None,
        )


def configuration(member: Member, binaries: Path, *, etcd_port: int) -> str:
    """Return the guide's configuration for a member on this machine; it needs no password."""
    found = re.search(r"```yaml\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    assert found, "the guide has no configuration"
    local = {
        "name: one": f"name: {member.name}",
        "10.0.0.21:8008": f"127.0.0.1:{member.api_port}",
        "10.0.0.21:5432": f"127.0.0.1:{member.port}",
        "10.0.0.31:2379": f"127.0.0.1:{etcd_port}",
        "/var/lib/postgresql/builders": str(member.data),
        "/usr/lib/postgresql/15/bin": str(binaries / "bin"),
        "10.0.0.0/24 scram-sha-256": "127.0.0.1/32 trust",
        "username: builders": f"username: {ROLE}",
    }
    text = found[1]
    for written, here in local.items():
        assert written in text, f"the guide's configuration has no {written}"
        text = text.replace(written, here)
    return f"{text}  parameters:\n    unix_socket_directories: {member.folder}\n    fsync: false\n"


def wait_until(is_true: Callable[[], bool], otherwise: str) -> None:
    """Wait for a condition."""
    deadline = time.monotonic() + WITHIN_S
    while not is_true():
        if time.monotonic() > deadline:
            raise TimeoutError(otherwise)
        time.sleep(POLL_S)
