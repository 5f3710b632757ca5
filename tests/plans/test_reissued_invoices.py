"""A reissued invoice keeps the due dates of the void one."""

import asyncio
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from builders.aliases import billing
from builders.invoices import invoices, payments
from builders.invoices.records import InvoiceStatus, Seller
from builders.kit.db.connections import Conn, Database
from builders.kit.values import clock
from tests.cast import Person, replaced
from tests.invoices.make import pass_by, published, usd
from tests.plans.make import Domains, alias, apply, findings, list_invoices, pay_invoice, plan
from tests.worker import Worker

SELLER = Seller(name="Harbour Names Ltd")


@pytest.fixture(autouse=True)
async def _without_other_invoices(conn: Conn) -> None:
    """Make the open invoices of other tests uncollectible."""
    await conn.execute("UPDATE invoices_invoices SET status = 'uncollectible' WHERE status = 'open'")


async def _renewed_together(database: Database, person: Person, domain: str) -> dict[str, str]:
    """Renew two names, claimed 20 days apart, on one unpaid invoice; return their ids by local part."""
    made = await apply(person, alias(f"ada@{domain}"), name="one")
    clock.move(timedelta(days=20))
    later = await apply(person, alias(f"grace@{domain}"), name="two")
    for each in await list_invoices(database, person):
        await pay_invoice(database, person, each)
    clock.move(timedelta(days=336))  # 9 days before one renewal, 29 before the other
    async with database.transaction() as conn:
        assert await billing.renew_aliases(conn, account_id=person.account.id, seller=SELLER) == 2
    steps = [*made["steps"], *later["steps"]]
    return {each["address"].removeprefix("alias."): each["resource_id"] for each in steps}


async def _status(person: Person, alias_id: str) -> str:
    return str((await person.get(f"/v1/aliases/{alias_id}")).json()["status"])


async def test_a_release_does_not_restore_unpaid_names(
    alice: Person, database: Database, domain: str, event_worker: Worker, conn: Conn
) -> None:
    """Otherwise a release would give the other names of the invoice a second grace period."""
    ids = await _renewed_together(database, alice, domain)
    await pass_by(database, timedelta(days=24))
    await event_worker.work()
    assert await _status(alice, ids["ada"]) == "suspended"

    assert (await alice.delete(f"/v1/aliases/{ids['grace']}")).status_code == 200
    await event_worker.work()

    assert await _status(alice, ids["ada"]) == "suspended"
    planned = await plan(alice, alias(f"linus@{domain}"))
    assert findings(planned["errors"]) == {("alias.linus", "payment_overdue")}
    await pay_invoice(database, alice, (await list_invoices(database, alice))[-1])
    await event_worker.work()
    assert await _status(alice, ids["ada"]) == "active"
    assert len(await published(conn, alice.account.id, "invoice.grace_ended")) == 2


@pytest.mark.parametrize("days", [1, 13])
async def test_a_reissued_invoice_keeps_its_due_dates(
    alice: Person, database: Database, domain: str, days: int
) -> None:
    """The grace period ends at the same time, and no reminder is repeated."""
    ids = await _renewed_together(database, alice, domain)
    await pass_by(database, timedelta(days=9 + days))
    before = (await list_invoices(database, alice))[-1]
    assert (await alice.delete(f"/v1/aliases/{ids['grace']}")).status_code == 200
    after = (await list_invoices(database, alice))[-1]
    kept = [(each.stage, each.due_at, each.suspends_at) for each in (before, after)]
    assert kept[0] == kept[1]
    assert after.status is InvoiceStatus.OPEN
    async with database.connection() as conn:
        assert await invoices.find_arrears(conn, account_id=alice.account.id) is None
    await pass_by(database, timedelta(days=15 - days))
    async with database.connection() as conn:
        assert await invoices.find_arrears(conn, account_id=alice.account.id) == after.number


async def test_a_reissued_invoice_keeps_its_rounding(alice: Person, database: Database, domains: Domains) -> None:
    """The tax of each line is rounded separately, at the former rate."""
    settings = alice.service.api.state.settings.model_copy(update={"tax_rate": Decimal("7.7")})
    with replaced(alice.service, settings=settings):
        name = await domains(price_amount="0.45")
        three = await apply(alice, *(alias(f"{each}@{name}") for each in ("ada", "grace", "linus")))
    (first,) = await list_invoices(database, alice)
    for step in three["steps"][:2]:
        assert (await alice.delete(f"/v1/aliases/{step['resource_id']}")).status_code == 200
    again = [each for each in await list_invoices(database, alice) if each.status is InvoiceStatus.OPEN]
    assert [(each.tax_rate, str(each.total)) for each in again] == [(first.tax_rate, "0.48 USD")]
    assert str(first.total) == "1.44 USD"


async def test_concurrent_releases_and_payments_lose_no_money(
    alice: Person, database: Database, domain: str
) -> None:
    made = await apply(alice, *(alias(f"{each}@{domain}") for each in ("ada", "grace", "linus", "alan")))
    (first,) = await list_invoices(database, alice)
    owner: dict[str, Any] = {"account_id": alice.account.id, "invoice_id": first.id, "method": "transfer"}

    async def pay_part(reference: str) -> None:
        async with database.transaction() as conn:
            await payments.pay(conn, **owner, reference=reference, amount=usd("16.00"))

    async def release(alias_id: str) -> None:
        assert (await alice.delete(f"/v1/aliases/{alias_id}")).status_code == 200

    releases = [release(each["resource_id"]) for each in made["steps"][:3]]
    await asyncio.gather(*releases, *(pay_part(str(at)) for at in range(4)))

    found = [each for each in await list_invoices(database, alice) if each.status is not InvoiceStatus.VOID]
    kept = sum((each.credit_applied + each.amount_paid for each in found), usd("0.00"))
    returned = [line for each in found for line in each.lines if line.credited_at]
    async with database.connection() as conn:
        credit = await payments.get_credit(conn, account_id=alice.account.id)
    balance = sum(credit.balances, usd("0.00"))
    assert balance + kept - sum((each.amount for each in returned), usd("0.00")) == usd("64.00")
    charged = [line.description for each in found for line in each.lines if not line.credited_at]
    assert charged == [f"alan@{domain}"]
