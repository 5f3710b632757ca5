"""Traces of a process, if a collector is configured."""

from collections.abc import Iterator
from contextlib import contextmanager

from builders.kit.process import traces
from builders.kit.process.settings import Settings


@contextmanager
def exported(settings: Settings, process: str) -> Iterator[None]:
    """Trace the process while the context is open; without a collector do and import nothing."""
    if settings.traces_to is None:
        yield
        return
    from builders.kit.process import trace_export  # noqa: PLC0415 - a second that few need

    with trace_export.opened(settings.traces_to, process=process) as backend, traces.made_by(backend):
        yield
