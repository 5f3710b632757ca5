"""Separate databases, for tests that would disturb others."""

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg import sql
from psycopg.conninfo import make_conninfo

from builders.kit.values import ids


@contextmanager
def own_database(server: str) -> Iterator[str]:
    """Create an empty database on the server, and drop it afterwards."""
    name = sql.Identifier(f"test_{ids.new().hex}")
    with psycopg.connect(server, autocommit=True) as conn:
        conn.execute(sql.SQL("CREATE DATABASE {}").format(name))
    yield make_conninfo(server, dbname=name.as_string().strip('"'))
    with psycopg.connect(server, autocommit=True) as conn:
        conn.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(name))
