"""What a promotion claims is billed when it ends, once, in each currency, and for the price of the plan."""

from datetime import timedelta
from decimal import Decimal

from hypothesis import HealthCheck, given, settings, strategies as st

from builders.kit.db.connections import Conn, Database
from builders.kit.values import clock
from tests.cast import Person
from tests.conftest import MakePerson
from tests.sandbox.make import Domains, Json, alias, alter, apply, begin, crew, findings, plan, promote

HOLD_OVER = timedelta(minutes=15)


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


async def test_what_costs_nothing_is_not_billed(alice: Person, domains: Domains) -> None:
    free = await domains(price_amount="0")
    assert (await apply(alice, alias(f"ada@{free}")))["invoices"] == []
    assert (await apply(alice, alias(f"ada@{free}", note="x")))["invoices"] == []


async def test_a_part_is_billed_and_resuming_bills_the_rest_alone(
    alice: Person, bob: Person, database: Database, domain: str
) -> None:
    names = crew(3, domain)
    planned = await plan(alice, *map(alias, names))
    his = await plan(bob, alias(names[0]))
    await begin(database, alice, planned, on_error="continue")
    clock.move(HOLD_OVER)
    await begin(database, bob, his)
    first = await promote(alice, planned)
    assert (first["status"], [each["total"]["amount"] for each in first["invoices"]]) == ("partial", ["24.00"])
    clock.move(HOLD_OVER)
    second = await promote(alice, planned, resume=True)
    assert [each["total"]["amount"] for each in second["invoices"]] == ["24.00", "12.00"]
    assert await promote(alice, planned, resume=True) == second
    lines = [line["alias_id"] for each in second["invoices"] for line in (await invoice(alice, each))["lines"]]
    assert len(lines) == len({*lines}) == 3


async def test_names_of_a_promotion_that_failed_are_let_go_at_once(
    alice: Person, bob: Person, database: Database, conn: Conn, domain: str
) -> None:
    await apply(alice, alias(f"ada@{domain}"))
    planned = await plan(alice, alias(f"ada@{domain}", note="x"), alias(f"grace@{domain}"))
    await begin(database, alice, planned)
    assert findings((await plan(bob, alias(f"grace@{domain}")))["errors"]) == {("alias.grace", "held")}
    await alter(conn, alice, f"ada@{domain}")
    assert (await promote(alice, planned))["status"] == "failed"
    assert (await plan(bob, alias(f"grace@{domain}")))["errors"] == []


prices = st.decimals(min_value=Decimal("0.01"), max_value=Decimal("999.99"), places=2)


@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(prices, st.sampled_from(["USD", "EUR"]), st.integers(1, 3)), min_size=1, max_size=3))
async def test_the_price_of_the_plan_is_what_the_invoices_ask(
    people: MakePerson, domains: Domains, wanted: list[tuple[Decimal, str, int]]
) -> None:
    person = await people("carol")
    names = [
        name
        for amount, currency, count in wanted
        for name in crew(count, await domains(price_amount=str(amount), price_currency=currency))
    ]
    planned = await plan(person, *(alias(name, key=f"k{at}") for at, name in enumerate(names)))
    promotion = await promote(person, planned)
    found = [await invoice(person, each) for each in promotion["invoices"]]
    asked = {each["subtotal"]["currency"]: each["subtotal"] for each in found}
    assert asked == {each["currency"]: each["year"] for each in planned["totals"]}
