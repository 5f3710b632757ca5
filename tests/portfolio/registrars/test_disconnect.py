"""Disconnections, with the inventory and during a sync."""

from typing import Any

import pytest

from builders.demo.registrars.fake import FakeServer
from builders.kit.outbound.client import Outbound
from builders.kit.process.settings import Settings
from builders.portfolio.registrars import connections, syncing
from tests.cast import Person
from tests.portfolio.domains.make import DOMAINS, add
from tests.portfolio.registrars.make import REGISTRARS, connect
from tests.portfolio.registrars.sync import INVENTORY, fake_of, ok, read, run_parts, start, sync
from tests.portfolio.registrars.test_sync_failures import events


async def test_a_sync_writes_nothing_after_a_disconnection(
    alice: Person, fakes: FakeServer, outbound: Outbound, monkeypatch: pytest.MonkeyPatch
) -> None:
    await connect(alice, fake_of("porkbun", "a.com"), fakes)
    await add(alice, "a.com")
    run = await start(alice)
    real = connections.open_adapter

    async def slow(*arguments: Any, **options: Any) -> Any:
        adapter = await real(*arguments, **options)
        ended = await alice.delete(f"{REGISTRARS}/porkbun", params={"keep_inventory": False})
        assert ok(ended)["disconnected"]
        return adapter

    monkeypatch.setattr(syncing, "open_adapter", slow)
    await run_parts(alice, run, outbound)
    ended = await read(alice, run)
    assert [each["state"] for each in ended["providers"]] == ["failed"]
    assert "disconnected" in ended["providers"][0]["error"]["hint"]
    assert await events(alice) == []
    assert ok(await alice.get(f"{DOMAINS}/a.com"))["connection_id"] is None
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
