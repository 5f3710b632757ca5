"""The parent of the service's processes: it starts again what dies, and nothing outlives it."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from builders.cli import supervisor
from builders.cli.supervisor import PARENT_PIPE

# A parent of our own: it supervises the given programs, each a piece of Python.
PARENT = """
import json, os, sys, threading
from builders.cli import supervisor
from builders.kit.process import log
log.configure(level="error")
programs = [
    supervisor.Program(
        name=name,
        command=[sys.executable, "-c", text],
        descriptors=[int(d) for d in sys.argv[2:]],
        reports="report_ready" in text,
    )
    for name, text in json.loads(sys.argv[1]).items()
]
parent = supervisor.Supervisor(programs, environment=os.environ, stop_timeout_s=1)
waiting = threading.Thread(target=parent.stopping.wait)
waiting.start()
parent.run()
waiting.join()
print("stopped in order")
"""
# A child: leaves a file with its process id, and lives until it is stopped.
CHILD = """
import os, signal, sys, threading
from pathlib import Path
from builders.cli import supervisor
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
supervisor.follow_parent()
Path(os.environ["FOLDER"], f"{NAME}-{os.getpid()}").touch()
signal.pause()
"""
DEAF = CHILD.replace("lambda *_: sys.exit(0)", "signal.SIG_IGN").replace(
    "signal.pause()", "while True: signal.pause()"
)
REPORTING = CHILD.replace("signal.pause()", "supervisor.report_ready()\nsignal.pause()")
# Its second process does not become ready.
FAILING_LATER = REPORTING.replace(
    "supervisor.report_ready()",
    """
if len([*Path(os.environ["FOLDER"]).glob(f"{NAME}-*")]) > 1:
    sys.exit(3)
supervisor.report_ready()
""",
)
DYING = CHILD.replace("signal.pause()", "sys.exit(3)")


def child(name: str, text: str = CHILD) -> dict[str, str]:
    return {name: f"NAME = {name!r}\n{text}"}


@dataclass
class Parent:
    """A running parent, and what its children left."""

    process: "subprocess.Popen[str]"
    folder: Path

    def started(self, name: str) -> list[int]:
        """The process ids of all children of this name, ever, in the order of their start."""
        left = sorted(self.folder.glob(f"{name}-*"), key=lambda each: each.stat().st_mtime_ns)
        return [int(each.name.partition("-")[2]) for each in left]

    def wait_for(self, name: str, count: int) -> list[int]:
        deadline = time.monotonic() + 60
        while len(self.started(name)) < count:
            assert time.monotonic() < deadline, f"waited for {name} in vain"
            time.sleep(0.02)
        return self.started(name)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


def lives(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def wait_for_end(pids: list[int]) -> None:
    deadline = time.monotonic() + 60
    while any(map(lives, pids)):
        assert time.monotonic() < deadline, "a child outlived its parent"
        time.sleep(0.02)


class Starter:
    """Starts parents, and leaves nothing running."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.parents: list[subprocess.Popen[str]] = []

    def __call__(self, children: Mapping[str, str], *descriptors: int) -> Parent:
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "FOLDER": str(self.folder)}
        process = subprocess.Popen(
            [sys.executable, "-c", PARENT, json.dumps(children), *map(str, descriptors)],
            env=environment,
            pass_fds=descriptors,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.parents.append(process)
        return Parent(process, self.folder)

    def clear(self) -> None:
        for process in self.parents:
            with process:
                process.kill()
        for left in self.folder.iterdir():
            pid = int(left.name.rpartition("-")[2])
            if lives(pid):
                os.kill(pid, signal.SIGKILL)


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Starter]:
    starter = Starter(tmp_path)
    yield starter
    starter.clear()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_every_child(start: Starter, number: signal.Signals) -> None:
    parent = start({**child("one"), **child("two")})
    pids = [*parent.wait_for("one", 1), *parent.wait_for("two", 1)]

    parent.process.send_signal(number)

    out, _ = parent.process.communicate(timeout=20)
    assert (parent.process.returncode, out) == (0, "stopped in order\n")
    assert not any(map(lives, pids))


def test_a_child_that_ignores_the_signal_is_killed(start: Starter) -> None:
    parent = start({**child("deaf", DEAF), **child("one")})
    pids = [*parent.wait_for("deaf", 1), *parent.wait_for("one", 1)]

    parent.process.terminate()

    assert parent.process.wait(timeout=20) == 0
    assert not any(map(lives, pids))


def test_a_killed_child_is_restarted_and_its_sibling_is_not(start: Starter) -> None:
    parent = start({**child("one"), **child("two")})
    [first], [sibling] = parent.wait_for("one", 1), parent.wait_for("two", 1)

    os.kill(first, signal.SIGKILL)

    _, second = parent.wait_for("one", 2)
    assert lives(second)
    assert parent.started("two") == [sibling]
    assert lives(sibling)


def test_a_process_that_reports_is_replaced_when_its_successor_is_ready(start: Starter) -> None:
    parent = start({**child("one", REPORTING), **child("two", REPORTING)})
    before = [*parent.wait_for("one", 1), *parent.wait_for("two", 1)]

    parent.process.send_signal(signal.SIGUSR1)

    after = [parent.wait_for("one", 2)[1], parent.wait_for("two", 2)[1]]
    wait_for_end(before)
    assert all(map(lives, after))


def test_a_process_that_does_not_report_has_ended_before_its_successor_starts(start: Starter) -> None:
    parent = start(child("one"))
    [first] = parent.wait_for("one", 1)

    parent.process.send_signal(signal.SIGUSR1)

    _, second = parent.wait_for("one", 2)
    assert not lives(first)
    assert lives(second)


def test_a_process_is_kept_when_its_successor_does_not_become_ready(start: Starter) -> None:
    parent = start({**child("one", FAILING_LATER), **child("two", REPORTING)})
    [first], [other] = parent.wait_for("one", 1), parent.wait_for("two", 1)
    parent.process.send_signal(signal.SIGUSR1)
    wait_for_end(parent.wait_for("one", 2)[1:])

    parent.process.terminate()
    _, errors = parent.process.communicate(timeout=20)

    assert "replacement_failed" in errors
    assert (parent.started("one")[0], parent.started("two")) == (first, [other])


def test_a_signal_ends_a_replacement(start: Starter) -> None:
    parent = start({**child("one", REPORTING), **child("deaf", DEAF)})
    parent.wait_for("one", 1), parent.wait_for("deaf", 1)
    parent.process.send_signal(signal.SIGUSR1)
    parent.wait_for("one", 2)

    parent.process.terminate()

    assert parent.process.wait(timeout=20) == 0
    wait_for_end([*parent.started("one"), *parent.started("deaf")])


def test_children_end_when_their_parent_is_killed(start: Starter) -> None:
    parent = start({**child("one"), **child("two")})
    pids = [*parent.wait_for("one", 1), *parent.wait_for("two", 1)]

    parent.process.kill()

    wait_for_end(pids)


def test_a_restarted_child_ends_with_its_parent(start: Starter) -> None:
    parent = start(child("one"))
    os.kill(parent.wait_for("one", 1)[0], signal.SIGKILL)
    pids = parent.wait_for("one", 2)

    parent.process.kill()

    wait_for_end(pids)


def test_a_child_that_always_dies_is_not_restarted_forever(start: Starter) -> None:
    parent = start({**child("dying", DYING), **child("one")})
    parent.wait_for("dying", 4)
    parent.process.terminate()

    _, errors = parent.process.communicate(timeout=20)
    assert re.findall(r"restart_in_s\W+([\d.]+)", errors)[:3] == ["0.0", "1.0", "2.0"]
    assert len(parent.started("one")) == 1


def test_a_child_receives_its_file_descriptors(start: Starter) -> None:
    read, write = os.pipe()
    try:
        parent = start(child("one", f"import os\nos.write({write}, b'here')\n{CHILD}"), write)
        parent.wait_for("one", 1)
        assert os.read(read, 10) == b"here"
    finally:
        os.close(read)
        os.close(write)


def test_a_signal_before_the_children_start_is_obeyed(start: Starter) -> None:
    """The handlers stand before the first child does: no child is left behind."""
    parent = start({name: text for each in "abcdefgh" for name, text in child(each).items()})
    pids = parent.wait_for("a", 1)

    parent.process.terminate()

    assert parent.process.wait(timeout=20) == 0
    wait_for_end([*pids, *(pid for each in "bcdefgh" for pid in parent.started(each))])


def test_a_child_does_not_pass_on_its_pipe_to_the_parent(monkeypatch: pytest.MonkeyPatch) -> None:
    read, write = os.pipe()
    ended = threading.Event()
    monkeypatch.setattr(os, "kill", lambda *_: ended.set())
    monkeypatch.setenv(PARENT_PIPE, str(read))

    supervisor.follow_parent()

    assert PARENT_PIPE not in os.environ
    assert not ended.is_set()
    os.close(write)
    assert ended.wait(10)
    os.close(read)


def test_a_process_without_a_supervisor_watches_no_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(PARENT_PIPE, raising=False)
    before = threading.active_count()
    supervisor.follow_parent()
    assert threading.active_count() == before
