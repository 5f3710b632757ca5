"""A parent process that restarts children that exit, and stops all of them on a signal.

A child inherits the read end of a pipe whose write end the parent holds. When the parent exits for any reason, the
pipe closes and the child stops too, so that no orphan keeps the port.
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

PARENT_PIPE = "BUILDERS_LIFELINE"
STOP_TIMEOUT_S = 30.0  # longer than a child needs for its requests and jobs
POLL_INTERVAL_S = 0.2
STABLE_S = 10.0  # a child that ran for this long is restarted without a pause
MAX_PAUSE_S = 10.0

_log = log.get_logger()


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """The command of a child, and the file descriptors that it inherits."""

    name: str
    command: Sequence[str]
    descriptors: Sequence[int] = ()


class _Child:
    """The process of one program, which is started again when it exits."""

    def __init__(self, program: Program, environment: Mapping[str, str], parent_pipe: int) -> None:
        self.program = program
        self._environment = {**environment, PARENT_PIPE: str(parent_pipe)}
        self._descriptors = (*program.descriptors, parent_pipe)
        self._failures = 0
        self._due = 0.0
        self._started = 0.0
        self.process: subprocess.Popen[bytes] | None = None

    def start_if_due(self) -> None:
        """Start the program if it does not run and its pause is over."""
        if self.process is not None and self.process.poll() is None:
            return
        if self.process is not None and self._due == 0.0:
            is_stable = clock.monotonic() - self._started > STABLE_S
            self._failures = 0 if is_stable else self._failures + 1
            pause = 0.0 if self._failures < 2 else min(2.0 ** (self._failures - 2), MAX_PAUSE_S)  # noqa: PLR2004 - no pause after the first failure
            self._due = clock.monotonic() + pause
            _log.error(
                "child_died", child=self.program.name, exit_code=self.process.returncode, restart_in_s=pause
            )
        if clock.monotonic() >= self._due:
            self._start()

    def _start(self) -> None:
        self.process = subprocess.Popen(  # noqa: S603 - a program of this package
            self.program.command, env=self._environment, pass_fds=self._descriptors, start_new_session=True
        )
        self._started, self._due = clock.monotonic(), 0.0


class Supervisor:
    """Run programs until SIGTERM or SIGINT, or SIGHUP when the terminal closes.

    A program that does not stop within `stop_timeout_s` is killed.
    """

    def __init__(
        self,
        programs: Sequence[Program],
        *,
        environment: Mapping[str, str],
        stop_timeout_s: float = STOP_TIMEOUT_S,
    ) -> None:
        self._stop_timeout_s = stop_timeout_s
        # The write end stays open: when this process exits, its children read the end of the pipe.
        self._read, self._write = os.pipe()
        self._children = [_Child(program, environment, self._read) for program in programs]
        self._is_signalled = False
        self.stopping = threading.Event()

    def run(self) -> None:
        """Restart programs that exit until a signal arrives; return when all have stopped."""
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            if signal.getsignal(number) is not signal.SIG_IGN:  # as nohup leaves it
                signal.signal(number, self._handle_signal)
        while not self._is_signalled:
            for child in self._children:
                child.start_if_due()
            time.sleep(POLL_INTERVAL_S)
        self.stopping.set()
        running = [child.process for child in self._children if child.process and child.process.poll() is None]
        for process in running:
            process.terminate()
        deadline = clock.monotonic() + self._stop_timeout_s
        for process in running:
            try:
                process.wait(timeout=max(0.1, deadline - clock.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        os.close(self._write)
        os.close(self._read)

    def _handle_signal(self, *_: object) -> None:
        # Not the event: the signal may interrupt this thread while it holds the lock of the event.
        self._is_signalled = True


def follow_parent() -> None:
    """In a child process, send SIGTERM to itself when the parent exits."""
    descriptor = os.environ.pop(PARENT_PIPE, None)  # removed: a grandchild does not inherit the descriptor
    if descriptor is not None:
        threading.Thread(target=_wait_for_end, args=(int(descriptor),), daemon=True).start()


def _wait_for_end(descriptor: int) -> None:
    os.read(descriptor, 1)
    os.kill(os.getpid(), signal.SIGTERM)
