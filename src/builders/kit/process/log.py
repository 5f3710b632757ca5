"""Logs of structlog and stdlib logging: one JSON object per line, or text on a terminal, without secrets.

The last step of each line masks secrets (`redaction`) and escapes control characters, so that no value can forge
or flood the log.
"""

import json
import logging
import os
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from threading import RLock
from typing import Any, Literal, TextIO

import structlog
from structlog.dev import ConsoleRenderer, plain_traceback
from structlog.typing import EventDict, FilteringBoundLogger, Processor

from builders.kit.process.redaction import MaskedCopy
from builders.kit.values import clock

Style = Literal["auto", "json", "console"]
_AHEAD = ("logger", "event", "request_id")
_MUTE = ("color_message",)  # uvicorn's second copy of its message, with terminal colours
_OWN_HANDLERS = ("uvicorn", "uvicorn.error", "uvicorn.access")
LONGEST_VALUE = 160  # characters of a member on a terminal; JSON lines contain more
_TIME = slice(11, 23)  # of a timestamp: the time without the day

_written = json.JSONEncoder(separators=(",", ":")).encode  # ASCII only, so control characters are escaped


def line(_logger: object, _method: str, event: EventDict) -> str:
    """Return the event as one line: masked, limited in size, its members in a fixed order."""
    head = {"timestamp": event.pop("timestamp"), "level": event.pop("level")}
    ahead = {key: event.pop(key) for key in _AHEAD if key in event}
    rest = {key: value for key, value in event.items() if key not in _MUTE}
    whole = head | MaskedCopy().mapping(ahead | rest)
    return _written(whole) if lines.console is None else lines.console(whole)


def stamp(at: float) -> str:
    """Return the timestamp of a line for seconds since 1970: RFC 3339 in UTC, to the millisecond."""
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _timestamp(_logger: object, _method: str, event: EventDict) -> EventDict:
    event["timestamp"] = stamp(clock.epoch())
    return event


def make_renderer() -> Callable[[Mapping[str, Any]], str]:
    """Return a function that writes a masked event as text; without colours with NO_COLOR or TERM=dumb."""
    colors = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    render = ConsoleRenderer(colors=colors, pad_event_to=0, sort_keys=False, exception_formatter=plain_traceback)

    def write(event: Mapping[str, Any]) -> str:
        shown = dict(event)
        if shown.get("event") == "request":  # method, path and status as one text
            shown["event"] = " ".join(str(shown.pop(name, None)) for name in ("method", "path", "status"))
        trace = shown.pop("exception", None)
        for name, value in shown.items():
            text = _printable(str(value))
            shown[name] = text if len(text) <= LONGEST_VALUE else f"{text[:LONGEST_VALUE]}..."
        shown["timestamp"] = shown["timestamp"][_TIME]
        if trace is not None:
            shown["exception"] = "\n".join(map(_printable, str(trace).split("\n")))
        return str(render(None, str(event["level"]), shown))

    return write


def _printable(text: str) -> str:
    """Return the text with each character that could control a terminal as its escape."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text)


class Lines:
    """Writes lines; an error of the stream is ignored, so that no request fails."""

    def __init__(self) -> None:
        self.stream: TextIO = sys.stderr
        self.threshold = logging.INFO
        self.console: Callable[[Mapping[str, Any]], str] | None = None  # None: lines of JSON
        # Reentrant: the garbage collector can log, as for asyncio's tasks, while the thread is writing.
        self._lock = RLock()
        self._gone = suppress(OSError, ValueError, RuntimeError)

    def write(self, line: str) -> None:
        """Write one line, or several with a line feed between them."""
        with self._lock, self._gone:
            self.stream.write(f"{line}\n")
            self.stream.flush()

    debug = info = warning = error = critical = write  # what structlog calls, by level


lines = Lines()  # of the process


class _Handler(logging.Handler):
    """Writes records of stdlib logging."""

    def __init__(self, formatter: logging.Formatter) -> None:
        super().__init__()
        self.setFormatter(formatter)

    def emit(self, record: logging.LogRecord) -> None:
        try:
            text = self.format(record)
        except Exception:  # noqa: BLE001 - logging would print the arguments of the record, unmasked
            text = _written({"level": "error", "logger": record.name, "event": "log_record_unreadable"})
        lines.write(text)


def configure(*, level: str = "info", stream: TextIO | None = None, style: Style = "auto") -> None:
    """Write all logs from this level up to the stream (stderr when None); a second call replaces the first.

    The style `auto` is text on a terminal, else JSON. Start uvicorn with log_config=None, or it restores its own
    handlers. Raise ValueError for an unknown level.
    """
    threshold = logging.getLevelNamesMapping().get(level.upper())
    if threshold is None:
        raise ValueError(f"{level!r} is not a log level; use debug, info, warning, error or critical.")
    lines.stream, lines.threshold = stream or sys.stderr, threshold
    is_console = style == "console" or (style == "auto" and lines.stream.isatty())
    lines.console = make_renderer() if is_console else None
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        _timestamp,
    ]
    structlog.configure(
        processors=[*shared, structlog.processors.format_exc_info, line],
        wrapper_class=structlog.make_filtering_bound_logger(threshold),
        logger_factory=lambda *_: lines,
        cache_logger_on_first_use=False,  # loggers of modules follow a second call
    )
    stdlib = structlog.stdlib
    formatter = stdlib.ProcessorFormatter(
        foreign_pre_chain=[stdlib.ExtraAdder(), *shared, stdlib.add_logger_name],
        processors=[stdlib.ProcessorFormatter.remove_processors_meta, structlog.processors.format_exc_info, line],
    )
    root = logging.getLogger()
    root.handlers[:] = [_Handler(formatter)]
    root.setLevel(threshold)
    for name in _OWN_HANDLERS:
        own = logging.getLogger(name)
        own.handlers.clear()
        own.propagate = True
        own.setLevel(logging.NOTSET)


def get_logger() -> FilteringBoundLogger:
    """Return a logger for structured events: log.info("plan_promoted", plan_id=...)."""
    logger: FilteringBoundLogger = structlog.get_logger()
    return logger
