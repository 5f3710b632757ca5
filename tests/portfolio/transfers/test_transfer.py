"""The state of a transfer: with and without a connection, when the registrar does not answer, and its events."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from builders.demo.registrars.fake import FakeServer, FakeTransfer, Fault
from builders.kit.db.connections import Database
from builders.kit.events import dispatcher
from builders.kit.jobs import queue
from builders.kit.outbound.client import Outbound
from builders.kit.process.settings import Settings
from builders.kit.values import clock
from builders.portfolio.domains import changes, lookups
from builders.portfolio.domains.records import ChangeSource, DomainChange, domain_patch
from builders.portfolio.runs.work import Tools
from builders.portfolio.transfers import status, store
from tests.cast import Person
from tests.portfolio.domains.make import DOMAINS, add
from tests.portfolio.registrars.make import keyring_of
from tests.portfolio.registrars.sync import sync
from tests.portfolio.team.make import code, join, of
from tests.portfolio.transfers.make import DAY, HOUR, add_held, published, report

pytestmark = pytest.mark.usefixtures("reach")


def sources(found: dict[str, Any]) -> dict[str, tuple[bool, str | None]]:
    return {each["name"]: (each["ok"], each["error"]) for each in found["sources"]}


async def test_it_works_without_a_connection(alice: Person, bob: Person, charlie: Person) -> None:
    today = clock.now().date()
    await add(alice, registered_on=f"{today - 10 * DAY}", registrar="Joker", locked=True)
    await add(alice, "harbour.de")
    found = await report(alice, refresh=True)
    assert (found["state"], found["transferable"], found["locked"]) == ("not_eligible", False, True)
    assert {each["code"]: each["known_from"] for each in found["blocked_by"]} == {
        "creation_lock": "portfolio",
        "registrar_lock": "portfolio",
    }
    assert found["eligible_at"] == f"{today + 51 * DAY}T00:00:00Z"
    assert (found["losing_registrar"], found["gaining_registrar"], found["provider"]) == ("Joker", None, None)
    assert sources(found) == {"rdap": (False, None), "portfolio": (True, None), "rules": (True, None)}
    assert {each["rule"]: each["outcome"] for each in found["rules_applied"]}[
        "registrant_change_lock"
    ] == "unknown"
    assert found["auth_code"] == {"last_requested_at": None, "delivery": None, "expires_at": None}
    unknown = await report(alice, "harbour.de")
    assert (unknown["state"], unknown["transferable"], unknown["blocked_by"]) == ("none", None, [])
    assert not sources(unknown)["rules"][0]
    await join(alice, charlie, "viewer")
    assert (await report(charlie, headers=of(alice)))["state"] == "not_eligible"
    path = f"{DOMAINS}/harbour.com/transfer"
    assert code(await bob.get(path)) == (404, "portfolio_domain_not_found")
    assert code(await bob.get(path, headers=of(alice))) == (404, "portfolio_not_found")
    assert await published(alice) == []


async def test_a_domain_becomes_free(
    alice: Person, fakes: FakeServer, reach: Outbound, database: Database
) -> None:
    account = await add_held(alice, fakes, locked=False)
    account.domains[0].created_at = clock.now() - 59 * DAY
    found = await report(alice)
    assert (found["state"], found["provider"]) == ("not_eligible", "spaceship")
    [block] = found["blocked_by"]
    assert (block["code"], block["known_from"]) == ("creation_lock", "registrar")

    async def follow() -> None:
        await status.follow_transfers(Tools(database=database, outbound=reach, keyring=keyring_of(alice)))

    await follow()
    assert await published(alice) == []
    with clock.moved(2 * DAY):
        await follow()
        await follow()
    [(name, data)] = await published(alice)
    assert (name, data["previous"], data["state"], data["domain"]) == (
        "transfer.eligible",
        "not_eligible",
        "unlocked",
        "harbour.com",
    )


async def test_an_answer_is_used_for_ten_minutes(alice: Person, fakes: FakeServer) -> None:
    account = await add_held(alice, fakes)
    first = await report(alice)
    assert (first["state"], first["locked"]) == ("locked", True)
    asked = account.requests
    account.domains[0].locked = False
    assert (await report(alice))["locked"] is True
    assert account.requests == asked
    assert (await report(alice, refresh=True))["state"] == "unlocked"
    with clock.moved(timedelta(minutes=11)):
        account.domains[0].locked = True
        assert (await report(alice))["locked"] is True
        account.faults.extend([Fault.SERVER_ERROR] * 3)
        failed = await report(alice, refresh=True)
        assert (failed["state"], failed["locked"]) == ("locked", True)  # what it said before
        assert sources(failed)["registrar"] == (False, "unavailable")
        account.domains.clear()
        assert sources(await report(alice, refresh=True))["registrar"] == (True, "not_found")


async def test_a_transfer_that_nobody_prepared_is_critical(
    alice: Person, fakes: FakeServer, reach: Outbound, database: Database
) -> None:
    account = await add_held(alice, fakes, locked=False)
    await report(alice)
    started_at = clock.now() - HOUR
    transfer = FakeTransfer(domain="harbour.com", direction="out", state="pending", started_at=started_at)
    account.transfers.append(transfer)
    found = await report(alice, refresh=True)
    assert (found["state"], found["direction"], found["expected"]) == ("pending_out", "out", False)
    assert found["losing_registrar"] == "Spaceship"
    assert found["expected_by"] is not None
    assert [each["done"] for each in found["steps"]] == [True, True, True, True, False]
    await report(alice, refresh=True)
    with clock.moved(2 * HOUR):
        transfer.state = "cancelled"
        await status.follow_transfers(Tools(database=database, outbound=reach, keyring=keyring_of(alice)))
    assert (await report(alice))["state"] == "cancelled"
    events = [(name, data["state"], data["expected"], data["severity"]) for name, data in await published(alice)]
    assert events == [
        ("transfer.started", "pending_out", False, "critical"),
        ("transfer.failed", "cancelled", False, "critical"),
    ]


async def test_a_prepared_transfer_runs_to_its_end(
    alice: Person, fakes: FakeServer, reach: Outbound, database: Database
) -> None:
    account = await add_held(alice, fakes, "gandi", locked=False)
    assert (await alice.post(f"{DOMAINS}/harbour.com/auth-code")).status_code == 200
    assert (await report(alice))["state"] == "auth_code_issued"
    account.domains[0].state = "leaving"
    with clock.moved(DAY + HOUR):
        found = await report(alice)
        assert (found["state"], found["expected"]) == ("pending_out", True)
    account.domains.clear()
    with clock.moved(2 * DAY):
        await status.follow_transfers(Tools(database=database, outbound=reach, keyring=keyring_of(alice)))
        done = await report(alice)
    assert (done["state"], done["steps"][-1]["done"], done["completed_at"] is None) == ("completed", True, False)
    names = [name for name, _ in await published(alice)]
    assert names == ["auth_code.requested", "auth_code.delivered", "transfer.started", "transfer.completed"]


async def test_the_registry_reports_a_transfer(
    alice: Person, reach: Outbound, database: Database, settings: Settings
) -> None:
    added = await add(alice)

    async def say(*statuses: str) -> None:
        async with database.transaction() as conn:
            change = DomainChange(id=domains_id, patch=domain_patch(epp_statuses=list(statuses)))
            await changes.change_domains(
                conn, account_id=alice.account.id, changes=[change], source=ChangeSource.REGISTRAR
            )
        await dispatch(database, settings)
        await status.follow_transfers(Tools(database=database, outbound=reach, keyring=keyring_of(alice)))

    domains_id = (await find(database, alice, added["domain"])).id
    await say("ok")
    assert await published(alice) == []
    await say("pendingTransfer")
    found = await report(alice)
    assert (found["state"], found["expected"], found["provider"]) == ("pending_out", None, None)
    await say("ok")
    assert [(name, data["severity"]) for name, data in await published(alice)] == [
        ("transfer.started", "info"),
        ("transfer.failed", "info"),
    ]
    assert (await report(alice))["state"] == "cancelled"


async def dispatch(database: Database, settings: Settings) -> None:
    async with database.transaction() as conn:
        while await dispatcher.dispatch(conn):
            pass
    await queue.run_pending(database, settings)


async def test_a_sync_finds_a_domain_that_leaves(
    alice: Person, fakes: FakeServer, reach: Outbound, database: Database, worker: Settings
) -> None:
    account = await add_held(alice, fakes, "gandi", locked=False)
    account.domains[0].state = "leaving"
    await sync(alice, worker)
    await dispatch(database, worker)
    asked = account.requests
    await status.follow_transfers(Tools(database=database, outbound=reach, keyring=keyring_of(alice)))
    assert account.requests == asked + 1
    [(name, data)] = await published(alice)
    assert (name, data["expected"], data["severity"]) == ("transfer.started", False, "critical")
    account.domains[0].state = "active"
    with clock.moved(2 * DAY):
        await sync(alice, worker)
        asked = account.requests
        found = await report(alice, refresh=False)
        assert account.requests == asked + 1
    assert (found["state"], found["locked"], found["blocked_by"]) == ("cancelled", False, [])


async def test_a_registrar_that_hangs_delays_no_check_of_another_account(
    alice: Person, bob: Person, fakes: FakeServer, reach: Outbound, database: Database
) -> None:
    silent = await add_held(alice, fakes, "gandi")
    silent.faults.extend([Fault.HANG] * 3)
    responding = await add_held(bob, fakes, "spaceship")
    for person in (alice, bob):  # in this order
        found = await find(database, person, "harbour.com")
        async with database.transaction() as conn:
            await store.add_due(conn, account_id=person.account.id, domain_ids=[found.id], now=clock.now())
    follows = status.follow_transfers(Tools(database=database, outbound=reach, keyring=keyring_of(alice)))
    run = asyncio.create_task(follows)
    for _ in range(1_000):
        await asyncio.sleep(0.01)
        if silent.requests and responding.requests:
            break
    assert (silent.requests, responding.requests > 0, run.done()) == (1, True, False)
    run.cancel()


async def find(database: Database, person: Person, name: str) -> Any:
    async with database.connection() as conn:
        return await lookups.get_domain(conn, account_id=person.account.id, key=name)
