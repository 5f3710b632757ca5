"""SQL is in stores, PostgreSQL accepts it, and each package uses only its own tables."""

from collections.abc import Iterator

import psycopg
import pytest
from psycopg import sql

from builders.kit.db import placement
from tests.architecture import tenancy
from tests.architecture.source import Source, breaches, source
from tests.architecture.sql_exceptions import ALLOWED
from tests.architecture.statements import (
    MAY_SEND,
    Statement,
    any_account,
    foreign_declarations,
    foreign_tables,
    own_clock,
    rejected,
    repeated_locks,
    sql_without_constant,
    statements,
    stray_sql,
    strings,
    too_new,
)

QUERY = "from builders.kit.db.queries import query\n"


@pytest.fixture(scope="module")
def conn(conninfo: str) -> Iterator[psycopg.Connection]:
    """Return a connection to the migrated database."""
    with psycopg.connect(conninfo, autocommit=True) as connection:
        yield connection


@pytest.fixture(scope="module")
def tables(conn: psycopg.Connection) -> list[str]:
    """Return the names of all tables."""
    return [table.name for table in tenancy.read(conn)]


@pytest.fixture(scope="module")
def all_statements(codebase: list[Source]) -> list[Statement]:
    """Return every statement of the service."""
    return [statement for file in codebase for statement in statements(file)]


def sample(text: str, place: str = "builders/kit/store.py:SAMPLE") -> Statement:
    return Statement(place=place, text=text)


def test_sql_is_a_constant_of_a_store_or_of_the_kit(codebase: list[Source]) -> None:
    errors = breaches(stray_sql, codebase)
    assert not errors, "\n".join(errors)


def test_every_executed_statement_is_a_constant_of_a_store(codebase: list[Source]) -> None:
    errors = breaches(sql_without_constant, codebase)
    assert not errors, "\n".join(errors)


def test_every_allowed_statement_without_a_constant_is_sent(codebase: list[Source]) -> None:
    errors = {each.partition(": ")[0] for file in codebase for each in sql_without_constant(file, ())}
    assert sorted(MAY_SEND.keys() - errors) == []


def test_statements_are_found(all_statements: list[Statement]) -> None:
    packages = {statement.package for statement in all_statements}
    assert {"kit", "identity", "catalog", "aliases", "plans"} <= packages


def test_postgresql_accepts_every_statement(conn: psycopg.Connection, all_statements: list[Statement]) -> None:
    # Statements about the nodes of Citus, which tests/citus sends.
    sent = [each for each in all_statements if not each.place.startswith("builders/kit/db/distribution.py:")]
    errors = [breach for each in sent for breach in rejected(conn, each) if "IS_COORDINATOR" not in breach]
    assert not errors, "\n".join(errors)


def test_no_statement_reads_the_clock_of_the_database(all_statements: list[Statement]) -> None:
    # Processes whose clocks differ compare a lease.
    leases = {
        f"builders/kit/http/idempotency.py:{name}: asks the database for the time" for name in ("CLAIM", "RENEW")
    }
    errors = [breach for each in all_statements for breach in own_clock(each) if breach not in leases]
    assert not errors, "\n".join(errors)


def test_the_oldest_supported_server_reads_every_number(all_statements: list[Statement]) -> None:
    assert list(too_new(sample("SELECT 1_000"))) != []
    assert list(too_new(sample("SELECT 1000 FROM leads_2026_11, t_1"))) == []
    errors = [breach for each in all_statements for breach in too_new(each)]
    assert not errors, "\n".join(errors)


def test_a_sub_select_that_locks_rows_is_executed_once(all_statements: list[Statement]) -> None:
    repeated = "DELETE FROM t WHERE id IN (SELECT id FROM t ORDER BY id LIMIT 5 FOR UPDATE SKIP LOCKED)"
    once = "WITH old AS (SELECT id FROM t FOR UPDATE SKIP LOCKED) DELETE FROM t WHERE id IN (SELECT id FROM old)"
    assert list(repeated_locks(sample(repeated))) != []
    assert list(repeated_locks(sample(once))) == []
    errors = [breach for each in all_statements for breach in repeated_locks(each)]
    assert not errors, "\n".join(errors)


@pytest.fixture(scope="module")
def table_errors(tables: list[str], all_statements: list[Statement]) -> list[str]:
    """Return the errors about tables of statements, including the allowed ones."""
    tenants = [each for each in tables if placement.place_of(each) == placement.OF_ACCOUNTS]
    return [
        error for each in all_statements for error in (*foreign_tables(each, tables), *any_account(each, tenants))
    ]


def test_every_statement_uses_tables_of_its_package_for_an_account(table_errors: list[str]) -> None:
    errors = [each for each in table_errors if each.partition(": ")[0] not in ALLOWED]
    assert not errors, "\n".join(errors)


def test_every_allowed_exception_exists(table_errors: list[str]) -> None:
    assert sorted(ALLOWED.keys() - {each.partition(": ")[0] for each in table_errors}) == []


@pytest.mark.parametrize(
    ("path", "text", "error"),
    [
        ("builders/mail/service.py", "X = 'SELECT 1'", "outside of a store"),
        ("builders/mail/service.py", "f(' INSERT INTO t VALUES (1)')", "outside of a store"),
        ("builders/mail/service.py", "f(f'UPDATE {table} SET x = 1')", "outside of a store"),
        ("builders/mail/api.py", "X = '''\n  WITH a AS (SELECT 1) SELECT 2'''", "outside of a store"),
        ("builders/cli/main.py", "X = 'DELETE FROM t'", "outside of a store"),
        ("builders/cli/main.py", "X = '-- why\\n/* * */ (SELECT 1) UNION SELECT 2'", "outside of a store"),
        ("builders/mail/store.py", "def f(conn): conn.execute('SELECT 1')", "without a constant"),
        ("builders/mail/store.py", "query = 'SELECT 1'", "without a constant"),
        ("builders/mail/store.py", f"{QUERY}def f(conn): query('SELECT 1').run()", "without a constant"),
        ("builders/mail/service.py", f"{QUERY}find = query('SELECT 1').run()", "outside of a store"),
        ("builders/mail/store.py", "sql.SQL('DROP TABLE {}')", "without a constant"),
        ("builders/kit/jobs/queue.py", "def f(conn): conn.execute('SELECT 1')", "without a constant"),
    ],
)
def test_stray_sql_is_reported(path: str, text: str, error: str) -> None:
    found = list(stray_sql(source(path, text)))
    assert len(found) == 1
    assert error in found[0]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("builders/mail/store.py", "INSERT = 'INSERT INTO mail_sent VALUES (1)'\nLIST: str = 'SELECT 1'"),
        ("builders/mail/store/sent.py", "INSERT = 'INSERT INTO mail_sent VALUES (1)'"),
        ("builders/mail/store.py", f"{QUERY}find = query('SELECT 1').scalar(int)"),
        ("builders/kit/jobs/queue.py", "PRUNE = 'DELETE FROM kit_jobs'\nsql.SQL('DROP TABLE {}')"),
        ("builders/mail/store.py", "COLUMNS = 'id, name'\nLIST = f'SELECT {COLUMNS} FROM mail_sent'"),
        ("builders/mail/service.py", "METHODS = ['DELETE', 'UPDATE']\n'Select one with care.'"),
    ],
)
def test_sql_in_a_store_passes(path: str, text: str) -> None:
    assert list(stray_sql(source(path, text))) == []


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("builders/mail/service.py", "conn.execute(LIST)"),
        ("builders/mail/store.py", "conn.execute('select 1')"),
        ("builders/mail/store.py", "conn.execute(f'SELECT {name}'.encode())"),
        ("builders/mail/store.py", "cursor.executemany(query, rows)"),
        ("builders/mail/store.py", f"{QUERY}find = query(read()).run()"),
        ("builders/mail/store.py", f"{QUERY}async def f(conn): await query(LIST).run()(conn)"),
        ("builders/mail/service.py", f"{QUERY}find = query(LIST).run()"),
        ("builders/mail/store.py", "cursor.copy(LIST if lock else query)"),
        ("builders/mail/store.py", "conn.execute(sql.SQL('DROP TABLE {}').format(name))"),
    ],
)
def test_sql_that_is_executed_without_a_constant_is_reported(path: str, text: str) -> None:
    assert len(list(sql_without_constant(source(path, text)))) == 1


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("builders/mail/store.py", "conn.execute(LIST, name.encode())\nconn.execute(LIST if lock else sql.FIND)"),
        ("builders/mail/store.py", "PAGES = {'name': 'SELECT 1'}\ncursor.execute(PAGES[sort], row)"),
        ("builders/mail/service.py", "promotions.execute(conn, plan=plan)"),
        ("builders/mail/store.py", f"{QUERY}find = query(LIST).unprepared.run(limit=MAX)"),
        ("builders/kit/jobs/queue.py", "conn.execute(sql.SQL('DROP TABLE {}').format(name))"),
    ],
)
def test_sql_that_is_executed_as_a_constant_passes(path: str, text: str) -> None:
    assert list(sql_without_constant(source(path, text))) == []


def test_statements_are_read_from_nested_constants() -> None:
    held = {"one": "SELECT 1", "many": ["SELECT 2", sql.SQL("SELECT 3")], "limit": 4}
    assert list(strings(held)) == ["SELECT 1", "SELECT 2", "SELECT 3"]


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("SELECT * FROM nowhere", "nowhere"),
        ("SELECT absent FROM kit_migrations", "absent"),
        ("UPDATE kit_migrations SET name = %(name)s WHERE applied_at = ANY(%(times)s::uuid[])", "operator"),
        ("INSERT INTO kit_migrations VALUES (%(a)s) ON CONFLICT (digest) DO NOTHING", "constraint"),
        ("SELECT 1 WHERE %(cursor)s IS NULL", "type of parameter"),
        ("SELECT %s::int WHERE", "syntax error"),
        ("LOCK TABLES kit_migrations", "syntax error"),
    ],
)
def test_invalid_sql_is_reported(conn: psycopg.Connection, text: str, error: str) -> None:
    (found,) = rejected(conn, sample(text))
    assert error in found


@pytest.mark.parametrize(
    "text",
    [
        "SELECT name FROM kit_migrations WHERE name = %(name)s AND digest > %(name)s LIMIT %(limit)s",
        "INSERT INTO kit_migrations (name, digest, applied_at) VALUES (%s, %s, %s)",
        "SELECT name FROM kit_migrations WHERE name LIKE 'a%%' AND name <> %(name)s",
        "LOCK TABLE kit_migrations IN EXCLUSIVE MODE",
    ],
)
def test_sql_that_is_understood_is_not_run(conn: psycopg.Connection, text: str) -> None:
    assert list(rejected(conn, sample(text))) == []


@pytest.mark.parametrize(
    "call", ["now()", "NOW()", "CURRENT_TIMESTAMP", "clock_timestamp()", "statement_timestamp()"]
)
def test_a_statement_with_a_clock_of_its_own_is_reported(call: str) -> None:
    assert len(list(own_clock(sample(f"SELECT {call}")))) == 1
    assert list(own_clock(sample("SELECT %(now)s, known FROM t"))) == []


def test_a_foreign_table_is_reported() -> None:
    tables = ["mail", "mail_sent", "leads_people", "mailboxes"]
    statement = sample("SELECT 1 FROM mail_sent, mail, leads_people", "builders/mail/store.py:list_newest")
    assert list(foreign_tables(statement, tables)) == [
        "builders/mail/store.py:list_newest leads_people: not a table of mail"
    ]
    assert len(list(foreign_tables(sample("SELECT 1 FROM mailboxes", statement.place), tables))) == 1


def test_packages_declare_their_own_tables(codebase: list[Source]) -> None:
    assert breaches(foreign_declarations, codebase) == []


def test_the_declaration_of_a_foreign_table_is_reported() -> None:
    text = 'old_rows.declare("leads_people", key="id", age="at", after=DAY)'
    assert len(list(foreign_declarations(source("builders/mail/service.py", text)))) == 1
    assert list(foreign_declarations(source("builders/leads/service.py", text))) == []


def test_tables_of_a_portfolio_subpackage_have_both_names() -> None:
    statement = sample("SELECT 1 FROM portfolio_team_members", "builders/portfolio/team/store.py:LIST")
    assert list(foreign_tables(statement, ["portfolio_team_members"])) == []


def test_a_statement_for_any_account_is_reported() -> None:
    place = "builders/mail/store.py:list_newest"
    assert list(any_account(sample("SELECT id FROM mail_sent WHERE id = %(id)s", place), ["mail_sent"])) == [
        "builders/mail/store.py:list_newest: touches mail_sent without an account"
    ]
    kept = "SELECT id FROM mail_sent WHERE account_id = %(account_id)s"
    assert list(any_account(sample(kept, place), ["mail_sent"])) == []
    assert list(any_account(sample("SELECT 1 FROM mail_templates", place), ["mail_sent"])) == []


@pytest.mark.parametrize(
    ("text", "has_account"),
    [
        ("SELECT account_id FROM mail_sent", False),
        ("SELECT 1 FROM mail_sent JOIN leads USING (account_id) WHERE leads.id = %(id)s", False),
        ("INSERT INTO mail_sent SELECT * FROM unnest(%(account_ids)s::uuid[])", True),
    ],
)
def test_a_column_is_not_a_parameter(text: str, *, has_account: bool) -> None:
    assert (list(any_account(sample(text), ["mail_sent"])) == []) == has_account
