"""A claim that is released within its cooling-off period is not owed, once for each account and name."""

import asyncio
from datetime import timedelta
from typing import Any

from builders.invoices import payments
from builders.invoices.records import InvoiceStatus
from builders.kit.db.connections import Database
from builders.kit.values import clock
from builders.plans import planning
from builders.plans.promotion import batches, run
from builders.plans.records import TargetAccount
from tests.cast import Person, replaced
from tests.invoices.make import usd
from tests.plans.make import (
    AFTER_COOLING_OFF,
    PROMOTE,
    alias,
    apply,
    findings,
    list_invoices,
    parameters,
    pay_invoice,
    plan,
    promote,
    promotion_request,
    start_promotion,
)
from tests.profile.make import text
from tests.worker import Worker


async def test_a_release_undoes_the_claim_and_reissues_the_other_lines(
    alice: Person, database: Database, domain: str
) -> None:
    await apply(alice, alias(f"ada@{domain}"), alias(f"grace@{domain}"))
    (first,) = await list_invoices(database, alice)

    planned = await plan(alice, alias(f"grace@{domain}"), prune=True)
    await promote(alice, planned)

    (warning,) = planned["warnings"]
    assert (warning["code"], warning["address"]) == ("claim_undone", "alias.ada")
    assert first.number is not None
    assert first.number in warning["message"]
    assert "12.00 USD" in warning["message"]
    void, second = await list_invoices(database, alice)
    assert (void.id, void.status) == (first.id, InvoiceStatus.VOID)
    assert (second.status, str(second.total), second.due_at) == (InvoiceStatus.OPEN, "12.00 USD", first.due_at)
    assert [each.description for each in second.lines] == [f"grace@{domain}"]
    assert [each.period_end for each in second.lines] == [
        each.period_end for each in first.lines if each.description == f"grace@{domain}"
    ]


async def test_a_paid_charge_becomes_credit(alice: Person, database: Database, domain: str) -> None:
    await apply(alice, alias(f"ada@{domain}"), alias(f"grace@{domain}"))
    (first,) = await list_invoices(database, alice)
    await pay_invoice(database, alice, first)

    planned = await plan(alice, alias(f"grace@{domain}"), prune=True)
    await promote(alice, planned)

    assert findings(planned["warnings"]) == {("alias.ada", "claim_undone")}
    (paid,) = await list_invoices(database, alice)
    assert paid.status is InvoiceStatus.PAID
    async with database.connection() as conn:
        credit = await payments.get_credit(conn, account_id=alice.account.id)
    assert [str(each) for each in credit.balances] == ["12.00 USD"]
    answer = (await alice.get(f"/v1/invoices/{paid.id}")).json()
    page = await alice.get(f"/v1/invoices/{paid.id}", headers={"Accept": "text/html"})
    assert "12.00 USD of it became credit" in page.text
    credited = {each["description"]: each["credited_at"] is not None for each in answer["lines"]}
    assert credited == {f"ada@{domain}": True, f"grace@{domain}": False}


async def test_a_claim_of_a_name_is_undone_once(alice: Person, database: Database, domain: str) -> None:
    ada = alias(f"ada@{domain}")
    await apply(alice, ada)
    await apply(alice, prune=True)
    planned = await plan(alice, ada)
    assert planned["actions"][0]["price"]["amount"] == "12.00"
    await promote(alice, planned)

    planned = await plan(alice, prune=True)
    assert findings(planned["warnings"]) == {("alias.ada", "period_not_refunded")}
    await promote(alice, planned)
    await apply(alice, ada)

    statuses = [(each.status, str(each.total)) for each in await list_invoices(database, alice)]
    assert statuses == [(InvoiceStatus.VOID, "12.00 USD"), (InvoiceStatus.OPEN, "12.00 USD")]


async def test_a_release_by_the_owner_undoes_the_claim(alice: Person, database: Database, domain: str) -> None:
    promotion = await apply(alice, alias(f"ada@{domain}"), alias(f"grace@{domain}"))
    ids = {each["address"]: each["resource_id"] for each in promotion["steps"]}
    assert (await alice.delete(f"/v1/aliases/{ids['alias.ada']}")).status_code == 200
    assert (await alice.delete(f"/v1/aliases/{ids['alias.ada']}")).status_code == 200
    assert [(each.status, str(each.total)) for each in await list_invoices(database, alice)] == [
        (InvoiceStatus.VOID, "24.00 USD"),
        (InvoiceStatus.OPEN, "12.00 USD"),
    ]
    clock.move(AFTER_COOLING_OFF)
    assert (await alice.delete(f"/v1/aliases/{ids['alias.grace']}")).status_code == 200
    assert (await apply(alice, alias(f"grace@{domain}")))["invoices"] == []


async def test_a_release_by_the_owner_reports_the_charges(alice: Person, database: Database, domain: str) -> None:
    promotion = await apply(alice, *(alias(f"{each}@{domain}") for each in ("ada", "grace", "linus")))
    ada, grace, linus = [f"/v1/aliases/{each['resource_id']}" for each in promotion["steps"]]

    undone = (await alice.delete(ada)).json()
    _, second = await list_invoices(database, alice)
    await pay_invoice(database, alice, second)
    credited = (await alice.delete(grace)).json()
    clock.move(AFTER_COOLING_OFF)
    kept = (await alice.delete(linus)).json()

    outcomes = [(each["number"], each["outcome"]) for each in undone["charges"]]
    assert (undone["claim_undone"], undone["free_reclaim"], outcomes[0][1]) == (True, None, "voided")
    assert (credited["claim_undone"], credited["free_reclaim"]) == (True, None)
    assert [each["outcome"] for each in credited["charges"]] == ["voided", "credited"]
    assert (kept["claim_undone"], kept["charges"][-1]["outcome"]) == (False, "paid")
    assert kept["charges"][-1]["number"] == second.number
    assert kept["charges"][-1]["amount"] == {"amount": "12.00", "currency": "USD"}
    assert kept["free_reclaim"] == {"until": kept["charges"][-1]["period_end"]}
    assert (await alice.delete(linus)).json() == kept


async def test_a_plan_is_stale_after_the_cooling_off_period(alice: Person, domain: str) -> None:
    await apply(alice, alias(f"ada@{domain}"))
    clock.move(timedelta(hours=23))
    planned = await plan(alice, prune=True)
    clock.move(timedelta(hours=2))

    answer = await alice.post(PROMOTE, json=promotion_request(planned))

    assert (answer.status_code, answer.json()["code"]) == (409, "plan_stale")
    assert findings(answer.json()["changed"]) == {("alias.ada", "cooling_off_ended")}


async def test_a_partial_payment_pays_the_reissued_invoice(alice: Person, database: Database, domain: str) -> None:
    owner: dict[str, Any] = {"account_id": alice.account.id}
    async with database.transaction() as conn:
        await payments.grant_credit(conn, **owner, amount=usd("5.00"), reason="a gift", reference="1")
    await apply(alice, alias(f"ada@{domain}"), alias(f"grace@{domain}"))
    (first,) = await list_invoices(database, alice)
    async with database.transaction() as conn:
        await payments.pay(
            conn, **owner, invoice_id=first.id, method="transfer", reference="1", amount=usd("10.00")
        )

    await apply(alice, alias(f"grace@{domain}"), prune=True)

    _, second = await list_invoices(database, alice)
    async with database.connection() as conn:
        credit = await payments.get_credit(conn, **owner)
    assert (second.status, second.credit_applied, second.amount_paid) == (
        InvoiceStatus.PAID,
        usd("12.00"),
        usd("0.00"),
    )
    assert credit.balances == [usd("3.00")]


async def test_a_payment_for_the_void_invoice_becomes_credit(
    alice: Person, database: Database, domain: str
) -> None:
    await apply(alice, alias(f"ada@{domain}"))
    (first,) = await list_invoices(database, alice)
    await apply(alice, prune=True)
    owner: dict[str, Any] = {"account_id": alice.account.id, "invoice_id": first.id}
    for _ in range(2):
        async with database.transaction() as conn:
            paid = await payments.pay(conn, **owner, method="transfer", reference="1", amount=usd("12.00"))
    async with database.connection() as conn:
        credit = await payments.get_credit(conn, account_id=alice.account.id)
    assert (paid.invoice.status, paid.repeated, credit.balances) == (InvoiceStatus.VOID, True, [usd("12.00")])


async def test_concurrent_releases_undo_the_claim_once(alice: Person, database: Database, domain: str) -> None:
    promotion = await apply(alice, alias(f"ada@{domain}"), alias(f"grace@{domain}"))
    (first,) = await list_invoices(database, alice)
    await pay_invoice(database, alice, first)
    paths = [f"/v1/aliases/{each['resource_id']}" for each in promotion["steps"]]

    answers = await asyncio.gather(*(alice.delete(each) for each in paths * 3))

    assert {each.status_code for each in answers} == {200}
    async with database.connection() as conn:
        credit = await payments.get_credit(conn, account_id=alice.account.id)
    assert credit.balances == [usd("24.00")]
    assert sorted(str(each.amount) for each in credit.entries) == ["12.00 USD", "12.00 USD"]


async def test_a_claim_undone_before_its_promotion_completes_is_not_billed(
    alice: Person, database: Database, domain: str
) -> None:
    planned = await plan(alice, alias(f"ada@{domain}"), alias(f"grace@{domain}"))
    promotion_id = await start_promotion(database, alice, planned)
    async with database.transaction() as inside:
        found = await run.get_promotion(inside, account_id=alice.account.id, promotion_id=promotion_id)
        stored = await planning.get_plan(inside, account_id=alice.account.id, plan_id=found.plan_id)
        await batches.execute(
            inside,
            target=TargetAccount(account_id=alice.account.id),
            plan=stored,
            steps=found.steps,
            tasks=batches.list_next(stored, found.steps),
            parameters=parameters(alice),
        )
        await inside.execute("UPDATE plans_steps SET status = 'succeeded' WHERE promotion_id = %s", [promotion_id])
    ada = next(each.resource_id for each in found.steps if each.address == "alias.ada")
    assert (await alice.delete(f"/v1/aliases/{ada}")).status_code == 200

    promotion = await promote(alice, planned)

    assert [each["total"]["amount"] for each in promotion["invoices"]] == ["12.00"]
    assert [[line.description for line in each.lines] for each in await list_invoices(database, alice)] == [
        [f"grace@{domain}"]
    ]


async def test_without_a_cooling_off_period_every_claim_is_owed(
    alice: Person, database: Database, domain: str
) -> None:
    settings = alice.service.api.state.settings.model_copy(update={"cooling_off_hours": 0})
    with replaced(alice.service, settings=settings):
        await apply(alice, alias(f"ada@{domain}"))
        planned = await plan(alice, prune=True)
        assert findings(planned["warnings"]) == {("alias.ada", "period_not_refunded")}
        await promote(alice, planned)
    assert [each.status for each in await list_invoices(database, alice)] == [InvoiceStatus.OPEN]


async def test_a_void_invoice_is_not_mailed(
    alice: Person, database: Database, domain: str, event_worker: Worker
) -> None:
    await apply(alice, alias(f"ada@{domain}"), alias(f"grace@{domain}"))
    await apply(alice, alias(f"grace@{domain}"), prune=True)
    said = "\n".join(map(text, await event_worker.list_emails(alice.account.email)))
    mailed = [each.number in said for each in await list_invoices(database, alice) if each.number]
    assert mailed == [False, True]
