"""`POST /v1/sandbox/plan`: what is planned for a manifest, and how the plan reads."""

from datetime import datetime, timedelta

from builders.kit.values import clock, ids
from tests.cast import Client, Person
from tests.sandbox.make import (
    PLAN,
    Domains,
    actions,
    alias,
    apply,
    findings,
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
        "project_id": None,
    }
    assert action["price"] == {"amount": "12.00", "currency": "USD", "interval": "year"}
    assert action["precondition"] is None
    assert planned["summary"] == {"create": 1}
    assert planned["confirm_deletes"] == 0


async def test_a_plan_writes_nothing_but_itself(alice: Person, domain: str) -> None:
    first = await plan(alice, alias(f"ada@{domain}"))
    again = await plan(alice, alias(f"ada@{domain}"))
    assert actions(first) == actions(again) == [("alias.ada", "create")]


async def test_what_is_as_wanted_is_left_alone(alice: Person, domain: str) -> None:
    wanted = alias(f"ada@{domain}", note="hers", labels={"team": "one"}, enabled=False)
    await apply(alice, wanted)
    planned = await plan(alice, wanted)
    assert (planned["status"], actions(planned)) == ("empty", [("alias.ada", "no_op")])
    (action,) = planned["actions"]
    assert action["before"] == action["after"]
    assert (action["price"], action["precondition"]) == (None, {"version": 1})


async def test_a_change_names_its_fields_with_before_and_after(alice: Person, domain: str) -> None:
    await apply(alice, alias(f"ada@{domain}", "ada@example.net"))
    planned = await plan(alice, alias(f"ada@{domain}", "grace@example.net", enabled=False, note="moved"))
    (action,) = planned["actions"]
    assert (action["action"], action["risk"]) == ("update", "medium")
    assert action["changed_fields"] == ["destinations", "enabled", "note"]
    assert action["before"]["destinations"] == ["ada@example.net"]
    assert action["after"]["destinations"] == ["grace@example.net"]
    assert action["price"] is None


async def test_what_is_absent_is_cleared(alice: Person, domain: str) -> None:
    await apply(alice, alias(f"ada@{domain}", note="hers", labels={"team": "one"}))
    planned = await plan(alice, alias(f"ada@{domain}", note=None))
    assert planned["actions"][0]["changed_fields"] == ["note", "labels"]
    assert planned["actions"][0]["after"]["labels"] == {}


async def test_another_order_of_destinations_is_no_change(alice: Person, domain: str) -> None:
    await apply(alice, alias(f"ada@{domain}", "ada@example.net", "grace@example.net"))
    planned = await plan(alice, alias(f"ada@{domain}", "grace@example.net", "ada@example.net"))
    assert actions(planned) == [("alias.ada", "no_op")]


async def test_a_destination_named_twice_counts_once(alice: Person, domain: str) -> None:
    planned = await plan(alice, alias(f"ada@{domain}", "Ada@example.net", "ada@EXAMPLE.net", "ada@example.net"))
    assert len(planned["actions"][0]["after"]["destinations"]) == 1


async def test_the_same_name_spelled_with_dots_is_no_change(alice: Person, domain: str) -> None:
    await apply(alice, alias(f"jane.doe@{domain}", key="jane"))
    planned = await plan(alice, alias(f"Jane.D.Oe@{domain.upper()}", key="jane"))
    assert actions(planned) == [("alias.jane", "no_op")]
    assert planned["actions"][0]["after"]["address"] == f"jane.doe@{domain}"


async def test_local_part_and_domain_say_the_same_as_an_address(alice: Person, domain: str) -> None:
    parts = {"key": "ada", "local_part": "ada", "domain": domain, "destinations": ["ada@example.net"]}
    assert (await plan(alice, parts))["digest"] == (await plan(alice, alias(f"ada@{domain}")))["digest"]


async def test_what_is_left_out_is_warned_of_and_stays(alice: Person, domain: str) -> None:
    await apply(alice, alias(f"ada@{domain}"), alias(f"grace@{domain}"))
    planned = await plan(alice, alias(f"ada@{domain}"))
    assert (planned["status"], actions(planned)) == ("empty", [("alias.ada", "no_op")])
    assert findings(planned["warnings"]) == {("alias.grace", "left_alone")}
    assert f"grace@{domain}" in planned["warnings"][0]["message"]


async def test_what_is_left_out_is_deleted_with_prune(alice: Person, domain: str) -> None:
    await apply(alice, alias(f"ada@{domain}"), alias(f"grace@{domain}"))
    planned = await plan(alice, alias(f"ada@{domain}"), prune=True)
    assert actions(planned) == [("alias.ada", "no_op"), ("alias.grace", "delete")]
    assert (planned["confirm_deletes"], findings(planned["warnings"])) == (1, {("alias.grace", "claim_undone")})
    deletion = planned["actions"][1]
    assert (deletion["risk"], deletion["after"]) == ("high", None)
    assert deletion["before"]["address"] == f"grace@{domain}"


async def test_prune_takes_nothing_of_another_manifest(alice: Person, domain: str) -> None:
    await apply(alice, alias(f"ada@{domain}"), name="one")
    planned = await plan(alice, alias(f"grace@{domain}"), name="two", prune=True)
    assert actions(planned) == [("alias.grace", "create")]


async def test_another_name_for_a_key_replaces_the_old_one(alice: Person, domain: str) -> None:
    await apply(alice, alias(f"ada@{domain}", key="boss"))
    planned = await plan(alice, alias(f"grace@{domain}", key="boss"))
    (action,) = planned["actions"]
    assert (action["action"], action["risk"], planned["confirm_deletes"]) == ("replace", "high", 1)
    assert action["before"]["address"] == f"ada@{domain}"
    assert action["after"]["address"] == f"grace@{domain}"
    assert action["price"]["amount"] == "12.00"
    assert action["changed_fields"] == ["address"]


async def test_a_name_of_another_manifest_is_not_taken_over_unasked(alice: Person, domain: str) -> None:
    await apply(alice, alias(f"ada@{domain}"), name="one")
    planned = await plan(alice, alias(f"ada@{domain}"), name="two")
    assert (planned["status"], findings(planned["errors"])) == ("blocked", {("alias.ada", "alias_exists")})


async def test_a_name_of_another_manifest_is_adopted_when_asked(alice: Person, domain: str) -> None:
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


async def test_a_plan_can_be_read_again(alice: Person, domain: str) -> None:
    planned = await plan(alice, alias(f"ada@{domain}"))
    answer = await alice.get(f"/v1/sandbox/plans/{planned['id']}")
    assert answer.json() == planned


async def test_a_plan_shows_the_labels_of_its_manifest_and_who_made_it(alice: Person, domain: str) -> None:
    metadata = {"name": "acme-mail", "labels": {"team": "one", "": "100 % \U0001f600"}}
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
    hers, nobodys = [await bob.get(f"/v1/sandbox/plans/{each}") for each in (planned["id"], ids.new())]
    assert hers.status_code == nobodys.status_code == 404
    assert hers.json() | {"request_id": ""} == nobodys.json() | {"request_id": ""}
    assert (await bob.get("/v1/sandbox/plans/nonsense")).json()["code"] == "plan_not_found"


async def test_dana_reads_plans_but_makes_none(dana: Person, domain: str) -> None:
    answer = await dana.post(PLAN, json=manifest([alias(f"ada@{domain}")]))
    assert (answer.status_code, answer.json()["scope"]) == (403, "sandbox:write")
    assert (await dana.get(f"/v1/sandbox/plans/{ids.new()}")).status_code == 404


async def test_nobody_plans_without_credentials(anyone: Client) -> None:
    assert (await anyone.post(PLAN, json=manifest([]))).status_code == 401
    assert (await anyone.get(f"/v1/sandbox/plans/{ids.new()}")).status_code == 401
