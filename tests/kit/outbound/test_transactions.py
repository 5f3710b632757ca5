"""No transaction is open during an outgoing request."""

import asyncio

import pytest

from builders.kit.db import connections
from builders.kit.db.connections import Database
from builders.kit.outbound.client import Target
from tests.kit.outbound.receivers import OK, calling, receiving, saying


async def test_a_call_within_a_transaction_is_an_error(own_database: Database) -> None:
    async with receiving(saying(OK)) as receiver, calling(receiver) as outbound:
        async with own_database.transaction():
            with pytest.raises(RuntimeError, match="transaction"):
                await outbound.request("GET", receiver.url)
            with pytest.raises(RuntimeError, match="transaction"):
                await outbound.validate_host(Target("https", "a.example", 443, "/"))
        assert receiver.connections == 0
        assert (await outbound.request("GET", receiver.url)).status == 200


async def test_a_transaction_is_visible_in_its_task_and_in_child_tasks(own_database: Database) -> None:
    async def look(begun: asyncio.Event) -> bool:
        begun.set()
        await over.wait()
        return connections.in_transaction()

    over, begun = asyncio.Event(), asyncio.Event()
    async with own_database.transaction():
        assert connections.in_transaction()
        async with own_database.connection():
            assert connections.in_transaction()
        assert await asyncio.create_task(asyncio.sleep(0, connections.in_transaction()))
        outliving = asyncio.create_task(look(begun))
        await begun.wait()
    over.set()
    assert not await outliving
    assert not connections.in_transaction()


async def test_a_connection_without_a_transaction_is_none(own_database: Database) -> None:
    async with own_database.connection() as conn:
        await conn.execute("SELECT 1")
        assert not connections.in_transaction()
        async with conn.transaction():
            assert connections.in_transaction()
        assert not connections.in_transaction()


async def test_a_transaction_of_another_task_is_not_visible(own_database: Database) -> None:
    over, begun = asyncio.Event(), asyncio.Event()

    async def hold() -> None:
        async with own_database.transaction():
            begun.set()
            await over.wait()

    holding = asyncio.create_task(hold())
    await begun.wait()
    assert not connections.in_transaction()
    over.set()
    await holding


async def test_a_failed_transaction_has_ended(own_database: Database) -> None:
    with pytest.raises(ZeroDivisionError):
        async with own_database.transaction():
            raise ZeroDivisionError
    assert not connections.in_transaction()


async def test_blocks_that_end_in_another_order_leave_no_transaction(own_database: Database) -> None:
    for _ in range(3):
        first, second = own_database.connection(), own_database.connection()
        await first.__aenter__()
        await second.__aenter__()
        await first.__aexit__(None, None, None)
        await second.__aexit__(None, None, None)
    innermost = connections._innermost.get()
    depth = 0
    while innermost is not None:
        innermost, depth = innermost.outer, depth + 1
    assert depth <= 2
    assert not connections.in_transaction()
