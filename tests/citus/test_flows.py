"""What a customer does, on the cluster: over HTTP, with a worker, a receiver and a mail server."""

import asyncio
import time
from collections import Counter

import psycopg
import pytest

from builders.app import Service
from builders.identity.records import Preset
from builders.kit.db.connections import Database
from builders.kit.process.settings import Settings
from builders.kit.values import ids
from tests.cast import Person, make_person
from tests.citus import cluster
from tests.forwarding.postfix import MailServer
from tests.kit.outbound.receivers import Receiver
from tests.plans.approval.make import ALWAYS, decide, set_policy
from tests.plans.make import Domains, alias, plan, promote, promotion_request
from tests.plans.test_concurrency import outcome, promote_with_retries
from tests.webhooks.make import send_due
from tests.worker import Worker

RACERS = 20
WEBHOOKS = "/v1/notifications/webhooks"
BILL = "domain,date,amount,currency\n{},2026-10-01,9.00,USD\n"


async def test_one_of_twenty_accounts_gets_a_name(
    service: Service, domains: Domains, admin: psycopg.Connection
) -> None:
    domain = await domains()
    persons = [await make_person(service, name="one", preset=Preset.DEVELOPER_FULL) for _ in range(RACERS)]
    plans = [await plan(each, alias(f"ada@{domain}")) for each in persons]

    answers = await asyncio.gather(*map(promote_with_retries, persons, plans))

    outcomes = Counter(map(outcome, answers))
    assert outcomes["succeeded"] == 1, outcomes
    winner = persons[[outcome(answer) for answer in answers].index("succeeded")].account.id
    names = admin.execute("SELECT account_id FROM aliases_names WHERE domain = %s", [domain]).fetchall()
    held = admin.execute("SELECT account_id FROM aliases WHERE domain = %s", [domain]).fetchall()
    assert (names, held) == ([(winner,)], [(winner,)])


async def test_a_missing_row_of_a_foreign_key_is_reported_as_by_one_server(database: Database) -> None:
    insert = "INSERT INTO profile_profiles (account_id) SELECT id FROM unnest(%s::uuid[]) AS new (id)"
    with pytest.raises(psycopg.errors.ForeignKeyViolation):
        async with database.connection() as conn:
            await conn.execute(insert, [[ids.new()]])


async def test_a_row_that_is_there_is_reported_as_by_one_server(alice: Person, database: Database) -> None:
    insert = "INSERT INTO identity_people (account_id) SELECT id FROM unnest(%s::uuid[]) AS new (id)"
    with pytest.raises(psycopg.errors.UniqueViolation):
        async with database.connection() as conn:
            await conn.execute(insert, [[alice.account.id]])


async def test_a_row_that_is_locked_on_a_worker_is_503_after_three_seconds(
    url: str, alice: Person, admin: psycopg.Connection
) -> None:
    made = (await alice.post("/v1/builders/projects", json={"name": "Lander"})).json()
    node = cluster.node_of(admin, "projects", alice.account.id)
    shard = cluster.shard_of(admin, "projects", alice.account.id)
    with psycopg.connect(cluster.on_node(url, node, dbname=admin.info.dbname)) as conn:
        conn.execute(f"SELECT FROM {shard} WHERE id = %s FOR UPDATE".encode(), [made["id"]])
        began = time.monotonic()
        answer = await alice.patch(f"/v1/builders/projects/{made['id']}", json={"name": "Pier"})
        took_s = time.monotonic() - began
    assert (answer.status_code, answer.json()["code"]) == (503, "database_busy")
    assert answer.headers["Retry-After"] == "1"
    assert 2.5 < took_s < 6


async def test_the_main_flow(
    service: Service,
    alice: Person,
    dana: Person,
    domains: Domains,
    receiver: Receiver,
    lookups: MailServer,
    database: Database,
    settings: Settings,
) -> None:
    worker, domain, own = Worker(database, settings), await domains(), alice.account.email
    minted = await alice.post("/v1/api-keys", json={"label": "ci", "key_kind": "test", "preset": "developer_full"})
    assert minted.is_success, minted.text
    hook = {"label": "in", "url": f"{receiver.url}in", "enabled": True, "events": ["alias.*", "invoice.*"]}
    assert (await alice.post(WEBHOOKS, json=hook)).is_success

    await set_policy(alice, **ALWAYS)
    planned = await plan(alice, alias(f"ada@{domain}", own))
    waiting = await alice.post("/v1/sandbox/promote", json=promotion_request(planned))
    assert waiting.json()["code"] == "approval_required"
    await decide(alice, planned)
    promoted = await promote(alice, planned)
    assert promoted["status"] == "succeeded", promoted
    await worker.work()

    assert [each["type"] for each in (await alice.get("/v1/events")).json()["items"]].count("alias.created") == 1
    assert await send_due(service, account_id=alice.account.id) >= 1
    assert receiver.requests
    assert await lookups.ask("alias", f"ada@{domain}") == f"OK {own}"
    [invoice] = (await alice.get("/v1/invoices")).json()["items"]
    assert (await alice.get(f"/v1/invoices/{invoice['id']}/pdf")).content.startswith(b"%PDF")

    name = f"{domain.partition('.')[0]}.com"
    imported = await dana.post("/v1/portfolio/import", json={"csv": f"domain,expires\n{name},2027-12-31\n"})
    assert imported.json()["summary"]["created"] == 1, imported.text
    booked = await dana.post("/v1/portfolio/registrars/billing/import", json={"csv": BILL.format(name)})
    assert booked.is_success, booked.text
    assert len((await dana.get("/v1/portfolio/registrars/billing/charges")).json()["items"]) == 1
