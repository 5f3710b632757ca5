"""Jobs of billing."""

from uuid import UUID

from procrastinate import JobContext

from builders.kit.db.connections import Conn
from builders.kit.events import dispatcher
from builders.kit.events.dispatcher import PublishedEvent
from builders.kit.jobs import queue
from builders.portfolio.billing import bookings, charge_sync
from builders.portfolio.finance import changes as finance_changes
from builders.portfolio.registrars import parts
from builders.portfolio.runs.records import WorkKind
from builders.portfolio.runs.work import Work, declare

declare(
    WorkKind.BILLING,
    Work(do=charge_sync.sync_charges, abandon=charge_sync.abandon_part, list_places=parts.list_places),
)


@dispatcher.subscribe("portfolio.sync.completed", name="portfolio.follow_sync_with_charges")
async def follow_sync_with_charges(conn: Conn, event: PublishedEvent) -> None:
    """Sync the charges of connections whose domains were synced."""
    await charge_sync.follow_sync(conn, account_id=event.account_id, run_id=UUID(event.read()["run_id"]))


@queue.app.task(name=finance_changes.TAKE_BACK_CHARGES, retry=queue.RETRY, pass_context=True)
async def take_back_charges(
    context: JobContext, account_id: str, domain_id: str, replaced_id: str = "", correction_id: str = ""
) -> None:
    """Take back the charges of a domain that are applied with an entry that a member voided.

    That of a corrected acquisition is linked with the correction instead.
    """
    corrections = {UUID(replaced_id): UUID(correction_id)} if replaced_id else {}
    async with queue.database(context).transaction() as conn:
        await bookings.take_back_voided(
            conn, account_id=UUID(account_id), domain_id=UUID(domain_id), corrections=corrections
        )
