"""A job for a subscriber that another release has waits for a worker of that release."""

from psycopg.types.json import Jsonb

from builders import worker
from builders.kit.db.connections import Conn, Database
from builders.kit.jobs import queue
from builders.kit.process.settings import Settings
from builders.kit.values import clock, ids
from tests.cast import Person

JOBS = worker.JOBS  # importing them declares jobs and subscribers
ENQUEUE = """
    INSERT INTO procrastinate_jobs (queue_name, task_name, args)
    VALUES ('default', 'kit.notify_subscriber', %s) RETURNING id
"""
FIND_JOB = "SELECT status::text, attempts FROM procrastinate_jobs WHERE id = %s"


async def test_a_job_for_an_unknown_subscriber_is_tried_again(
    alice: Person, conn: Conn, database: Database, settings: Settings
) -> None:
    arguments = {
        "subscriber": "things.newer",
        "account_id": str(alice.account.id),
        "event_id": str(ids.new()),
        "created_at": clock.now().isoformat(),
    }
    [(job_id,)] = await (await conn.execute(ENQUEUE, [Jsonb(arguments)])).fetchall()
    await queue.run_pending(database, settings)
    assert await (await conn.execute(FIND_JOB, [job_id])).fetchone() == ("todo", 1)
