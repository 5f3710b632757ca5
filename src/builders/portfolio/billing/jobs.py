"""Jobs of billing."""

from uuid import UUID

from procrastinate import JobContext

from builders.kit.db.connections import Conn
from builders.kit.errors import DatabaseBusy, DatabaseUnavailable
from builders.kit.events import dispatcher
from builders.kit.events.dispatcher import PublishedEvent
from builders.kit.jobs import queue
from builders.kit.outbound import client
from builders.kit.process import log
from builders.portfolio.billing import syncing
from builders.portfolio.registrars import places

TRIES = 6  # of a job that fails otherwise than by the database

_log = log.get_logger()


@queue.app.task(
    name="portfolio.sync_registrar_charges", queue=queue.EXTERNAL, retry=queue.RETRY, pass_context=True
)
async def sync_registrar_charges(context: JobContext, account_id: str, run_id: str, connection_id: str) -> None:
    """Record the charges of one connection; abandon it when that keeps failing on our side."""
    database = queue.database(context)
    target = {"account_id": UUID(account_id), "run_id": UUID(run_id), "connection_id": UUID(connection_id)}
    outbound = await queue.get_shared(context, client.open_client)
    try:
        async with places.take_place(context, **target) as is_free:
            if is_free:
                await syncing.sync_charges(
                    database,
                    account_id=target["account_id"],
                    run_id=target["run_id"],
                    connection_id=target["connection_id"],
                    outbound=outbound,
                    keyring=queue.keyring(context),
                )
    except (DatabaseUnavailable, DatabaseBusy):
        raise
    except Exception:
        if context.job.attempts < TRIES:
            raise
        _log.exception("billing_sync_abandoned", account_id=account_id, run_id=run_id, connection_id=connection_id)
        async with database.transaction() as conn:
            await syncing.abandon_sync(conn, **target)


@dispatcher.subscribe("portfolio.sync.completed", name="portfolio.follow_sync_with_charges")
async def follow_sync_with_charges(conn: Conn, event: PublishedEvent) -> None:
    """Sync the charges of connections whose domains were synced."""
    await syncing.follow_sync(conn, account_id=event.account_id, run_id=UUID(event.read()["run_id"]))
