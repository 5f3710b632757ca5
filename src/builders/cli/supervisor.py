"""A parent process that restarts children that exit, replaces them on a signal, and stops all of them on another.

A child inherits the read end of a pipe whose write end the parent holds. When the parent exits for any reason, the
pipe closes and the child stops too, so that no orphan keeps the port.
"""

import math
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from builders.kit.process import log
from builders.kit.values import clock

PARENT_PIPE = "BUILDERS_LIFELINE"
READY_PIPE = "BUILDERS_READY_PIPE"
READY_WITHIN_S = 60.0
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
    reports: bool = False  # calls `report_ready`, and can run beside the process that it replaces


class _Child:
    """The process of one program, which is started again when it exits."""

    def __init__(self, program: Program, environment: Mapping[str, str], parent_pipe: int) -> None:
        self.program = program
        self._environment = {**environment, PARENT_PIPE: str(parent_pipe)}
        self._descriptors = (*program.descriptors, parent_pipe)
        self._ready_pipe: int | None = None
        self.is_ready = False
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
            self.start()

    def start(self) -> None:
        """Start the program."""
        self.close()
        environment, descriptors = self._environment, self._descriptors
        if self.program.reports:
            self._ready_pipe, its_end = os.pipe()
            os.set_blocking(self._ready_pipe, False)
            environment, descriptors = {**environment, READY_PIPE: str(its_end)}, (*descriptors, its_end)
        self.process = subprocess.Popen(  # noqa: S603 - a program of this package
            self.program.command, env=environment, pass_fds=descriptors, start_new_session=True
        )
        if self.program.reports:
            os.close(its_end)
        self._started, self._due = clock.monotonic(), 0.0

    def has_reported(self) -> bool:
        """Return whether the process has reported that it works, or has ended; set `is_ready`."""
        if self._ready_pipe is not None:
            with suppress(BlockingIOError):  # neither
                self.is_ready = bool(os.read(self._ready_pipe, 1))
                self.close()
        return self._ready_pipe is None

    def close(self) -> None:
        """Close the pipe of the report."""
        if self._ready_pipe is not None:
            os.close(self._ready_pipe)
            self._ready_pipe = None


class Supervisor:
    """Run programs until SIGTERM or SIGINT, or SIGHUP when the terminal closes.

    SIGUSR1 replaces their processes. A program that does not stop within `stop_timeout_s` is killed. `release` is
    called when the stop begins.
    """

    def __init__(
        self,
        programs: Sequence[Program],
        *,
        environment: Mapping[str, str],
        stop_timeout_s: float = STOP_TIMEOUT_S,
        release: Callable[[], None] = lambda: None,
    ) -> None:
        self._stop_timeout_s, self._release = stop_timeout_s, release
        # The write end stays open: when this process exits, its children read the end of the pipe.
        self._read, self._write = os.pipe()
        self._environment = environment
        self._children = [_Child(program, environment, self._read) for program in programs]
        self._ending: list[subprocess.Popen[bytes]] = []  # after SIGTERM
        self._is_signalled = self._must_replace = False
        self.stopping = threading.Event()

    def run(self) -> None:
        """Restart programs that exit until a signal arrives; return when all have stopped."""
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1):
            if signal.getsignal(number) is not signal.SIG_IGN:  # as nohup leaves it
                signal.signal(number, self._handle_signal)
        while self._wait(lambda: self._must_replace, within_s=math.inf):
            self._must_replace = False
            self._replace()
        self.stopping.set()
        self._release()
        for child in self._children:
            self._terminate(child)
        deadline = clock.monotonic() + self._stop_timeout_s
        for process in self._ending:
            try:
                process.wait(timeout=max(0.1, deadline - clock.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        os.close(self._write)
        os.close(self._read)

    def _replace(self) -> None:
        """Replace the processes one after the other; stop at a new one that does not become ready."""
        for place, child in enumerate(tuple(self._children)):
            successor = _Child(child.program, self._environment, self._read)
            if child.program.reports:
                successor.start()
                self._wait(successor.has_reported, within_s=READY_WITHIN_S)
                if not successor.is_ready:
                    _log.error("replacement_failed", child=child.program.name)
                    self._end(successor)
                    return
                self._children[place] = successor
                self._end(child)
            else:
                self._children.remove(child)  # its successor needs what it holds, such as a lock
                self._end(child)
                self._children.insert(place, successor)
            if self._is_signalled:
                return
            _log.info("child_replaced", child=child.program.name)

    def _end(self, child: _Child) -> None:
        """Stop a child and wait until it has ended. After a signal `run` waits for it."""
        process = self._terminate(child)
        if process is None or self._wait(lambda: process.poll() is not None, within_s=self._stop_timeout_s):
            return
        if not self._is_signalled:
            process.kill()

    def _terminate(self, child: _Child) -> subprocess.Popen[bytes] | None:
        child.close()
        if child.process is None or child.process.poll() is not None:
            return None
        child.process.terminate()
        self._ending.append(child.process)
        return child.process

    def _wait(self, is_over: Callable[[], bool], *, within_s: float) -> bool:
        """Wait, while children that exit are restarted; return False after the time, and after a signal."""
        deadline = clock.monotonic() + within_s
        while not self._is_signalled:
            for child in self._children:
                child.start_if_due()
            if is_over():
                return True
            if clock.monotonic() >= deadline:
                return False
            time.sleep(POLL_INTERVAL_S)
        return False

    def _handle_signal(self, number: int, _: object) -> None:
        # Not the event: the signal may interrupt this thread while it holds the lock of the event.
        if number == signal.SIGUSR1:
            self._must_replace = True
        else:
            self._is_signalled = True


def follow_parent() -> None:
    """In a child process, send SIGTERM to itself when the parent exits."""
    descriptor = os.environ.pop(PARENT_PIPE, None)  # removed: a grandchild does not inherit the descriptor
    if descriptor is not None:
        threading.Thread(target=_wait_for_end, args=(int(descriptor),), daemon=True).start()


def report_ready() -> None:
    """In a child process, tell the parent that it works."""
    descriptor = os.environ.pop(READY_PIPE, None)
    if descriptor is not None:
        os.write(int(descriptor), b"1")
        os.close(int(descriptor))


def _wait_for_end(descriptor: int) -> None:
    os.read(descriptor, 1)
    os.kill(os.getpid(), signal.SIGTERM)
