"""Listen to events with `bld` while all around it fails; each one arrives, and those of a resource in their order.

    script/soak listen [--events 2000] [--kills 5] [--stopped 60] [--away 300] [--seed N]

Two listeners run, one with `--concurrency 4`. They are killed and stopped, the service is killed and starts again,
and the network is away: a proxy between them refuses. Then a delivery is sent again and a period is replayed to a
destination at the same receiver, which verifies all requests with `standardwebhooks`.
"""

import argparse
import asyncio
import random
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from threading import Event, Thread
from uuid import UUID

import httpx

from bench import fixtures
from bench.scenarios import SampleKeys
from builders.aliases.events import ALIAS_CREATED
from builders.kit.db.connections import Database
from builders.kit.events import outbox
from builders.kit.process.secret_keys import keyring_of
from builders.kit.process.settings import Settings
from builders.kit.values import ids
from soak.listeners import LISTENERS, Listener, Proxy, Receiver, check
from soak.processes import running

RESOURCES, PAUSE_S, ARRIVE_WITHIN_S, OUT_S, START_S, RATE_S = 40, 10.0, 300.0, 10.0, 20.0, 0.5


@dataclass(slots=True, kw_only=True)
class Soak:
    """A run: the service behind the proxy, the receiver, and the listeners."""

    prepared: fixtures.Fixtures
    account_id: UUID
    folder: Path
    receiver: Receiver
    proxy: Proxy
    service: ExitStack = field(default_factory=ExitStack)
    port: int = 0

    def start_service(self) -> None:
        """Start the service, which the proxy then forwards to."""
        self.port, _ = self.service.enter_context(
            running(self.prepared, self.receiver.port, self.folder / "service.log")
        )
        self.proxy.target = self.port

    def restart_service(self) -> None:
        """Kill the service, and start it again after a while."""
        self.service.close()
        time.sleep(OUT_S)
        self.start_service()

    def api(self) -> httpx.Client:
        """Return a client that does not use the proxy."""
        return httpx.Client(
            base_url=f"http://127.0.0.1:{self.port}/v1",
            headers={"X-API-Key": self.prepared.keys.secret},
            timeout=30,
        )

    def feed(self) -> Sequence[Mapping[str, object]]:
        """Return all events of the feed."""
        found: list[Mapping[str, object]] = []
        params: dict[str, str | int] = {"limit": 500, "types": "alias.*"}
        with self.api() as api:
            while True:
                page = api.get("/events", params=params).raise_for_status().json()
                found += page["items"]
                if not page["items"]:
                    return found
                params["cursor"] = page["resume_cursor"]

    def make_destination(self) -> tuple[str, str]:
        """Create a webhook destination at the receiver; return its id and its secret."""
        url = f"http://127.0.0.1:{self.receiver.port}/destination"
        with self.api() as api:
            body = {"label": "soak", "url": url, "events": ["alias.*"], "enabled": True}
            made = api.post("/notifications/webhooks", json=body).raise_for_status().json()
        return made["id"], made["signing_secret"]

    def send_again(self, webhook_id: str, since: str) -> int:
        """Send a delivery again and replay all others; return how many."""
        with self.api() as api:
            listed = api.get("/notifications/deliveries", params={"status": "succeeded", "limit": 1})
            [first] = listed.raise_for_status().json()["items"]
            api.post(f"/notifications/deliveries/{first['id']}/retry").raise_for_status()
            body = {"since": since, "status": "succeeded"}
            replayed = (
                api.post(f"/notifications/webhooks/{webhook_id}/replay", json=body).raise_for_status().json()
            )
        return 1 + int(replayed["count"])


async def prepare(folder: Path, conninfo: str) -> tuple[fixtures.Fixtures, UUID]:
    """Create an account with a live key."""
    settings = Settings.model_validate({"data_dir": folder, "database_url": conninfo})
    keyring_of(settings)
    database = Database(conninfo, settings)
    await database.open()
    async with database.transaction() as conn:
        account_id, secret = await fixtures.make_account(conn)
    await database.close()
    sample = SampleKeys(secret=secret, ids=[])
    return fixtures.Fixtures(data_dir=folder, conninfo=conninfo, keys=sample), account_id


def publish(soak: Soak, count: int, seconds: float, over: Event) -> None:
    """Publish the events at a steady rate."""
    resources = [ids.new() for _ in range(RESOURCES)]

    async def run() -> None:
        settings = Settings.model_validate({"data_dir": soak.folder, "database_url": soak.prepared.conninfo})
        database = Database(soak.prepared.conninfo, settings)
        await database.open()
        began, sent = time.monotonic(), 0
        while sent < count:
            due = min(count, int((time.monotonic() - began) / seconds * count) + 1)
            data = [
                ALIAS_CREATED.example.model_copy(update={"id": resources[n % RESOURCES]}) for n in range(sent, due)
            ]
            async with database.transaction() as conn:
                await outbox.publish_many(conn, ALIAS_CREATED, [(soak.account_id, each) for each in data])
            sent = due
            await asyncio.sleep(RATE_S)
        await database.close()

    try:
        asyncio.run(run())
    finally:
        over.set()


def disturb(soak: Soak, listeners: Sequence[Listener], options: argparse.Namespace, source: random.Random) -> None:
    """Kill, stop, restart, disconnect."""

    def step(text: str, seconds: float, *acts: Callable[[], None]) -> None:
        print(f"{soak.receiver.counts()}: {text}", flush=True)
        for act in acts:
            act()
        time.sleep(seconds)

    for _ in range(options.kills):
        time.sleep(source.uniform(0, PAUSE_S))
        step("the listeners are killed", 1, *(each.kill for each in listeners))
        step("and start", PAUSE_S / 2, *(each.start for each in listeners))
    step("they are stopped", options.stopped, *(partial(each.signal, signal.SIGSTOP) for each in listeners))
    step("and continue", PAUSE_S, *(partial(each.signal, signal.SIGCONT) for each in listeners))
    step("the service is killed, and starts", PAUSE_S, soak.restart_service)
    step("the network is away", options.away, soak.proxy.refuse)
    step("and is back", 0, soak.proxy.accept)


def soak_listeners(soak: Soak, options: argparse.Namespace, source: random.Random) -> Sequence[str]:
    """Run; return the errors."""
    soak.start_service()
    webhook_id, secret = soak.make_destination()
    soak.receiver.secrets["/destination"] = secret
    since, over = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), Event()
    listeners = [
        Listener(
            path,
            receiver=soak.receiver.port,
            service=soak.proxy.port,
            key=soak.prepared.keys.secret,
            folder=soak.folder,
            concurrency=number,
        )
        for path, number in LISTENERS.items()
    ]
    for each in listeners:
        each.start()
    seconds = options.kills * (PAUSE_S + 1) + options.stopped + START_S + 2 * PAUSE_S + options.away
    Thread(target=publish, args=(soak, options.events, seconds, over), daemon=True).start()
    try:
        disturb(soak, listeners, options, source)
        over.wait()
        print(f"{soak.receiver.counts()}: {soak.send_again(webhook_id, since)} deliveries are sent again")
        soak.receiver.wait(options.events, ARRIVE_WITHIN_S)
        time.sleep(PAUSE_S)  # for what comes again
    finally:
        for each in listeners:
            each.kill()
    return check(soak.receiver, soak.feed(), options.events)


def main() -> int:
    """Run the soak; the exit status is 1 on an error."""
    parser = argparse.ArgumentParser()
    for name, value in (("events", 2_000), ("kills", 5)):
        parser.add_argument(f"--{name}", type=int, default=value)
    for name, seconds in (("stopped", 60.0), ("away", 300.0)):
        parser.add_argument(f"--{name}", type=float, default=seconds)
    parser.add_argument("--seed", type=int, default=None)
    options = parser.parse_args()
    seed = options.seed if options.seed is not None else random.randrange(10**6)  # noqa: S311 - a run needs no secret randomness
    print(f"seed {seed}", flush=True)
    source = random.Random(seed)  # noqa: S311 - a run needs no secret randomness
    with fixtures.temporary_database() as (folder, conninfo), Proxy() as proxy, Receiver(source) as receiver:
        prepared, account_id = asyncio.run(prepare(folder, conninfo))
        soak = Soak(prepared=prepared, account_id=account_id, folder=folder, receiver=receiver, proxy=proxy)
        try:
            errors = soak_listeners(soak, options, source)
        finally:
            soak.service.close()
    print(receiver.summary())
    print("\n".join(errors) or "no error")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
