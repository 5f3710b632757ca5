"""The account whose latency is measured: it lists its keys, checks names and plans at a fixed rate."""

import asyncio
import gc
import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import quantiles

import httpx

from bench.scenarios import DOMAINS

RATE = 40  # of each request, per second
CONNECTIONS = 24
TIMEOUT_S = 60


@dataclass(frozen=True, slots=True)
class Latency:
    """The latency of one request of the other account in milliseconds, and how often it failed."""

    p50: float
    p99: float
    failures: int


Latencies = dict[str, Latency]  # by the name of the request


def _requests(key: str) -> dict[str, Callable[[int], httpx.Request]]:
    """Return the requests of the other account: the nth of each."""
    headers = {"X-API-Key": key}

    def plan(n: int) -> httpx.Request:
        alias = {"key": "ada", "address": f"probe{n}@{DOMAINS[0]}", "destinations": ["ada@example.net"]}
        manifest = {"api_version": "v1", "kind": "Manifest", "metadata": {"name": "probe"}}
        body = manifest | {"resources": {"aliases": [alias]}}
        return httpx.Request("POST", "/v1/sandbox/plan", json=body, headers=headers)

    return {
        "list": lambda _: httpx.Request("GET", "/v1/api-keys?limit=50", headers=headers),
        "check": lambda n: httpx.Request("GET", f"/v1/catalog/check?local_part=probe{n}&domain={DOMAINS[0]}"),
        "plan": plan,
    }


async def probe(port: int, key: str, samples: int) -> Latencies:
    """Send each request of the other account so many times, at a fixed rate."""
    due: asyncio.Queue[tuple[float, str, httpx.Request]] = asyncio.Queue()
    took: dict[str, list[float]] = {name: [] for name in _requests(key)}
    failures = dict.fromkeys(took, 0)
    base = httpx.URL(f"http://127.0.0.1:{port}")

    async def send_requests(http: httpx.AsyncClient) -> None:
        while True:
            at, name, request = await due.get()
            request.url = base.join(request.url)
            request.headers["Host"] = request.url.netloc.decode()
            try:
                answer = await http.send(request)
                failures[name] += answer.is_error
            except httpx.TransportError:
                failures[name] += 1
            took[name].append((time.perf_counter() - at) * 1000)
            due.task_done()

    limits = httpx.Limits(max_connections=CONNECTIONS)
    offset = random.randrange(1_000_000)  # noqa: S311 - no secret; other names in each run
    gc.collect()
    gc.disable()  # else a full collection of this process, 0.3 s, counts as latency
    async with httpx.AsyncClient(timeout=TIMEOUT_S, limits=limits) as http:
        clients = [asyncio.create_task(send_requests(http)) for _ in range(CONNECTIONS)]
        began = time.perf_counter()
        for n in range(samples):
            for step, (name, request) in enumerate(_requests(key).items()):
                at = began + (n + step / len(took)) / RATE
                await asyncio.sleep(at - time.perf_counter())
                due.put_nowait((at, name, request(offset + n)))
        await due.join()
        for each in clients:
            each.cancel()
    gc.enable()
    centiles = {name: quantiles(times, n=100) for name, times in took.items()}
    return {name: Latency(each[49], each[98], failures[name]) for name, each in centiles.items()}
