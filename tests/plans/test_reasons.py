"""The check of the catalog and a plan give the same reason for a name."""

import pytest

from builders.app import Service
from tests.cast import Client, Person
from tests.catalog.make import catch_up
from tests.plans.make import Domains, Json, alias, apply, findings, plan, promote, unique_domain

CHECK = "/v1/catalog/check"
# One of each: free, three invalid ones, taken, quarantined, confusable.
NAMES = ("ada", "ad+shop", "a", "postmaster", "linus", "grace", "n0rman")
STATES = (
    {"status": "live"},
    {"status": "live", "catch_all": "yes"},
    {"status": "coming_soon"},
    {"status": "coming_soon", "catch_all": "yes"},
    {"status": "paused"},
    {"status": "retired", "catch_all": "yes"},
)


async def checked(anyone: Client, address: str) -> set[tuple[str, str]]:
    """Return code and message of the check for a name."""
    local_part, _, domain = address.partition("@")
    answer = await anyone.get(CHECK, params={"local_part": local_part, "domain": domain})
    found: Json = answer.json()
    return set() if found["available"] else {(found["detail"] or found["reason"], found["message"])}


async def planned(person: Person, *addresses: str) -> list[set[tuple[str, str]]]:
    """Return code and message of a plan for each name."""
    errors = (await plan(person, *(alias(each, key=f"k{at}") for at, each in enumerate(addresses))))["errors"]
    return [
        {(error["code"], error["message"]) for error in errors if error["address"] == f"alias.k{at}"}
        for at in range(len(addresses))
    ]


@pytest.mark.parametrize("state", STATES)
async def test_a_check_and_a_plan_give_the_same_reason(
    service: Service, anyone: Client, alice: Person, bob: Person, domains: Domains, state: dict[str, str]
) -> None:
    domain = await domains(min_local_length="2")
    await apply(bob, alias(f"grace@{domain}"))
    await apply(bob, alias(f"linus@{domain}"), alias(f"norman@{domain}"), prune=True)
    await domains(domain, **state)
    await catch_up(service.api.state.catalog)
    addresses = [f"{name}@{domain}" for name in NAMES]
    assert await planned(alice, *addresses) == [await checked(anyone, each) for each in addresses]


@pytest.mark.parametrize("status", ["paused", "retired"])
async def test_a_hidden_domain_is_unknown_to_a_plan(
    alice: Person, bob: Person, domains: Domains, status: str
) -> None:
    hidden, nowhere = await domains(min_local_length="2"), unique_domain()
    await apply(bob, alias(f"linus@{hidden}"))
    await domains(hidden, status=status)
    names = [*NAMES, "li.nus", "grace", "gra.ce"]  # also names that are equal by the rules of the domain
    ours, theirs = [await planned(alice, *(f"{each}@{domain}" for each in names)) for domain in (hidden, nowhere)]
    assert ours == theirs
    assert {code for each in ours for code, _ in each} == {"domain_unknown", "plus_tag"}


async def test_a_loop_on_a_hidden_domain_is_not_reported(alice: Person, domains: Domains) -> None:
    hidden, nowhere = await domains(status="paused"), unique_domain()
    for domain in (hidden, nowhere):
        found = await plan(
            alice, alias(f"ada@{domain}", f"grace@{domain}"), alias(f"grace@{domain}", f"ada@{domain}")
        )
        assert findings(found["errors"]) == {("alias.ada", "domain_unknown"), ("alias.grace", "domain_unknown")}


@pytest.mark.parametrize("status", ["coming_soon", "paused", "retired"])
async def test_an_owner_can_plan_with_a_name_on_a_hidden_domain(
    alice: Person, bob: Person, domains: Domains, status: str
) -> None:
    domain = await domains()
    await apply(alice, alias(f"jane.doe@{domain}", key="jane"))
    await domains(domain, status=status)
    wanted = alias(f"janedoe@{domain}", "new@example.net", key="jane")
    changed = await plan(alice, wanted)
    assert (changed["status"], changed["summary"]) == ("ready", {"update": 1})
    assert (await promote(alice, changed))["status"] == "succeeded"
    assert (await plan(bob, wanted))["status"] == "blocked"
