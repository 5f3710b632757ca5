"""Policies, deciders and decisions for tests, made as people make them: in a browser."""

from datetime import timedelta
from typing import Any

import httpx

from builders.kit.db.connections import Conn, Database
from builders.kit.values import clock
from builders.portfolio.team.deciders import WAIT
from tests.cast import Client, Person
from tests.plans.make import PROMOTE, Json, alias, apply, promote, promotion_request, start_promotion
from tests.portfolio.team.make import TEAM, invite, of

POLICY = "/v1/sandbox/approval-policy"
ALWAYS: Json = {"require": "always"}
AUDITED = "SELECT action, actor_type, about FROM identity_audit WHERE account_id = %s AND action ~ %s ORDER BY id"


def approval_path(planned: Json) -> str:
    return f"/v1/sandbox/plans/{planned['id']}/approval"


async def put_policy(owner: Person, **policy: Any) -> httpx.Response:
    """Send a policy in a fresh browser session."""
    async with owner.browser() as browser:
        return await browser.put(POLICY, json=policy)


async def set_policy(owner: Person, **policy: Any) -> Json:
    """Put a policy in force."""
    answer = await put_policy(owner, **policy)
    assert (answer.status_code, answer.json().get("proposal")) == (200, None), answer.text
    found: Json = answer.json()
    return found


async def appoint(owner: Person, *members: Person) -> None:
    """Make members of the team deciders, and let a day pass for the rest of the test."""
    for member in members:
        await join_team(owner, member)
        async with owner.browser() as browser:
            path = f"{TEAM}/members/{member.account.id}"
            assert (await browser.patch(path, json={"approve_plans": True})).status_code == 200
    clock.move(WAIT)


async def join_team(owner: Person, member: Person, role: str = "viewer") -> None:
    """Make a person a member of the team."""
    async with owner.browser() as browser:
        made = await invite(browser, member, role)
    answer = await member.post(f"{TEAM}/accept", json={"token": made["accept_token"]})
    assert answer.status_code == 200, answer.text


async def send_decision(
    person: Person, planned: Json, decision: str = "approve", *, owner: Person | None = None, **members: Any
) -> httpx.Response:
    """Send a decision in a fresh browser session, about a plan of `owner` or of the person."""
    async with person.browser() as browser:
        return await post_decision(browser, planned, decision, owner=owner, **members)


async def post_decision(
    client: Client, planned: Json, decision: str = "approve", *, owner: Person | None = None, **members: Any
) -> httpx.Response:
    body = {"decision": decision, "digest": planned["digest"], **members}
    return await client.post(approval_path(planned), json=body, headers=of(owner) if owner else {})


async def decide(
    person: Person, planned: Json, decision: str = "approve", *, owner: Person | None = None, **members: Any
) -> Json:
    """Decide about a plan; return its approval."""
    answer = await send_decision(person, planned, decision, owner=owner, **members)
    assert answer.status_code == 200, answer.text
    approval: Json = answer.json()
    return approval


async def withdraw(person: Person, planned: Json, *, owner: Person | None = None) -> httpx.Response:
    """Withdraw the decision of a person."""
    async with person.browser() as browser:
        return await browser.delete(approval_path(planned), headers=of(owner) if owner else {})


async def get_approval(person: Client, planned: Json) -> Json:
    """Return the approval of a plan as its reply has it."""
    answer = await person.get(f"/v1/sandbox/plans/{planned['id']}")
    assert answer.status_code == 200, answer.text
    approval: Json = answer.json()["approval"]
    return approval


async def refuse_promotion(person: Person, planned: Json, **members: Any) -> Json:
    """Promote a plan, which is refused because it has no approval."""
    answer = await person.post(PROMOTE, json=promotion_request(planned, **members))
    assert (answer.status_code, answer.json()["code"]) == (403, "approval_required"), answer.text
    refusal: Json = answer.json()
    return refusal


async def list_audited(conn: Conn, person: Person, pattern: str) -> list[tuple[str, str, Json]]:
    """Return action, type of actor and details of the account's audit entries with such an action."""
    return await (await conn.execute(AUDITED, [person.account.id, pattern])).fetchall()


async def fail(alice: Person, bob: Person, database: Database, planned: Json, name: str) -> None:
    """Promote a plan whose only name another account takes in the meantime."""
    await start_promotion(database, alice, planned)
    clock.move(timedelta(minutes=15))
    await apply(bob, alias(name))
    assert (await promote(alice, planned))["status"] == "failed"
