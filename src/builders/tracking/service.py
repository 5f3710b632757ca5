"""The door of tracking: the recorder takes down opens and clicks, and an account asks about its notices."""

from collections.abc import Sequence
from datetime import timedelta
from uuid import UUID

from builders.kit.db.connections import Conn
from builders.kit.http.pagination import Page, PageRequest
from builders.kit.values import clock, ids
from builders.mail import service as mail
from builders.tracking import store
from builders.tracking.recording import (
    Recorder as Recorder,
)
from builders.tracking.records import Count, Followed, HitKind

BURST = timedelta(seconds=2)
BURST_LINKS = 3  # different ones of a mail, within that time
SWARM = 100  # clicks on a mail while we look back: no person's
AHEAD = timedelta(hours=1)  # that an id may be of the clock, at the very most
LOOKED_BACK = timedelta(minutes=10)
_NONE = Count()


async def list_messages(conn: Conn, *, account_id: UUID, page: PageRequest) -> Page[Followed]:
    """The account's notices, newest first, each with its opens and clicks. Two statements."""
    found = await mail.list_notices(conn, account_id=account_id, before=page.before_id, limit=page.limit + 1)
    cut = page.cut(found, key=lambda each: [str(each.id)])
    counts: dict[tuple[UUID, str], Count] = {}
    if cut.items:
        message_ids = [each.id for each in cut.items]
        since = ids.time_of(message_ids[-1]) - AHEAD
        for each in await store.count(conn, account_id=account_id, message_ids=message_ids, since=since):
            counts[each.message_id, each.kind] = Count(
                people=each.people,
                machines=each.machines,
                proxied=each.proxied,
                first_at=each.first_at,
                last_at=each.last_at,
            )
    items = [
        Followed(
            id=each.id,
            letter=each.template,
            recipient=each.recipient,
            status=each.status,
            created_at=each.created_at,
            sent_at=each.sent_at,
            opens=counts.get((each.id, HitKind.OPEN), _NONE),
            clicks=counts.get((each.id, HitKind.CLICK), _NONE),
        )
        for each in cut.items
    ]
    return Page(items=items, next_cursor=cut.next_cursor)


async def forget(conn: Conn, *, account_id: UUID, message_ids: Sequence[UUID]) -> None:
    """Forgets the hits of the messages."""
    await store.forget(conn, account_id=account_id, message_ids=message_ids)


async def mark_bursts(conn: Conn) -> int:
    """Takes those for machines who followed several links of a mail at once, lately; how many hits they were."""
    since = clock.now() - LOOKED_BACK
    return await store.mark_bursts(conn, since=since, span=BURST, links=BURST_LINKS, most=SWARM)
