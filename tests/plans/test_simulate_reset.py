"""A reset deletes the contents of the sandbox account and nothing else."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import pytest
from psycopg import sql

from builders.aliases import claims
from builders.app import Service
from builders.domains import account_domains
from builders.invoices import invoices
from builders.kit.db.connections import Conn, Database
from builders.plans import simulation
from builders.plans.promotion import completion
from builders.projects import service as projects
from builders.webhooks import destinations
from tests.cast import Person
from tests.kit.db.locks import waiting
from tests.kit.outbound.receivers import Receiver
from tests.plans.make import alias, apply, full_manifest, manifest, unique_domain
from tests.plans.simulations import count_rows, simulate, simulate_event
from tests.webhooks.make import create, deliveries, send_due
from tests.worker import Worker

# The sandbox account keeps the history of events (dispatched or not), its lock of the credit, and its onboarding.
KEPT = {
    "kit_outbox",
    "kit_outbox_pending",
    "invoices_credit_locks",
    "profile_profiles",
    "profile_steps",
    "webhooks_feed",
    "webhooks_feed_heads",
}
NOTHING = {"aliases": 0, "projects": 0, "domains": 0, "invoices": 0, "webhooks": 0, "deliveries": 0}


@pytest.fixture
async def busy(alice: Person, service: Service, event_worker: Worker, domain: str, receiver: Receiver) -> Person:
    """Return Alice with resources of every kind in both accounts."""
    own = unique_domain("own")
    for client in (alice, alice.test):
        await create(client, url=receiver.url, events=["*"])
        await client.post("/v1/builders/projects", json={"name": "Shop"})
        await client.post("/v1/domains", json={"domain": own})
    await apply(alice, alias(f"ada@{domain}"))
    await simulate(alice, type="manifest", manifest=manifest([alias(f"ada@{domain}")]), persist=True)
    await simulate_event(alice, deliver=True)
    await event_worker.work()
    await send_due(service, account_id=alice.account.sandbox_id)
    return alice


async def test_a_reset_deletes_and_counts_everything(busy: Person, conn: Conn) -> None:
    sent = len(await deliveries(busy.test, limit=100))
    found = await simulate(busy, type="reset")

    assert found["cleared"] == NOTHING | {
        "aliases": 1,
        "projects": 1,
        "domains": 1,
        "invoices": 1,
        "webhooks": 1,
        "deliveries": sent,
    }
    assert (await count_rows(conn, busy.account.sandbox_id)).keys() <= KEPT
    assert (await busy.get("/v1/sandbox/status")).json()["sandbox"] == {
        "aliases": 0,
        "projects": 0,
        "webhooks": 0,
    }


async def test_a_reset_changes_nothing_live_and_nothing_of_bob(
    busy: Person, bob: Person, conn: Conn, domain: str
) -> None:
    await simulate(bob, type="manifest", manifest=manifest([alias(f"ada@{domain}")]), persist=True)
    ids = [busy.account.id, bob.account.id, bob.account.sandbox_id]
    before = [await count_rows(conn, each) for each in ids], await registry(conn, busy)
    await simulate(busy.test, type="reset")

    assert ([await count_rows(conn, each) for each in ids], await registry(conn, busy)) == before


async def test_a_second_reset_deletes_nothing_and_names_can_be_claimed_again(busy: Person, domain: str) -> None:
    await simulate(busy, type="reset")
    again = await simulate(busy, type="reset")
    found = await simulate(busy, type="manifest", manifest=manifest([alias(f"ada@{domain}")]), persist=True)

    assert again["cleared"] == NOTHING
    assert found["promotion"]["summary"] == {"succeeded": 1}


async def test_a_reset_waits_for_a_rehearsal_of_another_process(
    alice: Person, conn: Conn, database: Database, domain: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = full_manifest(
        projects=[{"key": "shop", "name": "Shop"}], aliases=[alias(f"ada@{domain}", project="shop")]
    )
    publish, resets = completion.publish, []

    async def reset() -> Mapping[str, int]:
        async with database.transaction() as other:
            return await simulation.reset_account(other, account_id=alice.account.id)

    async def meanwhile(*args: Any, **options: Any) -> None:
        resets.append(asyncio.create_task(reset()))
        while not resets[0].done() and not await waiting(conn):
            pass
        await publish(*args, **options)

    monkeypatch.setattr(completion, "publish", meanwhile)
    await simulate(alice, type="manifest", manifest=wanted, persist=True)

    cleared = await resets[0]
    assert (cleared["aliases"], cleared["projects"]) == (1, 1)
    assert (await count_rows(conn, alice.account.sandbox_id)).keys() <= KEPT


async def test_a_test_invoice_number_is_never_reused(busy: Person, domain: str) -> None:
    numbers = []
    for _ in range(2):
        await simulate(busy, type="reset")
        wanted = manifest([alias(f"ada@{domain}")])
        found = await simulate(busy, type="manifest", manifest=wanted, persist=True)
        numbers.append(found["invoices"][0]["number"])

    assert len({*numbers}) == 2


async def test_pending_jobs_of_deleted_rows_do_nothing(
    alice: Person, conn: Conn, event_worker: Worker, domain: str
) -> None:
    await create(alice.test, events=["*"])
    await simulate(alice, type="manifest", manifest=manifest([alias(f"ada@{domain}")]), persist=True)
    await simulate(alice, type="reset")
    await event_worker.work()

    query = "SELECT task_name FROM procrastinate_jobs WHERE args::text LIKE %s"
    assert await (await conn.execute(query, (f"%{alice.account.sandbox_id}%",))).fetchall() == []
    assert await deliveries(alice.test) == []


@pytest.mark.parametrize(
    "clear",
    [claims.clear_aliases, projects.clear, account_domains.clear, invoices.clear, destinations.clear_destinations],
)
async def test_no_package_clears_a_live_account(
    alice: Person, database: Database, clear: Callable[..., Awaitable[object]]
) -> None:
    with pytest.raises(ValueError, match="not a sandbox account"):
        async with database.transaction() as conn:
            await clear(conn, account_id=alice.account.id)


async def registry(conn: Conn, person: Person) -> list[object]:
    """Return the rows of the registries for the live account."""
    found: list[object] = []
    for table in ("aliases_names", "aliases_skeletons", "domains_holders"):
        query = sql.SQL("SELECT * FROM {} WHERE realm <> %s ORDER BY 1, 2, 3").format(sql.Identifier(table))
        found.append(await (await conn.execute(query, (person.account.sandbox_id,))).fetchall())
    return found
