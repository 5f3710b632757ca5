"""Measure the latency of other accounts and the memory of the service during an attack.

    script/soak isolation [--part N/M] [--runs 3] [--samples 500] [NAME...]

While a hostile account with a portfolio of 100,000 domains attacks, another account lists its keys, checks names
and plans at a fixed rate. The latency of a response counts from the moment its request was due, so a stall counts
for every request that it delayed. A scenario passes if the median p99 of each request rises by at most 20 ms over
the quiet service; the exit code is 1 if one fails. NAME is a scenario, or a part of the name of an operation.
To add a scenario, write a module with SCENARIOS as in soak/slow_clients.py and list it in MODULES.
"""

import argparse
import asyncio
import os
import random
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import median, quantiles

import httpx
import psutil

from bench import fixtures
from bench.fixtures import Fixtures
from bench.scenarios import DOMAINS
from soak import heavy_requests, hostile_account, operations, portfolio_loads, slow_clients
from soak.scenario import HostileAccount, Scenario, Target

MODULES = [slow_clients, heavy_requests, portfolio_loads, operations]
SCENARIOS = {each.name: each for module in MODULES for each in module.SCENARIOS}
RATE = 40  # of each request of the other account, per second
CONNECTIONS = 24  # of the other account
LARGEST_RISE_MS = 20
WARM_UP = 100  # samples: imports, pools and caches
QUIET_EVERY = 8  # operations, after which the quiet service is measured again
PORTFOLIO = 100_000  # domains of the hostile account
READY_WITHIN_S, SETTLE_S, ATTACK_WITHIN_S = 60, 1, 120
TIMEOUT_S = 60
SAMPLE_S = 0.05
MB = 1 << 20
ERROR = b'"level":"error"'
HEADER = "| attack | list: p50, p99 ms | check | plan | rise of p99 | memory |\n|---|---|---|---|---|---|"


@dataclass(slots=True)
class Memory:
    """The resident bytes of a process over time, sampled in a thread."""

    process: psutil.Process
    peak: int = 0
    _over: threading.Event = field(default_factory=threading.Event)

    @contextmanager
    def sampled(self) -> Iterator[None]:
        """Sample until the block ends."""
        self.peak = self.now()
        sampler = threading.Thread(target=self._sample)
        sampler.start()
        try:
            yield
        finally:
            self._over.set()
            sampler.join()

    def now(self) -> int:
        """Return the resident bytes."""
        return int(self.process.memory_info().rss)

    def _sample(self) -> None:
        while not self._over.wait(SAMPLE_S):
            self.peak = max(self.peak, self.now())


@dataclass(frozen=True, slots=True)
class Latency:
    """The latency of one request of the other account in milliseconds, and how often it failed."""

    p50: float
    p99: float
    failures: int


Latencies = dict[str, Latency]  # by the name of the request


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


@contextmanager
def running(prepared: Fixtures, receiver_port: int, log_path: Path) -> Iterator[tuple[int, psutil.Process]]:
    """Run `builders http` and `builders worker` as `builders serve` does; yield the port and the first process.

    The rate limits are off, because the other account sends more than they allow; the operations keep to them.
    """
    environment = {
        **os.environ,
        "BUILDERS_DATABASE_URL": prepared.conninfo,
        "BUILDERS_DATA_DIR": str(prepared.data_dir),
        "BUILDERS_LIMITS": "off",
        "BUILDERS_LOG_LEVEL": "error",
        "BUILDERS_OUTBOUND_ALLOW": f"127.0.0.1:{receiver_port}",
    }
    program = [sys.executable, "-m", "builders"]
    with ExitStack() as stack:
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=2048))
        log = stack.enter_context(log_path.open("wb"))
        port = int(listener.getsockname()[1])
        start: Callable[..., subprocess.Popen[bytes]] = subprocess.Popen
        http = start(
            [*program, "http", "--fd", str(listener.fileno())],
            env=environment,
            pass_fds=[listener.fileno()],
            stdout=log,
            stderr=log,
        )
        worker = start([*program, "worker"], env=environment, stdout=log, stderr=log)
        try:
            _wait_until_ready(port)
            yield port, psutil.Process(http.pid)
        finally:
            for process in (http, worker):
                process.kill()
                process.wait()


def _wait_until_ready(port: int) -> None:
    deadline = time.monotonic() + READY_WITHIN_S
    while True:
        try:
            if httpx.get(f"http://127.0.0.1:{port}/readyz", timeout=5).status_code == httpx.codes.OK:
                return
        except httpx.TransportError:
            pass
        if time.monotonic() > deadline:
            raise RuntimeError("The service is not ready.")
        time.sleep(0.1)


def _requests(key: str) -> dict[str, Callable[[int], httpx.Request]]:
    """Return the requests of the other account: the nth of each."""
    headers = {"X-API-Key": key}

    def plan(n: int) -> httpx.Request:
        alias = {"key": "ada", "address": f"probe{n}@{DOMAINS[0]}", "destinations": ["ada@example.net"]}
        manifest = {"api_version": "v1", "kind": "Manifest", "metadata": {"name": "probe"}}
        body = manifest | {"resources": {"aliases": [alias]}}
        return httpx.Request("POST", "/v1/sandbox/plan", json=body, headers=headers)

    return {
        "list": lambda _: httpx.Request("GET", "/v1/api-keys?limit=50", headers=headers),
        "check": lambda n: httpx.Request("GET", f"/v1/catalog/check?local_part=probe{n}&domain={DOMAINS[0]}"),
        "plan": plan,
    }


async def probe(port: int, key: str, samples: int) -> Latencies:
    """Send each request of the other account so many times, at a fixed rate."""
    due: asyncio.Queue[tuple[float, str, httpx.Request]] = asyncio.Queue()
    took: dict[str, list[float]] = {name: [] for name in _requests(key)}
    failures = dict.fromkeys(took, 0)
    base = httpx.URL(f"http://127.0.0.1:{port}")

    async def send_requests(http: httpx.AsyncClient) -> None:
        while True:
            at, name, request = await due.get()
            request.url = base.join(request.url)
            request.headers["Host"] = request.url.netloc.decode()
            try:
                answer = await http.send(request)
                failures[name] += answer.is_error
            except httpx.TransportError:
                failures[name] += 1
            took[name].append((time.perf_counter() - at) * 1000)
            due.task_done()

    limits = httpx.Limits(max_connections=CONNECTIONS)
    offset = random.randrange(1_000_000)  # noqa: S311 - no secret; other names in each run
    async with httpx.AsyncClient(timeout=TIMEOUT_S, limits=limits) as http:
        clients = [asyncio.create_task(send_requests(http)) for _ in range(CONNECTIONS)]
        began = time.perf_counter()
        for n in range(samples):
            for step, (name, request) in enumerate(_requests(key).items()):
                at = began + (n + step / len(took)) / RATE
                await asyncio.sleep(at - time.perf_counter())
                due.put_nowait((at, name, request(offset + n)))
        await due.join()
        for each in clients:
            each.cancel()
    centiles = {name: quantiles(times, n=100) for name, times in took.items()}
    return {name: Latency(each[49], each[98], failures[name]) for name, each in centiles.items()}


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
def serving(prepared: Fixtures, hostile: HostileAccount, *, samples: int, niceness: int) -> Iterator[Service]:
    """Run a service with an attacker."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        receiver_port = int(free.getsockname()[1])
    log = prepared.data_dir / "service.log"
    with running(prepared, receiver_port, log) as (port, process):
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


def run(chosen: Sequence[Scenario], *, runs: int, samples: int, niceness: int, domains: int) -> Sequence[Result]:
    """Run the scenarios one after another on one database; those that are not alone share a service."""
    results = [Result(scenario=each) for each in chosen]
    with fixtures.temporary() as prepared:
        hostile = asyncio.run(hostile_account.make(prepared.data_dir, prepared.conninfo, domains=domains))
        shared = [each for each in results if not each.scenario.is_alone]
        groups = [[each] for each in results if each.scenario.is_alone] + ([shared] if shared else [])
        for group in groups * runs:
            with serving(prepared, hostile, samples=samples, niceness=niceness) as service:
                for each in group:
                    service.measure(each)
    return results


def _chosen(names: Sequence[str], part: str) -> Sequence[Scenario]:
    if names:
        found = [SCENARIOS[name] for name in names if name in SCENARIOS]
        return found or [each for name, each in SCENARIOS.items() if any(one in name for one in names)]
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
