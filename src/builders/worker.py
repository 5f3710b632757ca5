"""The worker: dispatches events to subscribers, runs jobs of all packages, and sends webhooks."""

import asyncio
import signal
from collections.abc import Sequence
from contextlib import suppress

import builders
from builders.kit.db.connections import Database
from builders.kit.db.restores import Known
from builders.kit.events import dispatcher
from builders.kit.jobs import backfills, database_metrics, queue, worker_metrics
from builders.kit.process import log, supervision
from builders.kit.process.discovery import load_modules
from builders.kit.process.settings import Settings
from builders.webhooks import jobs as webhooks_jobs

# The import of a module declares its jobs, and what it measures.
JOBS = [queue, backfills, database_metrics, dispatcher, *load_modules(builders, "jobs").values()]

# Jobs and deliveries have 20 s to end; a supervisor kills after 30 s.
STOP_TIMEOUT_S = 28.0

_log = log.get_logger()


async def main(settings: Settings) -> None:
    """Run until SIGTERM; running jobs then have a grace period to end.

    The process exits STOP_TIMEOUT_S after the signal, whatever still runs in it.
    """
    database = Database(settings.conninfo, settings)
    await database.open()
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()

    def stop(*_: object) -> None:
        _limit_stop()
        loop.call_soon_threadsafe(stopping.set)

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)  # not a handler of the loop: a job may hold the loop
    async with worker_metrics.measuring(database, settings=settings):
        waiting = asyncio.create_task(stopping.wait())
        with supervision.beating("worker"):
            tasks = _start_loops(database, settings) if await Known(database).wait(stopping) else []
            done, _ = await asyncio.wait([*tasks, waiting], return_when=asyncio.FIRST_COMPLETED)
        _limit_stop()
        for task in (*tasks, waiting):
            task.cancel()
        for task in tasks:
            with suppress(asyncio.CancelledError):
                await asyncio.shield(asyncio.wait([task]))
    await database.close()
    for task in done - {waiting}:
        task.result()
        raise RuntimeError("a loop of the worker ended unexpectedly; restart the worker")


def _start_loops(database: Database, settings: Settings) -> Sequence[asyncio.Task[None]]:
    loops = (dispatcher.run(database), queue.run(database, settings), webhooks_jobs.run_sender(database, settings))
    _log.info("worker_started", jobs=sorted(queue.tasks()))
    return [asyncio.create_task(each) for each in loops]


def _limit_stop() -> None:
    """End the process after a time, whatever still runs in it; its jobs run again elsewhere."""
    if not signal.getitimer(signal.ITIMER_REAL)[0]:  # a second signal does not extend it
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, STOP_TIMEOUT_S)
