"""Rows that are deleted when they are old: each table declares its age and for how long its rows stay.

    old_rows.declare("identity_sessions", key="account_id, id", age="expires_at", after=timedelta(days=90))

One job deletes them, a batch in each transaction.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import partial
from typing import LiteralString

import psycopg
from psycopg import sql

from builders.kit.db import batches
from builders.kit.db.connections import Conn, Database
from builders.kit.errors import DatabaseBusy
from builders.kit.process import log
from builders.kit.values import clock

BATCH = 5_000  # rows of one statement, which takes less than a second

STATEMENTS: dict[str, sql.Composed] = {}
_declared: dict[str, "_Declared"] = {}
_log = log.get_logger()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Declared:
    after: timedelta | int
    age: str
    only: str
    batch: int


def declare(
    table: LiteralString,
    *,
    key: LiteralString,
    age: LiteralString,
    after: timedelta | int,
    only: LiteralString = "true",
    batch: int = BATCH,
) -> None:
    """Let rows of a table be deleted when their age, a time or a day, is before `after`, which is then days.

    `key` is the primary key; `age` is in an index. Rows without an age stay, as do those that are not `only`. A
    table can be declared for several of these conditions. Declare a smaller batch where a row has many others that
    are deleted with it.
    """
    name = table if only == "true" else f"{table}, {only}"
    # The condition again: a row may have changed since the batch was read.
    STATEMENTS[name] = sql.SQL("""
        DELETE FROM {table} WHERE {old} AND ({key}) IN (SELECT {key} FROM {table} WHERE {old} LIMIT %(batch)s)
    """).format(table=sql.Identifier(table), key=sql.SQL(key), old=sql.SQL(f"{age} < %(before)s AND {only}"))
    _declared[name] = _Declared(after=after, age=age, only=only, batch=batch)


async def delete(database: Database, *tables: str) -> None:
    """Delete the old rows of these tables, or of all that are declared. Raise the errors of tables at the end."""
    names = [name for name in STATEMENTS if not tables or name.partition(",")[0] in tables]
    errors = [error for name in names if (error := await _delete_of(database, name)) is not None]
    if errors:
        raise ExceptionGroup("Old rows stay.", errors)


def describe(table: str) -> Sequence[str]:
    """Return how long rows of a table stay: a text for each declaration."""
    found = [each for name, each in _declared.items() if name.partition(",")[0] == table]
    return [
        f"{_words(each.after if isinstance(each.after, timedelta) else timedelta(days=each.after))} `{each.age}`"
        + ("" if each.only == "true" else f" if `{each.only}`")
        for each in found
    ]


def _words(after: timedelta) -> str:
    hours, minutes = divmod(after.seconds // 60, 60)
    parts = ((after.days, "day"), (hours, "hour"), (minutes, "minute"))
    return (
        " ".join([*(f"{number} {unit}{'s' * (number > 1)}" for number, unit in parts if number), "after"])
        if after
        else "until"
    )


def oldest(name: str) -> datetime | date:
    """Return the time, or the day, before which rows of a declaration are old."""
    now, after = clock.now(), _declared[name].after
    return now.date() - timedelta(days=after) if isinstance(after, int) else now - after


async def _delete_of(database: Database, name: str) -> Exception | None:
    size = _declared[name].batch
    batch = {"before": oldest(name), "batch": size}
    try:
        await batches.repeat(database, partial(_delete_batch, name=name, batch=batch), size=size)
    except (psycopg.Error, DatabaseBusy) as error:
        _log.exception("old_rows_kept", rows=name)
        return error
    return None


async def _delete_batch(conn: Conn, *, name: str, batch: dict[str, object]) -> int:
    return (await conn.execute(STATEMENTS[name], batch)).rowcount
