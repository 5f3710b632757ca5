"""Jobs and subscribers of transfers."""

from collections import defaultdict
from collections.abc import Sequence
from uuid import UUID

from procrastinate import JobContext

from builders.kit.db.connections import Conn
from builders.kit.events import dispatcher
from builders.kit.events.dispatcher import PublishedEvent
from builders.kit.jobs import queue
from builders.kit.outbound import client
from builders.portfolio.runs.work import Tools
from builders.portfolio.transfers import status

DOMAIN_UPDATED = "portfolio.domain.updated"


# One at a time on all workers.
@queue.periodic(
    "*/5 * * * *", name="portfolio.follow_transfers", lane=queue.EXTERNAL, lock="portfolio.follow_transfers"
)
async def follow_transfers(context: JobContext) -> None:
    """Check the transfers that are pending, and the domains that may move now."""
    outbound = await queue.get_shared(context, client.Outbound)
    await status.follow_transfers(
        Tools(database=queue.database(context), outbound=outbound, keyring=queue.keyring(context))
    )


@dispatcher.subscribe_batches(name="portfolio.find_registry_transfers")
async def find_registry_transfers(conn: Conn, events: Sequence[PublishedEvent]) -> None:
    """Follow the domains of which a registry changed the statuses to or from a pending transfer."""
    changed: dict[UUID, set[UUID]] = defaultdict(set)
    for event in events:
        if event.name == DOMAIN_UPDATED and "epp_statuses" in (data := event.read())["changed"]:
            changed[event.account_id].add(UUID(data["id"]))
    for account_id, domain_ids in changed.items():
        await status.follow_domains(conn, account_id=account_id, domain_ids=sorted(domain_ids))


@dispatcher.subscribe("portfolio.sync.completed", name="portfolio.find_registrar_transfers")
async def find_registrar_transfers(conn: Conn, event: PublishedEvent) -> None:
    """Follow the domains that a sync found on their way to another registrar."""
    await status.follow_leaving(conn, account_id=event.account_id)
