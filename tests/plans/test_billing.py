"""A promotion bills its claims when it completes; an account with an overdue invoice claims only free names."""

from datetime import timedelta
from decimal import Decimal

import pytest
from hypothesis import given, strategies as st

from builders.invoices import invoices, payments
from builders.kit.db.connections import Conn, Database
from builders.kit.values import clock
from tests.cast import Person
from tests.conftest import MakePerson
from tests.invoices.make import pass_by
from tests.plans.make import (
    PROMOTE,
    Domains,
    Json,
    alias,
    apply,
    change_aliases,
    findings,
    make_addresses,
    plan,
    promote,
    promotion_request,
    start_promotion,
)
from tests.random_cases import cases

AFTER_RESERVATION = timedelta(minutes=15)


async def invoice(person: Person, billed: Json) -> Json:
    answer = await person.get(f"/v1/invoices/{billed['id']}")
    assert answer.status_code == 200, answer.text
    found: Json = answer.json()
    return found


async def test_a_promotion_shows_its_invoice(alice: Person, domain: str) -> None:
    promotion = await apply(alice, alias(f"ada@{domain}"), alias(f"grace@{domain}"))
    (billed,) = promotion["invoices"]
    found = await invoice(alice, billed)
    assert (found["number"], found["total"]) == (billed["number"], billed["total"])
    assert found["promotion_id"] == promotion["id"]
    assert {each["description"] for each in found["lines"]} == {f"ada@{domain}", f"grace@{domain}"}
    assert {each["alias_id"] for each in found["lines"]} == {each["resource_id"] for each in promotion["steps"]}
    assert {each["invoice_id"] for each in promotion["steps"]} == {billed["id"]}


async def test_each_currency_has_an_invoice_of_its_own(alice: Person, domains: Domains) -> None:
    dollars, euros = await domains(), await domains(price_currency="EUR")
    promotion = await apply(alice, alias(f"ada@{dollars}"), alias(f"grace@{euros}"))
    assert [each["total"]["currency"] for each in promotion["invoices"]] == ["EUR", "USD"]


async def test_free_names_are_not_billed(alice: Person, domains: Domains) -> None:
    free = await domains(price_amount="0")
    assert (await apply(alice, alias(f"ada@{free}")))["invoices"] == []
    assert (await apply(alice, alias(f"ada@{free}", note="x")))["invoices"] == []


async def test_a_partial_promotion_is_billed_and_resuming_bills_only_the_rest(
    alice: Person, bob: Person, database: Database, domain: str
) -> None:
    names = make_addresses(3, domain)
    planned = await plan(alice, *map(alias, names))
    bobs = await plan(bob, alias(names[0]))
    await start_promotion(database, alice, planned, on_error="continue")
    clock.move(AFTER_RESERVATION)
    await start_promotion(database, bob, bobs)
    first = await promote(alice, planned)
    assert (first["status"], [each["total"]["amount"] for each in first["invoices"]]) == ("partial", ["24.00"])
    clock.move(AFTER_RESERVATION)
    second = await promote(alice, planned, resume=True)
    assert [each["total"]["amount"] for each in second["invoices"]] == ["24.00", "12.00"]
    assert await promote(alice, planned, resume=True) == second
    lines = [line["alias_id"] for each in second["invoices"] for line in (await invoice(alice, each))["lines"]]
    assert len(lines) == len({*lines}) == 3


async def test_names_of_a_failed_promotion_are_released_immediately(
    alice: Person, bob: Person, database: Database, conn: Conn, domain: str
) -> None:
    await apply(alice, alias(f"ada@{domain}"))
    planned = await plan(alice, alias(f"ada@{domain}", note="x"), alias(f"grace@{domain}"))
    await start_promotion(database, alice, planned)
    assert findings((await plan(bob, alias(f"grace@{domain}")))["errors"]) == {("alias.grace", "held")}
    await change_aliases(conn, alice, f"ada@{domain}")
    assert (await promote(alice, planned))["status"] == "failed"
    assert (await plan(bob, alias(f"grace@{domain}")))["errors"] == []


prices = st.decimals(min_value=Decimal("0.01"), max_value=Decimal("999.99"), places=2)


@cases(3)
@given(st.lists(st.tuples(prices, st.sampled_from(["USD", "EUR"]), st.integers(1, 3)), min_size=1, max_size=3))
async def test_invoices_have_the_price_of_the_plan(
    people: MakePerson, domains: Domains, wanted: list[tuple[Decimal, str, int]]
) -> None:
    person = await people("carol")
    names = [
        name
        for amount, currency, count in wanted
        for name in make_addresses(count, await domains(price_amount=str(amount), price_currency=currency))
    ]
    planned = await plan(person, *(alias(name, key=f"k{at}") for at, name in enumerate(names)))
    promotion = await promote(person, planned)
    found = [await invoice(person, each) for each in promotion["invoices"]]
    asked = {each["subtotal"]["currency"]: each["subtotal"] for each in found}
    assert asked == {each["currency"]: each["year"] for each in planned["totals"]}


UNPAID = timedelta(days=60)
ALMOST = timedelta(days=28) - timedelta(minutes=1)  # two weeks to pay and two weeks of grace


@pytest.fixture(autouse=True)
async def _without_other_invoices(conn: Conn) -> None:
    """Make the open invoices of other tests uncollectible."""
    await conn.execute("UPDATE invoices_invoices SET status = 'uncollectible' WHERE status = 'open'")


async def owe(database: Database, person: Person, *, after: timedelta = UNPAID) -> str:
    """Let time pass without a payment; return the number of the invoice."""
    await pass_by(database, after)
    async with database.connection() as conn:
        [invoice] = await invoices.list_all_invoices(conn, account_id=person.account.id, limit=2)
    assert invoice.number is not None
    return invoice.number


async def pay(database: Database, person: Person) -> None:
    async with database.transaction() as conn:
        [invoice] = await invoices.list_all_invoices(conn, account_id=person.account.id, limit=2)
        await payments.pay(
            conn, account_id=person.account.id, invoice_id=invoice.id, method="transfer", reference="1"
        )


async def test_an_unpaid_name_cannot_be_claimed_again(alice: Person, database: Database, domain: str) -> None:
    await apply(alice, alias(f"ada@{domain}"))
    number = await owe(database, alice, after=timedelta(days=30))
    await apply(alice, prune=True)

    planned = await plan(alice, alias(f"ada@{domain}"))

    assert (planned["status"], findings(planned["errors"])) == ("blocked", {("alias.ada", "payment_overdue")})
    assert number in planned["errors"][0]["message"]
    await pay(database, alice)
    assert (await apply(alice, alias(f"ada@{domain}")))["status"] == "succeeded"


async def test_an_unpaid_name_cannot_be_replaced_by_another_paid_one(
    alice: Person, database: Database, domain: str
) -> None:
    await apply(alice, alias(f"ada@{domain}", key="x"))
    await owe(database, alice)
    replaced = await plan(alice, alias(f"grace@{domain}", key="x"))
    assert findings(replaced["errors"]) == {("alias.x", "payment_overdue")}
    assert (await plan(alice, name="other"))["status"] == "empty"


async def test_an_open_invoice_within_its_grace_period_blocks_nothing(
    alice: Person, database: Database, domain: str
) -> None:
    await apply(alice, alias(f"ada@{domain}"))
    await owe(database, alice, after=timedelta(days=15))
    assert (await plan(alice, alias(f"ada@{domain}"), alias(f"grace@{domain}")))["status"] == "ready"


async def test_free_names_can_be_claimed_and_existing_ones_changed(
    alice: Person, bob: Person, database: Database, domain: str, domains: Domains
) -> None:
    free = await domains(price_amount="0")
    await apply(alice, alias(f"ada@{domain}"))
    await owe(database, alice)
    done = await apply(alice, alias(f"ada@{domain}", note="x"), alias(f"grace@{free}"))
    assert done["status"] == "succeeded"
    assert (await plan(bob, alias(f"bob@{domain}")))["status"] == "ready"


async def test_a_plan_made_before_the_grace_period_ended_is_stale(
    alice: Person, database: Database, domain: str
) -> None:
    await apply(alice, alias(f"ada@{domain}"))
    await pass_by(database, ALMOST)
    planned = await plan(alice, alias(f"grace@{domain}"), name="other")
    await owe(database, alice, after=timedelta(minutes=1))

    answer = await alice.post(PROMOTE, json=promotion_request(planned))

    assert (answer.status_code, answer.json()["code"]) == (409, "plan_stale")
    assert findings(answer.json()["changed"]) == {("alias.grace", "payment_overdue")}


async def test_a_started_promotion_does_not_claim_the_name(alice: Person, database: Database, domain: str) -> None:
    await apply(alice, alias(f"ada@{domain}"))
    await pass_by(database, ALMOST)
    planned = await plan(alice, alias(f"grace@{domain}"), name="other")
    await start_promotion(database, alice, planned)
    await owe(database, alice, after=timedelta(minutes=1))

    promotion = await promote(alice, planned)

    assert (promotion["status"], promotion["steps"][0]["error"]["code"]) == ("failed", "payment_overdue")
