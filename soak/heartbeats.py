"""Silent processes of `builders serve` at the times of the service: which are replaced, and which are not.

    script/soak heartbeats

An import that takes 60 s of processor time and a machine that is frozen for 30 s replace nothing. A stopped
process and one whose loop is blocked for 20 s are replaced, while the other one answers. It takes six minutes.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import psutil

from soak.replicas import free_port

IMPORT_S = 60  # of processor time
FROZEN_S, BLOCKED_S = 30, 20
REPLACED_WITHIN_S = 60.0  # from the first second of silence; 15 s are the rule, and 10 s the time to end
SETTLED_S = 75.0  # after which a process can be replaced, with a margin
START_WITHIN_S = 300.0
POLL_S, ASK_S = 0.2, 0.2
# Each process runs this when it starts: a worker imports slowly, and a signal blocks the loop.
CUSTOMIZED = f"""
import signal, sys, time
def block(*_):
    time.sleep({BLOCKED_S})
signal.signal(signal.SIGRTMIN, block)
if "worker" in sys.orig_argv:
    while time.process_time() < {IMPORT_S}:
        pass
"""


@dataclass(slots=True)
class Clients:
    """Asks the service on a new connection again and again, in a thread."""

    port: int
    statuses: Counter[int] = field(default_factory=Counter)  # 0: no answer
    longest_s: float = 0.0
    _over: threading.Event = field(default_factory=threading.Event)

    @contextmanager
    def asking(self) -> Iterator[None]:
        """Ask until the block ends."""
        self._over.clear()
        self.statuses, self.longest_s = Counter(), 0.0
        thread = threading.Thread(target=self._ask)
        thread.start()
        try:
            yield
        finally:
            self._over.set()
            thread.join()

    def _ask(self) -> None:
        while not self._over.wait(ASK_S):
            begin = time.monotonic()
            self.statuses[get(self.port)] += 1
            self.longest_s = max(self.longest_s, time.monotonic() - begin)


def get(port: int) -> int:
    """Return the status of /livez; 0 without an answer in 40 s."""
    try:
        return httpx.get(f"http://127.0.0.1:{port}/livez", timeout=40).status_code
    except httpx.TransportError:
        return 0


@dataclass(slots=True)
class Service:
    """A running `builders serve` with two HTTP processes."""

    process: psutil.Process
    port: int
    log: Path

    def children(self) -> dict[int, str]:
        """Return the commands of the processes by their ids."""
        return {each.pid: _command(each) for each in self.process.children() if _command(each)}

    def find(self, command: str) -> list[psutil.Process]:
        """Return the processes of a command, the oldest first."""
        return [psutil.Process(pid) for pid, name in sorted(self.children().items()) if name == command]

    def events(self) -> list[Mapping[str, Any]]:
        """Return the lines of the log about silent and dead processes."""
        lines = [line for line in self.log.read_text(encoding="utf-8").splitlines() if line.startswith("{")]
        parsed = [json.loads(line) for line in lines]
        return [each for each in parsed if each["event"] in {"child_silent", "child_died", "machine_silent"}]


def _command(process: psutil.Process) -> str:
    try:
        words = process.cmdline()
    except (psutil.NoSuchProcess, psutil.ZombieProcess):
        return ""
    return next((each for each in words if each in {"http", "worker"}), "")


@contextmanager
def serving(folder: Path) -> Iterator[Service]:
    """Run the service in a folder that PostgreSQL's user can enter."""
    (folder / "sitecustomize.py").write_text(CUSTOMIZED, encoding="utf-8")
    port, log = free_port(), folder / "log"
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(folder), *filter(None, sys.path)]),
        "BUILDERS_DATA_DIR": str(folder / "data"),
        "BUILDERS_LOG_FORMAT": "json",
        "BUILDERS_LOG_LEVEL": "error",
        "BUILDERS_LIMITS": "off",
    }
    program = [sys.executable, "-P", "-m", "builders", "serve", "--port", str(port), "--workers", "2"]
    with log.open("wb") as file:
        started = subprocess.Popen(program, env=environment, stdout=file, stderr=file)
    try:
        yield Service(psutil.Process(started.pid), port, log)
    finally:
        started.terminate()
        started.wait()


def wait_until(is_so: Callable[[], object], within_s: float) -> float:
    """Wait; return the seconds, negative if it did not come true in time."""
    begin = time.monotonic()
    while not is_so():
        if time.monotonic() - begin > within_s:
            return -within_s
        time.sleep(POLL_S)
    return time.monotonic() - begin


def import_slowly(service: Service) -> str:
    """Wait for the worker, whose import takes a minute of processor time; nothing is replaced."""
    assert wait_until(lambda: get(service.port) == httpx.codes.OK, START_WITHIN_S) >= 0
    [worker] = service.find("worker")
    took = wait_until(lambda: _has_begun(worker), START_WITHIN_S)
    assert took >= 0, "the worker has not begun"
    assert service.find("worker") == [worker]
    return f"an import of {IMPORT_S} s of processor time: {took:.0f} s, {_say(service.events())}"


def _has_begun(worker: psutil.Process) -> bool:
    """Return whether the worker has opened its connections."""
    return sum(worker.cpu_times()[:2]) > IMPORT_S and bool(worker.net_connections("all"))


def freeze(service: Service) -> str:
    """Stop all processes, as a machine does that is moved; nothing is replaced."""
    family, before = [service.process, *service.process.children()], len(service.events())
    for each in family:
        each.suspend()
    time.sleep(FROZEN_S)
    for each in family:
        each.resume()
    time.sleep(SETTLED_S - FROZEN_S)
    assert {each.pid for each in family[1:]} == {each.pid for each in service.process.children()}
    assert get(service.port) == httpx.codes.OK
    return f"all processes stopped for {FROZEN_S} s: {_say(service.events()[before:])}"


def replace(service: Service, what: str, silence: Callable[[psutil.Process], None]) -> str:
    """Make the oldest HTTP process silent; only it is replaced, and clients are answered."""
    silent, clients = service.find("http")[0], Clients(service.port)
    others, before = set(service.children()) - {silent.pid}, len(service.events())
    with clients.asking():
        silence(silent)
        noticed = wait_until(lambda: len(service.events()) > before, REPLACED_WITHIN_S)
        ended = wait_until(lambda: not silent.is_running() or silent.status() == "zombie", REPLACED_WITHIN_S)
        took = wait_until(lambda: len(service.find("http")) == 2, REPLACED_WITHIN_S)
    assert min(noticed, ended, took) >= 0, service.log.read_text(encoding="utf-8")
    assert others <= set(service.children()), "another process was replaced"
    [event] = service.events()[before:]
    assert event["event"] == "child_silent", event
    answered = clients.statuses[httpx.codes.OK]
    return (
        f"{what}: noticed after {noticed:.1f} s, ended {ended:.1f} s later, 1 replaced; {answered} of "
        f"{clients.statuses.total()} requests answered, the longest in {clients.longest_s:.1f} s; the stacks name "
        f"{'the blocking line' if 'in block' in event['stacks'] else 'nothing'}"
    )


def _say(events: list[Mapping[str, Any]]) -> str:
    names = Counter(each["event"] for each in events)
    assert not names["child_silent"], events
    assert not names["child_died"], events
    return f"0 replaced{', machine named' if names['machine_silent'] else ''}"


def main() -> None:
    """Run all, and print a line for each."""
    folder = Path(tempfile.mkdtemp(prefix="builders-heartbeats-"))
    folder.chmod(0o755)
    try:
        with serving(folder) as service:
            print(import_slowly(service), flush=True)
            print(freeze(service), flush=True)
            time.sleep(max(0.0, SETTLED_S - (time.time() - service.find("http")[0].create_time())))
            stopped = "one process stopped"
            print(replace(service, stopped, lambda each: each.suspend()), flush=True)
            time.sleep(SETTLED_S)  # longer than the pause, and the successor can be replaced
            blocked = f"a loop blocked for {BLOCKED_S} s"
            print(replace(service, blocked, lambda each: each.send_signal(signal.SIGRTMIN)), flush=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
