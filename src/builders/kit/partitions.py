"""Tables that only grow are split by month: partitions are made ahead, and dropped when they are old.

Each such table also has a default partition, so that a write never fails for want of a month.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from psycopg import sql

from builders.kit import clock, log
from builders.kit.db import Conn

AHEAD = 2  # months

LIST = """
    SELECT child.relname FROM pg_inherits JOIN pg_class child ON child.oid = inhrelid
    WHERE inhparent = to_regclass(%(table)s) ORDER BY child.relname
"""

_log = log.get_logger()


@dataclass(frozen=True, slots=True, kw_only=True)
class Partitioned:
    """A table split by month on its column `created_at`."""

    table: str
    kept: timedelta


_tables: dict[str, Partitioned] = {}


def declare(table: str, *, kept: timedelta) -> Partitioned:
    """Registers a partitioned table, whose rows may go after `kept`."""
    declared = _tables[table] = Partitioned(table=table, kept=kept)
    return declared


async def turn(conn: Conn) -> None:
    """Makes the months ahead of every declared table and drops those that are over."""
    for each in list(_tables.values()):
        await _turn_table(conn, each)


async def _turn_table(conn: Conn, partitioned: Partitioned) -> None:
    now = clock.now()
    table = partitioned.table
    there = {name for (name,) in await (await conn.execute(LIST, {"table": table})).fetchall()}
    month = _month(now)
    for _ in range(AHEAD + 1):
        name, following = f"{table}_{month:%Y_%m}", _next(month)
        if name not in there:
            await conn.execute(
                sql.SQL("CREATE TABLE {} PARTITION OF {} FOR VALUES FROM ({}) TO ({})").format(
                    sql.Identifier(name), sql.Identifier(table), sql.Literal(month), sql.Literal(following)
                )
            )
        month = following
    for name in sorted(there):
        if name.endswith("_default") or _next(_start(name)) > now - partitioned.kept:
            continue
        await conn.execute(sql.SQL("DROP TABLE {}").format(sql.Identifier(name)))
        _log.info("partition_dropped", partition=name)


def _month(moment: datetime) -> datetime:
    return datetime(moment.year, moment.month, 1, tzinfo=UTC)


def _next(month: datetime) -> datetime:
    return _month(month + timedelta(days=32))


def _start(name: str) -> datetime:
    year, month = name.rsplit("_", 2)[1:]
    return datetime(int(year), int(month), 1, tzinfo=UTC)
