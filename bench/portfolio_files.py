"""Measure the files of a portfolio, through HTTP: an import of 20,000 rows, its export, and parking revenue.

Times are seconds until the whole result is there: the state of the import, the last byte of the export. The
service and its worker run as `builders http` and `builders worker`, as in production.
"""

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date, timedelta
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

from bench import load

ROWS, PARKED, DAYS = 20_000, 1_000, 31
PARKING_ROWS = 10_000  # of a request
POLL_S = 0.05
READY_WITHIN_S = 60
HEADER = "domain,registrar,expires,purchase price,purchase date,currency,tags,notes,asking price\n"


@contextmanager
def serving(data_dir: Path, conninfo: str) -> Iterator[int]:
    """Run the service and a worker; yield the port."""
    environment = {
        **os.environ,
        "BUILDERS_DATABASE_URL": conninfo,
        "BUILDERS_DATA_DIR": str(data_dir),
        "BUILDERS_LIMITS": "off",
        "BUILDERS_LOG_LEVEL": "error",
    }
    program = [sys.executable, "-m", "builders"]
    with socket.create_server((load.HOST, 0), backlog=256) as listener:
        fd = listener.fileno()
        http = subprocess.Popen([*program, "http", "--fd", str(fd)], env=environment, pass_fds=[fd])
        worker = subprocess.Popen([*program, "worker"], env=environment)
        try:
            port = int(listener.getsockname()[1])
            _until(lambda: _request(port, "", "GET", "/readyz")[0] == 200, READY_WITHIN_S)
            yield port
        finally:
            for process in (http, worker):
                process.terminate()
                process.wait()


def _request(
    port: int, key: str, method: str, path: str, *, body: bytes | None = None, media_type: str = "text/csv"
) -> tuple[int, bytes]:
    connection = HTTPConnection(load.HOST, port, timeout=120)
    connection.request(method, path, body, {"X-API-Key": key, "Content-Type": media_type} if key else {})
    answer = connection.getresponse()
    text = answer.read()
    connection.close()
    return answer.status, text


def _until(is_done: Callable[[], bool], within_s: float) -> None:
    ends_at = time.monotonic() + within_s
    while not is_done():
        if time.monotonic() > ends_at:
            raise load.LoadFailed(f"not done within {within_s} s")
        time.sleep(POLL_S)


def table() -> str:
    """Return a CSV file of ROWS domains."""
    day = date(2020, 1, 1)
    lines = (
        f"import{n}.com,Porkbun,2027-{n % 12 + 1:02}-15,{n % 500}.50,{day + timedelta(days=n % 2000)},USD,"
        f"geo;sell,note {n},{n}.00\n"
        for n in range(ROWS)
    )
    return HEADER + "".join(lines)


def _import(port: int, key: str) -> float:
    body = table().encode()
    started = time.perf_counter()
    status, text = _request(port, key, "POST", "/v1/portfolio/import", body=body)
    if status not in {200, 202}:
        raise load.LoadFailed(f"import: {status} {text[:300]!r}")
    found: Any = json.loads(text)
    path = f"/v1/portfolio/imports/{found['import_id']}?limit=1"

    def is_done() -> bool:
        state = json.loads(_request(port, key, "GET", path)[1])["state"]
        if state == "failed":
            raise load.LoadFailed(f"import: {state}")
        return bool(state == "completed")

    _until(is_done, 300)
    return time.perf_counter() - started


def _export(port: int, key: str, path: str) -> float:
    started = time.perf_counter()
    status, text = _request(port, key, "GET", path)
    if status != 200 or text.count(b"import") < ROWS:
        raise load.LoadFailed(f"{path}: {status}, {len(text)} bytes")
    return time.perf_counter() - started


def _parking(port: int, key: str) -> float:
    first = date(2026, 1, 1)
    rows = [
        f"import{n}.com,{first + timedelta(days=day)},sedo,0.{n % 90 + 10},USD,{n % 7}\n"
        for n in range(PARKED)
        for day in range(DAYS)
    ]
    started = time.perf_counter()
    for begin in range(0, len(rows), PARKING_ROWS):
        text = "domain,date,provider,revenue,currency,clicks\n" + "".join(rows[begin : begin + PARKING_ROWS])
        status, answer = _request(port, key, "POST", "/v1/portfolio/parking/revenue", body=text.encode())
        if status != 201:
            raise load.LoadFailed(f"parking: {status} {answer[:300]!r}")
    return time.perf_counter() - started


def measure(port: int, key: str) -> Iterator[str]:
    """Yield a line of the table for each kind of file; the account is empty before."""
    yield f"| import of {ROWS:,} rows | {_import(port, key):.1f} s |"
    for path in ("/v1/portfolio/export", "/v1/portfolio/export.csv"):
        yield f"| {path} of {ROWS:,} domains | {_export(port, key, path):.1f} s |"
    yield f"| parking of {PARKED:,} domains in {DAYS} days | {_parking(port, key):.1f} s |"
