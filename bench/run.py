"""How fast the service is, as ratios from one run: `python -m bench.run [--seconds N] [--json] [NAME...]`.

Three processes serve the same data (bench/contenders.py): the limit, the service and the usual stack. They are
measured in turn in short slices, each slice's three figures are compared with each other, and the median of the
ratios is told: what the machine does meanwhile happens to all three. docs/explanation/speed.md explains the aims.
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

from bench import load, stage
from bench.contenders import CONTENDERS, pin
from bench.scenarios import Scenario, scenarios, target

AIM_OF_LIMIT, AIM_OF_USUAL = 0.7, 4.0
SLICE_S = 0.5
ACTS = 3  # each with new processes: where one's memory happens to lie makes it some percent faster or slower
COMPARED = 64  # requests of a scenario
READY_WITHIN_S = 30.0
UNLIKE = {"checked_at", "next_cursor"}  # members that differ between honest answers; both are there, or neither


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """A contender that runs."""

    name: str
    port: int
    pid: int

    def cpu_s(self) -> float | None:
        """Processor time used so far; None where the system does not tell."""
        # The clock of another process (clock_getcpuclockid(3)), which Python has no function for.
        with contextlib.suppress(OSError, OverflowError):
            return time.clock_gettime(~self.pid << 3 | 2)
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Slice:
    """What a contender did in a slice."""

    rate: float  # answers a second
    cpu_s: float | None  # processor time for one


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A line of the table."""

    scenario: str
    has_aim: bool
    of_limit: float
    of_usual: float
    rates: Mapping[str, float]  # answers a second, by contender
    cpu_us: Mapping[str, float | None]  # processor time of an answer, by contender
    cpu_of_limit: float | None
    cpu_of_usual: float | None


def cores() -> tuple[int | None, int | None]:
    """The core of the servers and the one of the client and the database; None where they cannot be chosen."""
    if not hasattr(os, "sched_getaffinity"):
        return None, None
    usable = sorted(os.sched_getaffinity(0))
    return (usable[0], usable[1]) if len(usable) > 1 else (None, None)


@contextmanager
def serving(built: stage.Built, core: int | None) -> Iterator[list[Server]]:
    """All contenders, each on a port of its own."""
    processes: list[subprocess.Popen[bytes]] = []
    servers: list[Server] = []
    try:
        for name in CONTENDERS:
            with socket.create_server((load.HOST, 0), backlog=256) as listener:
                command = [sys.executable, "-m", "bench.contenders", name, "--fd", str(listener.fileno())]
                command += ["--data-dir", str(built.data_dir), "--conninfo", built.conninfo]
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


def answer(server: Server, request: bytes) -> Any:
    """The body of an answer, without what differs of itself. Raises LoadFailed for another status than 200."""
    connection = HTTPConnection(load.HOST, server.port, timeout=READY_WITHIN_S)
    headers = dict(line.split(": ", 1) for line in request.decode().splitlines()[1:] if line)
    connection.request("GET", target(request), headers=headers)
    got = connection.getresponse()
    body = got.read()
    connection.close()
    if got.status != 200:
        raise load.LoadFailed(f"{server.name}: {got.status} {body!r}")
    members = json.loads(body)
    return {name: value if name not in UNLIKE else value is None for name, value in members.items()}


def compare(servers: Sequence[Server], scenario: Scenario) -> None:
    """Raises LoadFailed unless all give the same answers, or measuring them would say nothing."""
    for request in scenario.requests[:COMPARED]:
        answers = {server.name: answer(server, request) for server in servers}
        first = answers.popitem()
        for name, other in answers.items():
            if other != first[1]:
                said = f"{target(request)}: {name} and {first[0]} differ\n{other}\n{first[1]}"
                raise load.LoadFailed(said)


def sliced(server: Server, requests: Iterator[bytes], seconds: float) -> Slice:
    """Measures one contender for a slice."""
    before = server.cpu_s()
    ran = uvloop.run(load.run(server.port, requests, seconds=seconds))
    after = server.cpu_s()
    cpu_s = None if before is None or after is None else (after - before) / ran.answers
    return Slice(rate=ran.rate, cpu_s=cpu_s)


Round = Mapping[str, Slice]  # of each contender, one right after the other


def measure(servers: Sequence[Server], scenario: Scenario, seconds: float) -> list[Round]:
    """Measures all contenders for so many seconds each, in turn."""
    compare(servers, scenario)
    # Each goes on where it stopped, so that what is asked once in a while is not asked in every slice.
    asked = {server.name: itertools.cycle(scenario.requests) for server in servers}
    slices: list[Round] = [
        {server.name: sliced(server, asked[server.name], min(SLICE_S, seconds)) for server in servers}
        for _ in range(1 + max(1, round(seconds / SLICE_S)))
    ]
    return slices[1:]  # the first prepares statements and fills caches


def summed_up(scenario: Scenario, rounds: Sequence[Round]) -> Line:
    """What the rounds say of a scenario."""
    return Line(
        scenario=scenario.says,
        has_aim=scenario.has_aim,
        of_limit=median(each["ours"].rate / each["limit"].rate for each in rounds),
        of_usual=median(each["ours"].rate / each["usual"].rate for each in rounds),
        rates={name: median(each[name].rate for each in rounds) for name in CONTENDERS},
        cpu_us={name: _cpu_us(each[name] for each in rounds) for name in CONTENDERS},
        cpu_of_limit=_cpu_ratio(rounds, "limit"),
        cpu_of_usual=_cpu_ratio(rounds, "usual"),
    )


def _cpu_us(slices: Iterator[Slice]) -> float | None:
    known = [each.cpu_s * 1e6 for each in slices if each.cpu_s is not None]
    return median(known) if known else None


def _cpu_ratio(rounds: Sequence[Round], name: str) -> float | None:
    pairs = [(each[name].cpu_s, each["ours"].cpu_s) for each in rounds]
    ratios = [other / ours for other, ours in pairs if other is not None and ours is not None]
    return median(ratios) if ratios else None


def table(lines: Sequence[Line]) -> str:
    """The lines for people."""
    rows = [
        "| scenario | of the limit (aim 0.7) | times the usual (aim 4) | by processor time | answers a second |",
        "|---|---|---|---|---|",
    ]
    for line in lines:
        met = line.of_limit >= AIM_OF_LIMIT and line.of_usual >= AIM_OF_USUAL
        note = "" if met else " (below the aim)" if line.has_aim else " (no aim)"
        cpu = "" if line.cpu_of_limit is None else f"{line.cpu_of_limit:.2f}, {line.cpu_of_usual:.1f}"
        rates = ", ".join(f"{name} {rate:,.0f}" for name, rate in line.rates.items())
        rows.append(f"| {line.scenario}{note} | {line.of_limit:.2f} | {line.of_usual:.1f} | {cpu} | {rates} |")
    return "\n".join(rows)


def main() -> None:
    """Measures the named scenarios, or all, and prints the table."""
    parser = argparse.ArgumentParser(description="Speed of the service, as ratios from one run.")
    parser.add_argument("names", nargs="*", help="scenarios: list read check-free check-taken suggest")
    parser.add_argument("--seconds", type=float, default=6.0, help="measured for each contender and scenario")
    parser.add_argument("--json", action="store_true", dest="as_json", help="print JSON, for programs")
    given = parser.parse_args()
    server_core, client_core = cores()
    pin(client_core)  # the database is our child, and stays on this core too
    with stage.built() as built:
        known = scenarios(built.stage)
        if unknown := set(given.names) - known.keys():
            parser.error(f"no such scenario: {', '.join(sorted(unknown))}; there are {', '.join(known)}")
        rounds: dict[str, list[Round]] = {name: [] for name in given.names or known}
        for act in range(1, ACTS + 1):
            with serving(built, server_core) as servers:
                for name in rounds:
                    print(f"bench: {known[name].says}, {act} of {ACTS}", file=sys.stderr)
                    rounds[name] += measure(servers, known[name], given.seconds / ACTS)
    lines = [summed_up(known[name], each) for name, each in rounds.items()]
    print(json.dumps([asdict(line) for line in lines], indent=2) if given.as_json else table(lines))


if __name__ == "__main__":
    main()
