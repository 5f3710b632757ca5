"""Restart the service under load, behind nginx, behind HAProxy and without a balancer: no request fails.

    script/soak restarts [--behind nginx|haproxy|nothing] [--restarts 4]

Two machines run `builders serve --http-only`; each is stopped by SIGTERM and started again, one after the other.
Without a balancer, one machine has two HTTP processes, which SIGUSR1 replaces. The load is half of what the same
set-up answers at most. The configurations are those of docs/how-to/restart-without-failed-requests.md.
BUILDERS_BALANCERS names the folder of Debian's unpacked packages, if they are not installed.
"""

import argparse
import asyncio
import itertools
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from bench import fixtures
from bench.fixtures import Fixtures
from bench.scenarios import DOMAINS
from builders.kit.values import ids
from soak.replicas import free_port

GUIDE = Path(__file__).parents[1] / "docs" / "how-to" / "restart-without-failed-requests.md"
UNPACKED = Path(os.environ.get("BUILDERS_BALANCERS", "/"))
CLIENTS = 16
MEASURED_S = 5.0  # of the capacity
QUIET_S = 2.0  # between two restarts
DRAIN_S = 3
READY_WITHIN_S = 300.0  # on a busy machine
POLL_S = 0.05
MAX_P999_S, MAX_S = 1.0, 3.0
NGINX = """
daemon off; pid {folder}/nginx.pid; error_log {folder}/nginx.log; events {{ worker_connections 1024; }}
http {{
access_log off; client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
fastcgi_temp_path {folder}/fastcgi; uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
{site}
}}
"""
TABLE = """\
| behind | restarts | capacity | sent | failed | p50 | p99.9 | longest |
|---|---|---|---|---|---|---|---|"""


@dataclass(slots=True)
class Machine:
    """`builders serve` on a port of its own."""

    port: int
    options: Sequence[str]
    environment: dict[str, str]
    log: Path
    process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, and wait until it answers."""
        program = [sys.executable, "-P", "-m", "builders", "serve", "--port", str(self.port), "--no-migrate"]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [*program, *self.options], env=self.environment, stdout=log, stderr=log
            )
        wait_until_ready(self.port)

    def restart(self) -> None:
        """Stop it in order, and start it again."""
        self.stop()
        self.start()

    def replace(self) -> None:
        """Replace its HTTP processes, and wait until the log says that the last one is replaced."""
        assert self.process is not None
        read = self.log.stat().st_size
        self.process.send_signal(signal.SIGUSR1)
        deadline = time.monotonic() + READY_WITHIN_S
        while (said := self.log.read_bytes()[read:]).count(b"child_replaced") < 2:
            assert time.monotonic() < deadline, said.decode()
            if b"replacement_failed" in said:  # the start took a minute on a busy machine: as an operator, again
                read += len(said)
                self.process.send_signal(signal.SIGUSR1)
            time.sleep(POLL_S)

    def stop(self) -> None:
        """Stop it in order."""
        if self.process is not None:
            self.process.terminate()
            self.process.wait()


@dataclass(slots=True)
class Outcome:
    """What the clients saw."""

    statuses: Counter[str] = field(default_factory=Counter)
    took: list[float] = field(default_factory=list)
    is_over: bool = False

    def failures(self) -> dict[str, int]:
        """Return the number of requests without a good response, by reason."""
        return {reason: count for reason, count in self.statuses.items() if not reason.startswith("2")}

    def quantile(self, share: float) -> float:
        """Return a quantile of the response times in seconds."""
        return sorted(self.took)[min(int(share * len(self.took)), len(self.took) - 1)]


class Client(asyncio.Protocol):
    """A kept connection with one request in flight, which is opened again after `Connection: close`."""

    def __init__(self) -> None:
        self.buffer, self.is_open = b"", True
        self.answer: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        head, end, body = self.buffer.partition(b"\r\n\r\n")
        fields = head.lower()
        length = re.search(rb"\r\ncontent-length: *(\d+)", fields)
        if end and length and len(body) >= int(length[1]):
            self.buffer = b""
            if b"\r\nconnection: close" in fields:
                self.is_open = False
                self.transport.close()
            if not self.answer.done():
                self.answer.set_result(head.split(b" ", 2)[1].decode())

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_open = False
        if not self.answer.done():
            self.answer.set_result(f"closed without a response: {exc}")

    async def ask(self, request: bytes) -> str:
        """Send a request; return the status, or why there is none."""
        self.answer = asyncio.get_running_loop().create_future()
        self.transport.write(request)
        return await self.answer


async def send(port: int, requests: Iterator[bytes], outcome: Outcome, *, pause_s: float) -> None:
    """Send requests over one connection after the other, one each `pause_s` seconds, until the end."""
    loop = asyncio.get_running_loop()
    client, due = None, loop.time()
    while not outcome.is_over:
        due = max(due + pause_s, loop.time() - pause_s)
        await asyncio.sleep(due - loop.time())
        began = loop.time()
        try:
            if client is None or not client.is_open:
                _, client = await loop.create_connection(Client, "127.0.0.1", port)
            outcome.statuses[await client.ask(next(requests))] += 1
        except OSError as error:
            outcome.statuses[f"refused: {error.strerror}"] += 1
        outcome.took.append(loop.time() - began)
    if client is not None:
        client.transport.close()


def list_requests(secret: str) -> Iterator[bytes]:
    """Yield reads of the catalog and of an account, and events to store."""
    key = f"X-API-Key: {secret}\r\n"
    for number in itertools.count():
        body = ""
        if number % 3 == 0:
            line, headers = "GET /v1/catalog/categories", ""
        elif number % 3 == 1:
            line, headers = "GET /v1/api-keys?limit=10", key
        else:
            name = ids.new()
            body = f'{{"kind":"view","domain":"{DOMAINS[0]}","event_id":"{name}","session_id":"{name}"}}'
            line, headers = "POST /v1/catalog/events", "Content-Type: application/json\r\n"
        yield (
            f"{line} HTTP/1.1\r\nHost: builders.example\r\n{headers}Content-Length: {len(body)}\r\n\r\n{body}"
        ).encode()


async def load(port: int, requests: Iterator[bytes], *, rate: float, until: "asyncio.Future[None]") -> Outcome:
    """Send `rate` requests a second, infinity for as many as possible, until the future is done."""
    outcome = Outcome()
    clients = [asyncio.create_task(send(port, requests, outcome, pause_s=CLIENTS / rate)) for _ in range(CLIENTS)]
    await until
    outcome.is_over = True
    await asyncio.gather(*clients)
    return outcome


async def measure(port: int, secret: str, machines: Sequence[Machine], restarts: int) -> tuple[float, Outcome]:
    """Return the requests a second that are answered at most, and the outcome of restarts at half of it."""
    requests = list_requests(secret)
    most = await load(port, requests, rate=float("inf"), until=asyncio.ensure_future(asyncio.sleep(MEASURED_S)))
    capacity = len(most.took) / MEASURED_S

    async def restart() -> None:
        for number in range(restarts):
            await asyncio.sleep(QUIET_S)
            machine = machines[number % len(machines)]
            await asyncio.to_thread(machine.restart if len(machines) > 1 else machine.replace)
        await asyncio.sleep(QUIET_S)

    return capacity, await load(port, requests, rate=capacity / 2, until=asyncio.ensure_future(restart()))


@contextmanager
def balanced(kind: str, machines: Sequence[Machine], folder: Path, *, port: int | None = None) -> Iterator[int]:
    """Run a balancer with the configuration of the guide, at an unused port without `port`; yield the port."""
    if kind == "nothing":
        yield machines[0].port
        return
    port = free_port() if port is None else port
    found = re.search(rf"```{kind}\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    assert found, f"the guide has no configuration of {kind}"
    site = found[1].replace("0.0.0.0:80\n", f"127.0.0.1:{port}\n").replace("0.0.0.0:80;", f"127.0.0.1:{port};")
    for address, machine in zip(("10.0.0.11:8000", "10.0.0.12:8000"), machines, strict=True):
        site = site.replace(address, f"127.0.0.1:{machine.port}")
    config = folder / f"{kind}.conf"
    config.write_text(NGINX.format(folder=folder, site=site) if kind == "nginx" else site)
    program = [
        str(UNPACKED / "usr" / "sbin" / kind),
        *(("-c",) if kind == "nginx" else ("-db", "-f")),
        str(config),
    ]
    environment = {"LD_LIBRARY_PATH": str(UNPACKED / "usr" / "lib" / "x86_64-linux-gnu")}
    with (folder / f"{kind}.log").open("ab") as log:
        process = subprocess.Popen(program, env=environment, stdout=log, stderr=log)
    try:
        wait_until_ready(port)
        yield port
    finally:
        process.terminate()
        process.wait()


def wait_until_ready(port: int) -> None:
    """Wait until /readyz answers 200."""
    deadline = time.monotonic() + READY_WITHIN_S
    while True:
        with suppress(httpx.TransportError):
            if httpx.get(f"http://127.0.0.1:{port}/readyz", timeout=5).status_code == httpx.codes.OK:
                return
        assert time.monotonic() < deadline, f"nothing is ready at port {port}"
        time.sleep(POLL_S)


def run(kind: str, prepared: Fixtures, folder: Path, restarts: int) -> tuple[float, Outcome]:
    """Start the machines and the balancer, and measure."""
    environment = {
        **os.environ,
        "BUILDERS_DATABASE_URL": prepared.conninfo,
        "BUILDERS_DATA_DIR": str(prepared.data_dir),
        "BUILDERS_LIMITS": "off",
        "BUILDERS_LOG_LEVEL": "info" if kind == "nothing" else "error",
        "BUILDERS_DRAIN_S": str(DRAIN_S) if kind == "haproxy" else "0",
    }
    options = [["--http-only", "--workers", "2"]] if kind == "nothing" else [["--http-only"]] * 2
    machines = [
        Machine(free_port(), each, environment, folder / f"{kind}-{place}.log")
        for place, each in enumerate(options)
    ]
    with ExitStack() as stack:
        for machine in machines:
            stack.callback(machine.stop)
            machine.start()
        port = stack.enter_context(balanced(kind, machines, folder))
        return asyncio.run(measure(port, prepared.keys.secret, machines, restarts))


def main() -> None:
    """Print a row for each set-up; exit with 1 if a request failed or took too long."""
    parser = argparse.ArgumentParser(description="Restart the service under load.")
    parser.add_argument("--behind", choices=["nginx", "haproxy", "nothing"], action="append")
    parser.add_argument("--restarts", type=int, default=4)
    given = parser.parse_args()
    is_wrong = False
    print(TABLE, flush=True)
    with fixtures.temporary() as prepared:
        for kind in given.behind or ["nginx", "haproxy", "nothing"]:
            capacity, outcome = run(kind, prepared, prepared.data_dir, given.restarts)
            p50, p999, longest = (outcome.quantile(share) for share in (0.5, 0.999, 1))
            failures = outcome.failures()
            columns = (kind, given.restarts, f"{capacity:.0f}/s", len(outcome.took), sum(failures.values()))
            times = (f"{each * 1000:.0f} ms" for each in (p50, p999, longest))
            print("|", " | ".join(map(str, (*columns, *times))), "|", flush=True)
            for reason, count in failures.items():
                print(f"restarts: {count} times {reason}", file=sys.stderr)
            is_wrong |= bool(failures) or p999 > MAX_P999_S or longest > MAX_S
    sys.exit(is_wrong)


if __name__ == "__main__":
    main()
