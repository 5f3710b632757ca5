"""What `builders doctor` says of the nodes."""

from collections.abc import Callable, Mapping
from datetime import timedelta

import psycopg
import pytest

from builders.cli import node_checks
from builders.kit.db import distribution
from builders.kit.process.settings import Settings
from builders.kit.values import clock
from tests.citus import cluster
from tests.citus.cluster import LIMITS

Check = Callable[[], Mapping[str, tuple[bool, str]]]


def limit_roles(admin: psycopg.Connection) -> None:
    """Do what `distribute` has left: not by it, since it refuses beside the service of the tests."""
    for step in distribution.plan(admin, LIMITS):
        for statement in step:
            admin.execute(statement.encode())


@pytest.fixture
def check(settings: Settings, admin: psycopg.Connection) -> Check:
    """Return a function that returns what the findings say, by check; other tests may have created a role."""
    limit_roles(admin)
    return lambda: {each.check: (each.ok, each.detail) for each in node_checks.run_checks(settings)}


def test_a_distributed_database_is_fine(check: Check) -> None:
    found = check()
    assert list(found) == ["tables", "prepared transactions", "shards", "time limits"]
    assert all(ok for ok, _ in found.values()), found
    assert "tables are distributed, " in found["tables"][1]
    assert "2 nodes have shards" in found["shards"][1]


def test_a_table_that_is_not_distributed_is_named(admin: psycopg.Connection, check: Check) -> None:
    admin.execute("CREATE TABLE mail_left_out (account_id uuid PRIMARY KEY)")
    found = check()
    admin.execute("DROP TABLE mail_left_out")
    assert found["tables"] == (False, "Not distributed: mail_left_out.")


def test_a_node_without_time_limits_is_named(url: str, admin: psycopg.Connection, check: Check) -> None:
    host, port = cluster.list_nodes(url)[1]
    with psycopg.connect(cluster.on_node(url, (host, port), dbname=admin.info.dbname), autocommit=True) as node:
        reset = f"ALTER ROLE {admin.info.user} IN DATABASE {admin.info.dbname} RESET lock_timeout"
        node.execute("SET citus.enable_ddl_propagation = off")
        node.execute(reset.encode())
    found = check()["time limits"]
    limit_roles(admin)
    assert found == (False, f"No time limits: {admin.info.user} on {host}:{port}.")
    assert check()["time limits"][0]


def test_a_role_that_is_older_than_the_database_gets_time_limits(
    url: str, admin: psycopg.Connection, check: Check
) -> None:
    with psycopg.connect(url, autocommit=True) as other:
        other.execute("CREATE ROLE reader")
    try:
        admin.execute("GRANT SELECT ON projects TO reader")
        assert "reader on " in check()["time limits"][1]
        limit_roles(admin)
        assert check()["time limits"][0]
    finally:
        for node in cluster.list_nodes(url):
            with psycopg.connect(cluster.on_node(url, node, dbname=admin.info.dbname), autocommit=True) as conn:
                conn.execute("SET citus.enable_ddl_propagation = off")
                conn.execute("DROP OWNED BY reader")
                conn.execute("DROP ROLE reader")


def test_an_old_prepared_transaction_is_reported(url: str, admin: psycopg.Connection, check: Check) -> None:
    node = cluster.on_node(url, cluster.list_nodes(url)[2], dbname=admin.info.dbname)
    with psycopg.connect(node, autocommit=True) as conn:
        conn.execute("BEGIN")
        conn.execute("SELECT pg_current_xact_id()")
        conn.execute("PREPARE TRANSACTION 'by hand'")
        assert check()["prepared transactions"][0]
        with clock.moved(timedelta(seconds=90)):
            found = check()
        conn.execute("ROLLBACK PREPARED 'by hand'")
    assert not found["prepared transactions"][0]
    assert "max_prepared_transactions: " in found["prepared transactions"][1]


def test_uneven_shards_are_to_be_moved() -> None:
    shares = [distribution.Share(name=name, size=size, largest=1) for name, size in (("a:1", 4), ("b:1", 1))]
    large = [distribution.Share(name=each.name, size=each.size * 2**30, largest=2**29) for each in shares]
    [even], [uneven] = (list(node_checks.check_shares(each)) for each in (shares, large))
    assert even.next_action is None
    assert uneven.next_action == "Move shards: SELECT citus_rebalance_start();"
    assert uneven.detail == "a:1 has 80% of 5120 MB, and its largest shard 10%; 2 nodes have shards."
