"""Measure how the service grows with what an account has.

    python -m bench.growth [--rows N,N,...] [--curves FOLDER]

For each number of rows there is a database with one account that has as many names, events, deliveries, opens,
ledger entries and charges. Measured are every list, report and export of the OpenAPI document that needs no
identifier, each periodic job, and what a second account waits meanwhile. The times are processor time of the
service (or the job) and PostgreSQL, because other programs share the cores. `--curves` writes them as SVG.
"""

import argparse
import asyncio
import json
import os
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from http.client import HTTPConnection
from pathlib import Path
from statistics import quantiles
from threading import Event
from uuid import UUID

import psycopg

from bench import fixtures, load, portfolio, run
from bench.growth_curves import draw
from bench.portfolio_reads import BACKENDS
from builders import worker
from builders.aliases import lookups
from builders.identity import keys
from builders.identity.records import KeyKind, Preset
from builders.kit.callers import OPERATOR
from builders.kit.db.connections import Database
from builders.kit.jobs import queue
from builders.kit.process import log
from builders.kit.process.secret_keys import keyring_of
from builders.kit.process.settings import Settings

JOBS = worker.JOBS  # importing them declares the tasks
ROWS = (1_000, 10_000, 100_000, 1_000_000)
REPEATED = 3
BATCH = 10_000
# Jobs that ask servers of others.
OUTSIDE = {"portfolio.load_exchange_rates", "portfolio.refresh_rdap", "domains.check_due"}
# Reads that need a parameter, or a session of a person.
NEEDS_MORE = {"/v1/auth/session", "/v1/portfolio/team/join", "/v1/sandbox/approval-requests"}
STATEMENTS = Path(__file__).with_name("growth_rows.sql")
PROBED = "/v1/aliases?limit=50"  # by the second account
FEWEST = 20  # requests of the second account
CURVES = (
    (
        "growth-lists.svg",
        "A page of a list, by rows of the account",
        ("/v1/aliases", "/v1/events", "/v1/notifications/deliveries", "/v1/messages", "/v1/portfolio/entries"),
    ),
    (
        "growth-whole.svg",
        "Reports and files, by rows of the account",
        ("/v1/portfolio/summary", "/v1/portfolio/renewals", "/v1/portfolio/export", "/v1/portfolio/export.csv"),
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """What a read or a run of a job takes with a number of rows."""

    name: str
    rows: int
    cpu_ms: float  # of the service or the job, and PostgreSQL
    memory_mb: float  # by which the process grows at most
    other_p99_ms: float | None = None  # of the second account meanwhile


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A database with rows: keys of their account, and one of an account without any."""

    folder: Path
    conninfo: str
    rows: int
    developer: str
    domainer: str
    other: str


async def prepare(folder: Path, conninfo: str, *, rows: int) -> Prepared:
    """Write the rows; return keys."""
    domainer, account_id = await portfolio.fill(folder, conninfo, count=max(rows // portfolio.YEARS, 1))
    _, other_id = await portfolio.fill(folder, conninfo, count=0)
    write_rows(conninfo, account_id=account_id, rows=rows)
    database = Database(conninfo, _settings(folder, conninfo))
    await database.open()
    async with database.transaction() as conn:
        found = await (
            await conn.execute("SELECT id FROM aliases WHERE account_id = %s AND deleted_at IS NULL", [account_id])
        ).fetchall()
        for at in range(0, len(found), BATCH):
            batch = [alias_id for (alias_id,) in found[at : at + BATCH]]
            await lookups.write_names(conn, account_id=account_id, alias_ids=batch)
        developer, other = [
            await keys.create_key(
                conn,
                account_id=each,
                label="bench",
                key_kind=KeyKind.LIVE,
                preset=Preset.DEVELOPER_FULL,
                minted_by=KeyKind.LIVE,
                actor=OPERATOR,
            )
            for each in (account_id, other_id)
        ]
    await database.close()
    return Prepared(
        folder=folder,
        conninfo=conninfo,
        rows=rows,
        developer=developer.secret,
        domainer=domainer,
        other=other.secret,
    )


def write_rows(conninfo: str, *, account_id: UUID, rows: int) -> None:
    """Write the rows of other packages than the portfolio; analyze the tables."""
    with psycopg.connect(conninfo, autocommit=True) as conn:
        with conn.transaction():
            conn.execute(
                "SELECT set_config('bench.rows', %s, true), set_config('bench.account', %s, true)",
                [str(rows), str(account_id)],
            )
            conn.execute(STATEMENTS.read_bytes())
        conn.execute("VACUUM ANALYZE")


def _settings(folder: Path, conninfo: str) -> Settings:
    return Settings.model_validate({"data_dir": folder, "database_url": conninfo})


def measure_reads(prepared: Prepared, service: run.Server) -> Iterator[Figure]:
    """Yield the figures of each read, and for those of everything what the second account waits."""
    with psycopg.connect(prepared.conninfo, autocommit=True) as conn:
        for path, key in list_reads(service, prepared):
            other = measure_other(service, prepared.other, partial(_get, service, path, key))
            before, memory = _times(service, conn), Memory(service.pid)
            for _ in range(REPEATED):
                _get(service, path, key)
            took = (_times(service, conn) - before) / REPEATED * 1000
            yield Figure(
                name=path,
                rows=prepared.rows,
                cpu_ms=took,
                memory_mb=memory.peak_mb(),
                other_p99_ms=other,
            )


def list_reads(service: run.Server, prepared: Prepared) -> Iterator[tuple[str, str]]:
    """Yield each path of the document that needs no identifier, with the key that may read it."""
    document = json.loads(_get(service, "/openapi.json", prepared.developer))
    for path, operations in document["paths"].items():
        details = operations.get("get", {})
        if "{" in path or details.get("x-scope") is None or path in NEEDS_MORE:
            continue
        is_domainer = details["x-scope"].startswith(("portfolio:", "registrars:", "team:"))
        yield path, prepared.domainer if is_domainer else prepared.developer


def measure_other(service: run.Server, key: str, work: Callable[[], object]) -> float:
    """Return the 99th percentile of what an account waits for its list while another account reads, in ms."""
    waited: list[float] = []
    done = Event()

    def read() -> None:
        while not done.is_set() or len(waited) < FEWEST:
            began = time.perf_counter()
            _get(service, PROBED, key)
            waited.append((time.perf_counter() - began) * 1000)

    with ThreadPoolExecutor() as threads:
        reading = threads.submit(read)
        try:
            work()
        finally:
            done.set()
        reading.result()
    return quantiles(waited, n=100)[98]


async def measure_jobs(prepared: Prepared) -> list[Figure]:
    """Return the figures of each periodic job, from its second run: the first one does what was due."""
    settings = _settings(prepared.folder, prepared.conninfo)
    keyring_of(settings)
    database = Database(prepared.conninfo, settings)
    await database.open()
    figures = []
    with psycopg.connect(prepared.conninfo, autocommit=True) as conn:
        for name, task in sorted(queue.app.tasks.items()):
            if not is_periodic(name) or name in OUTSIDE:
                continue
            for run_number in ("first run of ", "run of "):
                before, memory = _own_times(conn), Memory(os.getpid())
                async with database.transaction() as own:
                    await queue.defer(own, task, timestamp=0)
                await queue.run_pending(database, settings)
                figures.append(
                    Figure(
                        name=f"{run_number}{name}",
                        rows=prepared.rows,
                        cpu_ms=(_own_times(conn) - before) * 1000,
                        memory_mb=memory.peak_mb(),
                    )
                )
    await database.close()
    return figures


def is_periodic(name: str) -> bool:
    """Return whether a job is started by the time of day."""
    return any(name == task for task, _ in queue.app.periodic_registry.periodic_tasks)


class Memory:
    """How much the memory of a process grows from now on."""

    def __init__(self, pid: int) -> None:
        self._process = Path("/proc") / str(pid)
        (self._process / "clear_refs").write_text("5")  # the peak becomes what it has now
        self._before = self.peak_mb(since=0)

    def peak_mb(self, since: float | None = None) -> float:
        """Return the growth in megabytes."""
        peak = next(
            line for line in (self._process / "status").read_text().splitlines() if line.startswith("VmHWM")
        )
        return int(peak.split()[1]) / 1024 - (self._before if since is None else since)


def _times(service: run.Server, conn: psycopg.Connection) -> float:
    """Return the processor time of the service and PostgreSQL, in seconds."""
    return (service.cpu_s() or 0) + _database_s(conn)


def _own_times(conn: psycopg.Connection) -> float:
    return time.process_time() + _database_s(conn)


def _database_s(conn: psycopg.Connection) -> float:
    """Return the processor time of all connections of the service so far, also of those that have ended."""
    for (pid,) in conn.execute(BACKENDS).fetchall():
        _used[pid] = run.Server(name="PostgreSQL", port=0, pid=pid).cpu_s() or _used[pid]
    return sum(_used.values())


_used: dict[int, float] = defaultdict(float)  # processor time of connections, by process


def _get(service: run.Server, path: str, key: str) -> bytes:
    connection = HTTPConnection(load.HOST, service.port, timeout=600)
    connection.request("GET", path, headers={"X-API-Key": key})
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    if answer.status != HTTPStatus.OK:
        raise load.LoadFailed(f"{path}: {answer.status} {body[:300].decode()}")
    return body


def measure(rows: int) -> Iterator[Figure]:
    """Yield all figures with a number of rows."""
    with fixtures.temporary_database() as (folder, conninfo):
        prepared = asyncio.run(prepare(folder, conninfo, rows=rows))
        where = ["--data-dir", str(folder), "--conninfo", conninfo]
        with portfolio.serving(["-m", "bench.contenders", "service", *where, "--fd"], "service") as service:
            list(measure_reads(prepared, service))  # the first reads prepare statements and fill caches
            yield from measure_reads(prepared, service)
        yield from asyncio.run(measure_jobs(prepared))


def line(name: str, figures: Sequence[Figure]) -> str:
    """Return the line of the table."""
    cells = [f"{each.cpu_ms:,.1f}" for each in figures]
    waited = max((each.other_p99_ms or 0 for each in figures), default=0)
    return f"| {name} | {' | '.join(cells)} | {figures[-1].memory_mb:,.0f} | {waited:,.0f} |"


def main() -> None:
    """Measure each number of rows, and print the table."""
    parser = argparse.ArgumentParser(description="Growth with the rows of an account.")
    parser.add_argument("--rows", type=lambda text: [int(each) for each in text.split(",")], default=ROWS)
    parser.add_argument("--curves", type=Path, help="folder of the SVG files")
    given = parser.parse_args()
    log.configure(level="error")
    by_name: dict[str, list[Figure]] = defaultdict(list)
    for rows in given.rows:
        for figure in measure(rows):
            by_name[figure.name].append(figure)
        print(f"bench: {rows:,} rows of each kind are measured", file=sys.stderr)
    heads = [f"{rows:,}" for rows in given.rows]
    print(f"| ms of processor time with rows | {' | '.join(heads)} | MB | p99 of another account, ms |")
    print(f"|---|{'---|' * (len(heads) + 2)}")
    for name, figures in by_name.items():
        print(line(name, figures))
    if given.curves:
        for file, title, chosen in CURVES:
            shown = {name: [(each.rows, each.cpu_ms) for each in by_name[name]] for name in chosen}
            (given.curves / file).write_text(draw(title, shown))


if __name__ == "__main__":
    main()
