"""Imports whose job is lost."""

from datetime import timedelta

import pytest

from builders.kit.db.connections import Conn, Database
from builders.kit.jobs import queue
from builders.kit.process.settings import Settings
from builders.kit.values import clock
from builders.portfolio.runs import runs
from tests.cast import Person
from tests.portfolio.imports.make import IMPORTS, Json, load, ok

pytestmark = pytest.mark.usefixtures("tenth")
CONTENT = "domain\n" + "".join(f"harbour-{at}.com\n" for at in range(210))
FORGET = "DELETE FROM procrastinate_jobs WHERE task_name = 'portfolio.run_part' AND args ->> 'account_id' = %s"


async def state(alice: Person, imported: Json) -> str:
    return str(ok(await alice.get(f"{IMPORTS}/{imported['import_id']}"))["state"])


async def test_an_import_whose_job_is_lost_is_enqueued_again(
    alice: Person, conn: Conn, database: Database, settings: Settings
) -> None:
    imported = await load(alice, CONTENT)
    await conn.execute(FORGET, [str(alice.account.id)])
    await queue.run_pending(database, settings)
    assert await state(alice, imported) == "queued"
    async with database.transaction() as transaction:
        clock.move(runs.IDLE + timedelta(minutes=1))
        await runs.resume_parts(transaction)
    await queue.run_pending(database, settings)
    assert await state(alice, imported) == "completed"


async def test_a_later_import_enqueues_the_one_before_it_that_lost_its_job(
    alice: Person, conn: Conn, database: Database, settings: Settings
) -> None:
    lost = await load(alice, CONTENT)
    await conn.execute(FORGET, [str(alice.account.id)])
    later = await load(alice, CONTENT)
    await queue.run_pending(database, settings)
    assert [await state(alice, each) for each in (lost, later)] == ["completed", "completed"]
