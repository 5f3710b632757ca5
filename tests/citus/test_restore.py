"""A dump of a cluster, restored into another one by the steps of docs/how-to/outgrow-one-database.md."""

import asyncio
import os
import shutil
import subprocess
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

from builders.kit.db import distribution
from tests.cast import Person
from tests.citus import cluster

SECOND_URL = os.environ.get("BUILDERS_TEST_CITUS_SECOND_URL", cluster.URL)
COUNT = "SELECT count(*) FROM {}"


def count(conninfo: str) -> dict[str, int]:
    """Return the number of rows of each table."""
    with psycopg.connect(conninfo, autocommit=True) as conn:
        names = [each.name for each in distribution.read_tables(conn)]
        found = {name: conn.execute(sql.SQL(COUNT).format(sql.Identifier(name))).fetchone() for name in names}
    return {name: row[0] for name, row in found.items() if row is not None}


def restore(first: str, dump: Path) -> dict[str, int]:
    """Dump a database, and restore it into one that is distributed afterwards; return its numbers of rows."""
    assert SECOND_URL is not None
    subprocess.run(["pg_dump", "--format=custom", f"--file={dump}", first], check=True)
    words = ["pg_restore", "--no-owner", "--no-privileges", "--exit-on-error", "--single-transaction"]
    with cluster.empty_database(SECOND_URL) as second:
        subprocess.run([*words, "--dbname", second, str(dump)], check=True)
        assert cluster.distribute(second) > 100
        return count(second)


@pytest.mark.skipif(shutil.which("pg_restore") is None, reason="pg_dump and pg_restore are not installed")
async def test_a_dump_is_restored_and_distributed_again(
    alice: Person, bob: Person, conninfo: str, tmp_path: Path
) -> None:
    for person in (alice, bob):
        assert (await person.post("/v1/builders/projects", json={"name": "Lander"})).is_success
    before = count(conninfo)
    assert before["projects"] >= 2
    assert await asyncio.to_thread(restore, conninfo, tmp_path / "builders.dump") == before
