"""Kill the server while it receives opens and beacons; aggregate a million funnel events.

    script/soak public-endpoints [--seconds 60] [--rows 1000000] [--clients 32] [--seed N]

Every acknowledged write must be in the database afterwards. Prints the counts and the time of the aggregation.
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

from bench import public_endpoints
from bench.scenarios import DOMAINS
from builders.catalog import funnel
from builders.cli.embedded.server import EmbeddedServer
from builders.kit.db import migrations
from builders.kit.db.connections import Database
from builders.kit.process.settings import Settings
from builders.kit.values import clock, ids
from tests.catalog.many_events import fill

BROWSER = {"User-Agent": "Mozilla/5.0 (X11; Linux x86_64; rv:130.0) Gecko/20100101 Firefox/130.0"}
COUNT_OPENS = "SELECT count(*) FROM tracking_hits WHERE kind = 'open'"
LIST_EVENTS = "SELECT id::text FROM catalog_events"


@dataclass
class Tally:
    """What the clients have sent and received."""

    opens: int = 0  # acknowledged
    sent_opens: int = 0  # with and without a response
    events: set[str] = field(default_factory=set)
    kills: int = 0
    responding: asyncio.Event = field(default_factory=asyncio.Event)


async def start(settings: Settings, listener: socket) -> Process:
    """Start a server on the socket."""
    assert settings.database_url is not None
    environment = {
        "BUILDERS_DATABASE_URL": settings.database_url.get_secret_value(),
        "BUILDERS_DATA_DIR": str(settings.data_dir),
        "BUILDERS_LIMITS": "off",
        "BUILDERS_LOG_LEVEL": "error",
    }
    command = [sys.executable, "-m", "builders", "http", "--fd", str(listener.fileno())]
    return await create_subprocess_exec(*command, env=environment, pass_fds=[listener.fileno()])


async def send_requests(base_url: str, pixel: str, tally: Tally, until: float) -> None:
    """Send opens and beacons until the time is over; reconnect after errors."""
    while time.monotonic() < until:
        with suppress(httpx.TransportError):
            async with httpx.AsyncClient(base_url=base_url, timeout=30, headers=BROWSER) as client:
                while time.monotonic() < until:
                    tally.sent_opens += 1
                    if (await client.get(pixel)).status_code == 200:
                        tally.opens += 1
                        tally.responding.set()
                    event = {"kind": "view", "domain": DOMAINS[0], "event_id": ids.new().hex}
                    answer = await client.post("/v1/catalog/events", json=event)
                    if answer.status_code == 200:
                        tally.events.add(answer.json()["id"])


async def kill(
    settings: Settings, listener: socket, tally: Tally, until: float, random_source: random.Random
) -> None:
    """Kill the server repeatedly, and restart it on the same socket."""
    while time.monotonic() < until:
        process = await start(settings, listener)
        tally.responding.clear()
        with suppress(TimeoutError):  # a start can take long on a busy machine
            await asyncio.wait_for(tally.responding.wait(), max(0.0, until - time.monotonic()))
        await asyncio.sleep(min(2 * random_source.random(), max(0.0, until - time.monotonic())))
        process.kill()
        await process.wait()
        tally.kills += 1


async def aggregate(settings: Settings, rows: int) -> None:
    """Insert and aggregate many events; print the time."""
    assert settings.database_url is not None
    database = Database(settings.database_url.get_secret_value(), settings)
    await database.open()
    late = datetime.combine(clock.now().astimezone(UTC).date(), datetime.min.time(), UTC) + timedelta(hours=23)
    clock.move(late - clock.now())
    async with database.connection() as conn:
        await conn.execute("SET statement_timeout = '600s'")
        await fill(conn, until=late, domains=list(DOMAINS), count=rows)
    began = time.monotonic()
    await funnel.roll_up(database)
    print(f"public endpoints: {rows:,} events aggregated in {time.monotonic() - began:.1f} s")
    await database.close()


async def soak(folder: Path, conninfo: str, given: argparse.Namespace) -> bool:
    """Run the soak; return whether no write was lost."""
    prepared, known = await public_endpoints.prepare(folder, conninfo)
    pixel = next(known["open"]()).split(b" ", 2)[1].decode()
    settings = Settings.model_validate({"data_dir": prepared.data_dir, "database_url": conninfo})
    tally, until = Tally(), time.monotonic() + given.seconds
    with create_server(("127.0.0.1", 0), backlog=512) as listener:
        base_url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        killing = kill(settings, listener, tally, until, random.Random(given.seed))  # noqa: S311 - repeatable
        # The last kill leaves requests on the socket without a response.
        clients = [
            asyncio.ensure_future(send_requests(base_url, pixel, tally, until)) for _ in range(given.clients)
        ]
        await killing
        for each in clients:
            each.cancel()
        await asyncio.gather(*clients, return_exceptions=True)
    with psycopg.connect(conninfo) as conn:
        [(opens,)] = conn.execute(COUNT_OPENS).fetchall()
        events = {event_id for (event_id,) in conn.execute(LIST_EVENTS).fetchall()}
    lost = len(tally.events - events)
    print(
        f"public endpoints: {tally.kills} kills, {tally.opens} opens and {len(tally.events)} events acknowledged"
    )
    print(f"public endpoints: {opens} opens in the database, {lost} events lost")
    await aggregate(settings, given.rows)
    return 0 < tally.opens <= opens <= tally.sent_opens and not lost


def main() -> None:
    """Run the soak; the exit status is 1 when a write was lost."""
    parser = argparse.ArgumentParser(description="Kill the server under load, and aggregate a million events.")
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
            is_good = asyncio.run(soak(folder, embedded.conninfo, given))
    print("public endpoints: no write lost" if is_good else "public endpoints: LOST WRITES")
    raise SystemExit(0 if is_good else 1)


if __name__ == "__main__":
    main()
