"""A promotion whose end cannot be written is given up, and its account promotes again; resumed it ends well."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import timedelta
from typing import LiteralString

import pytest
from psycopg import sql

from builders.aliases import service as aliases
from builders.kit.db.connections import Conn, Database
from builders.kit.errors import DatabaseBusy
from builders.kit.jobs import queue
from builders.kit.process.settings import Settings
from builders.kit.values import clock, ids
from builders.sandbox import jobs as sandbox_jobs, service as sandbox
from tests.cast import Person
from tests.sandbox.make import PROMOTE, Json, alias, begin, crew, events, order, plan, promote, steps

ABANDONED = timedelta(minutes=2, seconds=1)
BREAK = """
    CREATE FUNCTION pg_temp.broken() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN IF NEW.account_id = TG_ARGV[0]::uuid THEN RAISE 'broken' USING ERRCODE = '23001'; END IF;
    RETURN NEW; END $$
"""
NO_BILL: LiteralString = "CREATE TRIGGER broken BEFORE INSERT ON invoices_invoices FOR EACH ROW"
NO_NEWS: LiteralString = (
    "CREATE TRIGGER broken BEFORE INSERT ON kit_outbox FOR EACH ROW WHEN (NEW.name LIKE 'promotion.%')"
)
CALL = sql.SQL(" EXECUTE FUNCTION pg_temp.broken({})")
DUE = """
    UPDATE procrastinate_jobs SET scheduled_at = NULL
    WHERE task_name = 'sandbox.finish' AND status = 'todo' AND args ->> 'account_id' = %s
"""
SPENT = "UPDATE procrastinate_jobs SET attempts = %s WHERE task_name = 'sandbox.finish' AND status = 'todo'"
Broken = Callable[[Person, LiteralString], AbstractAsyncContextManager[None]]


class Worker:
    """Has what was left alone gone on with."""

    def __init__(self, database: Database, settings: Settings, conn: Conn) -> None:
        self._database, self._settings, self._conn = database, settings, conn

    async def resume(self) -> None:
        """What a worker does at the next minute."""
        clock.move(ABANDONED)
        async with self._database.transaction() as conn:
            await queue.defer(conn, sandbox_jobs.resume, timestamp=0)
        await queue.run_pending(self._database, self._settings)

    async def try_again(self, person: Person) -> None:
        """The next try of the account's job, before its time."""
        await self._conn.execute(DUE, [str(person.account.id)])
        await queue.run_pending(self._database, self._settings)

    async def try_the_last_time(self, person: Person) -> None:
        """As if all tries before had failed."""
        await self.resume()
        await self._conn.execute(SPENT, [sandbox_jobs.TRIES])
        await self.try_again(person)


@pytest.fixture
def worker(database: Database, settings: Settings, conn: Conn) -> Worker:
    """A worker in this process."""
    return Worker(database, settings, conn)


@pytest.fixture
def broken(conn: Conn) -> Broken:
    """Lets what an account's promotion writes at its end fail."""

    @asynccontextmanager
    async def breaking(person: Person, trigger: LiteralString) -> AsyncIterator[None]:
        await conn.execute(BREAK)
        await conn.execute(sql.SQL(trigger) + CALL.format(str(person.account.id)))
        try:
            yield
        finally:
            await conn.execute("DROP FUNCTION pg_temp.broken() CASCADE")

    return breaking


async def read(person: Person, planned: Json) -> Json:
    """The promotion of a plan, as it stands."""
    answer = await person.post(PROMOTE, json=order(planned))
    assert answer.status_code == 200, answer.text
    promotion: Json = (await person.get(f"/v1/sandbox/promotions/{answer.json()['id']}")).json()
    return promotion


async def test_what_cannot_be_billed_is_given_up_within_the_hour_and_billed_when_resumed(
    alice: Person, bob: Person, conn: Conn, worker: Worker, broken: Broken, domain: str
) -> None:
    planned = await plan(alice, alias(f"ada@{domain}"), alias(f"grace@{domain}"))
    other = await plan(alice, alias(f"alan@{domain}"), name="other")
    async with broken(alice, NO_BILL):
        assert (await alice.post(PROMOTE, json=order(planned))).status_code == 500
        await worker.resume()
        for _ in range(sandbox_jobs.TRIES):
            refused = await alice.post(PROMOTE, json=order(other))
            assert (refused.status_code, refused.json()["code"]) == (409, "promotion_running")
            await worker.try_again(alice)
        given_up = await read(alice, planned)
        assert (await promote(bob, await plan(bob, alias(f"linus@{domain}"))))["status"] == "succeeded"

    assert (given_up["status"], given_up["error"]["code"]) == ("partial", "ending_failed")
    assert (given_up["summary"], given_up["invoices"]) == ({"succeeded": 2}, [])
    assert given_up["next_actions"][:2] == ["resume", "replan"]
    assert (await alice.get(f"/v1/sandbox/plans/{planned['id']}")).json()["status"] == "partial"
    assert (await promote(alice, other))["status"] == "succeeded"

    again = await promote(alice, planned, resume=True)
    assert (again["status"], again["error"], again["summary"]) == ("succeeded", None, {"succeeded": 2})
    assert [each["total"]["amount"] for each in again["invoices"]] == ["24.00"]
    assert [step["attempts"] for step in again["steps"]] == [1, 1]
    told = [name for name, _ in await events(conn, alice)]
    assert [name for name in told if name != "alias.created"] == [
        "promotion.failed",
        "promotion.completed",
        "promotion.completed",
    ]


async def test_what_cannot_be_told_is_billed_all_the_same_once(
    alice: Person, bob: Person, conn: Conn, worker: Worker, broken: Broken, domain: str
) -> None:
    planned, his = await plan(alice, alias(f"ada@{domain}")), await plan(bob, alias(f"grace@{domain}"))
    async with broken(alice, NO_NEWS):
        assert (await alice.post(PROMOTE, json=order(planned))).status_code == 500
        await worker.try_the_last_time(alice)
        assert (await promote(bob, his))["status"] == "succeeded"
    given_up = await read(alice, planned)
    assert (given_up["status"], given_up["error"]["code"]) == ("partial", "ending_failed")
    assert [each["total"]["amount"] for each in given_up["invoices"]] == ["12.00"]
    again = await promote(alice, planned, resume=True)
    assert (again["status"], again["invoices"]) == ("succeeded", given_up["invoices"])
    assert [name for name, _ in await events(conn, alice)] == ["alias.created", "promotion.completed"]


async def test_names_that_it_held_are_others_to_have(
    alice: Person, bob: Person, worker: Worker, broken: Broken, domain: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse(*_: object, **__: object) -> None:
        raise aliases.AliasesChanged(frozenset({ids.new()}))

    planned, his = await plan(alice, alias(f"ada@{domain}")), await plan(bob, alias(f"ada@{domain}"))
    async with broken(alice, NO_NEWS):
        with monkeypatch.context() as failing:
            failing.setattr(aliases, "create_aliases", refuse)
            assert (await alice.post(PROMOTE, json=order(planned))).status_code == 500
        assert (await bob.post(PROMOTE, json=order(his))).json()["code"] == "plan_stale"
        await worker.try_the_last_time(alice)
        assert (await promote(bob, his))["status"] == "succeeded"
    given_up = await read(alice, planned)
    assert (given_up["status"], given_up["error"]["code"]) == ("failed", "ending_failed")
    assert (given_up["steps"][0]["status"], given_up["steps"][0]["error"]["code"]) == ("failed", "unexpected")
    refused = await alice.post(PROMOTE, json=order(planned, resume=True))
    assert (refused.status_code, refused.json()["code"]) == (409, "plan_stale")


@pytest.mark.parametrize("actions", ["[]", "[{}]"])
async def test_what_cannot_be_read_is_given_up_too(
    alice: Person, bob: Person, database: Database, conn: Conn, worker: Worker, domain: str, actions: str
) -> None:
    planned, his = await plan(alice, alias(f"ada@{domain}")), await plan(bob, alias(f"grace@{domain}"))
    begun = await begin(database, alice, planned)
    await begin(database, bob, his)
    await conn.execute("UPDATE sandbox_plans SET actions = %s::jsonb WHERE id = %s", [actions, planned["id"]])
    await worker.try_the_last_time(alice)
    given_up = (await alice.get(f"/v1/sandbox/promotions/{begun}")).json()
    assert (given_up["status"], given_up["error"]["code"]) == ("failed", "ending_failed")
    assert steps(given_up) == {"alias.ada": "skipped"}
    assert (await read(bob, his))["status"] == "succeeded"
    assert (await promote(alice, await plan(alice, alias(f"alan@{domain}"))))["status"] == "succeeded"


async def test_a_large_one_is_given_up_too(
    alice: Person, bob: Person, worker: Worker, broken: Broken, domain: str
) -> None:
    planned = await plan(alice, *map(alias, crew(251, domain)))
    async with broken(alice, NO_BILL):
        assert (await alice.post(PROMOTE, json=order(planned))).json()["status"] == "running"
        await worker.try_the_last_time(alice)
        assert (await promote(bob, await plan(bob, alias(f"linus@{domain}"))))["status"] == "succeeded"
    given_up = await read(alice, planned)
    assert (given_up["status"], given_up["summary"]) == ("partial", {"succeeded": 251})
    again = await promote(alice, planned, resume=True)
    assert (again["status"], [each["total"]["amount"] for each in again["invoices"]]) == ("succeeded", ["3012.00"])


async def test_a_busy_database_is_no_reason(
    alice: Person, bob: Person, database: Database, worker: Worker, domain: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def busy(*_: object, **__: object) -> None:
        raise DatabaseBusy("Later.", retry_after=1)

    planned, his = await plan(alice, alias(f"ada@{domain}")), await plan(bob, alias(f"grace@{domain}"))
    begun = await begin(database, alice, planned)
    await begin(database, bob, his)
    with monkeypatch.context() as failing:
        failing.setattr(sandbox, "run_promotion", busy)
        await worker.try_the_last_time(alice)
    assert (await alice.get(f"/v1/sandbox/promotions/{begun}")).json()["status"] == "running"
    await worker.resume()
    assert [(await read(person, each))["status"] for person, each in ((alice, planned), (bob, his))] == [
        "succeeded",
        "succeeded",
    ]
