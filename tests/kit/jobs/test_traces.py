"""The trace of a job: its own, linked to the span that enqueued it, also over an event."""

import json

import pytest
from structlog.contextvars import bound_contextvars

from builders.kit.db.connections import Conn, Database
from builders.kit.jobs import queue
from builders.kit.process import traces
from builders.kit.process.settings import Settings
from tests.collector import collecting, tracing
from tests.kit.jobs.recorder import Recorder

pytestmark = pytest.mark.usefixtures("registers")
ARGUMENTS = "SELECT args FROM procrastinate_jobs WHERE task_name = 'test.note' AND status = 'todo'"


async def test_a_job_is_linked_to_what_enqueued_it(
    own_database: Database, jobs_conn: Conn, recorder: Recorder, own: Settings
) -> None:
    with collecting() as collector, tracing(collector.url):
        with bound_contextvars(request_id="request-1"), traces.span("request", "server"):
            await queue.defer(jobs_conn, recorder.task, number=1)
        await queue.run_pending(own_database, own)
    (request,), (job,) = collector.named("request"), collector.named("test.note")
    assert (job.linked, job.parent_id) == ([request.id], "")
    assert job.attributes["builders.request_id"] == "request-1"
    assert recorder.requests == ["request-1"]


async def test_a_job_without_a_request_is_linked_to_the_job_before(
    own_database: Database, jobs_conn: Conn, recorder: Recorder, own: Settings
) -> None:
    recorder.enqueues_again = 1
    await queue.defer(jobs_conn, recorder.task, number=1)
    with collecting() as collector, tracing(collector.url):
        await queue.run_pending(own_database, own)
    first, second = collector.named("test.note")
    assert (first.linked, second.linked) == ([], [first.id])
    assert recorder.requests == [None, None]


async def test_a_failed_job_ends_its_span_with_the_class_of_the_error(
    own_database: Database, jobs_conn: Conn, recorder: Recorder, own: Settings
) -> None:
    recorder.fails = True
    await queue.defer(jobs_conn, recorder.task, number=1)
    with collecting() as collector, tracing(collector.url):
        await queue.run_pending(own_database, own)
    assert collector.named("test.note")[0].attributes == {"error.type": "ZeroDivisionError"}


async def test_without_a_collector_a_job_stores_the_request_alone(jobs_conn: Conn, recorder: Recorder) -> None:
    with bound_contextvars(request_id="request-1", traceparent="00-of-a-client"):
        await queue.defer(jobs_conn, recorder.task, number=1)
    (found,) = await (await jobs_conn.execute(ARGUMENTS)).fetchall()
    assert found[0] == {"number": 1, queue.ARGUMENT: "request-1"}, json.dumps(found[0])
