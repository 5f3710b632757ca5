"""What the operator asks: how much waits, and which receivers fail."""

from builders.kit.db.connections import Conn
from builders.kit.events import dispatcher
from builders.kit.values import clock
from builders.webhooks.records import Backlog
from builders.webhooks.store import claims, operating

SHOWN = 100  # destinations


async def look(conn: Conn) -> Backlog:
    """Everybody's queue, the outbox before it, and the receivers that fail."""
    now = clock.now()
    queue = await claims.measure(conn, now=now)
    overdue = None if queue.oldest_due_at is None else now - queue.oldest_due_at
    return Backlog(
        outbox_s=round((await dispatcher.get_pending_age(conn)).total_seconds()),
        due=queue.due,
        pending=queue.pending,
        overdue_s=0 if overdue is None else round(overdue.total_seconds()),
        troubled=await operating.list_troubled(conn, limit=SHOWN),
    )
