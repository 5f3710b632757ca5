"""What `serve` tells systemd (sd_notify(3)), to a socket of the test in place of systemd."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from builders.cli.systemd import ALIVE, READY, STOPPING, ServiceManager, take_sockets
from tests.cli.serving import data_folder, environment

WATCHDOG_S = 4.0
PARENT = """
import os, sys
from builders.cli import supervisor
child = "from builders.kit.process import supervision as s; s.follow(); s.beat(); import signal; signal.pause()"
program = supervisor.Program(name="one", command=[sys.executable, "-c", child])
supervisor.Supervisor([program], environment=dict(os.environ), stop_timeout_s=1).run()
"""

# As systemd executes a program: the sockets begin at 3, and LISTEN_PID is that of the program.
STARTED = """
import os, sys
os.dup2(int(sys.argv[1]), 3)
os.environ["LISTEN_PID"] = str(os.getpid())
os.execv(sys.executable, [sys.executable, "-P", "-m", "builders", "serve", "--http-only"])
"""


class Systemd:
    """The receiving end of a notification socket."""

    def __init__(self, address: str | bytes) -> None:
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(address)
        self.socket.settimeout(60)

    def read(self) -> str:
        return self.socket.recv(100).decode()

    def read_all(self) -> list[str]:
        """Return what has arrived."""
        self.socket.setblocking(False)
        said = []
        try:
            while True:
                said.append(self.read())
        except BlockingIOError:
            return said


@pytest.fixture
def systemd(tmp_path: Path) -> Iterator[Systemd]:
    made = Systemd(str(tmp_path / "notify"))
    yield made
    made.socket.close()


def variables(systemd: Systemd, **more: str) -> dict[str, str]:
    return {"NOTIFY_SOCKET": str(systemd.socket.getsockname()), **more}


def test_ready_is_told_once_and_the_stop(systemd: Systemd) -> None:
    manager = ServiceManager(variables(systemd))
    for _ in range(3):
        manager.report_ready()
    manager.report_stop()
    assert systemd.read_all() == [READY, STOPPING] == ["READY=1", "STOPPING=1"]


def test_an_abstract_socket_is_told() -> None:
    name = f"builders-{os.getpid()}-notify"
    systemd = Systemd(f"\0{name}")
    ServiceManager({"NOTIFY_SOCKET": f"@{name}"}).report_ready()
    assert systemd.read_all() == [READY]
    systemd.socket.close()


@pytest.mark.parametrize("pid", ["", str(os.getpid())], ids=["of-any-process", "of-this-process"])
def test_the_watchdog_is_fed_at_half_of_its_time(systemd: Systemd, pid: str) -> None:
    manager = ServiceManager(variables(systemd, WATCHDOG_USEC=str(int(WATCHDOG_S * 1e6)), WATCHDOG_PID=pid))
    for now in (100.0, 100.0 + WATCHDOG_S / 2 - 0.01, 100.0 + WATCHDOG_S / 2, 100.1 + WATCHDOG_S / 2):
        manager.feed(now)
    assert systemd.read_all() == [ALIVE, ALIVE] == ["WATCHDOG=1"] * 2


@pytest.mark.parametrize(
    "given", [{}, {"WATCHDOG_USEC": "4000000", "WATCHDOG_PID": str(os.getpid() + 1)}, {"WATCHDOG_USEC": "soon"}]
)
def test_no_watchdog_of_this_process_is_not_fed(systemd: Systemd, given: dict[str, str]) -> None:
    ServiceManager(variables(systemd, **given)).feed(100.0)
    assert systemd.read_all() == []


@pytest.mark.parametrize("place", ["", "/nowhere/notify"])
def test_without_systemd_nothing_fails(place: str) -> None:
    manager = ServiceManager({"NOTIFY_SOCKET": place, "WATCHDOG_USEC": "4000000"})
    manager.report_ready()
    manager.feed(100.0)
    manager.report_stop()


def test_children_do_not_speak_for_the_unit(systemd: Systemd) -> None:
    environment = variables(systemd, WATCHDOG_USEC="4000000", WATCHDOG_PID="1", BUILDERS_PORT="0")
    ServiceManager(environment)
    assert environment == {"BUILDERS_PORT": "0"}


def test_the_supervisor_feeds_the_watchdog_and_tells_when_all_answer_and_when_it_stops(systemd: Systemd) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **variables(systemd)}
    with subprocess.Popen(
        [sys.executable, "-c", PARENT], env={**environment, "WATCHDOG_USEC": "100000"}
    ) as parent:
        said = [systemd.read()]
        while said[-1] != READY:
            said.append(systemd.read())
        assert ALIVE in said
        assert systemd.read() == ALIVE  # it goes on
        parent.send_signal(signal.SIGTERM)
        while said[-1] != STOPPING:
            said.append(systemd.read())
    assert said.count(READY) == 1
    assert parent.returncode == 0


def test_the_sockets_of_the_unit_are_taken_once() -> None:
    environment = {"LISTEN_PID": str(os.getpid()), "LISTEN_FDS": "0", "LISTEN_FDNAMES": "", "BUILDERS_PORT": "0"}
    assert take_sockets(environment) == {}
    assert environment == {"BUILDERS_PORT": "0"}


@pytest.mark.parametrize("given", [{}, {"LISTEN_PID": "1", "LISTEN_FDS": "1"}, {"LISTEN_FDS": "1"}])
def test_sockets_of_another_process_are_not_taken(given: dict[str, str]) -> None:
    assert take_sockets({**given}) == {}


def test_a_client_waits_while_the_unit_is_started_again(unused_database: str) -> None:
    """The socket is that of systemd, which starts the service as its exec does."""
    with data_folder() as data, socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        settings = environment(data, BUILDERS_DATABASE_URL=unused_database, LISTEN_FDS="1", LISTEN_FDNAMES="http")
        for _ in range(2):  # the client of the second start connects before it
            with socket.create_connection(("127.0.0.1", port), 180) as client:
                client.sendall(b"GET /readyz HTTP/1.0\r\n\r\n")
                with subprocess.Popen(
                    [sys.executable, "-c", STARTED, str(listener.fileno())],
                    pass_fds=[listener.fileno()],
                    env=settings,
                ) as parent:
                    try:
                        said = client.recv(100)
                    finally:
                        parent.terminate()
                assert (said[:13], parent.returncode) == (b"HTTP/1.1 200 ", 0)
