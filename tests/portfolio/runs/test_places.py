"""A registrar that hangs leaves places for the jobs of others."""

import asyncio
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from builders.demo.registrars.fake import FakeServer
from builders.kit.jobs import queue
from builders.kit.process.settings import Settings
from builders.portfolio.registrars import parts
from builders.portfolio.runs.records import WorkKind
from builders.portfolio.runs.work import WORK, Places
from tests.cast import Person
from tests.portfolio.registrars.make import connect, database_of
from tests.portfolio.registrars.sync import fake_of, read, start, work

WAITING = "SELECT queueing_lock FROM procrastinate_jobs WHERE status = 'todo' AND scheduled_at > now()"


def test_places_are_given_back() -> None:
    taken = Places()
    for _ in range(2):
        blocks = [taken.take({"one": 8, "porkbun": 8}) for _ in range(8)]
        assert [each.__enter__() for each in blocks] == [True] * 8
        with (
            taken.take({"other": 8, "porkbun": 8}) as is_free,
            taken.take({"one": 8, "gandi": 8}) as also,
            taken.take({"x": 8}) as other,
        ):
            assert (is_free, also, other) == (False, False, True)
        for each in blocks:
            each.__exit__(None, None, None)
    assert not taken._taken


async def test_production_keeps_half_of_the_places(alice: Person, fakes: FakeServer) -> None:
    connection = await connect(alice, fake_of("porkbun", "a.com"), fakes)
    async with database_of(alice).connection() as conn:
        limits = await parts.list_places(conn, account_id=alice.account.id, subject_id=connection.id)
    assert limits[parts.STAND_INS] == queue.EXTERNAL_CONCURRENCY // 2


async def test_a_registrar_that_hangs_does_not_take_all_places(
    alice: Person, bob: Person, fakes: FakeServer, worker: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def list_places(*_: Any, **__: Any) -> dict[str, int]:
        return {"porkbun": 1}

    monkeypatch.setattr(queue, "_run_worker", partial(queue._run_worker, concurrency=2))
    for person in (alice, bob):
        await connect(person, fake_of("porkbun", "a.com"), fakes)
    runs = [await start(alice), await start(bob)]
    real, begun = WORK[WorkKind.SYNC], 0

    async def hanging(*arguments: Any, **options: Any) -> None:
        nonlocal begun
        begun += 1
        await asyncio.sleep(1)  # while the other job starts
        await real.do(*arguments, **options)

    monkeypatch.setitem(WORK, WorkKind.SYNC, replace(real, do=hanging, list_places=list_places))
    await work(alice, worker)
    states = [
        (await read(person, run))["providers"][0]["state"] for person, run in zip((alice, bob), runs, strict=True)
    ]
    assert (sorted(states), begun) == (["completed", "queued"], 1)
    [waiting] = [run for run, state in zip(runs, states, strict=True) if state == "queued"]
    async with database_of(alice).connection() as conn:
        [(lock,)] = await (await conn.execute(WAITING)).fetchall()
    assert waiting["providers"][0]["connection_id"] in lock
