"""Tables that only grow: months made ahead, old ones dropped, and no write lost for want of a month."""

import asyncio
import uuid
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import pytest
from psycopg import sql

from builders.kit.db import partitions
from builders.kit.db.connections import Conn, Database
from builders.kit.jobs import queue
from builders.kit.process import metrics
from builders.kit.process.settings import Settings
from builders.kit.values import clock

pytestmark = pytest.mark.usefixtures("registers")

KEPT = timedelta(days=90)


async def partitions_of(conn: Conn, table: str) -> list[str]:
    found: dict[str, list[str]] = dict(await (await conn.execute(partitions.LIST)).fetchall())
    return sorted(found[table])


class Grown:
    """A partitioned table of the test's own, with nothing but its default partition."""

    def __init__(self, conn: Conn) -> None:
        self.name = f"grown_{uuid.uuid4().hex[:8]}"
        self.conn = conn

    async def make(self) -> None:
        columns = "id int, created_at timestamptz NOT NULL, PRIMARY KEY (id, created_at)"
        table = sql.SQL("CREATE TABLE {} ({}) PARTITION BY RANGE (created_at)")
        await self.conn.execute(table.format(sql.Identifier(self.name), sql.SQL(columns)))
        default = sql.Identifier(f"{self.name}_default")
        await self.conn.execute(
            sql.SQL("CREATE TABLE {} PARTITION OF {} DEFAULT").format(default, sql.Identifier(self.name))
        )
        await self.conn.execute(sql.SQL("CREATE INDEX ON {} (id)").format(sql.Identifier(self.name)))
        await self.conn.execute("INSERT INTO kit_partitioned VALUES (%s, %s)", [self.name, KEPT.days])
        partitions._tables = {}
        partitions.declare(self.name, retention=KEPT)

    async def write(self, number: int, at: datetime) -> None:
        await self.conn.execute(
            sql.SQL("INSERT INTO {} VALUES (%s, %s)").format(sql.Identifier(self.name)), [number, at]
        )

    async def rows(self) -> dict[str, list[int]]:
        """What each partition holds that holds anything."""
        found = await self.conn.execute(
            sql.SQL("SELECT tableoid::regclass::text, id FROM {} ORDER BY id").format(sql.Identifier(self.name))
        )
        held: dict[str, list[int]] = {}
        for partition, number in await found.fetchall():
            held.setdefault(partition.removeprefix(f"{self.name}_"), []).append(number)
        return held

    async def months(self) -> list[str]:
        return [name.removeprefix(f"{self.name}_") for name in await partitions_of(self.conn, self.name)]


@pytest.fixture
async def conn(own_database: Database) -> AsyncIterator[Conn]:
    async with own_database.connection() as conn:
        yield conn


@pytest.fixture
async def grown(conn: Conn) -> Grown:
    grown = Grown(conn)
    await grown.make()
    return grown


def set_clock(*, year: int, month: int, day: int, hour: int = 12) -> datetime:
    clock.move(datetime(year, month, day, hour, tzinfo=UTC) - clock.now())
    return clock.now()


async def test_partitions_of_this_month_and_two_ahead_are_created_across_a_new_year(
    grown: Grown, conn: Conn
) -> None:
    set_clock(year=2027, month=11, day=30)
    await partitions.rotate_partitions(conn)
    assert await grown.months() == ["2027_11", "2027_12", "2028_01", "default"]

    set_clock(year=2027, month=12, day=1)
    await partitions.rotate_partitions(conn)
    await partitions.rotate_partitions(conn)
    assert await grown.months() == ["2027_11", "2027_12", "2028_01", "2028_02", "default"]


async def test_a_row_goes_to_its_month_or_to_the_default_partition(grown: Grown, conn: Conn) -> None:
    now = set_clock(year=2028, month=2, day=29)
    await partitions.rotate_partitions(conn)
    moments = [
        datetime(2028, 2, 1, tzinfo=UTC),
        datetime(2028, 2, 29, 23, 59, 59, 999999, tzinfo=UTC),
        datetime(2028, 3, 1, tzinfo=UTC),
        now + timedelta(days=200),
        datetime(2028, 1, 31, 23, 59, 59, 999999, tzinfo=UTC),
    ]
    for number, moment in enumerate(moments):
        await grown.write(number, moment)

    assert await grown.rows() == {"2028_02": [0, 1], "2028_03": [2], "default": [3, 4]}


async def test_rows_of_the_default_partition_move_to_a_new_month(grown: Grown, conn: Conn) -> None:
    """On a new database nothing else would ever be made: rows come before the first turn."""
    now = set_clock(year=2028, month=5, day=15)
    for number, at in enumerate([now, now + timedelta(days=30), now - timedelta(days=30)]):
        await grown.write(number, at)
    assert await grown.rows() == {"default": [0, 1, 2]}

    await partitions.rotate_partitions(conn)

    assert await grown.rows() == {"2028_05": [0], "2028_06": [1], "default": [2]}


async def test_a_month_is_dropped_when_its_last_day_is_old(grown: Grown, conn: Conn) -> None:
    for month in (1, 2, 3):
        at = set_clock(year=2028, month=month, day=10)
        await partitions.rotate_partitions(conn)
        await grown.write(month, at)

    set_clock(year=2028, month=4, day=29, hour=23)  # 89 days after the end of January
    await partitions.rotate_partitions(conn)
    assert (await grown.months())[0] == "2028_01"

    set_clock(year=2028, month=5, day=1)
    await partitions.rotate_partitions(conn)
    assert (await grown.months())[0] == "2028_02"
    assert await grown.rows() == {"2028_02": [2], "2028_03": [3]}


async def test_old_rows_of_the_default_partition_are_deleted(grown: Grown, conn: Conn) -> None:
    now = set_clock(year=2028, month=5, day=15)
    await grown.write(1, now - KEPT - timedelta(minutes=1))
    await grown.write(2, now - KEPT + timedelta(minutes=1))

    await partitions.rotate_partitions(conn)

    assert await grown.rows() == {"default": [2]}


async def test_partitions_of_other_tables_are_not_changed(grown: Grown, conn: Conn) -> None:
    set_clock(year=2028, month=5, day=15)
    await conn.execute(
        sql.SQL("CREATE TABLE {} PARTITION OF {} FOR VALUES FROM ('2001-01-01') TO ('2002-01-01')").format(
            sql.Identifier(f"{grown.name}_archive"), sql.Identifier(grown.name)
        )
    )
    await partitions.rotate_partitions(conn)
    assert (await grown.months())[-2:] == ["archive", "default"]


async def test_concurrent_rotations_do_not_conflict(grown: Grown, own_database: Database) -> None:
    async def turn() -> None:
        async with own_database.connection() as conn:
            await partitions.rotate_partitions(conn)

    set_clock(year=2028, month=8, day=1)
    await asyncio.gather(*(turn() for _ in range(5)))
    assert await grown.months() == ["2028_08", "2028_09", "2028_10", "default"]


async def test_a_rotation_loses_no_concurrently_written_row(grown: Grown, own_database: Database) -> None:
    now = set_clock(year=2028, month=9, day=1)

    async def write(first: int) -> None:
        async with own_database.connection() as conn:
            for number in range(first, first + 100):
                await conn.execute(
                    sql.SQL("INSERT INTO {} VALUES (%s, %s)").format(sql.Identifier(grown.name)), [number, now]
                )

    async def turn() -> None:
        async with own_database.connection() as conn:
            await asyncio.sleep(0.01)
            await partitions.rotate_partitions(conn)

    await asyncio.gather(write(0), write(100), turn())

    assert await grown.rows() == {"2028_09": list(range(200))}


async def test_the_housekeeping_job_rotates_the_outbox(own: Settings, own_database: Database, conn: Conn) -> None:
    await queue.defer(conn, queue.run_maintenance, timestamp=0)
    await queue.run_pending(own_database, own)

    names = await partitions_of(conn, "kit_outbox")
    assert f"kit_outbox_{clock.now():%Y_%m}" in names
    assert len(names) == 4  # this month, two ahead, and the default partition


async def test_missing_months_and_rows_of_default_partitions_are_read(grown: Grown, conn: Conn) -> None:
    now = set_clock(year=2028, month=5, day=22)
    before = await partitions.read_months(conn)
    assert f"{grown.name}_2028_05" in before.missing
    assert f"{grown.name}_2028_06" in before.missing  # it begins within ten days

    await partitions.rotate_partitions(conn)
    await grown.write(1, now - timedelta(days=30))
    after = await partitions.read_months(conn)
    assert [name for name in after.missing if name.startswith(grown.name)] == []
    assert after.strays[grown.name] == 1


async def test_a_month_that_begins_in_eleven_days_is_not_missing(grown: Grown, conn: Conn) -> None:
    set_clock(year=2028, month=5, day=21)
    months = await partitions.read_months(conn)
    assert f"{grown.name}_2028_06" not in months.missing


async def test_the_metrics_of_the_worker_count_them(own_database: Database, grown: Grown) -> None:
    read = metrics.REGISTRY.get_sample_value
    now = set_clock(year=2028, month=5, day=22)
    await queue.measure_partitions(own_database)
    missing, strays = read("builders_partitions_missing"), read("builders_partition_default_rows")
    await partitions.rotate_partitions(grown.conn)
    await grown.write(1, now - timedelta(days=60))
    await queue.measure_partitions(own_database)
    assert (missing or 0) - (read("builders_partitions_missing") or 0) == 2
    assert (read("builders_partition_default_rows") or 0) - (strays or 0) == 1
