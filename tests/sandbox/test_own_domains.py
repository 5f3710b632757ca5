"""Names on domains of the account's own, and their settings."""

import pytest

from builders.app import Service
from tests.cast import Person
from tests.domains.make import assign
from tests.sandbox.make import alias, apply_of, findings, fresh, plan_of, promote, steps, whole

MAILBOX = "ops@example.net"


@pytest.fixture
async def own(service: Service, alice: Person) -> str:
    """A live domain of Alice's own."""
    name = fresh("own")
    await assign(service, alice, name)
    return name


async def test_names_on_an_own_domain_are_free_of_charge(alice: Person, bob: Person, own: str) -> None:
    planned = await plan_of(alice, whole(aliases=[alias(f"ada@{own}")]))
    assert planned["actions"][0]["price"]["amount"] == "0.00"
    assert planned["totals"] == []
    promotion = await promote(alice, planned, max_total={"amount": "0.00", "currency": "EUR"})
    assert (promotion["status"], promotion["invoices"]) == ("succeeded", [])
    his = await plan_of(bob, whole(aliases=[alias(f"grace@{own}")]))
    assert findings(his["errors"]) == {("alias.grace", "domain_unknown")}


async def test_on_a_catch_all_domain_no_name_can_be_had(alice: Person, own: str) -> None:
    settings = {"key": "own", "domain": own, "default_destination": MAILBOX, "catch_all": True}
    planned = await plan_of(alice, whole(domains=[settings], aliases=[alias(f"ada@{own}")]))
    assert findings(planned["errors"]) == {("alias.ada", "catch_all")}
    await apply_of(alice, whole(domains=[settings]))
    freed = await plan_of(alice, whole(domains=[{**settings, "catch_all": False}], aliases=[alias(f"ada@{own}")]))
    assert freed["errors"] == []
    assert steps(await promote(alice, freed)) == {"domain.own": "succeeded", "alias.ada": "succeeded"}


async def test_a_domain_that_is_not_there_is_an_error(alice: Person, own: str) -> None:
    wanted = [
        {"key": "lost", "domain": fresh()},
        {"key": "own", "domain": own, "catch_all": True},
    ]
    planned = await plan_of(alice, whole(domains=wanted))
    assert findings(planned["errors"]) == {
        ("domain.lost", "domain_not_found"),
        ("domain.own", "destination_missing"),
    }
