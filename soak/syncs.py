"""Syncs of many domains: time and memory by size, and SIGKILL of the worker during a sync and a billing sync.

    script/soak syncs [--domains 50000] [--kills 5] [--seed N]

Four fake registrars hold the domains. One worker first syncs a quarter, then a half, then all of them. Then the
domains of a portfolio, and the charges of another one, are synced by workers that are killed; the result must
equal that of a portfolio synced without kills.
"""

import argparse
import asyncio
import random
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from uuid import UUID

from bench import fixtures
from builders.demo.registrars.fake import FakeServer
from builders.portfolio.runs.records import Run
from soak.registrars import BILLING_PROVIDERS, CHARGES, FAR_PAST, KILLED_DOMAINS, PROVIDERS, STATE, Setup

MB = 1 << 20


@dataclass(frozen=True, slots=True)
class Sync:
    """A kind of run that workers are killed during."""

    name: str
    providers: Sequence[str]
    start: Callable[[UUID], Awaitable[Run]]  # of an account
    count: str  # of a part: how far it has come
    state: str  # statement that reads what the runs of an account have written


async def measure(setup: Setup, count: int) -> bool:
    """Sync a portfolio twice; print how long it took and how much memory the worker had."""
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


async def kill(setup: Setup, sync: Sync, kills: int, random_source: random.Random) -> bool:
    """Sync with workers that are killed; return whether the portfolio looks like one that was not."""
    undisturbed = await setup.portfolio(KILLED_DOMAINS, sync.providers)
    disturbed = await setup.portfolio(KILLED_DOMAINS, sync.providers)
    with setup.worker():
        undisturbed_run = await setup.wait(await sync.start(undisturbed), 300)
    total = _sum(undisturbed_run, sync)
    points, run, killed = (
        sorted(random_source.uniform(0, total) for _ in range(kills)),
        await sync.start(disturbed),
        0,
    )
    while run.finished_at is None:
        with setup.worker():
            claims = [each.claim for each in run.parts]
            while run.finished_at is None and [each.claim for each in run.parts] == claims:
                run = await setup.wait(run, 0.02)
            while run.finished_at is None and (killed == kills or _sum(run, sync) < points[killed]):
                run = await setup.wait(run, 0.02)
        if run.finished_at is None:
            killed += 1
            print(f"{sync.name}: killed at {_sum(run, sync):,} of {total:,}", flush=True)
        async with setup.database.connection() as conn:
            await conn.execute(FAR_PAST)  # or the next worker would wait for its heartbeat
    errors = [each.error for each in run.parts if each.error]
    print(f"{sync.name}: {run.state} after {killed} kills", *errors, flush=True)
    is_same = list(await setup.state(undisturbed, sync.state)) == list(await setup.state(disturbed, sync.state))
    print(f"{sync.name}: {'the same' if is_same else 'not the same'} as without kills", flush=True)
    return (
        killed == kills
        and is_same
        and await setup.is_booked_once(undisturbed)
        and await setup.is_booked_once(disturbed)
    )


def _sum(run: Run, sync: Sync) -> int:
    return sum(each.counts.get(sync.count, 0) for each in run.parts)


async def soak(setup: Setup, *, count: int, kills: int, random_source: random.Random) -> bool:
    """Measure, then kill; return whether all is right."""
    await setup.database.open()
    try:
        sizes = (count // 4, count // 2, count) if count else ()
        measured = [await measure(setup, size) for size in sizes]
        syncs = (
            Sync("sync", PROVIDERS, setup.start, count="seen", state=STATE),
            Sync("billing sync", BILLING_PROVIDERS, setup.start_billing, count="fetched", state=CHARGES),
        )
        killed = [await kill(setup, sync, kills, random_source) for sync in syncs if kills]
    finally:
        await setup.database.close()
    return all(measured) and all(killed)


def main() -> int:
    """Run the soak; exit status 1 when something is not right."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--domains", type=int, default=50_000)
    parser.add_argument("--kills", type=int, default=5)
    parser.add_argument("--seed", type=int, default=None)
    options = parser.parse_args()
    seed = options.seed if options.seed is not None else random.randrange(10**6)  # noqa: S311 - a run needs no secret randomness
    print(f"seed {seed}", flush=True)
    with fixtures.temporary_database() as (folder, conninfo), FakeServer() as fakes:
        random_source = random.Random(seed)  # noqa: S311 - a run needs no secret randomness
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
