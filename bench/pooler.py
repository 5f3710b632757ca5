"""Measure what a pooler costs: `BUILDERS_PGBOUNCER=FOLDER python -m bench.pooler [--seconds N]`.

Three HTTP processes on one core serve the same data: with prepared statements, without, and without behind
PgBouncer in transaction mode. They are measured in turn in short slices; the table has the medians of the ratios
within a round. The folder is that of an unpacked package of Debian; unset for an installed one.
"""

import argparse
import itertools
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from http.client import HTTPConnection
from pathlib import Path
from statistics import median

import psycopg
from psycopg import sql

from bench import fixtures, load, run
from bench.contenders import pin
from bench.pgbouncer import pgbouncer
from bench.scenarios import scenarios
from builders.kit.db.sessions import parameters_of
from builders.kit.process.settings import Settings

SESSIONS = 10  # of PgBouncer, as many as the pool of a process
NAMES = ("prepared", "unprepared", "pooled")


def set_parameters(conninfo: str) -> None:
    """Set the parameters of the service for the role."""
    with psycopg.connect(conninfo, autocommit=True) as conn:
        for name, value in parameters_of(Settings()).items():
            conn.execute(
                sql.SQL("ALTER ROLE {} IN DATABASE {} SET {} = {}").format(
                    *map(sql.Identifier, (conn.info.user, conn.info.dbname, name)), sql.Literal(value)
                )
            )


@contextmanager
def serving(prepared: fixtures.Fixtures, through: str, core: int | None) -> Iterator[Sequence[run.Server]]:
    """Run the three processes, each on its own port."""
    pooled = {"BUILDERS_DATABASE_POOLED": "true", "BUILDERS_DATABASE_DIRECT_URL": prepared.conninfo}
    settings: Mapping[str, Mapping[str, str]] = {
        "prepared": {"BUILDERS_DATABASE_URL": prepared.conninfo},
        "unprepared": {"BUILDERS_DATABASE_URL": prepared.conninfo, **pooled},
        "pooled": {"BUILDERS_DATABASE_URL": through, **pooled},
    }
    shared = {"BUILDERS_DATA_DIR": str(prepared.data_dir), "BUILDERS_LIMITS": "1e6", "BUILDERS_LOG_LEVEL": "error"}
    with ExitStack() as stack:
        servers = []
        for name in NAMES:
            listener = stack.enter_context(socket.create_server((load.HOST, 0), backlog=256))
            process = subprocess.Popen(
                [sys.executable, "-m", "builders", "http", "--fd", str(listener.fileno())],
                env={**os.environ, **shared, **settings[name]},
                pass_fds=[listener.fileno()],
            )
            stack.callback(process.wait)
            stack.callback(process.terminate)
            if core is not None:
                os.sched_setaffinity(process.pid, {core})
            servers.append(run.Server(name=name, port=listener.getsockname()[1], pid=process.pid))
        for server in servers:
            _wait_until_ready(server)
        yield servers


def _wait_until_ready(server: run.Server) -> None:
    deadline = time.monotonic() + run.READY_WITHIN_S
    while True:
        connection = HTTPConnection(load.HOST, server.port, timeout=run.READY_WITHIN_S)
        connection.request("GET", "/readyz")
        if connection.getresponse().status == 200:
            return
        if time.monotonic() > deadline:
            raise load.LoadFailed(f"{server.name} is not ready.")


def table(rounds: Mapping[str, Sequence[run.Round]]) -> str:
    """Return the medians as a Markdown table."""
    rows = ["| scenario | unprepared to prepared | pooled to prepared | responses/s |", "|---|---|---|---|"]
    for name, slices in rounds.items():
        ratios = [median(each[other].rate / each["prepared"].rate for each in slices) for other in NAMES[1:]]
        rates = ", ".join(f"{other} {median(each[other].rate for each in slices):,.0f}" for other in NAMES)
        rows.append(f"| {name} | {ratios[0]:.2f} | {ratios[1]:.2f} | {rates} |")
    return "\n".join(rows)


def main() -> None:
    """Measure each scenario and print the table."""
    parser = argparse.ArgumentParser(description="Cost of a pooler in transaction mode.")
    parser.add_argument("--seconds", type=float, default=6.0, help="measured for each process and scenario")
    given = parser.parse_args()
    server_core, client_core = run.cores()
    pin(client_core)  # the database and PgBouncer inherit the core
    rounds: dict[str, list[run.Round]] = {}
    with fixtures.temporary() as prepared, tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o777)
        set_parameters(prepared.conninfo)
        with (
            pgbouncer(folder, prepared.conninfo, mode="transaction", sessions=SESSIONS) as through,
            serving(prepared, through, server_core) as servers,
        ):
            for scenario in scenarios(prepared.keys).values():
                requests = {server.name: itertools.cycle(scenario.requests) for server in servers}
                slices: list[run.Round] = [
                    {each.name: run.measure_slice(each, requests[each.name], run.SLICE_S) for each in servers}
                    for _ in range(1 + max(1, round(given.seconds / run.SLICE_S)))
                ]
                rounds[scenario.description] = slices[1:]  # the first prepares statements and fills caches
    print(table(rounds))


if __name__ == "__main__":
    main()
