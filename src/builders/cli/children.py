"""A child process of `serve` as its parent sees it: its program, its process, and what its pipe says."""

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from builders.cli.heartbeats import Beats, Ends
from builders.kit.process import log
from builders.kit.process.parts import Trouble
from builders.kit.process.supervision import BEAT, HOPELESS, PARENT_PIPE, REPORT_PIPE, STACKS_SIGNAL
from builders.kit.values import clock

CHUNK_BYTES = 65_536  # of a pipe
SAID_BYTES = 16_384  # of the text of a child that are kept: the end of a traceback has the reason
REPORT_S = 60.0  # between two lines about a child that keeps ending
START_S = 60.0  # a child without a byte for longer has not started

_log = log.get_logger()


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """The command of a child, and the file descriptors that it inherits."""

    name: str
    command: Sequence[str]
    descriptors: Sequence[int] = ()
    reports: bool = (
        False  # its first byte says that it answers, and it can run beside the process that it replaces
    )


class Process:
    """A running process of a program."""

    def __init__(self, program: Program, environment: Mapping[str, str], descriptors: Sequence[int]) -> None:
        """Start it; it inherits the descriptors beside those of the program."""
        self.name = program.name
        self.beats = Beats()
        self.is_hopeless = False
        self.text = b""
        self.started = clock.monotonic()
        self._pipe, its_end = os.pipe()
        for each in (self._pipe, its_end):
            os.set_blocking(each, False)
        try:
            self._process = subprocess.Popen(  # noqa: S603 - a program of this package
                program.command,
                env={**environment, REPORT_PIPE: str(its_end)},
                pass_fds=(*program.descriptors, *descriptors, its_end),
                start_new_session=True,
            )
        finally:
            os.close(its_end)

    def listen(self, now: float) -> None:
        """Read what the process has written."""
        with suppress(BlockingIOError):
            while content := os.read(self._pipe, CHUNK_BYTES):
                if BEAT in content:
                    self.beats.hear(now)
                self.is_hopeless = self.is_hopeless or HOPELESS in content
                text = content.replace(BEAT, b"").replace(HOPELESS, b"")
                self.text = (self.text + text)[-SAID_BYTES:]

    @property
    def exit_code(self) -> int | None:
        """The exit status, negative for a signal; None while the process runs."""
        return self._process.poll()

    @property
    def said(self) -> str:
        """The text that the process has written."""
        return self.text.decode(errors="replace").strip()

    def signal(self, number: signal.Signals) -> None:
        """Send a signal, unless the process has ended."""
        self._process.send_signal(number)

    def ask_for_stacks(self) -> None:
        """Let the process write the stacks of its threads; it obeys while its loop is blocked, too."""
        self.text = b""
        self._process.send_signal(STACKS_SIGNAL)

    def close(self) -> None:
        """Close the pipe of a process that has ended."""
        os.close(self._pipe)


class Child:
    """A program that is started again when its process ends."""

    def __init__(self, program: Program, environment: Mapping[str, str], parent_pipe: int, *others: int) -> None:
        """Give its processes the pipe that ends with the parent, and other descriptors."""
        self.program = program
        self._environment = {**environment, PARENT_PIPE: str(parent_pipe)}
        self._descriptors = (parent_pipe, *others)
        self.process: Process | None = None
        self.is_held = False  # it is not started until its predecessor has ended
        self.has_served = False
        self.refusal: str | None = None  # why no process of it can start
        self._ends = Ends()
        self._due = 0.0
        self._unreported, self._reported_at, self._last_said = 0, -REPORT_S, ""
        self._last: tuple[int, float, str] = (0, 0.0, "")  # exit code, pause and text of the last end

    def start(self) -> Process:
        """Return a new process, which is not the one of this child yet."""
        return Process(self.program, self._environment, self._descriptors)

    def tend(self, now: float) -> None:
        """Read what the process says; start it again if it has ended and its pause is over."""
        if self.process is not None:
            code = self.process.exit_code
            self.process.listen(now)
            self.has_served = self.has_served or self.process.beats.first is not None
            if code is not None and not self.is_held:
                self._note_end(self.process, code, now)
        if self.process is None and not self.is_held and self.refusal is None and now >= self._due:
            self.process = self.start()
        if self._unreported and now - self._reported_at >= REPORT_S:
            self._report_ends(now)

    def _note_end(self, process: Process, code: int, now: float) -> None:
        process.close()
        self.process = None
        if process.is_hopeless and not self.has_served:
            self.refusal = process.said
            return
        pause_s = self._ends.note(now, ran_s=now - process.started)
        self._due = now + pause_s
        self._unreported += 1
        self._last = (code, pause_s, process.said)

    def _report_ends(self, now: float) -> None:
        """Log the ends since the last line: the reason in short, and the traceback when it is another one."""
        code, pause_s, said = self._last
        whole = {"output": said} if "\n" in said and said != self._last_said else {}
        reason = {"error": said.splitlines()[-1]} if said else {}
        _log.error(
            "child_died",
            child=self.program.name,
            exit_code=code,
            times=self._unreported,
            restart_in_s=pause_s,
            **reason,
            **whole,
        )
        self._unreported, self._reported_at, self._last_said = 0, now, said

    def find_trouble(self, now: float, *, is_silent: bool) -> Trouble | None:
        """Return what is wrong with the child."""
        beats = None if self.process is None else self.process.beats
        if self._ends.are_many(now, serving_since=None if beats is None else beats.first):
            return Trouble.ENDS
        if is_silent:
            return Trouble.SILENT
        is_late = (
            self.process is not None and self.process.beats.first is None and now - self.process.started > START_S
        )
        return Trouble.NOT_STARTED if is_late else None
