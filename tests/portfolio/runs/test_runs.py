"""The engine of long work: claims, workers that are killed, attempts, retries and what is kept."""

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from builders.kit.db import old_rows
from builders.kit.db.connections import Database
from builders.kit.values import clock, ids
from builders.portfolio.runs import runs, work
from builders.portfolio.runs.records import (
    MAX_DETAILS,
    Part,
    PartState,
    Run,
    RunState,
    WorkKind,
)
from builders.portfolio.runs.work import PartTools
from tests.cast import Person
from tests.portfolio.runs.make import (
    FORGET,
    IMPORT,
    SYNC,
    Do,
    Killed,
    claim,
    claimed,
    count_jobs,
    do_part,
    finish,
    get,
    imported,
    start,
)


def counting(kills: int = 0, steps: int = 3) -> tuple[Do, list[int]]:
    """Return work that commits steps and is killed after each of the first ones, and the steps that it did."""
    done = list[int]()

    async def do(tools: PartTools, part: Part) -> None:
        for step in range(part.counts.get("steps", 0), steps):
            done.append(step)
            async with tools.database.transaction() as conn:
                part = await runs.advance_part(conn, part=part, counts={"steps": 1})
            if len(done) <= kills:
                raise Killed
        async with tools.database.transaction() as conn:
            await finish(conn, part)

    return do, done


async def test_a_part_is_done_by_one_of_two_workers(alice: Person, database: Database, tools: PartTools) -> None:
    run = await start(database, alice, ids.new())
    begun, both = list[Part](), asyncio.Event()

    async def do(_: PartTools, part: Part) -> None:
        begun.append(part)
        if len(begun) == 2:
            both.set()
        await both.wait()  # each has claimed the part
        async with database.transaction() as conn:
            await finish(conn, part)

    await asyncio.gather(*(do_part(tools, run.parts[0], do) for _ in range(2)))
    [part] = (await get(database, alice, run)).parts
    assert part.state == PartState.COMPLETED
    assert part.claim in {each.claim for each in begun}


async def test_a_claim_that_another_worker_took_writes_nothing(alice: Person, database: Database) -> None:
    lost = await claimed(database, alice)
    assert await claim(database, alice, lost.subject_id)
    async with database.transaction() as conn:
        with pytest.raises(runs.PartLost):
            await runs.advance_part(conn, part=lost, counts={"seen": 1})


async def test_a_claim_that_another_worker_took_ends_nothing(alice: Person, database: Database) -> None:
    lost = await claimed(database, alice)
    assert await claim(database, alice, lost.subject_id)
    async with database.transaction() as conn:
        with pytest.raises(runs.PartLost):
            await finish(conn, lost)


async def test_a_new_claim_leaves_a_part_to_its_worker(alice: Person, database: Database) -> None:
    part = await claimed(database, alice)
    async with database.transaction() as conn:
        again = await runs.claim_part(
            conn, account_id=part.account_id, kind=SYNC, subject_id=part.subject_id, is_new=True
        )
    assert again is None


async def test_a_second_run_over_the_same_subject_is_the_first_one(alice: Person, database: Database) -> None:
    subject = ids.new()
    first = await start(database, alice, subject)
    assert (await start(database, alice, subject)).id == first.id


async def test_two_runs_that_start_at_once_are_one(alice: Person, database: Database) -> None:
    subject = ids.new()
    first, second = await asyncio.gather(*(start(database, alice, subject) for _ in range(2)))
    assert first.id == second.id


async def test_a_run_skips_the_subjects_of_another_one(alice: Person, database: Database) -> None:
    subject, other = ids.new(), ids.new()
    first = await start(database, alice, subject)
    parts = {each.subject_id: each for each in (await start(database, alice, subject, other)).parts}
    assert (parts[other].state, parts[subject].state) == (PartState.QUEUED, PartState.SKIPPED)
    error = parts[subject].error
    assert error is not None
    assert (error.code, error.run_id) == ("sync_running", first.id)


async def test_runs_of_two_kinds_share_a_subject(alice: Person, database: Database) -> None:
    subject = ids.new()
    first = await start(database, alice, subject)
    second = await start(database, alice, subject, kind=WorkKind.BILLING)
    assert (first.id != second.id, second.parts[0].state) == (True, PartState.QUEUED)


async def test_imports_of_a_portfolio_wait_for_each_other(
    alice: Person, database: Database, tools: PartTools
) -> None:
    first, second = [await start(database, alice, alice.account.id, kind=IMPORT) for _ in range(2)]
    do, _ = counting()
    assert await do_part(tools, first.parts[0], do, IMPORT)  # the second one is open
    states = [(await get(database, alice, each)).state for each in (first, second)]
    assert states == [RunState.COMPLETED, RunState.QUEUED]


async def test_the_part_of_a_killed_worker_continues_where_it_was(
    alice: Person, database: Database, tools: PartTools
) -> None:
    run = await start(database, alice, ids.new())
    do, done = counting(kills=1)
    with pytest.raises(Killed):
        await do_part(tools, run.parts[0], do)
    assert not await do_part(tools, run.parts[0], do)
    [part] = (await get(database, alice, run)).parts
    assert (part.state, part.counts, done) == (PartState.COMPLETED, {"steps": 3}, [0, 1, 2])


async def fail_often(tools: PartTools, part: Part, times: int) -> None:
    async def do(_: PartTools, __: Part) -> None:
        raise RuntimeError

    for _ in range(times):
        with pytest.raises(RuntimeError):
            await do_part(tools, part, do)


async def test_a_part_is_abandoned_after_its_attempts(alice: Person, database: Database, tools: PartTools) -> None:
    run = await start(database, alice, ids.new())
    await fail_often(tools, run.parts[0], work.MAX_ATTEMPTS)
    do, done = counting()
    await do_part(tools, run.parts[0], do)
    ended = await get(database, alice, run)
    error = ended.parts[0].error
    assert error is not None
    assert (ended.state, error.code, done) == (RunState.FAILED, "failed", [])


async def test_an_attempt_that_ends_regularly_counts_no_failure(
    alice: Person, database: Database, tools: PartTools
) -> None:
    run = await start(database, alice, ids.new())
    await fail_often(tools, run.parts[0], work.MAX_ATTEMPTS - 1)

    async def pause(_: PartTools, __: Part) -> None:
        """End the time slice."""

    assert await do_part(tools, run.parts[0], pause)
    [part] = (await get(database, alice, run)).parts
    assert (part.state, part.attempts) == (PartState.RUNNING, 0)


async def test_a_repeated_job_does_nothing(alice: Person, database: Database, tools: PartTools) -> None:
    run = await start(database, alice, ids.new())
    do, done = counting()
    await do_part(tools, run.parts[0], do)
    assert not await do_part(tools, run.parts[0], do)
    assert done == [0, 1, 2]


async def test_a_restarted_part_keeps_only_the_named_counts(alice: Person, database: Database) -> None:
    part = await claimed(database, alice)
    async with database.transaction() as conn:
        part = await runs.advance_part(conn, part=part, counts={"new": 2, "seen": 5})
        part = await runs.restart_part(conn, part=part, kept=["new"])
    assert {name: count for name, count in part.counts.items() if count} == {"new": 2}


async def test_a_part_keeps_the_first_details(alice: Person, database: Database) -> None:
    part = await claimed(database, alice)
    async with database.transaction() as conn:
        for first in (0, MAX_DETAILS - 1):
            details = [{"at": first + at} for at in range(MAX_DETAILS - 1)]
            part = await runs.advance_part(conn, part=part, counts={}, details=details)
    assert [each["at"] for each in part.details] == list(range(MAX_DETAILS))


@pytest.mark.parametrize(
    ("states", "result"),
    [
        ([PartState.COMPLETED, PartState.FAILED], RunState.COMPLETED),
        ([PartState.FAILED, PartState.FAILED], RunState.FAILED),
    ],
)
async def test_a_run_fails_when_every_part_failed(
    alice: Person, database: Database, states: Sequence[PartState], result: RunState
) -> None:
    run = await start(database, alice, ids.new(), ids.new())
    ended = None
    for each, state in zip(run.parts, states, strict=True):
        part = await claim(database, alice, each.subject_id)
        assert part is not None
        async with database.transaction() as conn:
            ended = await finish(conn, part, state)
    assert ended is not None
    assert ended.state is result


async def test_a_run_without_a_part_to_do_has_ended(alice: Person, database: Database) -> None:
    run = await start(database, alice, ids.new(), state=PartState.UNSUPPORTED)
    assert (run.state, run.finished_at is not None) == (RunState.COMPLETED, True)


async def test_a_lost_job_is_enqueued_again(alice: Person, database: Database) -> None:
    subject = ids.new()
    await start(database, alice, subject)
    async with database.transaction() as conn:
        await conn.execute(FORGET, [str(subject)])
        clock.move(runs.IDLE + timedelta(seconds=1))
        await runs.resume_parts(conn)
    assert await count_jobs(database, subject) == 1


async def test_a_part_with_progress_is_not_enqueued_again(alice: Person, database: Database) -> None:
    subject = ids.new()
    await start(database, alice, subject)
    async with database.transaction() as conn:
        await conn.execute(FORGET, [str(subject)])
        await runs.resume_parts(conn)
    assert await count_jobs(database, subject) == 0


async def test_a_subject_has_one_waiting_job(alice: Person, database: Database) -> None:
    subject = ids.new()
    await start(database, alice, subject)
    async with database.transaction() as conn:
        await runs.enqueue(conn, account_id=alice.account.id, kind=SYNC, subject_id=subject)
    assert await count_jobs(database, subject) == 1


async def test_old_runs_are_deleted(alice: Person, database: Database) -> None:
    run = await start(database, alice, ids.new())
    clock.move(timedelta(days=91))
    await old_rows.delete(database, "portfolio_runs")
    with pytest.raises(LookupError):
        await get(database, alice, run)


async def test_of_large_imports_the_newest_stay(alice: Person, database: Database) -> None:
    old, new = [await imported(database, alice, rows=60) for _ in range(2)]
    clock.move(timedelta(days=2))
    prune = partial(runs.prune_oldest, kind=IMPORT, name="rows_done", most=100, kept=timedelta(days=1))
    async with database.transaction() as conn:
        while await prune(conn):
            pass
        found = await runs.list_runs(conn, account_id=alice.account.id, kind=IMPORT, before=ids.new(), limit=9)
    assert ([each.id for each in found], old.id in {each.id for each in found}) == ([new.id], False)


async def test_an_import_that_can_be_undone_stays(alice: Person, database: Database) -> None:
    kept = [await imported(database, alice, rows=60) for _ in range(2)]
    prune = partial(runs.prune_oldest, kind=IMPORT, name="rows_done", most=100, kept=timedelta(days=1))
    async with database.transaction() as conn:
        while await prune(conn):
            pass
    assert [(await get(database, alice, each)).id for each in kept] == [each.id for each in kept]


async def undo(database: Database, run: Run) -> Part:
    async with database.transaction() as conn:
        return await runs.add_part(
            conn,
            account_id=run.account_id,
            run_id=run.id,
            kind=WorkKind.UNDO,
            subject_id=run.account_id,
            state=PartState.RUNNING,
        )


async def test_an_undo_is_added_once(alice: Person, database: Database) -> None:
    run = await imported(database, alice, rows=1)
    await undo(database, run)
    with pytest.raises(runs.PartLost):
        await undo(database, run)


async def test_a_failed_undo_is_opened_again_with_its_counts(alice: Person, database: Database) -> None:
    run = await imported(database, alice, rows=1)
    part = await undo(database, run)
    async with database.transaction() as conn:
        part = await runs.advance_part(conn, part=part, counts={"rows": 7})
        await finish(conn, part, PartState.FAILED)
    again = await undo(database, run)
    assert (again.state, again.counts, again.error) == (PartState.RUNNING, {"rows": 7}, None)


async def test_bob_sees_nothing_of_the_runs_of_alice(alice: Person, bob: Person, database: Database) -> None:
    run = await start(database, alice, ids.new())
    async with database.connection() as conn:
        target: dict[str, Any] = {"account_id": bob.account.id}
        assert await runs.find_run(conn, **target, run_id=run.id, kinds=tuple(WorkKind)) is None
        assert await runs.list_runs(conn, **target, kind=SYNC, before=ids.new(), limit=9) == []


async def test_bob_claims_nothing_of_the_runs_of_alice(alice: Person, bob: Person, database: Database) -> None:
    subject = ids.new()
    await start(database, alice, subject)
    assert await claim(database, bob, subject) is None
