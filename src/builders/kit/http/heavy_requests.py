"""Requests that take much processor time run on a second event loop, in a thread of the process.

A plan of 2,000 names takes a quarter of a second of processor time between its statements. On the main loop
it would block all other requests. In a thread it competes only for the interpreter's lock, which Python
releases within SWITCH_INTERVAL_S. The loop has its own small pool of connections and its own HTTP client, and
starts with the first heavy request. An account can run one large request at a time; a second one is refused
immediately.
"""

import asyncio
import sys
import threading
from collections.abc import Awaitable, Callable, Hashable, Iterator
from contextlib import AsyncExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace
from typing import Any, TypeVar

from fastapi import Depends, Request
from starlette.datastructures import State

from builders.kit.db.connections import Database
from builders.kit.errors import Problem
from builders.kit.limits.policies import Policy
from builders.kit.limits.rate_limiter import RATE_LIMITER, RateLimiter
from builders.kit.outbound.client import Outbound
from builders.kit.process.settings import Settings

SWITCH_INTERVAL_S = 0.0005  # between threads; the default of 5 ms delays the main loop after each wait
POOL_SIZE = 4  # of the database, for all heavy requests of a process
LARGE_BODY = 16 * 1024  # bytes: about a hundred resources
RETRY_S = 1
T = TypeVar("T")


class HeavyRequestRunning(Problem):
    """Another large request of the account is running."""

    status, code = 429, "heavy_request_running"


@dataclass(frozen=True, slots=True)
class HeavyOperation:
    """Marks an operation whose work is heavy: always, or when the body is larger than `above` bytes."""

    above: int | None
    is_alone: bool  # one request of an account at a time

    def __call__(self) -> None:
        """Do nothing: the compiled handler looks for the mark (kit/http/compiled_routes.py)."""

    async def run(
        self, request: Request, work: Callable[[], Awaitable[T]], *, account: Hashable, has_body: bool
    ) -> T:
        """Do the work of a request, on the second event loop when it is heavy. Raise HeavyRequestRunning."""
        size = len(await request.body()) if has_body else 0
        if self.above is not None and size <= self.above:
            return await work()
        loop: HeavyLoop = request.app.state.heavy
        return await loop.run(request, work, alone=account if self.is_alone else None)


def heavy(*, above: int | None = None, is_alone: bool = True) -> Any:  # Depends has no public type
    """Return an item for `dependencies` that runs the operation on the second event loop."""
    return Depends(HeavyOperation(above, is_alone))


class HeavyLoop:
    """An event loop in a thread, with its own connections and HTTP client; starts when it is first needed."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._stack = AsyncExitStack()
        self._starting: asyncio.Future[asyncio.AbstractEventLoop] | None = None
        self._thread: threading.Thread | None = None
        self._database: Database | None = None
        self._outbound: Outbound | None = None
        self._running: set[Hashable] = set()

    @contextmanager
    def one_of(self, account: Hashable) -> Iterator[None]:
        """Reserve the account's only slot during the block. Raise HeavyRequestRunning if it is in use."""
        if account in self._running:
            raise HeavyRequestRunning(
                "Another large request of the account is running.",
                retry_after=RETRY_S,
                next_action="Repeat the request when the other request has ended.",
            )
        self._running.add(account)
        try:
            yield
        finally:
            self._running.discard(account)

    async def run(self, request: Request, work: Callable[[], Awaitable[T]], *, alone: Hashable | None) -> T:
        """Do the work of a request on the second loop; with `alone`, as the only request of this account.

        The objects in its `app.state` belong to the second loop. Raise HeavyRequestRunning.
        """
        with nullcontext() if alone is None else self.one_of(alone):
            return await self._run(request, work)

    async def _run(self, request: Request, work: Callable[[], Awaitable[T]]) -> T:
        if self._starting is None:
            self._starting = asyncio.ensure_future(self._start())
        loop = await asyncio.shield(self._starting)
        scope, app = request.scope, request.scope["app"]
        shared = {name: app.state[name] for name in app.state}
        own = {"database": self._database, "outbound": self._outbound}
        scope["app"] = SimpleNamespace(state=State({**shared, **own}))

        async def do() -> T:
            return await work()

        try:
            return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(do(), loop))
        finally:
            scope["app"] = app

    async def close(self) -> None:
        """Close the connections and end the thread."""
        if self._starting is None or self._thread is None:
            return
        loop = await self._starting
        await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(self._stack.aclose(), loop))
        loop.call_soon_threadsafe(loop.stop)
        await asyncio.to_thread(self._thread.join)
        loop.close()

    async def _start(self) -> asyncio.AbstractEventLoop:
        sys.setswitchinterval(SWITCH_INTERVAL_S)
        loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=loop.run_forever, name="heavy", daemon=True)
        self._thread.start()
        await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(self._open(), loop))
        return loop

    async def _open(self) -> None:
        url = self._settings.database_url
        if url is None:
            raise RuntimeError("No database: set BUILDERS_DATABASE_URL.")
        size = min(POOL_SIZE, self._settings.pool_size)
        settings = self._settings.model_copy(update={"pool_size": size})
        within_s = settings.database_answer_timeout_s
        self._database = Database(url.get_secret_value(), settings, response_timeout_s=within_s)
        self._outbound = await self._stack.enter_async_context(Outbound(settings))
        await self._database.open()
        self._stack.push_async_callback(self._database.close)


async def run_on_main_loop(request: Request, work: Callable[[], Awaitable[T]]) -> T:
    """Do work on the main loop, which owns the rate limits, from either loop."""
    serving: asyncio.AbstractEventLoop = request.app.state.loop
    if serving is asyncio.get_running_loop():
        return await work()

    async def do() -> T:
        return await work()

    return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(do(), serving))


async def charge(request: Request, policy: Policy, *, subject: Hashable, units: int) -> None:
    """Count the units of a request beyond the first, when rate limits are on. Raise RateLimited."""
    limits: RateLimiter | None = request.scope.get(RATE_LIMITER)
    if limits is not None and units > 0:
        await run_on_main_loop(request, partial(limits.charge, policy, subject=subject, units=units))
