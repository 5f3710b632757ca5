"""Sends spans to a collector by OTLP over HTTP, in batches of a bounded queue and by a thread.

A collector that is away costs spans and no request: what does not fit into the queue is dropped. It is imported
only if a collector is configured.
"""

import io
import logging
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.trace import (
    Link,
    NonRecordingSpan,
    SpanContext,
    SpanKind,
    Status,
    StatusCode,
    TraceFlags,
    set_span_in_context,
)
from requests import Response, Session

from builders.kit.process import log
from builders.kit.process.traces import SPANS, Kind
from builders.kit.process.version import VERSION

PATH = "/v1/traces"
EXPORT_S = 5.0  # of one batch, with its repetitions
END_S = 2.0  # for the last spans of a process that stops
QUEUE = 4_096  # spans that wait; about 4 MB
BATCH, DELAY_MS = 512, 1_000
ANSWER_BYTES = 4_096

_log = log.get_logger()


def _shorten(response: Response, *_: Any, **__: Any) -> None:
    """Read only the beginning of an answer, which nobody needs."""
    source, response.raw = response.raw, io.BytesIO(response.raw.read(ANSWER_BYTES))
    source.close()


class CountedExporter(SpanExporter):
    """Counts what another exporter sends, and logs the first failure of a series."""

    def __init__(self, inner: SpanExporter) -> None:
        self._inner, self._has_failed = inner, False

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Send spans."""
        result = self._inner.export(spans)
        is_sent = result is SpanExportResult.SUCCESS
        SPANS.labels("exported" if is_sent else "failed").inc(len(spans))
        if not is_sent and not self._has_failed:
            _log.error("traces_not_exported", next_action="Check the collector of BUILDERS_TRACES_TO.")
        if is_sent and self._has_failed:
            _log.info("traces_exported_again")
        self._has_failed = not is_sent
        return result

    def shutdown(self) -> None:
        """End."""
        self._inner.shutdown()


class CountedProcessor(BatchSpanProcessor):
    """Counts the spans that end."""

    def on_end(self, span: ReadableSpan) -> None:
        """Queue a span."""
        SPANS.labels("ended").inc()
        super().on_end(span)


class Otel:
    """The spans of OpenTelemetry. Its provider is not the global one, so that no library adds spans of its own."""

    def __init__(self, provider: TracerProvider) -> None:
        self._tracer = provider.get_tracer("builders", VERSION)

    def start(self, name: str, kind: Kind, *, parent: Any, follows: str | None, links: str | None) -> Any:
        """Start a span; without a parent and a remote one to follow, as a new trace."""
        above = parent if follows is None else NonRecordingSpan(_read(follows, has_flags=True))
        return self._tracer.start_span(
            name,
            context=Context() if above is None else set_span_in_context(above, Context()),
            kind=SpanKind[kind.upper()],
            links=() if links is None else [Link(_read(links))],
        )

    def describe(self, span: Any) -> str:
        """Return a span as `traceparent`."""
        found = span.get_span_context()
        return f"00-{found.trace_id:032x}-{found.span_id:016x}-{found.trace_flags:02x}"

    def add_link(self, span: Any, traceparent: str) -> None:
        """Link a span to another one."""
        span.add_link(_read(traceparent))

    def end(self, span: Any, error: BaseException | None) -> None:
        """End a span. Of an error only its class is told: its text can quote what a client sent."""
        if error is not None:
            span.set_attribute("error.type", type(error).__name__)
            span.set_status(Status(StatusCode.ERROR))
        span.end()


def _read(traceparent: str, *, has_flags: bool = False) -> SpanContext:
    """Return the span of a valid `traceparent`; of another party's, its flag is not heard."""
    _, trace_id, span_id, flags = traceparent.split("-")
    given = TraceFlags(int(flags, 16) & TraceFlags.SAMPLED) if has_flags else TraceFlags()
    return SpanContext(int(trace_id, 16), int(span_id, 16), is_remote=True, trace_flags=given)


@contextmanager
def opened(url: str, *, process: str) -> Iterator[Otel]:
    """Open what sends spans; at the end, send those that wait for at most END_S.

    OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES, OTEL_TRACES_SAMPLER and OTEL_EXPORTER_OTLP_HEADERS are read, too.
    """
    logging.getLogger("opentelemetry").setLevel(logging.CRITICAL)  # each failure has a line there
    own = {"service.name": "builders", "service.version": VERSION, "builders.process": process}
    provider = TracerProvider(resource=Resource(own).merge(Resource.create()), shutdown_on_exit=False)
    session = Session()
    session.hooks["response"].append(_shorten)
    exporter = OTLPSpanExporter(url.rstrip("/") + PATH, timeout=EXPORT_S, session=session)
    provider.add_span_processor(
        CountedProcessor(
            CountedExporter(exporter),
            max_queue_size=QUEUE,
            max_export_batch_size=BATCH,
            schedule_delay_millis=DELAY_MS,
        )
    )
    try:
        yield Otel(provider)
    finally:
        ending = threading.Thread(target=provider.shutdown, daemon=True)
        ending.start()
        ending.join(END_S)
