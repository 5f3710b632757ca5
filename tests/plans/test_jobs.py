"""Jobs of the sandbox: abandoned promotions are continued, old plans deleted."""

from datetime import timedelta
from typing import Any

from procrastinate.tasks import Task

from builders.kit.db.connections import Conn, Database
from builders.kit.jobs import queue
from builders.kit.process.settings import Settings
from builders.kit.values import clock
from builders.plans import jobs as plans_jobs
from tests.cast import Person
from tests.conftest import MakePerson
from tests.plans.make import (
    PROMOTE,
    Json,
    alias,
    apply,
    list_events,
    plan,
    promote,
    promotion_request,
    start_promotion,
)

ABANDONED = timedelta(minutes=2, seconds=1)


async def work(database: Database, settings: Settings, task: Task[Any, Any, Any]) -> None:
    """Run a periodic task and the jobs that it enqueues."""
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
    await start_promotion(database, alice, planned)
    clock.move(ABANDONED)
    await work(database, settings, plans_jobs.resume)
    assert await read(alice, planned) == "promoted"
    assert [name for name, _ in await list_events(conn, alice)] == ["alias.created", "promotion.completed"]
    assert (await promote(alice, planned))["status"] == "succeeded"


async def test_a_promotion_continues_in_later_turns(
    alice: Person, database: Database, settings: Settings, conn: Conn, domain: str
) -> None:
    planned = await plan(alice, alias(f"ada@{domain}"))
    await start_promotion(database, alice, planned)
    clock.move(ABANDONED)
    await work(database, settings.model_copy(update={"worker_slice_s": 0.0}), plans_jobs.resume)
    assert await read(alice, planned) == "promoted"
    assert [name for name, _ in await list_events(conn, alice)] == ["alias.created", "promotion.completed"]


async def test_a_job_does_not_resume_a_recent_promotion(
    alice: Person, database: Database, settings: Settings, domain: str
) -> None:
    planned = await plan(alice, alias(f"ada@{domain}"))
    await start_promotion(database, alice, planned)
    await work(database, settings, plans_jobs.resume)
    assert await read(alice, planned) == "promoting"


async def test_a_failing_promotion_delays_no_other(
    alice: Person, bob: Person, database: Database, settings: Settings, conn: Conn, domain: str
) -> None:
    failing, sound = await plan(alice, alias(f"ada@{domain}")), await plan(bob, alias(f"grace@{domain}"))
    await start_promotion(database, alice, failing)
    await start_promotion(database, bob, sound)
    await conn.execute("UPDATE plans SET actions = '[]' WHERE id = %s", [failing["id"]])
    clock.move(ABANDONED)
    await work(database, settings, plans_jobs.resume)
    assert [await read(alice, failing), await read(bob, sound)] == ["promoting", "promoted"]
    await conn.execute("DELETE FROM procrastinate_jobs WHERE task_name = 'plans.finish'")  # the job to retry
    await conn.execute("UPDATE plans_promotions SET status = 'failed' WHERE plan_id = %s", [failing["id"]])


async def test_unpromoted_plans_are_deleted_after_a_month(
    people: MakePerson, database: Database, settings: Settings, domain: str
) -> None:
    carol = await people("carol")
    kept = await plan(carol, alias(f"ada@{domain}"))
    await promote(carol, kept)
    forgotten = await plan(carol, alias(f"grace@{domain}"))
    clock.move(timedelta(days=29))
    await work(database, settings, plans_jobs.prune)
    assert (await carol.get(f"/v1/sandbox/plans/{forgotten['id']}")).status_code == 200
    clock.move(timedelta(days=2))
    await work(database, settings, plans_jobs.prune)
    assert (await carol.get(f"/v1/sandbox/plans/{forgotten['id']}")).status_code == 404
    assert await read(carol, kept) == "promoted"
    await apply(carol, alias(f"grace@{domain}"))


async def test_a_promoted_plan_is_deleted_after_400_days(
    people: MakePerson, database: Database, settings: Settings, domain: str
) -> None:
    carol = await people("carol")
    planned = await plan(carol, alias(f"ada@{domain}"))
    await promote(carol, planned)
    clock.move(timedelta(days=399))
    await work(database, settings, plans_jobs.prune)
    assert await read(carol, planned) == "promoted"
    clock.move(timedelta(days=1, minutes=1))
    await work(database, settings, plans_jobs.prune)
    assert (await carol.get(f"/v1/sandbox/plans/{planned['id']}")).status_code == 404
    assert (await carol.post(PROMOTE, json=promotion_request(planned))).status_code == 404


async def test_a_plan_whose_promotion_runs_is_never_deleted(
    people: MakePerson, database: Database, settings: Settings, domain: str
) -> None:
    carol = await people("carol")
    planned = await plan(carol, alias(f"ada@{domain}"))
    await start_promotion(database, carol, planned)
    clock.move(timedelta(days=500))
    await work(database, settings, plans_jobs.prune)
    assert await read(carol, planned) == "promoting"
