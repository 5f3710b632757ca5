"""A person reviews a plan, decides about it and promotes it; the approval policy and the people who decide."""

from collections.abc import Awaitable, Callable
from datetime import timedelta

import pytest

from builders.kit.db.connections import Conn, Database
from builders.kit.values import clock
from tests.cast import Client, Person
from tests.console.visitor import Visitor, action_of, fields_of, heading
from tests.plans import make
from tests.plans.approval.make import ALWAYS, appoint, decide, fail, join_team, list_audited, set_policy
from tests.plans.make import Json

Visit = Callable[[Person], Awaitable[Visitor]]


@pytest.fixture
async def planned(alice: Person, domain: str) -> Json:
    """Return a plan of Alice's key."""
    return await make.plan(alice, make.alias(f"ada@{domain}"))


@pytest.fixture
async def waiting(alice: Person, planned: Json) -> Json:
    """Return a plan that waits for an approval."""
    await set_policy(alice, **ALWAYS)
    return planned


async def test_a_plan_that_needs_no_approval_is_promoted(browser: Visitor, alice: Person, planned: Json) -> None:
    page = await browser.open(f"/console/plans/{planned['id']}")
    after = await browser.submit(page, "plan-promote")

    assert heading(after) == "Promotion succeeded"
    assert (await alice.get("/v1/aliases")).json()["items"]


async def test_a_promotion_that_failed_is_resumed(
    visit: Visit, alice: Person, bob: Person, planned: Json, domain: str, database: Database, conn: Conn
) -> None:
    await fail(alice, bob, database, planned, f"ada@{domain}")
    browser = await visit(alice)

    after = await browser.submit(await browser.open(f"/console/plans/{planned['id']}"), "plan-promote")

    assert heading(after) == "Promotion failed"  # the other account has the name
    assert f"/console/plans/{planned['id']}" in after.text
    assert [about["resumed"] for _, _, about in await list_audited(conn, alice, "^plan.promot")] == [False, True]


async def test_the_audit_names_the_person_and_the_key(
    browser: Visitor, alice: Person, planned: Json, conn: Conn
) -> None:
    await browser.submit(await browser.open(f"/console/plans/{planned['id']}"), "plan-promote")

    minted = await list_audited(conn, alice, "^api_key")
    assert [actor for _, actor, _ in minted][-2:] == ["user", "user"]
    keys = (await alice.get("/v1/api-keys")).json()["items"]
    assert [each["label"] for each in keys if not each["revoked_at"]] == ["alice live"]


async def test_a_form_that_promotes_twice_promotes_once(browser: Visitor, planned: Json) -> None:
    page = await browser.open(f"/console/plans/{planned['id']}")
    action, fields = action_of(page, "plan-promote"), fields_of(page, "plan-promote")
    first, second = [await browser.post_form(action, fields) for _ in range(2)]

    assert heading(first) == heading(second) == "Promotion succeeded"
    assert str(first.url).partition("?")[0] == str(second.url).partition("?")[0]


async def test_a_plan_that_waits_cannot_be_promoted_here(visit: Visit, alice: Person, waiting: Json) -> None:
    page = await (await visit(alice)).open(f"/console/plans/{waiting['id']}")

    assert "/do/plan-promote" not in page.text
    assert heading(page) == "Review: acme-mail ready"
    assert ">required<" in page.text


async def test_the_account_approves_and_promotes(visit: Visit, alice: Person, waiting: Json) -> None:
    browser = await visit(alice)
    page = await browser.open(f"/console/plans/{waiting['id']}")
    approved = await browser.submit(page, "plan-approve", comment="looks right")
    after = await browser.submit(approved, "plan-promote")

    assert "looks right" in approved.text
    assert heading(after) == "Promotion succeeded"


async def test_a_rejection_is_shown_with_its_reason(visit: Visit, alice: Person, waiting: Json) -> None:
    browser = await visit(alice)
    page = await browser.open(f"/console/plans/{waiting['id']}")
    after = await browser.submit(page, "plan-reject", comment="too dear")

    assert ">rejected<" in after.text
    assert "too dear" in after.text


async def test_a_decision_is_withdrawn(visit: Visit, alice: Person, waiting: Json) -> None:
    browser = await visit(alice)
    page = await browser.submit(await browser.open(f"/console/plans/{waiting['id']}"), "plan-approve")
    after = await browser.submit(page, "plan-withdraw")

    assert ">required<" in after.text


async def test_an_old_session_is_asked_to_sign_in_again(visit: Visit, alice: Person, waiting: Json) -> None:
    browser = await visit(alice)
    page = await browser.open(f"/console/plans/{waiting['id']}")
    clock.move(timedelta(minutes=11))
    after = await browser.submit(page, "plan-approve")

    assert after.status_code == 401
    assert f"/v1/auth/login?return_to=/console/plans/{waiting['id']}" in after.text


async def test_a_member_decides_in_the_account_of_the_team(
    visit: Visit, alice: Person, charlie: Person, domain: str
) -> None:
    await appoint(alice, charlie)
    await set_policy(alice, **ALWAYS, own_plans="refuse", deciders=[str(charlie.account.id)])
    planned = await make.plan(alice, make.alias(f"ada@{domain}"))
    browser = await visit(charlie)
    page = await browser.get(planned["approval"]["review_url"])
    after = await browser.submit(page, "plan-approve")
    promotion = await make.promote(alice, planned)

    assert "In the account of Alice, as a member of its team." in page.text
    assert ">approved<" in after.text
    assert promotion["status"] == "succeeded"


async def test_a_member_without_the_permission_sees_no_plan(
    visit: Visit, alice: Person, bob: Person, waiting: Json
) -> None:
    browser = await visit(bob)

    page = await browser.open(f"/console/of/{alice.account.id}/plans/{waiting['id']}", 404)
    assert "Alice" not in page.text
    await browser.open(f"/console/of/{alice.account.id}/names", 404)


async def test_support_has_no_button_to_decide(alice: Person, waiting: Json) -> None:
    async with Visitor(alice, await alice.admit_support()) as support:
        page = await support.open(f"/console/plans/{waiting['id']}")

    assert "/do/plan-" not in page.text


@pytest.mark.parametrize("form", ["plan-approve", "plan-reject", "plan-promote"])
async def test_support_that_sends_the_form_is_refused(alice: Person, planned: Json, form: str) -> None:
    async with Visitor(alice, await alice.admit_support(may_write=True)) as support:
        page = await support.open("/console/webhooks")
        fields = {**fields_of(page, "webhook-add"), "plan_id": planned["id"], "digest": planned["digest"]}
        fields |= {"decision": "approve", "_page": f"plans/{planned['id']}"}
        answer = await support.post_form(f"/console/do/{form}", fields)

    assert answer.status_code == 403
    assert not (await alice.get("/v1/aliases")).json()["items"]


async def test_another_digest_is_refused(visit: Visit, alice: Person, waiting: Json) -> None:
    browser = await visit(alice)
    page = await browser.open(f"/console/plans/{waiting['id']}")
    after = await browser.submit(page, "plan-approve", digest=f"sha256:{'0' * 64}")

    assert after.status_code == 409


async def test_a_policy_is_set_on_its_page(visit: Visit, alice: Person) -> None:
    browser = await visit(alice)
    page = await browser.open("/console/approval")
    after = await browser.submit(
        page, "policy-change", require="when", amount_over="100.00 usd\n50 EUR", kinds=["alias"], deletes="true"
    )
    policy = (await alice.get("/v1/sandbox/approval-policy")).json()

    assert "The policy is in force." in after.text
    assert policy["require"] == "when"
    assert policy["when"] == {
        "amount_over": [{"amount": "100.00", "currency": "USD"}, {"amount": "50.00", "currency": "EUR"}],
        "deletes": True,
        "kinds": ["alias"],
        "projects": [],
        "outward": False,
    }


async def test_a_form_keeps_the_conditions_that_it_does_not_show(visit: Visit, alice: Person) -> None:
    project = (await alice.post("/v1/builders/projects", json={"name": "Acme"})).json()["id"]
    when = {"projects": [project], "amount_over": []}
    await set_policy(alice, require="when", when=when)
    browser = await visit(alice)
    await browser.submit(await browser.open("/console/approval"), "policy-change", deletes="true")
    found = (await alice.get("/v1/sandbox/approval-policy")).json()["when"]

    assert {name: found[name] for name in when} == when
    assert found["deletes"]


async def test_a_wrong_amount_of_a_policy_is_explained(visit: Visit, alice: Person) -> None:
    browser = await visit(alice)
    page = await browser.open("/console/approval")
    after = await browser.submit(page, "policy-change", require="when", amount_over="many euros")

    assert after.status_code == 422
    assert "many euros" in after.text


async def test_a_looser_policy_waits_for_the_other_person(visit: Visit, alice: Person, charlie: Person) -> None:
    await appoint(alice, charlie)
    await set_policy(alice, **ALWAYS, own_plans="refuse", deciders=[str(charlie.account.id)])
    browser = await visit(alice)
    page = await browser.submit(await browser.open("/console/approval"), "policy-change", require="never")
    other = await visit(charlie)
    confirmed = await other.submit(await other.open(f"/console/of/{alice.account.id}/approval"), "policy-confirm")

    assert "Proposed" in page.text
    assert "The policy is in force." in confirmed.text
    assert (await alice.get("/v1/sandbox/approval-policy")).json()["require"] == "never"


async def test_a_decision_of_a_page_is_that_of_the_api(visit: Visit, alice: Person, waiting: Json) -> None:
    await decide(alice, waiting)
    page = await (await visit(alice)).open(f"/console/plans/{waiting['id']}")

    assert ">approved<" in page.text


async def test_a_stranger_signs_in_and_returns_to_the_review(anyone: Client, waiting: Json) -> None:
    page = await anyone.get(waiting["approval"]["review_url"], headers={"Accept": "text/html"})

    assert page.status_code == 401
    assert f"plans/{waiting['id']}" in page.text


@pytest.mark.parametrize(
    ("page", "form"), [("projects", "project-add"), ("keys", "key-mint"), ("device", "device-find")]
)
async def test_a_form_in_a_team_does_not_act_in_the_own_account(
    visit: Visit, alice: Person, charlie: Person, page: str, form: str
) -> None:
    await appoint(alice, charlie)
    browser = await visit(charlie)
    own = await browser.open(f"/console/{page}")
    action = action_of(own, form).replace("/console/", f"/console/of/{alice.account.id}/")
    after = await browser.post_form(action, fields_of(own, form) | {"name": "Acme", "user_code": "x"})

    assert after.status_code == 404


async def test_a_decider_finds_what_waits_for_her_in_her_inbox_and_in_the_list_of_the_account(
    visit: Visit, alice: Person, charlie: Person, domain: str
) -> None:
    await appoint(alice, charlie)
    await set_policy(alice, **ALWAYS, own_plans="refuse", deciders=[str(charlie.account.id)])
    planned = await make.plan(alice, make.alias(f"ada@{domain}"))
    space, browser = f"/console/of/{alice.account.id}", await visit(charlie)
    unasked = await browser.open(f"{space}/plans")
    answer = await alice.post(f"/v1/sandbox/plans/{planned['id']}/approval/request")
    assert answer.status_code == 200, answer.text
    pages = [await browser.open(each) for each in ("/console", f"{space}/plans")]

    link = f'<a href="{space}/plans/{planned["id"]}">{planned["manifest"]}</a>'
    assert link in unasked.text
    assert [link in page.text for page in pages] == [True, True]
    assert "Plans of Alice that wait for an approval" in pages[0].text
    assert "Nothing needs you" not in pages[0].text


async def test_a_member_who_does_not_decide_sees_no_list_of_plans(
    visit: Visit, alice: Person, charlie: Person, waiting: Json
) -> None:
    await join_team(alice, charlie, "admin")
    browser = await visit(charlie)
    page = await browser.open(f"/console/of/{alice.account.id}/plans", 403)

    assert waiting["manifest"] not in page.text
    assert waiting["id"] not in (await browser.open("/console")).text


async def test_a_stranger_sees_no_list_of_plans(visit: Visit, alice: Person, bob: Person, waiting: Json) -> None:
    page = await (await visit(bob)).open(f"/console/of/{alice.account.id}/plans", 404)

    assert waiting["manifest"] not in page.text
