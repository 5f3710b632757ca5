"""A name whose promotion could not be billed is billed once, whenever that is made good."""

from datetime import timedelta

from builders.aliases import service as aliases
from builders.invoices.records import InvoiceStatus, Seller
from builders.kit.db.connections import Database
from builders.kit.values import clock
from tests.cast import Person
from tests.sandbox.billed import COOLED_OFF, YEAR, issued
from tests.sandbox.make import PROMOTE, Domains, Json, alias, apply, findings, order, plan, promote
from tests.sandbox.test_given_up import NO_BILL, Broken, Worker, broken, worker

__all__ = ["broken", "worker"]  # fixtures


async def _claimed_but_not_billed(person: Person, worker: Worker, broken: Broken, address: str) -> Json:
    """The plan of a promotion that claimed the name, and was given up since its invoice could not be written."""
    planned = await plan(person, alias(address))
    async with broken(person, NO_BILL):
        assert (await person.post(PROMOTE, json=order(planned))).status_code == 500
        await worker.try_the_last_time(person)
    return planned


async def test_a_name_that_is_claimed_again_before_the_bill_is_billed_once(
    alice: Person, database: Database, worker: Worker, broken: Broken, domain: str
) -> None:
    planned = await _claimed_but_not_billed(alice, worker, broken, f"ada@{domain}")
    clock.move(COOLED_OFF)
    await apply(alice, prune=True)

    back = await plan(alice, alias(f"ada@{domain}"))
    promotion = await promote(alice, back)
    await promote(alice, planned, resume=True)

    assert (back["actions"][0]["price"]["amount"], promotion["invoices"]) == ("0.00", [])
    (invoice,) = await issued(database, alice)
    assert [str(each.amount) for each in invoice.lines] == ["12.00 USD"]
    (step,) = promotion["steps"]
    found = (await alice.get(f"/v1/aliases/{step['resource_id']}")).json()
    assert (str(invoice.lines[0].alias_id), found["status"]) == (step["resource_id"], "active")


async def test_after_its_period_a_name_that_was_never_billed_has_its_price(
    alice: Person, worker: Worker, broken: Broken, domain: str
) -> None:
    await _claimed_but_not_billed(alice, worker, broken, f"ada@{domain}")
    clock.move(COOLED_OFF)
    await apply(alice, prune=True)
    clock.move(YEAR)
    assert (await plan(alice, alias(f"ada@{domain}")))["actions"][0]["price"]["amount"] == "12.00"


async def test_a_claim_that_was_undone_before_its_bill_is_not_free(
    alice: Person, database: Database, worker: Worker, broken: Broken, domain: str
) -> None:
    planned = await _claimed_but_not_billed(alice, worker, broken, f"ada@{domain}")
    await apply(alice, prune=True)  # within the cooling-off period
    back = await plan(alice, alias(f"ada@{domain}"))
    assert back["actions"][0]["price"]["amount"] == "12.00"
    await promote(alice, back)
    await promote(alice, planned, resume=True)
    assert [each.status for each in await issued(database, alice)] == [InvoiceStatus.OPEN]


async def test_a_plan_says_what_is_owed_for_a_name_that_is_not_billed_yet(
    alice: Person, worker: Worker, broken: Broken, domain: str
) -> None:
    await _claimed_but_not_billed(alice, worker, broken, f"ada@{domain}")
    clock.move(COOLED_OFF)
    released = await plan(alice, prune=True)
    (warning,) = released["warnings"]
    assert findings([warning]) == {("alias.ada", "period_not_refunded")}
    assert warning["until"] is not None


async def test_a_late_bill_is_for_the_first_period_alone(
    alice: Person, database: Database, worker: Worker, broken: Broken, domains: Domains
) -> None:
    """The renewal has billed the next one by then."""
    name = await domains(price_interval="month")
    planned = await _claimed_but_not_billed(alice, worker, broken, f"ada@{name}")
    clock.move(timedelta(days=25))
    async with database.transaction() as conn:
        assert (
            await aliases.renew_aliases(conn, account_id=alice.account.id, seller=Seller(name="Harbour Names Ltd"))
            == 1
        )
    await promote(alice, planned, resume=True)
    renewal, first = [line for each in await issued(database, alice) for line in each.lines]
    assert first.period_end == renewal.period_start
