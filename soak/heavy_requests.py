"""Expensive requests: test sends to endless receivers, and large plans in a loop."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any

import httpx

from bench.scenarios import DOMAINS
from soak.scenario import Scenario, Target
from tests.webhooks import endless_receivers

SENDERS, PLANNERS, SIMULATORS = 20, 3, 3
NAMES = 2_000  # of one manifest
REFUSED_S = 1.0  # until a refused client retries, as Retry-After says
TIMEOUT_S = 60
WEBHOOKS = "/v1/notifications/webhooks"
Json = dict[str, Any]


@asynccontextmanager
async def endless_responses(target: Target) -> AsyncIterator[None]:
    """Run 20 clients that test-send in a loop to receivers with endless `HTTP/1.1 100` responses."""
    async with _test_sends(target, "informational"):
        yield


@asynccontextmanager
async def ordinary_responses(target: Target) -> AsyncIterator[None]:
    """Run the control of `endless_responses`: as many test sends, to receivers that respond `ok`."""
    async with _test_sends(target, "ordinary"):
        yield


@asynccontextmanager
async def _test_sends(target: Target, kind: str) -> AsyncIterator[None]:
    with endless_receivers.serving(target.receiver_port) as port:
        async with _client(target, target.hostile_key) as client:
            made = []
            for _ in range(SENDERS):
                url = f"http://{endless_receivers.HOST}:{port}/{kind}"
                body = {"label": kind, "url": url, "enabled": True, "events": ["alias.*"]}
                answer = (await client.post(WEBHOOKS, json=body)).raise_for_status()
                made.append(answer.json()["id"])
            async with _looping([partial(client.post, f"{WEBHOOKS}/{at}/test") for at in made]):
                yield


@asynccontextmanager
async def plan_loops(target: Target) -> AsyncIterator[None]:
    """Run 3 clients that plan and 3 that simulate a manifest of 2,000 names in a loop, with one test key."""
    manifest = _manifest()
    simulation = {"type": "manifest", "manifest": manifest}
    async with _client(target, target.hostile_test_key) as client:
        planners = [partial(client.post, "/v1/sandbox/plan", json=manifest)] * PLANNERS
        simulators = [partial(client.post, "/v1/sandbox/simulate", json=simulation)] * SIMULATORS
        async with _looping([*planners, *simulators]):
            await asyncio.sleep(2)
            yield


def _client(target: Target, key: str) -> httpx.AsyncClient:
    return httpx.AsyncClient(
        base_url=f"http://127.0.0.1:{target.port}", headers={"X-API-Key": key}, timeout=TIMEOUT_S
    )


def _manifest() -> Json:
    aliases = [
        {"key": f"n{at}", "address": f"soak{at:04}@{DOMAINS[0]}", "destinations": ["ada@example.net"]}
        for at in range(NAMES)
    ]
    return {
        "api_version": "v1",
        "kind": "Manifest",
        "metadata": {"name": "soak"},
        "resources": {"aliases": aliases},
    }


@asynccontextmanager
async def _looping(calls: list[Callable[[], Awaitable[httpx.Response]]]) -> AsyncIterator[None]:
    async def loop(call: Callable[[], Awaitable[httpx.Response]]) -> None:
        while True:
            with suppress(httpx.TransportError):
                answer = await call()
                statuses[answer.status_code] = statuses.get(answer.status_code, 0) + 1
                if answer.status_code == httpx.codes.TOO_MANY_REQUESTS:
                    await asyncio.sleep(REFUSED_S)

    statuses: dict[int, int] = {}
    tasks = [asyncio.create_task(loop(call)) for call in calls]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        print(f"  statuses of the attackers: {statuses}", flush=True)


SCENARIOS = [
    Scenario(
        name="endless-1xx",
        description=f"{SENDERS} test sends at a time to endless informational responses",
        attack=endless_responses,
    ),
    Scenario(
        name="ordinary-sends",
        description=f"{SENDERS} test sends at a time to receivers that respond immediately (control)",
        attack=ordinary_responses,
    ),
    Scenario(
        name="plan-loops",
        description=f"{PLANNERS} plans and {SIMULATORS} simulations of {NAMES} names at a time, by one test key",
        attack=plan_loops,
    ),
]
