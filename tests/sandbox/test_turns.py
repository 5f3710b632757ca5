"""One promotion of an account at a time; a large one is a job, answered at once."""

import asyncio

from builders.kit.db.connections import Conn, Database
from builders.kit.jobs import queue
from builders.kit.process.settings import Settings
from tests.cast import Person
from tests.sandbox.make import PROMOTE, Json, alias, begin, crew, events, order, plan, promote

READ = "/v1/sandbox/promotions"


async def test_while_one_runs_another_is_refused_and_told_which(
    alice: Person, bob: Person, database: Database, domain: str
) -> None:
    first = await plan(alice, alias(f"ada@{domain}"))
    second = await plan(alice, alias(f"grace@{domain}"), name="other")
    begun = await begin(database, alice, first)
    answer = await alice.post(PROMOTE, json=order(second))
    assert (answer.status_code, answer.json()["code"]) == (409, "promotion_running")
    assert answer.json()["promotion_id"] == str(begun)
    assert int(answer.headers["Retry-After"]) == answer.json()["retry_after"]
    his = await plan(bob, alias(f"linus@{domain}"))
    assert (await promote(bob, his))["status"] == "succeeded"
    assert (await promote(alice, first))["status"] == "succeeded"
    assert (await promote(alice, second))["status"] == "succeeded"


async def test_of_many_plans_at_once_each_is_promoted_in_its_turn(alice: Person, conn: Conn, domain: str) -> None:
    plans = [await plan(alice, alias(name), name=f"n{at}") for at, name in enumerate(crew(8, domain))]

    async def insist(planned: Json) -> str:
        while True:
            answer = await alice.post(PROMOTE, json=order(planned))
            if answer.status_code == 200:
                status: str = answer.json()["status"]
                return status
            assert answer.json()["code"] in {"promotion_running", "database_busy"}, answer.text

    assert set(await asyncio.gather(*map(insist, plans))) == {"succeeded"}
    told = [name for name, _ in await events(conn, alice)]
    assert told == ["alias.created", "promotion.completed"] * 8


async def test_a_large_one_is_answered_at_once_and_done_by_a_job(
    alice: Person, database: Database, settings: Settings, conn: Conn, domain: str
) -> None:
    planned = await plan(alice, *map(alias, crew(251, domain)))
    answer = await alice.post(PROMOTE, json=order(planned))
    begun = answer.json()
    assert (answer.status_code, begun["status"], begun["summary"]) == (200, "running", {"pending": 251})
    assert answer.headers["Location"] == f"{READ}/{begun['id']}"
    again = await alice.post(PROMOTE, json=order(planned))
    assert again.json() == begun
    await queue.run_pending(database, settings)
    ended = (await alice.get(answer.headers["Location"])).json()
    assert (ended["status"], ended["summary"]) == ("succeeded", {"succeeded": 251})
    assert {step["attempts"] for step in ended["steps"]} == {1}
    assert [each["total"]["amount"] for each in ended["invoices"]] == ["3012.00"]
    told = [name for name, _ in await events(conn, alice)]
    assert (told.count("alias.created"), told.count("promotion.completed")) == (251, 1)


async def test_a_small_one_is_whole_when_it_is_answered(alice: Person, domain: str) -> None:
    planned = await plan(alice, *map(alias, crew(250, domain)))
    answer = await alice.post(PROMOTE, json=order(planned))
    assert answer.json()["status"] == "succeeded"
    assert "Location" not in answer.headers
