"""The event feed: every public event of an account in one order, for clients that cannot receive webhooks.

Events are not committed in the order of their ids or times. A batch subscriber of the outbox therefore assigns
positions, and locks the account's feed until it commits. So if an entry is visible, every earlier entry is visible
too (decision 0016).
"""

import asyncio
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from contextvars import Context
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from types import TracebackType
from typing import Protocol, Self
from uuid import UUID

from builders.kit.db.connections import Conn, Database
from builders.kit.errors import DatabaseBusy, DatabaseUnavailable
from builders.kit.events import dispatcher, outbox
from builders.kit.events.dispatcher import PublishedEvent
from builders.kit.http.pagination import CursorExpired, JsonPage, PageRequest
from builders.kit.limits import maximums
from builders.kit.process import log, waits
from builders.kit.values import clock
from builders.webhooks import catalog
from builders.webhooks.deliveries import RETENTION
from builders.webhooks.errors import FeedBusy, TooManyWaiters
from builders.webhooks.store import events as store

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedPage(JsonPage):
    """A page of an account's feed; its items are webhook payloads."""

    resume_cursor: str  # of the last item, or of the whole feed; later events follow it
    available_since: datetime

    def json(self) -> bytes:
        """Return the whole reply; cursors are base64url and need no escapes."""
        since = self.available_since.isoformat().replace("+00:00", "Z")
        page = JsonPage.json(self).removesuffix(b"}").decode()
        return f'{page},"resume_cursor":"{self.resume_cursor}","available_since":"{since}"}}'.encode()


async def append(conn: Conn, events: Sequence[PublishedEvent]) -> None:
    """Append the public events of a batch to the feeds of their accounts; skip events that are in the feed.

    Raise LookupError for an event that this revision does not declare: it cannot decide whether it is public.
    """
    is_internal = {event.name: event.internal for event in outbox.list_events()}
    unknown = {each.name for each in events} - is_internal.keys()
    if unknown:
        raise LookupError(f"no package of this revision declares {', '.join(sorted(unknown))}")
    public = [each for each in events if not is_internal[each.name]]
    if public:
        await store.append(conn, events=public, now=clock.now())


async def read_feed(
    database: Database,
    *,
    waiters: "FeedWaiters",
    account_id: UUID,
    live_account_id: UUID,
    types: Sequence[str],
    since: datetime | None,
    page: PageRequest,
    wait_s: int,
) -> FeedPage:
    """Return the account's events after the page's cursor, oldest first; without `types`, those of every type.

    If there are none, wait for one without a database connection. Raise Invalid for an unknown type,
    CursorExpired, TooManyWaiters, FeedBusy.
    """
    names = catalog.expand_patterns(types, loc=("query", "types"))
    oldest = clock.now() - RETENTION
    after = next((each for each in page.after or () if isinstance(each, int)), None)
    since = max(since or oldest, oldest)
    deadline = clock.monotonic() + wait_s
    while True:
        async with database.connection() as conn:
            events, after, has_more = await _read(
                conn, account_id, names=names, since=since, limit=page.limit, after=after, oldest=oldest
            )
        left_s = deadline - clock.monotonic()
        if events or left_s <= 0 or not await waiters.wait(account_id, after=after, timeout_s=left_s):
            break
    cursor = page.seal([after])
    return FeedPage(
        items=f"[{','.join(catalog.payload_of(each, live_account_id) for each in events)}]",
        next_cursor=cursor if has_more else None,
        resume_cursor=cursor,
        available_since=oldest,
    )


async def _read(
    conn: Conn,
    account_id: UUID,
    *,
    names: Sequence[str] | None,
    since: datetime,
    limit: int,
    after: int | None,
    oldest: datetime,
) -> tuple[Sequence[PublishedEvent], int, bool]:
    """Return events after a position, the position up to which they were read, and whether there are more."""
    begin = (since - _EPOCH) // timedelta(microseconds=1) - 1 if after is None else after
    state = await store.find_state(conn, account_id=account_id, after=begin)
    if state is None:  # the account never had an event
        return (), after or 0, False
    if after is None:
        begin = min(begin, state.head)  # `since` may lie in the future
    elif state.head > after and (
        state.previous is None or state.previous > after or state.created_at is None or state.created_at < oldest
    ):  # entries after the position were dropped, or are about to be
        moment = oldest.isoformat().replace("+00:00", "Z")
        message = f"The events after this cursor are no longer kept; the oldest kept event is of {moment}."
        raise CursorExpired(message, available_since=moment)
    row = {"account_id": account_id, "after": begin, "since": since, "limit": limit + 1}
    entries = (
        await store.list_entries_of_names(conn, **row, names=names)
        if names
        else await store.list_entries(conn, **row)
    )
    has_more, shown = len(entries) > limit, entries[:limit]
    last = shown[-1].position if shown else begin
    found = await dispatcher.list_by_id(
        conn, account_id=account_id, events=[(each.event_id, each.created_at) for each in shown]
    )
    events = [found[each.event_id] for each in shown if each.event_id in found]  # without deleted events
    # The state was read first, so the list contains every entry up to its head.
    return events, last if has_more else max(last, state.head), has_more


async def get_head(conn: Conn, *, account_id: UUID) -> int:
    """Return the position of the newest event of an account; 0 without one."""
    return (await store.list_heads(conn, account_ids=[account_id])).get(account_id, 0)


MAX_ACCOUNT_WAITERS = maximums.declare(
    "event_waiters",
    8,
    of="account",
    counts="Requests that wait for events or mail, in each process.",
    code="too_many_waiters",
)
MAX_WAITERS = 1_000  # of all accounts
LONGEST_WAIT_S = 20  # of a request
POLL_INTERVAL_S = 0.25  # between queries while requests wait

_log = log.get_logger()


class Heads(Protocol):
    """A statement that returns a number of each of these accounts, which grows when it has something new."""

    async def __call__(self, conn: Conn, *, account_ids: Collection[UUID]) -> Mapping[UUID, int]:
        """Return the numbers."""


async def _list_heads(conn: Conn, *, account_ids: Collection[UUID]) -> Mapping[UUID, int]:
    return await store.list_heads(conn, account_ids=account_ids)


class FeedWaiters:
    """The waiting requests of a process, by account, for events or for what another statement counts.

    They hold no connection.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self.max_waiters, self.max_account_waiters = MAX_WAITERS, MAX_ACCOUNT_WAITERS
        self.poll_interval_s = POLL_INTERVAL_S
        self._waiting: defaultdict[UUID, dict[asyncio.Future[bool], tuple[Heads, int]]] = defaultdict(dict)
        self._looking: asyncio.Task[None] | None = None  # while requests wait
        self._is_closed = False
        self.count = 0  # of waiting requests

    async def __aenter__(self) -> Self:
        """Return the object itself."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End all waits and the polling task."""
        self.close()
        if self._looking is not None:
            self._looking.cancel()
            await asyncio.wait([self._looking])

    def close(self) -> None:
        """End all waits as if their time were over, and start no other one, because the process stops."""
        self._is_closed = True
        for waiting in self._waiting.values():
            for future in waiting:
                _settle(future, newer=False)

    async def wait(self, account_id: UUID, *, after: int, timeout_s: float, heads: Heads = _list_heads) -> bool:
        """Return True as soon as the number of the account is greater, False when the time is over.

        By default it is the position in its feed.

        Raise TooManyWaiters, FeedBusy.
        """
        if self._is_closed:
            return False
        if len(self._waiting.get(account_id, ())) >= self.max_account_waiters:
            raise TooManyWaiters(
                f"{self.max_account_waiters} requests of the account already wait for events in this process.",
                retry_after=1,
            )
        if self.count >= self.max_waiters:
            raise FeedBusy("Too many requests are waiting for events; omit `wait`.", retry_after=5)
        loop = asyncio.get_running_loop()
        future: asyncio.Future[bool] = loop.create_future()
        timer = loop.call_later(timeout_s, _settle, future)
        self._waiting[account_id][future] = heads, after
        self.count += 1
        if self._looking is None:
            # In an empty context: the current one belongs to the request of the first caller.
            self._looking = loop.create_task(self._look_while_waiting(), context=Context())
        try:
            with waits.noted("news"):
                return await future
        finally:
            timer.cancel()
            self.count -= 1
            del self._waiting[account_id][future]
            if not self._waiting[account_id]:
                del self._waiting[account_id]

    async def _look_while_waiting(self) -> None:
        try:
            while self._waiting:
                await self._look()
                await asyncio.sleep(self.poll_interval_s)
        finally:
            self._looking = None

    async def _look(self) -> None:
        wanted = defaultdict[Heads, set[UUID]](set)
        for account_id, waiting in self._waiting.items():
            for heads, _ in waiting.values():
                wanted[heads].add(account_id)
        try:
            async with self._database.connection() as conn:
                found = {heads: await heads(conn, account_ids=ids) for heads, ids in wanted.items()}
        except (DatabaseUnavailable, DatabaseBusy):
            _log.warning("feed_waiters_delayed", waiting=self.count)
            return
        for account_id, waiting in self._waiting.items():
            for future, (heads, after) in waiting.items():
                if found.get(heads, {}).get(account_id, after) > after:
                    _settle(future, newer=True)


def _settle(future: asyncio.Future[bool], *, newer: bool = False) -> None:
    if not future.done():
        future.set_result(newer)
