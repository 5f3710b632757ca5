"""Many at once: who is first wins, nobody gets a 500, and nothing is done twice."""

import asyncio
from collections import Counter
from collections.abc import Sequence

import httpx
import pytest

from builders.app import Service
from builders.identity.records import Preset
from builders.kit.db.connections import Conn, Database
from builders.sandbox import service as sandbox
from tests.cast import Person, make_person
from tests.kit.db.locks import waiting
from tests.sandbox.make import PROMOTE, Json, alias, apply, begin, crew, events, order, parameters, plan

MANY = 60
TRIES = 15


@pytest.fixture
async def crowd(service: Service) -> Sequence[Person]:
    """Many accounts, each with a key."""
    return [await make_person(service, name="one", preset=Preset.DEVELOPER_FULL) for _ in range(MANY)]


async def insist(person: Person, planned: Json) -> httpx.Response:
    """Promotes as a client does that heeds Retry-After: a pool that is busy is no answer."""
    for _ in range(TRIES):
        answer = await person.post(PROMOTE, json=order(planned))
        if answer.status_code != httpx.codes.SERVICE_UNAVAILABLE:
            break
        assert answer.headers["Retry-After"]
    return answer


def outcome(answer: httpx.Response) -> str:
    """How a promotion of one name went."""
    if answer.status_code == httpx.codes.OK:
        status: str = answer.json()["status"]
        return status
    return f"{answer.status_code} {answer.json()['code']}"


async def test_of_many_concurrent_promotions_of_one_name_one_succeeds(
    crowd: Sequence[Person], conn: Conn, domain: str
) -> None:
    plans = [await plan(each, alias(f"ada@{domain}")) for each in crowd]
    answers = await asyncio.gather(*map(insist, crowd, plans))
    outcomes = Counter(map(outcome, answers))
    assert outcomes["succeeded"] == 1, outcomes
    assert set(outcomes) <= {"succeeded", "failed", "409 plan_stale"}, outcomes
    names = await (await conn.execute("SELECT state FROM aliases_names WHERE domain = %s", [domain])).fetchall()
    held = await (await conn.execute("SELECT status FROM aliases WHERE domain = %s", [domain])).fetchall()
    assert (names, held) == ([("claimed",)], [("active",)])
    winner = crowd[[outcome(answer) for answer in answers].index("succeeded")]
    told = await (
        await conn.execute(
            "SELECT account_id FROM kit_outbox WHERE name = 'alias.created' AND data LIKE %s", [f"%{domain}%"]
        )
    ).fetchall()
    assert told == [(winner.account.id,)]


async def test_two_hundred_promote_one_plan_and_it_is_promoted_once(
    alice: Person, conn: Conn, domain: str
) -> None:
    planned = await plan(alice, *map(alias, crew(3, domain)))
    answers = await asyncio.gather(*(insist(alice, planned) for _ in range(MANY)))
    assert {outcome(answer) for answer in answers} == {"succeeded"}
    assert len({answer.text for answer in answers}) == 1
    told = [name for name, _ in await events(conn, alice)]
    assert told == ["alias.created"] * 3 + ["promotion.completed"]


async def test_names_that_look_alike_are_won_by_one(crowd: Sequence[Person], conn: Conn, domain: str) -> None:
    """Different keys, the same look: it is the look's own row that decides."""
    looks = [f"norman@{domain}", f"n0rman@{domain}", f"norrnan@{domain}", f"n0rrnan@{domain}"]
    few = crowd[:40]
    plans = [await plan(each, alias(looks[at % 4], key="k")) for at, each in enumerate(few)]
    answers = await asyncio.gather(*map(insist, few, plans))
    outcomes = Counter(map(outcome, answers))
    assert outcomes["succeeded"] == 1, outcomes
    assert set(outcomes) <= {"succeeded", "failed", "409 plan_stale"}, outcomes
    owners = await conn.execute("SELECT DISTINCT account_id FROM aliases_names WHERE domain = %s", [domain])
    assert len(await owners.fetchall()) == 1


async def test_overlapping_manifests_in_opposite_order_do_not_lock_crosswise(
    crowd: Sequence[Person], conn: Conn, domain: str
) -> None:
    names, few = crew(60, domain), crowd[:12]
    plans = [
        await plan(each, *map(alias, names[at : at + 40] if at % 2 else reversed(names[at : at + 40])))
        for at, each in enumerate(few)
    ]
    answers = await asyncio.gather(*map(insist, few, plans))
    outcomes = Counter(map(outcome, answers))
    assert outcomes["succeeded"] == 1, outcomes
    assert set(outcomes) <= {"succeeded", "failed", "409 plan_stale"}, outcomes
    states = await conn.execute("SELECT state, count(*) FROM aliases_names WHERE domain = %s GROUP BY 1", [domain])
    assert await states.fetchall() == [("claimed", 40)]


async def test_plans_for_one_key_promoted_at_once_end_with_one_name_for_it(
    alice: Person, conn: Conn, domain: str
) -> None:
    plans = [await plan(alice, alias(name, key="boss")) for name in crew(12, domain)]
    answers = await asyncio.gather(*(insist(alice, each) for each in plans))
    outcomes = Counter(map(outcome, answers))
    assert outcomes["succeeded"] == 1, outcomes
    assert set(outcomes) <= {"succeeded", "failed", "409 plan_stale", "409 promotion_running"}, outcomes
    keys = await conn.execute("SELECT manifest_key FROM aliases WHERE domain = %s", [domain])
    assert await keys.fetchall() == [("boss",)]


async def test_an_alias_changed_by_many_plans_at_once_changes_once(alice: Person, conn: Conn, domain: str) -> None:
    await apply(alice, alias(f"ada@{domain}"))
    plans = [await plan(alice, alias(f"ada@{domain}", note=str(at))) for at in range(12)]
    answers = await asyncio.gather(*(insist(alice, each) for each in plans))
    outcomes = Counter(map(outcome, answers))
    assert outcomes["succeeded"] == 1, outcomes
    assert set(outcomes) <= {"succeeded", "failed", "409 plan_stale", "409 promotion_running"}, outcomes
    told = [name for name, _ in await events(conn, alice)]
    assert told.count("alias.updated") == 1


async def test_a_promotion_under_way_is_gone_on_with_by_one_at_a_time(
    alice: Person, database: Database, conn: Conn, domain: str
) -> None:
    planned = await plan(alice, *map(alias, crew(5, domain)))
    begun = await begin(database, alice, planned)
    owner = {"account_id": alice.account.id, "promotion_id": begun}
    async with database.transaction() as own:  # in the way of whoever ends it, until all are there
        await own.execute("SELECT FROM sandbox_plans WHERE id = %s FOR UPDATE", [planned["id"]])
        asked = [
            asyncio.ensure_future(sandbox.run_promotion(database, **owner, parameters=parameters(alice)))
            for _ in range(5)
        ]
        while await waiting(conn) < len(asked):
            pass
    promotions = await asyncio.gather(*asked)
    assert [promotion for promotion in promotions if promotion != promotions[0]] == []
    assert {step.attempts for step in promotions[0].steps} == {1}
    told = [name for name, _ in await events(conn, alice)]
    assert told == ["alias.created"] * 5 + ["promotion.completed"]
