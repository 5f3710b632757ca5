"""Measure what a promotion costs: `python -m bench.promotions [--count N]`.

`builders serve` runs an HTTP process, the worker and PostgreSQL. Clients plan and promote a name each, one after
the other. Processor time is that of each process, divided by the promotions. Then a bare function writes as many
rows to copies of the same tables, with their indexes, in as many transactions; the ratio compares the sums.
"""

import argparse
import asyncio
import itertools
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import httpx
import psutil
import psycopg
from psycopg import sql

from bench import fixtures, load
from bench.scenarios import DOMAINS
from builders.kit.process.settings import Settings
from builders.kit.values import ids

CLIENTS, WARM_UP = 4, 40
PROCESSES = ("http", "worker")  # of the service, as their command lines name them
COMMITS = 3  # of a plan and its promotion
QUIET_S, POLL_S = 2.0, 0.2  # until the worker has nothing left, and PostgreSQL has counted all rows
READY_WITHIN_S = 30.0
WRITTEN = """
    SELECT relname, n_tup_ins + n_tup_upd FROM pg_stat_user_tables WHERE schemaname = 'public'
"""
KEYS = """
    SELECT DISTINCT attname, format_type(atttypid, NULL)
    FROM pg_index JOIN pg_attribute ON attrelid = indrelid AND attnum = ANY(indkey)
    WHERE indrelid = %s::regclass AND indisunique
"""
NUMBERS = itertools.count(10**6)
UNIQUE: Mapping[str, Callable[[], str | int]] = {  # types of columns that make a row unique
    "uuid": lambda: str(ids.new()),
    "text": lambda: ids.new().hex,
    "bytea": lambda: rf"\x{ids.new().hex}",
    "bigint": lambda: next(NUMBERS),
    "integer": lambda: next(NUMBERS),
}
Costs = Mapping[str, float]  # processor time in ms by process


def cpu_of(process: psutil.Process) -> float:
    """Return the processor time of a process and of its children so far, in seconds."""
    own = process.cpu_times()
    total = own.user + own.system + own.children_user + own.children_system
    for child in process.children(recursive=True):
        with suppress(psutil.NoSuchProcess):  # such as autovacuum, which ended meanwhile
            times = child.cpu_times()
            total += times.user + times.system
    return float(total)


@contextmanager
def serving(prepared: fixtures.Fixtures) -> Iterator[tuple[int, Mapping[str, psutil.Process]]]:
    """Run the service; yield its port and its processes by what they do."""
    with socket.create_server((load.HOST, 0)) as free:
        port = int(free.getsockname()[1])
    environment = {
        **os.environ,
        "BUILDERS_DATABASE_URL": prepared.conninfo,
        "BUILDERS_DATA_DIR": str(prepared.data_dir),
        "BUILDERS_LIMITS": "off",
        "BUILDERS_LOG_LEVEL": "error",
    }
    command = [sys.executable, "-m", "builders", "serve", "--no-migrate", "--workers", "1", "--port", str(port)]
    with subprocess.Popen(command, env=environment) as process:
        try:
            _wait_until_ready(port)
            with psycopg.connect(prepared.conninfo) as conn:
                found = conn.execute("SHOW data_directory").fetchone()
            assert found is not None
            postmaster = int((Path(found[0]) / "postmaster.pid").read_text().split("\n", 1)[0])
            processes = {"PostgreSQL": psutil.Process(postmaster)}
            for each in psutil.Process(process.pid).children():
                processes |= {name: each for name in PROCESSES if name in each.cmdline()}
            yield port, processes
        finally:
            process.terminate()


def _wait_until_ready(port: int) -> None:
    deadline = time.monotonic() + READY_WITHIN_S
    while True:
        try:
            connection = HTTPConnection(load.HOST, port, timeout=READY_WITHIN_S)
            connection.request("GET", "/readyz")
            if connection.getresponse().status == httpx.codes.OK:
                return
        except OSError:
            if time.monotonic() > deadline:
                raise
        time.sleep(POLL_S)


async def promote(port: int, keys: Sequence[str], count: int, run: str) -> None:
    """Plan and promote names, each client one after the other."""

    async def work(api: httpx.AsyncClient, client: int) -> None:
        headers = {"X-API-Key": keys[client]}
        for n in range(count // CLIENTS):
            alias = {
                "key": "name",
                "address": f"{run}{client}-{n}@{DOMAINS[0]}",
                "destinations": [f"{run}{client}@bench.example"],
            }
            manifest = {"api_version": "v1", "kind": "Manifest", "metadata": {"name": f"{run}{client}-{n}"}}
            body = {**manifest, "resources": {"aliases": [alias]}}
            planned = (await api.post("/v1/sandbox/plan", json=body, headers=headers)).raise_for_status().json()
            wanted = {"plan_id": planned["id"], "digest": planned["digest"]}
            done = await api.post("/v1/sandbox/promote", json=wanted, headers=headers)
            assert done.raise_for_status().json()["status"] == "succeeded", done.text

    async with httpx.AsyncClient(base_url=f"http://{load.HOST}:{port}", timeout=READY_WITHIN_S) as api:
        await asyncio.gather(*(work(api, client) for client in range(CLIENTS)))


def count_written(conninfo: str) -> Mapping[str, int]:
    """Return the rows written so far, by table, when the worker writes none any more."""
    before: Mapping[str, int] | None = None
    while True:
        time.sleep(QUIET_S)
        with psycopg.connect(conninfo) as conn:
            now: Mapping[str, int] = dict(conn.execute(WRITTEN).fetchall())
        if now == before:
            return now
        before = now


def write_bare(conninfo: str, rows: Mapping[str, int], transactions: int) -> None:
    """Write rows like the newest one of each table to copies of the tables."""
    with psycopg.connect(conninfo, autocommit=True) as conn:
        conn.execute("CREATE SCHEMA bare")
        copies = {table: copy for table in rows if (copy := _copy(conn, table)) is not None}
        inserts = [copy for table, copy in copies.items() for _ in range(rows[table])]
        each_s = -(-len(inserts) // transactions)
        for at in range(0, len(inserts), each_s):
            with conn.transaction():
                for statement, row, unique in inserts[at : at + each_s]:
                    new = {name: UNIQUE[kind]() for name, kind in unique.items()}
                    conn.execute(statement, [json.dumps({**row, **new})])


def _copy(conn: psycopg.Connection, table: str) -> tuple[sql.Composed, dict[str, Any], Mapping[str, str]] | None:
    """Copy the columns and indexes of a table; return an insert, a row, and the columns that make it unique.

    None for a table whose rows are deleted again, such as the queue of jobs.
    """
    name, copy = sql.Identifier(table), sql.Identifier("bare", table)
    conn.execute(sql.SQL("CREATE TABLE {} (LIKE {} INCLUDING INDEXES INCLUDING GENERATED)").format(copy, name))
    found = conn.execute(sql.SQL("SELECT to_jsonb(t) FROM {} AS t LIMIT 1").format(name)).fetchone()
    unique = {column: kind for column, kind in conn.execute(KEYS, [table]).fetchall() if kind in UNIQUE}
    insert = sql.SQL("INSERT INTO {} SELECT * FROM jsonb_populate_record(NULL::{}, %s)").format(copy, name)
    return None if found is None else (insert, found[0], unique)


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """The figures of a promotion."""

    service: Costs
    bare: Costs
    rows: float  # written
    rate: float  # promotions a second

    @property
    def ratio(self) -> float:
        """Return the cost of the service to that of the bare writes."""
        return sum(self.service.values()) / sum(self.bare.values())


def measure(count: int) -> Result:
    """Return the figures of some promotions."""
    with fixtures.temporary_database(durable=True) as (folder, conninfo):
        prepared = asyncio.run(fixtures.prepare(folder, conninfo))
        settings = Settings.model_validate({"data_dir": folder, "database_url": conninfo})
        keys = asyncio.run(fixtures.make_keys(conninfo, settings, CLIENTS))
        with serving(prepared) as (port, processes):
            asyncio.run(promote(port, keys, WARM_UP, "warm"))
            written = count_written(conninfo)
            spent, begun = {name: cpu_of(each) for name, each in processes.items()}, time.perf_counter()
            asyncio.run(promote(port, keys, count, "name"))
            elapsed_s = time.perf_counter() - begun
            now = count_written(conninfo)
            service = {name: 1000 * (cpu_of(each) - spent[name]) / count for name, each in processes.items()}
        rows = {table: each for table in now if (each := now[table] - written.get(table, 0)) > 0}
        server = processes["PostgreSQL"]
        own_s, server_s = time.process_time(), cpu_of(server)
        write_bare(conninfo, rows, COMMITS * count)
        bare_s = {"client": time.process_time() - own_s, "PostgreSQL": cpu_of(server) - server_s}
    bare = {name: 1000 * each / count for name, each in bare_s.items()}
    return Result(service=service, bare=bare, rows=sum(rows.values()) / count, rate=count / elapsed_s)


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description="Cost of a promotion.")
    parser.add_argument("--count", type=int, default=400, help="of promotions")
    found = measure(parser.parse_args().count)
    print("| processor time of a promotion | ms |\n|---|---|")
    for name, each in found.service.items():
        print(f"| {name} | {each:.1f} |")
    for name, each in found.bare.items():
        print(f"| bare writes: {name} | {each:.1f} |")
    total = sum(found.service.values())
    print(f"\n{total:.1f} ms in sum, {found.ratio:.1f} times the bare writes of {found.rows:.0f} rows")
    print(f"{found.rate:.0f} promotions a second with {CLIENTS} clients")


if __name__ == "__main__":
    main()
