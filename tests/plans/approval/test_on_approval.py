"""Promotions that wait for an approval and start by it, and the promotion by a person."""

from dataclasses import replace
from datetime import timedelta
from uuid import UUID

import httpx
import pytest

from builders.identity import keys
from builders.identity.records import KeyKind
from builders.kit.callers import Actor
from builders.kit.db.connections import Conn, Database
from builders.kit.values import clock, ids
from builders.plans import jobs, planning, store
from builders.plans.promotion import on_approval
from tests.cast import Client, Person
from tests.plans.approval.make import (
    ALWAYS,
    appoint,
    approval_path,
    decide,
    list_audited,
    refuse_promotion,
    set_policy,
)
from tests.plans.make import (
    PROMOTE,
    Json,
    alias,
    apply,
    list_events,
    parameters,
    plan,
    promote,
    promotion_request,
    step_statuses,
)
from tests.plans.test_jobs import work
from tests.portfolio.team.make import of
from tests.worker import Worker

DAY = timedelta(hours=24)


@pytest.fixture
async def planned(alice: Person, domain: str) -> Json:
    """Return a plan of Alice that requires an approval."""
    await set_policy(alice, **ALWAYS)
    return await plan(alice, alias(f"ada@{domain}"))


async def wait(person: Person, planned: Json, **members: object) -> Json:
    """Promote a plan when it is approved; return the promotion, which waits."""
    answer = await person.post(PROMOTE, json=promotion_request(planned, when_approved=True, **members))
    assert (answer.status_code, answer.json()["status"]) == (200, "waiting"), answer.text
    assert answer.headers["Location"] == f"/v1/sandbox/promotions/{answer.json()['id']}"
    promotion: Json = answer.json()
    return promotion


async def read(person: Person, promotion: Json) -> Json:
    answer = await person.get(f"/v1/sandbox/promotions/{promotion['id']}")
    read_again: Json = answer.json()
    return read_again


async def test_a_promotion_waits_and_starts_by_the_approval(
    alice: Person, planned: Json, event_worker: Worker, conn: Conn
) -> None:
    promotion = await wait(alice, planned)
    assert step_statuses(promotion) == {"alias.ada": "pending"}
    assert promotion["next_actions"] == ["await_approval"]
    await decide(alice, planned)
    await event_worker.work()
    ended = await read(alice, promotion)
    assert (ended["status"], step_statuses(ended)) == ("succeeded", {"alias.ada": "succeeded"})
    [(_, actor, about)] = await list_audited(conn, alice, "^plan.promoted")
    assert (actor, about["promotion_id"], about["resumed"]) == ("key", promotion["id"], False)


async def test_a_repeated_request_waits_as_the_same_promotion(alice: Person, planned: Json) -> None:
    first = await wait(alice, planned)
    assert (await wait(alice, planned))["id"] == first["id"]


async def test_a_request_that_does_not_wait_is_refused_until_the_approval(alice: Person, planned: Json) -> None:
    first = await wait(alice, planned)
    await refuse_promotion(alice, planned)
    await decide(alice, planned)
    promotion = await promote(alice, planned)
    assert (promotion["id"], promotion["status"]) == (first["id"], "succeeded")


async def test_a_plan_without_the_need_does_not_wait(alice: Person, domain: str) -> None:
    made = await plan(alice, alias(f"ada@{domain}"))
    assert (await promote(alice, made, when_approved=True))["status"] == "succeeded"


async def test_a_rejected_plan_does_not_wait(alice: Person, planned: Json) -> None:
    await decide(alice, planned, "reject")
    assert (await refuse_promotion(alice, planned, when_approved=True))["approval"] == "rejected"


async def test_waiting_asks_the_deciders(alice: Person, planned: Json, conn: Conn) -> None:
    await wait(alice, planned)
    found = await conn.execute(
        "SELECT count(*) FROM kit_outbox WHERE account_id = %s AND name = 'plan.approval_requested'",
        [alice.account.id],
    )
    assert await found.fetchone() == (1,)


async def test_a_withdrawn_approval_starts_nothing(alice: Person, planned: Json, event_worker: Worker) -> None:
    promotion = await wait(alice, planned)
    async with alice.browser() as browser:
        body = {"decision": "approve", "digest": planned["digest"]}
        assert (await browser.post(approval_path(planned), json=body)).status_code == 200
        assert (await browser.delete(approval_path(planned))).status_code == 200
    await event_worker.work()
    assert (await read(alice, promotion))["status"] == "waiting"


async def test_an_approval_of_one_digest_starts_one_of_two_promotions(
    alice: Person, planned: Json, domain: str, event_worker: Worker
) -> None:
    again = await plan(alice, alias(f"ada@{domain}"))
    promotions = [await wait(alice, each) for each in (planned, again)]
    await decide(alice, again)
    await event_worker.work()
    assert [(await read(alice, each))["status"] for each in promotions] == ["succeeded", "waiting"]


async def test_a_promotion_whose_key_was_revoked_does_not_start(
    alice: Person, planned: Json, event_worker: Worker, database: Database
) -> None:
    promotion = await wait(alice, planned)
    async with database.transaction() as conn:
        await keys.revoke_key(
            conn,
            account_id=alice.account.id,
            key_id=ids.parse(promotion["created_by"]),
            revoked_by=KeyKind.LIVE,
            actor=Actor(type="operator"),
        )
    await decide(alice, planned)
    await event_worker.work()
    async with alice.browser() as browser:
        ended = (await browser.get(f"/v1/sandbox/promotions/{promotion['id']}")).json()
    assert (ended["status"], ended["error"]["code"]) == ("failed", "key_refused")
    assert step_statuses(ended) == {"alias.ada": "skipped"}


async def test_a_stale_plan_does_not_start(
    alice: Person, bob: Person, planned: Json, domain: str, event_worker: Worker, conn: Conn
) -> None:
    promotion = await wait(alice, planned, on_error="continue")
    await apply(bob, alias(f"ada@{domain}"))
    await decide(alice, planned)
    await event_worker.work()
    ended = await read(alice, promotion)
    assert (ended["status"], ended["error"]["code"]) == ("failed", "plan_stale")
    assert [name for name, _ in await list_events(conn, alice)] == ["promotion.failed"]


async def test_a_promotion_waits_until_the_plan_expires(
    alice: Person, planned: Json, event_worker: Worker
) -> None:
    promotion = await wait(alice, planned)
    clock.move(DAY)
    await work(event_worker.database, event_worker.settings, jobs.resume)
    ended = await read(alice, promotion)
    assert (ended["status"], ended["error"]["code"]) == ("failed", "approval_missing")
    answer = await alice.post(PROMOTE, json=promotion_request(planned, resume=True))
    assert (answer.status_code, answer.json()["code"]) == (410, "plan_expired")


async def test_a_lost_job_is_repeated(alice: Person, planned: Json, event_worker: Worker, conn: Conn) -> None:
    promotion = await wait(alice, planned)
    await decide(alice, planned)
    await conn.execute("DELETE FROM procrastinate_jobs WHERE task_name = 'plans.start_waiting'")
    await work(event_worker.database, event_worker.settings, jobs.resume)
    assert (await read(alice, promotion))["status"] == "succeeded"


async def test_a_policy_that_no_longer_requires_it_starts_the_promotion(
    alice: Person, planned: Json, event_worker: Worker
) -> None:
    promotion = await wait(alice, planned)
    await set_policy(alice, require="never")
    await event_worker.work()
    assert (await read(alice, promotion))["status"] == "succeeded"


async def test_a_loosened_policy_starts_more_promotions_than_one_batch(alice: Person, domain: str) -> None:
    await set_policy(alice, **ALWAYS)
    plans = [await plan(alice, alias(f"name{at}@{domain}"), name=f"manifest-{at}") for at in range(5)]
    waiting = [await wait(alice, each) for each in plans]
    await set_policy(alice, require="never")
    state, batches = alice.service.api.state, 0
    last: UUID | None = ids.NIL
    while last is not None:
        batches += 1
        last = await on_approval.start_approved(
            state.database,
            outbound=state.outbound,
            account_id=alice.account.id,
            after=last,
            parameters=parameters(alice),
            limit=2,
        )
    assert batches == 3
    assert [(await read(alice, each))["status"] for each in waiting] == ["succeeded"] * 5


async def test_many_newer_plans_do_not_delete_one_that_waits(
    alice: Person, planned: Json, conn: Conn, domain: str
) -> None:
    promotion = await wait(alice, planned)
    newer = [await plan(alice, alias(f"grace@{domain}")) for _ in range(3)]
    latest = await planning.get_plan(conn, account_id=alice.account.id, plan_id=UUID(newer[-1]["id"]))
    await store.insert_plan(conn, plan=replace(latest, id=ids.new()), kept=2, deleted=100)
    answers = [await alice.get(f"/v1/sandbox/plans/{each['id']}") for each in newer]
    assert [each.status_code for each in answers] == [404, 404, 200]
    await decide(alice, planned)
    assert (await promote(alice, planned))["id"] == promotion["id"]


# The promotion by a person.


async def promote_in_browser(client: Client, planned: Json) -> httpx.Response:
    return await client.post(f"/v1/sandbox/plans/{planned['id']}/promotion", json={"digest": planned["digest"]})


async def test_a_person_promotes_with_a_key_that_nobody_sees(
    alice: Person, planned: Json, conn: Conn, event_worker: Worker
) -> None:
    await decide(alice, planned)
    async with alice.browser() as browser:
        answer = await promote_in_browser(browser, planned)
    assert (answer.status_code, answer.json()["status"]) == (200, "succeeded"), answer.text
    key_id = answer.json()["created_by"]
    key = (await alice.get(f"/v1/api-keys/{key_id}")).json()
    assert key["revoked_at"] is not None
    assert planned["id"] in key["label"]
    [(_, actor, about)] = await list_audited(conn, alice, "^plan.promoted")
    assert (actor, about["person"]) == ("key", str(alice.account.id))
    of_key = [
        (action, actor)
        for action, actor, about in await list_audited(conn, alice, "^api_key.(minted|revoked)")
        if about["key_id"] == key_id
    ]
    assert of_key == [("api_key.minted", "user"), ("api_key.revoked", "user")]
    sent = await event_worker.list_emails(alice.account.email)
    assert not [each for each in sent if "API key" in each["Subject"]]


async def test_a_plan_that_is_promoted_takes_no_second_key(alice: Person, planned: Json) -> None:
    await decide(alice, planned)
    async with alice.browser() as browser:
        first = await promote_in_browser(browser, planned)
        again = await promote_in_browser(browser, planned)
    assert (again.status_code, again.json()["id"]) == (200, first.json()["id"])
    items = (await alice.get("/v1/api-keys")).json()["items"]
    assert len([each for each in items if planned["id"] in each["label"]]) == 1


async def test_the_key_is_revoked_after_a_refusal_too(alice: Person, planned: Json) -> None:
    async with alice.browser() as browser:
        answer = await promote_in_browser(browser, planned)
    assert (answer.status_code, answer.json()["code"]) == (403, "approval_required")
    items = (await alice.get("/v1/api-keys")).json()["items"]
    assert [each["revoked_at"] is None for each in items if planned["id"] in each["label"]] == [False]


async def test_a_member_does_not_promote(alice: Person, charlie: Person, domain: str) -> None:
    await appoint(alice, charlie)
    made = await plan(alice, alias(f"ada@{domain}"))
    async with charlie.browser() as browser:
        browser.headers.update(of(alice))
        answer = await promote_in_browser(browser, made)
    assert (answer.status_code, answer.json()["code"]) == (403, "forbidden_role")


async def test_bob_promotes_no_plan_of_alice(bob: Person, planned: Json) -> None:
    async with bob.browser() as browser:
        assert (await promote_in_browser(browser, planned)).json()["code"] == "plan_not_found"


async def test_an_old_session_does_not_promote(alice: Person, planned: Json) -> None:
    async with alice.browser() as browser:
        clock.move(timedelta(minutes=11))
        answer = await promote_in_browser(browser, planned)
    assert (answer.status_code, answer.json()["code"]) == (401, "fresh_sign_in_required")


async def test_a_program_does_not_promote_as_a_person(alice: Person, planned: Json) -> None:
    new = await alice.sign_in()
    async with Client(alice.service, token=new.token) as client:
        for program in (alice, client):
            assert (await promote_in_browser(program, planned)).json()["code"] == "person_required"
