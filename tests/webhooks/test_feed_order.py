"""The feed skips no event, whatever the order of commits."""

import asyncio
import json
from collections.abc import Sequence
from contextlib import AsyncExitStack
from datetime import timedelta
from typing import Any
from uuid import UUID

import psycopg
import pytest
from hypothesis import given, strategies as st

from builders.kit.db.connections import Conn, Database
from builders.kit.events import dispatcher, outbox
from builders.kit.http.pagination import PageRequest
from builders.kit.jobs import queue
from builders.kit.process.settings import Settings
from builders.kit.values import clock, ids
from builders.webhooks import feed
from builders.webhooks.events import WEBHOOK_DELETED
from builders.webhooks.feed import FeedWaiters
from builders.webhooks.store import events as store
from tests.cast import Person
from tests.random_cases import cases
from tests.webhooks.feeding import RELAYS, happen, publish, read, relay, seek_end, types

assert RELAYS

OWN = "SELECT account_id, id::text FROM kit_outbox WHERE xmin = pg_current_xact_id()::xid"
ALICE, BOB = (UUID(int=0xA11CE), UUID(int=0xB0B))


async def test_an_event_whose_transaction_commits_late_is_read_late(alice: Person, database: Database) -> None:
    start = await seek_end(alice, database)
    async with database.transaction() as slow:
        await outbox.publish(slow, WEBHOOK_DELETED, account_id=alice.account.id, data=WEBHOOK_DELETED.example)
        await happen(database, alice.account.id, WEBHOOK_DELETED)  # began later, commits first
        first = await read(alice, start)
    await relay(database)
    second = await read(alice, first["resume_cursor"])

    assert types(first) == types(second) == ["webhook.deleted"]
    assert second["items"][0]["id"] < first["items"][0]["id"]
    assert (await read(alice, second["resume_cursor"]))["items"] == []


async def test_a_dispatcher_with_a_slow_clock_does_not_overtake_another(alice: Person, database: Database) -> None:
    start = await seek_end(alice, database)
    await publish(database, alice.account.id, WEBHOOK_DELETED)
    async with database.transaction() as slow:
        await dispatcher.dispatch(slow)
        with clock.moved(timedelta(minutes=-1)):
            await publish(database, alice.account.id, WEBHOOK_DELETED)
            other = asyncio.create_task(relay(database))
            await _blocked(database, other)
        assert (await read(alice, start))["items"] == []
    await other

    first, second = (await read(alice, start))["items"]
    assert second["timestamp"] < first["timestamp"]


async def test_dispatchers_of_other_accounts_do_not_wait(alice: Person, bob: Person, database: Database) -> None:
    starts = [await seek_end(each, database) for each in (alice, bob)]
    await publish(database, alice.account.id, WEBHOOK_DELETED)
    async with database.transaction() as slow:
        await dispatcher.dispatch(slow)
        await asyncio.wait_for(happen(database, bob.account.id, WEBHOOK_DELETED), 60)
        assert types(await read(bob, starts[1])) == ["webhook.deleted"]


async def test_events_of_a_killed_dispatcher_are_dispatched_by_the_next(
    alice: Person, database: Database, settings: Settings
) -> None:
    start = await seek_end(alice, database)
    await publish(database, alice.account.id, WEBHOOK_DELETED)
    async with await psycopg.AsyncConnection.connect(database.conninfo, autocommit=True) as conn:

        async def be_killed() -> None:
            async with conn.transaction():
                await dispatcher.dispatch(conn)
                pid = conn.info.backend_pid
                async with database.connection() as other:
                    await other.execute("SELECT pg_terminate_backend(%s)", [pid])
                await conn.execute("SELECT 1")

        with pytest.raises(psycopg.OperationalError):
            await be_killed()
    assert (await read(alice, start))["items"] == []

    await relay(database)
    assert types(await read(alice, start)) == ["webhook.deleted"]
    await queue.run_pending(database, settings)
    assert types(await read(alice, start)) == ["webhook.deleted"]


async def _blocked(database: Database, other: asyncio.Task[Any]) -> None:
    """Wait until a statement of the task waits for a lock."""
    query = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    while not other.done():
        async with database.connection() as conn:
            row = await (await conn.execute(query)).fetchone()
        if row is not None and row[0]:
            return


class Play:
    """Writers and dispatchers that begin and commit as a script says, and a client of each account."""

    def __init__(self, database: Database, settings: Settings) -> None:
        self.database, self.settings = database, settings
        self.writers: dict[int, Any] = {}
        self.relays: dict[int, tuple[asyncio.Task[None], asyncio.Event]] = {}
        self.committed: dict[UUID, set[str]] = {ALICE: set(), BOB: set()}
        self.cursors: dict[UUID, PageRequest] = {each: _page(None) for each in (ALICE, BOB)}
        self.seen: dict[UUID, list[str]] = {ALICE: [], BOB: []}

    async def write(self, n: int, account_id: UUID) -> None:
        if n not in self.writers:
            stack = AsyncExitStack()
            self.writers[n] = (stack, await stack.enter_async_context(self.database.transaction()))
        _, conn = self.writers[n]
        await outbox.publish(conn, WEBHOOK_DELETED, account_id=account_id, data=WEBHOOK_DELETED.example)

    async def commit(self, n: int) -> None:
        if n in self.writers:
            stack, conn = self.writers.pop(n)
            written = await (await conn.execute(OWN)).fetchall()
            await stack.aclose()
            for account_id, event_id in written:
                self.committed[account_id].add(event_id)

    async def begin_relay(self, n: int, *, fails: bool) -> None:
        if n in self.relays:
            return
        gate, dispatched = asyncio.Event(), asyncio.Event()

        async def run() -> None:
            async with self.database.transaction() as conn, conn.transaction(force_rollback=fails):
                await dispatcher.dispatch(conn)
                dispatched.set()
                await gate.wait()

        self.relays[n] = (asyncio.create_task(run()), gate)
        _, waiting = await asyncio.wait({asyncio.create_task(dispatched.wait())}, timeout=0.03)
        for task in waiting:  # the relay waits for a lock of another one
            task.cancel()

    async def end_relay(self, n: int) -> None:
        if n in self.relays:
            task, gate = self.relays.pop(n)
            gate.set()
            if not self.relays:
                await task

    async def read(self, account_id: UUID, names: Sequence[str] = ()) -> None:
        waiters = FeedWaiters(self.database)
        found = await feed.read_feed(
            self.database,
            waiters=waiters,
            account_id=account_id,
            live_account_id=account_id,
            types=names,
            since=None,
            page=self.cursors[account_id],
            wait_s=0,
        )
        self.seen[account_id] += [each["id"] for each in json.loads(found.items)]
        self.cursors[account_id] = _page(found.resume_cursor)

    async def end(self) -> None:
        for n in list(self.writers):
            await self.commit(n)
        tasks = [task for task, _ in self.relays.values()]
        for _, gate in self.relays.values():
            gate.set()
        await asyncio.gather(*tasks)
        await relay(self.database)
        await queue.run_pending(self.database, self.settings)  # of a relay that waited for too long for another
        for account_id in self.cursors:
            for _ in range(20):
                await self.read(account_id)


def _page(cursor: str | None) -> PageRequest:
    after = None if cursor is None else tuple(json.loads(cursor))
    return PageRequest(limit=2, after=after, seal=lambda key: json.dumps(list(key)))


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("write"), st.integers(0, 2), st.sampled_from([ALICE, BOB])),
        st.tuples(st.just("commit"), st.integers(0, 2)),
        st.tuples(st.just("relay"), st.integers(0, 1), st.booleans()),
        st.tuples(st.just("end_relay"), st.integers(0, 1)),
        st.tuples(st.just("read"), st.sampled_from([ALICE, BOB]), st.booleans()),
        st.tuples(st.just("clock"), st.integers(-90, 90)),
    ),
    max_size=25,
)


@cases(5)
@given(steps=STEPS)
def test_a_reader_sees_each_committed_event_once(
    conninfo: str, settings: Settings, steps: list[tuple[Any, ...]]
) -> None:
    asyncio.run(_play(conninfo, settings, steps))


async def _play(conninfo: str, settings: Settings, steps: list[tuple[Any, ...]]) -> None:
    database = Database(conninfo, settings)
    await database.open()
    try:
        async with database.connection() as conn:
            await conn.execute("TRUNCATE webhooks_feed, webhooks_feed_heads, kit_outbox, kit_outbox_pending")
        play = Play(database, settings)
        for kind, *given in steps:
            if kind == "write":
                await play.write(*given)
            elif kind == "commit":
                await play.commit(*given)
            elif kind == "relay":
                await play.begin_relay(given[0], fails=given[1])
            elif kind == "end_relay":
                await play.end_relay(*given)
            elif kind == "read":
                await play.read(given[0], ["webhook.*"] if given[1] else [])
            else:
                clock.move(timedelta(seconds=given[0]))
        await play.end()
        for account_id, committed in play.committed.items():
            assert sorted(play.seen[account_id]) == sorted(committed)
    finally:
        clock.reset()
        await database.close()


FILL = """
    INSERT INTO webhooks_feed (account_id, event_id, created_at, position, previous, name)
    SELECT %(account_id)s, gen_random_uuid(),
           %(now)s::timestamptz - interval '80 days' * (1 - n / %(count)s::float),
           1000000 + n, 999999 + n, CASE n %% 1000 WHEN 7 THEN 'invoice.paid' ELSE 'alias.created' END
    FROM generate_series(1, %(count)s) AS n
"""


@pytest.mark.parametrize(
    "statement",
    [store.list_entries.text, store.list_entries_of_names.text, store.find_state.text],
    ids=["list", "names", "state"],
)
async def test_a_page_costs_the_same_in_a_large_feed(database: Database, statement: str) -> None:
    costs = []
    for count in (500, 20_000):
        async with database.transaction() as conn:
            costs.append(await _blocks(conn, statement, count))
            await conn.execute("DELETE FROM webhooks_feed WHERE created_at < %s", [clock.now() + timedelta(1)])
    # A level or two of the index of each partition, which other tests may have made; the whole is 250 blocks.
    assert costs[1] <= costs[0] + 60, costs


async def _blocks(conn: Conn, query: str, count: int) -> int:
    """Return how many blocks a page in the middle of a feed reads."""
    account_id = ids.new()
    await conn.execute(FILL.encode(), {"account_id": account_id, "now": clock.now(), "count": count})
    await conn.execute("INSERT INTO webhooks_feed_heads VALUES (%s, %s)", [account_id, 1_000_000 + count])
    await conn.execute("ANALYZE webhooks_feed")
    values = {
        "account_id": account_id,
        "after": 1_000_000 + count // 2,
        "since": clock.now() - timedelta(days=90),
        "names": ["invoice.paid", "alias.deleted"],
        "limit": 50,
    }
    explained = await conn.execute(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {query}".encode(), values)
    [[[plan]]] = await explained.fetchall()
    top = plan["Plan"]
    return int(top["Shared Hit Blocks"]) + int(top["Shared Read Blocks"])
