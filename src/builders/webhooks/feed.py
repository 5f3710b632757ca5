"""The event feed: every public event of an account in one order, for readers that cannot receive webhooks.

Neither ids nor times of events are in the order of their commits. The relay that takes committed events from the
outbox gives each a position, under a lock of its account that it holds until its own commit: when an entry is
visible, so is every entry before it (decision 0016).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import UUID

from builders.kit.db.connections import Conn, Database
from builders.kit.events import dispatcher, outbox
from builders.kit.events.dispatcher import PublishedEvent
from builders.kit.http.pagination import PageRequest
from builders.kit.values import clock
from builders.webhooks import fanout, matching
from builders.webhooks.errors import CursorExpired
from builders.webhooks.feed_waiters import FeedWaiters
from builders.webhooks.records import FeedPage
from builders.webhooks.schedule import KEPT
from builders.webhooks.store import feed as store
from builders.webhooks.store.feed import NewEntry, State

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


async def append(conn: Conn, events: Sequence[PublishedEvent]) -> None:
    """Append the public events of a batch to their accounts' feeds; an event that is there stays where it is.

    Raises LookupError for an event that this revision does not know: a newer one says whether it is public.
    """
    is_internal = {event.name: event.internal for event in outbox.list_events()}
    unknown = {each.name for each in events} - is_internal.keys()
    if unknown:
        raise LookupError(f"no package of this revision declares {', '.join(sorted(unknown))}")
    public = [
        NewEntry(account_id=each.account_id, id=each.id, created_at=each.created_at, name=each.name)
        for each in events
        if not is_internal[each.name]
    ]
    if public:
        await store.append(conn, events=public, now=clock.now())


async def read_feed(
    database: Database,
    waiters: FeedWaiters,
    *,
    account_id: UUID,
    live_account_id: UUID,
    types: Sequence[str],
    since: datetime | None,
    page: PageRequest,
    wait_s: int,
) -> FeedPage:
    """Return the account's events behind the page's cursor, oldest first; without `types` those of every type.

    When there is none, wait for one, without a database connection. Raises Invalid for an unknown type,
    CursorExpired, TooManyWaiters, FeedBusy.
    """
    names = matching.expand(types, loc=("query", "types"))
    oldest = clock.now() - KEPT
    asked = _Asked(account_id=account_id, names=names, since=max(since or oldest, oldest), limit=page.limit)
    deadline = clock.monotonic() + wait_s
    after = None if page.after is None else _position(page.after)
    while True:
        async with database.reading() as conn:
            found = await _read(conn, asked, after=after, oldest=oldest)
        after, left_s = found.position, deadline - clock.monotonic()
        if found.events or left_s <= 0 or not await waiters.wait(account_id, after=after, timeout_s=left_s):
            break
    return FeedPage(
        items=f"[{','.join(fanout.payload_of(each, live_account_id) for each in found.events)}]",
        next_cursor=page.seal([found.position]) if found.has_more else None,
        resume_cursor=page.seal([found.position]),
        available_since=oldest,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """What a reader wants."""

    account_id: UUID
    names: Sequence[str] | None  # None: all
    since: datetime
    limit: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """Some events, and the position up to which there are no others."""

    events: Sequence[PublishedEvent]
    position: int
    has_more: bool


async def _read(conn: Conn, asked: _Asked, *, after: int | None, oldest: datetime) -> _Found:
    begin = _microseconds(asked.since) - 1 if after is None else after
    state = await store.find_state(conn, account_id=asked.account_id, after=begin)
    if state is None:  # has never had an event
        return _Found(events=[], position=begin if after is not None else 0, has_more=False)
    if after is None:
        begin = min(begin, state.head)  # `since` may lie in the future
    elif state.head > after and _is_cut(state, after, oldest):
        raise CursorExpired(oldest)
    entries = await store.list_entries(
        conn,
        account_id=asked.account_id,
        after=begin,
        since=asked.since,
        names=asked.names,
        limit=asked.limit + 1,
    )
    has_more, shown = len(entries) > asked.limit, entries[: asked.limit]
    last = shown[-1].position if shown else begin
    # The state was read first: every entry up to its head was there to be listed.
    position = last if has_more else max(last, state.head)
    found = await dispatcher.list_by_id(
        conn, account_id=asked.account_id, events=[(each.event_id, each.created_at) for each in shown]
    )
    events = [found[each.event_id] for each in shown if each.event_id in found]  # less those that were erased
    return _Found(events=events, position=position, has_more=has_more)


def _is_cut(state: State, after: int, oldest: datetime) -> bool:
    """Whether entries behind the position were dropped, or are about to be."""
    return (
        state.previous is None or state.previous > after or state.created_at is None or state.created_at < oldest
    )


def _position(key: Sequence[str | int | None]) -> int:
    """Return the position that a cursor holds; it is signed, so this service wrote it."""
    [position] = key
    if not isinstance(position, int):
        raise TypeError("the cursor of a feed holds a position")
    return position


def _microseconds(moment: datetime) -> int:
    return (moment - _EPOCH) // timedelta(microseconds=1)
