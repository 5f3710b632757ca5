"""Monthly partitions of append-only tables: create future ones and drop expired ones.

Each partitioned table has a default partition, so that an insert never fails because a month's partition is
missing.
"""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from psycopg import sql

from builders.kit.db.connections import Conn
from builders.kit.process import log
from builders.kit.process.settings import Settings
from builders.kit.values import clock

MONTHS_AHEAD = 2  # months

LIST = """
    SELECT child.relname FROM pg_inherits JOIN pg_class child ON child.oid = inhrelid
    WHERE inhparent = to_regclass(%(table)s) ORDER BY child.relname
"""
LOCK = "SELECT pg_advisory_xact_lock(hashtextextended(%(table)s, 0))"

_PARTITION_NAME = re.compile(r".+_(\d{4})_(\d{2})")
_log = log.get_logger()


@dataclass(frozen=True, slots=True)
class PartitionedTable:
    """A table partitioned by month on its column `created_at`."""

    retention: timedelta
    setting: str | None  # name of a setting in days that overrides `retention`


_tables: dict[str, PartitionedTable] = {}


def declare(table: str, *, retention: timedelta, setting: str | None = None) -> None:
    """Register a partitioned table whose rows expire after `retention`, or after the days of the setting."""
    _tables[table] = PartitionedTable(retention, setting)


async def rotate_partitions(conn: Conn, settings: Settings | None = None) -> None:
    """Create future partitions and drop expired ones of all declared tables, in one transaction per table."""
    now = clock.now()
    for table, declared in list(_tables.items()):
        oldest = now - declared.retention
        if settings is not None and declared.setting is not None:
            oldest = now - timedelta(days=getattr(settings, declared.setting))
        async with conn.transaction():
            # Concurrent processes would both create the partition.
            await conn.execute(LOCK, {"table": table})
            existing = {name for (name,) in await (await conn.execute(LIST, {"table": table})).fetchall()}
            month = _month_of(now)
            for _ in range(MONTHS_AHEAD + 1):
                if f"{table}_{month:%Y_%m}" not in existing:
                    await _create_partition(conn, table, month)
                month = _next_month(month)
            default = sql.Identifier(f"{table}_default")
            await conn.execute(sql.SQL("DELETE FROM {} WHERE created_at < %s").format(default), [oldest])
            for name in sorted(existing):
                found = _PARTITION_NAME.fullmatch(name)  # None for the default one
                if found and _next_month(datetime(int(found[1]), int(found[2]), 1, tzinfo=UTC)) <= oldest:
                    await conn.execute(sql.SQL("DROP TABLE {}").format(sql.Identifier(name)))
                    _log.info("partition_dropped", partition=name)


async def _create_partition(conn: Conn, table: str, month: datetime) -> None:
    """Create the month's partition and move its rows from the default partition."""
    names = {
        "table": sql.Identifier(table),
        "default": sql.Identifier(f"{table}_default"),
        "name": sql.Identifier(f"{table}_{month:%Y_%m}"),
        "start": sql.Literal(month),
        "end": sql.Literal(_next_month(month)),
    }
    # A concurrent insert of the month would fail: it is routed to the default partition, which excludes the month.
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


def _month_of(moment: datetime) -> datetime:
    return datetime(moment.year, moment.month, 1, tzinfo=UTC)


def _next_month(month: datetime) -> datetime:
    return _month_of(month + timedelta(days=32))
