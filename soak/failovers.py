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
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import psycopg

from bench import fixtures
from bench.scenarios import DOMAINS
from builders.identity import accounts, keys
from builders.identity.records import KeyKind, Preset
from builders.kit.db import migrations
from builders.kit.db.connections import Database
from builders.kit.http.callers import OPERATOR
from builders.kit.process.settings import Settings
from builders.kit.values import ids
from soak.patroni import managed
from soak.processes import running
from soak.replicas import Servers, replicated

WRITERS = 8
PAUSE_S = 0.1  # of a writer after each acknowledgment
KILLS_PER_ACCOUNT = 10  # an account has 1,000 projects at most
REQUEST_S = 30.0
RETRY_S = 1.0  # without a response
ANSWER_S = 5.0  # after the database accepts writes
PROBE_S = 0.02
COUNT_PROJECTS = "SELECT name, count(*) FROM projects WHERE name LIKE 'failover %' GROUP BY name"
COUNT_EVENTS = (
    "SELECT session_id, count(*) FROM catalog_events WHERE session_id LIKE 'failover-%' GROUP BY session_id"
)
CREATE_PROBE = "CREATE TABLE IF NOT EXISTS failover_probe (written_at timestamptz)"
PROBE = "INSERT INTO failover_probe VALUES (now())"


@dataclass(frozen=True, slots=True)
class Answer:
    """An acknowledged write, by the clock of this process."""

    name: str
    sent_at: float
    answered_at: float
    attempts: int


@dataclass(slots=True)
class History:
    """What was acknowledged, and when the database accepted writes again after each kill."""

    answers: list[Answer] = field(default_factory=list)
    refused: set[int] = field(default_factory=set)  # statuses that were repeated
    outages: list[tuple[float, float]] = field(default_factory=list)  # killed, accepted writes
    stopping: bool = False

    def longest_retry_s(self) -> float:
        """Return the longest time from the acceptance of writes to the answer of a request that was running.

        Of several kills during a request, the last one counts.
        """
        waited = []
        for each in self.answers:
            during = [end for begin, end in self.outages if each.sent_at < end and each.answered_at > begin]
            if during:
                waited.append(each.answered_at - max(during))
        return max(waited, default=0.0)


async def write(api: httpx.AsyncClient, history: History, *, writer: int, own: Sequence[str]) -> None:
    """Create projects and funnel events until the end, and repeat each request until it is acknowledged."""
    count = 0
    while not history.stopping:
        count += 1
        name, secret = f"failover {writer} {count}", own[count % len(own)]
        headers = {"X-API-Key": secret, "Idempotency-Key": ids.new().hex}
        await _acknowledge(api, history, name, "/v1/builders/projects", {"name": name}, headers)
        session = f"failover-{writer}-{count}"
        event = {"kind": "view", "domain": DOMAINS[0], "event_id": session, "session_id": session}
        await _acknowledge(api, history, session, "/v1/catalog/events", event, {})
        await asyncio.sleep(PAUSE_S)


async def _acknowledge(
    api: httpx.AsyncClient,
    history: History,
    name: str,
    path: str,
    body: dict[str, str],
    headers: dict[str, str],
) -> None:
    sent_at, attempts = time.monotonic(), 0
    while True:
        attempts, pause_s = attempts + 1, RETRY_S
        with suppress(httpx.TransportError):
            answer = await api.post(path, json=body, headers=headers)
            if answer.is_success:
                history.answers.append(Answer(name, sent_at, time.monotonic(), attempts))
                return
            if answer.status_code not in {409, 429, 503}:
                raise RuntimeError(f"{path}: {answer.status_code} {answer.text}")
            history.refused.add(answer.status_code)
            pause_s = float(answer.headers["Retry-After"])
        await asyncio.sleep(pause_s)


async def accept_writes(conninfo: str) -> None:
    """Return when a write is committed on the primary and its standby."""
    while True:
        with suppress(psycopg.OperationalError):
            async with await psycopg.AsyncConnection.connect(conninfo, autocommit=True, connect_timeout=2) as conn:
                await conn.execute(PROBE)
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


async def make_keys(conninfo: str, settings: Settings, count: int) -> list[str]:
    """Return keys of accounts."""
    database = Database(conninfo, settings)
    await database.open()
    made_keys = list[str]()
    for _ in range(count):
        async with database.transaction() as conn:
            account = await accounts.create_account(conn, email=f"{ids.new()}@soak.example", verified=True)
            made = await keys.create_key(
                conn,
                account_id=account.id,
                label="soak",
                kind=KeyKind.LIVE,
                preset=Preset.DEVELOPER_FULL,
                minted_by=KeyKind.LIVE,
                actor=OPERATOR,
            )
        made_keys.append(made.secret)
    await database.close()
    return made_keys


def find_errors(conninfo: str, history: History) -> list[str]:
    """Return what is lost or there twice."""
    with psycopg.connect(conninfo) as conn:
        stored: dict[str, int] = dict(conn.execute(COUNT_PROJECTS).fetchall()) | dict(
            conn.execute(COUNT_EVENTS).fetchall()
        )
    lost = [f"lost: {each.name}" for each in history.answers if each.name not in stored]
    return lost + [f"there {count} times: {name}" for name, count in stored.items() if count != 1]


async def _load(
    port: int, servers: Servers, conninfo: str, keys: Sequence[str], *, kills: int, chance: random.Random
) -> History:
    history = History()
    with psycopg.connect(conninfo, autocommit=True) as conn:
        conn.execute(CREATE_PROBE)
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=REQUEST_S) as api:
        own = [keys[n::WRITERS] for n in range(WRITERS)]
        writers = [asyncio.create_task(write(api, history, writer=n, own=own[n])) for n in range(WRITERS)]
        for number in range(1, kills + 1):
            await asyncio.sleep(chance.uniform(0.5, 3))
            await kill_primary(servers, conninfo, history)
            killed, accepted = history.outages[-1]
            print(f"failovers: {number} of {kills}, {accepted - killed:.1f} s without writes", file=sys.stderr)
        await asyncio.sleep(ANSWER_S)
        history.stopping = True
        await asyncio.gather(*writers)
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
        made = asyncio.run(make_keys(conninfo, settings, count))
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
