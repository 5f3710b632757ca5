"""Failures for tests: a proxy to PostgreSQL that breaks connections, and promotions whose completion fails."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from typing import LiteralString

import psycopg
from psycopg import sql
from psycopg.conninfo import make_conninfo

from builders.kit.db.connections import Conn, Database
from builders.kit.errors import DatabaseUnavailable
from builders.kit.jobs import queue
from builders.kit.process.settings import Settings
from builders.kit.values import clock
from builders.plans import jobs as plans_jobs
from tests.cast import Person
from tests.plans.make import Json, promote_over, promotion_request

QUERY, EXECUTE = b"Q", b"E"
EVERY = "BUILDERS_EVERY_CRASH" in os.environ
COMMIT = b"COMMIT\x00"


def stride(usual: int) -> int:
    """Return the distance between the places that are tried: `usual`, and 1 in `script/soak crashes`."""
    return 1 if EVERY else usual


@dataclass(slots=True)
class FaultyProxy:
    """A proxy to PostgreSQL that breaks the connection at a chosen statement, as a crash of a process does."""

    conninfo: str = ""  # of the proxy
    seen: int = 0
    commits: int = 0
    is_broken: bool = False
    _before: int = 0
    _after_commit: int = 0
    _committing: bool = False
    _writers: set[asyncio.StreamWriter] = field(default_factory=set)

    def set(self, *, before: int = 0, after_commit: int = 0) -> None:
        """Break before the n-th statement from now, or after the n-th commit and before its response."""
        self.seen = self.commits = 0
        self.is_broken = self._committing = False
        self._before, self._after_commit = before, after_commit

    def _break(self) -> None:
        self.is_broken, self._committing = True, False
        for writer in self._writers:
            writer.transport.abort()
        self._writers.clear()

    async def forward_client(self, client: asyncio.StreamReader, server: asyncio.StreamWriter) -> None:
        """Forward messages of the client (PostgreSQL's protocol 3.0)."""
        head = await client.readexactly(4)
        server.write(head + await client.readexactly(int.from_bytes(head, "big") - 4))
        while True:
            head = await client.readexactly(5)
            body = await client.readexactly(int.from_bytes(head[1:], "big") - 4)
            if head[:1] in {QUERY, EXECUTE}:
                self.seen += 1
                if self.seen == self._before:
                    return self._break()
                self.commits += body == COMMIT
                self._committing = body == COMMIT and self.commits == self._after_commit
            server.write(head + body)
            await server.drain()

    async def forward_server(self, server: asyncio.StreamReader, client: asyncio.StreamWriter) -> None:
        """Forward the bytes of the server."""
        while answer := await server.read(65536):
            if self._committing:
                return self._break()
            client.write(answer)
            await client.drain()
        return client.close()

    def register(self, *writers: asyncio.StreamWriter) -> None:
        """Register both ends of a connection."""
        self._writers.update(writers)


@asynccontextmanager
async def open_proxy(target: str) -> AsyncIterator[FaultyProxy]:
    """Listen on loopback and forward to the server of the connection string."""
    async with await psycopg.AsyncConnection.connect(target) as conn:
        info = conn.info
        host, port, password = info.host, info.port, info.password
    proxy = FaultyProxy()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        opened = (
            asyncio.open_unix_connection(f"{host}/.s.PGSQL.{port}")
            if host.startswith("/")
            else asyncio.open_connection(host, port)
        )
        try:
            server_reader, server_writer = await opened
        except BaseException:  # the test has ended
            writer.transport.abort()
            raise
        proxy.register(writer, server_writer)
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            directions = [proxy.forward_client(reader, server_writer), proxy.forward_server(server_reader, writer)]
            await asyncio.wait(map(asyncio.ensure_future, directions), return_when=asyncio.FIRST_COMPLETED)
        for each in (writer, server_writer):
            each.transport.abort()

    async with await asyncio.start_server(connected, "127.0.0.1", 0) as server:
        own = server.sockets[0].getsockname()[1]
        proxy.conninfo = make_conninfo(
            target, host="127.0.0.1", port=own, password=password, sslmode="disable", gssencmode="disable"
        )
        yield proxy


async def is_interrupted(database: Database, person: Person, planned: Json) -> bool:
    """Promote through the faulty proxy; return whether the connection broke."""
    try:
        await promote_over(database, person, promotion_request(planned))
    except DatabaseUnavailable:
        return True
    return False


ABANDONED = timedelta(minutes=2, seconds=1)
BREAK = """
    CREATE FUNCTION pg_temp.broken() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN IF NEW.account_id = TG_ARGV[0]::uuid THEN RAISE 'broken' USING ERRCODE = '23001'; END IF;
    RETURN NEW; END $$
"""
FAIL_INVOICE: LiteralString = "CREATE TRIGGER broken BEFORE INSERT ON invoices_invoices FOR EACH ROW"
FAIL_EVENT: LiteralString = (
    "CREATE TRIGGER broken BEFORE INSERT ON kit_outbox FOR EACH ROW WHEN (NEW.name LIKE 'promotion.%')"
)
CALL = sql.SQL(" EXECUTE FUNCTION pg_temp.broken({})")
MAKE_DUE = """
    UPDATE procrastinate_jobs SET scheduled_at = NULL
    WHERE task_name = 'plans.finish' AND status = 'todo' AND args ->> 'account_id' = %s
"""
SET_ATTEMPTS = "UPDATE procrastinate_jobs SET attempts = %s WHERE task_name = 'plans.finish' AND status = 'todo'"
FailingCompletion = Callable[[Person, LiteralString], AbstractAsyncContextManager[None]]


class ResumingWorker:
    """A worker that continues abandoned promotions."""

    def __init__(self, database: Database, settings: Settings, conn: Conn) -> None:
        self._database, self._settings, self._conn = database, settings, conn

    async def resume(self) -> None:
        """Run the periodic job after the promotion counts as abandoned."""
        clock.move(ABANDONED)
        async with self._database.transaction() as conn:
            await queue.defer(conn, plans_jobs.resume, timestamp=0)
        await queue.run_pending(self._database, self._settings)

    async def run_next_attempt(self, person: Person) -> None:
        """Run the next attempt of the account's job without its delay."""
        await self._conn.execute(MAKE_DUE, [str(person.account.id)])
        await queue.run_pending(self._database, self._settings)

    async def run_last_attempt(self, person: Person) -> None:
        """Run the last attempt."""
        await self.resume()
        await self._conn.execute(SET_ATTEMPTS, [plans_jobs.TRIES])
        await self.run_next_attempt(person)


@asynccontextmanager
async def fail_completion(conn: Conn, person: Person, trigger: LiteralString) -> AsyncIterator[None]:
    """Let the completion of the account's promotions fail in the block."""
    await conn.execute(BREAK)
    await conn.execute(sql.SQL(trigger) + CALL.format(str(person.account.id)))
    try:
        yield
    finally:
        await conn.execute("DROP FUNCTION pg_temp.broken() CASCADE")
