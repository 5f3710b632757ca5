"""Names with an unpaid invoice are suspended, restored and released once, in any sequence of the events."""

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from uuid import UUID

import pytest

from builders.aliases import claims
from builders.invoices import payments
from builders.invoices.records import GRACE, UNCOLLECTIBLE_AFTER, Invoice
from builders.kit.db.connections import Conn, Database
from tests.aliases.make import ALIASES, QUARANTINE, AliasWorker, Json, Owner, change, published, spec, wanted
from tests.cast import Person
from tests.invoices.make import line, make_invoice, pass_by

GRACE_AND_DUE = timedelta(days=14) + GRACE + timedelta(minutes=1)


async def invoice_for(database: Database, owner: Owner, *alias_ids: UUID) -> Invoice:
    """Issue an invoice with a line for each name."""
    lines = [line(alias_id=each) for each in alias_ids]
    return await make_invoice(database, account_id=owner.account_id, lines=lines)


async def pay(database: Database, invoice: Invoice) -> None:
    async with database.transaction() as conn:
        await payments.pay(
            conn,
            account_id=invoice.account_id,
            invoice_id=invoice.id,
            method="transfer",
            reference=str(invoice.id),
        )


async def settle(database: Database, invoice: Invoice) -> None:
    """Settle the invoice as the job does."""
    async with database.transaction() as conn:
        await claims.settle_invoice(
            conn, account_id=invoice.account_id, invoice_id=invoice.id, quarantine=QUARANTINE
        )


async def advance(database: Database, worker: AliasWorker, by: timedelta) -> None:
    """Move the clock, and advance the invoices."""
    await pass_by(database, by)
    await worker.work()


async def statuses(person: Person) -> dict[str, str]:
    items: list[Json] = (await person.get(ALIASES)).json()["items"]
    return {each["local_part"]: each["status"] for each in items}


def names(events: Sequence[tuple[str, Json]]) -> list[tuple[str, str]]:
    return sorted((name, data["local_part"]) for name, data in events if name != "alias.created")


async def test_unpaid_names_are_suspended_and_restored(
    alice: Person, owner: Owner, database: Database, worker: AliasWorker, conn: Conn, domain: str
) -> None:
    ids = await owner.claim(spec("ada", domain), spec("bob", domain, enabled=False), spec("paid", domain))
    invoice = await invoice_for(database, owner, *ids[:2])
    await advance(database, worker, timedelta(days=15))
    assert set((await statuses(alice)).values()) == {"active", "disabled"}
    await advance(database, worker, GRACE)
    assert await statuses(alice) == {"ada": "suspended", "bob": "suspended", "paid": "active"}
    suspended = await published(conn, owner.account_id, "alias.suspended")
    assert {data["invoice_id"] for _, data in suspended} == {str(invoice.id)}
    assert {(data["reason"], data["enabled"]) for _, data in suspended} == {("unpaid", False)}
    await pay(database, invoice)
    await worker.work()
    assert await statuses(alice) == {"ada": "active", "bob": "disabled", "paid": "active"}
    assert names(await published(conn, owner.account_id)) == [
        ("alias.restored", "ada"),
        ("alias.restored", "bob"),
        ("alias.suspended", "ada"),
        ("alias.suspended", "bob"),
    ]


async def test_a_suspended_name_stays_taken(
    owner: Owner, bob: Person, database: Database, worker: AliasWorker, domain: str
) -> None:
    await invoice_for(database, owner, await owner.claim_one("ada", domain))
    await advance(database, worker, GRACE_AND_DUE)
    assert await Owner.of(database, bob).unavailable(wanted("ada", domain)) == {"ada": "taken"}


async def test_names_of_an_uncollectible_invoice_are_released(
    alice: Person, owner: Owner, bob: Person, database: Database, worker: AliasWorker, conn: Conn, domain: str
) -> None:
    alias_id = await owner.claim_one("ada", domain)
    await invoice_for(database, owner, alias_id)
    await advance(database, worker, GRACE_AND_DUE)
    await advance(database, worker, UNCOLLECTIBLE_AFTER - GRACE)
    gone = (await alice.get(f"{ALIASES}/{alias_id}")).json()
    assert (gone["status"], gone["quarantined_until"] is None) == ("deleted", False)
    assert await Owner.of(database, bob).unavailable(wanted("ada", domain)) == {"ada": "quarantined"}
    assert names(await published(conn, owner.account_id)) == [("alias.deleted", "ada"), ("alias.suspended", "ada")]


async def test_a_voided_invoice_restores_its_names(
    alice: Person, owner: Owner, database: Database, worker: AliasWorker, domain: str
) -> None:
    invoice = await invoice_for(database, owner, await owner.claim_one("ada", domain))
    await advance(database, worker, GRACE_AND_DUE)
    async with database.transaction() as conn:
        await payments.void(conn, account_id=owner.account_id, invoice_id=invoice.id)
    await worker.work()
    assert await statuses(alice) == {"ada": "active"}


async def test_a_name_stays_suspended_for_another_unpaid_invoice(
    alice: Person, owner: Owner, database: Database, worker: AliasWorker, conn: Conn, domain: str
) -> None:
    alias_id = await owner.claim_one("ada", domain)
    both = [await invoice_for(database, owner, alias_id) for _ in range(2)]
    await advance(database, worker, GRACE_AND_DUE)
    assert len(await published(conn, owner.account_id, "alias.suspended")) == 1
    for invoice, status in zip(both, ("suspended", "active"), strict=True):
        await pay(database, invoice)
        await worker.work()
        assert await statuses(alice) == {"ada": status}
    assert len(await published(conn, owner.account_id, "alias.restored")) == 1


async def test_two_invoices_paid_concurrently_restore_a_name(
    alice: Person, owner: Owner, database: Database, worker: AliasWorker, conn: Conn, domain: str
) -> None:
    alias_id = await owner.claim_one("ada", domain)
    both = [await invoice_for(database, owner, alias_id) for _ in range(2)]
    await advance(database, worker, GRACE_AND_DUE)
    for each in both:
        await pay(database, each)
    await asyncio.gather(*(settle(database, each) for each in both * 3))
    assert await statuses(alice) == {"ada": "active"}
    assert len(await published(conn, owner.account_id, "alias.restored")) == 1


async def test_repeated_and_late_events_change_nothing(
    alice: Person, owner: Owner, database: Database, worker: AliasWorker, conn: Conn, domain: str
) -> None:
    invoice = await invoice_for(database, owner, await owner.claim_one("ada", domain))
    await settle(database, invoice)  # not overdue
    await pass_by(database, GRACE_AND_DUE)
    await pay(database, invoice)  # before the event of the grace period is dispatched
    await worker.work()
    await settle(database, invoice)
    assert await statuses(alice) == {"ada": "active"}
    assert names(await published(conn, owner.account_id)) == []


async def test_a_change_during_a_suspension_applies_after_it(
    alice: Person, owner: Owner, database: Database, worker: AliasWorker, domain: str
) -> None:
    invoice = await invoice_for(database, owner, await owner.claim_one("ada", domain))
    await advance(database, worker, GRACE_AND_DUE)
    await owner.update(change((await owner.aliases())["ada"], enabled=False))
    assert await statuses(alice) == {"ada": "suspended"}
    await pay(database, invoice)
    await worker.work()
    assert await statuses(alice) == {"ada": "disabled"}


async def test_a_payment_does_not_restore_a_name_that_the_operator_suspended(
    alice: Person, owner: Owner, database: Database, worker: AliasWorker, conn: Conn, domain: str
) -> None:
    alias_id = await owner.claim_one("ada", domain)
    await conn.execute("UPDATE aliases SET status = 'suspended' WHERE id = %s", [alias_id])
    invoice = await invoice_for(database, owner, alias_id)
    await advance(database, worker, GRACE_AND_DUE)
    await pay(database, invoice)
    await worker.work()
    assert await statuses(alice) == {"ada": "suspended"}


async def test_an_unpaid_invoice_does_not_release_a_name_that_the_operator_suspended(
    alice: Person, owner: Owner, database: Database, worker: AliasWorker, conn: Conn, domain: str
) -> None:
    """Otherwise the account could pay late and claim the name again, which would end the suspension."""
    stopped, other = await owner.claim_one("ada", domain), await owner.claim_one("grace", domain)
    await conn.execute("UPDATE aliases SET status = 'suspended' WHERE id = %s", [stopped])
    await invoice_for(database, owner, stopped, other)
    await advance(database, worker, GRACE_AND_DUE + timedelta(days=31))
    assert await statuses(alice) == {"ada": "suspended"}


async def test_released_names_and_names_of_other_accounts_do_not_change(
    owner: Owner, bob: Person, database: Database, worker: AliasWorker, domain: str
) -> None:
    mine = await owner.claim_one("ada", domain)
    other = await Owner.of(database, bob).claim_one("bob", domain)
    await owner.release((await owner.aliases())["ada"])
    await invoice_for(database, owner, mine, other)
    await advance(database, worker, GRACE_AND_DUE)
    assert await statuses(bob) == {"bob": "active"}


@pytest.mark.parametrize("size", [3, 60])
async def test_names_are_suspended_in_sets(
    alice: Person, owner: Owner, database: Database, worker: AliasWorker, domain: str, size: int
) -> None:
    ids = await owner.claim(*(spec(f"crew{at:04}", domain) for at in range(size)))
    await invoice_for(database, owner, *ids)
    await advance(database, worker, GRACE_AND_DUE)
    items = (await alice.get(ALIASES, params={"limit": 100, "status": "suspended"})).json()["items"]
    assert len(items) == size
