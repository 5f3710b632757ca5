"""The changes of a request and its stored response are one transaction."""

import asyncio
from collections.abc import AsyncIterator
from typing import Annotated

import pytest
from psycopg import sql
from starlette.responses import Response
from starlette.types import ASGIApp

from builders.kit.callers import Caller
from builders.kit.db.connections import Conn, Pool, Reads, Tx
from builders.kit.errors import DatabaseBusy
from builders.kit.http import idempotency
from builders.kit.http.bodies import Reply
from builders.kit.http.callers import needs
from builders.kit.http.routes import Router
from builders.kit.process.settings import Settings
from builders.kit.values import ids
from tests.kit.asgi import Answer, ask
from tests.kit.scratch import serve, table, until

Reader = Annotated[Caller, needs("things:read")]
COLUMNS = "note text, UNIQUE (note) DEFERRABLE INITIALLY DEFERRED"


class Note(Reply):
    """What was written."""

    note: str


class ScratchService:
    """A service whose handlers can be held up in the middle."""

    def __init__(self, name: sql.Identifier, conn: Conn) -> None:
        self.insert = sql.SQL("INSERT INTO {} VALUES (%s)").format(name)
        self.list = sql.SQL("SELECT note FROM {} ORDER BY note").format(name)
        self.conn = conn
        self.begun, self.go_on = asyncio.Event(), asyncio.Event()
        self.go_on.set()
        self.service: ASGIApp | None = None

    async def write(self, conn: Conn, note: str) -> Note:
        await conn.execute(self.insert, [note])
        if not self.begun.is_set():  # only the first is held up
            self.begun.set()
            await self.go_on.wait()
        return Note(note=note)

    async def notes(self) -> list[str]:
        return [row[0] for row in await (await self.conn.execute(self.list)).fetchall()]

    def routes(self) -> Router:
        router = Router(tags=["notes"])

        @router.post("/tx/{note}")
        async def in_a_transaction(note: str, caller: Reader, conn: Tx, spelled: str | None = None) -> Note:
            del caller
            return await self.write(conn, spelled or note)

        @router.post("/reads/{note}")
        async def in_statements(note: str, caller: Reader, conn: Reads) -> Note:
            del caller
            return await self.write(conn, note)

        @router.post("/pool/{note}")
        async def in_its_own_transactions(note: str, caller: Reader, database: Pool) -> Note:
            del caller
            async with database.transaction() as conn:
                return await self.write(conn, note)

        @router.post("/fails/{note}")
        async def after_its_transaction(note: str, caller: Reader, database: Pool) -> Note:
            del caller
            async with database.transaction() as conn:
                await self.write(conn, f"{note} {idempotency.new_id()}")
            raise DatabaseBusy("The response could not be stored.", retry_after=1)

        @router.post("/nothing/{note}", status_code=204)
        async def without_an_answer(note: str, caller: Reader, conn: Tx) -> None:
            del caller
            await self.write(conn, note)

        @router.post("/made/{note}")
        async def with_an_answer_of_its_own(note: str, caller: Reader, conn: Tx) -> Response:
            del caller
            await self.write(conn, note)
            return Response('{"made": true}', 202, media_type="application/json")

        return router

    async def ask(self, path: str, *, key: str) -> Answer:
        assert self.service is not None
        return await ask(self.service, "POST", path, headers=[("X-API-Key", "reader"), ("Idempotency-Key", key)])


@pytest.fixture
async def scratch(conninfo: str, settings: Settings) -> AsyncIterator[ScratchService]:
    async with table(conninfo, COLUMNS) as (name, conn):
        made = ScratchService(name, conn)
        async with serve(settings, made.routes()) as served:
            made.service = served.middleware
            yield made


@pytest.fixture
def key() -> str:
    """A new one: the account of these tests is always the same."""
    return ids.new().hex


def is_replay(answer: Answer) -> bool:
    return answer.header("idempotent-replayed") == "true"


@pytest.mark.parametrize(
    ("way", "status", "body"),
    [
        ("tx", 200, b'{"note":"a"}'),
        ("reads", 200, b'{"note":"a"}'),
        ("pool", 200, b'{"note":"a"}'),
        ("nothing", 204, b""),
        ("made", 202, b'{"made": true}'),
    ],
)
async def test_every_kind_of_handler_is_repeatable(
    scratch: ScratchService, key: str, way: str, status: int, body: bytes
) -> None:
    first, again = [await scratch.ask(f"/{way}/a", key=key) for _ in range(2)]

    assert (first.status, first.body, is_replay(first)) == (status, body, False)
    assert (again.status, again.body, is_replay(again)) == (status, body, True)
    assert again.header("content-type") == first.header("content-type")
    assert await scratch.notes() == ["a"]


async def test_a_failed_commit_stores_no_response_and_frees_the_key(scratch: ScratchService, key: str) -> None:
    await scratch.ask("/tx/a", key=ids.new().hex)

    assert (await scratch.ask("/tx/a", key=key)).status == 500  # its note is taken, which the commit finds out
    other = await scratch.ask("/tx/b", key=key)

    assert (other.status, is_replay(other)) == (200, False)
    assert await scratch.notes() == ["a", "b"]


@pytest.mark.parametrize("way", ["tx", "pool"])
async def test_a_request_whose_key_was_taken_over_leaves_nothing(
    scratch: ScratchService, key: str, way: str
) -> None:
    scratch.go_on.clear()
    slow = asyncio.create_task(scratch.ask(f"/{way}/slow", key=key))
    await scratch.begun.wait()
    # As if the process had stood still. The request of the heir differs, so that its note does.
    await scratch.conn.execute("UPDATE kit_idempotency SET lease_until = clock_timestamp() WHERE key = %s", [key])

    heir = await scratch.ask(f"/{way}/heir", key=key)
    scratch.go_on.set()
    late = await slow

    assert (heir.status, is_replay(heir)) == (200, False)
    assert (late.status, late.json()["code"]) == (409, "idempotency_in_flight")
    assert await scratch.notes() == ["heir"]
    again = await scratch.ask(f"/{way}/heir", key=key)
    assert (again.body, is_replay(again)) == (heir.body, True)


async def test_a_repetition_after_a_commit_gets_the_same_id(scratch: ScratchService, key: str) -> None:
    statuses = [(await scratch.ask("/fails/a", key=each)).status for each in (key, key, ids.new().hex)]

    assert statuses == [503, 500, 503]  # the note of the repetition is taken
    assert len(await scratch.notes()) == 2


async def test_of_two_retries_at_once_one_takes_over(scratch: ScratchService, key: str) -> None:
    scratch.go_on.clear()
    first = asyncio.create_task(scratch.ask("/pool/first", key=key))
    await scratch.begun.wait()
    await scratch.conn.execute("UPDATE kit_idempotency SET lease_until = clock_timestamp() WHERE key = %s", [key])

    codes = {each.status for each in await asyncio.gather(*(scratch.ask("/pool/b", key=key) for _ in range(2)))}
    scratch.go_on.set()

    assert codes <= {200, 409}
    assert (await first).status == 409
    assert await scratch.notes() == ["b"]


async def test_the_process_renews_the_lease_of_a_running_request(scratch: ScratchService, key: str) -> None:
    scratch.go_on.clear()
    running = asyncio.create_task(scratch.ask("/pool/a", key=key))
    await scratch.begun.wait()
    await scratch.conn.execute("UPDATE kit_idempotency SET lease_until = clock_timestamp() WHERE key = %s", [key])

    async def is_renewed() -> bool:
        found = await scratch.conn.execute(
            "SELECT FROM kit_idempotency WHERE key = %s AND lease_until > clock_timestamp()", [key]
        )
        return found.rowcount == 1

    await until(is_renewed)
    assert (await scratch.ask("/pool/a", key=key)).status == 409
    scratch.go_on.set()
    assert (await running).status == 200


async def test_an_interrupted_request_frees_its_key(scratch: ScratchService, key: str) -> None:
    scratch.go_on.clear()
    cut_off = asyncio.create_task(scratch.ask("/tx/a", key=key))
    await scratch.begun.wait()
    cut_off.cancel()
    with pytest.raises(asyncio.CancelledError):
        await cut_off
    scratch.go_on.set()

    answer = await scratch.ask("/tx/a", key=key)

    assert (answer.status, is_replay(answer)) == (200, False)
    assert await scratch.notes() == ["a"]


async def test_a_repeated_request_does_not_wait_for_a_running_one(scratch: ScratchService, key: str) -> None:
    scratch.go_on.clear()
    first = asyncio.create_task(scratch.ask("/tx/a", key=key))
    await scratch.begun.wait()

    repeated, other = await scratch.ask("/tx/a", key=key), await scratch.ask("/tx/b", key=key)

    assert (repeated.status, repeated.json()["code"]) == (409, "idempotency_in_flight")
    assert (other.status, other.json()["detail"][0]["type"]) == (422, "key_reused")
    scratch.go_on.set()
    assert (await first).status == 200
    assert await scratch.notes() == ["a"]
