"""Jobs of the sandbox."""

from datetime import timedelta
from uuid import UUID

from procrastinate import JobContext, RetryStrategy

from builders.kit.errors import DatabaseBusy, DatabaseUnavailable
from builders.kit.jobs import queue, time_slices
from builders.kit.jobs.time_slices import TimeSlice
from builders.kit.process import log
from builders.kit.values import clock
from builders.sandbox import store
from builders.sandbox.promotion import batches, run
from builders.sandbox.promotion.run import FINISH
from builders.sandbox.records import PromotionStatus
from builders.sandbox.resources.kinds import RunParameters

PLAN_RETENTION = timedelta(days=30)
ABANDONED = timedelta(minutes=2)
ABANDONED_AT_ONCE = 1000
TRIES = 7
RETRY = RetryStrategy(max_attempts=TRIES, exponential_wait=3)  # 55 minutes, without another promotion

_log = log.get_logger()


@queue.app.task(name=FINISH, queue=queue.LONG, retry=RETRY, pass_context=True)
async def finish(context: JobContext, account_id: str, promotion_id: str) -> None:
    """Continue one promotion for a time slice; abandon it when the last try fails."""
    time_slice = TimeSlice.of(queue.settings(context))
    database = queue.database(context)
    parameters = RunParameters.of(queue.settings(context), queue.keyring(context))
    try:
        promotion = await run.run_promotion(
            database,
            account_id=UUID(account_id),
            promotion_id=UUID(promotion_id),
            parameters=parameters,
            time_slice=time_slice,
        )
        if promotion.status is PromotionStatus.RUNNING:
            await time_slices.go_on(context)
    except (DatabaseUnavailable, DatabaseBusy):
        raise  # `sandbox.resume` enqueues another job
    except Exception:
        if context.job.attempts < TRIES:
            raise
        _log.exception("promotion_abandoned", account=account_id, promotion=promotion_id)
        async with database.transaction() as conn:
            await batches.abandon(
                conn, account_id=UUID(account_id), promotion_id=UUID(promotion_id), parameters=parameters
            )


@queue.app.periodic(cron="* * * * *")
@queue.app.task(name="sandbox.resume", queueing_lock="sandbox.resume", pass_context=True)
async def resume(context: JobContext, timestamp: int) -> None:
    """Enqueue a job for each promotion whose process has stopped."""
    del timestamp
    async with queue.database(context).transaction() as conn:
        found = await store.list_abandoned(conn, before=clock.now() - ABANDONED, limit=ABANDONED_AT_ONCE)
        for account_id, promotion_id in found:
            await run.enqueue(conn, account_id=account_id, promotion_id=promotion_id)


@queue.app.periodic(cron="41 3 * * *")
@queue.app.task(name="sandbox.prune", queueing_lock="sandbox.prune", pass_context=True)
async def prune(context: JobContext, timestamp: int) -> None:
    """Delete plans that are older than 30 days and were never promoted."""
    del timestamp
    async with queue.database(context).transaction() as conn:
        await store.prune_plans(conn, before=clock.now() - PLAN_RETENTION)
