"""Spans: what they say, where they belong, and what happens without a collector."""

import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from io import StringIO

import pytest
from opentelemetry import trace
from structlog.contextvars import bound_contextvars

from builders.kit.process import log, metrics, trace_export, traces
from tests import log_lines
from tests.collector import Collector, collecting, tracing

REMOTE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"
REMOTE_ID = ("0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331")
HEAVY = ("opentelemetry.sdk", "opentelemetry.exporter", "opentelemetry.proto", "google.protobuf")


@pytest.fixture
def collector() -> Iterator[Collector]:
    with collecting() as found:
        yield found


def count(result: str) -> float:
    return metrics.REGISTRY.get_sample_value("builders_trace_spans_total", {"result": result}) or 0.0


def test_of_an_endless_answer_only_the_beginning_is_read() -> None:
    sent = 0
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def answer() -> None:
            nonlocal sent
            client, _ = listener.accept()
            with client, suppress(OSError):
                client.recv(65536)
                client.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n")
                while sent < 1_000_000_000:
                    sent += client.send(bytes(65536))

        thread = threading.Thread(target=answer)
        thread.start()
        with tracing(f"http://127.0.0.1:{listener.getsockname()[1]}"), traces.span("one"):
            pass
        thread.join()
    assert sent < 100_000_000


def test_a_span_below_another_has_its_trace(collector: Collector) -> None:
    with tracing(collector.url), traces.span("above", "server"), traces.span("below", "client"):
        pass
    below, above = collector.named("below")[0], collector.named("above")[0]
    assert (below.trace_id, below.parent_id, above.parent_id) == (above.trace_id, above.span_id, "")
    assert below.process == "tests"


def test_later_work_is_linked_and_no_child(collector: Collector) -> None:
    with tracing(collector.url), traces.span("job", "consumer", caused_by=REMOTE):
        pass
    (job,) = collector.spans
    assert (job.linked, job.parent_id) == ([REMOTE_ID], "")
    assert job.trace_id != REMOTE_ID[0]


def test_a_cause_that_is_found_late_is_linked(collector: Collector) -> None:
    with tracing(collector.url), traces.span("job", "consumer"):
        traces.present().link(REMOTE)
        traces.present().link("no span")
        traces.present().link(None)
    assert collector.spans[0].linked == [REMOTE_ID]


def test_the_outermost_span_has_the_id_of_the_request(collector: Collector) -> None:
    bound = bound_contextvars(request_id="request-1")
    with tracing(collector.url), bound, traces.span("above"), traces.span("below"):
        pass
    found = {each.name: each.attributes.get("builders.request_id") for each in collector.spans}
    assert found == {"above": "request-1", "below": None}


def test_what_follows_gets_the_present_span(collector: Collector) -> None:
    with tracing(collector.url), traces.span("above"):
        stored = traces.current()
    assert stored is not None
    assert tuple(stored.split("-")[1:3]) == collector.spans[0].id
    assert traces.current() is None


def test_of_an_error_only_the_class_is_told(collector: Collector) -> None:
    with tracing(collector.url), pytest.raises(LookupError), traces.span("failing"), traces.statement("read"):
        raise LookupError("hidden")
    found = {each.name: (each.attributes, each.status, each.events) for each in collector.spans}
    assert found == {name: ({"error.type": "LookupError"}, (2, ""), 0) for name in ("failing", "read")}


def test_an_attribute_that_is_not_listed_is_refused() -> None:
    with pytest.raises(KeyError):
        traces.NOTHING.set(path="/")


def test_a_statement_without_a_span_makes_none(collector: Collector) -> None:
    with tracing(collector.url):
        with traces.statement("alone"):
            pass
        with traces.span("above"), traces.statement("below"):
            pass
    assert sorted(each.name for each in collector.spans) == ["above", "below"]


def test_libraries_make_no_spans_of_their_own(collector: Collector) -> None:
    with tracing(collector.url), trace.get_tracer("a.library").start_as_current_span("of a library"):
        pass
    assert collector.spans == []


def test_without_a_collector_there_is_no_span() -> None:
    with traces.span("nothing") as span:
        span.set(status=200)
        span.rename("other")
        span.link(REMOTE)
        assert (span, traces.current(), traces.is_on()) == (traces.NOTHING, None, False)


def test_without_a_collector_nothing_of_it_is_imported() -> None:
    program = (
        "import sys, builders.cli.http, builders.cli.worker, builders.worker\n"
        f"print([each for each in sys.modules if each.startswith({HEAVY!r})])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.fixture
def logged() -> Iterator[StringIO]:
    stream = StringIO()
    log.configure(level="info", stream=stream)
    yield stream
    log_lines.write_errors_only()


def test_a_collector_that_refuses_is_told_once(logged: StringIO) -> None:
    before, failed = count("ended"), count("failed")
    with collecting(status=400) as refusing, tracing(refusing.url):
        for _ in range(3 * trace_export.BATCH):
            with traces.span("lost"):
                pass
    assert (count("ended") - before, count("failed") - failed) == (3 * trace_export.BATCH,) * 2
    assert logged.getvalue().count("traces_not_exported") == 1
    assert logged.getvalue().count("\n") == 1


def test_a_collector_that_is_away_ends_no_process(logged: StringIO) -> None:
    ended, exported = count("ended"), count("exported")
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))  # without `listen`
        with tracing(f"http://127.0.0.1:{bound.getsockname()[1]}"), traces.span("lost"):
            pass
    assert (count("ended") - ended, count("exported") - exported) == (1, 0)
    assert "Traceback" not in logged.getvalue()


def test_a_collector_that_does_not_answer_costs_spans_and_no_request() -> None:
    with collecting(wait=threading.Event()) as silent:
        ended, exported = count("ended"), count("exported")
        with tracing(silent.url):
            for _ in range(2 * trace_export.QUEUE):
                with traces.span("dropped"):
                    pass
        assert (count("ended") - ended, count("exported") - exported) == (2 * trace_export.QUEUE, 0)
