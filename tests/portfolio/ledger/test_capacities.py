"""Capacities: they count again when needed, and no more often."""

from datetime import timedelta
from uuid import UUID

import pytest

from builders.kit.db.connections import Conn
from builders.kit.values import clock, ids
from builders.portfolio.ledger.capacities import PAUSE_S, SLACK, Capacity

MOST = 160_000


class Rows:
    """The rows of an account, and how often they were counted."""

    def __init__(self) -> None:
        self.held = 0
        self.counts = 0

    async def count(self, conn: Conn, account_id: UUID, most: int) -> int:
        del conn, account_id
        self.counts += 1
        return min(self.held, most)


@pytest.fixture
def rows() -> Rows:
    return Rows()


async def add(capacity: Capacity, rows: Rows, conn: Conn, count: int, account_id: UUID) -> int:
    taken = await capacity.take(conn, account_id=account_id, rows=count)
    rows.held += taken
    return taken


async def test_a_share_of_what_is_free_needs_one_count(rows: Rows, conn: Conn) -> None:
    capacity, account_id = Capacity(rows.count, MOST), ids.new()
    assert [await add(capacity, rows, conn, 100, account_id) for _ in range(100)] == [100] * 100
    assert rows.counts == 1
    await add(capacity, rows, conn, 100, account_id)
    assert rows.counts == 2


async def test_processes_together_stay_near_the_maximum(rows: Rows, conn: Conn) -> None:
    processes, account_id = [Capacity(rows.count, MOST) for _ in range(8)], ids.new()
    for at in range(4_000):
        await add(processes[at % 8], rows, conn, 100, account_id)
    assert MOST <= rows.held <= MOST + 8 * SLACK
    assert rows.counts < 400


async def test_a_full_account_is_counted_once_in_a_pause(rows: Rows, conn: Conn) -> None:
    capacity, account_id = Capacity(rows.count, MOST), ids.new()
    rows.held = MOST - 3
    assert [await add(capacity, rows, conn, 2, account_id) for _ in range(50)] == [2, 1, *[0] * 48]
    assert rows.counts == 1
    rows.held = 0
    clock.move(timedelta(seconds=PAUSE_S + 1))
    assert await add(capacity, rows, conn, 5_000, account_id) == 5_000


async def test_accounts_are_independent(rows: Rows, conn: Conn) -> None:
    capacity = Capacity(rows.count, MOST)
    assert [await capacity.take(conn, account_id=ids.new(), rows=MOST) for _ in range(2)] == [MOST] * 2
