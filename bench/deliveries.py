"""Measure webhook deliveries: `python -m bench.deliveries [--events N] [--rounds N] [--json]`.

The service delivers events from the outbox: fan-out, claims, signatures, address checks, the log of attempts. Bare
aiohttp posts bodies of the same size to the same receivers, with as many concurrent requests and one connection
per request. Both run on one core in turn; receivers and PostgreSQL run on the other.
"""

import argparse
import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any
from uuid import UUID

import aiohttp
import psycopg
from pydantic import SecretStr

from bench import fixtures
from bench.contenders import pin
from bench.run import cores
from builders.aliases.events import ALIAS_CREATED
from builders.identity import accounts as identity_accounts
from builders.kit.db.connections import Database
from builders.kit.events import dispatcher, outbox
from builders.kit.process.secret_keys import keyring_of
from builders.kit.process.settings import Settings
from builders.kit.values import clock, ids
from builders.webhooks import jobs as webhooks_jobs, signatures
from builders.webhooks.records import DestinationSpec
from builders.webhooks.store import destinations

TARGET = 0.4
DESTINATIONS = 32  # one per account
CONCURRENCY = 128  # requests of aiohttp, as many as the sender has
HOST = "127.0.0.1"
ANSWER = b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n"
CONTENDERS = ("aiohttp", "service")
DELIVERED = "SELECT count(*) FROM webhooks_deliveries WHERE status = 'succeeded'"
EMPTY = "TRUNCATE webhooks_due, webhooks_deliveries, webhooks_payloads, webhooks_attempts, kit_outbox"
DELAYS = """
    SELECT percentile_cont(ARRAY[0.5, 0.99]) WITHIN GROUP (ORDER BY extract(epoch FROM attempt.created_at
           - delivery.created_at)) FROM webhooks_attempts AS attempt JOIN webhooks_deliveries AS delivery
           ON delivery.account_id = attempt.account_id AND delivery.id = attempt.delivery_id
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """The measured figures."""

    aiohttp_ratio: float
    rates: dict[str, float]  # deliveries per second
    steady_p50_s: float  # from event to first attempt, at a fifth of the rate of the service
    steady_p99_s: float


class Receiver(asyncio.Protocol):
    """A receiver that responds when the body is complete, and closes the connection."""

    def connection_made(self, transport: Any) -> None:
        self.transport, self.received = transport, b""

    def data_received(self, data: bytes) -> None:
        self.received += data
        head, found, body = self.received.partition(b"\r\n\r\n")
        if found:
            length = next(each for each in head.lower().split(b"\r\n") if each.startswith(b"content-length:"))
            if len(body) >= int(length.split(b":")[1]):
                self.transport.write(ANSWER)
                self.transport.close()


async def receive(port: int) -> None:
    """Serve until the process ends."""
    server = await asyncio.get_running_loop().create_server(Receiver, HOST, port, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


async def post(port: int, *, body: bytes, count: int) -> float:
    """Post the body `count` times; return the seconds."""
    headers = {
        "content-type": "application/json",
        "webhook-id": str(ids.new()),
        "webhook-signature": "v1," + "x" * 44,
    }
    async with aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(force_close=True, limit=CONCURRENCY)
    ) as session:
        left = iter(range(count))

        async def work() -> None:
            for n in left:  # one iterator for all of them
                url = f"http://{HOST}:{port}/{n % DESTINATIONS}"
                async with session.post(url, data=body, headers=headers) as answer:
                    await answer.read()

        began = time.perf_counter()
        await asyncio.gather(*(work() for _ in range(CONCURRENCY)))
        return time.perf_counter() - began


async def deliver(settings: Settings, *, count: int) -> float:
    """Deliver the outbox as a worker does; return the seconds until `count` deliveries are recorded."""
    database = Database(settings.conninfo, settings)
    await database.open()
    began = time.perf_counter()
    working = [
        asyncio.create_task(dispatcher.run(database)),
        asyncio.create_task(webhooks_jobs.run_sender(database, settings)),
    ]
    try:
        async with database.connection() as conn:
            while (await (await conn.execute(DELIVERED)).fetchone() or (0,))[0] < count:  # noqa: ASYNC110 - the database is asked again and again
                await asyncio.sleep(0.1)
        return time.perf_counter() - began
    finally:
        for task in working:
            task.cancel()
        await asyncio.gather(*working, return_exceptions=True)
        await database.close()


async def prepare(settings: Settings, port: int) -> list[UUID]:
    """Create accounts with a destination each; return their ids."""
    keyring, accounts = keyring_of(settings), []
    database = Database(settings.conninfo, settings)
    await database.open()
    async with database.transaction() as conn:
        for n in range(DESTINATIONS):
            account = await identity_accounts.create_account(
                conn, email=f"{ids.new()}@bench.example", verified=True
            )
            made, secret = ids.new(), signatures.generate_secret()
            spec = DestinationSpec(
                id=made, label="bench", url=f"http://{HOST}:{port}/{n}", enabled=True, events=["alias.*"]
            )
            sealed = signatures.stored_secret(keyring, secret, account_id=account.id, destination_id=spec.id)
            await destinations.insert(conn, account_id=account.id, specs=[spec], secrets=[sealed], now=clock.now())
            accounts.append(account.id)
    await database.close()
    return accounts


async def publish(settings: Settings, accounts: Sequence[UUID], count: int) -> None:
    """Replace all events by `count` new ones, which the accounts share evenly."""
    database = Database(settings.conninfo, settings)
    await database.open()
    async with database.transaction() as conn:
        await conn.execute(EMPTY)
        for start in range(0, count, 1000):
            happened = [
                (accounts[n % len(accounts)], ALIAS_CREATED.example)
                for n in range(start, min(start + 1000, count))
            ]
            await outbox.publish_many(conn, ALIAS_CREATED, happened)
    await database.close()


async def publish_steadily(settings: Settings, accounts: Sequence[UUID], *, rate: float, seconds: float) -> None:
    """Publish events at a steady rate."""
    database = Database(settings.conninfo, settings)
    await database.open()
    began, sent = time.perf_counter(), 0
    while time.perf_counter() - began < seconds:
        due = int((time.perf_counter() - began) * rate) - sent
        for _ in range(due):
            async with database.transaction() as conn:
                account_id = accounts[sent % len(accounts)]
                await outbox.publish(conn, ALIAS_CREATED, account_id=account_id, data=ALIAS_CREATED.example)
            sent += 1
        await asyncio.sleep(0.01)
    await database.close()


class Fixtures:
    """A database with destinations, and their receiver; starts contenders on a core of their own."""

    def __init__(self, settings: Settings, port: int, accounts: Sequence[UUID], core: int | None) -> None:
        self.settings = settings
        self.port = port
        self.accounts = accounts
        self.core = core

    def start(self, name: str, count: int) -> subprocess.Popen[str]:
        """Start a contender; it prints how many seconds it takes."""
        command = [sys.executable, "-m", "bench.deliveries", "--as", name, "--port", str(self.port)]
        command += ["--conninfo", self.settings.conninfo, "--data-dir", str(self.settings.data_dir)]
        command += ["--events", str(count), *([] if self.core is None else ["--core", str(self.core)])]
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

    def rate(self, name: str, count: int) -> float:
        """Return deliveries per second."""
        if name == "service":
            asyncio.run(publish(self.settings, self.accounts, count))
        return count / seconds_of(self.start(name, count))

    def delays(self, *, rate: float, seconds: float) -> tuple[float, float]:
        """Return the median and 99th percentile from event to first attempt, at a steady rate."""
        asyncio.run(publish(self.settings, self.accounts, 1))
        process = self.start("service", 10**9)  # more than are published: it runs until it is terminated
        with psycopg.connect(self.settings.conninfo, autocommit=True) as conn:
            while conn.execute(DELIVERED).fetchone() != (1,):
                time.sleep(0.1)
        asyncio.run(publish(self.settings, self.accounts, 0))
        asyncio.run(publish_steadily(self.settings, self.accounts, rate=rate, seconds=seconds))
        time.sleep(2)
        process.terminate()
        process.wait()
        with psycopg.connect(self.settings.conninfo) as conn:
            row = conn.execute(DELAYS).fetchone()
        assert row is not None
        return row[0][0], row[0][1]


def seconds_of(process: subprocess.Popen[str]) -> float:
    output, _ = process.communicate()
    assert process.returncode == 0, output
    return float(output)


@contextmanager
def built(core: int | None) -> Iterator[Fixtures]:
    """Yield the fixtures; the receiver shares the core of this process."""
    command = [sys.executable, "-m", "bench.deliveries", "--as", "receiver"]
    with fixtures.temporary_database() as (data_dir, conninfo):
        receiver = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        try:
            assert receiver.stdout is not None
            port = int(receiver.stdout.readline())
            settings = settings_of(conninfo, data_dir, port)
            yield Fixtures(settings, port, asyncio.run(prepare(settings, port)), core)
        finally:
            receiver.terminate()
            receiver.wait()


def settings_of(conninfo: str, data_dir: Path, port: int) -> Settings:
    values: dict[str, Any] = {"database_url": SecretStr(conninfo), "data_dir": data_dir}
    return Settings(**values, outbound_allow=(f"{HOST}:{port}",))


def measure(running: Fixtures, *, events: int, rounds: int) -> Line:
    """Measure both in turn; the first round fills caches."""
    found = [{name: running.rate(name, events) for name in CONTENDERS} for _ in range(rounds + 1)][1:]
    rates = {name: median(each[name] for each in found) for name in CONTENDERS}
    p50, p99 = running.delays(rate=rates["service"] / 5, seconds=6)
    aiohttp_ratio = median(each["service"] / each["aiohttp"] for each in found)
    return Line(aiohttp_ratio=aiohttp_ratio, rates=rates, steady_p50_s=p50, steady_p99_s=p99)


def main() -> None:
    """Measure and print a line."""
    parser = argparse.ArgumentParser(description="Webhook deliveries, as a ratio to bare aiohttp in the same run.")
    parser.add_argument("--events", type=int, default=4000, help="of each contender and round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true", dest="as_json", help="print JSON, for programs")
    parser.add_argument("--as", dest="name", choices=(*CONTENDERS, "receiver"), help=argparse.SUPPRESS)
    for hidden, kind in (("--port", int), ("--core", int), ("--conninfo", str), ("--data-dir", Path)):
        parser.add_argument(hidden, type=kind, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.name == "receiver":
        asyncio.run(receive(0))
        return
    if given.name is not None:
        pin(given.core)
        settings = settings_of(given.conninfo, given.data_dir, given.port)
        body = b"x" * 420
        if given.name == "aiohttp":
            print(asyncio.run(post(given.port, body=body, count=given.events)))
        else:
            print(asyncio.run(deliver(settings, count=given.events)))
        return
    worker_core, other_core = cores()
    pin(other_core)
    with built(worker_core) as running:
        line = measure(running, events=given.events, rounds=given.rounds)
    if given.as_json:
        print(json.dumps(asdict(line), indent=2))
        return
    met = "" if line.aiohttp_ratio >= TARGET else " (below the target)"
    rates = ", ".join(f"{name} {rate:,.0f}" for name, rate in line.rates.items())
    print(
        f"| deliveries{met} | {line.aiohttp_ratio:.2f} of bare aiohttp (target {TARGET}) | per second: {rates} |"
    )
    delays = f"p50 {line.steady_p50_s:.2f} s, p99 {line.steady_p99_s:.2f} s"
    print(f"from event to first attempt, at a fifth of that rate: {delays}")


if __name__ == "__main__":
    main()
