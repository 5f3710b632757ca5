"""The turns of accounts, and the connections, of heavy requests."""

import asyncio
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager

from fastapi import Request

from builders.app import Service
from builders.kit.db import demand
from builders.kit.http.heavy_requests import MAX_WAITING, HeavyLoop


@asynccontextmanager
async def held_turn(service: Service, account: Hashable) -> AsyncIterator[None]:
    """Hold the turn of an account, with as many requests as may wait for it."""
    may_end, loops = asyncio.Event(), set[asyncio.AbstractEventLoop]()

    async def hold() -> None:
        loops.add(asyncio.get_running_loop())
        await may_end.wait()

    def hold_turn() -> "asyncio.Future[None]":
        request = Request({"type": "http", "app": service.api})
        heavy_loop: HeavyLoop = service.api.state.heavy
        return asyncio.ensure_future(heavy_loop.run(request, hold, alone=account))

    holding = [hold_turn() for _ in range(MAX_WAITING + 1)]
    while not loops:  # noqa: ASYNC110 - another thread changes it
        await asyncio.sleep(0)
    yield
    loops.pop().call_soon_threadsafe(may_end.set)
    await asyncio.gather(*holding)


@asynccontextmanager
async def held_connections(service: Service) -> AsyncIterator[None]:
    """Hold all connections of heavy requests."""
    may_end, holding = asyncio.Event(), list[asyncio.AbstractEventLoop]()
    request = Request({"type": "http", "app": service.api})
    heavy_loop: HeavyLoop = service.api.state.heavy

    async def hold() -> None:
        async with request.app.state.database.connection():
            holding.append(asyncio.get_running_loop())
            await may_end.wait()

    works = [asyncio.ensure_future(heavy_loop.run(request, hold, alone=None)) for _ in range(demand.HEAVY)]
    while len(holding) < demand.HEAVY:  # noqa: ASYNC110 - another thread changes it
        await asyncio.sleep(0.01)
    yield
    holding[0].call_soon_threadsafe(may_end.set)
    await asyncio.gather(*works)
