"""What a machine spends is counted in the transaction that starts its promotion: no crash separates them."""

import asyncio
import random
from contextlib import suppress

from builders.kit.callers import Actor
from builders.kit.db.connections import Conn, Database
from builders.kit.errors import DatabaseUnavailable
from builders.kit.values import ids
from builders.plans.promotion import run
from tests.cast import Person
from tests.mandates import Machine, machine, send, usd
from tests.plans.failures import FaultyProxy, stride
from tests.plans.make import Json, alias, parameters, plan, promotion_of, promotion_request

STATEMENTS, COMMITS = 120, 8  # more than a promotion has
STRIDE = stride(4)
COUNTED = """
    SELECT (SELECT count(*) FROM identity_mandate_uses WHERE account_id = %(account)s AND subject = %(plan)s),
        (SELECT count(*) FROM plans_promotions WHERE account_id = %(account)s AND plan_id = %(plan)s)
"""


async def promote_by(database: Database, agent: Machine, planned: Json) -> None:
    """Promote as the machine does in a process that has this database; the process may end before its answer."""
    with suppress(DatabaseUnavailable):
        await run.promote(
            database,
            account_id=agent.account.id,
            request=promotion_of(promotion_request(planned)),
            actor=Actor(type="key", id=ids.parse(agent.key_id)),
            outbound=agent.service.api.state.outbound,
            parameters=parameters(agent),
        )


async def count(conn: Conn, person: Person, planned: Json) -> tuple[int, int]:
    """Return how often the plan was counted, and how many promotions of it there are."""
    cursor = await conn.execute(COUNTED, {"account": person.account.id, "plan": planned["id"]})
    uses, promotions = await cursor.fetchone() or (0, 0)
    return uses, promotions


async def spent(person: Person) -> object:
    return (await person.get("/v1/account/machines")).json()["spent"]


async def test_a_process_killed_at_any_statement_counts_what_it_started(
    alice: Person, conn: Conn, domain: str, proxied_database: Database, proxy: FaultyProxy
) -> None:
    agent, seen, number = await machine(alice), set[tuple[int, int]](), 0
    for at in range(random.randint(1, STRIDE), STATEMENTS, STRIDE):  # noqa: S311 - a place to start
        planned = await plan(alice, alias(f"name{at:04}@{domain}", alice.account.email), name=f"of-{at}")
        proxy.set(before=at)
        await promote_by(proxied_database, agent, planned)
        seen.add(await count(conn, alice, planned))
        number += 1
        assert (await send(agent, planned)).json()["status"] == "succeeded"
        if not proxy.is_broken:
            break
    assert not proxy.is_broken
    assert seen == {(0, 0), (1, 1)}
    assert await spent(alice) == usd(f"{12 * number}.00")


async def test_a_commit_without_an_answer_is_counted_once(
    alice: Person, conn: Conn, domain: str, proxied_database: Database, proxy: FaultyProxy
) -> None:
    agent = await machine(alice)
    for at in range(1, COMMITS):
        planned = await plan(alice, alias(f"name{at:04}@{domain}", alice.account.email), name=f"of-{at}")
        proxy.set(after_commit=at)
        await promote_by(proxied_database, agent, planned)
        assert (await send(agent, planned)).json()["status"] == "succeeded"
        assert await count(conn, alice, planned) == (1, 1)
        if not proxy.is_broken:
            break
    assert not proxy.is_broken
    assert at > 1


async def test_two_processes_of_which_one_is_killed_count_once(
    alice: Person, conn: Conn, domain: str, proxied_database: Database, proxy: FaultyProxy
) -> None:
    agent = await machine(alice)
    for at in range(random.randint(1, STRIDE), 40, STRIDE * 2):  # noqa: S311 - a place to start
        planned = await plan(alice, alias(f"name{at:04}@{domain}", alice.account.email), name=f"of-{at}")
        proxy.set(before=at)
        await asyncio.gather(promote_by(proxied_database, agent, planned), send(agent, planned))
        assert (await send(agent, planned)).json()["status"] == "succeeded"
        assert await count(conn, alice, planned) == (1, 1)
