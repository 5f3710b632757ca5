"""One request is one transaction, committed before the response; database timeouts are 503."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict
from starlette.responses import Response

from builders.kit.db.connections import Conn, Database, Pool, Reads, Tx
from builders.kit.errors import DatabaseBusy, NotFound
from builders.kit.http.bodies import Reply
from builders.kit.http.routes import Router
from builders.kit.process.settings import Settings
from tests.kit.asgi import Answer, ask
from tests.kit.scratch import Scratch, serve, table, until

COLUMNS = "id int, note text, UNIQUE (id) DEFERRABLE INITIALLY DEFERRED"


class Row(Reply):
    """A row."""

    id: int


def make_router(name: sql.Identifier) -> Router:
    router = Router(tags=["rows"])
    insert = sql.SQL("INSERT INTO {} (id) VALUES (%s)").format(name)

    @router.post("/rows/{row}", status_code=201)
    async def add(row: int, conn: Tx, *, then: str = "") -> Row:
        await conn.execute(insert, [row])
        if then == "refuse":
            raise NotFound("No.")
        if then == "fail":
            raise ZeroDivisionError
        return Row(id=row)

    @router.post("/answered/{row}")
    async def add_and_answer(row: int, conn: Tx) -> Response:
        await conn.execute(insert, [row])
        return Response("done", 201)

    @router.put("/rows/{row}")
    async def touch(row: int, conn: Tx) -> Row:
        await conn.execute(sql.SQL("UPDATE {} SET note = 'touched' WHERE id = %s").format(name), [row])
        return Row(id=row)

    add_waits(router)
    return router


def add_waits(router: Router) -> None:
    """Add operations that wait for the database."""

    @router.get("/slow")
    async def slow(conn: Reads) -> Row:
        await conn.execute("SELECT pg_sleep(30)")
        return Row(id=0)

    @router.get("/endless")
    async def endless(conn: Tx) -> Row:
        await conn.execute("SET LOCAL statement_timeout = 0")
        await conn.execute("SELECT pg_sleep(60)")
        return Row(id=0)

    @router.get("/idle")
    async def idle(conn: Tx) -> Row:
        await conn.execute("SET LOCAL idle_in_transaction_session_timeout = '1ms'")
        ended = asyncio.Event()
        asyncio.get_running_loop().add_reader(conn.fileno(), ended.set)
        await ended.wait()
        asyncio.get_running_loop().remove_reader(conn.fileno())
        await conn.execute("SELECT 1")
        return Row(id=0)

    @router.get("/quick")
    async def quick(database: Pool) -> Row:
        await database.ping()
        return Row(id=0)


class ScratchService:
    """A service on a table of its own, seen from a connection beside it."""

    def __init__(self, scratch: Scratch, name: sql.Identifier, conn: Conn) -> None:
        self.service, self.database, self.name, self.conn = scratch.middleware, scratch.database, name, conn

    async def ask(self, method: str, path: str) -> Answer:
        return await ask(self.service, method, path)

    async def rows(self) -> list[int]:
        found = await self.conn.execute(sql.SQL("SELECT id FROM {} ORDER BY id").format(self.name))
        return [row[0] for row in await found.fetchall()]

    async def is_sleeping(self) -> bool:
        """Whether a statement of the service is in its long sleep."""
        found = await self.conn.execute(
            "SELECT FROM pg_stat_activity WHERE state = 'active' AND query = 'SELECT pg_sleep(60)' "
            "AND datname = current_database()"
        )
        return await found.fetchone() is not None

    async def lock(self) -> None:
        await self.conn.execute(sql.SQL("LOCK TABLE {} IN ACCESS EXCLUSIVE MODE").format(self.name))


@pytest.fixture
async def scratch(conninfo: str, settings: Settings) -> AsyncIterator[ScratchService]:
    limits = {"pool_size": 2, "pool_timeout_s": 0.3, "statement_timeout_s": 0.5, "lock_timeout_s": 0.2}
    async with (
        table(conninfo, COLUMNS) as (name, conn),
        serve(settings, make_router(name), database_url=conninfo, **limits) as scratch,
    ):
        async with scratch.database.pool.connection(10), scratch.database.pool.connection(10):
            pass  # both are there now: on a slow machine to connect can take longer than the limit
        yield ScratchService(scratch, name, conn)


@pytest.mark.parametrize("path", ["/rows/1", "/answered/1"])
async def test_a_commit_that_fails_is_a_500_and_stores_nothing(scratch: ScratchService, path: str) -> None:
    await scratch.ask("POST", "/rows/1")
    assert await scratch.rows() == [1]

    again = await scratch.ask("POST", path)  # the constraint is looked at when the transaction ends

    assert (again.status, again.json()["code"]) == (500, "internal_error")
    assert again.header("content-type") == "application/problem+json"
    assert await scratch.rows() == [1]


@pytest.mark.parametrize("path", ["/rows/2", "/answered/2"])
async def test_the_response_is_sent_after_the_commit(scratch: ScratchService, path: str) -> None:
    seen: list[list[int]] = []

    async def look() -> None:
        seen.append(await scratch.rows())

    answer = await ask(scratch.service, "POST", path, at_start=look)

    assert answer.status == 201
    assert seen == [[2]]


@pytest.mark.parametrize(("then", "status"), [("refuse", 404), ("fail", 500)])
async def test_an_error_response_rolls_back(scratch: ScratchService, then: str, status: int) -> None:
    assert (await scratch.ask("POST", f"/rows/3?then={then}")).status == status
    assert await scratch.rows() == []


def busy(answer: Answer) -> bool:
    refusal = (answer.status, answer.json()["code"], answer.header("retry-after"))
    return refusal == (503, "database_busy", "1")


async def test_a_statement_over_its_time_limit_is_a_503(scratch: ScratchService) -> None:
    assert busy(await scratch.ask("GET", "/slow"))
    assert (await scratch.ask("GET", "/quick")).status == 200


async def test_a_transaction_that_is_idle_too_long_is_a_503(scratch: ScratchService) -> None:
    assert (await scratch.ask("GET", "/idle")).status == 503  # as busy, or as unavailable if the end comes first
    assert (await scratch.ask("GET", "/quick")).status == 200


async def test_a_lock_timeout_is_a_503(scratch: ScratchService) -> None:
    await scratch.ask("POST", "/rows/4")
    async with scratch.conn.transaction():
        await scratch.lock()
        assert busy(await scratch.ask("PUT", "/rows/4"))
    assert (await scratch.ask("PUT", "/rows/4")).status == 200


async def test_an_exhausted_pool_is_a_503_until_a_connection_is_free(scratch: ScratchService) -> None:
    async with scratch.database.connection(), scratch.database.connection():
        assert busy(await scratch.ask("GET", "/quick"))
    assert (await scratch.ask("GET", "/quick")).status == 200


async def test_a_full_queue_for_the_pool_is_refused_at_once(scratch: ScratchService) -> None:
    async with scratch.database.connection(), scratch.database.connection():
        answers = await asyncio.gather(*(scratch.ask("GET", "/quick") for _ in range(150)))
    assert all(map(busy, answers))
    assert (await scratch.ask("GET", "/quick")).status == 200


async def test_a_serialization_failure_asks_the_client_to_repeat(scratch: ScratchService) -> None:
    await scratch.ask("POST", "/rows/5")

    async def be_overtaken() -> None:
        async with scratch.database.transaction() as conn:
            await conn.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            await conn.execute(sql.SQL("SELECT * FROM {}").format(scratch.name))
            await scratch.ask("PUT", "/rows/5")
            await conn.execute(sql.SQL("UPDATE {} SET note = 'late'").format(scratch.name))

    with pytest.raises(DatabaseBusy):
        await be_overtaken()


async def test_a_cancelled_request_returns_its_connection(scratch: ScratchService) -> None:
    for _ in range(3):  # one more than the pool has
        asking = asyncio.create_task(scratch.ask("GET", "/endless"))
        await until(scratch.is_sleeping)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
    assert not await scratch.is_sleeping()
    assert (await scratch.ask("GET", "/quick")).status == 200


async def test_the_session_uses_utc_and_has_every_time_limit(database: Database) -> None:
    names = ["timezone", "idle_in_transaction_session_timeout", "statement_timeout", "lock_timeout"]
    async with database.connection() as conn:
        found = [
            (await (await conn.execute(sql.SQL("SHOW {}").format(sql.Identifier(each)))).fetchone())
            for each in names
        ]
    assert found == [("UTC",), ("5s",), ("10s",), ("3s",)]


async def test_a_statement_occupies_one_process_of_the_server(database: Database) -> None:
    async with database.connection() as conn:
        found = await (await conn.execute("SHOW max_parallel_workers_per_gather")).fetchone()
    assert found == ("0",)


def test_the_password_is_not_in_the_repr(settings: Settings) -> None:
    database = Database("postgresql://ada:hidden@localhost/there", settings)
    assert repr(database) == "Database()"
    assert conninfo_to_dict(database.conninfo)["password"] == "hidden"
