"""Expensive requests: test sends to endless receivers, and large plans in a loop."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

from bench.scenarios import DOMAINS
from soak.scenario import Scenario, Target, client, looping
from tests.webhooks import endless_receivers

SENDERS, PLANNERS, SIMULATORS = 20, 3, 3
NAMES = 2_000  # of one manifest
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
        async with client(target, target.hostile.developer_keys[0]) as http:
            made = []
            for _ in range(SENDERS):
                url = f"http://{endless_receivers.HOST}:{port}/{kind}"
                body = {"label": kind, "url": url, "enabled": True, "events": ["alias.*"]}
                answer = (await http.post(WEBHOOKS, json=body)).raise_for_status()
                made.append(answer.json()["id"])
            async with looping([partial(http.post, f"{WEBHOOKS}/{at}/test") for at in made]):
                yield


@asynccontextmanager
async def plan_loops(target: Target) -> AsyncIterator[None]:
    """Run 3 clients that plan and 3 that simulate a manifest of 2,000 names in a loop, with one test key."""
    manifest = _manifest()
    simulation = {"type": "manifest", "manifest": manifest}
    async with client(target, target.hostile.test_key) as http:
        planners = [partial(http.post, "/v1/sandbox/plan", json=manifest)] * PLANNERS
        simulators = [partial(http.post, "/v1/sandbox/simulate", json=simulation)] * SIMULATORS
        async with looping([*planners, *simulators]):
            await asyncio.sleep(2)
            yield


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
