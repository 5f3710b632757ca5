"""Concurrent writes share a commit and return after it; an invalid one fails alone."""

import asyncio
import itertools
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import psycopg
import pytest
from hypothesis import given, strategies as st
from psycopg import sql

from builders.kit.db.connections import Conn, Database
from builders.kit.db.group_commit import GroupCommit
from builders.kit.errors import DatabaseBusy, DatabaseUnavailable
from builders.kit.process.settings import Settings
from tests.kit.db.proxy import DatabaseProxy
from tests.random_cases import cases

BAD = 13  # no such row may be written


@dataclass
class Book:
    """A table of numbers, and how it was written."""

    database: Database
    table: str
    batches: list[int] = field(default_factory=list)
    begun: asyncio.Event = field(default_factory=asyncio.Event)  # a write
    pause: asyncio.Event | None = None  # writes wait for it

    async def write(self, conn: Conn, rows: Sequence[int]) -> list[str]:
        self.batches.append(len(rows))
        self.begun.set()
        if self.pause is not None:
            await self.pause.wait()
        insert = sql.SQL("INSERT INTO {} SELECT unnest(%s::int[])").format(sql.Identifier(self.table))
        await conn.execute(insert, [list(rows)])
        return [f"row {each}" for each in rows]

    async def numbers(self) -> list[int]:
        select = sql.SQL("SELECT n FROM {} ORDER BY n").format(sql.Identifier(self.table))
        async with self.database.connection() as conn:
            return [n for (n,) in await (await conn.execute(select)).fetchall()]

    async def empty(self) -> None:
        async with self.database.connection() as conn:
            await conn.execute(sql.SQL("TRUNCATE {}").format(sql.Identifier(self.table)))
        self.batches.clear()

    def commits(self, **options: Any) -> GroupCommit[int, str]:
        return GroupCommit(self.database, self.write, **options)


@asynccontextmanager
async def made(database: Database) -> AsyncIterator[Book]:
    book = Book(database, f"book_{uuid.uuid4().hex[:8]}")
    name = sql.Identifier(book.table)
    async with database.connection() as conn:
        await conn.execute(sql.SQL("CREATE TABLE {} (n int NOT NULL CHECK (n <> 13))").format(name))
    yield book
    async with database.connection() as conn:
        await conn.execute(sql.SQL("DROP TABLE {}").format(name))


@pytest.fixture
async def book(database: Database) -> AsyncIterator[Book]:
    async with made(database) as book:
        yield book


async def test_writes_at_once_share_a_statement_and_each_gets_its_own_result(book: Book) -> None:
    async with book.commits() as commits:
        said = await asyncio.gather(*(commits.add(n) for n in range(100, 150)))

    assert said == [f"row {n}" for n in range(100, 150)]
    assert await book.numbers() == list(range(100, 150))
    assert book.batches == [50]


async def test_rows_that_arrive_during_a_write_form_the_next_batch(book: Book) -> None:
    book.pause = asyncio.Event()
    async with book.commits() as commits:
        first = asyncio.ensure_future(commits.add(0))
        await book.begun.wait()
        others = [asyncio.ensure_future(commits.add(n)) for n in range(101, 120)]
        await asyncio.sleep(0)
        book.pause.set()
        await asyncio.gather(first, *others)
    assert book.batches == [1, 19]


async def test_a_single_row_is_written(book: Book) -> None:
    async with book.commits() as commits:
        assert await commits.add(1) == "row 1"
        assert await commits.add(2) == "row 2"
    assert book.batches == [1, 1]


async def test_the_result_is_returned_after_the_commit(book: Book) -> None:
    async def write(n: int) -> bool:
        await commits.add(n)
        return n in await book.numbers()  # as another connection sees it

    async with book.commits(max_batch_rows=7) as commits:
        assert all(await asyncio.gather(*(write(n) for n in range(100, 140))))
    assert max(book.batches) == 7


async def test_an_unwritten_row_has_no_result(book: Book) -> None:
    book.pause = asyncio.Event()
    async with book.commits() as commits:
        adding = asyncio.ensure_future(commits.add(1))
        await asyncio.sleep(0.02)
        assert not adding.done()
        book.pause.set()
        assert await adding == "row 1"


async def test_a_bad_row_fails_alone(book: Book) -> None:
    async with book.commits() as commits:
        said = await asyncio.gather(*(commits.add(n) for n in range(64)), return_exceptions=True)

    assert isinstance(said[BAD], psycopg.errors.CheckViolation)
    assert [each for n, each in enumerate(said) if n != BAD] == [f"row {n}" for n in range(64) if n != BAD]
    assert await book.numbers() == [n for n in range(64) if n != BAD]
    assert len(book.batches) <= 13  # a half, twice for each halving of 64


@cases(8)
@given(rows=st.lists(st.sampled_from([1, 2, BAD, 10**12]), max_size=20))
async def test_whichever_rows_are_bad_all_others_are_written(book: Book, rows: list[int]) -> None:
    await book.empty()
    async with book.commits(max_batch_rows=6) as commits:
        said = await asyncio.gather(*(commits.add(n) for n in rows), return_exceptions=True)

    good = [n for n in rows if n in {1, 2}]
    assert await book.numbers() == sorted(good)
    assert [isinstance(each, Exception) for each in said] == [n not in good for n in rows]


async def test_a_missing_result_fails_the_whole_batch_and_nobody_waits(database: Database) -> None:
    async def write(_: Conn, __: Sequence[int]) -> list[int]:
        return []

    async with GroupCommit(database, write) as commits:
        said = await asyncio.gather(commits.add(1), commits.add(2), return_exceptions=True)
    assert [type(each) for each in said] == [ValueError, ValueError]


async def test_a_full_queue_is_a_503(book: Book) -> None:
    book.pause = asyncio.Event()
    async with book.commits(max_queued_rows=5) as commits:
        adding = [asyncio.ensure_future(commits.add(n)) for n in range(5)]
        await asyncio.sleep(0)
        with pytest.raises(DatabaseBusy) as refused:
            await commits.add(99)
        assert refused.value.headers["Retry-After"] == "1"
        book.pause.set()
        await asyncio.gather(*adding)
    assert await book.numbers() == [0, 1, 2, 3, 4]


async def test_closing_writes_queued_rows_and_refuses_new_ones(book: Book) -> None:
    commits = book.commits(max_batch_rows=2)
    adding = [asyncio.ensure_future(commits.add(n)) for n in range(5)]
    closing = asyncio.ensure_future(commits.close())
    assert await asyncio.gather(*adding) == [f"row {n}" for n in range(5)]
    await closing
    with pytest.raises(DatabaseBusy):
        await commits.add(6)


async def test_a_cancelled_caller_is_not_written_and_others_are(book: Book) -> None:
    async with book.commits() as commits:
        leaving, staying = asyncio.ensure_future(commits.add(1)), asyncio.ensure_future(commits.add(2))
        await asyncio.sleep(0)
        leaving.cancel()
        assert await staying == "row 2"
    assert await book.numbers() == [2]


async def test_a_write_over_its_time_limit_fails(book: Book) -> None:
    book.pause = asyncio.Event()  # that nobody sets
    async with book.commits(timeout_s=0.05, max_batch_rows=1) as commits:
        said = await asyncio.gather(*(commits.add(n) for n in range(50)), return_exceptions=True)
        assert {type(each) for each in said} == {DatabaseBusy}
        assert len(book.batches) < 5  # the rest did not get its turn
        book.pause = None
        commits._longest_s = 60
        assert await commits.add(1) == "row 1"


async def test_writes_work_again_after_a_database_outage(
    conninfo: str, settings: Settings, database: Database
) -> None:
    async with made(database) as book, DatabaseProxy(conninfo) as proxy:
        behind = Database(proxy.conninfo, settings.model_copy(update={"pool_timeout_s": 0.2, "pool_size": 3}))
        await behind.open()
        await behind.pool.wait()  # a busy machine connects late
        async with GroupCommit(behind, book.write) as commits:
            for turn in range(2):
                assert await commits.add(turn) == f"row {turn}"
                await proxy.shut()
                said = await asyncio.gather(*(commits.add(n) for n in (50, 51)), return_exceptions=True)
                assert {type(each) for each in said} == {DatabaseUnavailable}
                await proxy.open()
                await eventually(lambda: commits.add(100))
        await behind.close()
        assert await book.numbers() == [0, 1, 100, 100]


async def eventually(ask: Callable[[], Awaitable[object]]) -> None:
    for _ in itertools.count():
        try:
            await ask()
        except DatabaseUnavailable:
            await asyncio.sleep(0.02)
        else:
            return
