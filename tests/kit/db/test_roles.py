"""The roles of the processes, as PostgreSQL sees them: they have what their statements need, and nothing else."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import psycopg
import pytest
from annotated_types import Ge

from builders.kit.db import migrations, partitions, rights, roles
from builders.kit.db.rights import HTTP, LOOKUP, OPERATOR, ROLES, WORKER
from builders.kit.process.settings import Settings
from tests.cli.databases import Roles, database_with_roles, own_database

# All that a role may do with each table, view, column, sequence and function of the service, also by PUBLIC.
ABLE = """
    WITH parts AS (
        SELECT pg_class.oid, relname::text AS name, relkind FROM pg_class
        WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p', 'v', 'S')
    ), privileges AS (
        SELECT unnest('{SELECT, INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER}'::text[]) AS privilege
    ), tables AS (
        SELECT name, privilege FROM parts, privileges
        WHERE relkind <> 'S' AND has_table_privilege(%(role)s, oid, privilege)
    )
    SELECT name, privilege, '' FROM tables
    UNION ALL
    SELECT name, privilege, attname::text FROM parts
    JOIN pg_attribute ON attrelid = parts.oid AND attnum > 0 AND NOT attisdropped,
        unnest('{SELECT, INSERT, UPDATE, REFERENCES}'::text[]) AS privilege
    WHERE relkind <> 'S' AND has_column_privilege(%(role)s, parts.oid, attnum, privilege)
        AND (name, privilege) NOT IN (SELECT name, privilege FROM tables)
    UNION ALL
    SELECT name, privilege, '' FROM parts, unnest('{USAGE, UPDATE}'::text[]) AS privilege
    WHERE relkind = 'S' AND has_sequence_privilege(%(role)s, oid, privilege)
    UNION ALL
    SELECT proname::text, 'EXECUTE', '' FROM pg_proc
    WHERE pronamespace = 'public'::regnamespace AND proname ~ '^(kit|identity|invoices|exports)_'
        AND (prosecdef OR provolatile = 'v') AND has_function_privilege(%(role)s, oid, 'EXECUTE')
"""
MONTH = timedelta(days=31)


@pytest.fixture(scope="module")
def prepared(server: str) -> Iterator[Roles]:
    with database_with_roles(server) as found:
        yield found


@pytest.mark.parametrize("process", [HTTP, WORKER, OPERATOR, LOOKUP])
def test_a_role_may_do_what_is_generated_and_nothing_else(prepared: Roles, process: str) -> None:
    with psycopg.connect(prepared.admin) as conn:
        able = {rights.Right(*row) for row in conn.execute(ABLE, {"role": ROLES[process]}).fetchall()}
    both = {*rights.load()[process], *(rights.load()[LOOKUP] if process == HTTP else ())}
    assert able == both


@pytest.mark.parametrize("process", [HTTP, WORKER, OPERATOR, LOOKUP])
@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TABLE stolen (id int)",
        "CREATE FUNCTION public.kit_now2() RETURNS int LANGUAGE sql RETURN 1",
        "CREATE OR REPLACE FUNCTION kit_now() RETURNS timestamptz LANGUAGE sql STABLE RETURN 'infinity'",
        "DROP TABLE projects",
        "TRUNCATE identity_audit",
        "ALTER TABLE projects ADD COLUMN stolen int",
        "UPDATE identity_audit SET action = ''",
        "DELETE FROM identity_audit",
        "DELETE FROM identity_audit_default",
        "DELETE FROM invoices_invoices",
        "UPDATE invoices_invoices SET total = 0",
        "UPDATE invoices_invoices SET is_test = true",
        "UPDATE invoices_lines SET amount = 0",
        "DELETE FROM invoices_payments",
        "UPDATE portfolio_ledger_entries SET amount = 0",
        "UPDATE identity_accounts SET sandbox_of = NULL",
        "DELETE FROM portfolio_ledger_entries",
        "UPDATE kit_partitioned SET days = 1",
        "INSERT INTO kit_migrations VALUES ('', '', now())",
    ],
)
def test_postgresql_refuses_what_no_process_does(prepared: Roles, process: str, statement: str) -> None:
    with psycopg.connect(prepared.of(process)) as conn, pytest.raises(psycopg.errors.InsufficientPrivilege):
        conn.execute(statement.encode())


@pytest.mark.parametrize("process", [HTTP, OPERATOR, LOOKUP])
@pytest.mark.parametrize("statement", [partitions.MAKE, partitions.DROP])
def test_only_the_worker_calls_the_functions_of_partitions(prepared: Roles, process: str, statement: str) -> None:
    now = datetime.now(UTC)
    with psycopg.connect(prepared.of(process)) as conn, pytest.raises(psycopg.errors.InsufficientPrivilege):
        conn.execute(statement.encode(), {"table": "kit_outbox", "now": now, "oldest": now})


@pytest.fixture
def worker(prepared: Roles) -> Iterator[psycopg.Connection]:
    """Return a connection with the role of the worker."""
    with psycopg.connect(prepared.of(WORKER), autocommit=True) as conn:
        yield conn


def drop(conn: psycopg.Connection, table: str, oldest: datetime) -> list[str]:
    rows = conn.execute(partitions.DROP, {"table": table, "oldest": oldest}).fetchall()
    return [name for (name,) in rows]


@pytest.mark.parametrize("table", ["projects", "kit_outbox_default", "pg_class", "absent"])
def test_the_worker_drops_months_of_declared_tables_alone(worker: psycopg.Connection, table: str) -> None:
    with pytest.raises(psycopg.errors.InsufficientPrivilege, match="has no partitions of months"):
        drop(worker, table, datetime(2020, 1, 1, tzinfo=UTC))


@pytest.mark.parametrize("far", [timedelta(hours=2), -2 * MONTH, None], ids=["ahead", "past", "never"])
def test_the_worker_makes_no_month_that_has_not_come_or_is_past(
    worker: psycopg.Connection, far: timedelta | None
) -> None:
    moment = far and datetime.now(UTC) + far
    with pytest.raises(psycopg.errors.InsufficientPrivilege, match="has not come, or is past"):
        worker.execute(partitions.MAKE, {"table": "kit_outbox", "now": moment})


def test_the_worker_drops_nothing_within_the_retention(worker: psycopg.Connection) -> None:
    """Neither a month nor a row of the default partition; a setting keeps rows longer."""
    now = datetime.now(UTC)
    with pytest.raises(psycopg.errors.InsufficientPrivilege, match="has not come"):
        drop(worker, "kit_outbox", now - timedelta(days=90) + timedelta(hours=2))
    assert drop(worker, "kit_outbox", now - timedelta(days=90)) == []
    assert drop(worker, "tracking_hits", now - timedelta(days=3650)) == []


def test_the_worker_drops_a_month_as_soon_as_it_is_old(prepared: Roles, worker: psycopg.Connection) -> None:
    now = datetime.now(UTC)
    with psycopg.connect(prepared.owner, autocommit=True) as owner:
        owner.execute(partitions.MAKE, {"table": "mail_messages", "now": now - 12 * MONTH})
    dropped = drop(worker, "mail_messages", now - 6 * MONTH)
    assert len(dropped) == 3
    assert all(name.startswith("mail_messages_20") for name in dropped)


def test_a_temporary_table_takes_the_place_of_none_in_the_functions(worker: psycopg.Connection) -> None:
    with worker.transaction(force_rollback=True):
        worker.execute("CREATE TEMPORARY TABLE kit_partitioned (name text, days int)")
        worker.execute("INSERT INTO kit_partitioned VALUES ('projects', 1)")
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match="has no partitions of months"):
            drop(worker, "projects", datetime(2020, 1, 1, tzinfo=UTC))


def test_each_declared_table_has_its_retention_in_the_database(prepared: Roles) -> None:
    with psycopg.connect(prepared.owner) as conn:
        stored: dict[str, int] = dict(conn.execute("SELECT name, days FROM kit_partitioned").fetchall())
    assert stored == {
        name: each.retention.days if each.setting is None else least_of(each.setting)
        for name, each in partitions.tables().items()
    }


def least_of(setting: str) -> int:
    (least,) = (each.ge for each in Settings.model_fields[setting].metadata if isinstance(each, Ge))
    assert isinstance(least, int)
    return least


def test_a_setting_keeps_rows_as_long_as_its_table_says_by_default() -> None:
    found = {each.setting: each.retention.days for each in partitions.tables().values() if each.setting}
    assert found == {name: Settings.model_fields[name].default for name in found}
    assert {"tracking_days", "mail_days", "attempts_days", "audit_days"} == found.keys()


@pytest.mark.parametrize("name", ["mail_days", "attempts_days", "audit_days"])
def test_the_worker_keeps_and_drops_months_by_the_setting(
    prepared: Roles, worker: psycopg.Connection, name: str
) -> None:
    (table,) = (table for table, each in partitions.tables().items() if each.setting == name)
    now, least = datetime.now(UTC), timedelta(days=least_of(name))
    with psycopg.connect(prepared.owner, autocommit=True) as owner:
        owner.execute(partitions.MAKE, {"table": table, "now": now - 8 * MONTH})
    assert drop(worker, table, now - 12 * MONTH) == []
    assert len(drop(worker, table, now - least)) == 3
    with pytest.raises(psycopg.errors.InsufficientPrivilege, match="has not come"):
        drop(worker, table, now - least + timedelta(days=1))


def test_a_second_run_changes_nothing_and_a_surplus_right_is_revoked(prepared: Roles) -> None:
    with psycopg.connect(prepared.owner, autocommit=True) as conn:
        assert roles.grant(conn) == []
        conn.execute("GRANT TRUNCATE, DELETE ON identity_audit TO builders_worker")
        conn.execute("GRANT UPDATE (total) ON invoices_invoices TO builders_http")
        assert roles.grant(conn) == [
            'REVOKE UPDATE ("total") ON TABLE "invoices_invoices" FROM "builders_http"',
            'REVOKE DELETE, TRUNCATE ON TABLE "identity_audit" FROM "builders_worker"',
        ]


def test_a_migration_renews_the_rights_where_the_roles_have_some(prepared: Roles) -> None:
    with psycopg.connect(prepared.owner, autocommit=True) as conn:
        conn.execute("REVOKE ALL ON projects FROM builders_http")
        roles.renew(prepared.owner)
        assert roles.grant(conn) == []


def test_a_migration_grants_nothing_in_a_database_without_roles_of_processes(server: str) -> None:
    with own_database(server) as admin:
        migrations.migrate(admin)
        roles.renew(admin)
        with psycopg.connect(admin) as conn:
            assert conn.execute(roles.HELD, [[*ROLES.values()]]).fetchall() == []


def test_a_role_without_the_rights_of_the_owner_grants_nothing(prepared: Roles) -> None:
    refused = pytest.raises(rights.RightMissing, match="lacks the rights of owner_")
    with psycopg.connect(prepared.of(HTTP), autocommit=True) as conn, refused:
        roles.grant(conn)


def test_an_owner_who_may_not_create_roles_reads_what_an_administrator_does(prepared: Roles) -> None:
    prepared.execute("REVOKE builders_lookup FROM builders_http")
    with psycopg.connect(prepared.owner, autocommit=True) as conn, pytest.raises(rights.RightMissing) as raised:
        roles.grant(conn)
    prepared.execute("GRANT builders_lookup TO builders_http")
    assert (
        'administrator of the database server: GRANT "builders_lookup" TO "builders_http".'
        in raised.value.next_action
    )
