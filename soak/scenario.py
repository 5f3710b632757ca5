"""Isolation scenarios: a named attack on a running service, and its target."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import httpx

REFUSED_S = 1.0  # until a refused client retries, as Retry-After says
TIMEOUT_S = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class HostileAccount:
    """The account of the attacker: keys of each preset, and the link to the calendar of its portfolio."""

    developer_keys: Sequence[str]  # live
    domainer_keys: Sequence[str]  # live; their portfolio has many domains
    test_key: str  # developer_full
    calendar_token: str
    wide_domain: str  # the domain of the portfolio with the most entries


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A running HTTP process, and the credentials of an account other than the one whose latency is measured."""

    port: int
    receiver_port: int  # 127.0.0.1:receiver_port may be called by webhooks; nothing listens on it yet
    hostile: HostileAccount
    conninfo: str
    data_dir: Path


Attack = Callable[[Target], AbstractAsyncContextManager[None]]
Call = Callable[[], Awaitable[httpx.Response]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """A line of the table.

    `attack` starts the hostile clients and yields once they are connected; its exit disconnects them. It runs in a
    process of its own, so that its own work does not delay the measuring client. A scenario that `is_alone` has a
    service of its own: its memory counts, or it leaves connections behind.
    """

    name: str
    description: str
    attack: Attack
    is_alone: bool = True
    limits: str = "off"  # BUILDERS_LIMITS, of a scenario that is alone


def client(target: Target, key: str | None = None) -> httpx.AsyncClient:
    """Return an HTTP client of the service with the credentials of a key."""
    return httpx.AsyncClient(
        base_url=f"http://127.0.0.1:{target.port}",
        headers={} if key is None else {"X-API-Key": key},
        timeout=TIMEOUT_S,
    )


@asynccontextmanager
async def looping(calls: Sequence[Call], *, budget: int | None = None) -> AsyncIterator[Counter[int]]:
    """Repeat each call in a loop during the block, at most `budget` times together; count and print the statuses.

    A loop that gets 429 waits as `Retry-After` says.
    """
    left = float("inf") if budget is None else budget
    statuses = Counter[int]()

    async def loop(call: Call) -> None:
        nonlocal left
        while left > 0:
            left -= 1
            with suppress(httpx.TransportError):
                answer = await call()
                statuses[answer.status_code] += 1
                if answer.status_code == httpx.codes.TOO_MANY_REQUESTS:
                    await asyncio.sleep(float(answer.headers.get("Retry-After", REFUSED_S)))

    tasks = [asyncio.create_task(loop(call)) for call in calls]
    try:
        yield statuses
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        print(f"  statuses of the attackers: {dict(sorted(statuses.items()))}", flush=True)
