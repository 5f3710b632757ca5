"""What the sandbox does by itself: promotions whose process died are finished, old plans forgotten."""

from datetime import timedelta
from typing import Any

from procrastinate.tasks import Task

from builders.kit.db.connections import Conn, Database
from builders.kit.jobs import queue
from builders.kit.process.settings import Settings
from builders.kit.values import clock
from builders.sandbox import jobs as sandbox_jobs
from tests.cast import Person
from tests.conftest import MakePerson
from tests.sandbox.make import Json, alias, apply, begin, events, plan, promote

ABANDONED = timedelta(minutes=2, seconds=1)


async def work(database: Database, settings: Settings, task: Task[Any, Any, Any]) -> None:
    """Runs a periodic task and whatever it enqueues, as a worker would."""
    async with database.transaction() as conn:
        await queue.defer(conn, task, timestamp=0)
    await queue.run_pending(database, settings)


async def read(person: Person, planned: Json) -> str:
    status: str = (await person.get(f"/v1/sandbox/plans/{planned['id']}")).json()["status"]
    return status


async def test_an_abandoned_promotion_is_finished(
    alice: Person, database: Database, settings: Settings, conn: Conn, domain: str
) -> None:
    planned = await plan(alice, alias(f"ada@{domain}"))
    await begin(database, alice, planned)
    clock.move(ABANDONED)
    await work(database, settings, sandbox_jobs.resume)
    assert await read(alice, planned) == "promoted"
    assert [name for name, _ in await events(conn, alice)] == ["alias.created", "promotion.completed"]
    assert (await promote(alice, planned))["status"] == "succeeded"


async def test_a_promotion_that_was_just_begun_is_left_to_its_process(
    alice: Person, database: Database, settings: Settings, domain: str
) -> None:
    planned = await plan(alice, alias(f"ada@{domain}"))
    await begin(database, alice, planned)
    await work(database, settings, sandbox_jobs.resume)
    assert await read(alice, planned) == "promoting"


async def test_one_that_cannot_be_finished_holds_up_no_other(
    alice: Person, bob: Person, database: Database, settings: Settings, conn: Conn, domain: str
) -> None:
    broken, sound = await plan(alice, alias(f"ada@{domain}")), await plan(bob, alias(f"grace@{domain}"))
    await begin(database, alice, broken)
    await begin(database, bob, sound)
    await conn.execute("UPDATE sandbox_plans SET actions = '[]' WHERE id = %s", [broken["id"]])
    clock.move(ABANDONED)
    await work(database, settings, sandbox_jobs.resume)
    assert [await read(alice, broken), await read(bob, sound)] == ["promoting", "promoted"]
    await conn.execute(
        "DELETE FROM procrastinate_jobs WHERE task_name = 'sandbox.finish'"
    )  # the one to be retried
    await conn.execute("UPDATE sandbox_promotions SET status = 'failed' WHERE plan_id = %s", [broken["id"]])


async def test_plans_that_were_never_promoted_are_forgotten_after_a_month(
    people: MakePerson, database: Database, settings: Settings, domain: str
) -> None:
    carol = await people("carol")
    kept = await plan(carol, alias(f"ada@{domain}"))
    await promote(carol, kept)
    forgotten = await plan(carol, alias(f"grace@{domain}"))
    clock.move(timedelta(days=29))
    await work(database, settings, sandbox_jobs.prune)
    assert (await carol.get(f"/v1/sandbox/plans/{forgotten['id']}")).status_code == 200
    clock.move(timedelta(days=2))
    await work(database, settings, sandbox_jobs.prune)
    assert (await carol.get(f"/v1/sandbox/plans/{forgotten['id']}")).status_code == 404
    assert await read(carol, kept) == "promoted"
    await apply(carol, alias(f"grace@{domain}"))
