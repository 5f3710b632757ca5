"""What the sandbox does by itself."""

from uuid import UUID

from procrastinate import JobContext, RetryStrategy

from builders.kit.errors import DatabaseBusy, DatabaseUnavailable
from builders.kit.jobs import queue
from builders.kit.process import log
from builders.sandbox import beginning, finishing, runner, service as sandbox
from builders.sandbox.means import Means

TRIES = 7
RETRY = RetryStrategy(max_attempts=TRIES, exponential_wait=3)  # 55 minutes, in which no other plan is promoted

_log = log.get_logger()


@queue.app.task(name=beginning.FINISH, retry=RETRY, pass_context=True)
async def finish(context: JobContext, account_id: str, promotion_id: str) -> None:
    """Continue one promotion; abandon it when the last try fails."""
    database, means = queue.database(context), Means.of(queue.settings(context), queue.keyring(context))
    owner = {"account_id": UUID(account_id), "promotion_id": UUID(promotion_id)}
    try:
        await runner.run(database, **owner, means=means)
    except (DatabaseUnavailable, DatabaseBusy):
        raise  # `sandbox.resume` enqueues another job, however often
    except Exception:
        if context.job.attempts < TRIES:
            raise
        _log.exception("promotion_given_up", account=account_id, promotion=promotion_id)
        async with database.transaction() as conn:
            await finishing.give_up(conn, **owner, means=means)


@queue.app.periodic(cron="* * * * *")
@queue.app.task(name="sandbox.resume", queueing_lock="sandbox.resume", pass_context=True)
async def resume(context: JobContext, timestamp: int) -> None:
    """Looks for promotions whose process died, and has each gone on with by a job of its own."""
    del timestamp
    async with queue.database(context).transaction() as conn:
        for account_id, promotion_id in await sandbox.list_abandoned(conn):
            await beginning.enqueue(conn, account_id=account_id, promotion_id=promotion_id)


@queue.app.periodic(cron="41 3 * * *")
@queue.app.task(name="sandbox.prune", queueing_lock="sandbox.prune", pass_context=True)
async def prune(context: JobContext, timestamp: int) -> None:
    """Forgets plans of a month ago that were never promoted."""
    del timestamp
    async with queue.database(context).transaction() as conn:
        await sandbox.prune(conn)
