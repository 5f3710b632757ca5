"""Measure the latency of other accounts and the memory of the service during an attack.

    script/soak isolation [--seconds 15] [NAME...]

Each scenario attacks one HTTP process while another account requests GET /v1/me at a fixed rate. The latency of a
response counts from the moment its request was due, so a stall counts for every request that it delayed. To add a
scenario, write a module with SCENARIOS as in soak/slow_clients.py and list it in MODULES.
"""

import argparse
import asyncio
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing import get_context
from multiprocessing.synchronize import Event
from pathlib import Path
from statistics import quantiles

import httpx
import psutil

from bench import fixtures
from bench.fixtures import Fixtures
from builders.identity import service as identity
from builders.identity.records import KeyKind, Preset
from builders.kit.db.connections import Database
from builders.kit.http.callers import OPERATOR
from builders.kit.process.settings import Settings
from builders.kit.values import ids
from soak import heavy_requests, slow_clients
from soak.scenario import Scenario, Target

MODULES = [slow_clients, heavy_requests]
SCENARIOS = {each.name: each for module in MODULES for each in module.SCENARIOS}
RATE = 50  # requests per second of the other account
CONNECTIONS = 16  # of the other account
READY_WITHIN_S, SETTLE_S, ATTACK_WITHIN_S = 60, 5, 120
TIMEOUT_S = 60
SAMPLE_S = 0.05
MB = 1 << 20
ERROR = b'"level":"error"'


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
    """The latency of the other account in milliseconds, and its failed requests."""

    p50: float
    p99: float
    longest: float
    failures: int

    def __str__(self) -> str:
        """Return the cells of the table."""
        return f"{self.p50:8.1f} {self.p99:9.1f} {self.longest:9.1f} {self.failures:6d}"


@contextmanager
def running(prepared: Fixtures, receiver_port: int, log_path: Path) -> Iterator[tuple[int, psutil.Process]]:
    """Run `builders http` as `builders serve` does; yield its port and its process."""
    environment = {
        **os.environ,
        "BUILDERS_DATABASE_URL": prepared.conninfo,
        "BUILDERS_DATA_DIR": str(prepared.data_dir),
        "BUILDERS_LIMITS": "off",
        "BUILDERS_LOG_LEVEL": "error",
        "BUILDERS_OUTBOUND_ALLOW": f"127.0.0.1:{receiver_port}",
    }
    with socket.create_server(("127.0.0.1", 0), backlog=2048) as listener, log_path.open("wb") as log:
        port = int(listener.getsockname()[1])
        command = [sys.executable, "-m", "builders", "http", "--fd", str(listener.fileno())]
        descriptors = [listener.fileno()]
        with subprocess.Popen(command, env=environment, pass_fds=descriptors, stdout=log, stderr=log) as process:
            try:
                _wait_until_ready(port)
                yield port, psutil.Process(process.pid)
            finally:
                process.kill()


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


async def probe(port: int, key: str, seconds: float) -> Latency:
    """Request GET /v1/me at a fixed rate."""
    due: asyncio.Queue[float] = asyncio.Queue()
    took: list[float] = []
    failures = 0

    async def send_requests(client: httpx.AsyncClient) -> None:
        nonlocal failures
        while True:
            at = await due.get()
            try:
                answer = await client.get("/v1/me", headers={"X-API-Key": key})
                failures += answer.status_code != httpx.codes.OK
            except httpx.TransportError:
                failures += 1
            took.append((time.perf_counter() - at) * 1000)
            due.task_done()

    limits = httpx.Limits(max_connections=CONNECTIONS)
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=TIMEOUT_S, limits=limits) as client:
        clients = [asyncio.create_task(send_requests(client)) for _ in range(CONNECTIONS)]
        began = time.perf_counter()
        for n in range(int(seconds * RATE)):
            await asyncio.sleep(began + n / RATE - time.perf_counter())
            due.put_nowait(began + n / RATE)
        await due.join()
        for each in clients:
            each.cancel()
    centiles = quantiles(took, n=100)
    return Latency(centiles[49], centiles[98], max(took), failures)


def _attack(name: str, target: Target, attacking: Event, over: Event, niceness: int) -> None:
    """Attack until `over` is set, at a priority that leaves the processor to the service."""
    os.nice(niceness)

    async def attack() -> None:
        async with SCENARIOS[name].attack(target):
            attacking.set()
            await asyncio.to_thread(over.wait)

    asyncio.run(attack())


def measure(scenario: Scenario, prepared: Fixtures, keys: tuple[str, str], seconds: float, niceness: int) -> None:
    """Run one scenario against a process of its own and print its lines."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        receiver_port = int(free.getsockname()[1])
    log = prepared.data_dir / "service.log"
    with running(prepared, receiver_port, log) as (port, process):
        target = Target(
            port=port,
            receiver_port=receiver_port,
            hostile_key=keys[0],
            hostile_test_key=keys[1],
            conninfo=prepared.conninfo,
            data_dir=prepared.data_dir,
        )
        asyncio.run(probe(port, prepared.keys.secret, 2))  # imports, pools and caches
        quiet = asyncio.run(probe(port, prepared.keys.secret, seconds))
        memory = Memory(process)
        before = memory.now()
        context = get_context("spawn")
        attacking, over = context.Event(), context.Event()
        attacker = context.Process(target=_attack, args=(scenario.name, target, attacking, over, niceness))
        with memory.sampled():
            attacker.start()
            try:
                if not attacking.wait(ATTACK_WITHIN_S):
                    raise RuntimeError(f"{scenario.name}: the attack does not start.")
                attacked = asyncio.run(probe(port, prepared.keys.secret, seconds))
            finally:
                over.set()
                attacker.join(SETTLE_S)
                attacker.kill()
        time.sleep(SETTLE_S)
        after = asyncio.run(probe(port, prepared.keys.secret, seconds / 3))
        print(f"{scenario.description}")
        print(f"  {'GET /v1/me of another, ms':26} {'p50':>8} {'p99':>9} {'longest':>9} {'failed':>6}")
        for label, latency in (("before", quiet), ("during", attacked), ("after", after)):
            print(f"  {label:26} {latency}")
        sizes = f"{before // MB} before, {memory.peak // MB} at the peak, {memory.now() // MB} after"
        print(f"  memory, MB: {sizes}")
        print(f"  errors in the log: {log.read_bytes().count(ERROR)}", flush=True)


async def make_hostile_keys(prepared: Fixtures) -> tuple[str, str]:
    """Create the hostile account; return its live and its test key."""
    database = Database(
        prepared.conninfo,
        Settings.model_validate({"data_dir": prepared.data_dir, "database_url": prepared.conninfo}),
    )
    await database.open()
    try:
        async with database.transaction() as conn:
            account = await identity.create_account(conn, email=f"{ids.new()}@hostile.example", verified=True)
            live, test = [
                await identity.create_key(
                    conn,
                    account_id=account.id,
                    label=kind.value,
                    kind=kind,
                    preset=Preset.DEVELOPER_FULL,
                    minted_by=KeyKind.LIVE,
                    actor=OPERATOR,
                )
                for kind in (KeyKind.LIVE, KeyKind.TEST)
            ]
        return live.secret, test.secret
    finally:
        await database.close()


def run(names: Sequence[str], seconds: float, niceness: int) -> None:
    """Run the scenarios one after another on one database."""
    with fixtures.temporary() as prepared:
        keys = asyncio.run(make_hostile_keys(prepared))
        for name in names:
            measure(SCENARIOS[name], prepared, keys, seconds, niceness)


def main() -> None:
    """Run the named scenarios, or all."""
    parser = argparse.ArgumentParser(description="Latency of other accounts and memory under attack.")
    parser.add_argument("names", nargs="*", choices=[*SCENARIOS, []], metavar="NAME", help=", ".join(SCENARIOS))
    parser.add_argument("--seconds", type=float, default=15)
    parser.add_argument(
        "--nice", type=int, default=0, help="priority of the attackers, to separate load from stalls"
    )
    given = parser.parse_args()
    run(given.names or list(SCENARIOS), given.seconds, given.nice)


if __name__ == "__main__":
    main()
