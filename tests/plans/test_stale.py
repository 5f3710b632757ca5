"""A plan is promoted only if its live state is unchanged; otherwise 409 lists the changes."""

from builders.kit.db.connections import Conn
from tests.cast import Person
from tests.plans.make import (
    PROMOTE,
    Domains,
    Json,
    alias,
    apply,
    apply_manifest,
    findings,
    full_manifest,
    list_events,
    plan,
    plan_manifest,
    promote,
    promotion_request,
    suspend_aliases,
)


async def changed(person: Person, planned: Json) -> set[tuple[str, str]]:
    answer = await person.post(PROMOTE, json=promotion_request(planned))
    assert (answer.status_code, answer.json()["code"]) == (409, "plan_stale"), answer.text
    assert answer.json()["next_action"]
    return findings(answer.json()["changed"])


async def test_a_name_was_taken(alice: Person, bob: Person, conn: Conn, domain: str) -> None:
    planned = await plan(alice, alias(f"ada@{domain}"), alias(f"grace@{domain}"))
    await apply(bob, alias(f"a.da@{domain}", key="mine"))
    assert await changed(alice, planned) == {("alias.ada", "taken")}
    assert await list_events(conn, alice) == []
    assert (await plan(bob, alias(f"grace@{domain}")))["status"] == "ready"


async def test_a_confusable_name_was_taken(alice: Person, bob: Person, domain: str) -> None:
    planned = await plan(alice, alias(f"norman@{domain}"))
    await apply(bob, alias(f"norrnan@{domain}"))
    assert await changed(alice, planned) == {("alias.norman", "confusable")}


async def test_a_name_was_released_by_another_account(alice: Person, bob: Person, domain: str) -> None:
    planned = await plan(alice, alias(f"ada@{domain}"))
    await apply(bob, alias(f"ada@{domain}"))
    await apply(bob, prune=True)
    assert await changed(alice, planned) == {("alias.ada", "quarantined")}


async def test_the_account_claimed_the_name_with_another_manifest(alice: Person, domain: str) -> None:
    planned = await plan(alice, alias(f"ada@{domain}"))
    await apply(alice, alias(f"ada@{domain}"), name="other")
    assert await changed(alice, planned) == {("alias.ada", "alias_exists")}


async def test_one_of_two_plans_from_the_same_state_is_promoted(alice: Person, domain: str) -> None:
    first, second = [await plan(alice, alias(f"ada@{domain}")) for _ in range(2)]
    await promote(alice, first)
    assert await changed(alice, second) == {("alias.ada", "alias_exists")}


async def test_an_alias_was_changed(alice: Person, domain: str) -> None:
    await apply(alice, alias(f"ada@{domain}"), alias(f"grace@{domain}"))
    planned = await plan(alice, alias(f"ada@{domain}", note="one"), alias(f"grace@{domain}"))
    kept = await plan(alice, alias(f"ada@{domain}"), alias(f"grace@{domain}"))
    deleted = await plan(alice, alias(f"grace@{domain}"), prune=True)
    replaced = await plan(alice, alias(f"linus@{domain}", key="ada"), alias(f"grace@{domain}"))
    await apply(alice, alias(f"ada@{domain}", note="two"), alias(f"grace@{domain}"))
    for each in (planned, kept, deleted, replaced):
        assert await changed(alice, each) == {("alias.ada", "alias_changed")}


async def test_an_alias_was_released(alice: Person, domain: str) -> None:
    await apply(alice, alias(f"ada@{domain}"))
    planned = await plan(alice, alias(f"ada@{domain}", note="x"))
    await apply(alice, prune=True)
    assert await changed(alice, planned) == {("alias.ada", "alias_changed")}


async def test_an_alias_was_adopted_by_another_manifest(alice: Person, domain: str) -> None:
    await apply(alice, alias(f"ada@{domain}"))
    planned = await plan(alice, prune=True)
    await apply(alice, alias(f"ada@{domain}"), name="other", on_conflict="adopt")
    assert await changed(alice, planned) == {("alias.ada", "alias_changed")}


async def test_an_alias_was_suspended(alice: Person, conn: Conn, domain: str) -> None:
    await apply(alice, alias(f"ada@{domain}"))
    planned = await plan(alice, alias(f"ada@{domain}", enabled=False))
    await suspend_aliases(conn, alice, f"ada@{domain}")
    assert await changed(alice, planned) == {("alias.ada", "alias_changed")}


async def test_the_price_changed(alice: Person, domains: Domains) -> None:
    domain = await domains()
    planned = await plan(alice, alias(f"ada@{domain}"))
    for columns in ({"price_amount": "12.01"}, {"price_currency": "EUR"}, {"price_interval": "month"}):
        await domains(domain, **columns)
        assert await changed(alice, planned) == {("alias.ada", "price_changed")}
    await domains(domain, price_currency="USD", price_interval="year")
    assert (await promote(alice, planned))["status"] == "succeeded"


async def test_the_domain_is_no_longer_live(alice: Person, domains: Domains) -> None:
    domain = await domains()
    planned = await plan(alice, alias(f"ada@{domain}"))
    for columns, code in (
        ({"status": "paused"}, "domain_unknown"),
        ({"status": "retired"}, "domain_unknown"),
        ({"status": "coming_soon", "catch_all": "yes"}, "domain_not_live"),
        ({"status": "live"}, "catch_all"),
    ):
        await domains(domain, **columns)
        assert await changed(alice, planned) == {("alias.ada", code)}


async def test_the_rules_of_the_domain_changed(alice: Person, domains: Domains) -> None:
    domain = await domains()
    planned = await plan(alice, alias(f"a.da@{domain}", key="ada"))
    await domains(domain, min_local_length="4")
    assert await changed(alice, planned) == {("alias.ada", "too_short")}
    await domains(domain, status="coming_soon", min_local_length="1")
    await domains(domain, status="live", separator_policy="distinct")
    assert await changed(alice, planned) == {("alias.ada", "rules_changed")}


async def test_a_key_now_belongs_to_another_name(alice: Person, domain: str) -> None:
    await apply(alice, alias(f"linus@{domain}"), name="other")
    created = await plan(alice, alias(f"ada@{domain}", key="boss"))
    adopted = await plan(alice, alias(f"linus@{domain}", key="boss"), on_conflict="adopt")
    await apply(alice, alias(f"grace@{domain}", key="boss"))
    for each in (created, adopted):
        assert await changed(alice, each) == {("alias.boss", "key_in_use")}


async def test_all_drift_is_reported(alice: Person, bob: Person, domains: Domains) -> None:
    here, there = await domains(), await domains()
    await apply(alice, alias(f"grace@{here}"))
    planned = await plan(alice, alias(f"ada@{here}"), alias(f"grace@{here}", note="x"), alias(f"linus@{there}"))
    await apply(bob, alias(f"ada@{here}"))
    await apply(alice, alias(f"grace@{here}", note="y"))
    await domains(there, status="paused")
    assert await changed(alice, planned) == {
        ("alias.ada", "taken"),
        ("alias.grace", "alias_changed"),
        ("alias.linus", "domain_unknown"),
    }


async def test_unrelated_changes_do_not_make_a_plan_stale(alice: Person, domains: Domains) -> None:
    domain = await domains()
    await apply(alice, alias(f"grace@{domain}"), alias(f"linus@{domain}"))
    planned = await plan(alice, alias(f"grace@{domain}"), alias(f"ada@{domain}"))
    await apply(alice, alias(f"linus@{domain}", note="x"), alias(f"grace@{domain}"))
    await apply(alice, alias(f"alan@{domain}"), name="other")
    await domains(domain, title="Another title", price_tier="plus")
    assert (await promote(alice, planned))["status"] == "succeeded"


async def test_a_project_of_the_manifest_is_now_full(alice: Person, conn: Conn, domain: str) -> None:
    acme = {"key": "acme", "name": "Acme", "slug": "acme", "alias_limit": 1}
    await apply_manifest(alice, full_manifest(projects=[acme]))
    planned = await plan_manifest(
        alice,
        full_manifest(projects=[acme], aliases=[alias(f"ada@{domain}", project="acme"), alias(f"grace@{domain}")]),
    )
    await apply(alice, alias(f"linus@{domain}", project="acme"), name="faster")
    published = await list_events(conn, alice)
    assert await changed(alice, planned) == {("alias.ada", "alias_limit")}
    assert await list_events(conn, alice) == published
