"""Changes of the approval policy: who makes them, which take effect at once, and what the first one ends."""

import re
from datetime import timedelta
from typing import Any

import pytest

from builders.app import Service
from builders.kit.db.connections import Conn
from builders.kit.values import clock, ids
from tests.cast import Client, Person
from tests.plans.approval.make import (
    ALWAYS,
    POLICY,
    appoint,
    join_team,
    list_audited,
    put_policy,
    set_policy,
)
from tests.plans.make import Json, full_manifest, plan_manifest
from tests.portfolio.team.make import TEAM, of
from tests.worker import Worker

NEVER: Json = {"require": "never"}


def usd(amount: str) -> Json:
    return {"amount": amount, "currency": "USD"}


async def read_policy(person: Client) -> Json:
    answer = await person.get(POLICY)
    assert answer.status_code == 200, answer.text
    policy: Json = answer.json()
    return policy


async def confirm(person: Person, proposal: Json, *, owner: Person) -> Any:
    async with person.browser() as browser:
        return await browser.post(f"{POLICY}/proposals/{proposal['id']}/confirm", headers=of(owner))


async def propose(owner: Person, **policy: Any) -> Json:
    """Send a policy that does not take effect at once; return its proposal."""
    answer = await put_policy(owner, **policy)
    assert answer.status_code == 200, answer.text
    proposal: Json = answer.json()["proposal"]
    assert proposal is not None
    return proposal


async def test_without_a_policy_nothing_requires_an_approval(alice: Person) -> None:
    policy = await read_policy(alice)
    assert (policy["require"], policy["when"], policy["proposal"]) == ("never", None, None)
    assert (policy["approvals"], policy["own_plans"], policy["direct_writes"]) == (1, "allow", "allow")


async def test_a_person_sets_a_policy(alice: Person) -> None:
    when = {"amount_over": [usd("20.00")], "deletes": True, "kinds": ["domain"]}
    await set_policy(alice, require="when", when=when, direct_writes="refuse")
    policy = await read_policy(alice)
    assert policy["when"] == {**when, "projects": [], "outward": False}
    assert policy["direct_writes"] == "refuse"
    assert "costs more than 20.00 USD" in policy["description"][0]


async def test_a_key_sets_no_policy(alice: Person) -> None:
    answer = await alice.put(POLICY, json=ALWAYS)
    assert (answer.status_code, answer.json()["code"]) == (403, "person_required")


async def test_a_bearer_token_sets_no_policy(alice: Person) -> None:
    new = await alice.sign_in()
    async with Client(alice.service, token=new.token) as client:
        assert (await client.put(POLICY, json=ALWAYS)).json()["code"] == "person_required"


async def test_a_decider_does_not_change_the_policy_of_another_account(alice: Person, charlie: Person) -> None:
    await appoint(alice, charlie)
    async with charlie.browser() as browser:
        answer = await browser.put(POLICY, json=ALWAYS, headers=of(alice))
    assert (answer.status_code, answer.json()["code"]) == (403, "forbidden_role")


@pytest.mark.parametrize(
    ("policy", "loc", "kind"),
    [
        ({"require": "when"}, ["body"], "approval_conditions"),
        ({"require": "when", "when": {}}, ["body"], "approval_conditions"),
        ({"require": "always", "when": {"deletes": True}}, ["body"], "approval_conditions"),
        ({"require": "always", "approvals": 3}, ["body", "approvals"], "less_than_equal"),
        ({"require": "always", "approvals": 2}, ["body", "approvals"], "policy_unsatisfiable"),
        ({"require": "always", "own_plans": "refuse"}, ["body", "approvals"], "policy_unsatisfiable"),
        ({"require": "sometimes"}, ["body", "require"], "enum"),
        (
            {"require": "when", "when": {"amount_over": [usd("1.00"), usd("2.00")]}},
            ["body", "when", "amount_over"],
            "currency_repeated",
        ),
        (
            {"require": "when", "when": {"amount_over": [{"amount": "1", "currency": "XXX"}]}},
            ["body", "when", "amount_over"],
            "currency",
        ),
        (
            {"require": "when", "when": {"projects": [str(ids.new())]}},
            ["body", "when", "projects", 0],
            "project_not_found",
        ),
    ],
)
async def test_an_invalid_policy_is_422(alice: Person, policy: Json, loc: list[str], kind: str) -> None:
    answer = await put_policy(alice, **policy)
    assert answer.status_code == 422, answer.text
    assert [(each["loc"], each["type"]) for each in answer.json()["detail"]] == [(loc, kind)]


async def test_own_plans_are_allowed_with_one_decider_and_refused_with_two(alice: Person, charlie: Person) -> None:
    assert (await set_policy(alice, **ALWAYS))["own_plans"] == "allow"
    await appoint(alice, charlie)
    assert (await set_policy(alice, **ALWAYS))["own_plans"] == "refuse"


async def test_a_change_that_tightens_takes_effect_at_once(alice: Person, charlie: Person) -> None:
    await appoint(alice, charlie)
    when = {"amount_over": [usd("20.00")]}
    await set_policy(alice, require="when", when=when, deciders=[str(charlie.account.id)])
    await set_policy(alice, require="when", when=when | {"deletes": True})
    assert (await set_policy(alice, **ALWAYS))["require"] == "always"


async def test_a_person_alone_loosens_a_policy_that_allows_own_plans(alice: Person) -> None:
    await set_policy(alice, **ALWAYS)
    assert (await set_policy(alice, **NEVER))["require"] == "never"


async def test_another_person_confirms_a_change_that_loosens(alice: Person, charlie: Person) -> None:
    await appoint(alice, charlie)
    await set_policy(alice, **ALWAYS, deciders=[str(charlie.account.id)])
    proposal = await propose(alice, **NEVER)
    assert (proposal["confirmed_by"], (await read_policy(alice))["require"]) == ([], "always")
    own = await confirm(alice, proposal, owner=alice)
    assert (own.status_code, own.json()["code"]) == (403, "own_proposal")
    answer = await confirm(charlie, proposal, owner=alice)
    assert (answer.json()["require"], answer.json()["proposal"]) == ("never", None)


async def test_two_approvals_need_two_confirmations(alice: Person, charlie: Person, erin: Person) -> None:
    await appoint(alice, charlie, erin)
    members = [str(each.account.id) for each in (charlie, erin)]
    await set_policy(alice, **ALWAYS, approvals=2, deciders=members)
    proposal = await propose(alice, **ALWAYS, approvals=1)
    assert (await confirm(charlie, proposal, owner=alice)).json()["approvals"] == 2
    assert (await confirm(charlie, proposal, owner=alice)).json()["approvals"] == 2
    assert (await confirm(erin, proposal, owner=alice)).json()["approvals"] == 1


async def test_a_proposal_ends_after_a_day_or_with_another_one(alice: Person, charlie: Person) -> None:
    await appoint(alice, charlie)
    await set_policy(alice, **ALWAYS, deciders=[str(charlie.account.id)])
    first, second = await propose(alice, **NEVER), await propose(alice, require="when", when={"deletes": True})
    assert (await confirm(charlie, first, owner=alice)).json()["code"] == "policy_proposal_not_found"
    clock.move(timedelta(hours=24))
    assert (await confirm(charlie, second, owner=alice)).json()["code"] == "policy_proposal_not_found"


async def test_a_decider_discards_a_proposal(alice: Person, charlie: Person) -> None:
    await appoint(alice, charlie)
    await set_policy(alice, **ALWAYS, deciders=[str(charlie.account.id)])
    proposal = await propose(alice, **NEVER)
    async with charlie.browser() as browser:
        answer = await browser.delete(f"{POLICY}/proposals/{proposal['id']}", headers=of(alice))
    assert (answer.json()["require"], answer.json()["proposal"]) == ("always", None)


async def test_bob_confirms_no_proposal_of_alice(alice: Person, bob: Person, charlie: Person) -> None:
    await appoint(alice, charlie)
    await set_policy(alice, **ALWAYS, deciders=[str(charlie.account.id)])
    proposal = await propose(alice, **NEVER)
    assert (await confirm(bob, proposal, owner=alice)).json()["code"] == "portfolio_not_found"
    assert (await confirm(bob, proposal, owner=bob)).json()["code"] == "policy_proposal_not_found"


async def test_a_change_is_mailed_to_all_deciders_and_audited(
    alice: Person, charlie: Person, event_worker: Worker, conn: Conn
) -> None:
    await appoint(alice, charlie)
    await set_policy(alice, **ALWAYS, deciders=[str(charlie.account.id)])
    proposal = await propose(alice, **NEVER)
    await confirm(charlie, proposal, owner=alice)
    for person in (alice, charlie):
        subjects = [each["Subject"] for each in await event_worker.list_emails(person.account.email)]
        steps = [each.rpartition(" ")[2] for each in subjects if "approval policy" in each]
        assert steps == ["changed", "proposed", "changed"]
    audited = [action for action, _, _ in await list_audited(conn, alice, "^approval_policy")]
    assert audited == ["approval_policy.changed", "approval_policy.proposed", "approval_policy.changed"]


async def test_the_link_of_the_email_opens_the_policy_for_every_decider(
    alice: Person, charlie: Person, event_worker: Worker
) -> None:
    await appoint(alice, charlie)
    await set_policy(alice, **ALWAYS, deciders=[str(charlie.account.id)])
    for person in (alice, charlie):
        sent = await event_worker.list_emails(person.account.email)
        text = next(each for each in sent if "approval policy" in each["Subject"]).get_body(("plain",))
        assert text is not None
        (link,) = re.findall(r"http\S+/console/\S+", text.get_content())
        async with person.browser() as browser:
            answer = await browser.get(link, headers={"Accept": "text/html"})
            assert answer.status_code == 200


async def test_the_first_policy_lists_the_members_who_could_decide(
    alice: Person, charlie: Person, erin: Person
) -> None:
    await appoint(alice, charlie, erin)
    answer = await put_policy(alice, **ALWAYS)
    assert (answer.status_code, answer.json()["code"]) == (409, "deciders_not_chosen")
    assert {each["email"] for each in answer.json()["members"]} == {charlie.account.email, erin.account.email}
    await set_policy(alice, **ALWAYS, deciders=[str(charlie.account.id)])
    team = (await alice.get("/v1/account/deciders")).json()["items"]
    assert [each["email"] for each in team] == [alice.account.email, charlie.account.email]


async def test_a_proposed_first_policy_keeps_the_chosen_members_only(
    alice: Person, charlie: Person, erin: Person
) -> None:
    await appoint(alice, charlie, erin)
    await set_policy(alice, **NEVER, direct_writes="refuse")
    proposal = await propose(alice, **ALWAYS, direct_writes="allow", deciders=[str(charlie.account.id)])
    assert (await confirm(erin, proposal, owner=alice)).json()["require"] == "never"
    assert (await confirm(charlie, proposal, owner=alice)).json()["require"] == "always"
    team = (await alice.get("/v1/account/deciders")).json()["items"]
    assert [each["email"] for each in team] == [alice.account.email, charlie.account.email]


async def test_a_later_policy_chooses_no_deciders(alice: Person) -> None:
    await set_policy(alice, **ALWAYS)
    answer = await put_policy(alice, **ALWAYS, deciders=[])
    assert answer.json()["detail"][0]["loc"] == ["body", "deciders"]


async def test_the_first_policy_ends_the_other_sessions(alice: Person, service: Service) -> None:
    other = await alice.sign_in()
    await set_policy(alice, **ALWAYS)
    async with Client(service, token=other.token) as client:
        assert (await client.get("/v1/me")).status_code == 401
    later = await alice.sign_in()
    await set_policy(alice, **ALWAYS, direct_writes="refuse")
    async with Client(service, token=later.token) as client:
        assert (await client.get("/v1/me")).status_code == 200


async def test_a_decider_whom_the_policy_needs_is_not_removed(alice: Person, charlie: Person) -> None:
    await appoint(alice, charlie)
    await set_policy(alice, **ALWAYS, deciders=[str(charlie.account.id)])
    async with alice.browser() as browser:
        answer = await browser.delete(f"{TEAM}/members/{charlie.account.id}")
        assert (answer.status_code, answer.json()["code"]) == (409, "deciders_too_few")
        answer = await browser.patch(f"{TEAM}/members/{charlie.account.id}", json={"approve_plans": False})
        assert (answer.status_code, answer.json()["code"]) == (409, "deciders_too_few")


async def test_a_member_without_the_permission_does_not_read_the_policy(alice: Person, charlie: Person) -> None:
    await join_team(alice, charlie)
    async with charlie.browser() as browser:
        answer = await browser.get(POLICY, headers=of(alice))
    assert (answer.status_code, answer.json()["code"]) == (403, "forbidden_role")


async def test_a_project_of_the_policy_is_watched(alice: Person) -> None:
    project = (await alice.post("/v1/builders/projects", json={"name": "Acme"})).json()
    await set_policy(alice, require="when", when={"projects": [project["id"]]})
    body = full_manifest(
        projects=[{"key": "acme", "name": "Acme Mail", "slug": project["slug"]}], on_conflict="adopt"
    )
    made = await plan_manifest(alice, body)
    assert [each["rule"] for each in made["approval"]["rules"]] == ["projects"]
