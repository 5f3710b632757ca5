"""Disconnections, with the inventory and during a sync."""

import asyncio
from typing import Any

import pytest

from builders.demo.registrars.fake import FakeServer
from builders.kit.outbound.client import Outbound
from builders.kit.process.settings import Settings
from builders.portfolio.registrars import inventory_sync, requests
from tests.cast import Person
from tests.portfolio.domains.make import DOMAINS, add
from tests.portfolio.registrars.make import REGISTRARS, connect
from tests.portfolio.registrars.sync import INVENTORY, SYNC, fake_of, ok, read, run_parts, start, sync, work
from tests.portfolio.registrars.test_sync_failures import events


async def test_a_sync_writes_nothing_after_a_disconnection(
    alice: Person, fakes: FakeServer, outbound: Outbound, monkeypatch: pytest.MonkeyPatch
) -> None:
    await connect(alice, fake_of("porkbun", "a.com"), fakes)
    await add(alice, "a.com")
    run = await start(alice)
    real = requests.open_adapter

    async def slow(*arguments: Any, **options: Any) -> Any:
        adapter = await real(*arguments, **options)
        ended = await alice.delete(f"{REGISTRARS}/porkbun", params={"keep_inventory": False})
        assert ok(ended)["disconnected"]
        return adapter

    monkeypatch.setattr(inventory_sync, "open_adapter", slow)
    await run_parts(alice, run, outbound)
    ended = await read(alice, run)
    assert [each["state"] for each in ended["providers"]] == ["failed"]
    assert "disconnected" in ended["providers"][0]["error"]["hint"]
    assert await events(alice) == []
    assert ok(await alice.get(f"{DOMAINS}/a.com"))["connection_id"] is None
    assert ok(await alice.get(INVENTORY))["items"] == []


async def test_concurrent_changes_syncs_and_disconnections_end_in_one_state(
    alice: Person, worker: Settings
) -> None:
    path, keys = f"{REGISTRARS}/porkbun", {"api_key": "k" * 16, "secret_api_key": "s" * 16}
    body = {"credentials": keys, "verify": False}
    for _ in range(4):
        answers = await asyncio.gather(
            *(alice.put(path, json=body) for _ in range(2)),
            alice.post(SYNC, params={"wait": 0}),
            *(alice.delete(path) for _ in range(2)),
            alice.get(REGISTRARS),
        )
        assert {each.status_code for each in answers} <= {200, 409}
        shown = [each for each in ok(await alice.get(REGISTRARS))["items"] if each["provider"] == "porkbun"]
        assert [each["connected"] for each in shown] == [bool(each["credentials_set"]) for each in shown]
    ok(await alice.delete(path))
    await work(alice, worker)
    assert ok(await alice.get(INVENTORY))["items"] == []


async def test_a_disconnection_can_delete_the_inventory(
    alice: Person, fakes: FakeServer, worker: Settings
) -> None:
    await connect(alice, fake_of("porkbun", "a.com"), fakes)
    await sync(alice, worker)
    assert len(ok(await alice.get(INVENTORY))["items"]) == 1
    ok(await alice.delete(f"{REGISTRARS}/porkbun", params={"keep_inventory": False}))
    found = ok(await alice.get(INVENTORY))
    assert (found["items"], found["snapshots"]) == ([], [])
