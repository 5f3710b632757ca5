"""Deliver events with worker processes that are killed at random moments, partly to faulty receivers.

Every healthy receiver must get every event. `script/soak deliveries` is the long form.
"""

import asyncio
import os
import random
import secrets
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from uuid import UUID

import psutil
import psycopg
from pydantic import SecretStr

from builders.aliases.events import ALIAS_CREATED
from builders.identity import accounts as identity_accounts
from builders.kit.db.connections import Database
from builders.kit.events import outbox
from builders.kit.process.secret_keys import Keyring, keyring_of
from builders.kit.process.settings import Settings
from builders.kit.values import clock, ids
from builders.webhooks import signatures
from builders.webhooks.records import DestinationSpec
from builders.webhooks.store import destinations
from tests.webhooks.engine.receivers import FAULTY, HOST, Receivers

WORKERS = 2
MAX_RSS = 300 * 1024 * 1024  # bytes; a worker that kept the responses of receivers would exceed it
OPEN = """
    SELECT count(*) FROM webhooks_deliveries WHERE destination_id = ANY(%s) AND status <> 'succeeded'
"""
UNPUBLISHED = "SELECT count(*) FROM kit_outbox_pending"
EVENTS = "SELECT account_id, array_agg(id::text) FROM kit_outbox WHERE name = 'alias.created' GROUP BY account_id"
TWICE = """
    SELECT count(*) FROM (
        SELECT FROM webhooks_attempts WHERE error IS NULL GROUP BY delivery_id HAVING count(*) > 1
    ) AS twice
"""
DELAYS = """
    SELECT percentile_cont(ARRAY[0.5, 0.99]) WITHIN GROUP (ORDER BY extract(epoch FROM first - created_at))
    FROM (
        SELECT delivery.created_at, min(attempt.created_at) AS first FROM webhooks_deliveries AS delivery
        JOIN webhooks_attempts AS attempt
          ON attempt.account_id = delivery.account_id AND attempt.delivery_id = delivery.id
        WHERE delivery.destination_id = ANY(%s) GROUP BY delivery.id, delivery.created_at
    ) AS started
"""
# The deliveries of a killed worker are due when their lease ends; a short run does not wait.
END_LEASES = "UPDATE webhooks_due SET next_attempt_at = now() WHERE leased"


@dataclass
class Result:
    """The outcome of a run."""

    errors: list[str] = field(default_factory=list)
    kills: int = 0
    arrived: int = 0
    duplicates: int = 0  # repeated requests, which at-least-once delivery permits
    p50_s: float = 0.0
    p99_s: float = 0.0
    max_rss: int = 0
    rss_halves: tuple[int, int] = (0, 0)  # the median of each half of the run


class Workers:
    """Worker processes that can be killed."""

    def __init__(self, environment: Mapping[str, str], count: int) -> None:
        self.environment = {**os.environ, **environment}
        self.processes = [self._start() for _ in range(count)]
        self.rss: list[int] = []

    def _start(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen([sys.executable, "-m", "builders", "worker"], env=self.environment)

    def kill(self, random_source: random.Random) -> None:
        """Kill one and start another."""
        n = random_source.randrange(len(self.processes))
        self.processes[n].kill()
        self.processes[n].wait()
        self.processes[n] = self._start()

    def record_memory(self) -> None:
        """Record the resident memory of each."""
        with suppress(psutil.Error):
            self.rss += [psutil.Process(each.pid).memory_info().rss for each in self.processes]

    def stop(self, *, immediately: bool) -> None:
        for each in self.processes:
            each.kill() if immediately else each.terminate()
        for each in self.processes:
            each.wait(60)


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The parameters of a run."""

    events: int
    destinations: int
    kills: int
    seed: int
    workers: int = WORKERS
    of_account: int = 1  # destinations; each gets all events of its account
    seconds: float  # of publishing
    within_s: float  # from the end of publishing until the last arrival
    is_short: bool = False  # kill by the number of arrivals, kill the workers at the end, do not wait for leases


async def run(conninfo: str, data_dir: Path, plan: Plan) -> Result:
    """Run the plan on a migrated database."""
    random_source = random.Random(plan.seed)  # noqa: S311 - a test needs no secret randomness
    faulty = dict(
        zip(random_source.sample(range(plan.destinations), len(FAULTY)), range(len(FAULTY)), strict=True)
    )
    receivers = Receivers(faulty)
    await receivers.start()
    secret = secrets.token_urlsafe(32)
    settings = Settings(database_url=SecretStr(conninfo), data_dir=data_dir, secret_keys=(SecretStr(secret),))
    database = Database(conninfo, settings)
    await database.open()
    made = await _make(database, keyring_of(settings), receivers.port, plan)
    environment = {
        "BUILDERS_DATABASE_URL": conninfo,
        "BUILDERS_DATA_DIR": str(data_dir),
        "BUILDERS_SECRET_KEYS": secret,
        "BUILDERS_OUTBOUND_ALLOW": f"{HOST}:{receivers.port}",
        "BUILDERS_LOG_LEVEL": "error",
    }
    workers, result = Workers(environment, plan.workers), Result()
    try:
        await asyncio.gather(
            _publish(database, sorted({account for account, _ in made}), plan),
            _kill(workers, database, receivers, random_source, plan, result),
        )
        await _wait_for_arrivals(
            database, [each for n, (_, each) in enumerate(made) if n not in faulty], workers, plan, result
        )
    finally:
        await asyncio.to_thread(workers.stop, immediately=plan.is_short)
    _verify(conninfo, made, receivers, workers, result)
    await database.close()
    assert receivers.server is not None
    receivers.server.close()
    return result


async def _make(database: Database, keyring: Keyring, port: int, plan: Plan) -> list[tuple[UUID, UUID]]:
    """Create the destinations; return the account and id of each."""
    made: list[tuple[UUID, UUID]] = []
    async with database.transaction() as conn:
        for n in range(plan.destinations):
            if n % plan.of_account == 0:
                account = await identity_accounts.create_account(
                    conn, email=f"{ids.new()}@soak.example", verified=True
                )
            made.append((account.id, ids.new()))
            text = signatures.generate_secret()
            spec = DestinationSpec(
                id=made[n][1], label=f"soak {n}", url=f"http://{HOST}:{port}/{n}", enabled=True, events=["alias.*"]
            )
            sealed = signatures.stored_secret(keyring, text, account_id=account.id, destination_id=spec.id)
            await destinations.insert(conn, account_id=account.id, specs=[spec], secrets=[sealed], now=clock.now())
    return made


async def _publish(database: Database, accounts: Sequence[UUID], plan: Plan) -> None:
    """Publish the events at a steady rate."""
    began, sent = time.monotonic(), 0
    while sent < plan.events:
        due = min(plan.events, int((time.monotonic() - began) / plan.seconds * plan.events) + 1) - sent
        published = [(accounts[(sent + n) % len(accounts)], ALIAS_CREATED.example) for n in range(due)]
        async with database.transaction() as conn:
            await outbox.publish_many(conn, ALIAS_CREATED, published)
        sent += due
        await asyncio.sleep(0.05)


async def _kill(
    workers: Workers,
    database: Database,
    receivers: Receivers,
    random_source: random.Random,
    plan: Plan,
    result: Result,
) -> None:
    due = plan.events * plan.of_account * (1 - len(receivers.faulty) / plan.destinations)
    for n in range(plan.kills):
        if plan.is_short:
            async with asyncio.timeout(plan.within_s):
                await receivers.wait_for(int(due * (n + random_source.uniform(0.2, 0.8)) / plan.kills))
        else:
            await asyncio.sleep(random_source.uniform(0.7, 1.3) * plan.seconds / (plan.kills + 1))
        workers.record_memory()
        await asyncio.to_thread(workers.kill, random_source)
        result.kills += 1
        if plan.is_short:
            async with database.connection() as conn:
                await conn.execute(END_LEASES)


async def _wait_for_arrivals(
    database: Database, healthy: list[UUID], workers: Workers, plan: Plan, result: Result
) -> None:
    """Wait until every delivery to a healthy destination has succeeded."""
    deadline = time.monotonic() + plan.within_s
    while time.monotonic() < deadline:
        workers.record_memory()
        async with database.connection() as conn:
            pending = await (await conn.execute(UNPUBLISHED)).fetchone()
            left = await (await conn.execute(OPEN, [healthy])).fetchone()
        if pending == left == (0,):
            return
        await asyncio.sleep(0.5)
    result.errors.append(
        f"not all arrived within {plan.within_s} s: {pending} events pending, {left} deliveries open"
    )


def _verify(
    conninfo: str, made: Sequence[tuple[UUID, UUID]], receivers: Receivers, workers: Workers, result: Result
) -> None:
    healthy = [n for n in range(len(made)) if n not in receivers.faulty]
    with psycopg.connect(conninfo) as conn:
        events: dict[UUID, list[str]] = dict(conn.execute(EVENTS).fetchall())
        delays = conn.execute(DELAYS, [[made[n][1] for n in healthy]]).fetchone()
        twice = conn.execute(TWICE).fetchone()
    for n in healthy:
        missing = set(events[made[n][0]]) - receivers.received[n].keys()
        if missing:
            result.errors.append(f"destination {n} lacks {len(missing)} of {len(events[made[n][0]])} events")
    if twice != (0,):
        result.errors.append(f"{twice} deliveries succeeded twice")
    result.arrived = receivers.arrived()
    result.duplicates = sum(receivers.received[n].total() for n in healthy) - result.arrived
    assert delays is not None
    result.p50_s, result.p99_s = delays[0]
    result.max_rss = max(workers.rss)
    half = len(workers.rss) // 2
    result.rss_halves = (sorted(workers.rss[:half])[half // 2], sorted(workers.rss[half:])[half // 2])
    if result.max_rss > MAX_RSS:
        result.errors.append(f"a worker used {result.max_rss} bytes")
