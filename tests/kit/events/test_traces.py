"""The span that publishes an event is stored beside it, and its subscribers are linked to it."""

from collections.abc import AsyncIterator

import pytest
from structlog.contextvars import bound_contextvars

from builders.kit.db.connections import Conn, Database
from builders.kit.events import dispatcher, outbox
from builders.kit.events.dispatcher import PublishedEvent
from builders.kit.jobs import queue
from builders.kit.process import traces
from builders.kit.process.settings import Settings
from builders.kit.values import ids
from tests.collector import collecting, tracing
from tests.kit.events.test_outbox import CHANGED, Changed

pytestmark = pytest.mark.usefixtures("registers")


@pytest.fixture
async def conn(own_database: Database) -> AsyncIterator[Conn]:
    async with own_database.connection() as conn:
        await conn.execute("TRUNCATE kit_outbox, kit_outbox_pending")
        yield conn


async def publish(database: Database) -> None:
    async with database.transaction() as writing:
        await outbox.publish(writing, CHANGED, account_id=ids.new(), data=Changed())


async def test_a_subscriber_is_linked_to_the_span_that_published(
    own_database: Database, conn: Conn, own: Settings
) -> None:
    async def hear(_conn: Conn, _published: PublishedEvent) -> None:
        """Hear it."""

    dispatcher.subscribe(CHANGED.name, name="first")(hear)
    assert conn.autocommit
    with collecting() as collector, tracing(collector.url):
        with traces.span("request", "server"):
            await publish(own_database)
        async with own_database.transaction() as dispatching:
            await dispatcher.dispatch(dispatching)
        await queue.run_pending(own_database, own)
    (request,), (heard,) = collector.named("request"), collector.named("kit.notify_subscriber")
    assert heard.linked == [request.id]


async def test_without_a_collector_nothing_is_stored(own_database: Database, conn: Conn) -> None:
    with bound_contextvars(traceparent="00-of-a-client"):
        await publish(own_database)
    assert await (await conn.execute("SELECT traceparent FROM kit_outbox")).fetchall() == [(None,)]
