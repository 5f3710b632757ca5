"""The counts of opens and clicks of an account's emailed notices."""

from collections.abc import Mapping
from datetime import timedelta
from uuid import UUID

from builders.kit.db.connections import Conn
from builders.kit.http.pagination import PageRequest
from builders.kit.pages import Page
from builders.kit.values import ids
from builders.mail import service as mail
from builders.tracking import store
from builders.tracking.records import Count, TrackedMessage, TrackingEventKind

MAX_CLOCK_SKEW = timedelta(hours=1)  # of the time in an id
_NONE = Count()


async def list_messages(conn: Conn, *, account_id: UUID, page: PageRequest) -> Page[TrackedMessage]:
    """Return the account's notices, newest first, with opens and clicks. Two statements."""
    found = await mail.list_notices(conn, account_id=account_id, before=page.before_id, limit=page.limit + 1)
    cut = page.cut(found, key=lambda each: [str(each.id)])
    counts: Mapping[tuple[UUID, str], Count] = {}
    if cut.items:
        message_ids = [each.id for each in cut.items]
        since = ids.time_of(message_ids[-1]) - MAX_CLOCK_SKEW
        counts = await store.count(conn, account_id=account_id, message_ids=message_ids, since=since)
    items = [
        TrackedMessage(
            id=each.id,
            template=each.template,
            recipient=each.recipient,
            status=each.status,
            created_at=each.created_at,
            sent_at=each.sent_at,
            opens=counts.get((each.id, TrackingEventKind.OPEN), _NONE),
            clicks=counts.get((each.id, TrackingEventKind.CLICK), _NONE),
        )
        for each in cut.items
    ]
    return Page(items=items, next_cursor=cut.next_cursor)
