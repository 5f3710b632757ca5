"""Each event is dispatched to each subscriber, and no subscriber delays another."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from uuid import UUID

import pytest
from pydantic import BaseModel
from structlog.contextvars import bound_contextvars, get_contextvars

from builders.kit.db.connections import Conn, Database
from builders.kit.events import dispatcher, outbox
from builders.kit.events.dispatcher import PublishedEvent
from builders.kit.events.outbox import Event
from builders.kit.jobs import queue
from builders.kit.process.settings import Settings
from builders.kit.values import ids
from tests.kit.db.proxy import DatabaseProxy
from tests.kit.scratch import until

pytestmark = pytest.mark.usefixtures("registers")


class Changed(BaseModel):
    """What an event says."""

    number: int


CHANGED = Event(name="thing.changed", version=1, description="Something was changed.", data=Changed)
HIDDEN = Event(name="thing.hidden", version=1, description="Something inside.", data=Changed, internal=True)


@pytest.fixture
async def conn(own_database: Database) -> AsyncIterator[Conn]:
    async with own_database.connection() as conn:
        await conn.execute("TRUNCATE kit_outbox, kit_outbox_pending, procrastinate_jobs CASCADE")
        await conn.execute("CREATE TABLE IF NOT EXISTS heard (subscriber text, number int)")
        await conn.execute("TRUNCATE heard")
        yield conn


def listen(event: Event, name: str) -> None:
    """Subscribe a function that records the events it receives."""

    async def hear(conn: Conn, published: PublishedEvent) -> None:
        await conn.execute("INSERT INTO heard VALUES (%s, %s)", [name, published.read()["number"]])

    dispatcher.subscribe(event.name, name=name)(hear)


async def publish(database: Database, event: Event, count: int = 1, *, account: UUID | None = None) -> None:
    async with database.transaction() as conn:
        happened = [(account or ids.new(), Changed(number=number)) for number in range(count)]
        await outbox.publish_many(conn, event, happened)


async def dispatch(database: Database) -> int:
    """Until nothing is left; the number of events."""
    done = 0
    while True:
        async with database.transaction() as conn:
            batch = await dispatcher.dispatch(conn)
        if batch == 0:
            return done
        done += batch


async def heard(conn: Conn) -> Counter[tuple[str, int]]:
    return Counter(await (await conn.execute("SELECT subscriber, number FROM heard")).fetchall())


async def test_a_subscriber_logs_the_id_of_the_request_that_published_the_event(
    own: Settings, own_database: Database, conn: Conn
) -> None:
    assert conn.autocommit
    bound: list[str | None] = []

    async def hear(_conn: Conn, _published: PublishedEvent) -> None:
        bound.append(get_contextvars().get("request_id"))

    dispatcher.subscribe(CHANGED.name, name="first")(hear)
    with bound_contextvars(request_id="request-1"):
        await publish(own_database, CHANGED)
    await publish(own_database, CHANGED)
    await dispatch(own_database)
    await queue.run_pending(own_database, own)

    assert sorted(bound, key=str) == [None, "request-1"]


async def test_each_subscriber_receives_each_event(own: Settings, own_database: Database, conn: Conn) -> None:
    listen(CHANGED, "first")
    listen(CHANGED, "second")
    listen(HIDDEN, "hidden")
    await publish(own_database, CHANGED, 3)
    await publish(own_database, HIDDEN)

    assert await dispatch(own_database) == 4
    await queue.run_pending(own_database, own)

    everyone = [(name, number) for name in ("first", "second") for number in range(3)]
    assert await heard(conn) == Counter([*everyone, ("hidden", 0)])
    assert await dispatch(own_database) == 0


async def test_a_subscriber_is_given_the_event_as_it_was_published(
    own: Settings, own_database: Database, conn: Conn
) -> None:
    given: list[PublishedEvent] = []

    async def keep(_: Conn, event: PublishedEvent) -> None:
        given.append(event)

    dispatcher.subscribe(CHANGED.name, name="keep")(keep)
    account = ids.new()
    await publish(own_database, CHANGED, account=account)
    await dispatch(own_database)
    await queue.run_pending(own_database, own)

    [event] = given
    assert (event.name, event.version, event.account_id, event.data) == (CHANGED.name, 1, account, '{"number":0}')
    found = await conn.execute("SELECT id, created_at FROM kit_outbox")
    assert await found.fetchall() == [(event.id, event.created_at)]


async def test_two_dispatchers_at_once_dispatch_each_event_once(own_database: Database, conn: Conn) -> None:
    listen(CHANGED, "first")
    listen(CHANGED, "second")
    count = 2 * dispatcher.BATCH_SIZE + 100
    await publish(own_database, CHANGED, count)

    done = await asyncio.gather(*(dispatch(own_database) for _ in range(4)))

    assert sum(done) == count
    found = await conn.execute("SELECT args ->> 'event_id', args ->> 'subscriber' FROM procrastinate_jobs")
    calls = Counter(await found.fetchall())
    assert len(calls) == 2 * count
    assert set(calls.values()) == {1}


async def test_a_dispatcher_does_not_wait_for_another_one(own_database: Database, conn: Conn) -> None:
    listen(CHANGED, "first")
    await publish(own_database, CHANGED, dispatcher.BATCH_SIZE + 10)

    async with own_database.transaction() as first, own_database.transaction() as second:
        assert await dispatcher.dispatch(first) == dispatcher.BATCH_SIZE
        assert await dispatcher.dispatch(second) == 10

    found = await conn.execute("SELECT count(DISTINCT args ->> 'event_id') FROM procrastinate_jobs")
    assert await found.fetchone() == (dispatcher.BATCH_SIZE + 10,)


async def test_a_failed_dispatch_is_rolled_back_and_repeated(own_database: Database, conn: Conn) -> None:
    listen(CHANGED, "first")
    await publish(own_database, CHANGED, 5)

    async def fail() -> None:
        async with own_database.transaction() as working:
            assert await dispatcher.dispatch(working) == 5
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await fail()

    found = await conn.execute("SELECT count(*) FROM procrastinate_jobs")
    assert await found.fetchone() == (0,)
    assert await dispatch(own_database) == 5


async def test_a_failing_subscriber_is_retried_and_delays_no_other(
    own: Settings, own_database: Database, conn: Conn
) -> None:
    tried: list[int] = []

    async def stumble(conn: Conn, event: PublishedEvent) -> None:
        await conn.execute("INSERT INTO heard VALUES ('stumbling', %s)", [event.read()["number"]])
        tried.append(event.read()["number"])
        if len(tried) == 1:
            raise ZeroDivisionError

    dispatcher.subscribe(CHANGED.name, name="stumble")(stumble)
    listen(CHANGED, "first")
    await publish(own_database, CHANGED)
    await dispatch(own_database)
    await queue.run_pending(own_database, own)

    assert await heard(conn) == Counter([("first", 0)])  # what the failing one wrote went with it
    found = await conn.execute("SELECT status::text, attempts, scheduled_at > now() FROM procrastinate_jobs")
    assert await found.fetchall() == [("todo", 1, True)]

    await conn.execute("UPDATE procrastinate_jobs SET scheduled_at = NULL")
    await queue.run_pending(own_database, own)
    assert await heard(conn) == Counter([("first", 0), ("stumbling", 0)])
    assert tried == [0, 0]


async def test_an_event_without_subscribers_is_removed_from_the_pending_list(
    own_database: Database, conn: Conn
) -> None:
    await publish(own_database, CHANGED, 2)

    assert await dispatch(own_database) == 2

    found = await conn.execute("SELECT count(*) FROM procrastinate_jobs")
    assert await found.fetchone() == (0,)
    found = await conn.execute("SELECT count(*) FROM kit_outbox")
    assert await found.fetchone() == (2,)


async def test_a_worker_that_does_not_know_a_subscriber_leaves_its_jobs_to_one_that_does(
    own: Settings, own_database: Database, conn: Conn
) -> None:
    listen(CHANGED, "first")
    await publish(own_database, CHANGED)
    await dispatch(own_database)
    dispatcher._subscribers[CHANGED.name].clear()  # as in a worker of the revision before, in a rolling deploy

    await queue.run_pending(own_database, own)
    assert await heard(conn) == Counter()

    listen(CHANGED, "first")
    await conn.execute("UPDATE procrastinate_jobs SET scheduled_at = NULL")
    await queue.run_pending(own_database, own)
    assert await heard(conn) == Counter([("first", 0)])


async def test_dispatching_continues_after_a_database_outage(
    own: Settings, own_database: Database, conn: Conn
) -> None:
    assert own.database_url is not None
    async with DatabaseProxy(own.database_url.get_secret_value()) as proxy:
        behind = Database(proxy.conninfo, own.model_copy(update={"pool_timeout_s": 0.2}))
        await behind.open()
        running = asyncio.create_task(dispatcher.run(behind))
        for _ in range(2):
            await publish(own_database, CHANGED)
            await wait_until_dispatched(conn)
            await proxy.shut()
            await publish(own_database, CHANGED)
            await proxy.open()
            await wait_until_dispatched(conn)
        assert not running.done()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        await behind.close()


async def test_dispatching_continues_while_the_queue_is_locked(
    own: Settings, own_database: Database, conn: Conn, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert own.database_url is not None
    listen(CHANGED, "first")
    delayed = asyncio.Event()

    class Log:
        def warning(self, *_: object, **__: object) -> None:
            delayed.set()

    monkeypatch.setattr(dispatcher, "_log", Log())
    behind = Database(own.database_url.get_secret_value(), own.model_copy(update={"lock_timeout_s": 0.05}))
    await behind.open()
    await publish(own_database, CHANGED)
    async with conn.transaction():
        await conn.execute("LOCK TABLE procrastinate_jobs IN ACCESS EXCLUSIVE MODE")
        running = asyncio.create_task(dispatcher.run(behind))
        await asyncio.wait([asyncio.create_task(delayed.wait()), running], return_when="FIRST_COMPLETED")
    assert not running.done()
    await wait_until_dispatched(conn)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    await behind.close()


async def wait_until_dispatched(conn: Conn) -> None:
    """Wait until no event is pending."""

    async def is_dispatched() -> bool:
        return await (await conn.execute("SELECT FROM kit_outbox_pending")).fetchone() is None

    await until(is_dispatched)
