"""Monthly partitions of append-only tables: future ones are created and expired ones dropped.

Each partitioned table has a default partition, so that an insert never fails because a month's partition is
missing. Functions of the owner do both (`migrations/0001_kit.sql`), which bound what a role without its rights can
drop (decision 0067).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from psycopg import sql

from builders.kit.db.connections import Conn
from builders.kit.process import log
from builders.kit.process.settings import Settings
from builders.kit.values import clock

SOON = timedelta(days=10)  # within which a month must have its partitions
MAX_STRAYS = 10_000  # that are counted

MAKE = "SELECT kit_make_partitions(%(table)s, %(now)s)"
DROP = "SELECT kit_drop_partitions(%(table)s, %(oldest)s)"
# The partitions of each table.
LIST = """
    SELECT name, array_agg(child.relname::text) FROM kit_partitioned
    JOIN pg_inherits ON inhparent = to_regclass(name) JOIN pg_class AS child ON child.oid = inhrelid GROUP BY name
"""

_log = log.get_logger()


@dataclass(frozen=True, slots=True)
class PartitionedTable:
    """A table partitioned by month on its column `created_at`."""

    retention: timedelta
    setting: str | None  # name of a setting in days that overrides `retention`


@dataclass(frozen=True, slots=True, kw_only=True)
class Months:
    """What the partitions of all tables lack."""

    missing: list[str]  # partitions of this month, or of one that begins soon
    strays: Mapping[str, int]  # rows in default partitions by table, at most MAX_STRAYS each


_tables: dict[str, PartitionedTable] = {}


def declare(table: str, *, retention: timedelta, setting: str | None = None) -> None:
    """Register a partitioned table whose rows expire after `retention`, or after the days of the setting.

    The row of the table in kit_partitioned has the same days, or the least of the setting.
    """
    _tables[table] = PartitionedTable(retention, setting)


def tables() -> Mapping[str, PartitionedTable]:
    """Return the declared tables."""
    return _tables


async def rotate_partitions(conn: Conn, settings: Settings | None = None) -> None:
    """Create future partitions and drop expired ones of all declared tables, in two transactions per table."""
    now = clock.now()
    for table, declared in list(_tables.items()):
        oldest = now - declared.retention
        if settings is not None and declared.setting is not None:
            oldest = now - timedelta(days=getattr(settings, declared.setting))
        await conn.execute(MAKE, {"table": table, "now": now})
        for (name,) in await (await conn.execute(DROP, {"table": table, "oldest": oldest})).fetchall():
            _log.info("partition_dropped", partition=name)


async def read_months(conn: Conn) -> Months:
    """Return what is missing, and what is in default partitions."""
    present: dict[str, list[str]] = dict(await (await conn.execute(LIST)).fetchall())
    now = clock.now()
    wanted = (f"{table}_{moment:%Y_%m}" for moment in (now, now + SOON) for table in present)
    counts = sql.SQL(" UNION ALL ").join(
        [
            sql.SQL("SELECT {name}, count(*) FROM (SELECT FROM {default} LIMIT {most}) AS strays").format(
                name=sql.Literal(table), default=sql.Identifier(f"{table}_default"), most=MAX_STRAYS
            )
            for table in present
        ]
    )
    strays: dict[str, int] = dict(await (await conn.execute(counts)).fetchall()) if present else {}
    known = {name for names in present.values() for name in names}
    return Months(
        missing=sorted({*wanted} - known), strays={name: count for name, count in strays.items() if count}
    )
