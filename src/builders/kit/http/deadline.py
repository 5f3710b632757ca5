"""Cancel the work of a request at its deadline, or when the client disconnects."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from fastapi import Request
from starlette.requests import ClientDisconnect

from builders.kit.errors import RequestTimeout

T = TypeVar("T")


class Deadlines:
    """Cancels coroutines at their deadline; for one event loop at a time.

    asyncio.timeout sets a timer for each request, which takes over 10 % of an open or a click (`script/bench`).
    This timer fires at the earliest deadline of the requests that ran when it was set; most have ended by then.
    """

    def __init__(self) -> None:
        self._ends: dict[asyncio.Task[Any], float] = {}  # deadlines by the clock of the loop
        self._late: set[asyncio.Task[Any]] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._timer: asyncio.TimerHandle | None = None

    async def run(self, work: Coroutine[Any, Any, T], *, timeout_s: float) -> T:
        """Return the result of `work`. Cancel it and raise RequestTimeout when it takes longer."""
        loop, task = self._loop, None if self._loop is None else asyncio.current_task(self._loop)
        if loop is None or task is None:  # another loop; get_running_loop costs 2 % of a beacon (script/bench)
            loop, task = asyncio.get_running_loop(), asyncio.current_task()
            self._loop, self._timer = loop, None
        assert task is not None  # noqa: S101 - a coroutine of asyncio runs in one
        before, end = task.cancelling(), loop.time() + timeout_s
        self._ends[task] = end
        if self._timer is None or end < self._timer.when():
            self._set_timer(loop, end)
        try:
            return await work
        except asyncio.CancelledError:
            # Only for the cancellation by the timer; another one is passed on.
            if task in self._late and task.cancelling() == before + 1:
                raise RequestTimeout(
                    f"The request exceeded {timeout_s} seconds; repeat it.", retry_after=5
                ) from None
            raise
        finally:
            del self._ends[task]
            if task in self._late:
                self._late.remove(task)
                task.uncancel()

    def _set_timer(self, loop: asyncio.AbstractEventLoop, at: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = loop.call_at(at, self._cancel_late, loop)

    def _cancel_late(self, loop: asyncio.AbstractEventLoop) -> None:
        self._timer = None
        now = loop.time()
        for task, end in self._ends.items():
            if end <= now and task not in self._late:
                self._late.add(task)
                task.cancel()
        waiting = [end for task, end in self._ends.items() if task not in self._late]
        if waiting:
            self._set_timer(loop, min(waiting))


async def unless_disconnected(request: Request, work: Coroutine[Any, Any, T]) -> T:
    """Return the result of the work; cancel it and raise ClientDisconnect if the client disconnects first.

    The request's body is discarded.
    """

    async def disconnect() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass

    working = asyncio.ensure_future(work)
    leaving = asyncio.ensure_future(disconnect())
    try:
        await asyncio.wait({working, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            leaving.result()
            raise ClientDisconnect
        return working.result()
    finally:
        for task in (working, leaving):
            task.cancel()
        await asyncio.gather(working, leaving, return_exceptions=True)
