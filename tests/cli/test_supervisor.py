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

from builders.kit.process import supervision
from builders.kit.process.supervision import PARENT_PIPE

# A parent of our own: it supervises the given programs, each a piece of Python.
PARENT = """
import json, os, sys, threading
from builders.cli import supervisor
from builders.cli.heartbeats import Limits
from builders.kit.process import log
log.configure(level="error")
programs = [
    supervisor.Program(
        name=name,
        command=[sys.executable, "-c", text],
        descriptors=[int(d) for d in sys.argv[2:]],
        reports="beat()" in text,
    )
    for name, text in json.loads(sys.argv[1]).items()
]
limits = Limits(silent_s=3, other_s=3, settled_s=0, hold_s=1, pause_s=1, kill_s=0.5)  # not those of the service
parent = supervisor.Supervisor(programs, environment=dict(os.environ), stop_timeout_s=1, limits=limits)
waiting = threading.Thread(target=parent.stopping.wait)
waiting.start()
try:
    parent.run()
except supervisor.ChildRefused as error:
    sys.exit(str(error))
waiting.join()
print("stopped in order")
"""
# A child: leaves a file with its process id, and lives until it is stopped.
CHILD = """
import os, signal, sys, time
from pathlib import Path
from builders.kit.process import supervision
supervision.follow()
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
Path(os.environ["FOLDER"], f"{NAME}-{os.getpid()}").touch()
signal.pause()
"""
DEAF = CHILD.replace("lambda *_: sys.exit(0)", "signal.SIG_IGN").replace(
    "signal.pause()", "while True: signal.pause()"
)
REPORTING = CHILD.replace(
    "signal.pause()", "supervision.beat()\nwhile True:\n    time.sleep(0.3)\n    supervision.beat()"
)
# Its second process does not become ready. The first one leaves its file after a beat: before, it is starting.
FAILING_LATER = REPORTING.replace(
    "Path(",
    'if not [*Path(os.environ["FOLDER"]).glob(f"{NAME}-*")]:\n    supervision.beat()\nPath(',
    1,
).replace(
    "touch()\nsupervision.beat()",
    """touch()
if len([*Path(os.environ["FOLDER"]).glob(f"{NAME}-*")]) > 1:
    sys.exit(3)
supervision.beat()
""",
    1,
)
DYING = CHILD.replace("signal.pause()", "sys.exit(3)")
RAISING = CHILD.replace("signal.pause()", "raise OSError('the machine is full')")
REFUSING = CHILD.replace("signal.pause()", "import builders.nothing")
# Answers, and cannot be started again.
REFUSING_LATER = FAILING_LATER.replace("sys.exit(3)", "import builders.nothing")
# Its first process is blocked when a file says so. It leaves its file after a beat: before, it counts as starting.
BLOCKED = CHILD.replace("Path(", "supervision.beat()\nPath(").replace(
    "signal.pause()",
    """
def blocked():
    time.sleep(1000)
number = len([*Path(os.environ["FOLDER"]).glob(f"{NAME}-*")])
while True:
    supervision.beat()
    time.sleep(0.1)
    if number == 1 and Path(os.environ["FOLDER"], "block-0").exists():
        blocked()
""",
)


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
            if pid and lives(pid):
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

    out, _ = parent.process.communicate(timeout=60)
    assert (parent.process.returncode, out) == (0, "stopped in order\n")
    assert not any(map(lives, pids))


def test_a_child_that_ignores_the_signal_is_killed(start: Starter) -> None:
    parent = start({**child("deaf", DEAF), **child("one")})
    pids = [*parent.wait_for("deaf", 1), *parent.wait_for("one", 1)]

    parent.process.terminate()

    assert parent.process.wait(timeout=60) == 0
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
    _, errors = parent.process.communicate(timeout=60)

    assert "replacement_failed" in errors
    assert (parent.started("one")[0], parent.started("two")) == (first, [other])


def test_a_signal_ends_a_replacement(start: Starter) -> None:
    parent = start({**child("one", REPORTING), **child("deaf", DEAF)})
    parent.wait_for("one", 1), parent.wait_for("deaf", 1)
    parent.process.send_signal(signal.SIGUSR1)
    parent.wait_for("one", 2)

    parent.process.terminate()

    assert parent.process.wait(timeout=60) == 0
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

    _, errors = parent.process.communicate(timeout=60)
    assert re.findall(r'"child_died","child":"dying","exit_code":3,"times":(\d)', errors) == ["1"]  # once a minute
    assert len(parent.started("one")) == 1


def test_the_end_of_a_child_is_told_with_its_reason(start: Starter) -> None:
    parent = start(child("raising", RAISING))
    parent.wait_for("raising", 2)
    parent.process.terminate()

    _, errors = parent.process.communicate(timeout=60)
    lines = [json.loads(line) for line in errors.splitlines()]
    assert [(each["child"], each["error"]) for each in lines] == [("raising", "OSError: the machine is full")]
    assert lines[0]["output"].startswith("Traceback (most recent call last):")


def test_a_child_that_can_never_start_ends_its_parent_with_one_sentence(start: Starter) -> None:
    parent = start({**child("one"), **child("refusing", REFUSING)})

    _, errors = parent.process.communicate(timeout=60)

    reason = "ModuleNotFoundError: No module named 'builders.nothing'"
    assert (parent.process.returncode, errors) == (1, f"`refusing` cannot start: {reason}\n")
    assert len(parent.started("refusing")) == 1
    wait_for_end(parent.started("one"))


def test_a_child_that_has_answered_ends_no_other_when_it_can_no_longer_start(start: Starter) -> None:
    parent = start({**child("one"), **child("later", REFUSING_LATER)})
    os.kill(parent.wait_for("later", 1)[0], signal.SIGKILL)
    parent.wait_for("later", 4)
    assert parent.process.poll() is None

    parent.process.terminate()
    parent.process.communicate(timeout=60)
    assert len(parent.started("one")) == 1


def test_a_blocked_child_is_replaced_after_its_stacks_are_in_the_log(start: Starter) -> None:
    parent = start(child("one", BLOCKED))
    [first] = parent.wait_for("one", 1)
    (parent.folder / "block-0").touch()

    _, second = parent.wait_for("one", 2)
    wait_for_end([first])
    assert lives(second)
    parent.process.terminate()
    _, errors = parent.process.communicate(timeout=60)
    [silent] = [json.loads(line) for line in errors.splitlines() if '"child_silent"' in line]
    assert silent["child"] == "one"
    assert silent["silent_s"] >= 3
    assert "in blocked" in silent["stacks"]


def test_a_stopped_child_is_killed_and_replaced(start: Starter) -> None:
    parent = start(child("one", BLOCKED))
    [first] = parent.wait_for("one", 1)
    os.kill(first, signal.SIGSTOP)

    _, second = parent.wait_for("one", 2)
    wait_for_end([first])
    assert lives(second)


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

    assert parent.process.wait(timeout=60) == 0
    wait_for_end([*pids, *(pid for each in "bcdefgh" for pid in parent.started(each))])


def test_a_child_does_not_pass_on_its_pipe_to_the_parent(monkeypatch: pytest.MonkeyPatch) -> None:
    read, write = os.pipe()
    ended = threading.Event()
    monkeypatch.setattr(os, "kill", lambda *_: ended.set())
    monkeypatch.setenv(PARENT_PIPE, str(read))

    supervision.follow()

    assert PARENT_PIPE not in os.environ
    assert not ended.is_set()
    os.close(write)
    assert ended.wait(10)
    os.close(read)


def test_a_process_without_a_supervisor_watches_no_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(PARENT_PIPE, raising=False)
    before = threading.active_count()
    supervision.follow()
    assert threading.active_count() == before
