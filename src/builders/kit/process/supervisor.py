"""A parent that keeps child processes running: restarts those that die, stops all when it is told to.

A child holds the end of a pipe, its lifeline: when the parent is gone, however it went, the pipe closes and the
child stops too, so that no orphan keeps the port.
"""

import os
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from builders.kit.process import log
from builders.kit.values import clock

LIFELINE = "BUILDERS_LIFELINE"
GRACE_S = 30.0  # longer than a child needs for its requests and jobs
LOOK_S = 0.2
STEADY_S = 10.0  # a child that lived so long is started again at once
LONGEST_PAUSE_S = 10.0

_log = log.get_logger()


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """What a child runs, and the file descriptors it is given."""

    name: str
    command: Sequence[str]
    descriptors: Sequence[int] = ()


class _Child:
    """One program, started as often as need be."""

    def __init__(self, program: Program, environment: Mapping[str, str], lifeline: int) -> None:
        self.program = program
        self._environment = {**environment, LIFELINE: str(lifeline)}
        self._descriptors = (*program.descriptors, lifeline)
        self._failures = 0
        self._due = 0.0
        self._started = 0.0
        self.process: subprocess.Popen[bytes] | None = None

    def keep(self) -> None:
        """Starts the program if it does not run and its pause is over."""
        if self.process is not None and self.process.poll() is None:
            return
        if self.process is not None and self._due == 0.0:
            self._note_death(self.process.returncode)
        if clock.monotonic() >= self._due:
            self._start()

    def _note_death(self, code: int) -> None:
        steady = clock.monotonic() - self._started > STEADY_S
        self._failures = 0 if steady else self._failures + 1
        pause = 0.0 if self._failures < 2 else min(2.0 ** (self._failures - 2), LONGEST_PAUSE_S)  # noqa: PLR2004 - the first is free
        self._due = clock.monotonic() + pause
        _log.error("child_died", child=self.program.name, exit_code=code, restart_in_s=pause)

    def _start(self) -> None:
        self.process = subprocess.Popen(  # noqa: S603 - our own program
            self.program.command, env=self._environment, pass_fds=self._descriptors, start_new_session=True
        )
        self._started, self._due = clock.monotonic(), 0.0


class Supervisor:
    """Runs programs until it is told to stop: by SIGTERM or SIGINT, or by SIGHUP when its terminal closes."""

    def __init__(self, programs: Sequence[Program], *, environment: Mapping[str, str]) -> None:
        # The write end is kept open here: its end is how children learn of ours.
        self._read, self._write = os.pipe()
        self._children = [_Child(program, environment, self._read) for program in programs]
        self._told = False
        self.stopping = threading.Event()

    def run(self) -> None:
        """Keeps all running; returns when they have stopped."""
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            if signal.getsignal(number) is not signal.SIG_IGN:  # as nohup leaves it
                signal.signal(number, self._tell)
        while not self._told:
            for child in self._children:
                child.keep()
            time.sleep(LOOK_S)
        self.stopping.set()
        self._stop()

    def _tell(self, *_: object) -> None:
        # Not the event: this may interrupt our own thread while it holds the event's lock.
        self._told = True

    def _stop(self) -> None:
        running = [child.process for child in self._children if child.process and child.process.poll() is None]
        for process in running:
            process.terminate()
        deadline = clock.monotonic() + GRACE_S
        for process in running:
            try:
                process.wait(timeout=max(0.1, deadline - clock.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        os.close(self._write)
        os.close(self._read)


def follow_parent() -> None:
    """In a child: stop, as by SIGTERM, when the parent is gone."""
    lifeline = os.environ.pop(LIFELINE, None)  # ours alone: a child of ours does not get the descriptor
    if lifeline is not None:
        threading.Thread(target=_wait_for_end, args=(int(lifeline),), daemon=True).start()


def _wait_for_end(lifeline: int) -> None:
    os.read(lifeline, 1)
    os.kill(os.getpid(), signal.SIGTERM)
