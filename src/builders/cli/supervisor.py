"""A parent process that restarts children that exit, replaces silent ones, and stops all of them on a signal.

A child inherits the read end of a pipe whose write end the parent holds. When the parent exits for any reason, the
pipe closes and the child stops too, so that no orphan keeps the port.
"""

import math
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Mapping, Sequence

from builders.cli.children import Child, Process, Program
from builders.cli.heartbeats import Heartbeats, Limits
from builders.cli.systemd import ServiceManager
from builders.kit.process import log
from builders.kit.process.parts import PARTS_FILE, PartsFile, Trouble
from builders.kit.values import clock

READY_WITHIN_S = 60.0
STOP_TIMEOUT_S = 30.0  # longer than a child needs for its requests and jobs
STACKS_S = 1.0  # for a silent child to write its stacks
POLL_INTERVAL_S = 0.2

_log = log.get_logger()


class ChildRefused(Exception):
    """A child can never start; the message says which and why, in one sentence."""


class Supervisor:
    """Run programs until SIGTERM or SIGINT, or SIGHUP when the terminal closes.

    SIGUSR1 replaces their processes. A program that does not stop within `stop_timeout_s` is killed. `release` is
    called when the stop begins. `limits` are those of silent children.
    """

    def __init__(
        self,
        programs: Sequence[Program],
        *,
        environment: Mapping[str, str],
        parts_file: PartsFile | None = None,
        stop_timeout_s: float = STOP_TIMEOUT_S,
        release: Callable[[], None] = lambda: None,
        limits: Limits | None = None,
    ) -> None:
        self._stop_timeout_s, self._release = stop_timeout_s, release
        # The write end stays open: when this process exits, its children read the end of the pipe.
        self._read, self._write = os.pipe()
        self._parts_file = parts_file or PartsFile()
        shared = self._parts_file.descriptor
        own = {**environment, PARTS_FILE: str(shared)}
        self._service_manager = ServiceManager(own)
        self._children = [Child(program, own, self._read, shared) for program in programs]
        self._ending: list[Process] = []  # after SIGTERM
        self._heartbeats = Heartbeats(clock.monotonic(), limits)
        self._silent: Child | None = None  # the one to replace
        self._is_signalled = self._must_replace = False
        self.stopping = threading.Event()

    def run(self) -> None:
        """Restart programs that exit until a signal arrives; return when all have stopped. Raise ChildRefused."""
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1):
            if signal.getsignal(number) is not signal.SIG_IGN:  # as nohup leaves it
                signal.signal(number, self._handle_signal)
        while self._wait(self._has_work, within_s=math.inf):
            if self._must_replace:
                self._must_replace = False
                self._replace_all()
            elif self._silent is not None and self._silent.process is not None:
                self._replace_silent(self._silent, self._silent.process)
        self.stopping.set()
        self._service_manager.report_stop()
        self._release()
        self._stop_all()
        os.close(self._write)
        os.close(self._read)
        if refused := self._find_refused():
            raise ChildRefused(f"`{refused.program.name}` cannot start: {refused.refusal}")

    def _tick(self) -> None:
        now = clock.monotonic()
        self._service_manager.feed(now)
        for child in self._children:
            child.tend(now)
        self._heartbeats.tick(now)
        self._parts_file.write({each.program.name: self._find_trouble(each, now) for each in self._children})
        if all(each.has_served for each in self._children):
            self._service_manager.report_ready()

    def _find_trouble(self, child: Child, now: float) -> Trouble | None:
        is_silent = child.process is not None and self._heartbeats.is_silent(child.process.beats, now)
        return child.find_trouble(now, is_silent=is_silent)

    def _find_refused(self) -> Child | None:
        return next((each for each in self._children if each.refusal is not None), None)

    def _has_work(self) -> bool:
        """Return whether processes have to be replaced: all of them, or a silent one."""
        running = {each.program.name: each for each in self._children if each.process is not None}
        beats = {name: each.process.beats for name, each in running.items() if each.process is not None}
        verdict = self._heartbeats.judge(beats, clock.monotonic())
        if verdict.blame_machine_for:
            _log.error("machine_silent", machine=socket.gethostname(), children=verdict.blame_machine_for)
        self._silent = None if verdict.replace is None else running[verdict.replace]
        return self._must_replace or self._silent is not None

    def _replace_silent(self, child: Child, process: Process) -> None:
        """Replace a child that does not respond, after its stacks are in the log."""
        silent_s = round(self._heartbeats.get_silence(process.beats, clock.monotonic()))
        process.ask_for_stacks()
        self._wait(lambda: bool(process.text), within_s=STACKS_S)
        self._wait(lambda: False, within_s=POLL_INTERVAL_S)  # for the rest of the text
        _log.error("child_silent", child=child.program.name, silent_s=silent_s, stacks=process.said)
        self._replace(child, stop_timeout_s=self._heartbeats.limits.kill_s)
        self._heartbeats.note_replacement(clock.monotonic())

    def _replace_all(self) -> None:
        """Replace the processes one after the other; stop at a new one that does not become ready."""
        for child in self._children:
            if not self._replace(child, stop_timeout_s=self._stop_timeout_s) or self._is_signalled:
                return

    def _replace(self, child: Child, *, stop_timeout_s: float) -> bool:
        """Replace a process; return False if the new one does not become ready."""
        former = child.process
        if child.program.reports:
            successor = child.start()
            self._wait(lambda: self._is_decided(successor), within_s=READY_WITHIN_S)
            if successor.beats.first is None:
                _log.error("replacement_failed", child=child.program.name, error=successor.said)
                self._end(successor, timeout_s=stop_timeout_s)
                return False
            former, child.process = child.process, successor
            self._end(former, timeout_s=stop_timeout_s)
        else:
            child.is_held = True  # its successor needs what it holds, such as a lock
            self._end(former, timeout_s=stop_timeout_s)
            child.process, child.is_held = None, False
        if not self._is_signalled:
            _log.info("child_replaced", child=child.program.name)
        return True

    def _is_decided(self, successor: Process) -> bool:
        """Return whether a process answers or has ended."""
        has_ended = successor.exit_code is not None
        successor.listen(clock.monotonic())
        return has_ended or successor.beats.first is not None

    def _end(self, process: Process | None, *, timeout_s: float) -> None:
        """Stop a process and wait until it has ended. After a signal `run` waits for it."""
        if process is None:
            return
        self._terminate(process)
        if not self._wait(lambda: process.exit_code is not None, within_s=timeout_s) and not self._is_signalled:
            process.signal(signal.SIGKILL)
            self._wait(lambda: process.exit_code is not None, within_s=timeout_s)
        if process.exit_code is not None:
            self._ending.remove(process)
            process.close()

    def _terminate(self, process: Process) -> None:
        process.signal(signal.SIGTERM)
        self._ending.append(process)

    def _stop_all(self) -> None:
        for child in self._children:
            if child.process is not None:
                self._terminate(child.process)
        deadline = clock.monotonic() + self._stop_timeout_s
        while running := [each for each in self._ending if each.exit_code is None]:
            now = clock.monotonic()
            self._service_manager.feed(now)
            if now >= deadline:
                for each in running:
                    each.signal(signal.SIGKILL)
            time.sleep(POLL_INTERVAL_S / 4)

    def _wait(self, is_over: Callable[[], bool], *, within_s: float) -> bool:
        """Wait, while children are tended; return False after the time, after a signal, and if one is refused."""
        deadline = clock.monotonic() + within_s
        while not self._is_signalled:
            self._tick()
            if self._find_refused():
                self._is_signalled = True
                return False
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
