"""Measure the service as ratios within one run: `python -m bench.run [OPTION...] [NAME...]`.

Three processes serve the same data (bench/contenders.py): a bare ASGI function, the service, and a FastAPI + ORM
stack. They are measured in turn in short slices. Each ratio compares slices of one round, so other load on the
machine affects all three; the table has the medians. docs/explanation/speed.md explains the targets.
"""

import argparse
import contextlib
import itertools
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from http.client import HTTPConnection
from statistics import median
from typing import Any

import uvloop

from bench import figures, fixtures, load
from bench.contenders import CONTENDERS, pin
from bench.scenarios import Scenario, Targets, scenarios, target

SLICE_S = 0.5
RESTARTS = 3  # of the processes: the memory layout of a process changes its speed by some percent
COMPARED = 64  # requests of a scenario whose responses are compared
READY_WITHIN_S = 30.0
VARYING = {"checked_at", "next_cursor"}  # members whose values may differ; only their presence is compared


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """A running contender."""

    name: str
    port: int
    pid: int

    def cpu_s(self) -> float | None:
        """Return the processor time used so far, or None where the system does not report it."""
        # The id of the CPU clock of another process, as clock_getcpuclockid(3) computes it.
        with contextlib.suppress(OSError, OverflowError):
            return time.clock_gettime(~self.pid << 3 | 2)
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Slice:
    """The figures of a contender in one slice."""

    rate: float  # responses per second
    cpu_s: float | None  # processor time of a response


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A line of the table."""

    scenario: str
    targets: Targets | None
    bare_asgi_ratio: float
    fastapi_orm_ratio: float
    rates: Mapping[str, float]  # responses per second, by contender
    cpu_us: Mapping[str, float | None]  # processor time of a response, by contender
    bare_asgi_cpu_ratio: float | None
    fastapi_orm_cpu_ratio: float | None


def cores() -> tuple[int | None, int | None]:
    """Return the core of the servers, and that of the client and database; None where pinning is impossible."""
    if not hasattr(os, "sched_getaffinity"):
        return None, None
    usable = sorted(os.sched_getaffinity(0))
    return (usable[0], usable[1]) if len(usable) > 1 else (None, None)


@contextmanager
def serving(prepared: fixtures.Fixtures, core: int | None) -> Iterator[list[Server]]:
    """Run all contenders, each on its own port."""
    processes: list[subprocess.Popen[bytes]] = []
    servers: list[Server] = []
    try:
        for name in CONTENDERS:
            with socket.create_server((load.HOST, 0), backlog=256) as listener:
                command = [sys.executable, "-m", "bench.contenders", name, "--fd", str(listener.fileno())]
                command += ["--data-dir", str(prepared.data_dir), "--conninfo", prepared.conninfo]
                command += [] if core is None else ["--core", str(core)]
                process = subprocess.Popen(command, pass_fds=[listener.fileno()])
                processes.append(process)
                servers.append(Server(name=name, port=listener.getsockname()[1], pid=process.pid))
        yield servers
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            process.wait()


def fetch(server: Server, request: bytes) -> Any:
    """Return the body of a response without varying values. Raises LoadFailed for a status other than 200."""
    connection = HTTPConnection(load.HOST, server.port, timeout=READY_WITHIN_S)
    headers = dict(line.split(": ", 1) for line in request.decode().splitlines()[1:] if line)
    connection.request("GET", target(request), headers=headers)
    got = connection.getresponse()
    body = got.read()
    connection.close()
    if got.status != 200:
        raise load.LoadFailed(f"{server.name}: {got.status} {body!r}")
    members = json.loads(body)
    return {name: value if name not in VARYING else value is None for name, value in members.items()}


def compare(servers: Sequence[Server], scenario: Scenario, *, count: int = COMPARED) -> None:
    """Raise LoadFailed unless all contenders send the same responses to the first requests."""
    for request in scenario.requests[:count]:
        responses = {server.name: fetch(server, request) for server in servers}
        first = responses.popitem()
        for name, other in responses.items():
            if other != first[1]:
                raise load.LoadFailed(f"{target(request)}: {name} and {first[0]} differ\n{other}\n{first[1]}")


def measure_slice(server: Server, requests: Iterator[bytes], seconds: float) -> Slice:
    """Measure one contender for a slice."""
    before = server.cpu_s()
    result = uvloop.run(load.run(server.port, requests, seconds=seconds))
    after = server.cpu_s()
    cpu_s = None if before is None or after is None else (after - before) / result.answers
    return Slice(rate=result.rate, cpu_s=cpu_s)


Round = Mapping[str, Slice]  # of each contender, one right after the other


def measure(
    servers: Sequence[Server], scenario: Scenario, seconds: float, *, compared: int = COMPARED
) -> list[Round]:
    """Measure all contenders in turn, each for `seconds`."""
    compare(servers, scenario, count=compared)
    # An iterator continues in the next slice, so that no slice repeats only the first requests.
    requests = {server.name: itertools.cycle(scenario.requests) for server in servers}
    slices: list[Round] = [
        {server.name: measure_slice(server, requests[server.name], min(SLICE_S, seconds)) for server in servers}
        for _ in range(1 + max(1, round(seconds / SLICE_S)))
    ]
    return slices[1:]  # the first prepares statements and fills caches


def summarize(scenario: Scenario, rounds: Sequence[Round]) -> Line:
    """Return the line of a scenario."""
    return Line(
        scenario=scenario.description,
        targets=scenario.targets,
        bare_asgi_ratio=median(each["service"].rate / each["bare_asgi"].rate for each in rounds),
        fastapi_orm_ratio=median(each["service"].rate / each["fastapi_orm"].rate for each in rounds),
        rates={name: median(each[name].rate for each in rounds) for name in CONTENDERS},
        cpu_us={name: _cpu_us(each[name] for each in rounds) for name in CONTENDERS},
        bare_asgi_cpu_ratio=_cpu_ratio(rounds, "bare_asgi"),
        fastapi_orm_cpu_ratio=_cpu_ratio(rounds, "fastapi_orm"),
    )


def _cpu_us(slices: Iterator[Slice]) -> float | None:
    known = [each.cpu_s * 1e6 for each in slices if each.cpu_s is not None]
    return median(known) if known else None


def _cpu_ratio(rounds: Sequence[Round], name: str) -> float | None:
    pairs = [(each[name].cpu_s, each["service"].cpu_s) for each in rounds]
    ratios = [other / ours for other, ours in pairs if other is not None and ours is not None]
    return median(ratios) if ratios else None


def table(lines: Sequence[Line]) -> str:
    """Return the lines as a Markdown table."""
    rows = [
        "| scenario | to bare ASGI, by processor time | by rate | to FastAPI + ORM | responses/s |",
        "|---|---|---|---|---|",
    ]
    for line in lines:
        wanted = line.targets or Targets(bare_asgi_cpu=0, fastapi_orm=0)
        cpu = line.bare_asgi_cpu_ratio
        rates = ", ".join(f"{name} {each:,.0f}" for name, each in line.rates.items())
        cells = [
            "" if cpu is None else compared(cpu, wanted.bare_asgi_cpu),
            compared(line.bare_asgi_ratio, wanted.bare_asgi_rate),
            compared(line.fastapi_orm_ratio, wanted.fastapi_orm),
        ]
        rows.append(f"| {' | '.join([line.scenario, *cells, rates])} |")
    return "\n".join(rows)


def compared(ratio: float, least: float) -> str:
    """Return a ratio with its target, if it has one; it is below the target with all shown digits."""
    below = ", below" if round(ratio, 2) < least else ""
    return f"{ratio:.2f} (target {least:g}{below})" if least else f"{ratio:.2f}"


def main() -> None:
    """Measure the named scenarios, or all, and print the table."""
    parser = argparse.ArgumentParser(description="Speed of the service, as ratios within one run.")
    parser.add_argument("names", nargs="*", help="scenarios: list read check-free suggest …, or all")
    parser.add_argument("--seconds", type=float, default=6.0, help="measured for each contender and scenario")
    parser.add_argument("--json", action="store_true", dest="as_json", help="print JSON, for programs")
    parser.add_argument("--write", action="store_true", help="write the table into docs/explanation/speed.md")
    given = parser.parse_args()
    server_core, client_core = cores()
    pin(client_core)  # the database is a child process and inherits the core
    with fixtures.temporary() as prepared:
        known = scenarios(prepared.keys)
        if unknown := set(given.names) - known.keys():
            parser.error(f"no such scenario: {', '.join(sorted(unknown))}; there are {', '.join(known)}")
        rounds: dict[str, list[Round]] = {name: [] for name in given.names or known}
        for attempt in range(1, RESTARTS + 1):
            with serving(prepared, server_core) as servers:
                for name in rounds:
                    print(f"bench: {known[name].description}, {attempt} of {RESTARTS}", file=sys.stderr)
                    rounds[name] += measure(servers, known[name], given.seconds / RESTARTS)
    lines = [summarize(known[name], each) for name, each in rounds.items()]
    print(json.dumps([asdict(line) for line in lines], indent=2) if given.as_json else table(lines))
    if given.write:
        figures.write_table("run", table(lines))


if __name__ == "__main__":
    main()
