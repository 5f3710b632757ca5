"""Jobs of billing."""

from uuid import UUID

from builders.kit.db.connections import Conn
from builders.kit.events import dispatcher
from builders.kit.events.dispatcher import PublishedEvent
from builders.portfolio.billing import charge_sync
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
