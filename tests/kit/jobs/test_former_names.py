"""Jobs that were queued under a former name still run."""

import json
from typing import Any

import pytest
from psycopg.types.json import Jsonb

from builders import worker
from builders.kit.db.connections import Conn, Database
from builders.kit.events import dispatcher, outbox
from builders.kit.jobs import queue
from builders.kit.process.settings import Settings
from tests.cast import Person

JOBS = worker.JOBS  # importing them declares jobs and subscribers
ENQUEUE = """
    INSERT INTO procrastinate_jobs (queue_name, task_name, args) VALUES ('default', %s, %s) RETURNING id
"""
FIND_EVENT = "SELECT id, created_at FROM kit_outbox WHERE account_id = %s AND name = %s"
FIND_JOB = "SELECT status::text, attempts FROM procrastinate_jobs WHERE id = %s"


async def run(conn: Conn, database: Database, settings: Settings, task: str, **args: Any) -> Any:
    """Enqueue the job as a process of before did, run what waits, and return what is left of the job."""
    [(job_id,)] = await (await conn.execute(ENQUEUE, [task, Jsonb(args)])).fetchall()
    await queue.run_pending(database, settings)
    return await (await conn.execute(FIND_JOB, [job_id])).fetchone()


async def happen(conn: Conn, database: Database, person: Person, name: str) -> dict[str, Any]:
    """Let an event happen, which is not relayed; return what a job of a subscriber holds of it."""
    event = next(each for each in outbox.list_events() if each.name == name)
    async with database.transaction() as writing:
        await outbox.publish(writing, event, account_id=person.account.id, data=event.example)
    [*_, (event_id, at)] = await (await conn.execute(FIND_EVENT, [person.account.id, name])).fetchall()
    await conn.execute("DELETE FROM kit_outbox_pending WHERE id = %s", [event_id])
    return {"account_id": str(person.account.id), "event_id": str(event_id), "created_at": at.isoformat()}


@pytest.mark.parametrize("task", ["news.tell", "events.notify"])
@pytest.mark.parametrize("former", sorted(dispatcher.aliases()))
async def test_a_subscriber_is_found_by_its_former_name(
    alice: Person, conn: Conn, database: Database, settings: Settings, former: str, task: str
) -> None:
    name = min(dispatcher.subscribers()[dispatcher.aliases()[former]], default="alias.deleted")
    event = await happen(conn, database, alice, name)
    left = await run(conn, database, settings, task, subscriber=former, **event)
    assert left is None, left  # what succeeded is gone


@pytest.mark.parametrize("former", ["aliases.ask", "aliases.request_confirmation"])
async def test_a_job_runs_under_each_of_its_names(
    alice: Person, conn: Conn, database: Database, settings: Settings, former: str
) -> None:
    assert await run(conn, database, settings, former, account_id=str(alice.account.id)) is None


@pytest.mark.parametrize("former", ["aliases.ask_late", "aliases.request_late_confirmations"])
async def test_a_periodic_job_runs_under_each_of_its_names(
    conn: Conn, database: Database, settings: Settings, former: str
) -> None:
    assert await run(conn, database, settings, former, timestamp=0) is None


async def test_a_name_that_nobody_knows_waits_for_another_worker(
    alice: Person, conn: Conn, database: Database, settings: Settings
) -> None:
    event = await happen(conn, database, alice, "alias.created")
    left = await run(conn, database, settings, "news.tell", subscriber="things.newer", **event)
    assert left == ("todo", 1), json.dumps(left)
