"""Runs coroutines for callers without `await`: one event loop for each process, in a thread while calls run."""

import asyncio
import atexit
import os
import threading
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

R = TypeVar("R")
CLOSE_S = 1.0


class _Loop:
    """An event loop. Its thread ends with the last call: a process that forks between calls has no other."""

    def __init__(self) -> None:
        self._loop, self._process = asyncio.new_event_loop(), os.getpid()
        atexit.register(self._close)
        self._guard = threading.Lock()
        self._thread: threading.Thread | None = None
        self._calls = 0

    def run(self, work: Coroutine[Any, Any, R]) -> R:
        """Return what the coroutine returns. An interrupt of the calling thread cancels it."""
        with self._guard:
            if self._thread is None:
                self._thread = threading.Thread(target=self._serve, name="builders-client", daemon=True)
                self._thread.start()
            self._calls += 1
            outcome = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return outcome.result()
        finally:
            outcome.cancel()
            self._leave()

    def _serve(self) -> None:
        names = ThreadPoolExecutor(thread_name_prefix="builders-client")  # resolves host names
        self._loop.set_default_executor(names)
        self._loop.run_forever()
        if left := asyncio.all_tasks(self._loop):  # of interrupted calls, which close their connections
            self._loop.run_until_complete(asyncio.wait(left, timeout=CLOSE_S))
        names.shutdown(wait=False)

    def _close(self) -> None:
        if self._process == os.getpid() and not self._loop.is_running():
            self._loop.close()

    def _leave(self) -> None:
        with self._guard:
            self._calls -= 1
            if self._calls == 0 and self._thread is not None:
                self._loop.call_soon_threadsafe(self._loop.stop)
                self._thread.join()
                self._thread = None


# By process: a forked one does not touch the loop of its parent, whose sockets it shares.
_loops: dict[int, _Loop] = {}


def run(work: Coroutine[Any, Any, R]) -> R:
    """Return what the coroutine returns."""
    process = os.getpid()
    if (loop := _loops.get(process)) is None:
        loop = _loops.setdefault(process, _Loop())
    return loop.run(work)


def finish(work: Coroutine[Any, Any, None]) -> None:
    """Run a coroutine that only closes; when the process ends no thread starts, and there is no need."""
    try:
        run(work)
    except RuntimeError:
        work.close()
