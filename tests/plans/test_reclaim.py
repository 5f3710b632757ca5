"""A name that is released and claimed again within its paid period is billed once."""

import asyncio
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from builders.aliases import billing
from builders.invoices import invoices, payments
from builders.invoices.records import InvoiceStatus, Seller
from builders.kit.db.connections import Conn, Database
from builders.kit.values import clock
from tests.cast import Person
from tests.invoices.make import pass_by
from tests.plans.make import (
    AFTER_COOLING_OFF,
    PROMOTE,
    YEAR,
    Domains,
    Json,
    alias,
    apply,
    findings,
    get_alias,
    list_invoices,
    pay_invoice,
    plan,
    promote,
    promotion_request,
    start_promotion,
)
from tests.worker import Worker


@pytest.fixture(autouse=True)
async def _without_other_invoices(conn: Conn) -> None:
    """Make the open invoices of other tests uncollectible."""
    await conn.execute("UPDATE invoices_invoices SET status = 'uncollectible' WHERE status = 'open'")


async def test_the_same_name_and_period_is_billed_once(alice: Person, database: Database, domain: str) -> None:
    before = await get_alias(alice, await apply(alice, alias(f"ada@{domain}")))
    clock.move(AFTER_COOLING_OFF)
    await apply(alice, prune=True)

    planned = await plan(alice, alias(f"ada@{domain}", note="back"))
    promotion = await promote(alice, planned)
    after = await get_alias(alice, promotion)

    (action,) = planned["actions"]
    assert (action["action"], action["price"]["amount"], planned["totals"]) == ("create", "0.00", [])
    assert before["renews_at"][:10] in action["reason"]
    assert (promotion["status"], promotion["invoices"]) == ("succeeded", [])
    assert [str(each.total) for each in await list_invoices(database, alice)] == ["12.00 USD"]
    kept = ("id", "claimed_at", "renews_at", "price")
    assert [after[name] for name in kept] == [before[name] for name in kept]
    assert (after["status"], after["note"]) == ("active", "back")


async def test_a_plan_with_a_release_warns_about_the_charge(alice: Person, domain: str) -> None:
    name = await get_alias(alice, await apply(alice, alias(f"ada@{domain}")))
    clock.move(AFTER_COOLING_OFF)

    planned = await plan(alice, prune=True)

    (warning,) = planned["warnings"]
    assert (warning["code"], warning["address"]) == ("period_not_refunded", "alias.ada")
    assert "not refunded" in warning["message"]
    assert name["renews_at"][:10] in warning["message"]
    assert warning["until"] == name["renews_at"]


async def test_a_replacement_warns_about_the_charge(alice: Person, domain: str) -> None:
    await apply(alice, alias(f"ada@{domain}", key="x"))
    clock.move(AFTER_COOLING_OFF)
    planned = await plan(alice, alias(f"grace@{domain}", key="x"))
    assert findings(planned["warnings"]) == {("alias.x", "period_not_refunded")}


async def test_after_the_paid_period_the_price_is_normal(alice: Person, database: Database, domain: str) -> None:
    await apply(alice, alias(f"ada@{domain}"))
    await pay_invoice(database, alice, (await list_invoices(database, alice))[0])
    clock.move(AFTER_COOLING_OFF)
    await apply(alice, prune=True)
    clock.move(YEAR)
    planned = await plan(alice, alias(f"ada@{domain}"))
    assert planned["actions"][0]["price"]["amount"] == "12.00"
    assert len((await promote(alice, planned))["invoices"]) == 1


async def test_another_account_pays_after_the_quarantine(
    alice: Person, bob: Person, database: Database, domain: str
) -> None:
    await apply(alice, alias(f"ada@{domain}"))
    await pay_invoice(database, alice, (await list_invoices(database, alice))[0])
    clock.move(AFTER_COOLING_OFF)
    await apply(alice, prune=True)
    clock.move(timedelta(days=91))
    mine = await plan(alice, alias(f"ada@{domain}"))
    bobs = await plan(bob, alias(f"ada@{domain}"))
    prices = [each["actions"][0]["price"]["amount"] for each in (mine, bobs)]
    assert prices == ["0.00", "12.00"]


@pytest.mark.parametrize("how", ["void", "overdue", "uncollectible"])
async def test_an_unpaid_period_is_not_free(alice: Person, database: Database, domain: str, how: str) -> None:
    await apply(alice, alias(f"ada@{domain}"))
    (first,) = await list_invoices(database, alice)
    clock.move(AFTER_COOLING_OFF)
    await apply(alice, prune=True)
    owner: dict[str, Any] = {"account_id": alice.account.id, "invoice_id": first.id}
    if how == "overdue":
        await pass_by(database, timedelta(days=30))
    else:
        async with database.transaction() as conn:
            await (payments.void if how == "void" else invoices.mark_uncollectible)(conn, **owner)
    planned = await plan(alice, alias(f"ada@{domain}"))
    if how == "void":
        assert planned["actions"][0]["price"]["amount"] == "12.00"
        assert len((await promote(alice, planned))["invoices"]) == 1
    else:
        assert findings(planned["errors"]) == {("alias.ada", "payment_overdue")}
        await pay_invoice(database, alice, first)
        assert (await apply(alice, alias(f"ada@{domain}")))["invoices"] == []


async def test_a_voided_invoice_makes_the_plan_stale(alice: Person, database: Database, domain: str) -> None:
    await apply(alice, alias(f"ada@{domain}"))
    (first,) = await list_invoices(database, alice)
    clock.move(AFTER_COOLING_OFF)
    await apply(alice, prune=True)
    early, late = await plan(alice, alias(f"ada@{domain}")), await plan(alice, alias(f"ada@{domain}"))
    await start_promotion(database, alice, late)
    async with database.transaction() as conn:
        await payments.void(conn, account_id=alice.account.id, invoice_id=first.id)

    promotion = await promote(alice, late)

    error = promotion["steps"][0]["error"]
    assert (promotion["status"], error["code"], error["retryable"]) == ("failed", "price_changed", False)
    answer = await alice.post(PROMOTE, json=promotion_request(early))
    assert findings(answer.json()["changed"]) == {("alias.ada", "price_changed")}


async def test_a_plan_with_a_price_is_stale_after_the_name_has_a_paid_period(alice: Person, domain: str) -> None:
    """Otherwise it would bill the same period again."""
    ada = alias(f"ada@{domain}")
    await apply(alice, ada)
    await apply(alice, prune=True)
    priced = await plan(alice, ada)
    await apply(alice, ada)
    await apply(alice, prune=True)

    answer = await alice.post(PROMOTE, json=promotion_request(priced))

    assert priced["actions"][0]["price"]["amount"] == "12.00"
    assert (answer.status_code, answer.json()["code"]) == (409, "plan_stale")
    assert findings(answer.json()["changed"]) == {("alias.ada", "price_changed")}


async def test_a_reclaimed_name_is_suspended_with_its_invoice(
    alice: Person, database: Database, domain: str, event_worker: Worker
) -> None:
    await apply(alice, alias(f"ada@{domain}"))
    (first,) = await list_invoices(database, alice)
    clock.move(AFTER_COOLING_OFF)
    await apply(alice, prune=True)
    back = await apply(alice, alias(f"ada@{domain}"))
    await pass_by(database, timedelta(days=30))
    await event_worker.work()
    assert (await get_alias(alice, back))["status"] == "suspended"
    await pay_invoice(database, alice, first)
    await event_worker.work()
    assert (await get_alias(alice, back))["status"] == "active"


async def test_a_new_price_does_not_affect_the_paid_period(
    alice: Person, domains: Domains, database: Database
) -> None:
    name = await domains()
    before = await get_alias(alice, await apply(alice, alias(f"ada@{name}")))
    clock.move(AFTER_COOLING_OFF)
    await apply(alice, prune=True)
    await domains(name, price_amount="99.00", price_currency="EUR", price_interval="month")
    after = await get_alias(alice, await apply(alice, alias(f"ada@{name}")))
    assert (after["price"], after["renews_at"]) == (before["price"], before["renews_at"])
    assert len(await list_invoices(database, alice)) == 1


async def test_a_one_time_price_is_paid_once(alice: Person, domains: Domains, database: Database) -> None:
    name = await domains(price_interval="once")
    await apply(alice, alias(f"ada@{name}"))
    await pay_invoice(database, alice, (await list_invoices(database, alice))[0])
    clock.move(AFTER_COOLING_OFF)
    planned = await plan(alice, prune=True)
    assert "for good" in planned["warnings"][0]["message"]
    await promote(alice, planned)
    clock.move(3 * YEAR)
    assert (await apply(alice, alias(f"ada@{name}")))["invoices"] == []


async def test_one_plan_can_release_and_claim_a_name(alice: Person, database: Database, domain: str) -> None:
    await apply(alice, alias(f"ada@{domain}", key="x"))
    clock.move(AFTER_COOLING_OFF)
    await apply(alice, alias(f"grace@{domain}", key="x"))
    back = await plan(alice, alias(f"ada@{domain}", key="x"))
    assert findings(back["warnings"]) == {("alias.x", "claim_undone")}
    assert (back["actions"][0]["action"], back["actions"][0]["price"]["amount"]) == ("replace", "0.00")
    await promote(alice, back)
    statuses = [(each.status, str(each.total)) for each in await list_invoices(database, alice)]
    assert statuses == [(InvoiceStatus.OPEN, "12.00 USD"), (InvoiceStatus.VOID, "12.00 USD")]


async def test_a_rehearsal_follows_the_same_rules(alice: Person, domain: str) -> None:
    def rehearsal(*aliases: Json) -> Json:
        body = {"api_version": "v1", "kind": "Manifest", "metadata": {"name": "acme"}, "prune": True}
        return {"type": "manifest", "manifest": {**body, "resources": {"aliases": list(aliases)}}, "persist": True}

    async def rehearse(*aliases: Json) -> Json:
        answer = await alice.post("/v1/sandbox/simulate", json=rehearsal(*aliases))
        assert answer.status_code == 200, answer.text
        found: Json = answer.json()
        return found

    both = [alias(f"ada@{domain}"), alias(f"grace@{domain}")]
    assert [each["total"]["amount"] for each in (await rehearse(*both))["invoices"]] == ["24.00"]
    undone = await rehearse(both[1])
    assert findings(undone["plan"]["warnings"]) == {("alias.ada", "claim_undone")}
    clock.move(AFTER_COOLING_OFF)
    kept = await rehearse()
    assert findings(kept["plan"]["warnings"]) == {("alias.grace", "period_not_refunded")}
    back = await rehearse(both[1])
    assert (back["plan"]["totals"], back["invoices"]) == ([], [])
    assert UUID(back["promotion"]["steps"][0]["resource_id"])


async def test_a_free_name_has_no_warning(alice: Person, domains: Domains) -> None:
    free = await domains(price_amount="0")
    await apply(alice, alias(f"ada@{free}"))
    assert (await plan(alice, prune=True))["warnings"] == []


@pytest.mark.parametrize("is_paid", [False, True])
async def test_a_renewal_billed_in_advance_is_never_billed_twice(
    alice: Person, database: Database, domain: str, *, is_paid: bool
) -> None:
    first = await get_alias(alice, await apply(alice, alias(f"ada@{domain}")))
    await pay_invoice(database, alice, (await list_invoices(database, alice))[0])
    clock.move(timedelta(days=340))
    assert await _renew(database, alice) == 1
    ahead = (await list_invoices(database, alice))[1]
    if is_paid:
        await pay_invoice(database, alice, ahead)
    await apply(alice, prune=True)
    assert (await list_invoices(database, alice))[1].status is (
        InvoiceStatus.PAID if is_paid else InvoiceStatus.VOID
    )

    back = await get_alias(alice, await apply(alice, alias(f"ada@{domain}")))

    assert (back["renews_at"] == first["renews_at"]) is not is_paid
    assert await _renew(database, alice) == (0 if is_paid else 1)
    charged = [each for each in await list_invoices(database, alice) if each.status is not InvoiceStatus.VOID]
    periods = [(line.period_start, line.period_end) for each in charged for line in each.lines]
    assert len(periods) == 2
    assert periods[0][1] == periods[1][0]


async def _renew(database: Database, person: Person) -> int:
    async with database.transaction() as conn:
        return await billing.renew_aliases(
            conn, account_id=person.account.id, seller=Seller(name="Harbour Names Ltd")
        )


async def test_concurrent_promotions_claim_the_name_once(alice: Person, database: Database, domain: str) -> None:
    await apply(alice, alias(f"ada@{domain}"))
    clock.move(AFTER_COOLING_OFF)
    await apply(alice, prune=True)
    plans = [await plan(alice, alias(f"ada@{domain}"), name=name) for name in ("one", "two")]

    answers = await asyncio.gather(*(alice.post(PROMOTE, json=promotion_request(each)) for each in plans * 2))

    assert {each.status_code for each in answers} <= {200, 409}
    assert len({each.json()["id"] for each in answers if each.status_code == 200}) == 1
    assert [str(each.total) for each in await list_invoices(database, alice)] == ["12.00 USD"]
