"""Rows that a new column or a stricter constraint needs filled: in batches, as a job (decision 0064).

The header of the file that needs them declares them (`kit/db/migration_files.py`).
"""

from dataclasses import asdict
from typing import Any

import psycopg
from psycopg import sql

from builders.kit.db.connections import Conn
from builders.kit.db.migration_files import Backfill, MigrationError

BATCH = 500  # rows of a transaction, for which the writers of these rows wait


def require_filled(conn: psycopg.Connection, migration: str, backfill: Backfill) -> None:
    """Raise MigrationError while rows are left."""
    parts = _compose(backfill)
    found = conn.execute(sql.SQL("SELECT EXISTS (SELECT FROM {table} WHERE {rows})").format(**parts)).fetchone()
    if found == (True,):
        reason = f"{migration} waits: rows of {backfill.table} are not filled yet."
        raise MigrationError(reason, "Let the worker run, and run `builders migrate --after` again.")


async def fill(conn: Conn, backfill: Backfill, *, batch: int = BATCH) -> bool:
    """Fill a batch; return whether there may be more rows."""
    # The condition again: a row may have changed since the batch was read. After WHERE it would make PostgreSQL
    # read all rows to fill for each batch, because it knows little of a new column.
    changed = await conn.execute(
        sql.SQL(
            "UPDATE {table} SET {column} = CASE WHEN {rows} THEN {value} ELSE {column} END "
            "WHERE ({key}) IN (SELECT {key} FROM {table} WHERE {rows} ORDER BY {key} LIMIT %(batch)s)"
        ).format(**_compose(backfill)),
        {"batch": batch},
    )
    return changed.rowcount >= batch


def _compose(backfill: Backfill) -> dict[str, sql.Composable]:
    parts: dict[str, Any] = asdict(backfill)
    names = {name: sql.Identifier(parts[name]) for name in ("table", "column")}
    return {**names, **{name: sql.SQL(parts[name]) for name in ("rows", "key", "value")}}
