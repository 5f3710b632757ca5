"""Measure the tools of agents at /mcp: `python -m bench.mcp`.

A tool is compared with the call of the API that it makes, in slices in turn, by processor time: it adds the
protocol, the arguments and the result. Waiting calls are measured while they wait: processor time in a second.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from statistics import median
from typing import Any

import httpx

from bench import fixtures
from bench.console import make_account
from builders.app import create_app, lifespan
from builders.kit.process import log
from builders.kit.process.settings import Settings
from builders.webhooks.feed import FeedWaiters

TARGET_MS = 3.0
ROUNDS, SLICE = 12, 20
ACCOUNTS, WAITING_EACH = 125, 8
WAIT_S, STEP_S = 20, 15  # of a waiting call; within which a call of each account begins to wait
POLL_S = 0.02
VERSION = "2026-07-28"
Send = Callable[[], Awaitable[object]]


def message(
    tool: str, arguments: Mapping[str, Any], *, legacy: bool = False
) -> tuple[dict[str, Any], dict[str, str]]:
    """Return a call of a tool, and its headers."""
    accept = {"Accept": "application/json, text/event-stream"}
    params: dict[str, Any] = {"name": tool, "arguments": arguments}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    if legacy:
        return body, accept | {"MCP-Protocol-Version": "2025-11-25"}
    params["_meta"] = {
        "io.modelcontextprotocol/protocolVersion": VERSION,
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    return body, accept | {"MCP-Protocol-Version": VERSION, "Mcp-Method": "tools/call", "Mcp-Name": tool}


async def cpu_ms(send: Send) -> float:
    """Return the processor time of a request, of SLICE in turn."""
    begun = time.process_time()
    for _ in range(SLICE):
        await send()
    return (time.process_time() - begun) / SLICE * 1000


async def measure(prepared: fixtures.Fixtures) -> list[str]:
    """Return a line for each figure."""
    settings = Settings.model_validate(
        {"data_dir": prepared.data_dir, "database_url": prepared.conninfo, "base_url": "http://bench.test"}
        | {"limits": "off"}
    )
    service = create_app(settings)
    async with lifespan(service.api):
        _, key = await make_account(service.api.state, "mcp@bench.example")
        transport = httpx.ASGITransport(app=service)
        async with httpx.AsyncClient(transport=transport, base_url="http://bench.test", timeout=60) as client:
            lines = [await _compare(client, key, legacy=each) for each in (False, True)]
            keys = [(await make_account(service.api.state, f"mcp{at}@bench.example"))[1] for at in range(ACCOUNTS)]
            return [*lines, await _wait(client, keys, service.api.state.feed_waiters)]


async def _compare(client: httpx.AsyncClient, key: str, *, legacy: bool) -> str:
    body, headers = message("list_names", {}, legacy=legacy)

    async def call() -> None:
        answer = await client.post("/mcp", json=body, headers=headers | {"X-API-Key": key})
        assert answer.json()["result"]["isError"] is False, answer.text

    async def read() -> None:
        (await client.get("/v1/aliases?limit=20", headers={"X-API-Key": key})).raise_for_status()

    await call()
    await read()
    pairs = [(await cpu_ms(call), await cpu_ms(read)) for _ in range(ROUNDS)]
    added, whole = median(one - other for one, other in pairs), median(one for one, _ in pairs)
    era = "the era before" if legacy else VERSION
    verdict = "" if legacy else f", target {TARGET_MS:.1f} ms: {'met' if added <= TARGET_MS else 'MISSED'}"
    return f"a call of {era}: {1000 / whole:.0f} calls/s of a core; adds {added:.2f} ms to its request{verdict}"


async def _wait(client: httpx.AsyncClient, keys: Sequence[str], waiters: FeedWaiters) -> str:
    """Return what the waiting calls of many accounts cost while nothing happens.

    They begin in steps, a call of each account: the pool of connections refuses what comes all at once.
    """
    body, headers = message("wait", {"until": "event", "seconds": WAIT_S})
    sent: list[asyncio.Task[httpx.Response]] = []
    for _ in range(WAITING_EACH):
        for key in keys:
            post = client.post("/mcp", json=body, headers=headers | {"X-API-Key": key})
            sent.append(asyncio.create_task(post))
        for _ in range(int(STEP_S / POLL_S)):
            if waiters.count == len(sent):
                break
            await asyncio.sleep(POLL_S)
    waiting = waiters.count
    begun = time.process_time()
    await asyncio.sleep(1)
    busy = time.process_time() - begun
    answers = [each.json() for each in await asyncio.gather(*sent)]
    wrong = [each for each in answers if each.get("result", {"isError": True})["isError"]]
    refused = f"{len(wrong)}, such as {wrong[0]}" if wrong else "none"
    return f"{waiting} waiting calls of {len(keys)} accounts: {busy * 100:.1f} % of a core; refused: {refused}"


def main() -> None:
    """Measure, and print the lines."""
    log.configure(level="error")
    with fixtures.temporary_database() as (folder, conninfo):
        prepared = asyncio.run(fixtures.prepare(folder, conninfo))
        print("\n".join(asyncio.run(measure(prepared))))


if __name__ == "__main__":
    main()
