"""Tables that only grow are split by month: partitions are made ahead, and dropped when they are old.

Each such table also has a default partition, so that a write never fails for want of a month.
"""

import re
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from psycopg import sql

from builders.kit.db.connections import Conn
from builders.kit.process import log
from builders.kit.process.settings import Settings
from builders.kit.values import clock

AHEAD = 2  # months

LIST = """
    SELECT child.relname FROM pg_inherits JOIN pg_class child ON child.oid = inhrelid
    WHERE inhparent = to_regclass(%(table)s) ORDER BY child.relname
"""
LOCK = "SELECT pg_advisory_xact_lock(hashtextextended(%(table)s, 0))"

_OURS = re.compile(r".+_(\d{4})_(\d{2})")
_log = log.get_logger()


@dataclass(frozen=True, slots=True, kw_only=True)
class Partitioned:
    """A table split by month on its column `created_at`."""

    table: str
    kept: timedelta
    setting: str | None = None  # that says in days how long, where settings are at hand


_tables: dict[str, Partitioned] = {}


def declare(table: str, *, kept: timedelta, setting: str | None = None) -> Partitioned:
    """Registers a partitioned table, whose rows may go after `kept`, or after the days that a setting says."""
    declared = _tables[table] = Partitioned(table=table, kept=kept, setting=setting)
    return declared


async def turn(conn: Conn, settings: Settings | None = None) -> None:
    """Makes the months ahead of every declared table and drops those that are over, each in a transaction."""
    for declared in list(_tables.values()):
        each = declared
        if settings is not None and declared.setting is not None:
            each = replace(declared, kept=timedelta(days=getattr(settings, declared.setting)))
        async with conn.transaction():
            # Two at once would both make the month.
            await conn.execute(LOCK, {"table": each.table})
            await _turn_table(conn, each)


async def _turn_table(conn: Conn, partitioned: Partitioned) -> None:
    now, table = clock.now(), partitioned.table
    there = {name for (name,) in await (await conn.execute(LIST, {"table": table})).fetchall()}
    month = _month(now)
    for _ in range(AHEAD + 1):
        if f"{table}_{month:%Y_%m}" not in there:
            await _make(conn, table, month)
        month = _next(month)
    oldest = now - partitioned.kept
    default = sql.Identifier(f"{table}_default")
    await conn.execute(sql.SQL("DELETE FROM {} WHERE created_at < %s").format(default), [oldest])
    for name in sorted(there):
        start = _start(name)
        if start is not None and _next(start) <= oldest:
            await conn.execute(sql.SQL("DROP TABLE {}").format(sql.Identifier(name)))
            _log.info("partition_dropped", partition=name)


async def _make(conn: Conn, table: str, month: datetime) -> None:
    """A partition for the month, with those rows of it that the default one had to catch."""
    names = {
        "table": sql.Identifier(table),
        "default": sql.Identifier(f"{table}_default"),
        "name": sql.Identifier(f"{table}_{month:%Y_%m}"),
        "start": sql.Literal(month),
        "end": sql.Literal(_next(month)),
    }
    # The whole table, for an instant: a row on its way to the default one would find that it no longer fits there.
    await conn.execute(sql.SQL("LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE").format(**names))
    await conn.execute(
        sql.SQL("CREATE TABLE {name} (LIKE {table} INCLUDING DEFAULTS INCLUDING CONSTRAINTS)").format(**names)
    )
    await conn.execute(
        sql.SQL(
            "WITH moved AS (DELETE FROM {default} WHERE created_at >= {start} AND created_at < {end} RETURNING *) "
            "INSERT INTO {name} SELECT * FROM moved"
        ).format(**names)
    )
    await conn.execute(
        sql.SQL("ALTER TABLE {table} ATTACH PARTITION {name} FOR VALUES FROM ({start}) TO ({end})").format(**names)
    )


def _month(moment: datetime) -> datetime:
    return datetime(moment.year, moment.month, 1, tzinfo=UTC)


def _next(month: datetime) -> datetime:
    return _month(month + timedelta(days=32))


def _start(name: str) -> datetime | None:
    """The month of one of our partitions; None for another one, as the default."""
    found = _OURS.fullmatch(name)
    return datetime(int(found[1]), int(found[2]), 1, tzinfo=UTC) if found else None
