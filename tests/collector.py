"""A collector of OpenTelemetry on loopback: it keeps the spans that it receives (OTLP over HTTP)."""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from builders.kit.process import trace_export, traces


@dataclass(frozen=True, slots=True, kw_only=True)
class Received:
    """A span as it arrived."""

    process: str
    name: str
    kind: int
    trace_id: str
    span_id: str
    parent_id: str
    linked: Sequence[tuple[str, str]]  # ids of traces and spans
    attributes: dict[str, str | int]
    status: tuple[int, str]
    events: int

    @property
    def id(self) -> tuple[str, str]:
        return self.trace_id, self.span_id


@dataclass(slots=True)
class Collector:
    """What has arrived."""

    url: str = ""
    status: int = 200
    wait: threading.Event | None = None  # it answers when this is set
    spans: list[Received] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)

    def named(self, name: str) -> list[Received]:
        return [each for each in self.spans if each.name == name]

    def wait_for(self, is_there: Callable[[Self], bool], *, within_s: float = 30) -> None:
        deadline = time.monotonic() + within_s
        while not is_there(self):
            assert time.monotonic() < deadline, [each.name for each in self.spans]
            time.sleep(0.02)

    def receive(self, body: bytes) -> None:
        request = ExportTraceServiceRequest.FromString(body)
        self.bodies.append(body)
        for resource in request.resource_spans:
            of = {each.key: each.value.string_value for each in resource.resource.attributes}
            for scope in resource.scope_spans:
                self.spans += [_read(each, of.get("builders.process", "")) for each in scope.spans]


def _read(span: Any, process: str) -> Received:
    return Received(
        process=process,
        name=span.name,
        kind=span.kind,
        trace_id=span.trace_id.hex(),
        span_id=span.span_id.hex(),
        parent_id=span.parent_span_id.hex(),
        linked=[(each.trace_id.hex(), each.span_id.hex()) for each in span.links],
        attributes={each.key: each.value.string_value or each.value.int_value for each in span.attributes},
        status=(span.status.code, span.status.message),
        events=len(span.events),
    )


@contextmanager
def collecting(*, status: int = 200, wait: threading.Event | None = None) -> Iterator[Collector]:
    """Run a collector while the context is open."""
    collector = Collector(status=status, wait=wait)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if collector.wait is not None:
                collector.wait.wait()
            if collector.status == 200:
                collector.receive(body)
            self.send_response(collector.status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_request(self, *_: object) -> None:
            """Print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    collector.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield collector
    finally:
        if collector.wait is not None:
            collector.wait.set()
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def tracing(url: str) -> Iterator[None]:
    """Trace this process; at the end the collector has what it accepts."""
    with trace_export.opened(url, process="tests") as backend, traces.made_by(backend):
        yield
