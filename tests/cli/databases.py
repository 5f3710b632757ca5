"""Databases of a test's own, for what would disturb its neighbours in the common one."""

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg import sql
from psycopg.conninfo import make_conninfo

from builders.kit.values import ids


@contextmanager
def own_database(server: str) -> Iterator[str]:
    """The connection string of an empty database on the server, gone afterwards."""
    name = sql.Identifier(f"test_{ids.new().hex}")
    with psycopg.connect(server, autocommit=True) as conn:
        conn.execute(sql.SQL("CREATE DATABASE {}").format(name))
    yield make_conninfo(server, dbname=name.as_string().strip('"'))
    with psycopg.connect(server, autocommit=True) as conn:
        conn.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(name))
