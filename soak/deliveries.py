"""Deliver events with workers that are killed, partly to faulty receivers; every healthy one must get every event.

    script/soak deliveries [--events 10000] [--destinations 50] [--kills 20] [--seconds 240] [--seed N]

Prints the delay from event to first attempt, and the memory of the workers.
"""

import argparse
import asyncio
import random
import sys

from bench import fixtures
from tests.webhooks.engine import killed_workers


def main() -> int:
    """Run the soak; the exit status is 1 on an error."""
    parser = argparse.ArgumentParser()
    for name, value in (("events", 10_000), ("destinations", 50), ("kills", 20), ("seconds", 240)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--seed", type=int, default=None)
    given = parser.parse_args()
    seed = given.seed if given.seed is not None else random.randrange(10**6)  # noqa: S311 - a run needs no secret randomness
    print(f"seed {seed}", flush=True)
    plan = killed_workers.Plan(
        events=given.events,
        destinations=given.destinations,
        kills=given.kills,
        seed=seed,
        seconds=given.seconds,
        within_s=600,
    )
    with fixtures.temporary_database() as (folder, conninfo):
        result = asyncio.run(killed_workers.run(conninfo, folder, plan))
    mb = [round(each / 2**20) for each in (result.max_rss, *result.rss_halves)]
    print(
        f"{result.kills} kills; {result.arrived} deliveries to healthy receivers, {result.duplicates} duplicates"
    )
    print(f"from event to first attempt: p50 {result.p50_s:.2f} s, p99 {result.p99_s:.2f} s")
    print(f"memory of a worker: {mb[0]} MB at most; median {mb[1]} MB in the first half, {mb[2]} MB in the second")
    print("\n".join(result.errors) or "no error")
    return 1 if result.errors else 0


if __name__ == "__main__":
    sys.exit(main())
