"""A registrar that hangs leaves places for the jobs of others."""

import asyncio
from functools import partial
from typing import Any

import pytest

from builders.demo.registrars.fake import FakeServer
from builders.kit.jobs import queue
from builders.kit.process.settings import Settings
from builders.portfolio.registrars import places, syncing
from builders.portfolio.registrars.places import Places
from tests.cast import Person
from tests.portfolio.registrars.make import connect, database_of
from tests.portfolio.registrars.sync import fake_of, read, start, work

WAITING = "SELECT queueing_lock FROM procrastinate_jobs WHERE status = 'todo' AND scheduled_at > now()"


def test_places_are_given_back() -> None:
    taken = Places()
    for _ in range(2):
        blocks = [taken.take("one", "porkbun") for _ in range(places.PLACES)]
        assert [each.__enter__() for each in blocks] == [True] * places.PLACES
        with (
            taken.take("other", "porkbun") as is_free,
            taken.take("one", "gandi") as also,
            taken.take("x") as other,
        ):
            assert (is_free, also, other) == (False, False, True)
        for each in blocks:
            each.__exit__(None, None, None)
    assert not taken._taken


def test_production_keeps_half_of_the_places() -> None:
    taken = Places()
    blocks = [taken.take(f"account {number}", places.STAND_INS) for number in range(places.STAND_IN_PLACES)]
    assert [each.__enter__() for each in blocks] == [True] * (queue.EXTERNAL_CONCURRENCY // 2)
    with taken.take("other", places.STAND_INS) as is_free, taken.take("other", "porkbun") as also:
        assert (is_free, also) == (False, True)
    for each in blocks:
        each.__exit__(None, None, None)


async def test_a_registrar_that_hangs_does_not_take_all_places(
    alice: Person, bob: Person, fakes: FakeServer, worker: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(places, "Places", partial(Places, 1))
    monkeypatch.setattr(queue, "_run_worker", partial(queue._run_worker, concurrency=2))
    for person in (alice, bob):
        await connect(person, fake_of("porkbun", "a.com"), fakes)
    runs = [await start(alice), await start(bob)]
    real, begun = syncing.sync_part, 0

    async def hanging(*arguments: Any, **options: Any) -> None:
        nonlocal begun
        begun += 1
        await asyncio.sleep(1)  # while the other job starts
        await real(*arguments, **options)

    monkeypatch.setattr(syncing, "sync_part", hanging)
    await work(alice, worker)
    states = [
        (await read(person, run))["providers"][0]["state"] for person, run in zip((alice, bob), runs, strict=True)
    ]
    assert (sorted(states), begun) == (["completed", "queued"], 1)
    [waiting] = [run for run, state in zip(runs, states, strict=True) if state == "queued"]
    async with database_of(alice).connection() as conn:
        [(lock,)] = await (await conn.execute(WAITING)).fetchall()
    assert waiting["run_id"] in lock
