"""Measure what watching costs a read, by processor time in one process: `python -m bench.observing`.

With a port of metrics a read counts in files in memory, and is noted for `builders top`. Without a collector of
traces nothing is put around a request; with one the spans are made here, and dropped.
"""

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from statistics import median
from typing import Any

from opentelemetry.sdk.trace import TracerProvider
from psycopg import AsyncCursor
from starlette.types import ASGIApp, Message, Scope

from bench import fixtures
from builders.app import create_app, lifespan
from builders.kit.http import request_metrics
from builders.kit.http.traced_requests import TracedRequests
from builders.kit.process import log, metrics, trace_export, traces
from builders.kit.process.settings import Settings

ROUNDS, SLICE, COUNTS = 15, 100, 20_000
TARGET = 1.0  # percent of a read


def make_scope(prepared: fixtures.Fixtures) -> Scope:
    """Return the scope of a read of a key by itself."""
    headers = [(b"host", b"bench.test"), (b"x-api-key", prepared.keys.secret.encode())]
    path = f"/v1/api-keys/{prepared.keys.ids[0]}"
    return {
        "type": "http",
        "http_version": "1.1",
        "method": "GET",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "headers": headers,
        "client": ("192.0.2.1", 1),
        "scheme": "http",
    }


async def send(app: ASGIApp, scope: Scope) -> Scope:
    """Send one request; return its scope with what the service has put into it."""
    scope = {**scope, "headers": [*scope["headers"]]}
    statuses: list[int] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def note(message: Message) -> None:
        statuses.append(message.get("status", 200))

    await app(scope, receive, note)
    assert {*statuses} == {200}
    return scope


async def cpu_us(work: Callable[[], Awaitable[object]]) -> float:
    """Return the processor time of a request, of SLICE in turn."""
    began = time.process_time()
    for _ in range(SLICE):
        await work()
    return (time.process_time() - began) / SLICE * 1e6


def counting_us(scope: Scope) -> float:
    """Return the processor time to count a request that has ended."""
    began = time.process_time()
    for _ in range(COUNTS):
        request_metrics.count(scope, status=200, seconds=0.001, waits_ms={})
    return (time.process_time() - began) / COUNTS * 1e6


async def measure(prepared: fixtures.Fixtures) -> list[str]:
    """Return a line for each figure."""
    given = {"data_dir": prepared.data_dir, "database_url": prepared.conninfo, "limits": "off"}
    settings = Settings.model_validate(given)
    scope = make_scope(prepared)
    service = create_app(settings)
    async with lifespan(service.api):
        ended = await send(service, scope)
        read = median([await cpu_us(lambda: send(service, scope)) for _ in range(ROUNDS)])
        counted = median([counting_us(ended) for _ in range(ROUNDS)])
        async with service.api.state.database.connection() as conn:
            is_plain = conn.cursor_factory is AsyncCursor
    share = counted / read * 100
    verdict = "met" if share <= TARGET else "MISSED"
    counting = f"metrics with a port, and `builders top`: {counted:.2f} µs, {share:.2f} % of a read"
    lines = [
        f"a read: {read:.0f} µs",
        f"{counting}; target {TARGET} %: {verdict}",
        f"traces without a collector: {'nothing is put in, 0 %' if is_plain else 'MISSED'}",
    ]
    with traces.made_by(trace_export.Otel(TracerProvider(shutdown_on_exit=False))):
        service = create_app(settings)
        traced = TracedRequests(service, ())
        async with lifespan(service.api):
            await send(traced, scope)
            found = median([await cpu_us(lambda: send(traced, scope)) for _ in range(ROUNDS)])
    return [*lines, f"traces with a collector: {found - read:.0f} µs more, without their export"]


def main() -> None:
    """Measure in a process that counts in shared files, and print the lines."""
    if metrics.FOLDER not in os.environ:
        with metrics.shared() as shared:
            program: Any = [sys.executable, "-m", "bench.observing"]
            sys.exit(subprocess.run(program, env={**os.environ, **shared}, check=False).returncode)
    log.configure(level="error")
    with fixtures.temporary_database() as (folder, conninfo):
        prepared = asyncio.run(fixtures.prepare(folder, conninfo))
        print("\n".join(asyncio.run(measure(prepared))))


if __name__ == "__main__":
    main()
