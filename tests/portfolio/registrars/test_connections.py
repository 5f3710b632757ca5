"""Connections: what they open, and what the outcome of their requests leaves behind."""

import asyncio
from datetime import timedelta

import pytest

from builders.demo.registrars.fake import FakeAccount, FakeServer
from builders.kit.db import old_rows
from builders.kit.db.connections import Database
from builders.kit.outbound.client import Outbound
from builders.kit.process.settings import Settings
from builders.kit.values import clock, ids
from builders.portfolio.registrars import connections, errors, requests
from builders.portfolio.registrars.errors import NotConnected
from builders.portfolio.registrars.failures import RegistrarFailed, RegistrarFailure
from builders.portfolio.registrars.records import (
    MANUAL,
    MAX_CONNECTIONS,
    Connection,
    ConnectionStatus,
    Quota,
)
from builders.portfolio.registrars.requests import SharedPace
from builders.portfolio.runs.work import Tools
from tests.cast import Person
from tests.portfolio.registrars.make import connect, database_of, events_of, keyring_of
from tests.registrars.fakes import FAKES

QUOTA = Quota(requests=8, window_s=1)  # two at once, then one each seventh of a second
SLOW = Quota(requests=1, window_s=3600)


async def pass_through(paces: list[SharedPace], count: int) -> list[float]:
    """Return the times at which so many requests were allowed, each pace in turn."""
    began, times = clock.monotonic(), []

    async def one(pace: SharedPace) -> None:
        await pace.acquire()
        times.append(clock.monotonic() - began)

    await asyncio.gather(*(one(paces[at % len(paces)]) for at in range(count)))
    return sorted(times)


async def test_a_rate_limit_is_shared_by_all_processes(
    alice: Person, fakes: FakeServer, settings: Settings
) -> None:
    made = await connect(alice, FAKES["porkbun"](FakeAccount()), fakes)
    other = Database(database_of(alice).conninfo, settings)
    await other.open()
    try:
        paces = [pace_of(made, database) for database in (database_of(alice), other)]
        times = await pass_through(paces, QUOTA.requests + 1)
        assert times[-1] >= QUOTA.window_s - 0.02  # no window contains more than the quota
        with pytest.raises(RegistrarFailed) as refused:
            await pass_through([pace_of(made, other, quota=SLOW, max_wait_s=0)], 2)
        assert refused.value.kind is RegistrarFailure.RATE_LIMITED
        assert refused.value.retry_after_s is not None
        # The registrar has refused nothing: other jobs of the connection go on.
        shown = await record(alice, made, refused.value)
        assert (shown.status, shown.next_allowed_at) == (ConnectionStatus.NEVER_SYNCED, None)
    finally:
        await other.close()


def pace_of(made: Connection, database: Database, *, quota: Quota = QUOTA, max_wait_s: float = 60) -> SharedPace:
    return SharedPace(database=database, connection=made, quota=quota, max_wait_s=max_wait_s)


async def record(person: Person, made: Connection, failure: RegistrarFailed | None) -> Connection:
    async with database_of(person).transaction() as conn:
        await requests.record_outcome(
            conn,
            account_id=made.account_id,
            connection_id=made.id,
            failure=failure,
            synced_at=None if failure else clock.now(),
        )
        return await connections.get_connection(conn, account_id=made.account_id, connection_id=made.id)


async def test_the_outcome_of_requests_is_the_status(alice: Person, fakes: FakeServer, outbound: Outbound) -> None:
    made = await connect(alice, FAKES["porkbun"](FakeAccount()), fakes)
    assert made.status is ConnectionStatus.NEVER_SYNCED
    bad = RegistrarFailed(RegistrarFailure.AUTH_FAILED, hint="Check the keys.")
    for failure, status in [
        (None, ConnectionStatus.OK),
        (bad, ConnectionStatus.AUTH_FAILED),
        (bad, ConnectionStatus.AUTH_FAILED),  # published once
        (RegistrarFailed(RegistrarFailure.UNAVAILABLE), ConnectionStatus.AUTH_FAILED),  # says nothing of the keys
        (RegistrarFailed(RegistrarFailure.NOT_FOUND), ConnectionStatus.AUTH_FAILED),
        (RegistrarFailed(RegistrarFailure.IP_NOT_ALLOWED), ConnectionStatus.RESTRICTED),
        (None, ConnectionStatus.OK),
        (RegistrarFailed(RegistrarFailure.RATE_LIMITED, retry_after_s=3600), ConnectionStatus.RATE_LIMITED),
    ]:
        shown = await record(alice, made, failure)
        assert shown.status is status, failure
    assert await events_of(alice) == ["credentials_invalid", "restricted"]
    with pytest.raises(RegistrarFailed) as refused:
        await requests.open_adapter(
            Tools(database=database_of(alice), outbound=outbound, keyring=keyring_of(alice)), shown
        )
    assert 3590 < (refused.value.retry_after_s or 0) <= 3600
    with clock.moved(timedelta(days=3)):
        async with database_of(alice).connection() as conn:
            [later] = await connections.list_connections(conn, account_id=made.account_id, providers=["porkbun"])
    assert later.status is ConnectionStatus.STALE


async def test_an_adapter_is_opened_with_the_credentials(
    alice: Person, bob: Person, fakes: FakeServer, outbound: Outbound
) -> None:
    made = await connect(alice, FAKES["namesilo"](FakeAccount()), fakes)
    adapter = await requests.open_adapter(
        Tools(database=database_of(alice), outbound=outbound, keyring=keyring_of(alice)), made
    )
    await adapter.verify()
    async with database_of(alice).connection() as conn:
        found = await connections.find_named(
            conn, account_id=alice.account.id, provider="namesilo", name="default"
        )
        assert found is not None
        assert found.id == made.id
        assert await connections.list_connections(conn, account_id=bob.account.id) == []
        with pytest.raises(NotConnected):
            await connections.get_connection(conn, account_id=bob.account.id, connection_id=made.id)
        with pytest.raises(NotConnected):
            await connections.get_connection(conn, account_id=alice.account.id, connection_id=ids.new())


async def test_a_registrar_without_an_adapter_is_connected_once(alice: Person, outbound: Outbound) -> None:
    async def ensure() -> Connection:
        async with database_of(alice).transaction() as conn:
            return await connections.ensure_manual_connection(
                conn, account_id=alice.account.id, provider="manual:Park.io"
            )

    first, second = await asyncio.gather(ensure(), ensure())
    assert first.id == second.id
    assert first.provider == "manual:park.io"
    assert await events_of(alice) == ["connected"]
    with pytest.raises(RegistrarFailed) as refused:
        await requests.open_adapter(
            Tools(database=database_of(alice), outbound=outbound, keyring=keyring_of(alice)), first
        )
    assert errors.problem_of(refused.value).code == "provider_unsupported"
    listed = (await alice.get("/v1/portfolio/registrars")).json()
    assert listed["count"] == len(FAKES) + 1
    assert listed["items"][0]["connection_id"] == str(first.id)


@pytest.mark.maximum("registrar_connections")
async def test_no_more_registrars_than_allowed_are_connected_at_once(alice: Person) -> None:
    async with database_of(alice).transaction() as conn:
        for at in range(MAX_CONNECTIONS - 2):
            provider = f"{MANUAL}before-{at}"
            await connections.ensure_manual_connection(conn, account_id=alice.account.id, provider=provider)
    assert (await alice.put("/v1/portfolio/registrars/manual:one", json={})).status_code == 200
    answers = await asyncio.gather(
        *(alice.put(f"/v1/portfolio/registrars/manual:{name}", json={}) for name in ("two", "three", "four"))
    )
    assert sorted(each.status_code for each in answers) == [200, 409, 409]
    assert {each.json()["code"] for each in answers if each.status_code == 409} == {"connection_limit"}
    imported = await alice.post(
        "/v1/portfolio/registrars/inventory/import", json={"provider": "manual:five", "domains": ["a.com"]}
    )
    assert (imported.status_code, imported.json()["code"]) == (409, "connection_limit")
    charges = {"provider": "manual:five", "csv": "Date,Domain,Amount\n2026-01-01,harbour.com,1\n"}
    billed = await alice.post("/v1/portfolio/registrars/billing/import", json=charges)
    assert (billed.status_code, billed.json()["code"]) == (409, "connection_limit")
    await alice.delete("/v1/portfolio/registrars/manual:one")
    again = await alice.post("/v1/portfolio/registrars/billing/import", json=charges)
    assert again.status_code == 200
    assert (await alice.put("/v1/portfolio/registrars/manual:one", json={})).status_code == 409


async def test_connections_that_were_disconnected_long_ago_are_deleted(alice: Person) -> None:
    held = {"provider": "manual:three", "domains": ["a.com"]}
    assert (await alice.post("/v1/portfolio/registrars/inventory/import", json=held)).status_code == 200
    for name in ("one", "two"):
        assert (await alice.put(f"/v1/portfolio/registrars/manual:{name}", json={})).status_code == 200
    for path in ("manual:one", "manual:three?keep_inventory=true"):
        assert (await alice.delete(f"/v1/portfolio/registrars/{path}")).status_code == 200
    clock.move(timedelta(days=91))
    await old_rows.delete(database_of(alice), "portfolio_registrars_connections")
    async with database_of(alice).connection() as conn:
        found = await conn.execute(
            "SELECT provider FROM portfolio_registrars_connections WHERE account_id = %s", [alice.account.id]
        )
        assert {provider async for (provider,) in found} == {"manual:two", "manual:three"}
    assert (await alice.put("/v1/portfolio/registrars/manual:one", json={})).status_code == 200


def test_each_failure_has_a_response() -> None:
    found = {kind: errors.problem_of(RegistrarFailed(kind, retry_after_s=7.2)) for kind in RegistrarFailure}
    assert {kind.value: (each.status, each.code) for kind, each in found.items()} == {
        "auth_failed": (424, "provider_auth_failed"),
        "restricted": (424, "provider_access_restricted"),
        "ip_not_allowed": (424, "provider_access_restricted"),
        "rate_limited": (429, "provider_rate_limited"),
        "unavailable": (502, "provider_unavailable"),
        "malformed": (502, "provider_unavailable"),
        "incomplete": (502, "provider_list_incomplete"),
        "not_found": (409, "domain_not_at_provider"),
        "refused": (424, "provider_refused"),
        "unsupported": (409, "provider_unsupported"),
        "inventory_limit": (409, "inventory_limit"),
        "charge_limit": (409, "charge_limit"),
    }
    assert found[RegistrarFailure.RATE_LIMITED].members["retry_after"] == 8
