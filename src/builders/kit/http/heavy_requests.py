"""Requests that take much processor time run on a second event loop, in a thread of the process.

On the main loop they would block all other requests. In one thread they compete with it only for the
interpreter's lock, which Python releases within SWITCH_INTERVAL_S. The loop has its own small pool of connections
and its own HTTP client, and starts with the first heavy request. It serves one request of an account at a time,
with a short one beside it, which does not wait for a report or an import. The accounts take turns: long
computations give way after each slice (kit/http/slices.py). Nothing runs in other threads, so work ends where it
is cancelled (decision 0018).
"""

import asyncio
import sys
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable, Hashable, Iterable, Mapping
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace
from typing import Any, TypeVar
from uuid import UUID

from fastapi import Depends, Request
from starlette.datastructures import State
from starlette.responses import StreamingResponse
from starlette.types import Message, Receive, Scope, Send

from builders.kit.db import connections, demand
from builders.kit.db.connections import Database, database
from builders.kit.errors import Problem, refuses
from builders.kit.http.deadline import Deadlines, unless_disconnected
from builders.kit.limits import maximums
from builders.kit.limits.places import AccountPlaces
from builders.kit.limits.policies import Policy
from builders.kit.limits.rate_limiter import RATE_LIMITER, RateLimiter
from builders.kit.marks import Mark
from builders.kit.outbound.client import Outbound
from builders.kit.process.settings import Settings

SWITCH_INTERVAL_S = 0.0005  # between threads; the default of 5 ms delays the main loop after each wait
LARGE_BODY = 16 * 1024  # bytes: about a hundred resources
RETRY_S = 1
WAIT_S = 10  # for the other heavy request of the account
STREAM_TIMEOUT_S = 300  # for a client that reads a response slowly, but without a pause
MAX_WAITING = maximums.declare(
    "waiting_heavy_requests",
    8,
    of="account",
    counts="Large requests that wait for another one, in each HTTP process; short ones, such as lists, apart.",
    code="heavy_request_running",
)
POOL_TIMEOUT_S = 5  # accounts wait in turn for a connection; then 503
T = TypeVar("T")


class HeavyRequestRunning(Problem):
    """Other large requests of the account are running."""

    status, code = 429, "heavy_request_running"
    remedy = "Repeat the request when the other requests have ended."


_refusal = partial(HeavyRequestRunning, "Other large requests of the account are running.", retry_after=RETRY_S)


@dataclass(frozen=True, slots=True)
class HeavyOperation(Mark):
    """Marks an operation whose work is heavy.

    It is when the body is larger than `above` bytes, when the query has one of the names of `given` or one of its
    `name=value`, or always.
    """

    above: int | None
    is_alone: bool  # one request of an account at a time; not for a request that mainly waits for other servers
    is_short: bool  # less than a second: waits for other short requests only
    given: frozenset[str]

    async def run(
        self, request: Request, work: Callable[[], Awaitable[T]], *, account: Hashable, has_body: bool
    ) -> T:
        """Do the work of a request, on the second event loop when it is heavy. Raise HeavyRequestRunning."""
        size = len(await request.body()) if has_body else 0  # here: the main loop receives what the client sends
        if self.above is not None and size <= self.above:
            return await work()
        query = request.query_params
        if self.given and self.given.isdisjoint((*query, *map("=".join, query.items()))):
            return await work()
        loop: HeavyLoop = request.app.state.heavy
        turn = ("short", account) if self.is_short else account
        return await loop.run(request, work, alone=turn if self.is_alone else None)


def heavy(
    *, above: int | None = None, is_alone: bool = True, is_short: bool = False, given: Iterable[str] = ()
) -> Any:  # Depends has no public type
    """Return an item for `dependencies` that runs the operation on the second event loop."""
    mark = HeavyOperation(above, is_alone, is_short, frozenset(given))
    return Depends(refuses(*([HeavyRequestRunning] if is_alone else []))(mark))


class HeavyLoop:
    """An event loop in a thread, with its own connections and HTTP client; starts when it is first needed."""

    def __init__(
        self, settings: Settings, *, wait_s: float = WAIT_S, stream_timeout_s: float = STREAM_TIMEOUT_S
    ) -> None:
        self.stream_timeout_s = stream_timeout_s
        self._settings = settings
        self._wait_s = wait_s
        self._stack = AsyncExitStack()
        self._starting: asyncio.Future[tuple[asyncio.AbstractEventLoop, threading.Thread]] | None = None
        self._database: Database | None = None
        self._outbound: Outbound | None = None
        self._turns = AccountPlaces(1, most_waiting=MAX_WAITING, refusal=_refusal)

    async def run(self, request: Request, work: Callable[[], Awaitable[T]], *, alone: Hashable | None) -> T:
        """Do the work of a request on the second loop; with `alone`, as the only work of this account.

        The objects in its `app.state` belong to the second loop. The account is free when the work has ended, also
        after the request was cancelled. Raise HeavyRequestRunning.
        """
        if self._starting is None:
            self._starting = asyncio.ensure_future(self._start())
        loop, _ = await asyncio.shield(self._starting)
        if alone is not None:
            try:
                async with asyncio.timeout(self._wait_s):
                    await self._turns.take(alone)
            except TimeoutError:
                raise _refusal() from None
        scope, app = request.scope, request.scope["app"]
        shared = {name: app.state[name] for name in app.state}
        own = {"database": self._database, "outbound": self._outbound}
        scope["app"] = SimpleNamespace(state=State({**shared, **own}))

        def end() -> None:
            scope["app"] = app
            if alone is not None:
                self._turns.free(alone)

        return await _run_on(loop, work, at_end=end)

    async def close(self) -> None:
        """Close the connections and end the thread."""
        if self._starting is not None:
            loop, thread = await self._starting
            await self._end(loop, thread)

    async def _start(self) -> tuple[asyncio.AbstractEventLoop, threading.Thread]:
        sys.setswitchinterval(SWITCH_INTERVAL_S)
        loop = asyncio.new_event_loop()
        thread = threading.Thread(target=loop.run_forever, name="heavy", daemon=True)
        try:
            thread.start()
            await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(self._open(), loop))
        except BaseException:
            self._starting = None  # the next request starts it again
            await self._end(loop, thread)
            raise
        return loop, thread

    async def _end(self, loop: asyncio.AbstractEventLoop, thread: threading.Thread) -> None:
        if thread.is_alive():  # not if it could not be started
            await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(self._stack.aclose(), loop))
            loop.call_soon_threadsafe(loop.stop)
            await asyncio.to_thread(thread.join)
        loop.close()

    async def _open(self) -> None:
        size = min(demand.HEAVY, self._settings.pool_size)
        update = {"pool_size": size, "pool_timeout_s": POOL_TIMEOUT_S}
        settings = self._settings.model_copy(update=update)
        within_s = settings.database_answer_timeout_s
        self._database = Database(settings.conninfo, settings, response_timeout_s=within_s)
        self._outbound = await self._stack.enter_async_context(Outbound(settings))
        self._stack.push_async_callback(self._database.close)
        await self._database.open()


async def _run_on(
    loop: asyncio.AbstractEventLoop, work: Callable[[], Awaitable[T]], *, at_end: Callable[[], None]
) -> T:
    """Do work on another loop; cancel it there when it is cancelled here.

    `at_end` is called here when the work has really ended, which is after a cancellation.
    """
    here = asyncio.get_running_loop()
    ended: asyncio.Future[None] = here.create_future()
    tasks: list[asyncio.Task[T]] = []

    async def do() -> T:
        connections.start_without_connection()
        return await work()

    def start() -> None:
        tasks.append(loop.create_task(do()))
        tasks[0].add_done_callback(lambda task: here.call_soon_threadsafe(end, task))

    def end(task: asyncio.Task[T]) -> None:
        at_end()
        if not ended.done():
            ended.set_result(None)
        elif not task.cancelled():
            task.exception()  # cancelled here: nobody else reads it

    def cancel() -> None:
        tasks[0].cancel()  # `start`, which runs before this, has filled the list

    loop.call_soon_threadsafe(start)
    try:
        await ended
    except asyncio.CancelledError:
        loop.call_soon_threadsafe(cancel)
        raise
    # The traceback of an error refers to this frame: a task in it would be a cycle, which keeps the body.
    return tasks.pop().result()


async def run_on_second_loop(request: Request, work: Callable[[], Awaitable[T]], *, account: Hashable | None) -> T:
    """Do a part of a request on the second loop, from either loop, as the only work of the account there.

    The work must not use `app.state`. Raise HeavyRequestRunning.
    """
    if request.app.state.loop is not asyncio.get_running_loop():
        return await work()
    heavy_loop: HeavyLoop = request.app.state.heavy
    return await heavy_loop.run(request, work, alone=account)


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


_deadlines = Deadlines()


class HeavyStream(StreamingResponse):
    """A response whose parts `write` yields from the database of the second loop.

    `write` holds no connection while it yields, because the client may read slowly. A response that has begun
    ends early, without its last chunk, at an error. Sending it raises HeavyRequestRunning.
    """

    def __init__(
        self,
        write: Callable[[Database], AsyncGenerator[str]],
        *,
        account_id: UUID,
        media_type: str,
        headers: Mapping[str, str],
        status: int = 200,
    ) -> None:
        super().__init__((), status, headers, media_type)
        self._write = write
        self._account_id = account_id

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the response."""
        request = Request(scope, receive)
        loop: HeavyLoop = request.app.state.heavy
        work = loop.run(request, partial(self._run, request, send), alone=self._account_id)
        await _deadlines.run(unless_disconnected(request, work), timeout_s=loop.stream_timeout_s)

    async def _run(self, request: Request, send: Send) -> None:
        async def send_from_main_loop(message: Message) -> None:
            await run_on_main_loop(request, partial(send, message))

        async with aclosing(self._write(database(request))) as self.body_iterator:
            await self.stream_response(send_from_main_loop)
