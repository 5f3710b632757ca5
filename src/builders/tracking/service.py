"""The public interface of tracking: the recorder of opens and clicks, and the counts of an account's notices."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from uuid import UUID

from builders.kit.db.connections import Conn
from builders.kit.http.pagination import Page, PageRequest
from builders.kit.values import clock, ids
from builders.mail import service as mail
from builders.tracking import store
from builders.tracking.records import Count, TrackedMessage, TrackingEventKind

BURST = timedelta(seconds=2)
BURST_LINKS = 3  # different links of an email within that time
MAX_CLICKS = 100  # of a person on an email within the lookback
MAX_CLOCK_SKEW = timedelta(hours=1)  # of the time in an id
BURST_LOOKBACK = timedelta(minutes=10)
_NONE = Count()


async def list_messages(conn: Conn, *, account_id: UUID, page: PageRequest) -> Page[TrackedMessage]:
    """Return the account's notices, newest first, with opens and clicks. Two statements."""
    found = await mail.list_notices(conn, account_id=account_id, before=page.before_id, limit=page.limit + 1)
    cut = page.cut(found, key=lambda each: [str(each.id)])
    counts: Mapping[tuple[UUID, str], Count] = {}
    if cut.items:
        message_ids = [each.id for each in cut.items]
        since = ids.time_of(message_ids[-1]) - MAX_CLOCK_SKEW
        found_counts = await store.count(conn, account_id=account_id, message_ids=message_ids, since=since)
        counts = {(each.message_id, each.kind): each for each in found_counts}
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


async def erase_messages(conn: Conn, *, account_id: UUID, message_ids: Sequence[UUID]) -> None:
    """Delete the tracking events of the messages."""
    await store.delete_events(conn, account_id=account_id, message_ids=message_ids)


async def mark_bursts(conn: Conn) -> int:
    """Attribute recent bursts of clicks to machines; return the number of clicks."""
    since = clock.now() - BURST_LOOKBACK
    return await store.mark_bursts(conn, since=since, span=BURST, links=BURST_LINKS, max_clicks=MAX_CLICKS)
