"""Spans of OpenTelemetry, if a collector is configured; else nothing of it is imported, and nothing is traced.

A span has only the attributes of ATTRIBUTES, whose values are names, numbers and the id of the request: no query,
body, header, parameter, address or text of an error. Work that follows later, such as a job or a delivery, has a
trace of its own, which is linked to the span that caused it (decision 0075).
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from structlog.contextvars import bound_contextvars, get_contextvars

from builders.kit.process import metrics

TRACEPARENT = "traceparent"  # in the context of the log: the present span, else that of the client's request
VALID = re.compile(r"00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}")  # W3C Trace Context
ATTRIBUTES: Mapping[str, str] = {
    "method": "http.request.method",
    "status": "http.response.status_code",
    "error": "error.type",
    "registrar": "builders.registrar",
    "attempt": "builders.attempt",
    "request_id": "builders.request_id",
}
SPANS = metrics.counter(
    "builders_trace_spans",
    "Spans by what happened: `ended`, then `exported` or `failed`; others were dropped from a full queue.",
    ["result"],
)

Kind = Literal["server", "client", "consumer", "internal"]


class Backend(Protocol):
    """What makes the spans (kit/process/trace_export.py)."""

    def start(self, name: str, kind: Kind, *, parent: object, follows: str | None, links: str | None) -> Any:
        """Start a span below a span, or below a remote one, or as a new trace."""

    def describe(self, span: Any) -> str:
        """Return a span as `traceparent`."""

    def add_link(self, span: Any, traceparent: str) -> None:
        """Link a span to another one."""

    def end(self, span: Any, error: BaseException | None) -> None:
        """End a span, as failed with an error."""


@dataclass(slots=True)
class _Tracing:
    backend: Backend | None = None  # None: no span is made


_tracing = _Tracing()
_innermost: ContextVar["Span | None"] = ContextVar("innermost_span", default=None)


@dataclass(frozen=True, slots=True)
class Span:
    """A span under way, or nothing."""

    inner: Any = None
    backend: Backend | None = None

    def set(self, **attributes: str | int | None) -> None:
        """Set attributes, without those that are None. Raise KeyError for one that is not in ATTRIBUTES."""
        for name, value in attributes.items():
            key = ATTRIBUTES[name]
            if self.backend is not None and value is not None:
                self.inner.set_attribute(key, value)

    def rename(self, name: str) -> None:
        """Give it a name that is known only now."""
        if self.backend is not None:
            self.inner.update_name(name)

    def link(self, traceparent: str | None) -> None:
        """Link it to the span that caused it."""
        if self.backend is not None and traceparent is not None and VALID.fullmatch(traceparent):
            self.backend.add_link(self.inner, traceparent)


NOTHING = Span()


@contextmanager
def span(
    name: str,
    kind: Kind = "internal",
    *,
    follows: str | None = None,
    caused_by: str | None = None,
    **attributes: str | int,
) -> Iterator[Span]:
    """Trace the block: below the present span of the task, below a remote span that it `follows`, or alone.

    `caused_by` is the span of earlier work, to which it is linked. What the block enqueues, publishes and calls
    gets its `traceparent`.
    """
    backend, parent = _tracing.backend, _innermost.get()
    if backend is None:
        yield NOTHING
        return
    made = backend.start(name, kind, parent=parent and parent.inner, follows=follows, links=caused_by)
    present, error = Span(made, backend), None
    present.set(**attributes)
    token = _innermost.set(present)
    try:
        with bound_contextvars(**{TRACEPARENT: backend.describe(made)}):
            yield present
    except BaseException as raised:
        error = raised
        raise
    finally:
        _innermost.reset(token)
        if parent is None:
            present.set(request_id=get_contextvars().get("request_id"))
        backend.end(made, error)


@contextmanager
def statement(name: str) -> Iterator[None]:
    """Trace a statement of the database, by its name, if the task has a span."""
    backend, parent = _tracing.backend, _innermost.get()
    if backend is None or parent is None:
        yield
        return
    made, error = backend.start(name, "client", parent=parent.inner, follows=None, links=None), None
    try:
        yield
    except BaseException as raised:
        error = raised
        raise
    finally:
        backend.end(made, error)


def is_on() -> bool:
    """Return whether spans are made."""
    return _tracing.backend is not None


def present() -> Span:
    """Return the innermost span of the task."""
    return _innermost.get() or NOTHING


def current() -> str | None:
    """Return the present span as `traceparent`, to store beside what follows later; None if none is made."""
    return get_contextvars().get(TRACEPARENT) if _tracing.backend is not None and _innermost.get() else None


@contextmanager
def made_by(backend: Backend) -> Iterator[None]:
    """Trace this process by a backend while the context is open."""
    _tracing.backend = backend
    try:
        yield
    finally:
        _tracing.backend = None
