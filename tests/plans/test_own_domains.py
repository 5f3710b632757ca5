"""Names on account domains, and the settings of the domains."""

from tests.cast import Person
from tests.plans.make import (
    alias,
    apply_manifest,
    findings,
    full_manifest,
    plan_manifest,
    promote,
    step_statuses,
    unique_domain,
)

MAILBOX = "ops@example.net"


async def test_names_on_an_account_domain_are_free(alice: Person, bob: Person, own: str) -> None:
    planned = await plan_manifest(alice, full_manifest(aliases=[alias(f"ada@{own}")]))
    assert planned["actions"][0]["price"]["amount"] == "0.00"
    assert planned["totals"] == []
    promotion = await promote(alice, planned, max_total={"amount": "0.00", "currency": "EUR"})
    assert (promotion["status"], promotion["invoices"]) == ("succeeded", [])
    bobs = await plan_manifest(bob, full_manifest(aliases=[alias(f"grace@{own}")]))
    assert findings(bobs["errors"]) == {("alias.grace", "domain_unknown")}


async def test_no_name_can_be_claimed_on_a_catch_all_domain(alice: Person, own: str) -> None:
    settings = {"key": "own", "domain": own, "default_destination": MAILBOX, "catch_all": True}
    planned = await plan_manifest(alice, full_manifest(domains=[settings], aliases=[alias(f"ada@{own}")]))
    assert findings(planned["errors"]) == {("alias.ada", "catch_all")}
    await apply_manifest(alice, full_manifest(domains=[settings]))
    freed = await plan_manifest(
        alice, full_manifest(domains=[{**settings, "catch_all": False}], aliases=[alias(f"ada@{own}")])
    )
    assert freed["errors"] == []
    assert step_statuses(await promote(alice, freed)) == {"domain.own": "succeeded", "alias.ada": "succeeded"}


async def test_an_unknown_domain_is_an_error(alice: Person, own: str) -> None:
    wanted = [
        {"key": "lost", "domain": unique_domain()},
        {"key": "own", "domain": own, "catch_all": True},
    ]
    planned = await plan_manifest(alice, full_manifest(domains=wanted))
    assert findings(planned["errors"]) == {
        ("domain.lost", "domain_not_found"),
        ("domain.own", "destination_missing"),
    }
