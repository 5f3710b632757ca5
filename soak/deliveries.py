"""Workers are killed while events flow to receivers of which some behave badly: every healthy one gets everything.

    script/soak deliveries [--events 10000] [--destinations 50] [--kills 20] [--seconds 240] [--seed N]

Real workers as processes of their own, kill -9 at random moments. Prints the delay from event to first attempt,
and how much memory workers took.
"""

import argparse
import asyncio
import os
import random
import secrets
import subprocess
import sys
import tempfile
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
from builders.identity import service as identity
from builders.kit.db import migrations
from builders.kit.db.connections import Database
from builders.kit.db.embedded.server import EmbeddedServer
from builders.kit.events import outbox
from builders.kit.process.secret_keys import Keyring, keyring_of
from builders.kit.process.settings import Settings
from builders.kit.values import clock, ids
from builders.webhooks import signing
from builders.webhooks.records import DestinationSpec
from builders.webhooks.store import destinations
from soak.receivers import BAD, HOST, Receivers

WORKERS = 2
MOST_RSS = 300 * 1024 * 1024  # bytes; a worker that kept what receivers send would have more
OPEN = """
    SELECT count(*) FROM webhooks_deliveries WHERE destination_id = ANY(%s) AND status <> 'succeeded'
"""
UNTOLD = "SELECT count(*) FROM kit_outbox_pending"
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
    ) AS begun
"""
# What a killed worker held is due again when its lease is over; a short run does not wait for that.
END_LEASES = "UPDATE webhooks_due SET next_attempt_at = now() WHERE leased"


@dataclass
class Told:
    """What the run has to tell."""

    wrong: list[str] = field(default_factory=list)
    kills: int = 0
    arrived: int = 0
    again: int = 0  # requests that came a second time: at least once is the promise
    p50_s: float = 0.0
    p99_s: float = 0.0
    most_rss: int = 0
    rss_halves: tuple[int, int] = (0, 0)  # the median of each half of the run


class Workers:
    """Real workers, which can be killed."""

    def __init__(self, environment: Mapping[str, str], count: int) -> None:
        self.environment = {**os.environ, **environment}
        self.processes = [self._start() for _ in range(count)]
        self.rss: list[int] = []

    def _start(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen([sys.executable, "-m", "builders", "worker"], env=self.environment)

    def kill(self, dice: random.Random) -> None:
        """Kills one and starts another."""
        n = dice.randrange(len(self.processes))
        self.processes[n].kill()
        self.processes[n].wait()
        self.processes[n] = self._start()

    def look(self) -> None:
        """Notes how much memory each has."""
        with suppress(psutil.Error):
            self.rss += [psutil.Process(each.pid).memory_info().rss for each in self.processes]

    def stop(self, *, at_once: bool) -> None:
        for each in self.processes:
            each.kill() if at_once else each.terminate()
        for each in self.processes:
            each.wait(60)


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What is to happen."""

    events: int
    destinations: int
    kills: int
    seed: int
    workers: int = WORKERS
    of_account: int = 1  # destinations; each gets the account's events
    seconds: float  # of publishing
    within_s: float  # until everything has arrived
    in_short: bool = False  # kills as soon as enough has arrived, also at the end, and waits for no lease


async def soak(conninfo: str, data_dir: Path, plan: Plan) -> Told:
    """Runs the plan on a migrated database."""
    dice = random.Random(plan.seed)  # noqa: S311
    bad = dict(zip(dice.sample(range(plan.destinations), len(BAD)), range(len(BAD)), strict=True))
    receivers = Receivers(bad)
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
    workers, told = Workers(environment, plan.workers), Told()
    try:
        await asyncio.gather(
            _publish(database, sorted({account for account, _ in made}), plan),
            _kill(workers, database, receivers, dice, plan, told),
        )
        await _arrive(database, [each for n, (_, each) in enumerate(made) if n not in bad], workers, plan, told)
    finally:
        await asyncio.to_thread(workers.stop, at_once=plan.in_short)
    _count(conninfo, made, receivers, workers, told)
    await database.close()
    assert receivers.server is not None
    receivers.server.close()
    return told


async def _make(database: Database, keyring: Keyring, port: int, plan: Plan) -> list[tuple[UUID, UUID]]:
    """Account and id of each destination."""
    made: list[tuple[UUID, UUID]] = []
    async with database.transaction() as conn:
        for n in range(plan.destinations):
            if n % plan.of_account == 0:
                account = await identity.create_account(conn, email=f"{ids.new()}@soak.example", verified=True)
            made.append((account.id, ids.new()))
            text = signing.generate_secret()
            spec = DestinationSpec(
                id=made[n][1], label=f"soak {n}", url=f"http://{HOST}:{port}/{n}", enabled=True, events=["alias.*"]
            )
            sealed = signing.stored_secret(keyring, text, account_id=account.id, destination_id=spec.id)
            await destinations.insert(
                conn, account_id=account.id, specs=[spec], secrets={spec.id: sealed}, now=clock.now()
            )
    return made


async def _publish(database: Database, accounts: Sequence[UUID], plan: Plan) -> None:
    """The events, spread over the time."""
    began, sent = time.monotonic(), 0
    while sent < plan.events:
        due = min(plan.events, int((time.monotonic() - began) / plan.seconds * plan.events) + 1) - sent
        happened = [(accounts[(sent + n) % len(accounts)], ALIAS_CREATED.example) for n in range(due)]
        async with database.transaction() as conn:
            await outbox.publish_many(conn, ALIAS_CREATED, happened)
        sent += due
        await asyncio.sleep(0.05)


async def _kill(
    workers: Workers, database: Database, receivers: Receivers, dice: random.Random, plan: Plan, told: Told
) -> None:
    due = plan.events * plan.of_account * (1 - len(receivers.bad) / plan.destinations)
    for n in range(plan.kills):
        if plan.in_short:
            async with asyncio.timeout(plan.within_s):
                await receivers.wait_for(int(due * (n + dice.uniform(0.2, 0.8)) / plan.kills))
        else:
            await asyncio.sleep(dice.uniform(0.7, 1.3) * plan.seconds / (plan.kills + 1))
        workers.look()
        await asyncio.to_thread(workers.kill, dice)
        told.kills += 1
        if plan.in_short:
            async with database.connection() as conn:
                await conn.execute(END_LEASES)


async def _arrive(database: Database, healthy: list[UUID], workers: Workers, plan: Plan, told: Told) -> None:
    """Until every delivery to a healthy destination has succeeded."""
    give_up = time.monotonic() + plan.within_s
    while time.monotonic() < give_up:
        workers.look()
        async with database.connection() as conn:
            untold = await (await conn.execute(UNTOLD)).fetchone()
            left = await (await conn.execute(OPEN, [healthy])).fetchone()
        if untold == left == (0,):
            return
        await asyncio.sleep(0.5)
    told.wrong.append(f"not all arrived within {plan.within_s} s: {untold} events untold, {left} deliveries open")


def _count(
    conninfo: str, made: Sequence[tuple[UUID, UUID]], receivers: Receivers, workers: Workers, told: Told
) -> None:
    healthy = [n for n in range(len(made)) if n not in receivers.bad]
    with psycopg.connect(conninfo) as conn:
        events: dict[UUID, list[str]] = dict(conn.execute(EVENTS).fetchall())
        delays = conn.execute(DELAYS, [[made[n][1] for n in healthy]]).fetchone()
        twice = conn.execute(TWICE).fetchone()
    for n in healthy:
        missing = set(events[made[n][0]]) - receivers.came[n].keys()
        if missing:
            told.wrong.append(f"destination {n} lacks {len(missing)} of {len(events[made[n][0]])} events")
    if twice != (0,):
        told.wrong.append(f"{twice} deliveries succeeded twice")
    told.arrived = receivers.arrived()
    told.again = sum(receivers.came[n].total() for n in healthy) - told.arrived
    assert delays is not None
    told.p50_s, told.p99_s = delays[0]
    told.most_rss = max(workers.rss)
    half = len(workers.rss) // 2
    told.rss_halves = (sorted(workers.rss[:half])[half // 2], sorted(workers.rss[half:])[half // 2])
    if told.most_rss > MOST_RSS:
        told.wrong.append(f"a worker took {told.most_rss} bytes")


def main() -> int:
    """Runs the soak; exit status 1 when something does not add up."""
    parser = argparse.ArgumentParser()
    for name, value in (("events", 10_000), ("destinations", 50), ("kills", 20), ("seconds", 240)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--seed", type=int, default=None)
    given = parser.parse_args()
    seed = given.seed if given.seed is not None else random.randrange(10**6)  # noqa: S311
    print(f"seed {seed}", flush=True)
    plan = Plan(
        events=given.events,
        destinations=given.destinations,
        kills=given.kills,
        seed=seed,
        seconds=given.seconds,
        within_s=600,
    )
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o711)
        with EmbeddedServer(Path(folder)) as embedded:
            migrations.migrate(embedded.conninfo)
            told = asyncio.run(soak(embedded.conninfo, Path(folder), plan))
    mb = [round(each / 2**20) for each in (told.most_rss, *told.rss_halves)]
    print(f"{told.kills} kills; {told.arrived} deliveries to healthy receivers, {told.again} of them twice")
    print(f"from event to first attempt: p50 {told.p50_s:.2f} s, p99 {told.p99_s:.2f} s")
    print(f"memory of a worker: {mb[0]} MB at most; median {mb[1]} MB in the first half, {mb[2]} MB in the second")
    print("\n".join(told.wrong) or "everything adds up")
    return 1 if told.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
