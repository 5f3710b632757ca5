"""The cluster of BUILDERS_TEST_CITUS_URL, and databases of tests on all its nodes.

The URL names a database of the coordinator in which the nodes are registered, as an administrator of all nodes.
"""

import os
import shlex
import subprocess
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
from psycopg import sql
from psycopg.conninfo import make_conninfo

from builders.kit.db import distribution, migrations, sessions
from builders.kit.process.settings import Settings

URL = os.environ.get("BUILDERS_TEST_CITUS_URL")
# Runs with `kill`, `start`, `freeze` or `thaw`, and HOST:PORT of a node.
NODE_COMMAND = os.environ.get("BUILDERS_TEST_CITUS_NODE")
NODES = "SELECT nodename, nodeport, groupid FROM pg_dist_node WHERE noderole = 'primary' ORDER BY groupid"
PLACEMENT = """
    SELECT nodename, nodeport FROM pg_dist_shard_placement
    WHERE shardid = get_shard_id_for_distribution_column(%s, %s::text)
"""
SHARD = "SELECT %s || '_' || get_shard_id_for_distribution_column(%s, %s::text)"
LIMITS = sessions.parameters_of(Settings(data_dir=Path("unused")))


def list_nodes(url: str) -> list[tuple[str, int]]:
    """Return host and port of each node, the coordinator first."""
    with psycopg.connect(url, autocommit=True) as conn:
        return [(host, port) for host, port, _ in conn.execute(NODES).fetchall()]


def on_node(url: str, node: tuple[str, int], **more: str) -> str:
    """Return the conninfo of a node."""
    return make_conninfo(url, host=node[0], port=node[1], **more)


def change(action: str, node: tuple[str, int]) -> None:
    """Kill, start, freeze or thaw a node."""
    assert NODE_COMMAND is not None
    done = [*shlex.split(NODE_COMMAND), action, f"{node[0]}:{node[1]}"]
    subprocess.run(done, check=True, stdout=subprocess.DEVNULL, timeout=60)


@contextmanager
def empty_database(url: str) -> Iterator[str]:
    """Create a database on each node, in which the coordinator knows the nodes; drop it at the end."""
    name, nodes = f"test_{uuid.uuid4().hex[:12]}", list_nodes(url)
    for node in nodes:
        with psycopg.connect(on_node(url, node), autocommit=True) as conn:
            conn.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        with psycopg.connect(on_node(url, node, dbname=name), autocommit=True) as conn:
            conn.execute("CREATE EXTENSION citus")
    with psycopg.connect(make_conninfo(url, dbname=name), autocommit=True) as conn:
        conn.execute("SELECT citus_set_coordinator_host(%s, %s)", nodes[0])
        for node in nodes[1:]:
            conn.execute("SELECT citus_add_node(%s, %s)", node)
    try:
        yield make_conninfo(url, dbname=name)
    finally:
        for node in nodes:
            with psycopg.connect(on_node(url, node), autocommit=True) as conn:
                conn.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


def distribute(conninfo: str) -> int:
    """Run what `builders distribute` runs; return the number of steps."""
    with psycopg.connect(conninfo, autocommit=True) as conn:
        steps = distribution.plan(conn, LIMITS)
        distribution.distribute(conn, steps)
    return len(steps)


@contextmanager
def distributed_database(url: str) -> Iterator[str]:
    """Create a database with the distributed schema."""
    with empty_database(url) as conninfo:
        migrations.migrate(conninfo)
        distribute(conninfo)
        yield conninfo


def node_of(conn: psycopg.Connection, table: str, value: object) -> tuple[str, int]:
    """Return the node that has the rows with a value of the column by which the table is distributed."""
    [found] = conn.execute(PLACEMENT, [table, str(value)]).fetchall()
    return found[0], found[1]


def shard_of(conn: psycopg.Connection, table: str, value: object) -> str:
    """Return the table of that node with these rows."""
    [found] = conn.execute(SHARD, [table, table, str(value)]).fetchall()
    return str(found[0])
