"""A child process of `serve`: how it ends with its parent, and what it tells it (cli/supervisor.py).

A pipe leads to the parent. BEAT and HOPELESS are bytes of it; all other bytes are text: why the process ends, and
the stacks of its threads when the parent asks for them by SIGUSR2. A write never waits: while the parent is
stopped, the pipe fills, and what does not fit is lost.
"""

import asyncio
import faulthandler
import os
import signal
import sys
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Literal, TypeAlias

from builders.kit.process import metrics

PARENT_PIPE = "BUILDERS_LIFELINE"
REPORT_PIPE = "BUILDERS_REPORT_PIPE"
BEAT = b"\x01"  # the serving loop turns; the first one says that the process answers
HOPELESS = b"\x02"  # the process can never start: the text says why
BEAT_S = 1.0
STACKS_SIGNAL = signal.SIGUSR2
# What a start raises each time: a fault of the code, the packages or a setting. Others, such as those of a
# database that is away, can be over at the next start.
_LASTING = (
    *(ImportError, SyntaxError, TypeError, ValueError, LookupError, NameError, AttributeError),
    *(FileNotFoundError, PermissionError, IsADirectoryError, NotADirectoryError),
)


Name: TypeAlias = Literal["http", "worker", "lookup", "filter", "mail-log", "backup"]
LAG = metrics.histogram(
    "builders_loop_lag_seconds",
    "How late the event loop of a process runs what is due, measured each second.",
    ["process"],
    buckets=(0.005, 0.02, 0.1, 0.5, 2),
)


class _Parent:
    """The pipe to the parent; without one, nothing is told."""

    pipe: int | None = None
    is_serving = False  # this process has answered


_parent = _Parent()


def follow() -> None:
    """In a child process, end when the parent ends, and report to it; elsewhere do nothing.

    Call it before the service is imported: what fails afterwards is reported.
    """
    # Removed from the environment: a grandchild does not inherit the descriptors.
    life, report = os.environ.pop(PARENT_PIPE, None), os.environ.pop(REPORT_PIPE, None)
    if life is not None:
        os.set_inheritable(int(life), False)
        threading.Thread(target=_wait_for_end, args=(int(life),), daemon=True).start()
    if report is not None:
        _parent.pipe = int(report)
        os.set_inheritable(_parent.pipe, False)
        faulthandler.enable(file=_parent.pipe)
        faulthandler.register(STACKS_SIGNAL, file=_parent.pipe)
        sys.excepthook = _report_error


def is_followed() -> bool:
    """Return whether the process reports to a parent."""
    return _parent.pipe is not None


def beat() -> None:
    """Tell the parent that the process works."""
    _parent.is_serving = True
    _write(BEAT)


@contextmanager
def beating(process: Name) -> Iterator[None]:
    """Tell the parent each second that the running event loop turns, and measure how late it does."""
    loop = asyncio.get_running_loop()
    lag = LAG.labels(process)
    timer: asyncio.TimerHandle | None = None

    def tell(due: float) -> None:
        nonlocal timer
        lag.observe(loop.time() - due)
        beat()
        timer = loop.call_later(BEAT_S, tell, loop.time() + BEAT_S)

    tell(loop.time())
    try:
        yield
    finally:
        if timer is not None:
            timer.cancel()


def report_end(reason: str, *, is_hopeless: bool) -> None:
    """Tell the parent why the process ends, and whether each further start would end in the same way."""
    text = reason.replace(BEAT.decode(), "").replace(HOPELESS.decode(), "")
    _write((HOPELESS if is_hopeless else b"") + text.encode(errors="backslashreplace"))


def _report_error(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    if isinstance(error, _LASTING) and not _parent.is_serving:
        report_end(describe(error), is_hopeless=True)
    else:
        report_end("".join(traceback.format_exception(kind, error, trace)), is_hopeless=False)


def describe(error: BaseException) -> str:
    """Return an error as one line, without its traceback."""
    lines = str(error).strip().splitlines() or [""]
    return f"{type(error).__name__}: {lines[0]}"


def _write(content: bytes) -> None:
    if _parent.pipe is None:
        return
    try:
        os.write(_parent.pipe, content)
    except OSError:  # full while the parent is stopped; broken when it has ended
        return


def _wait_for_end(descriptor: int) -> None:
    os.read(descriptor, 1)
    os.kill(os.getpid(), signal.SIGTERM)
