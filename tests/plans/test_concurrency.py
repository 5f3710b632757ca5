"""Concurrent promotions: one of an account runs at a time, a job runs a large one, and nothing happens twice."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from functools import partial

import httpx

from builders.app import Service
from builders.identity.records import Preset
from builders.kit.db.connections import Conn, Database
from builders.kit.jobs import queue
from builders.kit.process.settings import Settings
from builders.plans.promotion import run as promotion_run
from tests.cast import Person, make_person
from tests.kit.db.locks import waiting
from tests.plans.make import (
    PROMOTE,
    Json,
    alias,
    apply,
    list_events,
    make_addresses,
    parameters,
    plan,
    promote,
    promotion_request,
    start_promotion,
)

MANY = 32  # more than the connections of a process
TRIES = 15


async def make_people(service: Service, count: int) -> Sequence[Person]:
    """Make accounts, each with a key."""
    return [await make_person(service, name="one", preset=Preset.DEVELOPER_FULL) for _ in range(count)]


async def promote_with_retries(person: Person, planned: Json) -> httpx.Response:
    """Promote as a client that respects Retry-After of a busy pool."""
    for _ in range(TRIES):
        answer = await person.post(PROMOTE, json=promotion_request(planned))
        if answer.status_code != httpx.codes.SERVICE_UNAVAILABLE:
            break
        assert answer.headers["Retry-After"]
    return answer


def outcome(answer: httpx.Response) -> str:
    """Return the result of a promotion of one name."""
    if answer.status_code == httpx.codes.OK:
        status: str = answer.json()["status"]
        return status
    return f"{answer.status_code} {answer.json()['code']}"


async def test_one_of_many_concurrent_promotions_claims_a_name(service: Service, conn: Conn, domain: str) -> None:
    persons = await make_people(service, MANY)
    plans = [await plan(each, alias(f"ada@{domain}")) for each in persons]
    answers = await asyncio.gather(*map(promote_with_retries, persons, plans))
    outcomes = Counter(map(outcome, answers))
    assert outcomes["succeeded"] == 1, outcomes
    assert set(outcomes) <= {"succeeded", "failed", "409 plan_stale"}, outcomes
    names = await (await conn.execute("SELECT state FROM aliases_names WHERE domain = %s", [domain])).fetchall()
    held = await (await conn.execute("SELECT status FROM aliases WHERE domain = %s", [domain])).fetchall()
    assert (names, held) == ([("claimed",)], [("active",)])
    winner = persons[[outcome(answer) for answer in answers].index("succeeded")]
    published = await (
        await conn.execute(
            "SELECT account_id FROM kit_outbox WHERE name = 'alias.created' AND data LIKE %s", [f"%{domain}%"]
        )
    ).fetchall()
    assert published == [(winner.account.id,)]


async def test_concurrent_requests_promote_a_plan_once(alice: Person, conn: Conn, domain: str) -> None:
    planned = await plan(alice, *map(alias, make_addresses(3, domain)))
    answers = await asyncio.gather(*(promote_with_retries(alice, planned) for _ in range(MANY)))
    assert {outcome(answer) for answer in answers} == {"succeeded"}
    assert len({answer.text for answer in answers}) == 1
    published = [name for name, _ in await list_events(conn, alice)]
    assert published == ["alias.created"] * 3 + ["promotion.completed"]


async def test_one_account_claims_confusable_names(service: Service, conn: Conn, domain: str) -> None:
    """The keys differ; the row of the common skeleton decides."""
    names_alike = [f"norman@{domain}", f"n0rman@{domain}", f"norrnan@{domain}", f"n0rrnan@{domain}"]
    persons = await make_people(service, MANY)
    plans = [await plan(each, alias(names_alike[at % 4], key="k")) for at, each in enumerate(persons)]
    answers = await asyncio.gather(*map(promote_with_retries, persons, plans))
    outcomes = Counter(map(outcome, answers))
    assert outcomes["succeeded"] == 1, outcomes
    assert set(outcomes) <= {"succeeded", "failed", "409 plan_stale"}, outcomes
    owners = await conn.execute("SELECT DISTINCT account_id FROM aliases_names WHERE domain = %s", [domain])
    assert len(await owners.fetchall()) == 1


async def test_overlapping_manifests_in_opposite_order_do_not_deadlock(
    service: Service, conn: Conn, domain: str
) -> None:
    names, few = make_addresses(60, domain), await make_people(service, 12)
    plans = [
        await plan(each, *map(alias, names[at : at + 40] if at % 2 else reversed(names[at : at + 40])))
        for at, each in enumerate(few)
    ]
    answers = await asyncio.gather(*map(promote_with_retries, few, plans))
    outcomes = Counter(map(outcome, answers))
    assert outcomes["succeeded"] == 1, outcomes
    assert set(outcomes) <= {"succeeded", "failed", "409 plan_stale"}, outcomes
    states = await conn.execute("SELECT state, count(*) FROM aliases_names WHERE domain = %s GROUP BY 1", [domain])
    assert await states.fetchall() == [("claimed", 40)]


async def test_concurrent_plans_for_a_key_leave_one_name(alice: Person, conn: Conn, domain: str) -> None:
    plans = [await plan(alice, alias(name, key="boss")) for name in make_addresses(12, domain)]
    answers = await asyncio.gather(*(promote_with_retries(alice, each) for each in plans))
    outcomes = Counter(map(outcome, answers))
    assert outcomes["succeeded"] == 1, outcomes
    assert set(outcomes) <= {"succeeded", "failed", "409 plan_stale", "409 promotion_running"}, outcomes
    keys = await conn.execute("SELECT manifest_key FROM aliases WHERE domain = %s", [domain])
    assert await keys.fetchall() == [("boss",)]


async def test_concurrent_plans_change_an_alias_once(alice: Person, conn: Conn, domain: str) -> None:
    await apply(alice, alias(f"ada@{domain}"))
    plans = [await plan(alice, alias(f"ada@{domain}", note=str(at))) for at in range(12)]
    answers = await asyncio.gather(*(promote_with_retries(alice, each) for each in plans))
    outcomes = Counter(map(outcome, answers))
    assert outcomes["succeeded"] == 1, outcomes
    assert set(outcomes) <= {"succeeded", "failed", "409 plan_stale", "409 promotion_running"}, outcomes
    published = [name for name, _ in await list_events(conn, alice)]
    assert published.count("alias.updated") == 1


async def test_concurrent_calls_continue_a_promotion_one_at_a_time(
    alice: Person, database: Database, conn: Conn, domain: str
) -> None:
    planned = await plan(alice, *map(alias, make_addresses(5, domain)))
    started = await start_promotion(database, alice, planned)
    run = partial(promotion_run.run_promotion, database, account_id=alice.account.id, promotion_id=started)
    async with database.transaction() as own:  # block the completion until all calls wait
        await own.execute("SELECT FROM plans WHERE id = %s FOR UPDATE", [planned["id"]])
        asked = [asyncio.ensure_future(run(parameters=parameters(alice))) for _ in range(5)]
        while await waiting(conn) < len(asked):
            pass
    promotions = await asyncio.gather(*asked)
    assert [promotion for promotion in promotions if promotion != promotions[0]] == []
    assert {step.attempts for step in promotions[0].steps} == {1}
    published = [name for name, _ in await list_events(conn, alice)]
    assert published == ["alias.created"] * 5 + ["promotion.completed"]


READ = "/v1/sandbox/promotions"


async def test_a_second_promotion_is_refused_with_the_id_of_the_running_one(
    alice: Person, bob: Person, database: Database, domain: str
) -> None:
    first = await plan(alice, alias(f"ada@{domain}"))
    second = await plan(alice, alias(f"grace@{domain}"), name="other")
    started = await start_promotion(database, alice, first)
    answer = await alice.post(PROMOTE, json=promotion_request(second))
    assert (answer.status_code, answer.json()["code"]) == (409, "promotion_running")
    assert answer.json()["promotion_id"] == str(started)
    assert int(answer.headers["Retry-After"]) == answer.json()["retry_after"]
    bobs = await plan(bob, alias(f"linus@{domain}"))
    assert (await promote(bob, bobs))["status"] == "succeeded"
    assert (await promote(alice, first))["status"] == "succeeded"
    assert (await promote(alice, second))["status"] == "succeeded"


async def test_concurrent_plans_are_promoted_one_at_a_time(alice: Person, conn: Conn, domain: str) -> None:
    plans = [await plan(alice, alias(name), name=f"n{at}") for at, name in enumerate(make_addresses(8, domain))]

    async def promote_with_retries(planned: Json) -> str:
        while True:
            answer = await alice.post(PROMOTE, json=promotion_request(planned))
            if answer.status_code == 200:
                status: str = answer.json()["status"]
                return status
            assert answer.json()["code"] in {"promotion_running", "database_busy"}, answer.text

    assert set(await asyncio.gather(*map(promote_with_retries, plans))) == {"succeeded"}
    published = [name for name, _ in await list_events(conn, alice)]
    assert published == ["alias.created", "promotion.completed"] * 8


async def test_a_job_executes_a_large_promotion(
    alice: Person, database: Database, settings: Settings, conn: Conn, domain: str
) -> None:
    planned = await plan(alice, *map(alias, make_addresses(251, domain)))
    answer = await alice.post(PROMOTE, json=promotion_request(planned))
    started = answer.json()
    assert (answer.status_code, started["status"], started["summary"]) == (200, "running", {"pending": 251})
    assert answer.headers["Location"] == f"{READ}/{started['id']}"
    again = await alice.post(PROMOTE, json=promotion_request(planned))
    assert again.json() == started
    await queue.run_pending(database, settings)
    ended = (await alice.get(answer.headers["Location"])).json()
    assert (ended["status"], ended["summary"]) == ("succeeded", {"succeeded": 251})
    assert {step["attempts"] for step in ended["steps"]} == {1}
    assert [each["total"]["amount"] for each in ended["invoices"]] == ["3012.00"]
    published = [name for name, _ in await list_events(conn, alice)]
    assert (published.count("alias.created"), published.count("promotion.completed")) == (251, 1)


async def test_a_small_promotion_is_complete_in_the_response(alice: Person, domain: str) -> None:
    planned = await plan(alice, *map(alias, make_addresses(250, domain)))
    answer = await alice.post(PROMOTE, json=promotion_request(planned))
    assert answer.json()["status"] == "succeeded"
    assert "Location" not in answer.headers
