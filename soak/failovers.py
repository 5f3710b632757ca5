"""Kill the primary under load: every acknowledged write is there once, and retries are answered soon.

    script/soak failovers [--patroni] [--kills 20] [--seed N]

A primary and a standby run, and each commit waits for the standby. `builders http` and `builders worker` name
both. Clients create projects, each with its own Idempotency-Key, and funnel events with their own ids. They repeat
a request until it is acknowledged. The primary is killed with all its processes, the standby is promoted, and the
former primary becomes its standby. At the end the database must hold each acknowledged write once.
"""

import argparse
import asyncio
import random
import secrets
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import psycopg

from bench import fixtures
from builders.kit.db import migrations
from builders.kit.process.settings import Settings
from soak.patroni import managed
from soak.processes import running
from soak.replicas import Servers, replicated
from soak.writers import WRITERS, History, find_errors, writing

KILLS_PER_ACCOUNT = 10  # an account has 1,000 projects at most
ANSWER_S = 5.0  # after the database accepts writes
PROBE_S = 0.02
CREATE_PROBE = "CREATE TABLE IF NOT EXISTS failover_probe (written_at timestamptz)"
# A server that was just promoted commits without a standby until its checkpointer has read the names of standbys.
PROBE = """
    INSERT INTO failover_probe
    SELECT now() WHERE EXISTS (SELECT FROM pg_stat_replication WHERE sync_state IN ('sync', 'quorum'))
"""


async def accept_writes(conninfo: str) -> None:
    """Return when a write is committed on the primary and its standby."""
    while True:
        with suppress(psycopg.OperationalError):
            async with await psycopg.AsyncConnection.connect(conninfo, autocommit=True, connect_timeout=2) as conn:
                if (await conn.execute(PROBE)).rowcount == 1:
                    return
        await asyncio.sleep(PROBE_S)


async def kill_primary(servers: Servers, conninfo: str, history: History) -> None:
    """Kill the primary and return when all requests that were running could be answered."""
    killed = time.monotonic()
    await asyncio.to_thread(servers.kill_primary)

    async def note_acceptance() -> None:
        await accept_writes(conninfo)
        history.outages.append((killed, time.monotonic()))

    await asyncio.gather(note_acceptance(), asyncio.to_thread(servers.recover))


async def _load(
    port: int, servers: Servers, conninfo: str, keys: Sequence[str], *, kills: int, chance: random.Random
) -> History:
    history = History()
    with psycopg.connect(conninfo, autocommit=True) as conn:
        conn.execute(CREATE_PROBE)
    async with writing(port, keys, history):
        for number in range(1, kills + 1):
            await asyncio.sleep(chance.uniform(0.5, 3))
            await kill_primary(servers, conninfo, history)
            killed, accepted = history.outages[-1]
            print(f"failovers: {number} of {kills}, {accepted - killed:.1f} s without writes", file=sys.stderr)
        await asyncio.sleep(ANSWER_S)
    return history


def main() -> None:
    """Run the soak; exit with 1 if a write is lost or doubled, or a retry waits for too long."""
    parser = argparse.ArgumentParser(description="Kill the primary under load.")
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--patroni", action="store_true", help="Patroni promotes the standby.")
    parser.add_argument("--seed", type=int, default=secrets.randbelow(10**6))
    given = parser.parse_args()
    chance = random.Random(given.seed)  # noqa: S311 - repeatable
    print(f"failovers: seed {given.seed}", file=sys.stderr)
    with (managed if given.patroni else replicated)() as servers, tempfile.TemporaryDirectory() as name:
        conninfo, folder = servers.conninfo("postgres"), Path(name)
        migrations.migrate(conninfo)
        prepared = asyncio.run(fixtures.prepare(folder / "data", conninfo))
        settings = Settings.model_validate({"data_dir": prepared.data_dir, "database_url": conninfo})
        count = WRITERS * (1 + given.kills // KILLS_PER_ACCOUNT)
        made = asyncio.run(fixtures.make_keys(conninfo, settings, count))
        with running(prepared, 1, folder / "log") as (port, _):
            history = asyncio.run(_load(port, servers, conninfo, made, kills=given.kills, chance=chance))
        errors = find_errors(conninfo, history)
    longest = max(each.answered_at - each.sent_at for each in history.answers)
    outage = max(accepted - killed for killed, accepted in history.outages)
    print("| kills | acknowledged | lost or doubled | longest outage | longest retry after it | longest request |")
    print("|---|---|---|---|---|---|")
    print(
        f"| {given.kills} | {len(history.answers)} | {len(errors)} | {outage:.1f} s | "
        f"{history.longest_retry_s():.1f} s | {longest:.1f} s |"
    )
    print("\n".join(errors[:20]))
    if errors or history.longest_retry_s() > ANSWER_S:
        sys.exit(1)


if __name__ == "__main__":
    main()
