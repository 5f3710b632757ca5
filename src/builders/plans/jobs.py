"""Jobs of plans and promotions."""

from datetime import timedelta
from uuid import UUID

from procrastinate import JobContext, RetryStrategy

from builders.kit.db.batches import repeat
from builders.kit.db.connections import Conn
from builders.kit.errors import DatabaseBusy, DatabaseUnavailable
from builders.kit.events import dispatcher
from builders.kit.events.dispatcher import PublishedEvent
from builders.kit.jobs import queue, time_slices
from builders.kit.jobs.time_slices import TimeSlice
from builders.kit.outbound.client import Outbound
from builders.kit.process import log
from builders.kit.values import clock, ids
from builders.plans import planning, store
from builders.plans.approval import notices, policies, requests
from builders.plans.approval.policies import START_WAITING
from builders.plans.promotion import completion, on_approval, run, start
from builders.plans.promotion.start import FINISH
from builders.plans.records import PromotionStatus
from builders.plans.resources.kinds import RunParameters

ABANDONED = timedelta(minutes=2)
ABANDONED_AT_ONCE = 1000
SUMMARIZED_AT_ONCE = 1000  # accounts
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
        raise  # `plans.resume` enqueues another job
    except Exception:
        if context.job.attempts < TRIES:
            raise
        _log.exception("promotion_abandoned", account=account_id, promotion=promotion_id)
        async with database.transaction() as conn:
            await completion.abandon(
                conn, account_id=UUID(account_id), promotion_id=UUID(promotion_id), parameters=parameters
            )


@queue.app.task(name=START_WAITING, queue=queue.LONG, retry=RETRY, pass_context=True)
async def start_waiting(context: JobContext, account_id: str, after: str = str(ids.NIL)) -> None:
    """Start the promotions of an account that wait for an approval and now have it; another job continues."""
    settings, database = queue.settings(context), queue.database(context)
    async with Outbound(settings) as outbound:
        last = await on_approval.start_approved(
            database,
            outbound=outbound,
            account_id=UUID(account_id),
            after=UUID(after),
            parameters=RunParameters.of(settings, queue.keyring(context)),
        )
    if last is not None:
        async with database.transaction() as conn:
            await policies.start_waiting(conn, account_id=UUID(account_id), after=last)


@dispatcher.subscribe("connection.created", name="plans.announce_connection")
async def announce_connection(conn: Conn, event: PublishedEvent) -> None:
    """Enqueue the email about a new connection."""
    data = event.read()
    await queue.defer(
        conn,
        mail_connection,
        account_id=str(event.account_id),
        connection_id=str(data["id"]),
        host=str(data["client_host"]),
    )


@queue.app.task(name="plans.mail_connection", retry=queue.RETRY, pass_context=True)
async def mail_connection(context: JobContext, account_id: str, connection_id: str, host: str) -> None:
    """Notify the deciders of an account, itself among them, of a client that a person connected."""
    async with queue.database(context).transaction() as conn:
        await notices.send_connection(
            conn,
            keyring=queue.keyring(context),
            account_id=UUID(account_id),
            connection_id=UUID(connection_id),
            host=host,
        )


@queue.periodic("17 7 * * *", name="plans.summarize_requests")
async def summarize_requests(context: JobContext) -> None:
    """Email the deciders about requests of the last day that were not mailed, because there were many."""
    database, base_url = queue.database(context), queue.settings(context).url
    async with database.connection() as conn:
        found = await requests.list_unmailed(conn, limit=SUMMARIZED_AT_ONCE)
    for account_id in found:
        async with database.transaction() as conn:
            await requests.send_summary(
                conn, keyring=queue.keyring(context), base_url=base_url, account_id=account_id
            )


@queue.periodic("* * * * *", name="plans.resume")
async def resume(context: JobContext) -> None:
    """Enqueue a job for each promotion whose process has stopped, and end those without an approval."""
    database, now = queue.database(context), clock.now()
    async with database.transaction() as conn:
        found = await store.list_abandoned(conn, before=now - ABANDONED, limit=ABANDONED_AT_ONCE)
        for account_id, promotion_id in found:
            await start.enqueue(conn, account_id=account_id, promotion_id=promotion_id)
        for account_id in await store.list_startable(conn, now=now, limit=ABANDONED_AT_ONCE):
            await policies.start_waiting(conn, account_id=account_id)
        overdue = await store.list_overdue(conn, now=now, limit=ABANDONED_AT_ONCE)
    for account_id, promotion_id in overdue:
        await on_approval.end(
            database, account_id=account_id, promotion_id=promotion_id, error=on_approval.EXPIRED
        )


@queue.periodic("41 3 * * *", name="plans.prune")
async def prune(context: JobContext) -> None:
    """Delete plans after 30 days, and those that were promoted after 400."""
    database = queue.database(context)
    await repeat(database, planning.prune_plans, size=planning.PRUNE_BATCH)
    await repeat(database, planning.prune_promotions, size=planning.PROMOTIONS_OF_BATCH)
