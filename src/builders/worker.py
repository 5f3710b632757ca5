"""The worker: hands events to those who listen, and runs jobs. Every room's jobs are known here."""

import asyncio
import logging
import signal
from contextlib import suppress

from builders.aliases import jobs as aliases_jobs
from builders.kit import jobs, log, news
from builders.kit.db import Database
from builders.kit.settings import Settings
from builders.sandbox import jobs as sandbox_jobs

JOBS = [jobs, news, aliases_jobs, sandbox_jobs]  # importing a room's jobs declares them

logging.getLogger("procrastinate").setLevel(logging.WARNING)  # it tells each periodic job, each minute
_log = log.get_logger()


async def main(settings: Settings) -> None:
    """Works until SIGTERM; running jobs then have jobs.GRACE_S seconds to end."""
    if settings.database_url is None:
        raise RuntimeError("No database: set BUILDERS_DATABASE_URL, or start with `builders serve`.")
    database = Database(settings.database_url.get_secret_value(), settings)
    await database.open()
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopping.set)
    working = [asyncio.create_task(news.run(database)), asyncio.create_task(jobs.run(database, settings))]
    waiting = asyncio.create_task(stopping.wait())
    _log.info("worker_started", jobs=sorted(jobs.names()))
    done, _ = await asyncio.wait([*working, waiting], return_when=asyncio.FIRST_COMPLETED)
    for task in (*working, waiting):
        task.cancel()
    for task in working:
        with suppress(asyncio.CancelledError):
            await asyncio.shield(asyncio.wait([task]))
    await database.close()
    for task in done - {waiting}:
        task.result()
        raise RuntimeError("the worker ended by itself; it is to be started again")
