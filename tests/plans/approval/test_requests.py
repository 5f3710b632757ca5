"""Requests to the deciders: one event and one email for a digest, twenty emails in a day, then a summary."""

from datetime import timedelta

import pytest

from builders.kit.db.connections import Conn
from builders.kit.values import clock
from builders.plans import jobs
from builders.plans.approval.requests import MAILED_A_DAY
from tests.cast import Client, Person
from tests.plans.approval.make import (
    ALWAYS,
    appoint,
    approval_path,
    decide,
    join_team,
    refuse_promotion,
    set_policy,
)
from tests.plans.make import Json, alias, apply, plan, promote
from tests.plans.test_jobs import work
from tests.portfolio.team.make import of
from tests.worker import Worker

INBOX = "/v1/sandbox/approval-requests"
EVENTS = "SELECT name, data::json FROM kit_outbox WHERE account_id = %s AND name LIKE 'plan.a%%' ORDER BY id"


async def ask(client: Client, planned: Json) -> Json:
    answer = await client.post(f"{approval_path(planned)}/request")
    assert answer.status_code == 200, answer.text
    approval: Json = answer.json()
    return approval


async def read_inbox(person: Person) -> list[Json]:
    items: list[Json] = (await person.get(INBOX)).json()["items"]
    return items


async def list_subjects(worker: Worker, person: Person) -> list[str]:
    """Return the subjects of the emails about plans."""
    sent = await worker.list_emails(person.account.email)
    return [
        each["Subject"] for each in sent if "policy" not in each["Subject"] and "your decision" in each["Subject"]
    ]


async def list_names(conn: Conn, person: Person) -> list[str]:
    return [name for name, _ in await (await conn.execute(EVENTS, [person.account.id])).fetchall()]


@pytest.fixture
async def planned(alice: Person, domain: str) -> Json:
    """Return a plan of Alice that requires an approval."""
    await set_policy(alice, **ALWAYS)
    return await plan(alice, alias(f"ada@{domain}"))


async def test_a_plan_notifies_nobody(alice: Person, planned: Json, conn: Conn, event_worker: Worker) -> None:
    assert planned["approval"]["state"] == "required"
    assert (await list_names(conn, alice), await list_subjects(event_worker, alice)) == ([], [])


async def test_a_request_notifies_the_deciders_once(
    alice: Person, planned: Json, conn: Conn, event_worker: Worker
) -> None:
    assert (await ask(alice, planned))["state"] == "required"
    await ask(alice.test, planned)
    assert await list_names(conn, alice) == ["plan.approval_requested"]
    [subject] = await list_subjects(event_worker, alice)
    assert subject.endswith("acme-mail")


async def test_the_email_has_the_page_and_no_credential(
    alice: Person, planned: Json, event_worker: Worker
) -> None:
    await ask(alice, planned)
    message = (await event_worker.list_emails(alice.account.email))[-1]
    text = message.get_body(("plain",))
    assert text is not None
    assert planned["approval"]["review_url"] in text.get_content().split()
    assert "12.00 USD" in text.get_content()
    assert "token" not in text.get_content()


async def test_a_refused_promotion_is_a_request(
    alice: Person, planned: Json, conn: Conn, event_worker: Worker
) -> None:
    await refuse_promotion(alice, planned)
    await refuse_promotion(alice, planned)
    assert await list_names(conn, alice) == ["plan.approval_requested"]
    assert len(await list_subjects(event_worker, alice)) == 1


async def test_every_decider_is_mailed(alice: Person, charlie: Person, domain: str, event_worker: Worker) -> None:
    await appoint(alice, charlie)
    await set_policy(alice, **ALWAYS, deciders=[str(charlie.account.id)])
    await ask(alice, await plan(alice, alias(f"ada@{domain}")))
    assert len(await list_subjects(event_worker, charlie)) == 1


async def test_a_plan_that_needs_no_approval_notifies_nobody(alice: Person, domain: str, conn: Conn) -> None:
    made = await plan(alice, alias(f"ada@{domain}"))
    assert (await ask(alice, made))["state"] == "not_required"
    assert await list_names(conn, alice) == []


async def test_a_blocked_plan_notifies_nobody(alice: Person, bob: Person, domain: str, conn: Conn) -> None:
    await apply(bob, alias(f"ada@{domain}"))
    await set_policy(alice, **ALWAYS)
    await ask(alice, await plan(alice, alias(f"ada@{domain}"), alias(f"grace@{domain}")))
    assert await list_names(conn, alice) == []


async def test_bob_requests_nothing_of_alice(bob: Person, planned: Json) -> None:
    answer = await bob.post(f"{approval_path(planned)}/request")
    assert (answer.status_code, answer.json()["code"]) == (404, "plan_not_found")


async def test_dana_lacks_the_scope(dana: Person, planned: Json) -> None:
    answer = await dana.post(f"{approval_path(planned)}/request")
    assert (answer.status_code, answer.json()["code"]) == (403, "insufficient_scope")


async def test_an_approval_publishes_an_event(alice: Person, planned: Json, conn: Conn) -> None:
    await decide(alice, planned)
    (name, data), *more = await (await conn.execute(EVENTS, [alice.account.id])).fetchall()
    assert (name, more) == ("plan.approved", [])
    assert data == {
        "id": planned["id"],
        "manifest": "acme-mail",
        "digest": planned["digest"],
        "state": "approved",
    }


async def test_the_next_plan_with_the_digest_is_requested_again(
    alice: Person, planned: Json, domain: str, conn: Conn
) -> None:
    await ask(alice, planned)
    await decide(alice, planned)
    again = await plan(alice, alias(f"ada@{domain}"))
    await promote(alice, planned)
    await refuse_promotion(alice, again)
    assert await list_names(conn, alice) == ["plan.approval_requested", "plan.approved", "plan.approval_requested"]


async def test_more_than_twenty_requests_of_a_day_become_one_summary(
    alice: Person, domain: str, event_worker: Worker
) -> None:
    await set_policy(alice, **ALWAYS)
    for at in range(MAILED_A_DAY + 2):
        await ask(alice, await plan(alice, alias(f"ada@{domain}"), name=f"manifest-{at}"))
    assert len(await list_subjects(event_worker, alice)) == MAILED_A_DAY
    for _ in range(2):
        await work(event_worker.database, event_worker.settings, jobs.summarize_requests)
        *alone, last = await list_subjects(event_worker, alice)
        assert (len(alone), last[:10]) == (MAILED_A_DAY, "More plans")
    clock.move(timedelta(days=1, seconds=1))
    await ask(alice, await plan(alice, alias(f"grace@{domain}")))
    assert len(await list_subjects(event_worker, alice)) == MAILED_A_DAY + 2


async def test_a_newer_plan_of_a_manifest_replaces_the_older_one_in_the_inbox(alice: Person, domain: str) -> None:
    await set_policy(alice, **ALWAYS)
    await ask(alice, await plan(alice, alias(f"ada@{domain}")))
    newer = await plan(alice, alias(f"ada@{domain}", "grace@example.net"))
    await ask(alice, newer)
    other = await plan(alice, alias(f"ada@{domain}"), name="other")
    await ask(alice, other)
    assert [each["plan_id"] for each in await read_inbox(alice)] == [other["id"], newer["id"]]


async def test_a_member_who_decides_sees_the_inbox(
    alice: Person, charlie: Person, erin: Person, domain: str
) -> None:
    await appoint(alice, charlie)
    await join_team(alice, erin)
    await set_policy(alice, **ALWAYS, deciders=[str(charlie.account.id)])
    planned = await plan(alice, alias(f"ada@{domain}"))
    await ask(alice, planned)
    async with charlie.browser() as browser:
        answer = await browser.get(INBOX, headers=of(alice))
    assert [each["digest"] for each in answer.json()["items"]] == [planned["digest"]]
    async with erin.browser() as browser:
        assert (await browser.get(INBOX, headers=of(alice))).json()["code"] == "forbidden_role"


async def test_an_expired_plan_leaves_the_inbox(alice: Person, planned: Json) -> None:
    await ask(alice, planned)
    clock.move(timedelta(hours=24))
    assert await read_inbox(alice) == []
