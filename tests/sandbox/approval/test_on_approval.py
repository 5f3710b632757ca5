"""Promotions that wait for an approval and start by it, and the promotion by a person."""

from dataclasses import replace
from datetime import timedelta

import pytest

from builders.identity import keys
from builders.identity.records import KeyKind
from builders.kit.db.connections import Conn, Database
from builders.kit.http.callers import Actor, FreshSignInRequired, PersonRequired
from builders.kit.values import clock, ids
from builders.portfolio.team.errors import RoleForbidden
from builders.portfolio.team.records import Access, TeamRole
from builders.sandbox import jobs, store
from builders.sandbox.promotion import on_approval
from builders.sandbox.records import OnError, PromotionRequest
from tests.cast import Person
from tests.sandbox.approval.make import (
    ALWAYS,
    appoint,
    approval_path,
    decide,
    list_audited,
    refuse_promotion,
    set_policy,
)
from tests.sandbox.make import (
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
from tests.sandbox.test_jobs import work
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
    await conn.execute("DELETE FROM procrastinate_jobs WHERE task_name = 'sandbox.start_waiting'")
    await work(event_worker.database, event_worker.settings, jobs.resume)
    assert (await read(alice, promotion))["status"] == "succeeded"


async def test_a_policy_that_no_longer_requires_it_starts_the_promotion(
    alice: Person, planned: Json, event_worker: Worker
) -> None:
    promotion = await wait(alice, planned)
    await set_policy(alice, require="never")
    await event_worker.work()
    assert (await read(alice, promotion))["status"] == "succeeded"


async def test_many_newer_plans_do_not_delete_one_that_waits(
    alice: Person, planned: Json, conn: Conn, domain: str
) -> None:
    promotion = await wait(alice, planned)
    for _ in range(3):
        await plan(alice, alias(f"grace@{domain}"))
    await store.delete_oldest(conn, account_id=alice.account.id, kept=1, limit=100)
    await decide(alice, planned)
    assert (await promote(alice, planned))["id"] == promotion["id"]


# The promotion by a person.


async def promote_in_console(person: Person, planned: Json, access: Access) -> Json:
    """Promote a plan as the review page does; return the status."""
    state = person.service.api.state
    promotion = await on_approval.promote_as_person(
        state.database,
        outbound=state.outbound,
        access=access,
        request=PromotionRequest(
            plan_id=ids.parse(planned["id"]),
            digest=planned["digest"],
            confirm_deletes=None,
            max_total=None,
            on_error=OnError.STOP,
            resume=False,
        ),
        parameters=parameters(person),
    )
    return {"status": promotion.status, "created_by": promotion.created_by}


async def access_of(person: Person, owner: Person) -> Access:
    session = (await person.sign_in()).session
    return Access(
        portfolio_id=owner.account.id,
        owner_id=owner.account.id,
        member_id=person.account.id,
        role=TeamRole.OWNER,
        actor=Actor(type="user", id=session.id, signed_in_at=session.created_at),
        approves_plans=True,
    )


async def test_a_person_promotes_with_a_key_that_nobody_sees(
    alice: Person, planned: Json, conn: Conn, event_worker: Worker
) -> None:
    await decide(alice, planned)
    access = await access_of(alice, alice)
    promotion = await promote_in_console(alice, planned, access)
    assert promotion["status"] == "succeeded"
    key = (await alice.get(f"/v1/api-keys/{promotion['created_by']}")).json()
    assert key["revoked_at"] is not None
    assert planned["id"] in key["label"]
    [(_, actor, about)] = await list_audited(conn, alice, "^plan.promoted")
    assert (actor, about["person"]) == ("key", str(alice.account.id))
    minted = [(each, about) for each, _, about in await list_audited(conn, alice, "^api_key.(minted|revoked)")]
    assert [each for each, about in minted if about["key_id"] == promotion["created_by"]] == [
        "api_key.minted",
        "api_key.revoked",
    ]
    sent = await event_worker.list_emails(alice.account.email)
    assert not [each for each in sent if "API key" in each["Subject"]]


async def test_the_key_is_revoked_after_a_refusal_too(alice: Person, planned: Json) -> None:
    answer = await promote_refused(alice, planned)
    assert answer == "approval_required"
    items = (await alice.get("/v1/api-keys")).json()["items"]
    assert [each["revoked_at"] is None for each in items if planned["id"] in each["label"]] == [False]


async def promote_refused(person: Person, planned: Json) -> str:
    with pytest.raises(Exception, match="approve the plan") as refused:
        await promote_in_console(person, planned, await access_of(person, person))
    code: str = refused.value.code  # type: ignore[attr-defined] # a Problem
    return code


async def test_a_member_does_not_promote(alice: Person, charlie: Person, domain: str) -> None:
    await appoint(alice, charlie)
    made = await plan(alice, alias(f"ada@{domain}"))
    with pytest.raises(RoleForbidden):
        await promote_in_console(alice, made, await access_of(charlie, alice))


async def test_an_old_session_does_not_promote(alice: Person, planned: Json) -> None:
    access = await access_of(alice, alice)
    clock.move(timedelta(minutes=11))
    with pytest.raises(FreshSignInRequired):
        await promote_in_console(alice, planned, access)


async def test_a_program_does_not_promote_as_a_person(alice: Person, planned: Json) -> None:
    access = await access_of(alice, alice)
    program = replace(access, actor=Actor(type="user", id=access.actor.id))
    with pytest.raises(PersonRequired):
        await promote_in_console(alice, planned, program)
