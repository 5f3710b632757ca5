"""Logs of structlog and stdlib logging: one JSON object per line, or text on a terminal, without secrets.

The last step of each line masks secrets, which it recognizes by name or form, limits depth and size, and escapes
control characters, so that no value can forge or flood the log.
"""

import json
import logging
import math
import re
import sys
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum
from functools import lru_cache
from pathlib import PurePath
from threading import RLock
from typing import Any, Literal, TextIO
from uuid import UUID

import structlog
from structlog.typing import EventDict, FilteringBoundLogger, Processor

from builders.kit.process import log_console
from builders.kit.process.log_repeats import Repeats
from builders.kit.values import clock

Style = Literal["auto", "json", "console"]
MASK = "***"
_DEPTH = 6  # of containers within containers
_ITEMS = 50  # of one container
_TEXT = 8_192  # characters of one text
_EVENT = 32_768  # characters of one line, roughly
_READ = 4 * _TEXT  # characters at the two ends of a longer text, in which secrets are searched for
_NAME_READ, _NAME_TEXT = 1_024, 128  # the same for the name of a field
_LEAST = 64  # characters of a text that are shown when the line is full
_WORD = 64  # bits of an integer
_AHEAD = ("logger", "event", "request_id")
_CONTAINERS = (Mapping, list, tuple, set, frozenset)
_MUTE = ("color_message",)  # uvicorn's second copy of its message, with terminal colours
_OWN_HANDLERS = ("uvicorn", "uvicorn.error", "uvicorn.access")

_NAME = (
    r"(?:password|passwd|secret|token|authorization|api[_-]?key|cookie|conninfo|credential|private[_-]?key"
    r"|auth[_-]?code)"
)
_VALUE = r"""b?(?:'(?:[^'\\]|\\.)*+'|"(?:[^"\\]|\\.)*+"|\\++"[^"\\]*+|[^\s&;,'"<>()\[\]{}]++)"""
_secret_name = re.compile(_NAME, re.IGNORECASE)
# The forms of secrets: a part in lower case, which is searched for first; the pattern; the replacement. Each
# repeat is possessive or bounded, so that the time for hostile text is linear.
_LOOKS = tuple(
    (part, re.compile(look, re.IGNORECASE | re.DOTALL), rest)
    for part, look, rest in (
        ("svc_", r"svc_(live|test|grant)_[a-z0-9_-]++", rf"svc_\1_{MASK}"),
        ("whsec_", r"whsec_[a-z0-9+/=_-]++", f"whsec_{MASK}"),
        ("eyj", r"\beyJ[a-z0-9_-]++\.[a-z0-9_-]++\.[a-z0-9_-]*+", MASK),  # a JWT
        ("bearer", r"\b(Bearer)\s++[a-z0-9._~+/=-]++", rf"\1 {MASK}"),
        # User and password of a URL; of a database URL also with an unescaped password.
        ("://", r"(\b(?:postgres(?:ql)?|rediss?|smtps?)://)(?:[^\s@]{0,512}+@)++", rf"\1{MASK}@"),
        ("://", r"(?<=://)(?:[^\s@/?#]*+@)++", f"{MASK}@"),
        # password=x in a URL, a conninfo or a repr; 'password': 'x' in a mapping.
        ("=", rf"({_NAME}[a-z0-9_-]{{0,32}}=){_VALUE}", rf"\1{MASK}"),
        ('"', rf"""({_NAME}[a-z0-9_-]{{0,32}}\\*+"\s?:\s?){_VALUE}""", rf"\1{MASK}"),
        ("'", rf"""({_NAME}[a-z0-9_-]{{0,32}}\\*+'\s?:\s?){_VALUE}""", rf"\1{MASK}"),
        (":", r"((?:authorization|x-api-key|cookie):\s?)[^\r\n'\"]++", rf"\1{MASK}"),
        ("key=", r"([?&]key=)[^\s&#'\"]++", rf"\1{MASK}"),  # of some registrars
        # pydantic shows a refused value, which may be a password.
        ("input_value=", r"(\binput_value=).{0,200}?(?=, input_type=)", rf"\1{MASK}"),
    )
)


def redact(text: str) -> str:
    """Return the text with secrets masked."""
    lowered = text.lower()
    for part, look, rest in _LOOKS:
        if part in lowered:
            text = look.sub(rest, text)
    return text


@lru_cache(maxsize=512)
def _field(name: str) -> tuple[str, bool]:
    """Return the name as it is shown, and whether it is the name of a secret."""
    return _cut(redact(name), _NAME_TEXT), bool(_secret_name.search(name))


def _cut(text: str, limit: int) -> str:
    """Return the beginning and the end of a text that is longer than `limit` characters."""
    if len(text) <= limit:
        return text
    half = max(limit // 2, 1)
    return f"{text[:half]} [... {len(text) - 2 * half} characters ...] {text[-half:]}"


class _Copy:
    """Makes a masked copy of an event within the limits of size."""

    __slots__ = ("_left",)

    def __init__(self) -> None:
        self._left = _EVENT

    def mapping(self, value: Mapping[Any, object], depth: int = 0) -> dict[str, object]:  # any key
        """Return the mapping with a mask for each value whose name is that of a secret."""
        items = list(value.items())
        shown: dict[str, object] = {}
        for key, item in items[:_ITEMS]:
            name, secret = _field(_cut(_readable(key), _NAME_READ))
            self._left -= len(name)
            hidden = secret and item is not None and not isinstance(item, bool)
            shown[name] = MASK if hidden else self._value(item, depth + 1)
        if len(items) > _ITEMS:
            shown["[...]"] = f"{len(items) - _ITEMS} more"
        return shown

    def _value(self, value: object, depth: int) -> object:
        self._left -= 8
        if value is None or isinstance(value, bool):
            return value
        if self._left <= 0:
            return "[...]"
        if isinstance(value, _CONTAINERS):
            return self._container(value, depth)
        if isinstance(value, int) and not isinstance(value, Enum) and value.bit_length() <= _WORD:
            return value
        if isinstance(value, float) and math.isfinite(value):
            return value
        return self._text(_readable(value))

    def _text(self, text: str) -> str:
        # Masked before it is cut: the rest of a cut secret is not recognized.
        shown = _cut(redact(_cut(text, _READ)), min(_TEXT, max(self._left, _LEAST)))
        self._left -= len(shown)
        return shown

    def _container(self, value: Mapping[Any, object] | Collection[object], depth: int) -> object:
        if depth >= _DEPTH:
            return "[...]"
        if isinstance(value, Mapping):
            return self.mapping(value, depth)
        items = list(value)
        shown = [self._value(item, depth + 1) for item in items[:_ITEMS]]
        return shown if len(items) <= _ITEMS else [*shown, f"[... {len(items) - _ITEMS} more ...]"]


def _readable(value: object) -> str:
    try:
        match value:
            case str():
                text = value
            case Enum():
                text = str(value.value)
            case date():
                text = value.isoformat()
            case int() if value.bit_length() > _WORD:  # Python refuses to write out a very long one
                text = f"<integer of {value.bit_length()} bits>"
            case int() | UUID() | Decimal() | PurePath():
                text = str(value)
            case BaseException():
                text = f"{type(value).__name__}: {value}"
            case _:
                text = repr(value)
    except Exception:  # noqa: BLE001 - any object may be logged, and a log call must not raise
        return f"<unreadable {type(value).__name__}>"
    return text


_written = json.JSONEncoder(separators=(",", ":")).encode  # ASCII only, so control characters are escaped


def line(_logger: object, _method: str, event: EventDict) -> str:
    """Return the event as one line: masked, limited in size, its members in a fixed order."""
    head = {"timestamp": event.pop("timestamp"), "level": event.pop("level")}
    ahead = {key: event.pop(key) for key in _AHEAD if key in event}
    rest = {key: value for key, value in event.items() if key not in _MUTE}
    whole = head | _Copy().mapping(ahead | rest)
    return _written(whole) if lines.console is None else lines.console(whole)


def stamp(at: float) -> str:
    """Return the timestamp of a line for seconds since 1970: RFC 3339 in UTC, to the millisecond."""
    second, milli = divmod(math.floor(at * 1000), 1000)
    return f"{_second(second)}.{milli:03}Z"


@lru_cache(maxsize=16)
def _second(second: int) -> str:
    return datetime.fromtimestamp(second, UTC).replace(tzinfo=None).isoformat()


def _timestamp(_logger: object, _method: str, event: EventDict) -> EventDict:
    event["timestamp"] = stamp(clock.epoch())
    return event


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


def _write_count(event: EventDict) -> None:
    lines.write(line(None, "warning", _timestamp(None, "warning", event)))


repeats = Repeats(_write_count, _readable)


class _Handler(logging.Handler):
    """Writes records of stdlib logging."""

    def __init__(self, formatter: logging.Formatter) -> None:
        super().__init__()
        self.setFormatter(formatter)

    def emit(self, record: logging.LogRecord) -> None:
        try:
            text = self.format(record)
        except structlog.DropEvent:
            return
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
        raise ValueError(f"There is no log level {level!r}: debug, info, warning, error or critical.")
    lines.stream, lines.threshold = stream or sys.stderr, threshold
    is_console = style == "console" or (style == "auto" and lines.stream.isatty())
    lines.console = log_console.make_renderer() if is_console else None
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        _timestamp,
        repeats,
    ]
    repeats.clear()
    structlog.configure(
        processors=[*shared, structlog.processors.format_exc_info, line],
        wrapper_class=structlog.make_filtering_bound_logger(threshold),
        logger_factory=lambda *_: lines,
        cache_logger_on_first_use=False,  # loggers of modules follow a second call
    )
    stdlib = structlog.stdlib
    formatter = stdlib.ProcessorFormatter(
        foreign_pre_chain=[stdlib.ExtraAdder(), *shared, stdlib.add_logger_name],
        processors=[
            stdlib.ProcessorFormatter.remove_processors_meta,
            structlog.processors.format_exc_info,
            line,
        ],
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
