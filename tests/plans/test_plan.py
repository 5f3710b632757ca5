"""`POST /v1/sandbox/plan`: the actions for a manifest, and the reply."""

from datetime import datetime, timedelta

from builders.kit.values import clock, ids
from tests.cast import Client, Person
from tests.plans.make import (
    PLAN,
    Domains,
    alias,
    apply,
    findings,
    list_actions,
    manifest,
    plan,
    promote,
)

KEYS = "/v1/api-keys"


async def test_a_free_name_is_created(alice: Person, domain: str) -> None:
    planned = await plan(alice, alias(f"ada@{domain}", "ada@example.net"))
    (action,) = planned["actions"]
    assert (planned["status"], planned["promotable"]) == ("ready", True)
    assert (action["address"], action["kind"], action["action"]) == ("alias.ada", "alias", "create")
    assert action["before"] is None
    assert action["after"] == {
        "address": f"ada@{domain}",
        "key": "ada",
        "destinations": ["ada@example.net"],
        "enabled": True,
        "note": None,
        "labels": {},
        "block": [],
        "pause_until": None,
        "reply": False,
        "project_id": None,
    }
    assert action["price"] == {"amount": "12.00", "currency": "USD", "interval": "year"}
    assert action["precondition"] is None
    assert planned["summary"] == {"create": 1}
    assert planned["confirm_deletes"] == 0


async def test_a_plan_writes_only_itself(alice: Person, domain: str) -> None:
    first = await plan(alice, alias(f"ada@{domain}"))
    again = await plan(alice, alias(f"ada@{domain}"))
    assert list_actions(first) == list_actions(again) == [("alias.ada", "create")]


async def test_a_matching_resource_is_a_no_op(alice: Person, domain: str) -> None:
    wanted = alias(f"ada@{domain}", note="hers", labels={"team": "one"}, enabled=False)
    await apply(alice, wanted)
    planned = await plan(alice, wanted)
    assert (planned["status"], list_actions(planned)) == ("empty", [("alias.ada", "no_op")])
    (action,) = planned["actions"]
    assert action["before"] == action["after"]
    assert (action["price"], action["precondition"]) == (None, {"version": 1})


async def test_an_update_lists_its_fields_with_before_and_after(alice: Person, domain: str) -> None:
    await apply(alice, alias(f"ada@{domain}", "ada@example.net"))
    planned = await plan(alice, alias(f"ada@{domain}", "grace@example.net", enabled=False, note="moved"))
    (action,) = planned["actions"]
    assert (action["action"], action["risk"]) == ("update", "medium")
    assert action["changed_fields"] == ["destinations", "enabled", "note"]
    assert action["before"]["destinations"] == ["ada@example.net"]
    assert action["after"]["destinations"] == ["grace@example.net"]
    assert action["price"] is None


async def test_absent_members_are_cleared(alice: Person, domain: str) -> None:
    await apply(alice, alias(f"ada@{domain}", note="hers", labels={"team": "one"}))
    planned = await plan(alice, alias(f"ada@{domain}", note=None))
    assert planned["actions"][0]["changed_fields"] == ["note", "labels"]
    assert planned["actions"][0]["after"]["labels"] == {}


async def test_a_manifest_sets_the_rules_of_a_name_and_clears_absent_ones(alice: Person, domain: str) -> None:
    until = "2036-01-01T09:00:00+02:00"
    wanted = alias(f"ada@{domain}", block=["EVE@Example.net", "bücher.example"], pause_until=until, reply=True)
    await apply(alice, wanted)
    assert list_actions(await plan(alice, wanted)) == [("alias.ada", "no_op")]
    (action,) = (await plan(alice, alias(f"ada@{domain}")))["actions"]
    assert (action["changed_fields"], action["risk"]) == (["block", "pause_until", "reply"], "medium")
    assert action["before"]["block"] == ["eve@example.net", "xn--bcher-kva.example"]
    assert action["before"]["pause_until"] == "2036-01-01T07:00:00Z"
    assert [action["after"][each] for each in action["changed_fields"]] == [[], None, False]


async def test_a_pause_that_ended_is_no_change(alice: Person, domain: str) -> None:
    wanted = alias(f"ada@{domain}", pause_until="2020-01-01T00:00:00Z")
    await apply(alice, wanted)
    assert list_actions(await plan(alice, wanted)) == [("alias.ada", "no_op")]


async def test_another_order_of_destinations_is_no_change(alice: Person, domain: str) -> None:
    await apply(alice, alias(f"ada@{domain}", "ada@example.net", "grace@example.net"))
    planned = await plan(alice, alias(f"ada@{domain}", "grace@example.net", "ada@example.net"))
    assert list_actions(planned) == [("alias.ada", "no_op")]


async def test_a_repeated_destination_counts_once(alice: Person, domain: str) -> None:
    planned = await plan(alice, alias(f"ada@{domain}", "Ada@example.net", "ada@EXAMPLE.net", "ada@example.net"))
    assert len(planned["actions"][0]["after"]["destinations"]) == 1


async def test_a_spelling_with_dots_is_no_change(alice: Person, domain: str) -> None:
    await apply(alice, alias(f"jane.doe@{domain}", key="jane"))
    planned = await plan(alice, alias(f"Jane.D.Oe@{domain.upper()}", key="jane"))
    assert list_actions(planned) == [("alias.jane", "no_op")]
    assert planned["actions"][0]["after"]["address"] == f"jane.doe@{domain}"


async def test_local_part_and_domain_equal_an_address(alice: Person, domain: str) -> None:
    parts = {"key": "ada", "local_part": "ada", "domain": domain, "destinations": ["ada@example.net"]}
    assert (await plan(alice, parts))["digest"] == (await plan(alice, alias(f"ada@{domain}")))["digest"]


async def test_an_alias_no_longer_in_the_manifest_stays_with_a_warning(alice: Person, domain: str) -> None:
    await apply(alice, alias(f"ada@{domain}"), alias(f"grace@{domain}"))
    planned = await plan(alice, alias(f"ada@{domain}"))
    assert (planned["status"], list_actions(planned)) == ("empty", [("alias.ada", "no_op")])
    assert findings(planned["warnings"]) == {("alias.grace", "left_alone")}
    assert f"grace@{domain}" in planned["warnings"][0]["message"]


async def test_an_alias_no_longer_in_the_manifest_is_deleted_with_prune(alice: Person, domain: str) -> None:
    await apply(alice, alias(f"ada@{domain}"), alias(f"grace@{domain}"))
    planned = await plan(alice, alias(f"ada@{domain}"), prune=True)
    assert list_actions(planned) == [("alias.ada", "no_op"), ("alias.grace", "delete")]
    assert (planned["confirm_deletes"], findings(planned["warnings"])) == (1, {("alias.grace", "claim_undone")})
    deletion = planned["actions"][1]
    assert (deletion["risk"], deletion["after"]) == ("high", None)
    assert deletion["before"]["address"] == f"grace@{domain}"


async def test_prune_keeps_resources_of_another_manifest(alice: Person, domain: str) -> None:
    await apply(alice, alias(f"ada@{domain}"), name="one")
    planned = await plan(alice, alias(f"grace@{domain}"), name="two", prune=True)
    assert list_actions(planned) == [("alias.grace", "create")]


async def test_another_name_under_a_key_is_a_replacement(alice: Person, domain: str) -> None:
    await apply(alice, alias(f"ada@{domain}", key="boss"))
    planned = await plan(alice, alias(f"grace@{domain}", key="boss"))
    (action,) = planned["actions"]
    assert (action["action"], action["risk"], planned["confirm_deletes"]) == ("replace", "high", 1)
    assert action["before"]["address"] == f"ada@{domain}"
    assert action["after"]["address"] == f"grace@{domain}"
    assert action["price"]["amount"] == "12.00"
    assert action["changed_fields"] == ["address"]


async def test_a_name_of_another_manifest_is_an_error(alice: Person, domain: str) -> None:
    await apply(alice, alias(f"ada@{domain}"), name="one")
    planned = await plan(alice, alias(f"ada@{domain}"), name="two")
    assert (planned["status"], findings(planned["errors"])) == ("blocked", {("alias.ada", "alias_exists")})


async def test_a_name_of_another_manifest_is_adopted_on_request(alice: Person, domain: str) -> None:
    await apply(alice, alias(f"ada@{domain}"), name="one")
    adopted = await plan(alice, alias(f"ada@{domain}", note="ours"), name="two", on_conflict="adopt")
    assert adopted["actions"][0]["action"] == "adopt"
    assert adopted["actions"][0]["changed_fields"] == ["manifest", "note"]
    assert (await promote(alice, adopted))["status"] == "succeeded"
    assert (await plan(alice, alias(f"ada@{domain}", note="ours"), name="two"))["status"] == "empty"
    assert (await plan(alice, name="one", prune=True))["actions"] == []


async def test_prices_are_summed_by_currency_and_interval(alice: Person, domains: Domains) -> None:
    yearly = await domains(short_name_prices="3:60.00")
    monthly = await domains(price_amount="500", price_currency="JPY", price_interval="month")
    once = await domains(price_amount="1.250", price_currency="KWD", price_interval="once")
    wanted = [f"ada@{yearly}", f"grace@{yearly}", f"ada@{monthly}", f"ada@{once}"]
    planned = await plan(alice, *(alias(each, key=f"k{at}") for at, each in enumerate(wanted)))
    totals = {each["currency"]: each for each in planned["totals"]}
    assert totals["USD"]["year"] == {"amount": "72.00", "currency": "USD"}
    assert totals["JPY"]["month"] == {"amount": "500", "currency": "JPY"}
    assert totals["KWD"]["once"] == {"amount": "1.250", "currency": "KWD"}
    assert totals["KWD"]["year"] == {"amount": "0.000", "currency": "KWD"}


async def test_a_plan_can_be_read(alice: Person, domain: str) -> None:
    planned = await plan(alice, alias(f"ada@{domain}"))
    answer = await alice.get(f"/v1/sandbox/plans/{planned['id']}")
    assert answer.json() == planned


async def test_a_plan_shows_labels_and_creator(alice: Person, domain: str) -> None:
    metadata = {"name": "acme-mail", "labels": {"team": "one", "": "100 % \U0001f600"}}
    await alice.test.create_key()
    keys = {each["key_kind"]: each["id"] for each in (await alice.get(KEYS)).json()["items"]}
    for kind, client in (("live", alice), ("test", alice.test)):
        planned = await plan(client, alias(f"ada@{domain}"), metadata=metadata)
        assert (planned["labels"], planned["created_by"]) == (metadata["labels"], keys[kind])
    assert (await plan(alice))["labels"] == {}


async def test_a_plan_expires_after_a_day(alice: Person, domain: str) -> None:
    planned = await plan(alice, alias(f"ada@{domain}"))
    life = datetime.fromisoformat(planned["expires_at"]) - datetime.fromisoformat(planned["created_at"])
    assert life == timedelta(hours=24)
    with clock.moved(timedelta(hours=24)):
        later = (await alice.get(f"/v1/sandbox/plans/{planned['id']}")).json()
    assert (later["status"], later["promotable"]) == ("expired", False)


async def test_an_empty_manifest_is_an_empty_plan(alice: Person) -> None:
    planned = await plan(alice)
    assert (planned["status"], planned["actions"], planned["totals"]) == ("empty", [], [])


async def test_bob_learns_nothing_of_alices_plan(alice: Person, bob: Person, domain: str) -> None:
    planned = await plan(alice, alias(f"ada@{domain}"))
    alices, nobodys = [await bob.get(f"/v1/sandbox/plans/{each}") for each in (planned["id"], ids.new())]
    assert alices.status_code == nobodys.status_code == 404
    assert alices.json() | {"request_id": ""} == nobodys.json() | {"request_id": ""}
    assert (await bob.get("/v1/sandbox/plans/nonsense")).json()["code"] == "plan_not_found"


async def test_dana_can_read_plans_but_not_make_one(dana: Person, domain: str) -> None:
    answer = await dana.post(PLAN, json=manifest([alias(f"ada@{domain}")]))
    assert (answer.status_code, answer.json()["scope"]) == (403, "sandbox:write")
    assert (await dana.get(f"/v1/sandbox/plans/{ids.new()}")).status_code == 404


async def test_planning_requires_credentials(anyone: Client) -> None:
    assert (await anyone.post(PLAN, json=manifest([]))).status_code == 401
    assert (await anyone.get(f"/v1/sandbox/plans/{ids.new()}")).status_code == 401
