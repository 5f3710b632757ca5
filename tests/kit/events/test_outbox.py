"""An event is stored exactly when its transaction commits."""

from collections.abc import AsyncIterator

import pytest
from pydantic import BaseModel
from structlog.contextvars import bound_contextvars

from builders.kit.db.connections import Conn, Database
from builders.kit.events import outbox
from builders.kit.events.outbox import Event
from builders.kit.values import clock, ids

pytestmark = pytest.mark.usefixtures("registers")


class Changed(BaseModel):
    """The data of an event."""

    zeta: str = "last first"
    alpha: int = 1


CHANGED = Event(name="thing.changed", version=3, description="Something was changed.", data=Changed)


async def kept(conn: Conn) -> list[tuple[str, int, str | None, str]]:
    """Return the events that are stored and pending."""
    found = await conn.execute(
        "SELECT name, version, request_id, data FROM kit_outbox JOIN kit_outbox_pending USING (id, created_at) "
        "ORDER BY id"
    )
    return await found.fetchall()


@pytest.fixture
async def conn(own_database: Database) -> AsyncIterator[Conn]:
    async with own_database.connection() as conn:
        await conn.execute("TRUNCATE kit_outbox, kit_outbox_pending")
        yield conn


async def test_a_committed_event_is_stored_and_pending(own_database: Database, conn: Conn) -> None:
    with bound_contextvars(request_id="request-1"):
        async with own_database.transaction() as writing:
            await outbox.publish(writing, CHANGED, account_id=ids.new(), data=Changed())
            assert await kept(conn) == []

    assert await kept(conn) == [("thing.changed", 3, "request-1", '{"zeta":"last first","alpha":1}')]


async def test_a_rolled_back_event_is_not_stored(own_database: Database, conn: Conn) -> None:
    async def fail() -> None:
        async with own_database.transaction() as writing:
            await outbox.publish(writing, CHANGED, account_id=ids.new(), data=Changed())
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await fail()

    assert await kept(conn) == []
    assert await (await conn.execute("SELECT * FROM kit_outbox")).fetchall() == []


async def test_many_events_are_published_in_their_order(own_database: Database, conn: Conn) -> None:
    accounts = [ids.new() for _ in range(3)]
    async with own_database.transaction() as writing:
        await outbox.publish_many(
            writing, CHANGED, [(account, Changed(alpha=n)) for n, account in enumerate(accounts)]
        )
        await outbox.publish_many(writing, CHANGED, [])

    assert [Changed.model_validate_json(data).alpha for *_, data in await kept(conn)] == [0, 1, 2]
    found = await conn.execute("SELECT account_id, created_at FROM kit_outbox ORDER BY id")
    rows = await found.fetchall()
    assert [account for account, _ in rows] == accounts
    assert all(abs((clock.now() - at).total_seconds()) < 60 for _, at in rows)


def test_a_name_is_declared_once() -> None:
    assert outbox.register(CHANGED) is outbox.register(CHANGED)
    with pytest.raises(ValueError, match=r"thing\.changed is declared twice"):
        outbox.register(Event(name="thing.changed", version=4, description="Another.", data=Changed))


def test_declared_events_are_listed_by_name() -> None:
    outbox.register(CHANGED)
    outbox.register(Event(name="a.first", version=1, description="First.", data=Changed, internal=True))
    names = [event.name for event in outbox.list_events()]
    assert names == sorted(names)
    assert {"a.first", "thing.changed"} <= set(names)
