"""Periodic jobs of aliases."""

from datetime import timedelta

from builders.aliases import jobs as aliases_jobs, service as aliases
from builders.kit.db.connections import Conn, Database
from builders.kit.jobs import queue
from builders.kit.process.settings import Settings
from builders.kit.values import clock
from tests.aliases.make import Owner, fresh, registry, wanted


async def test_all_expired_reservations_are_deleted(database: Database, settings: Settings, conn: Conn) -> None:
    domain = fresh()
    many = aliases.PRUNE_BATCH + 200
    await Owner(database).reserve(*(wanted(f"crew{at:04}", domain) for at in range(many)))
    assert len(await registry(conn, domain)) == many
    clock.move(timedelta(hours=1))
    async with database.transaction() as own:
        await queue.defer(own, aliases_jobs.prune, timestamp=0)
    await queue.run_pending(database, settings)
    assert await registry(conn, domain) == {}
