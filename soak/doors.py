"""Kill -9 of the server while opens, clicks and beacons come in, and a million events to sum up.

    script/soak doors [--seconds 60] [--rows 1000000] [--clients 32] [--seed N]

Every write that was answered must be there afterwards; prints how many were answered, and how long the sums took.
"""

import argparse
import asyncio
import random
import sys
import tempfile
import time
from asyncio.subprocess import Process, create_subprocess_exec
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from socket import create_server, socket

import httpx
import psycopg

from bench import doors
from bench.scenarios import DOMAINS
from builders.catalog import service as catalog
from builders.kit.db import migrations
from builders.kit.db.connections import Database
from builders.kit.db.embedded.server import EmbeddedServer
from builders.kit.process.settings import Settings
from builders.kit.values import clock, ids
from tests.catalog.crowd import fill

BROWSER = {"User-Agent": "Mozilla/5.0 (X11; Linux x86_64; rv:130.0) Gecko/20100101 Firefox/130.0"}
HITS = "SELECT count(*) FROM tracking_hits WHERE kind = 'open'"
EVENTS = "SELECT id::text FROM catalog_events"


@dataclass
class Tally:
    """What was answered."""

    opens: int = 0
    asked: int = 0  # opens that got no answer too
    events: set[str] = field(default_factory=set)
    kills: int = 0
    answering: asyncio.Event = field(default_factory=asyncio.Event)


async def start(settings: Settings, listener: socket) -> Process:
    """A server on the socket."""
    assert settings.database_url is not None
    environment = {
        "BUILDERS_DATABASE_URL": settings.database_url.get_secret_value(),
        "BUILDERS_DATA_DIR": str(settings.data_dir),
        "BUILDERS_LIMITS": "off",
        "BUILDERS_LOG_LEVEL": "error",
    }
    command = [sys.executable, "-m", "builders", "http", "--fd", str(listener.fileno())]
    return await create_subprocess_exec(*command, env=environment, pass_fds=[listener.fileno()])


async def ask(base_url: str, pixel: str, tally: Tally, until: float) -> None:
    """A client that never gives up."""
    while time.monotonic() < until:
        with suppress(httpx.TransportError):
            async with httpx.AsyncClient(base_url=base_url, timeout=30, headers=BROWSER) as client:
                while time.monotonic() < until:
                    tally.asked += 1
                    if (await client.get(pixel)).status_code == 200:
                        tally.opens += 1
                        tally.answering.set()
                    told = {"kind": "view", "domain": DOMAINS[0], "event_id": ids.new().hex}
                    answer = await client.post("/v1/catalog/events", json=told)
                    if answer.status_code == 200:
                        tally.events.add(answer.json()["id"])


async def kill(settings: Settings, listener: socket, tally: Tally, until: float, chance: random.Random) -> None:
    """Kills the server again and again, and starts it anew on the same socket."""
    while time.monotonic() < until:
        process = await start(settings, listener)
        tally.answering.clear()
        with suppress(TimeoutError):  # a busy machine takes its time to start one
            await asyncio.wait_for(tally.answering.wait(), max(0.0, until - time.monotonic()))
        await asyncio.sleep(min(2 * chance.random(), max(0.0, until - time.monotonic())))
        process.kill()
        await process.wait()
        tally.kills += 1


async def add_up(settings: Settings, rows: int) -> None:
    """Sums up very many events, and says how long it took."""
    assert settings.database_url is not None
    database = Database(settings.database_url.get_secret_value(), settings)
    await database.open()
    late = datetime.combine(clock.now().astimezone(UTC).date(), datetime.min.time(), UTC) + timedelta(hours=23)
    clock.move(late - clock.now())
    async with database.connection() as conn:
        await conn.execute("SET statement_timeout = '600s'")
        await fill(conn, until=late, domains=list(DOMAINS), count=rows)
    began = time.monotonic()
    await catalog.roll_up(database)
    print(f"doors: {rows:,} events summed up in {time.monotonic() - began:.1f} s")
    await database.close()


async def work(folder: Path, conninfo: str, given: argparse.Namespace) -> bool:
    """The whole run; whether nothing was lost."""
    built, known = await doors.prepared(folder, conninfo)
    pixel = next(known["open"]()).split(b" ", 2)[1].decode()
    settings = Settings.model_validate({"data_dir": built.data_dir, "database_url": conninfo})
    tally, until = Tally(), time.monotonic() + given.seconds
    with create_server(("127.0.0.1", 0), backlog=512) as listener:
        base_url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        killing = kill(settings, listener, tally, until, random.Random(given.seed))  # noqa: S311 - chance that can be repeated
        # The last kill leaves requests on the socket that nobody answers.
        asking = [asyncio.ensure_future(ask(base_url, pixel, tally, until)) for _ in range(given.clients)]
        await killing
        for each in asking:
            each.cancel()
        await asyncio.gather(*asking, return_exceptions=True)
    with psycopg.connect(conninfo) as conn:
        [(hits,)] = conn.execute(HITS).fetchall()
        events = {event_id for (event_id,) in conn.execute(EVENTS).fetchall()}
    lost = len(tally.events - events)
    print(f"doors: {tally.kills} kills, {tally.opens} opens and {len(tally.events)} events answered")
    print(f"doors: {hits} opens are there, {lost} events are lost")
    await add_up(settings, given.rows)
    return 0 < tally.opens <= hits <= tally.asked and not lost


def main() -> None:
    """Runs it; ends with 1 when something was lost."""
    parser = argparse.ArgumentParser(description="Kill -9 at the public doors, and a million rows.")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--clients", type=int, default=32)
    parser.add_argument("--seed", type=int, default=None)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="builders-soak-") as name:
        folder = Path(name)
        folder.chmod(0o711)
        with EmbeddedServer(folder) as embedded:
            migrations.migrate(embedded.conninfo)
            is_good = asyncio.run(work(folder, embedded.conninfo, given))
    print("doors: good" if is_good else "doors: LOST")
    raise SystemExit(0 if is_good else 1)


if __name__ == "__main__":
    main()
