"""Statements that run outside of a transaction, each of which can be run again: indexes that block nobody."""

import re
from collections.abc import Mapping
from typing import Any

import psycopg
from psycopg import sql

CREATE = re.compile(
    r"(?i)CREATE (?P<unique>UNIQUE )?INDEX CONCURRENTLY (?P<name>\w+)\s+ON (?P<table>\w+) (?P<columns>.+)",
    re.DOTALL,
)
BRIEF_LOCK = "SET lock_timeout = '500ms'"  # statements that wait behind the lock wait for this time
# For a lock that nobody waits behind; the server ends a statement whose process was killed.
NO_LIMIT = """
    SELECT set_config('lock_timeout', '0', false), set_config('statement_timeout', '0', false),
        set_config('client_connection_check_interval', '1s', false)
"""
IS_VALID = """
    SELECT indisvalid, indrelid = to_regclass(%(table)s) FROM pg_index WHERE indexrelid = to_regclass(%(name)s)
"""
IS_PARTITIONED = "SELECT relkind = 'p' FROM pg_class WHERE oid = to_regclass(%(table)s)"
LIST_PARTITIONS = """
    SELECT child.relname::text, EXISTS (
        SELECT FROM pg_index JOIN pg_inherits AS of_index ON of_index.inhrelid = indexrelid
        WHERE indrelid = child.oid AND of_index.inhparent = to_regclass(%(name)s)
    )
    FROM pg_inherits JOIN pg_class AS child ON child.oid = inhrelid
    WHERE inhparent = to_regclass(%(table)s) ORDER BY 1
"""


def run(conn: psycopg.Connection, statement: str) -> None:
    """Run a statement of a file without a transaction."""
    conn.execute(NO_LIMIT)
    found = CREATE.fullmatch(statement)
    if found is None:
        conn.execute(statement.encode())
        return
    parts = found.groupdict(default="")
    if conn.execute(IS_PARTITIONED, parts).fetchone() == (True,):
        _create_by_partition(conn, parts)
    else:
        _create(conn, parts)


def _create(conn: psycopg.Connection, parts: dict[str, str]) -> None:
    """Create the index unless it exists; first drop what an ended attempt has left."""
    found = conn.execute(IS_VALID, parts).fetchone()
    if found == (False, True):
        conn.execute(sql.SQL("DROP INDEX CONCURRENTLY {}").format(sql.Identifier(parts["name"])))
    if found != (True, True):
        conn.execute(
            sql.SQL("CREATE {unique} INDEX CONCURRENTLY {name} ON {table} {columns}").format(**_compose(parts))
        )


def _create_by_partition(conn: psycopg.Connection, parts: dict[str, str]) -> None:
    """Create the index of one partition after the other; that of the table is valid when it has all."""
    if conn.execute(IS_VALID, parts).fetchone() is None:
        conn.execute(BRIEF_LOCK)
        conn.execute(sql.SQL("CREATE {unique} INDEX {name} ON ONLY {table} {columns}").format(**_compose(parts)))
    for table, is_attached in conn.execute(LIST_PARTITIONS, parts).fetchall():
        if is_attached:
            continue
        part = parts["name"] + table.removeprefix(parts["table"])
        conn.execute(NO_LIMIT)
        _create(conn, {**parts, "table": table, "name": part})
        conn.execute(BRIEF_LOCK)
        names = map(sql.Identifier, (parts["name"], part))
        conn.execute(sql.SQL("ALTER INDEX {} ATTACH PARTITION {}").format(*names))


def _compose(parts: Mapping[str, Any]) -> dict[str, sql.Composable]:
    names = {key: sql.Identifier(parts[key]) for key in ("name", "table")}
    return {**names, **{key: sql.SQL(parts[key]) for key in ("unique", "columns")}}
