"""Charges are fetched from fakes of registrars, once, whatever happens meanwhile."""

from collections.abc import Callable, Sequence
from datetime import timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest

from builders.demo.registrars.fake import FakeAccount, FakeLine, FakePurchase, FakeRegistrar, FakeServer, Fault
from builders.identity.records import Preset
from builders.kit.db.connections import Conn
from builders.kit.outbound.client import Outbound
from builders.kit.process.settings import Settings
from builders.kit.values import clock
from builders.portfolio.billing import charge_sync, store as charge_store
from builders.portfolio.billing.records import SyncOptions
from builders.portfolio.ledger import entries as ledger_entries
from builders.portfolio.registrars import connections as registrar_connections, requests
from builders.portfolio.registrars.records import Connection
from builders.portfolio.runs import runs
from builders.portfolio.runs.records import WorkKind
from tests.cast import Person
from tests.portfolio.billing.make import BILLING, Json, add_domains, charges, database_of, entries, load, ok
from tests.portfolio.imports.make import IMPORT, JSON_EXPORT
from tests.portfolio.registrars.make import connect
from tests.portfolio.registrars.sync import do_part, fake_of, read, sync as sync_domains, work
from tests.portfolio.team.make import code, join, of
from tests.registrars.fakes import FAKES

SYNC, ENSURE = f"{BILLING}/sync", f"{BILLING}/ensure"
NAMES = ("harbour.com", "lantern.com", "pier.com")


def purchase(order_id: str, *names: str, total: str = "10.98", ago: int = 30, **more: Any) -> FakePurchase:
    lines = [FakeLine(domains=[each], operation="renewal", total=Decimal(total)) for each in names]
    return FakePurchase(
        order_id=order_id, charged_on=clock.now().date() - timedelta(days=ago), lines=lines, **more
    )


def billing_fake(provider: str = "namesilo") -> FakeRegistrar:
    """A registrar that billed four domains, one of a stranger."""
    orders = [purchase("1", "harbour.com"), purchase("2", "lantern.com", "nobodys.com"), purchase("3", "pier.com")]
    return FAKES[provider](FakeAccount(orders=orders))


async def fetch(person: Person, settings: Settings, **body: Any) -> Json:
    """Sync the charges and return the run when it has ended."""
    started = ok(await person.post(SYNC, json=body, params={"wait": 0}))
    await work(person, settings)
    again = ok(await person.post(SYNC, json={**body, "dry_run": True}, params={"wait": 0}))
    await work(person, settings)
    assert again["run_id"] != started["run_id"]
    return await read(person, started)


async def test_charges_are_fetched_and_booked_once(alice: Person, fakes: FakeServer, worker: Settings) -> None:
    await add_domains(alice, *NAMES)
    fake = billing_fake()
    await connect(alice, fake, fakes)
    await connect(alice, fake_of("porkbun"), fakes)
    await load(alice, "Date,Domain,Amount\n2026-01-01,harbour.com,1\n", provider="manual:dock")
    planned = ok(await alice.post(SYNC, json={"dry_run": True}, params={"wait": 0}))
    await work(alice, worker)
    counted = {each["provider"]: each for each in (await read(alice, planned))["providers"]}
    assert counted["namesilo"]["counts"] == {
        "fetched": 4,
        "new": 4,
        "duplicate": 0,
        "matched": 3,
        "unmatched": 1,
        "refunds": 0,
    }
    assert ((await charges(alice))["count"], len(await entries(alice))) == (1, 1)

    first = await fetch(alice, worker)
    parts = {each["provider"]: each for each in first["providers"]}
    assert {name: each["state"] for name, each in parts.items()} == {
        "namesilo": "completed",
        "porkbun": "unsupported",
        "manual:dock": "unsupported",
    }
    assert parts["namesilo"]["counts"]["new"] == 4
    fake.account.orders.append(purchase("4", "pier.com", ago=0))
    shown = ok(await alice.post(SYNC, params={"wait": 0}))
    await work(alice, worker)
    second = {each["provider"]: each for each in (await read(alice, shown))["providers"]}["namesilo"]["counts"]
    assert (second["fetched"], second["new"], second["duplicate"]) == (1, 1, 0)  # since the last sync
    assert (await charges(alice, provider="namesilo"))["totals"]["by_state"]["applied"] == 4
    listed = {each["provider"]: each for each in shown["providers"]}
    assert listed["porkbun"]["template_path"] == f"{BILLING}/templates?provider=porkbun"
    assert listed["namesilo"]["next_since"] == str(clock.now().date() - timedelta(days=7))


async def test_an_earlier_period_is_read_again_and_adds_nothing(
    alice: Person, fakes: FakeServer, worker: Settings
) -> None:
    connection = await connect(alice, billing_fake(), fakes)
    await fetch(alice, worker)
    fetched = await fetch(alice, worker, since="2020-01-01", providers=["NameSilo"])
    counts = fetched["providers"][0]["counts"]
    assert (counts["fetched"], counts["new"], counts["duplicate"]) == (4, 0, 4)
    assert fetched["providers"][0]["connection_id"] == str(connection.id)
    assert code(await alice.post(SYNC, json={"providers": ["godaddy"]})) == (409, "not_connected")


async def test_a_failing_registrar_fails_alone(
    alice: Person, charlie: Person, fakes: FakeServer, worker: Settings
) -> None:
    await join(alice, charlie)
    assert code(await charlie.post(SYNC, headers=of(alice))) == (403, "forbidden_role")
    await add_domains(alice, *NAMES)
    bad = billing_fake("namecom")
    bad.account.faults.extend([Fault.BAD_KEY] * 9)
    await connect(alice, bad, fakes)
    await connect(alice, billing_fake(), fakes)
    run = ok(await alice.post(SYNC, params={"wait": 0}))
    await work(alice, worker)
    parts = {each["provider"]: each for each in (await read(alice, run))["providers"]}
    assert (parts["namesilo"]["state"], parts["namecom"]["state"]) == ("completed", "failed")
    assert parts["namecom"]["error"]["code"] == "provider_auth_failed"
    assert await failures(alice) == [("namecom", "billing", "provider_auth_failed")]
    bad.account.faults.extend([Fault.BAD_KEY] * 9)
    connections = await list_connections(alice)
    for _ in range(2):  # by schedule, where the same failure in a row is published once
        async with database_of(alice).transaction() as conn:
            await charge_sync.start_sync(
                conn, account_id=alice.account.id, connections=connections, options=SyncOptions()
            )
        await work(alice, worker)
    assert len(await failures(alice)) == 1


@pytest.mark.parametrize("provider", ["godaddy", "namesilo", "ovh"])
async def test_a_bill_that_is_refused_is_named_and_never_stops_the_others(
    alice: Person, fakes: FakeServer, worker: Settings, provider: str
) -> None:
    fake = billing_fake(provider)
    fake.account.faults.extend([None, Fault.REFUSED])  # the list of the orders, then the first one
    await connect(alice, fake, fakes)
    run = ok(await alice.post(SYNC, params={"wait": 0}))
    await work(alice, worker)
    [part] = (await read(alice, run))["providers"]
    assert (part["state"], part["error"]["code"]) == ("failed", "provider_list_incomplete")
    assert [each["item"] for each in part["unread"]] == ["1"]
    assert "1 of its items could not be read: 1." in part["error"]["hint"]
    assert {each["order_id"] for each in (await charges(alice))["items"]} == {"2", "3"}
    [connection] = await list_connections(alice)
    assert connection.last_billing_sync_at is None  # the next sync reads all again


async def list_connections(person: Person) -> Sequence[Connection]:
    async with database_of(person).connection() as conn:
        return await registrar_connections.list_connections(conn, account_id=person.account.id)


async def failures(person: Person) -> list[tuple[str, str, str]]:
    """Registrar, kind and code of the published failures."""
    async with database_of(person).connection() as conn:
        rows = await conn.execute(
            "SELECT data::jsonb FROM kit_outbox WHERE account_id = %s "
            "AND name = 'portfolio.sync.failed' ORDER BY id",
            [person.account.id],
        )
        return [(data["provider"], data["kind"], data["code"]) for (data,) in await rows.fetchall()]


async def test_a_disconnected_registrar_is_charged_no_more(
    alice: Person, fakes: FakeServer, outbound: Outbound, monkeypatch: pytest.MonkeyPatch
) -> None:
    await add_domains(alice, *NAMES)
    connection = await connect(alice, billing_fake(), fakes)
    run = ok(await alice.post(SYNC, params={"wait": 0}))
    real = requests.open_adapter

    async def slow(*arguments: Any, **options: Any) -> Any:
        adapter = await real(*arguments, **options)
        assert ok(await alice.delete("/v1/portfolio/registrars/namesilo"))["disconnected"]
        return adapter

    monkeypatch.setattr(requests, "open_adapter", slow)
    await do_part(alice, WorkKind.BILLING, connection.id, outbound)
    [part] = (await read(alice, run))["providers"]
    assert (part["state"], part["counts"]["new"]) == ("failed", 0)
    assert "disconnected" in part["error"]["hint"]
    assert ((await charges(alice))["count"], await entries(alice), await failures(alice)) == (0, [], [])


async def test_stale_data_is_refreshed_and_fresh_data_is_not(
    alice: Person, fakes: FakeServer, worker: Settings
) -> None:
    await add_domains(alice, *NAMES)
    await connect(alice, billing_fake(), fakes)
    first = ok(await alice.post(ENSURE, params={"wait": 0}))
    [state] = first["providers"]
    assert (state["reason"], state["refreshed"], state["age_hours"]) == ("never", True, None)
    assert (first["inventory"]["state"], first["billing"]["state"]) == ("queued", "queued")
    await work(alice, worker)
    fresh: list[tuple[Json, str]] = [({}, "fresh"), ({"force": True}, "cooldown")]
    for body, reason in fresh:
        again = ok(await alice.post(ENSURE, json=body))
        assert (again["providers"][0]["reason"], again["billing"], again["inventory"]) == (reason, None, None)
    clock.move(timedelta(hours=2))
    bodies: list[tuple[Json, str]] = [({"max_age_hours": 1}, "stale"), ({"force": True}, "forced")]
    for body, reason in bodies:
        again = ok(await alice.post(ENSURE, json=body, params={"wait": 0}))
        assert (again["providers"][0]["reason"], again["billing"]["state"]) == (reason, "queued")
        assert again["billing"]["run_id"] != first["billing"]["run_id"]


async def test_a_scheduled_sync_fetches_charges_after_the_first_one(
    alice: Person, fakes: FakeServer, worker: Settings
) -> None:
    await connect(alice, billing_fake(), fakes)
    run = await sync_domains(alice, worker)
    for expected in (0, 4):
        async with database_of(alice).transaction() as conn:
            await charge_sync.follow_sync(conn, account_id=alice.account.id, run_id=UUID(run["run_id"]))
        await work(alice, worker)
        assert (await charges(alice))["count"] == expected
        if not expected:
            await fetch(alice, worker)


class Killed(BaseException):
    """A worker was killed."""


# Where the worker is killed: the module that calls, the name, the number of the call, before or after it.
POINTS = [
    (runs, "claim_part", 1, False),
    (requests, "open_adapter", 1, False),
    (charge_sync, "record_lines", 1, True),
    (charge_store, "insert", 1, False),
    (ledger_entries, "post_entries", 1, False),
    (charge_store, "update", 1, False),
    (runs, "advance_part", 1, False),
    (charge_sync, "record_lines", 2, True),
    (charge_sync, "publish_run", 1, False),
    (runs, "finish_part", 1, False),
]


def killing(call: Callable[..., Any], number: int, *, is_before: bool) -> Callable[..., Any]:
    calls = 0

    async def killed(*arguments: Any, **options: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == number and is_before:
            raise Killed
        result = await call(*arguments, **options)
        if calls == number:
            raise Killed  # before the commit
        return result

    return killed


EVENTS = "SELECT name FROM kit_outbox WHERE account_id = %s AND name LIKE 'portfolio.billing.%%' ORDER BY name"


async def outcome(person: Person, conn: Conn, run: Json) -> Any:
    """What a sync leaves behind, without ids and times."""
    found = (await charges(person))["items"]
    shown = ("provider", "order_id", "line_id", "domain", "total", "state", "kind", "linked")
    booked = [(kind, amount, currency) for _, kind, amount, currency, *_ in await entries(person)]
    events = await (await conn.execute(EVENTS, (person.account.id,))).fetchall()
    [part] = (await read(person, run))["providers"]
    return (
        sorted([str([each[name] for name in shown]) for each in found]),
        sorted(booked),
        events,
        part["state"],
        part["counts"],
    )


async def test_a_killed_worker_is_continued_with_the_same_result(
    alice: Person, people: Any, fakes: FakeServer, outbound: Outbound, conn: Conn, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = None
    for point in (None, *POINTS):
        person = alice if point is None else await people("someone", Preset.DOMAINER_FULL)
        await add_domains(person, *NAMES)
        connection = await connect(person, billing_fake(), fakes)
        run = ok(await person.post(SYNC, params={"wait": 0}))
        part = (person, WorkKind.BILLING, connection.id, outbound)
        if point is not None:
            module, name, number, is_before = point
            with monkeypatch.context() as patched:
                patched.setattr(module, name, killing(getattr(module, name), number, is_before=is_before))
                with pytest.raises(Killed):
                    await do_part(*part, batch_size=2)
        for _ in range(2):  # a repeated job does nothing
            await do_part(*part, batch_size=2)
        left = await outcome(person, conn, run)
        expected = expected or left
        assert left == expected, point
    assert expected is not None
    assert (len(expected[0]), len(expected[1]), expected[3]) == (4, 3, "completed")


async def test_a_charge_is_booked_once_after_the_import_of_an_export(
    alice: Person, bob: Person, fakes: FakeServer, worker: Settings
) -> None:
    """Both have connected the same account of the registrar."""
    orders = [
        purchase("1", "harbour.com"),
        purchase("2", "harbour.com", ago=29),
        purchase("3", "harbour.com", ago=9),
    ]
    await add_domains(alice, "harbour.com")
    for person in (alice, bob):
        if person is bob:
            await bob.post(IMPORT, json={"rows": ok(await alice.get(JSON_EXPORT))["rows"]})
        await connect(person, FAKES["namesilo"](FakeAccount(orders=orders)), fakes)
        await fetch(person, worker)
        found = ok(await person.get("/v1/portfolio/domains/harbour.com/finance"))["entries"]
        listed = (await charges(person))["items"]
        assert {each["linked"] for each in listed} == {person is bob}
        assert {each["entry_id"]: each["charged_on"] for each in listed} == {
            each["id"]: each["occurred_on"] for each in found
        }
        assert len(listed) == len(found) == len(orders)
