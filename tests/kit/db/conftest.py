from collections.abc import Iterator

import psycopg
import pytest


@pytest.fixture
def fresh(empty: str) -> Iterator[str]:
    """Yield an empty database."""
    yield empty
    with psycopg.connect(empty, autocommit=True) as conn:
        conn.execute("DROP SCHEMA public CASCADE")
        conn.execute("CREATE SCHEMA public")
