"""Measure the latency of other accounts and the memory of the service during an attack.

    script/soak isolation [--part N/M] [--runs 3] [--samples 500] [NAME...]

While a hostile account with a portfolio of 100,000 domains attacks, another account lists its keys, checks names
and plans at a fixed rate. The latency of a response counts from the moment its request was due, so a stall counts
for every request that it delayed. A scenario passes if the median p99 of each request rises by at most 20 ms over
the quiet service; the exit code is 1 if one fails. NAME is a part of the name of a scenario.
To add a scenario, write a module with SCENARIOS as in soak/slow_clients.py and list it in MODULES.
"""

import argparse
import asyncio
import os
import socket
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import median

import psutil
import psycopg

from bench import fixtures
from bench.fixtures import Fixtures
from soak import heavy_requests, hostile_account, made_up_keys, operations, portfolio_loads, slow_clients
from soak.other_account import Latencies, probe
from soak.processes import Memory, running
from soak.scenario import HostileAccount, Scenario, Target

MODULES = [slow_clients, heavy_requests, portfolio_loads, made_up_keys, operations]
SCENARIOS = {each.name: each for module in MODULES for each in module.SCENARIOS}
LARGEST_RISE_MS = 20
WARM_UP = 100  # samples: imports, pools and caches
QUIET_EVERY = 8  # operations, after which the quiet service is measured again
PORTFOLIO = 100_000  # domains of the hostile account
SETTLE_S, ATTACK_WITHIN_S = 1, 120
MB = 1 << 20
ERROR = b'"level":"error"'
HEADER = "| attack | list: p50, p99 ms | check | plan | rise of p99 | memory |\n|---|---|---|---|---|---|"


@dataclass(slots=True, kw_only=True)
class Result:
    """The runs of one scenario."""

    scenario: Scenario
    quiet: list[Latencies] = field(default_factory=list)
    attacked: list[Latencies] = field(default_factory=list)
    memory: str = ""

    def rise(self, request: str) -> float:
        """Return the median rise of the p99."""
        pairs = zip(self.quiet, self.attacked, strict=True)
        return median(attacked[request].p99 - quiet[request].p99 for quiet, attacked in pairs)

    @property
    def worst(self) -> float:
        """Return the largest rise of a request."""
        return max(map(self.rise, self.quiet[0]))

    def __str__(self) -> str:
        """Return the row of the table."""
        cells = [self.scenario.description]
        for request in self.quiet[0]:
            before, during = (
                [median(getattr(each[request], name) for each in runs) for name in ("p50", "p99")]
                for runs in (self.quiet, self.attacked)
            )
            failed = max(each[request].failures for each in self.attacked)
            cells.append(
                f"{before[0]:.1f} → {during[0]:.1f}, {before[1]:.1f} → {during[1]:.1f}"
                + (f", {failed} failed" if failed else "")
            )
        return f"| {' | '.join([*cells, f'{self.worst:+.1f}', self.memory])} |"


class Attacker:
    """A process that attacks in turn, at a priority that leaves the processor to the service."""

    def __init__(self, target: Target, niceness: int) -> None:
        context = get_context("spawn")
        self._commands, theirs = context.Pipe()
        self._process = context.Process(target=_attack_in_turn, args=(theirs, target, niceness))
        self._process.start()

    @contextmanager
    def attacking(self, name: str) -> Iterator[None]:
        """Attack during the block."""
        self._commands.send(name)
        if not self._commands.poll(ATTACK_WITHIN_S):
            raise RuntimeError(f"{name}: the attack does not start.")
        self._commands.recv()
        try:
            yield
        finally:
            self._commands.send(None)
            if self._commands.poll(ATTACK_WITHIN_S):
                self._commands.recv()

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.join()


def _attack_in_turn(commands: Connection, target: Target, niceness: int) -> None:
    os.nice(niceness)

    async def attack(name: str) -> None:
        async with SCENARIOS[name].attack(target):
            commands.send(name)
            await asyncio.to_thread(commands.recv)
        commands.send(name)

    while True:
        asyncio.run(attack(commands.recv()))


@dataclass(slots=True, kw_only=True)
class Service:
    """A running service with its attacker, and the latency while it is quiet."""

    prepared: Fixtures
    port: int
    process: psutil.Process
    attacker: Attacker
    log: Path
    samples: int
    quiet: Latencies = field(default_factory=dict)
    measured: int = 0

    def probe(self) -> Latencies:
        """Measure the other account."""
        return asyncio.run(probe(self.port, self.prepared.keys.secret, self.samples))

    def measure(self, result: Result) -> None:
        """Add one run of a scenario to its result."""
        if self.measured % QUIET_EVERY == 0:
            self.quiet = self.probe()
        self.measured += 1
        memory = Memory(self.process)
        before, errors = memory.now(), self._errors()
        with memory.sampled(), self.attacker.attacking(result.scenario.name):
            attacked = self.probe()
        time.sleep(SETTLE_S)
        result.quiet.append(self.quiet)
        result.attacked.append(attacked)
        errors = self._errors() - errors
        result.memory = f"{before // MB} → {memory.peak // MB} MB" + (f", {errors} errors" if errors else "")
        print(result, flush=True)

    def _errors(self) -> int:
        return self.log.read_bytes().count(ERROR)


@contextmanager
def serving(
    prepared: Fixtures, hostile: HostileAccount, *, samples: int, niceness: int, limits: str
) -> Iterator[Service]:
    """Run a service with an attacker."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        receiver_port = int(free.getsockname()[1])
    log = prepared.data_dir / "service.log"
    with running(prepared, receiver_port, log, limits=limits) as (port, process):
        target = Target(
            port=port,
            receiver_port=receiver_port,
            hostile=hostile,
            conninfo=prepared.conninfo,
            data_dir=prepared.data_dir,
        )
        asyncio.run(probe(port, prepared.keys.secret, WARM_UP))
        attacker = Attacker(target, niceness)
        try:
            yield Service(
                prepared=prepared, port=port, process=process, attacker=attacker, log=log, samples=samples
            )
        finally:
            attacker.close()


def _settle(conninfo: str) -> None:
    """Do the maintenance of the filled tables now: it would stop all requests for 0.2 s during an attack."""
    with psycopg.connect(conninfo, autocommit=True) as conn:
        conn.execute("VACUUM ANALYZE")
        conn.execute("CHECKPOINT")


def run(chosen: Sequence[Scenario], *, runs: int, samples: int, niceness: int, domains: int) -> Sequence[Result]:
    """Run the scenarios one after another on one database; those that are not alone share a service."""
    results = [Result(scenario=each) for each in chosen]
    with fixtures.temporary() as prepared:
        hostile = asyncio.run(hostile_account.make(prepared.data_dir, prepared.conninfo, domains=domains))
        _settle(prepared.conninfo)
        shared = [each for each in results if not each.scenario.is_alone]
        groups = [[each] for each in results if each.scenario.is_alone] + ([shared] if shared else [])
        for group in groups * runs:
            limits = group[0].scenario.limits
            with serving(prepared, hostile, samples=samples, niceness=niceness, limits=limits) as service:
                for each in group:
                    service.measure(each)
    return results


def _chosen(names: Sequence[str], part: str) -> Sequence[Scenario]:
    if names:
        return [each for name, each in SCENARIOS.items() if any(one in name for one in names)]
    number, _, parts = part.partition("/")
    return list(SCENARIOS.values())[int(number) - 1 :: int(parts)]


def main() -> int:
    """Run the named scenarios, or all of a part; print the table and the worst ten."""
    parser = argparse.ArgumentParser(description="Latency of other accounts and memory under attack.")
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--part", default="1/1", help="1/8 is every eighth scenario, from the first")
    parser.add_argument("--runs", type=int, default=1, help="of each scenario; the median counts")
    parser.add_argument("--samples", type=int, default=500, help="of each request of the other account")
    parser.add_argument("--domains", type=int, default=PORTFOLIO, help="in the portfolio of the attacker")
    parser.add_argument(
        "--nice", type=int, default=19, help="priority of the attackers, to separate load from stalls"
    )
    given = parser.parse_args()
    chosen = _chosen(given.names, given.part)
    print(HEADER, flush=True)
    results = run(chosen, runs=given.runs, samples=given.samples, niceness=given.nice, domains=given.domains)
    print("\nThe worst ten:")
    for each in sorted(results, key=lambda result: -result.worst)[:10]:
        print(each)
    failed = [each for each in results if each.worst > LARGEST_RISE_MS]
    print(f"{len(results) - len(failed)} passed, {len(failed)} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
