"""Decisions of people about plans, and the promotions that need them."""

from dataclasses import replace
from datetime import datetime, timedelta

import httpx
import pytest

from builders.identity.records import SessionKind
from builders.kit.db.connections import Conn, Database
from builders.kit.values import clock, ids
from builders.plans import planning
from builders.plans.approval import decisions
from builders.plans.records import ApprovalState, PlanStatus
from tests.cast import Client, Person
from tests.conftest import INSTANT, StopClock
from tests.plans.approval.make import (
    ALWAYS,
    appoint,
    decide,
    fail,
    get_approval,
    join_team,
    list_audited,
    post_decision,
    refuse_promotion,
    send_decision,
    set_policy,
    withdraw,
)
from tests.plans.make import Json, alias, plan, promote
from tests.portfolio.team.make import TEAM

DAY = timedelta(hours=24)


@pytest.fixture
async def planned(alice: Person, domain: str) -> Json:
    """Return a plan of Alice that requires an approval."""
    await set_policy(alice, **ALWAYS)
    return await plan(alice, alias(f"ada@{domain}"))


async def test_without_a_policy_no_plan_requires_an_approval(alice: Person, domain: str) -> None:
    made = await plan(alice, alias(f"ada@{domain}"))
    approval = made["approval"]
    assert (approval["state"], approval["rules"], approval["decisions"]) == ("not_required", [], [])
    assert (await promote(alice, made))["status"] == "succeeded"


async def test_a_plan_says_why_and_where_it_needs_an_approval(alice: Person, planned: Json) -> None:
    approval = planned["approval"]
    assert (approval["state"], [each["rule"] for each in approval["rules"]]) == ("required", ["always"])
    assert approval["review_url"].endswith(f"/console/of/{alice.account.id}/plans/{planned['id']}")


async def test_a_promotion_without_an_approval_is_refused(alice: Person, planned: Json) -> None:
    refusal = await refuse_promotion(alice, planned)
    assert refusal["review_url"] == planned["approval"]["review_url"]
    assert (refusal["approval"], refusal["rules"]) == ("required", ["always"])


async def test_an_approved_plan_is_promoted(alice: Person, planned: Json) -> None:
    approval = await decide(alice, planned, comment="As agreed.")
    [decision] = approval["decisions"]
    assert (approval["state"], decision["decision"], decision["comment"]) == ("approved", "approve", "As agreed.")
    assert decision["account_id"] == str(alice.account.id)
    assert (await promote(alice, planned))["status"] == "succeeded"
    [used] = (await get_approval(alice, planned))["decisions"]
    assert used["used_by"] == planned["id"]


async def test_one_rejection_blocks(alice: Person, charlie: Person, domain: str) -> None:
    await appoint(alice, charlie)
    await set_policy(alice, **ALWAYS, own_plans="allow", deciders=[str(charlie.account.id)])
    made = await plan(alice, alias(f"ada@{domain}"))
    await decide(alice, made)
    assert (await decide(charlie, made, "reject", owner=alice))["state"] == "rejected"
    assert (await refuse_promotion(alice, made))["approval"] == "rejected"


async def test_the_newest_decision_of_a_person_counts(alice: Person, planned: Json) -> None:
    await decide(alice, planned, "reject")
    assert (await decide(alice, planned))["state"] == "approved"
    assert (await decide(alice, planned, "reject"))["state"] == "rejected"


async def test_a_withdrawn_approval_does_not_count(alice: Person, planned: Json) -> None:
    await decide(alice, planned)
    assert (await withdraw(alice, planned)).json()["state"] == "required"
    await refuse_promotion(alice, planned)
    assert (await withdraw(alice, planned)).json()["code"] == "decision_not_found"


async def test_an_approval_ends_after_a_day(alice: Person, planned: Json, domain: str) -> None:
    with clock.moved(DAY - timedelta(minutes=1)):
        again = await plan(alice, alias(f"ada@{domain}"))
        assert again["digest"] == planned["digest"]
    await decide(alice, planned)
    with clock.moved(DAY):
        again = await plan(alice, alias(f"ada@{domain}"))
        assert again["approval"]["state"] == "expired"
        assert (await refuse_promotion(alice, again))["approval"] == "expired"


async def test_a_plan_with_the_same_digest_keeps_the_approval(alice: Person, planned: Json, domain: str) -> None:
    await decide(alice, planned)
    again = await plan(alice, alias(f"ada@{domain}"))
    assert again["approval"]["state"] == "approved"
    assert (await promote(alice, again))["status"] == "succeeded"


async def test_a_plan_with_another_digest_needs_its_own(alice: Person, planned: Json, domain: str) -> None:
    await decide(alice, planned)
    other = await plan(alice, alias(f"ada@{domain}", "grace@example.net"))
    assert other["approval"]["state"] == "required"
    await refuse_promotion(alice, other)


async def test_an_approval_is_used_once(alice: Person, planned: Json, domain: str) -> None:
    await decide(alice, planned)
    again = await plan(alice, alias(f"ada@{domain}"))
    await promote(alice, again)
    await refuse_promotion(alice, planned)


async def test_two_people_approve_if_the_policy_requires_two(
    alice: Person, charlie: Person, erin: Person, domain: str
) -> None:
    await appoint(alice, charlie, erin)
    members = [str(each.account.id) for each in (charlie, erin)]
    await set_policy(alice, **ALWAYS, approvals=2, deciders=members)
    made = await plan(alice, alias(f"ada@{domain}"))
    assert (await decide(charlie, made, owner=alice))["state"] == "required"
    assert (await decide(charlie, made, owner=alice))["state"] == "required"
    assert (await decide(erin, made, owner=alice))["state"] == "approved"
    assert (await promote(alice, made))["status"] == "succeeded"


async def test_an_account_does_not_approve_its_own_plan_if_the_policy_refuses(
    alice: Person, charlie: Person, domain: str
) -> None:
    await appoint(alice, charlie)
    await set_policy(alice, **ALWAYS, deciders=[str(charlie.account.id)])
    made = await plan(alice, alias(f"ada@{domain}"))
    answer = await send_decision(alice, made)
    assert (answer.status_code, answer.json()["code"]) == (403, "own_plan")
    assert (await decide(alice, made, "reject"))["state"] == "rejected"


async def test_the_decision_of_a_former_decider_does_not_count(
    alice: Person, charlie: Person, domain: str
) -> None:
    await appoint(alice, charlie)
    await set_policy(alice, **ALWAYS, own_plans="allow", deciders=[str(charlie.account.id)])
    made = await plan(alice, alias(f"ada@{domain}"))
    assert (await decide(charlie, made, owner=alice))["state"] == "approved"
    async with alice.browser() as browser:
        assert (await browser.delete(f"{TEAM}/members/{charlie.account.id}")).status_code == 204
    await refuse_promotion(alice, made)


async def test_a_decision_from_before_a_new_appointment_does_not_count(
    alice: Person, charlie: Person, domain: str
) -> None:
    await appoint(alice, charlie)
    await set_policy(alice, **ALWAYS, own_plans="allow", deciders=[str(charlie.account.id)])
    made = await plan(alice, alias(f"ada@{domain}"))
    await decide(charlie, made, owner=alice)
    async with alice.browser() as browser:
        for given in (False, True):
            clock.move(timedelta(seconds=1))
            path = f"{TEAM}/members/{charlie.account.id}"
            assert (await browser.patch(path, json={"approve_plans": given})).status_code == 200
    await refuse_promotion(alice, made)


async def test_an_old_status_of_a_plan_does_not_replace_the_approval(
    alice: Person, planned: Json, database: Database
) -> None:
    """A request that resumes reads the plan before it waits for the promotion that runs."""
    async with database.connection() as conn:
        read = await planning.get_plan(conn, account_id=alice.account.id, plan_id=ids.parse(planned["id"]))
        old = replace(read, status=PlanStatus.PROMOTING)
        assert (await decisions.get_approval(conn, plan=old)).state is ApprovalState.NOT_REQUIRED
        assert (await decisions.use_approval(conn, plan=old)).state is ApprovalState.REQUIRED


async def test_the_policy_of_the_promotion_counts(alice: Person, domain: str) -> None:
    made = await plan(alice, alias(f"ada@{domain}"))
    await set_policy(alice, **ALWAYS)
    await refuse_promotion(alice, made)


async def test_resume_continues_under_the_approval(
    alice: Person, bob: Person, planned: Json, database: Database, domain: str
) -> None:
    await decide(alice, planned)
    await fail(alice, bob, database, planned, f"ada@{domain}")
    clock.move(DAY)
    assert (await promote(alice, planned, resume=True, on_error="continue"))["status"] == "failed"


async def test_a_rejection_blocks_the_resumption(
    alice: Person, bob: Person, planned: Json, database: Database, domain: str
) -> None:
    await decide(alice, planned)
    await fail(alice, bob, database, planned, f"ada@{domain}")
    assert (await decide(alice, planned, "reject"))["state"] == "rejected"
    await refuse_promotion(alice, planned, resume=True, on_error="continue")


async def test_resume_of_a_promotion_without_an_approval_needs_one(
    alice: Person, bob: Person, database: Database, domain: str
) -> None:
    made = await plan(alice, alias(f"ada@{domain}"))
    await fail(alice, bob, database, made, f"ada@{domain}")
    await set_policy(alice, **ALWAYS)
    await refuse_promotion(alice, made, resume=True, on_error="continue")
    await decide(alice, made)
    assert (await promote(alice, made, resume=True, on_error="continue"))["status"] == "failed"


async def test_the_text_of_a_plan_names_the_page(alice: Person, planned: Json) -> None:
    answer = await alice.get(f"/v1/sandbox/plans/{planned['id']}", headers={"Accept": "text/plain"})
    assert planned["approval"]["review_url"] in answer.text


# Who may not decide: each attempt is refused and audited.


async def check_refused(conn: Conn, owner: Person, answer: httpx.Response, status: int, code: str) -> None:
    assert (answer.status_code, answer.json()["code"]) == (status, code), answer.text
    entries = await list_audited(conn, owner, "^decision.refused")
    assert [about["code"] for _, _, about in entries] == [code]
    assert await list_audited(conn, owner, "^plan.(approved|rejected)$") == []


async def test_a_key_does_not_approve(alice: Person, planned: Json, conn: Conn) -> None:
    await check_refused(conn, alice, await post_decision(alice, planned), 403, "person_required")
    await refuse_promotion(alice, planned)


async def test_a_bearer_token_does_not_approve(alice: Person, planned: Json, conn: Conn) -> None:
    new = await alice.sign_in()
    async with Client(alice.service, token=new.token) as client:
        await check_refused(conn, alice, await post_decision(client, planned), 403, "person_required")


async def test_a_session_of_the_command_line_does_not_approve(alice: Person, planned: Json, conn: Conn) -> None:
    async with alice.browser(kind=SessionKind.TOKEN) as client:
        await check_refused(conn, alice, await post_decision(client, planned), 403, "person_required")


async def test_a_support_session_does_not_approve(alice: Person, planned: Json, conn: Conn) -> None:
    new = await alice.admit_support(may_write=True)
    async with Client(alice.service, cookie=new.token) as client:
        client.headers["Sec-Fetch-Site"] = "same-origin"
        await check_refused(conn, alice, await post_decision(client, planned), 403, "person_required")


async def test_a_member_without_the_permission_does_not_approve(
    alice: Person, charlie: Person, planned: Json, conn: Conn
) -> None:
    await join_team(alice, charlie, "owner")
    answer = await send_decision(charlie, planned, owner=alice)
    await check_refused(conn, alice, answer, 403, "forbidden_role")


async def test_an_old_session_must_sign_in_again(alice: Person, planned: Json, conn: Conn) -> None:
    async with alice.browser() as browser:
        clock.move(timedelta(minutes=11))
        await check_refused(conn, alice, await post_decision(browser, planned), 401, "fresh_sign_in_required")


async def test_an_expired_plan_is_not_approved(alice: Person, planned: Json, conn: Conn) -> None:
    clock.move(DAY)
    await check_refused(conn, alice, await send_decision(alice, planned), 410, "plan_expired")


async def test_a_plan_is_approved_until_its_exact_end(
    alice: Person, planned: Json, conn: Conn, stop_clock: StopClock
) -> None:
    ends = datetime.fromisoformat(planned["expires_at"])
    stop_clock(ends)
    assert (await get_approval(alice, planned))["state"] == "expired"
    await check_refused(conn, alice, await send_decision(alice, planned), 410, "plan_expired")
    stop_clock(ends - INSTANT)
    assert (await get_approval(alice, planned))["state"] == "required"
    assert (await decide(alice, planned))["state"] == "approved"


async def test_an_approval_counts_until_its_exact_end(
    alice: Person, planned: Json, domain: str, stop_clock: StopClock
) -> None:
    decided = clock.now()
    stop_clock(decided)
    await decide(alice, planned)
    states = []
    for at in (decided + DAY - INSTANT, decided + DAY):
        stop_clock(at)
        again = await plan(alice, alias(f"ada@{domain}"))
        states.append(again["approval"]["state"])
    assert states == ["approved", "expired"]


async def test_another_digest_is_not_approved(alice: Person, planned: Json, conn: Conn) -> None:
    answer = await send_decision(alice, planned | {"digest": "sha256:0"})
    await check_refused(conn, alice, answer, 409, "plan_digest_mismatch")


async def test_a_promoted_plan_is_not_approved(alice: Person, domain: str, conn: Conn) -> None:
    made = await plan(alice, alias(f"ada@{domain}"))
    await promote(alice, made)
    await check_refused(conn, alice, await send_decision(alice, made), 409, "plan_promoted")


async def test_bob_learns_nothing_of_alices_plan(alice: Person, bob: Person, planned: Json) -> None:
    answer = await send_decision(bob, planned)
    assert (answer.status_code, answer.json()["code"]) == (404, "plan_not_found")
    answer = await send_decision(bob, planned, owner=alice)
    assert (answer.status_code, answer.json()["code"]) == (404, "portfolio_not_found")


async def test_a_decision_is_audited(alice: Person, planned: Json, conn: Conn) -> None:
    await decide(alice, planned)
    await decide(alice, planned, "reject")
    await withdraw(alice, planned)
    found = await list_audited(conn, alice, "^plan.(approved|rejected|approval_withdrawn)")
    assert [action for action, _, _ in found] == ["plan.approved", "plan.rejected", "plan.approval_withdrawn"]
    assert {about["digest"] for _, _, about in found} == {planned["digest"]}
    assert {about["person"] for _, _, about in found} == {str(alice.account.id)}
