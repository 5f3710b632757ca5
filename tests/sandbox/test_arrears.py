"""Who owes for names gets no more of them that cost something: not the same ones again either."""

from datetime import timedelta

import pytest

from builders.invoices import service as invoices
from builders.kit.db.connections import Conn, Database
from tests.cast import Person
from tests.invoices.make import pass_by
from tests.sandbox.make import PROMOTE, Domains, alias, apply, begin, findings, order, plan, promote

UNPAID = timedelta(days=60)
ALMOST = timedelta(days=28) - timedelta(minutes=1)  # two weeks to pay, and two of grace


@pytest.fixture(autouse=True)
async def _nobody_elses(conn: Conn) -> None:
    """What other tests left open is not due here."""
    await conn.execute("UPDATE invoices_invoices SET status = 'uncollectible' WHERE status = 'open'")


async def owe(database: Database, person: Person, *, after: timedelta = UNPAID) -> str:
    """Time passes, and nobody pays; the number of the invoice."""
    await pass_by(database, after)
    async with database.connection() as conn:
        [invoice] = await invoices.list_all_invoices(conn, account_id=person.account.id, limit=2)
    assert invoice.number is not None
    return invoice.number


async def pay(database: Database, person: Person) -> None:
    async with database.transaction() as conn:
        [invoice] = await invoices.list_all_invoices(conn, account_id=person.account.id, limit=2)
        await invoices.pay(
            conn, account_id=person.account.id, invoice_id=invoice.id, method="transfer", reference="1"
        )


async def test_a_name_that_was_not_paid_is_not_claimed_again(
    alice: Person, database: Database, domain: str
) -> None:
    await apply(alice, alias(f"ada@{domain}"))
    number = await owe(database, alice, after=timedelta(days=30))
    await apply(alice, prune=True)

    planned = await plan(alice, alias(f"ada@{domain}"))

    assert (planned["status"], findings(planned["errors"])) == ("blocked", {("alias.ada", "payment_overdue")})
    assert number in planned["errors"][0]["message"]
    await pay(database, alice)
    assert (await apply(alice, alias(f"ada@{domain}")))["status"] == "succeeded"


async def test_nor_is_another_in_its_place_or_after_it_was_given_up(
    alice: Person, database: Database, domain: str
) -> None:
    await apply(alice, alias(f"ada@{domain}", key="x"))
    await owe(database, alice)
    replaced = await plan(alice, alias(f"grace@{domain}", key="x"))
    assert findings(replaced["errors"]) == {("alias.x", "payment_overdue")}
    assert (await plan(alice, name="other"))["status"] == "empty"


async def test_while_there_is_time_to_pay_all_goes_on(alice: Person, database: Database, domain: str) -> None:
    await apply(alice, alias(f"ada@{domain}"))
    await owe(database, alice, after=timedelta(days=15))
    assert (await plan(alice, alias(f"ada@{domain}"), alias(f"grace@{domain}")))["status"] == "ready"


async def test_what_costs_nothing_can_be_had_and_what_is_there_be_changed(
    alice: Person, bob: Person, database: Database, domain: str, domains: Domains
) -> None:
    free = await domains(price_amount="0")
    await apply(alice, alias(f"ada@{domain}"))
    await owe(database, alice)
    done = await apply(alice, alias(f"ada@{domain}", note="x"), alias(f"grace@{free}"))
    assert done["status"] == "succeeded"
    assert (await plan(bob, alias(f"bob@{domain}")))["status"] == "ready"


async def test_a_plan_from_before_is_stale(alice: Person, database: Database, domain: str) -> None:
    await apply(alice, alias(f"ada@{domain}"))
    await pass_by(database, ALMOST)
    planned = await plan(alice, alias(f"grace@{domain}"), name="other")
    await owe(database, alice, after=timedelta(minutes=1))

    answer = await alice.post(PROMOTE, json=order(planned))

    assert (answer.status_code, answer.json()["code"]) == (409, "plan_stale")
    assert findings(answer.json()["changed"]) == {("alias.grace", "payment_overdue")}


async def test_a_promotion_that_has_begun_claims_it_no_more(
    alice: Person, database: Database, domain: str
) -> None:
    await apply(alice, alias(f"ada@{domain}"))
    await pass_by(database, ALMOST)
    planned = await plan(alice, alias(f"grace@{domain}"), name="other")
    await begin(database, alice, planned)
    await owe(database, alice, after=timedelta(minutes=1))

    promotion = await promote(alice, planned)

    assert (promotion["status"], promotion["steps"][0]["error"]["code"]) == ("failed", "payment_overdue")
