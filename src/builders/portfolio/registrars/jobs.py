"""Jobs of registrar connections."""

from uuid import UUID

from procrastinate import JobContext

from builders.kit.db.connections import Conn
from builders.kit.events import dispatcher
from builders.kit.events.dispatcher import PublishedEvent
from builders.kit.jobs import queue, time_slices
from builders.kit.values import ids
from builders.portfolio.registrars import inventory_sync, parts, reconcile
from builders.portfolio.runs.records import WorkKind
from builders.portfolio.runs.work import Work, declare

declare(
    WorkKind.SYNC,
    Work(do=inventory_sync.sync_part, abandon=inventory_sync.abandon_part, list_places=parts.list_places),
)


@queue.periodic("*/5 * * * *", name="portfolio.schedule_syncs")
async def schedule_syncs(context: JobContext) -> None:
    """Start the syncs of connections whose interval has passed."""
    after: tuple[UUID, UUID] | None = (ids.NIL, ids.NIL)
    while after is not None:
        async with queue.database(context).transaction() as conn:
            after = await inventory_sync.schedule_syncs(conn, after=after)


@dispatcher.subscribe("portfolio.sync.completed", name="portfolio.detect_drift")
async def detect_drift(conn: Conn, event: PublishedEvent) -> None:
    """Enqueue the comparison of a portfolio whose registrars were synced."""
    account_id = str(event.account_id)
    await time_slices.defer(conn, publish_drift, once=f"{publish_drift.name} {account_id}", account_id=account_id)


@queue.app.task(name="portfolio.publish_drift", queue=queue.LONG, retry=queue.RETRY, pass_context=True)
async def publish_drift(context: JobContext, account_id: str) -> None:
    """Publish the urgent differences between a portfolio and its registrars that are new."""
    async with queue.database(context).transaction() as conn:
        await reconcile.detect_drift(conn, account_id=UUID(account_id))


@dispatcher.subscribe("portfolio.auth_code.requested", name="portfolio.expect_departure")
async def expect_departure(conn: Conn, event: PublishedEvent) -> None:
    """Expect the transfer of a domain whose auth code was requested."""
    await reconcile.expect_departure(
        conn, account_id=event.account_id, domain=event.read()["domain"], at=event.created_at
    )
