"""Planning refuses forwarding loops."""

import pytest

from tests.cast import Person
from tests.plans.make import (
    PROMOTE,
    Domains,
    alias,
    apply,
    findings,
    make_addresses,
    plan,
    promote,
    promotion_request,
    unique_domain,
)


@pytest.mark.parametrize("spelled", ["ada@{}", "ADA@{}", "a.da@{}", "ada+tag@{}", "a.d.a+x+y@{}"])
async def test_a_name_does_not_forward_to_itself(alice: Person, domain: str, spelled: str) -> None:
    planned = await plan(alice, alias(f"ada@{domain}", "ada@example.net", spelled.format(domain)))
    assert findings(planned["errors"]) == {("alias.ada", "destination_loop")}


async def test_each_alias_that_leads_into_a_loop_has_an_error(alice: Person, domain: str) -> None:
    planned = await plan(
        alice,
        alias(f"ada@{domain}", f"grace@{domain}", "ada@example.net"),
        alias(f"grace@{domain}", f"linus@{domain}"),
        alias(f"linus@{domain}", f"ada@{domain}"),
        alias(f"alan@{domain}", f"linus@{domain}"),
        alias(f"edsger@{domain}", "edsger@example.net"),
        alias(f"barbara@{domain}", f"edsger@{domain}"),
    )
    circle = {(f"alias.{each}", "destination_loop") for each in ("ada", "grace", "linus", "alan")}
    assert findings(planned["errors"]) == circle


async def test_a_chain_that_ends_is_no_loop(alice: Person, domain: str) -> None:
    names = make_addresses(50, domain)
    ahead = [*names[1:], "ada@example.net"]
    planned = await plan(alice, *map(alias, names, ahead))
    assert planned["errors"] == []


async def test_a_loop_through_the_a_label_of_a_domain(alice: Person, domains: Domains) -> None:
    label = unique_domain("bücher")
    await domains(label)
    planned = await plan(alice, alias(f"ada@{label.encode('idna').decode()}", f"ada@{label}"))
    assert findings(planned["errors"]) == {("alias.ada", "destination_loop")}


async def test_a_loop_through_an_existing_name(alice: Person, domains: Domains) -> None:
    here, there = await domains(), await domains()
    await apply(alice, alias(f"ada@{there}", f"ada@{here}"), name="there")
    planned = await plan(alice, alias(f"ada@{here}", f"ada@{there}"), name="here")
    assert findings(planned["errors"]) == {("alias.ada", "destination_loop")}


async def test_no_loop_through_a_released_name(alice: Person, domain: str) -> None:
    await apply(alice, alias(f"ada@{domain}", f"grace@{domain}"))
    wanted = alias(f"grace@{domain}", f"ada@{domain}")
    assert findings((await plan(alice, wanted))["errors"]) == {("alias.grace", "destination_loop")}
    assert (await plan(alice, wanted, prune=True))["summary"] == {"create": 1, "delete": 1}
    assert (await plan(alice, {**wanted, "key": "ada"}))["summary"] == {"replace": 1}


async def test_no_loop_through_a_destination_that_the_manifest_changes(alice: Person, domain: str) -> None:
    await apply(alice, alias(f"ada@{domain}", f"grace@{domain}"))
    planned = await plan(alice, alias(f"ada@{domain}"), alias(f"grace@{domain}", f"ada@{domain}"))
    assert planned["summary"] == {"update": 1, "create": 1}


async def test_a_strangers_name_is_a_destination_like_any_other(alice: Person, bob: Person, domain: str) -> None:
    await apply(bob, alias(f"linus@{domain}"))
    assert (await plan(alice, alias(f"ada@{domain}", f"linus@{domain}")))["summary"] == {"create": 1}


async def test_a_loop_through_a_strangers_name(alice: Person, bob: Person, domain: str) -> None:
    await apply(bob, alias(f"linus@{domain}", f"ada@{domain}"))
    planned = await plan(alice, alias(f"ada@{domain}", f"linus@{domain}", "ada@example.net"))
    assert findings(planned["errors"]) == {("alias.ada", "destination_loop")}


async def test_the_longest_loop_is_found_quickly(alice: Person, domain: str) -> None:
    """Two thousand names forward to eight others each: a separate search from each would take minutes."""
    names = make_addresses(2000, domain)
    around = names + names
    planned = await plan(alice, *(alias(name, *around[at + 1 : at + 9]) for at, name in enumerate(names)))
    assert len(planned["errors"]) == 2000


async def test_the_second_of_two_plans_that_close_a_loop_is_stale(
    alice: Person, domain: str, domains: Domains
) -> None:
    other = await domains()
    first = await plan(alice, alias(f"ada@{domain}", f"grace@{other}"), name="first")
    second = await plan(
        alice,
        alias(f"grace@{other}", f"linus@{other}"),
        alias(f"linus@{other}", f"a.da+x@{domain}"),
        name="second",
    )
    assert [first["status"], second["status"]] == ["ready", "ready"]
    assert (await promote(alice, first))["status"] == "succeeded"
    answer = await alice.post(PROMOTE, json=promotion_request(second))
    assert (answer.status_code, answer.json()["code"]) == (409, "plan_stale")
    looping = {("alias.grace", "destination_loop"), ("alias.linus", "destination_loop")}
    assert findings(answer.json()["changed"]) == looping


async def test_a_plan_that_reverses_forwarding_closes_no_loop(alice: Person, domain: str) -> None:
    await apply(alice, alias(f"ada@{domain}", f"grace@{domain}"), alias(f"grace@{domain}"))
    turned = await plan(alice, alias(f"ada@{domain}"), alias(f"grace@{domain}", f"ada@{domain}"))
    assert (await promote(alice, turned))["status"] == "succeeded"


async def test_names_that_the_domain_distinguishes_form_no_loop(alice: Person, domains: Domains) -> None:
    domain = await domains(separator_policy="distinct")
    await apply(alice, alias(f"ada@{domain}", f"a.da@{domain}"), alias(f"a.da@{domain}", key="other"))
