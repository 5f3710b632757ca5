"""The worker: dispatches events to subscribers, runs jobs of all packages, and sends webhooks."""

import asyncio
import signal
from contextlib import suppress

from builders.aliases import jobs as aliases_jobs
from builders.catalog import jobs as catalog_jobs
from builders.domains import jobs as domains_jobs
from builders.forwarding import jobs as forwarding_jobs
from builders.identity import jobs as identity_jobs
from builders.invoices import jobs as invoices_jobs
from builders.kit.db.connections import Database
from builders.kit.events import dispatcher
from builders.kit.jobs import queue, worker_metrics
from builders.kit.process import log, supervision
from builders.kit.process.settings import Settings
from builders.leads import jobs as leads_jobs
from builders.mail import jobs as mail_jobs
from builders.portfolio.billing import jobs as portfolio_billing_jobs
from builders.portfolio.domains import jobs as portfolio_domains_jobs
from builders.portfolio.finance import jobs as portfolio_finance_jobs
from builders.portfolio.imports import jobs as portfolio_imports_jobs
from builders.portfolio.ledger import jobs as portfolio_ledger_jobs
from builders.portfolio.notifications import jobs as portfolio_notifications_jobs
from builders.portfolio.registrars import jobs as portfolio_registrars_jobs
from builders.portfolio.renewals import jobs as portfolio_renewals_jobs
from builders.portfolio.runs import jobs as portfolio_runs_jobs
from builders.portfolio.team import jobs as portfolio_team_jobs
from builders.portfolio.transfers import jobs as portfolio_transfers_jobs
from builders.profile import jobs as profile_jobs
from builders.sandbox import jobs as sandbox_jobs
from builders.tracking import jobs as tracking_jobs
from builders.webhooks import jobs as webhooks_jobs

# The import of a module declares its jobs.
JOBS = [
    queue,
    dispatcher,
    identity_jobs,
    mail_jobs,
    profile_jobs,
    aliases_jobs,
    sandbox_jobs,
    webhooks_jobs,
    tracking_jobs,
    catalog_jobs,
    leads_jobs,
    invoices_jobs,
    domains_jobs,
    forwarding_jobs,
    portfolio_team_jobs,
    portfolio_runs_jobs,
    portfolio_notifications_jobs,
    portfolio_domains_jobs,
    portfolio_finance_jobs,
    portfolio_ledger_jobs,
    portfolio_imports_jobs,
    portfolio_billing_jobs,
    portfolio_registrars_jobs,
    portfolio_renewals_jobs,
    portfolio_transfers_jobs,
]

# Jobs and deliveries have 20 s to end; a supervisor kills after 30 s.
STOP_TIMEOUT_S = 28.0

_log = log.get_logger()


async def main(settings: Settings) -> None:
    """Run until SIGTERM; running jobs then have a grace period to end.

    The process exits STOP_TIMEOUT_S after the signal, whatever still runs in it.
    """
    if settings.database_url is None:
        raise RuntimeError("No database: set BUILDERS_DATABASE_URL, or start with `builders serve`.")
    database = Database(settings.database_url.get_secret_value(), settings)
    await database.open()
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()

    def stop(*_: object) -> None:
        _limit_stop()
        loop.call_soon_threadsafe(stopping.set)

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)  # not a handler of the loop: a job may hold the loop
    loops = (dispatcher.run(database), queue.run(database, settings), webhooks_jobs.run_sender(database, settings))
    async with worker_metrics.serve(database, settings=settings):
        tasks = [asyncio.create_task(each) for each in loops]
        waiting = asyncio.create_task(stopping.wait())
        _log.info("worker_started", jobs=sorted(queue.tasks()))
        with supervision.beating():
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


def _limit_stop() -> None:
    """End the process after a time, whatever still runs in it; its jobs run again elsewhere."""
    if not signal.getitimer(signal.ITIMER_REAL)[0]:  # a second signal does not extend it
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, STOP_TIMEOUT_S)
