"""Counts, states and times of runs, their jobs, and which of them are listed and deleted."""

import asyncio
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import psycopg
import pytest

from builders.kit.db import old_rows
from builders.kit.db.connections import Conn, Database
from builders.kit.jobs import queue
from builders.kit.process.settings import Settings
from builders.kit.values import clock, ids
from builders.portfolio.runs import runs
from builders.portfolio.runs.records import NewPart, Part, PartError, PartState, Run, RunState, WorkKind
from builders.portfolio.runs.work import MAX_ATTEMPTS, WORK, PartTools, Work
from tests.cast import Person
from tests.portfolio.runs.make import (
    IMPORT,
    SYNC,
    Killed,
    abandon,
    claim,
    claimed,
    count_jobs,
    do_part,
    finish,
    get,
    imported,
    start,
)

JOB = "SELECT queue_name, scheduled_at FROM procrastinate_jobs WHERE args ->> 'subject_id' = %s"


async def count_open(database: Database, owner: Person, *kinds: WorkKind) -> int:
    async with database.connection() as conn:
        return await runs.count_open(conn, account_id=owner.account.id, kinds=kinds)


async def sum_rows(conn: Conn, owner: Person, *, days: int = 1, unknown: int = 100) -> int:
    return await runs.sum_counts(
        conn,
        account_id=owner.account.id,
        kind=IMPORT,
        name="rows_done",
        period=timedelta(days=days),
        unknown=unknown,
    )


async def test_a_claimed_part_makes_its_run_running(alice: Person, database: Database) -> None:
    run = await start(database, alice, ids.new(), ids.new())
    await claim(database, alice, run.parts[0].subject_id)
    states = sorted(each.state for each in (await get(database, alice, run)).parts)
    assert (run.state, (await get(database, alice, run)).state) == (RunState.QUEUED, RunState.RUNNING)
    assert states == [PartState.QUEUED, PartState.RUNNING]


async def test_a_run_goes_on_until_its_last_part_has_ended(alice: Person, database: Database) -> None:
    run = await start(database, alice, ids.new(), ids.new())
    part = await claim(database, alice, run.parts[0].subject_id)
    assert part is not None
    async with database.transaction() as conn:
        assert await finish(conn, part) is None
    assert (await get(database, alice, run)).finished_at is None


async def test_a_part_that_is_claimed_again_keeps_the_time_of_its_start(alice: Person, database: Database) -> None:
    first = await claimed(database, alice)
    clock.move(timedelta(minutes=5))
    again = await claim(database, alice, first.subject_id)
    assert again is not None
    assert (again.started_at, again.attempts) == (first.started_at, 2)


async def test_a_failed_part_says_why(alice: Person, database: Database) -> None:
    error = PartError(
        code="provider_rate_limited", message="Too many requests.", hint="Wait.", retry_at=clock.now(), field="x"
    )
    part = await claimed(database, alice)
    async with database.transaction() as conn:
        run = await runs.finish_part(conn, part=part, state=PartState.FAILED, error=error)
    assert run is not None
    assert run.parts[0].error == error


async def test_a_killed_worker_counts_only_what_it_committed(
    alice: Person, database: Database, tools: PartTools
) -> None:
    run = await start(database, alice, ids.new())

    async def do(tools: PartTools, part: Part) -> None:
        async with tools.database.transaction() as conn:
            part = await runs.advance_part(conn, part=part, counts={"steps": 1})
        async with tools.database.transaction() as conn:
            await runs.advance_part(conn, part=part, counts={"steps": 1})
            raise Killed

    with pytest.raises(Killed):
        await do_part(tools, run.parts[0], do)
    [part] = (await get(database, alice, run)).parts
    assert part.counts == {"steps": 1}


async def test_a_part_whose_workers_are_killed_is_abandoned(
    alice: Person, database: Database, tools: PartTools
) -> None:
    run = await start(database, alice, ids.new())

    async def do(_: PartTools, __: Part) -> None:
        raise Killed

    for _ in range(MAX_ATTEMPTS):
        with pytest.raises(Killed):
            await do_part(tools, run.parts[0], do)
    await do_part(tools, run.parts[0], do)
    assert (await get(database, alice, run)).state is RunState.FAILED


async def test_counts_of_several_names_are_added(alice: Person, database: Database) -> None:
    part = await claimed(database, alice)
    async with database.transaction() as conn:
        for counts in ({"new": 2}, {"new": 1, "gone": 4}, {}):
            part = await runs.advance_part(conn, part=part, counts=counts)
    assert part.counts == {"new": 3, "gone": 4}


async def test_a_part_that_has_ended_counts_nothing_more(alice: Person, database: Database) -> None:
    part = await claimed(database, alice)
    async with database.transaction() as conn:
        await finish(conn, part)
        with pytest.raises(runs.PartLost):
            await runs.advance_part(conn, part=part, counts={"new": 1})


async def test_the_time_slices_of_a_part_follow_each_other(
    alice: Person, database: Database, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    slices = list[int]()

    async def do(tools: PartTools, part: Part) -> None:
        slices.append(part.counts.get("slices", 0))
        async with tools.database.transaction() as conn:
            part = await runs.advance_part(conn, part=part, counts={"slices": 1})
            if len(slices) == 3:
                await finish(conn, part)

    monkeypatch.setitem(WORK, IMPORT, Work(do=do, abandon=abandon))
    run = await start(database, alice, alice.account.id, kind=IMPORT)
    await queue.run_pending(database, settings)
    assert ((await get(database, alice, run)).state, slices) == (RunState.COMPLETED, [0, 1, 2])


@pytest.mark.parametrize(
    ("kind", "lane"),
    [(IMPORT, queue.LONG), (WorkKind.UNDO, queue.LONG), (SYNC, queue.EXTERNAL), (WorkKind.PUSH, queue.EXTERNAL)],
)
async def test_work_that_asks_others_has_its_own_lane(
    alice: Person, database: Database, kind: WorkKind, lane: str
) -> None:
    subject = ids.new()
    await start(database, alice, subject, kind=kind)
    async with database.connection() as conn:
        [(name, _)] = await (await conn.execute(JOB, [str(subject)])).fetchall()
    assert name == lane


async def test_a_job_starts_after_the_delay_of_its_run(alice: Person, database: Database) -> None:
    subject = ids.new()
    async with database.transaction() as conn:
        await runs.start_run(
            conn,
            account_id=alice.account.id,
            kind=SYNC,
            parts=[NewPart(subject_id=subject)],
            options={},
            created_by=None,
            delay=timedelta(minutes=3),
        )
        [(_, scheduled_at)] = await (await conn.execute(JOB, [str(subject)])).fetchall()
    assert timedelta(minutes=2) < scheduled_at - clock.now() <= timedelta(minutes=3)


async def test_a_part_that_the_request_does_has_no_job(alice: Person, database: Database) -> None:
    subject = ids.new()
    run = await start(database, alice, subject, state=PartState.RUNNING)
    assert (run.parts[0].claim is not None, await count_jobs(database, subject)) == (True, 0)


@pytest.mark.parametrize(
    ("options", "is_dry"), [({"dry_run": True}, True), ({"dry_run": False}, False), ({}, False)]
)
async def test_a_run_knows_whether_it_only_reports(
    alice: Person, database: Database, options: Mapping[str, Any], is_dry: bool
) -> None:
    async with database.transaction() as conn:
        run = await runs.start_run(
            conn, account_id=alice.account.id, kind=SYNC, parts=[], options=options, created_by=None
        )
    assert run.dry_run is is_dry


async def test_a_run_that_has_ended_is_not_waited_for(alice: Person, database: Database) -> None:
    run = await start(database, alice, ids.new(), state=PartState.UNSUPPORTED)
    async with asyncio.timeout(20):
        ended = await runs.wait_for_run(database, run=run, timeout_s=60)
    assert ended.state is RunState.COMPLETED


async def test_a_run_is_returned_as_it_is_after_the_time(alice: Person, database: Database) -> None:
    run = await start(database, alice, ids.new())
    assert (await runs.wait_for_run(database, run=run, timeout_s=0)).state is RunState.QUEUED


async def test_open_parts_are_counted_by_kind(alice: Person, database: Database) -> None:
    await claimed(database, alice)
    await start(database, alice, ids.new(), kind=WorkKind.BILLING)
    assert [
        await count_open(database, alice, *kinds) for kinds in ([SYNC], [SYNC, WorkKind.BILLING], [IMPORT])
    ] == [1, 2, 0]


async def test_parts_that_have_ended_are_not_counted(alice: Person, database: Database) -> None:
    await imported(database, alice, rows=1)
    assert await count_open(database, alice, IMPORT) == 0


async def test_the_runs_of_others_are_not_counted(alice: Person, bob: Person, database: Database) -> None:
    await claimed(database, alice)
    assert await count_open(database, bob, SYNC) == 0


async def test_a_count_is_summed_over_the_runs_of_a_period(alice: Person, database: Database) -> None:
    for rows in (5, 7):
        await imported(database, alice, rows=rows)
    async with database.connection() as conn:
        assert await sum_rows(conn, alice) == 12


async def test_a_run_before_the_period_is_not_summed(alice: Person, database: Database) -> None:
    await imported(database, alice, rows=5)
    clock.move(timedelta(days=2))
    async with database.connection() as conn:
        assert (await sum_rows(conn, alice, days=1), await sum_rows(conn, alice, days=3)) == (0, 5)


async def test_an_open_part_without_the_count_is_summed_as_unknown(alice: Person, database: Database) -> None:
    await start(database, alice, alice.account.id, kind=IMPORT)
    async with database.connection() as conn:
        assert await sum_rows(conn, alice, unknown=100) == 100


async def test_starts_that_count_each_other_wait(alice: Person, database: Database) -> None:
    target: dict[str, Any] = {"account_id": alice.account.id, "kind": IMPORT}
    async with database.transaction() as first:
        await runs.lock_starts(first, **target)
        async with database.transaction() as second:
            await second.execute("SET LOCAL lock_timeout = '50ms'")
            with pytest.raises(psycopg.errors.LockNotAvailable):
                async with second.transaction():
                    await runs.lock_starts(second, **target)
            await runs.lock_starts(second, account_id=alice.account.id, kind=SYNC)  # another kind


async def test_the_earlier_part_is_the_last_of_the_subject_that_ended(alice: Person, database: Database) -> None:
    earlier = await claimed(database, alice)
    async with database.transaction() as conn:
        await finish(conn, earlier, PartState.FAILED)
    clock.move(timedelta(minutes=1))
    run = await start(database, alice, earlier.subject_id)
    async with database.connection() as conn:
        before = await runs.find_earlier_part(conn, part=run.parts[0])
    assert before is not None
    assert before.run_id == earlier.run_id


async def test_a_first_part_has_no_earlier_one(alice: Person, database: Database) -> None:
    other = await claimed(database, alice)  # another subject
    async with database.transaction() as conn:
        await finish(conn, other)
    clock.move(timedelta(minutes=1))
    part = await claimed(database, alice)
    async with database.connection() as conn:
        assert await runs.find_earlier_part(conn, part=part) is None


async def test_runs_are_listed_from_the_newest_by_pages(alice: Person, database: Database) -> None:
    made: list[Run] = [await start(database, alice, ids.new()) for _ in range(3)]
    page: dict[str, Any] = {"account_id": alice.account.id, "kind": SYNC, "limit": 2}
    async with database.connection() as conn:
        first = await runs.list_runs(conn, **page, before=ids.new())
        rest = await runs.list_runs(conn, **page, before=first[-1].id)
    assert [each.id for each in (*first, *rest)] == [each.id for each in reversed(made)]


async def test_a_run_of_another_kind_is_not_found(alice: Person, database: Database) -> None:
    run = await start(database, alice, ids.new())
    async with database.connection() as conn:
        assert await runs.find_run(conn, account_id=alice.account.id, run_id=run.id, kinds=[IMPORT]) is None


async def test_a_young_run_is_not_deleted(alice: Person, database: Database) -> None:
    run = await start(database, alice, ids.new())
    clock.move(timedelta(days=89))
    await old_rows.delete(database, "portfolio_runs")
    assert (await get(database, alice, run)).id == run.id


async def test_old_runs_are_deleted_in_batches(alice: Person, database: Database) -> None:
    made = [
        await start(database, alice, ids.new(), kind=WorkKind.PUSH, state=PartState.UNSUPPORTED)
        for _ in range(runs.PRUNED + 1)
    ]
    clock.move(timedelta(days=91))
    await old_rows.delete(database, "portfolio_runs")
    with pytest.raises(LookupError):
        await get(database, alice, made[0])
    with pytest.raises(LookupError):
        await get(database, alice, made[-1])
