"""Kill the server, its children and its database while promotions run; then verify every promotion.

    script/soak [--seconds N] [--seed N] [--clients N]

Clients plan and promote in a loop, and repeat requests without a response. A process is killed about every second.
At the end one more request completes each promotion. Then the database must hold each name once, with one event,
and no unfinished step.
"""

import argparse
import asyncio
import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import psutil
import psycopg

from builders.cli.embedded.server import EmbeddedServer

DOMAIN = "harbour.example"
NAMES_IN_A_PLAN = 25
Json = dict[str, Any]

ALIASES_TWICE = "SELECT key, count(*) FROM aliases WHERE status <> 'deleted' GROUP BY key HAVING count(*) > 1"
EVENTS = "SELECT data::json ->> 'address', count(*) FROM kit_outbox WHERE name = 'alias.created' GROUP BY 1"
ALIASES = "SELECT local_part || '@' || domain FROM aliases WHERE status <> 'deleted'"
STEPS_OPEN = "SELECT count(*) FROM sandbox_steps WHERE status <> 'succeeded'"
ENDED = "SELECT name, count(*) FROM kit_outbox WHERE name LIKE 'promotion.%' GROUP BY name"


@dataclass
class Tally:
    """What the clients have sent and received."""

    promoted: set[str] = field(default_factory=set)
    started: dict[str, Json] = field(default_factory=dict)  # plan id -> body of the request
    wanted: set[str] = field(default_factory=set)
    responses: Counter[str] = field(default_factory=Counter)


class Server:
    """`builders serve` in a temporary folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.environment = {
            **os.environ,
            "BUILDERS_DATA_DIR": str(folder),
            "BUILDERS_PORT": str(self.port),
            "BUILDERS_LOG_LEVEL": "error",
            "BUILDERS_LIMITS": "off",
        }
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it if it is not running."""
        if self.process is None or self.process.poll() is not None:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "builders", "serve", "--demo"], env=self.environment
            )

    def kill(self, random_source: random.Random) -> str:
        """Kill one part or all of it; return which."""
        assert self.process is not None
        children = _children(self.process.pid)
        database = self._postmaster()
        what = random_source.choice(["http", "database", "all", "parent"])
        victims = {
            "http": children[:1],
            "database": database,
            "all": [self.process.pid, *children, *database],
            "parent": [self.process.pid],
        }[what]
        for pid in victims:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                what = f"{what} (not running)"
        if what in {"all", "parent"}:
            self.process.wait()
        return what

    def stop(self) -> None:
        """Terminate it and wait for its end."""
        if self.process is not None:
            self.process.terminate()
            self.process.wait(60)

    def _postmaster(self) -> list[int]:
        """Return the oldest PostgreSQL process whose command names the folder."""
        ours = [
            process
            for process in psutil.process_iter(["name", "cmdline", "create_time"])
            if process.info["name"] == "postgres" and str(self.folder) in " ".join(process.info["cmdline"] or [])
        ]
        return [process.pid for process in sorted(ours, key=lambda each: each.info["create_time"])[:1]]


def _children(pid: int) -> list[int]:
    """Return the HTTP processes of a running service."""
    try:
        return [each.pid for each in psutil.Process(pid).children() if "http" in each.cmdline()]
    except psutil.Error:
        return []


async def client(server: Server, keys: dict[str, str], tally: Tally, name: str, until: float) -> None:
    """Plan new names and promote them until the time is over; repeat requests without a response."""
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{server.port}", timeout=15) as http:
        n = 0
        while time.monotonic() < until:
            n += 1
            manifest = _manifest(f"{name}-{n}")
            plan = await _post(http, "/v1/sandbox/plan", manifest, keys["test"], tally, until)
            if plan is None:
                continue
            request = {"plan_id": plan["id"], "digest": plan["digest"]}
            tally.started[plan["id"]] = request
            tally.wanted |= {action["after"]["address"] for action in plan["actions"]}
            done = await _post(http, "/v1/sandbox/promote", request, keys["live"], tally, until)
            if done is not None and done["status"] == "succeeded":
                tally.promoted.add(plan["id"])


async def _post(
    http: httpx.AsyncClient, path: str, body: Json, key: str, tally: Tally, until: float
) -> Json | None:
    while time.monotonic() < until:
        try:
            answer = await http.post(path, json=body, headers={"X-API-Key": key})
        except httpx.TransportError as error:
            tally.responses[type(error).__name__] += 1
            await asyncio.sleep(0.1)
            continue
        tally.responses[str(answer.status_code)] += 1
        if answer.status_code == httpx.codes.OK:
            found: Json = answer.json()
            return found
        if answer.status_code not in {500, 503}:
            raise AssertionError(f"{path} responded {answer.status_code}: {answer.text[:500]}")
        await asyncio.sleep(0.1)
    return None


def _manifest(name: str) -> Json:
    aliases = [
        {
            "key": f"n{at}",
            "address": f"{name}-{at}x@{DOMAIN}",
            "destinations": ["soak@example.net"],
        }
        for at in range(NAMES_IN_A_PLAN)
    ]
    return {
        "api_version": "v1",
        "kind": "Manifest",
        "metadata": {"name": name},
        "resources": {"aliases": aliases},
    }


async def soak(server: Server, *, seconds: float, clients: int, random_source: random.Random) -> Tally:
    """Run the clients while processes are killed, then complete all promotions."""
    tally = Tally()
    keys = await _keys(server)
    until = time.monotonic() + seconds
    work = [
        asyncio.create_task(client(server, keys, tally, f"{random_source.choice('abcdefgh')}q{n}", until))
        for n in range(clients)
    ]
    while time.monotonic() < until and not any(task.done() for task in work):
        await asyncio.sleep(random_source.uniform(0.7, 2.5))
        print(f"killed {server.kill(random_source)}", flush=True)
        server.start()
    await asyncio.gather(*work)
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{server.port}", timeout=30) as http:
        for request in tally.started.values():
            completed = await _post(
                http, "/v1/sandbox/promote", request, keys["live"], tally, time.monotonic() + 120
            )
            assert completed is not None, "the service did not recover"
            assert completed["status"] == "succeeded", completed
    return tally


async def _keys(server: Server) -> dict[str, str]:
    file = server.folder / "demo-keys.json"
    deadline = time.monotonic() + 120
    while not file.exists() or not file.read_text():
        assert time.monotonic() < deadline, "the service did not start"
        await asyncio.sleep(0.2)
    keys = json.loads(file.read_text())
    return {key["kind"]: key["key"] for key in keys if key["preset"] == "developer_full"}


def count(server: Server, tally: Tally) -> list[str]:
    """Return the differences from the expected state of the database."""
    wrong = []
    with EmbeddedServer(server.folder) as embedded, psycopg.connect(embedded.conninfo) as conn:
        twice = conn.execute(ALIASES_TWICE).fetchall()
        claimed = {row[0] for row in conn.execute(ALIASES).fetchall()}
        published: dict[str, int] = dict(conn.execute(EVENTS).fetchall())
        open_steps = conn.execute(STEPS_OPEN).fetchone()
        ended: dict[str, int] = dict(conn.execute(ENDED).fetchall())
    if twice:
        wrong.append(f"claimed twice: {twice}")
    if claimed != tally.wanted:
        wrong.append(f"{len(tally.wanted - claimed)} missing, {len(claimed - tally.wanted)} unexpected")
    if published != dict.fromkeys(claimed, 1):
        twice = [each for each in published.items() if each[1] != 1][:5]
        wrong.append(f"names without exactly one event: {twice}")
    if open_steps != (0,):
        wrong.append(f"unfinished steps: {open_steps}")
    if ended != {"promotion.completed": len(tally.started)}:
        wrong.append(f"{len(tally.started)} promotions, events {ended}")
    return wrong


def main() -> int:
    """Run the soak; the exit status is 1 on a difference."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--clients", type=int, default=4)
    options = parser.parse_args()
    seed = options.seed if options.seed is not None else random.randrange(10**6)  # noqa: S311 - a run needs no secret randomness
    print(f"seed {seed}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        server = Server(Path(folder))
        server.start()
        try:
            random_source = random.Random(seed)  # noqa: S311 - a run needs no secret randomness
            tally = asyncio.run(
                soak(server, seconds=options.seconds, clients=options.clients, random_source=random_source)
            )
        finally:
            server.stop()
        wrong = count(server, tally)
    print(f"{len(tally.started)} promotions of {NAMES_IN_A_PLAN} names; responses {dict(tally.responses)}")
    print("\n".join(wrong) or "no difference")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
