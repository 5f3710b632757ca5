"""What a role may do on each node, and which state a report reads while rows are written."""

import psycopg
import pytest

from builders.aliases.lookups import TABLE
from builders.forwarding import role
from builders.forwarding.recipients import Recipients
from builders.kit.db.connections import Database
from builders.portfolio.registrars import reconcile
from builders.portfolio.registrars.findings import Filters
from builders.portfolio.registrars.reconcile import START
from builders.portfolio.registrars.store import reconcile as store
from tests.cast import Person
from tests.citus import cluster
from tests.portfolio.registrars.reconcile_make import connect, hold, named, own, report

READS = "SELECT FROM {} LIMIT 1"
# Of each placement: by account, by another column, copied, on the coordinator.
TABLES = ("projects", "identity_keys", "aliases", "aliases_names", "identity_accounts", "profile_tokens")
READABLE = """
    SELECT relname FROM pg_class
    WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p')
      AND has_table_privilege(%s, oid, 'SELECT, INSERT, UPDATE, DELETE, TRUNCATE')
"""


@pytest.mark.parametrize("table", TABLES)
async def test_the_role_of_the_look_up_server_reads_no_other_table(
    recipients: Recipients, conninfo: str, table: str
) -> None:
    assert recipients  # which created the role
    with psycopg.connect(conninfo, options=f"-c role={role.NAME}", autocommit=True) as conn:
        conn.execute(READS.format(TABLE).encode())
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            conn.execute(READS.format(table).encode())


async def test_the_role_of_the_look_up_server_writes_nothing(recipients: Recipients, conninfo: str) -> None:
    assert recipients
    with psycopg.connect(conninfo, options=f"-c role={role.NAME}", autocommit=True) as conn:
        for action in ("DELETE FROM", "TRUNCATE"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                conn.execute(f"{action} {TABLE}".encode())


async def test_the_role_of_the_look_up_server_may_use_its_shards_alone_on_each_node(
    recipients: Recipients, url: str, admin: psycopg.Connection
) -> None:
    assert recipients
    for node in cluster.list_nodes(url):
        with psycopg.connect(cluster.on_node(url, node, dbname=admin.info.dbname)) as conn:
            conn.execute("SET citus.override_table_visibility = off")  # shards are hidden in the catalog
            found = {name for (name,) in conn.execute(READABLE, [role.NAME]).fetchall()}
        others = {name for name in found if not name.startswith((TABLE, "citus_", "pg_"))}
        assert (node, others) == (node, set())
        assert any(name.startswith(TABLE) for name in found)


async def test_reconcile_reads_one_state_during_a_sync(dana: Person, database: Database) -> None:
    connection, name = await connect(dana), "kept.com"
    await own(dana, name)
    await hold(dana, connection, name)
    filters = Filters()
    async with database.connection() as conn, conn.transaction():
        await store.begin(conn)
        context = await reconcile.read_context(
            conn, account_id=dana.account.id, filters=filters, shows_finance=True
        )
        async with database.transaction() as other:  # as the sync of the same connection
            await other.execute(
                "UPDATE portfolio_registrars_holdings SET locked = false WHERE account_id = %s", [dana.account.id]
            )
        _, _, found = await reconcile.compare(conn, context=context, filters=filters, after=START, limit=10)
    assert list(found) == []
    assert named(await report(dana)) == [("info", "lock_off", name)]
