"""Many simulations of one account at once, and what others notice of them."""

import asyncio
import contextlib
from typing import Any

import pytest

from builders.app import Service
from builders.sandbox.store import promotions
from tests.cast import Person
from tests.sandbox.make import Domains, alias, manifest
from tests.sandbox.simulating import ask


async def test_who_waits_for_a_rehearsal_keeps_no_connection(
    alice: Person, service: Service, domains: Domains, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = manifest([alias(f"ada@{await domains()}")])
    begun, end = asyncio.Event(), asyncio.Event()
    take_turn = promotions.lock_account

    async def take(*args: Any, **options: Any) -> None:
        await take_turn(*args, **options)
        begun.set()
        await end.wait()

    monkeypatch.setattr(promotions, "lock_account", take)
    asked = [asyncio.create_task(ask(alice, type="manifest", manifest=wanted)) for _ in range(6)]
    asked += [asyncio.create_task(ask(alice, type="reset")) for _ in range(6)]
    await begun.wait()
    with contextlib.suppress(TimeoutError):  # a while in which all the others get as far as they can
        await asyncio.wait_for(end.wait(), 0.5)
    pool = service.api.state.database.pool
    used = pool.get_stats()["pool_size"] - pool.get_stats()["pool_available"]
    end.set()

    assert {each.status_code for each in await asyncio.gather(*asked)} == {200}
    assert used == 1
