"""Concurrent promotions, decisions and changes of the policy: what runs had a standing approval, once."""

import asyncio
from collections import Counter

import httpx

from builders.kit.db.connections import Conn
from tests.cast import Person
from tests.plans.approval.make import ALWAYS, POLICY, approval_path, decide, set_policy
from tests.plans.make import Json, alias, plan
from tests.plans.test_concurrency import promote_with_retries

MANY = 20
USED = "SELECT count(*) FROM plans_approval_decisions WHERE account_id = %s AND used_by IS NOT NULL"
STARTED = "SELECT count(*) FROM plans_promotions WHERE account_id = %s"


def outcomes(answers: list[httpx.Response]) -> Counter[str]:
    return Counter(each.json()["status"] if each.status_code == 200 else each.json()["code"] for each in answers)


async def count(conn: Conn, statement: str, person: Person) -> int:
    row = await (await conn.execute(statement, [person.account.id])).fetchone()
    assert row is not None
    found: int = row[0]
    return found


async def test_of_twenty_promotions_that_race_one_approval_one_runs(
    alice: Person, domain: str, conn: Conn
) -> None:
    await set_policy(alice, **ALWAYS)
    plans = [await plan(alice, alias(f"ada@{domain}")) for _ in range(MANY)]
    assert len({each["digest"] for each in plans}) == 1
    await decide(alice, plans[0])
    answers = await asyncio.gather(*(promote_with_retries(alice, each) for each in plans))
    found = outcomes(answers)
    assert found["succeeded"] == 1, found
    assert set(found) <= {"succeeded", "approval_required", "promotion_running"}, found
    assert await count(conn, STARTED, alice) == 1


async def test_of_twenty_promotions_that_race_a_withdrawal_none_runs_without_an_approval(
    alice: Person, domain: str, conn: Conn
) -> None:
    await set_policy(alice, **ALWAYS)
    planned = await plan(alice, alias(f"ada@{domain}"))
    await decide(alice, planned)
    async with alice.browser() as browser:
        answers = await asyncio.gather(
            *(promote_with_retries(alice, planned) for _ in range(MANY // 2)),
            browser.delete(approval_path(planned)),
            *(promote_with_retries(alice, planned) for _ in range(MANY // 2)),
        )
    withdrawal = answers.pop(MANY // 2)
    found = outcomes(answers)
    is_withdrawn = withdrawal.status_code == 200
    assert set(found) == ({"approval_required"} if is_withdrawn else {"succeeded"}), (found, withdrawal.text)
    assert await count(conn, USED, alice) == await count(conn, STARTED, alice) == (0 if is_withdrawn else 1)


async def test_two_withdrawals_race_promotions_of_many_plans(alice: Person, domain: str, conn: Conn) -> None:
    """Each plan has its own approval: as many run as approvals are used."""
    await set_policy(alice, **ALWAYS)
    plans = [await plan(alice, alias(f"name{at}@{domain}"), name=f"manifest-{at}") for at in range(6)]
    for each in plans:
        await decide(alice, each)
    async with alice.browser() as browser:
        jobs = [(promote_with_retries(alice, each), browser.delete(approval_path(each))) for each in plans]
        await asyncio.gather(*(each for pair in jobs for each in pair))
    assert await count(conn, USED, alice) == await count(conn, STARTED, alice)


async def test_the_limit_of_an_amount_holds_for_concurrent_promotions(alice: Person, domain: str) -> None:
    """Each costs 12 USD; 25 USD may be promoted without an approval."""
    await set_policy(alice, require="when", when={"amount_over": [{"amount": "25.00", "currency": "USD"}]})
    plans = [await plan(alice, alias(f"name{at}@{domain}"), name=f"manifest-{at}") for at in range(6)]
    assert {each["approval"]["state"] for each in plans} == {"not_required"}
    answers = await asyncio.gather(*(promote_until_decided(alice, each) for each in plans))
    assert outcomes(answers) == {"succeeded": 2, "approval_required": 4}


async def promote_until_decided(person: Person, planned: Json) -> httpx.Response:
    """Promote as a client that waits for other promotions of the account."""
    while True:
        answer = await promote_with_retries(person, planned)
        if answer.status_code != 409:
            return answer
        await asyncio.sleep(0)


async def test_a_policy_that_races_promotions_is_seen_as_a_whole(alice: Person, domain: str) -> None:
    planned = await plan(alice, alias(f"ada@{domain}"))
    async with alice.browser() as browser:
        answers = await asyncio.gather(
            *(promote_with_retries(alice, planned) for _ in range(MANY // 2)),
            browser.put(POLICY, json=ALWAYS),
            *(promote_with_retries(alice, planned) for _ in range(MANY // 2)),
        )
    assert answers.pop(MANY // 2).status_code == 200
    assert set(outcomes(answers)) in ({"succeeded"}, {"approval_required"})


async def test_decisions_of_one_person_at_once_leave_one(alice: Person, domain: str, conn: Conn) -> None:
    await set_policy(alice, **ALWAYS)
    planned = await plan(alice, alias(f"ada@{domain}"))
    async with alice.browser() as browser:
        bodies = [{"decision": each, "digest": planned["digest"]} for each in ("approve", "reject") * 5]
        answers = await asyncio.gather(*(browser.post(approval_path(planned), json=each) for each in bodies))
    assert {each.status_code for each in answers} <= {200, 429, 503}
    standing = "SELECT count(*) FROM plans_approval_decisions WHERE account_id = %s AND ended_at IS NULL"
    assert await count(conn, standing, alice) == 1
