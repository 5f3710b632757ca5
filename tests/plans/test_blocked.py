"""Plans that cannot be promoted contain every error with its address; suspended names stay unchanged."""

from datetime import timedelta

from builders.kit.db.connections import Conn
from builders.kit.values import clock
from tests.cast import Person
from tests.plans.make import (
    PROMOTE,
    Domains,
    alias,
    apply,
    apply_manifest,
    findings,
    full_manifest,
    list_actions,
    plan,
    plan_manifest,
    promote,
    promotion_request,
    suspend_aliases,
    unique_domain,
)


async def test_a_plan_contains_all_errors(alice: Person, bob: Person, domains: Domains) -> None:
    domain, paused, everything = await domains(), await domains(status="paused"), await domains(catch_all="yes")
    await apply(bob, alias(f"linus@{domain}"), alias(f"bobby@{domain}"))
    planned = await plan(
        alice,
        alias(f"ada@{domain}", key="good"),
        alias(f"postmaster@{domain}", key="reserved"),
        alias(f"p0stmaster@{domain}", key="disguised"),
        alias(f"ada+shop@{domain}", key="tag"),
        alias(f"a..da@{domain}", key="dots"),
        alias(f"zoë@{domain}", key="accent"),
        alias(f"ada@grace@{domain}", key="at"),
        alias(f"ada@{unique_domain()}", key="unknown"),
        alias("ada@not a domain", key="nonsense"),
        alias(f"ada@{paused}", key="paused"),
        alias(f"ada@{everything}", key="catchall"),
        alias(f"linus@{domain}", key="taken"),
        alias(f"b0bby@{domain}", key="lookalike"),
        alias(f"grace@{domain}", key="twice"),
        alias(f"g.race@{domain}", key="again"),
    )
    assert (planned["status"], planned["promotable"]) == ("blocked", False)
    assert findings(planned["errors"]) == {
        ("alias.reserved", "reserved"),
        ("alias.disguised", "reserved"),
        ("alias.tag", "plus_tag"),
        ("alias.dots", "double_separator"),
        ("alias.accent", "non_ascii"),
        ("alias.at", "bad_char"),
        ("alias.unknown", "domain_unknown"),
        ("alias.nonsense", "domain_unknown"),
        ("alias.paused", "domain_unknown"),
        ("alias.catchall", "catch_all"),
        ("alias.taken", "taken"),
        ("alias.lookalike", "confusable"),
        ("alias.twice", "duplicate_name"),
        ("alias.again", "duplicate_name"),
    }
    assert all(error["message"] for error in planned["errors"])


async def test_a_plan_contains_all_errors_of_one_alias(alice: Person, bob: Person, domain: str) -> None:
    await apply(bob, alias(f"linus@{domain}"))
    planned = await plan(
        alice,
        alias(f"linus@{domain}", f"l.inus@{domain}", key="one"),
        alias(f"li.nus@{domain}", key="two"),
        alias(f"postmaster@{domain}", f"postmaster@{domain}", key="three"),
    )
    assert findings(planned["errors"]) == {
        ("alias.one", "taken"),
        ("alias.one", "duplicate_name"),
        ("alias.one", "destination_loop"),
        ("alias.two", "taken"),
        ("alias.two", "duplicate_name"),
        ("alias.two", "destination_loop"),
        ("alias.three", "reserved"),
        ("alias.three", "destination_loop"),
    }


async def test_a_blocked_plan_is_not_promoted(alice: Person, domain: str) -> None:
    planned = await plan(alice, alias(f"ada@{domain}"), alias(f"postmaster@{domain}"))
    answer = await alice.post(PROMOTE, json=promotion_request(planned))
    assert (answer.status_code, answer.json()["code"]) == (409, "plan_blocked")
    assert (await plan(alice, alias(f"ada@{domain}")))["summary"] == {"create": 1}


async def test_an_alias_with_an_error_is_not_deleted(alice: Person, domain: str) -> None:
    await apply(alice, alias(f"ada@{domain}"))
    planned = await plan(alice, alias(f"ada+@{domain}", key="ada"), prune=True)
    assert (planned["status"], planned["actions"]) == ("blocked", [])


async def test_the_owner_of_a_name_is_not_disclosed(alice: Person, bob: Person, domain: str) -> None:
    await apply(bob, alias(f"linus@{domain}", "secret@example.org"))
    planned = await plan(alice, alias(f"linus@{domain}"))
    assert "bob" not in str(planned)
    assert "secret" not in str(planned)
    assert str(bob.account.id) not in str(planned)


async def test_a_released_name_is_quarantined_for_ninety_days(alice: Person, bob: Person, domain: str) -> None:
    await apply(alice, alias(f"ada@{domain}"))
    await apply(alice, prune=True)
    assert findings((await plan(bob, alias(f"ada@{domain}")))["errors"]) == {("alias.ada", "quarantined")}
    assert findings((await plan(bob, alias(f"a.d.a@{domain}", key="k")))["errors"]) == {("alias.k", "quarantined")}
    assert (await plan(alice, alias(f"ada@{domain}")))["summary"] == {"create": 1}
    with clock.moved(timedelta(days=90)):
        assert (await plan(bob, alias(f"ada@{domain}")))["summary"] == {"create": 1}


async def test_the_owner_can_claim_a_released_name_again(alice: Person, bob: Person, domain: str) -> None:
    await apply(alice, alias(f"ada@{domain}"))
    await apply(alice, prune=True)
    await apply(alice, alias(f"ada@{domain}", key="again"))
    assert findings((await plan(bob, alias(f"ada@{domain}")))["errors"]) == {("alias.ada", "taken")}


async def test_confusable_names_belong_to_one_owner(alice: Person, bob: Person, domain: str) -> None:
    await apply(alice, alias(f"harry@{domain}"))
    assert findings((await plan(bob, alias(f"hany@{domain}")))["errors"]) == set()
    await apply(alice, alias(f"norman@{domain}"), alias(f"n0rman@{domain}"), name="two")
    assert findings((await plan(bob, alias(f"norrnan@{domain}")))["errors"]) == {("alias.norrnan", "confusable")}


async def test_a_domain_is_found_as_u_label_and_a_label(alice: Person, domains: Domains) -> None:
    label = unique_domain("bücher")
    await domains(label)
    ascii_form = label.encode("idna").decode()
    forms = [label, label.upper(), ascii_form, f"{ascii_form}."]
    planned = [await plan(alice, alias(f"ada@{form}")) for form in forms]
    assert {each["actions"][0]["after"]["address"] for each in planned} == {f"ada@{ascii_form}"}
    both = await plan(alice, alias(f"ada@{label}", key="one"), alias(f"ada@{ascii_form}", key="two"))
    assert findings(both["errors"]) == {("alias.one", "duplicate_name"), ("alias.two", "duplicate_name")}


async def test_a_name_below_the_minimum_length_of_the_domain_is_invalid(alice: Person, domains: Domains) -> None:
    domain = await domains(min_local_length="3")
    planned = await plan(alice, alias(f"a.d@{domain}", key="ad"), alias(f"ada@{domain}"))
    assert findings(planned["errors"]) == {("alias.ad", "too_short")}


async def test_an_owner_keeps_a_name_when_the_rules_of_the_domain_change(alice: Person, domains: Domains) -> None:
    domain = await domains()
    await apply(alice, alias(f"ad@{domain}"), alias(f"grace@{domain}"))
    await domains(domain, status="paused", min_local_length="3")
    wanted = (alias(f"AD@{domain}", key="ad", note="mine"), alias(f"grace@{domain}", "x@example.net"))
    planned = await plan(alice, *wanted)
    assert (planned["status"], planned["summary"]) == ("ready", {"update": 2})
    assert (await promote(alice, planned))["status"] == "succeeded"
    assert (await plan(alice, *wanted))["status"] == "empty"
    assert (await plan(alice, *wanted, alias(f"linus@{domain}")))["status"] == "blocked"


async def test_an_alias_cannot_join_a_project_that_the_plan_archives(alice: Person, domain: str) -> None:
    await apply_manifest(alice, full_manifest(projects=[{"key": "acme", "name": "Acme", "slug": "acme"}]))
    named = await plan_manifest(alice, full_manifest(prune=True, aliases=[alias(f"ada@{domain}", project="acme")]))
    assert findings(named["errors"]) == {("alias.ada", "project_pruned")}
    by_all = await plan_manifest(
        alice, full_manifest(prune=True, project="acme", aliases=[alias(f"ada@{domain}")])
    )
    assert findings(by_all["errors"]) == {("alias.ada", "project_pruned")}
    alone = await plan_manifest(alice, full_manifest(prune=True, project="acme"))
    assert findings(alone["errors"]) == {("manifest", "project_pruned")}
    kept = await plan_manifest(alice, full_manifest(project="acme", aliases=[alias(f"ada@{domain}")]))
    assert kept["status"] == "ready"


async def test_a_suspended_name_stays_unchanged_with_a_warning(alice: Person, conn: Conn, domain: str) -> None:
    await apply(alice, alias(f"ada@{domain}"), alias(f"grace@{domain}"))
    await suspend_aliases(conn, alice, f"ada@{domain}")
    wanted = (alias(f"ada@{domain}", "new@example.net"), alias(f"grace@{domain}", note="x"))
    planned = await plan(alice, *wanted)
    assert (planned["status"], planned["summary"]) == ("ready", {"no_op": 1, "update": 1})
    assert [each["code"] for each in planned["warnings"]] == ["alias_suspended"]
    assert planned["actions"][0]["before"] == planned["actions"][0]["after"]


async def test_a_suspended_name_is_neither_adopted_nor_renamed(alice: Person, conn: Conn, domain: str) -> None:
    await apply(alice, alias(f"ada@{domain}"))
    await suspend_aliases(conn, alice, f"ada@{domain}")
    adopted = await plan(alice, alias(f"ada@{domain}"), name="other", on_conflict="adopt")
    renamed = await plan(alice, alias(f"ada@{domain}", key="other"))
    assert [each["code"] for each in (*adopted["errors"], *renamed["errors"])] == ["alias_suspended"] * 2


async def test_a_name_suspended_by_the_operator_is_not_released(alice: Person, conn: Conn, domain: str) -> None:
    """Otherwise claiming it again would end the suspension."""
    promotion = await apply(alice, alias(f"ada@{domain}"), alias(f"grace@{domain}"))
    await suspend_aliases(conn, alice, f"ada@{domain}")

    planned = await plan(alice, prune=True)
    replaced = await plan(alice, alias(f"linus@{domain}", key="ada"))
    path = f"/v1/aliases/{promotion['steps'][0]['resource_id']}"
    answer = await alice.delete(path)

    assert list_actions(planned) == [("alias.grace", "delete")]
    assert ("alias.ada", "alias_suspended") in findings(planned["warnings"])
    assert findings(replaced["errors"]) == {("alias.ada", "alias_suspended")}
    assert (answer.status_code, answer.json()["code"]) == (409, "alias_suspended")
    assert (await promote(alice, planned))["status"] == "succeeded"
    assert (await alice.get(path)).json()["status"] == "suspended"


async def test_a_name_suspended_for_an_invoice_can_be_released(alice: Person, conn: Conn, domain: str) -> None:
    promotion = await apply(alice, alias(f"ada@{domain}"))
    await suspend_aliases(conn, alice, f"ada@{domain}")
    ada = promotion["steps"][0]["resource_id"]
    await conn.execute("UPDATE aliases SET resumes_as = 'active' WHERE id = %s", [ada])
    await apply(alice, prune=True)
    assert (await alice.get(f"/v1/aliases/{ada}")).json()["status"] == "deleted"
