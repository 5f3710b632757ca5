"""Attempts to promote a plan without the decision of a person: refused, and the account reads it."""

import asyncio
from collections.abc import Sequence
from datetime import timedelta

import pytest

from builders.kit.db.connections import Database
from builders.kit.process.settings import Settings
from builders.kit.values import clock, ids
from tests.cast import Client, Person
from tests.plans.approval.make import (
    ALWAYS,
    appoint,
    approval_path,
    decide,
    join_team,
    post_decision,
    refuse_promotion,
    send_decision,
    set_policy,
    withdraw,
)
from tests.plans.make import PROMOTE, Json, alias, plan, promotion_request
from tests.portfolio.team.make import of
from tests.profile.make import CONFIRM, ME, ProfileWorker

DAY = timedelta(hours=24)


@pytest.fixture
async def planned(alice: Person, domain: str) -> Json:
    """Return a plan of Alice that requires an approval."""
    await set_policy(alice, **ALWAYS)
    return await plan(alice, alias(f"ada@{domain}"))


async def refusals(person: Person) -> Sequence[tuple[str, str | None]]:
    """Return code and reason of the refusals in the audit list that the account reads, the oldest first."""
    answer = await person.get("/v1/account/audit", params={"action": "decision.refused"})
    assert answer.status_code == 200, answer.text
    return [(each["about"]["code"], each["about"]["reason"]) for each in reversed(answer.json()["items"])]


async def is_unpromoted(person: Person) -> bool:
    return not (await person.get("/v1/aliases")).json()["items"]


async def test_a_promotion_without_an_approval_is_audited(alice: Person, planned: Json) -> None:
    await refuse_promotion(alice, planned)

    assert await refusals(alice) == [("approval_required", None)]
    assert await is_unpromoted(alice)


async def test_a_promotion_after_the_end_of_the_approval_is_audited(
    alice: Person, planned: Json, domain: str
) -> None:
    await decide(alice, planned)
    clock.move(DAY)
    newer = await plan(alice, alias(f"ada@{domain}"))
    assert newer["digest"] == planned["digest"]
    refused = await refuse_promotion(alice, newer)

    assert refused["approval"] == "expired"
    assert await refusals(alice) == [("approval_required", None)]
    assert await is_unpromoted(alice)


async def test_a_promotion_after_a_withdrawal_is_audited(alice: Person, planned: Json) -> None:
    await decide(alice, planned)
    assert (await withdraw(alice, planned)).status_code == 200
    await refuse_promotion(alice, planned)

    assert await refusals(alice) == [("approval_required", None)]


async def test_two_promotions_after_a_concurrent_withdrawal_are_audited(alice: Person, planned: Json) -> None:
    await decide(alice, planned)
    async with alice.browser() as browser:
        first, withdrawal, second = await asyncio.gather(
            alice.post(PROMOTE, json=promotion_request(planned)),
            browser.delete(approval_path(planned)),
            alice.post(PROMOTE, json=promotion_request(planned)),
        )
    if withdrawal.status_code == 200:  # it was the first
        assert {each.json()["code"] for each in (first, second)} == {"approval_required"}
        assert await refusals(alice) == [("approval_required", None)]
        assert await is_unpromoted(alice)
    else:
        assert withdrawal.json()["code"] == "plan_promoted"
        assert await refusals(alice) == [("plan_promoted", None)]


async def test_a_withdrawal_by_a_key_is_refused_and_audited(alice: Person, planned: Json) -> None:
    await decide(alice, planned)
    answer = await alice.delete(approval_path(planned))

    assert (answer.status_code, answer.json()["code"]) == (403, "person_required")
    assert await refusals(alice) == [("person_required", "api_key")]


async def test_a_key_that_moves_the_address_is_refused_and_audited(alice: Person, planned: Json) -> None:
    await alice.patch(ME, json={"email": f"{ids.new()}@example.net"})
    await refuse_promotion(alice, planned)

    assert await refusals(alice) == [("person_required", "api_key"), ("approval_required", None)]


async def test_a_decision_after_a_key_moved_the_address_is_refused_and_audited(
    alice: Person, anyone: Client, database: Database, settings: Settings
) -> None:
    """Without a policy a key may do it. Who signs in with the new address waits for a day."""
    address = f"{ids.new()}@example.net"
    await alice.patch(ME, json={"email": address})
    token = await ProfileWorker(database, settings).token(address)
    assert (await anyone.get(CONFIRM, params={"token": token})).status_code == 200
    async with alice.browser() as browser:
        answer = await browser.put("/v1/sandbox/approval-policy", json=ALWAYS)

    assert (answer.status_code, answer.json()["reason"]) == (403, "recent_change")
    assert await refusals(alice) == [("person_required", "recent_change")]


async def test_a_member_whose_address_a_key_moved_is_refused_and_audited(
    alice: Person, charlie: Person, anyone: Client, database: Database, settings: Settings, domain: str
) -> None:
    await appoint(alice, charlie)
    await set_policy(alice, **ALWAYS, deciders=[str(charlie.account.id)])
    planned = await plan(alice, alias(f"ada@{domain}"))
    address = f"{ids.new()}@example.net"
    await charlie.patch(ME, json={"email": address})
    token = await ProfileWorker(database, settings).token(address)
    assert (await anyone.get(CONFIRM, params={"token": token})).status_code == 200
    await send_decision(charlie, planned, owner=alice)
    await refuse_promotion(alice, planned)

    assert await refusals(alice) == [("person_required", "recent_change"), ("approval_required", None)]


@pytest.mark.parametrize("may_write", [False, True])
async def test_support_does_not_promote_as_a_person(alice: Person, planned: Json, *, may_write: bool) -> None:
    await decide(alice, planned)
    new = await alice.admit_support(may_write=may_write)
    async with Client(alice.service, cookie=new.token) as support:
        support.headers["Sec-Fetch-Site"] = "same-origin"
        path = f"/v1/sandbox/plans/{planned['id']}/promotion"
        answer = await support.post(path, json={"digest": planned["digest"]})

    assert (answer.status_code, answer.json()["code"]) == (403, "person_required")
    assert await refusals(alice) == [("person_required", "support_session")]
    assert await is_unpromoted(alice)


async def test_a_member_without_the_permission_is_refused_and_audited(
    alice: Person, charlie: Person, planned: Json
) -> None:
    await join_team(alice, charlie, "owner")
    async with charlie.browser() as browser:
        await post_decision(browser, planned, owner=alice)
        withdrawn = await browser.delete(approval_path(planned), headers=of(alice))

    assert withdrawn.status_code == 403
    assert await refusals(alice) == [("forbidden_role", None)] * 2
