"""The span of a statement has its name, and nothing of its text."""

import psycopg
import pytest

from builders.kit.db.connections import Database
from builders.kit.db.traced_statements import OTHER, name_of
from builders.kit.events import outbox
from builders.kit.jobs import workers
from builders.kit.process import traces
from builders.kit.process.settings import Settings
from builders.kit.values import clock
from tests.collector import collecting, tracing


async def test_a_statement_is_named_after_its_constant(settings: Settings, conninfo: str) -> None:
    with collecting() as collector, tracing(collector.url):
        database = Database(conninfo, settings)
        await database.open()
        async with database.connection() as conn:
            with traces.span("above"):
                await workers.list_lanes(conn, now=clock.now())
                with pytest.raises(psycopg.errors.UndefinedTable):
                    await conn.execute("SELECT hidden FROM hidden_table")
        await database.close()
    below = [(each.name, each.attributes) for each in collector.spans if each.parent_id]
    assert below == [("kit.jobs.workers.list_lanes", {}), (OTHER, {"error.type": "UndefinedTable"})]
    assert b"hidden" not in b"".join(collector.bodies)


async def test_a_connection_of_an_untraced_process_is_as_before(settings: Settings, conninfo: str) -> None:
    database = Database(conninfo, settings)
    await database.open()
    async with database.connection() as conn:
        kind = conn.cursor_factory
    await database.close()
    assert kind is psycopg.AsyncCursor


def test_a_constant_has_the_name_of_its_module() -> None:
    assert (name_of(outbox.INSERT), name_of("SELECT 2, 3")) == ("kit.events.outbox.INSERT", OTHER)
