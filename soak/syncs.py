"""Syncs of many domains: time and memory by size, and SIGKILL of the worker during a sync.

    script/soak syncs [--domains 50000] [--kills 10] [--seed N]

Four fake registrars hold the domains. One worker first syncs a quarter, then a half, then all of them. Then
workers that are killed sync a portfolio; the result must equal that of a portfolio synced without kills.
"""

import argparse
import asyncio
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import psutil

from bench import fixtures
from builders.demo.registrars.account import FakeAccount, FakeDomain
from builders.demo.registrars.fake import FakeServer
from builders.demo.registrars.fakes import FAKES
from builders.identity import service as identity
from builders.kit.db.connections import Database
from builders.kit.process.secret_keys import keyring_of
from builders.kit.process.settings import Settings
from builders.kit.values import clock, ids
from builders.portfolio.domains import service as domains
from builders.portfolio.domains.records import NewDomain
from builders.portfolio.registrars import credentials as sealing, service as registrars
from builders.portfolio.registrars.records import ConnectionStatus, Environment
from builders.portfolio.registrars.store import connections as store

PROVIDERS = ("porkbun", "godaddy", "namecom", "spaceship")
KILLED_DOMAINS = 6_000
MB = 1 << 20
EXPIRES, CREATED = datetime(2027, 2, 28, 12, tzinfo=UTC), datetime(2020, 2, 29, 12, tzinfo=UTC)
FAR_PAST = "UPDATE procrastinate_workers SET last_heartbeat = last_heartbeat - interval '1 hour'"
STATE = """
    SELECT held.domain, held.provider, held.expires_at, held.auto_renew, held.missing_since IS NULL,
        mine.expires_at, mine.expiry_source, mine.auto_renew, mine.locked, mine.registrar
    FROM portfolio_registrars_holdings AS held
    LEFT JOIN portfolio_domains AS mine USING (account_id, domain)
    WHERE account_id = %s ORDER BY held.domain
"""
EVENTS = "SELECT count(*) FROM kit_outbox WHERE account_id = %s AND name = 'portfolio.sync.completed'"


class Setup:
    """A database, fake registrars and workers."""

    def __init__(self, folder: Path, conninfo: str, fakes: FakeServer) -> None:
        self.fakes = fakes
        self.environment = {
            **os.environ,
            "BUILDERS_DATA_DIR": str(folder),
            "BUILDERS_DATABASE_URL": conninfo,
            "BUILDERS_OUTBOUND_ALLOW": fakes.address,
            "BUILDERS_LOG_LEVEL": "error",
            "BUILDERS_EXCHANGE_RATES": "off",
            "BUILDERS_RDAP": "off",
        }
        self.settings = Settings.model_validate({"data_dir": folder, "database_url": conninfo})
        self.keyring = keyring_of(self.settings)
        self.database = Database(conninfo, self.settings)

    @contextmanager
    def worker(self) -> Iterator[psutil.Process]:
        """Run a worker; kill it at the end of the block."""
        process = subprocess.Popen([sys.executable, "-m", "builders", "worker"], env=self.environment)
        try:
            yield psutil.Process(process.pid)
        finally:
            process.send_signal(signal.SIGKILL)
            process.wait()

    async def portfolio(self, count: int) -> UUID:
        """Create a portfolio of domains at four registrars; a tenth of them is only at the registrar."""
        names = [f"soak-{at:06d}.com" for at in range(count)]
        async with self.database.transaction() as conn:
            account = await identity.create_account(conn, email=f"{ids.new()}@soak.example", verified=True)
            for start in range(0, count, 1_000):
                new = [NewDomain(name=domains.parse_name(each)) for each in names[start : start + 900]]
                await domains.add_domains(conn, account_id=account.id, new=new, uses_rdap=False)
            for at, provider in enumerate(PROVIDERS):
                await self._connect(conn, account.id, provider, names[at :: len(PROVIDERS)])
        return account.id

    async def _connect(self, conn: Any, account_id: UUID, provider: str, names: Sequence[str]) -> None:
        held = [FakeDomain(domain=each, expires_at=EXPIRES, created_at=CREATED) for each in names]
        fake, connection_id = FAKES[provider](FakeAccount(domains=held)), ids.new()
        written = store.WrittenConnection(
            account_id=account_id,
            id=connection_id,
            provider=provider,
            name="default",
            label=None,
            environment=Environment.LIVE,
            base_url=self.fakes.add(fake),
            credentials=sealing.seal(
                self.keyring, fake.credentials, account_id=account_id, connection_id=connection_id
            ),
            hints=(),
            is_enabled=True,
            sync_interval_hours=24,
            status=ConnectionStatus.OK,
            status_detail=None,
            next_allowed_at=None,
        )
        await store.insert(conn, written=written, now=clock.now())
        # Recorded as synced, or the schedule would start another sync.
        await registrars.record_outcome(
            conn, account_id=account_id, connection_id=connection_id, failure=None, synced_at=clock.now()
        )

    async def start(self, account_id: UUID) -> registrars.Run:
        """Start a sync."""
        async with self.database.transaction() as conn:
            return await registrars.refresh_inventory(conn, account_id=account_id)

    async def wait(self, run: registrars.Run, timeout_s: float) -> registrars.Run:
        """Return the run when it has ended, or after `timeout_s`."""
        return await registrars.wait_for_run(
            self.database, account_id=run.account_id, run_id=run.id, timeout_s=timeout_s
        )

    async def state(self, account_id: UUID) -> Sequence[Any]:
        """Return the rows that syncs have written."""
        async with self.database.connection() as conn:
            rows = await (await conn.execute(STATE, [account_id])).fetchall()
            return [*rows, *await (await conn.execute(EVENTS, [account_id])).fetchall()]


async def measure(setup: Setup, count: int) -> bool:
    """Sync a portfolio twice; print the time and the memory of the worker."""
    none = await setup.portfolio(0)
    with setup.worker() as worker:
        await setup.wait(await setup.start(none), 300)  # until the worker has started
        account_id = await setup.portfolio(count)
        for name in ("first", "again"):
            peak, began = 0, time.perf_counter()
            run = await setup.start(account_id)
            while run.finished_at is None:
                run = await setup.wait(run, 0.2)
                peak = max(peak, worker.memory_info().rss)
            took = time.perf_counter() - began
            seen = sum(each.counts["seen"] for each in run.parts)
            print(
                f"{count:>7,} domains, {name}: {took:6.1f} s, {1000 * took / count:.2f} ms each, "
                f"worker {peak / MB:.0f} MB",
                flush=True,
            )
            if seen != count:
                print(f"{seen} of {count} seen: {run}")
                return False
    return True


async def kill(setup: Setup, kills: int, random_source: random.Random) -> bool:
    """Sync a portfolio with workers that are killed; return whether it equals an undisturbed one."""
    undisturbed, disturbed = await setup.portfolio(KILLED_DOMAINS), await setup.portfolio(KILLED_DOMAINS)
    with setup.worker():
        await setup.wait(await setup.start(undisturbed), 300)
    run, done = await setup.start(disturbed), 0
    while run.finished_at is None:
        with setup.worker():
            before = run
            while run.finished_at is None and [each.claim for each in run.parts] == [
                each.claim for each in before.parts
            ]:
                run = await setup.wait(run, 0.05)
            run = await setup.wait(run, random_source.uniform(0, 1) if done < kills else 300)
        seen = sum(each.counts.get("seen", 0) for each in run.parts)
        print(f"killed at {seen:,} of {KILLED_DOMAINS:,}", flush=True)
        done += 1
        async with setup.database.connection() as conn:
            await conn.execute(FAR_PAST)  # else the next worker would wait for the heartbeat to expire
    print(f"{run.state} after {done} workers", *[each.error for each in run.parts if each.error], flush=True)
    return list(await setup.state(undisturbed)) == list(await setup.state(disturbed))


async def soak(setup: Setup, *, count: int, kills: int, random_source: random.Random) -> bool:
    """Measure, then kill; return whether both succeeded."""
    await setup.database.open()
    try:
        sizes = (count // 4, count // 2, count) if count else ()
        measured = [await measure(setup, size) for size in sizes]
        is_same = await kill(setup, kills, random_source) if kills else True
    finally:
        await setup.database.close()
    print("the same as without kills" if is_same else "not the same as without kills")
    return all(measured) and is_same


def main() -> int:
    """Run the soak; the exit status is 1 on failure."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--domains", type=int, default=50_000)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--seed", type=int, default=None)
    options = parser.parse_args()
    seed = options.seed if options.seed is not None else random.randrange(10**6)  # noqa: S311
    print(f"seed {seed}", flush=True)
    with fixtures.temporary_database() as (folder, conninfo), FakeServer() as fakes:
        random_source = random.Random(seed)  # noqa: S311
        is_right = asyncio.run(
            soak(
                Setup(folder, conninfo, fakes),
                count=options.domains,
                kills=options.kills,
                random_source=random_source,
            )
        )
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main())
