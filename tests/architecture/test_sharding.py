"""Statements keep the rules of a sharded database; those that do not yet are listed."""

import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

import psycopg
import pytest

from tests.architecture import sharding, tenancy
from tests.architecture.sharding import Functions
from tests.architecture.source import Source
from tests.architecture.statements import Statement, statements
from tests.architecture.tenancy import Table

# Statements that change a table which is copied to each node, with the reason: while a node is down they fail.
CHANGES_COPIES = {
    "catalog/store.py:LOAD": "a command of the vendor",
    "catalog/store.py:rank": "a job of each night",
    "identity/store/accounts.py:begin_erasure": "an erasure",
    "identity/store/accounts.py:end_erasure": "an erasure",
    "identity/store/accounts.py:CHANGE_EMAIL": "the address of an account",
    "identity/store/accounts.py:INSERT_ACCOUNT": "a new account",
    "identity/store/accounts.py:verify_email": "the address of an account",
    "kit/db/suspensions.py:_delete": "a command of the vendor",
    "kit/db/suspensions.py:_insert": "a command of the vendor",
    "portfolio/domains/store/rdap.py:block": "a job that checks domains",
    "portfolio/domains/store/rdap.py:replace_services": "a job of each day",
    "portfolio/domains/store/rdap.py:unblock": "a job that checks domains",
    "portfolio/ledger/store/rates.py:insert_rates": "a job of each day",
}
# Views that are to be a table that is written with what they show.
VIEWS: set[str] = set()
FUNCTIONS = Functions(volatile={("nextval", 1)}, changing={("nextval", 1), ("to_char", 1)})
TABLES = ["mail_sent", "mail_optouts", "mail_parts", "procrastinate_jobs", "identity_accounts"]
FAN_OUT = Path(__file__).with_name("fan_out.toml")
AT_MOST = 40  # statements that touch all shards
ONE_SERVER = "builders/backup/"  # restores the embedded database, which is never distributed
Rule = Callable[[Statement], Iterator[str]]


@pytest.fixture(scope="module")
def conn(conninfo: str) -> Iterator[psycopg.Connection]:
    """Return a connection to the migrated database."""
    with psycopg.connect(conninfo, autocommit=True) as connection:
        yield connection


def rules(functions: Functions, tables: Sequence[str]) -> Mapping[str, Rule]:
    """Return the rules of statements by name."""
    of_functions = (sharding.volatile_updates, sharding.changing_conflicts)
    of_tables = (
        *(sharding.changed_times, sharding.wide_locks, sharding.deletions_by_place, sharding.correlated),
        *(sharding.recursive, sharding.columnless, sharding.missing_halves, sharding.unsent),
    )
    return {
        **{rule.__name__: partial(rule, functions=functions) for rule in of_functions},
        **{rule.__name__: partial(rule, tables=tables) for rule in of_tables},
    }


def test_a_sharded_database_accepts_statements(conn: psycopg.Connection, codebase: list[Source]) -> None:
    tables = [table.name for table in tenancy.read(conn)]
    checks = rules(sharding.read_functions(conn), tables).values()
    sent = [statement for file in codebase for statement in statements(file)]
    assert sorted(error for each in sent for check in checks for error in check(each)) == []


def test_what_touches_all_shards_is_listed(conn: psycopg.Connection, codebase: list[Source]) -> None:
    tables = [table.name for table in tenancy.read(conn)]
    sent = [statement for file in codebase for statement in statements(file)]
    spread = [each for each in sent if not each.place.startswith(ONE_SERVER)]
    found = {each.place.removeprefix("builders/") for each in spread if sharding.is_scattered(each, tables)}
    listed = [place for places in tomllib.loads(FAN_OUT.read_text()).values() for place in places]
    assert sorted(found ^ set(listed)) == []
    assert len(listed) <= AT_MOST


def test_what_changes_a_copied_table_is_listed(codebase: list[Source]) -> None:
    sent = [statement for file in codebase for statement in statements(file)]
    found = {each.place.removeprefix("builders/") for each in sent if sharding.changes_copies(each)}
    assert sorted(found ^ CHANGES_COPIES.keys()) == []


@pytest.mark.parametrize(
    ("text", "is_reported"),
    [
        ("UPDATE identity_accounts SET name = 'a' WHERE id = %(account_id)s", True),
        ("WITH a AS (DELETE FROM catalog_domains RETURNING id) SELECT id FROM a", True),
        ("SELECT FROM identity_accounts WHERE id = %(account_id)s FOR NO KEY UPDATE", True),
        ("SELECT FROM mail_sent AS s JOIN identity_accounts AS a ON a.id = s.account_id FOR SHARE OF a", True),
        ("SELECT FROM mail_sent AS s JOIN identity_accounts AS a ON a.id = s.account_id FOR SHARE OF s", False),
        ("INSERT INTO mail_sent SELECT id FROM identity_accounts", False),
    ],
)
def test_a_change_of_a_copied_table_is_reported(text: str, *, is_reported: bool) -> None:
    assert sharding.changes_copies(Statement(place="store.py:SAMPLE", text=text)) == is_reported


@pytest.mark.parametrize(
    ("text", "is_scattered"),
    [
        ("SELECT id FROM mail_sent WHERE due <= %(now)s", True),
        ("SELECT id FROM mail_sent WHERE account_id = %(account_id)s", False),
        ("SELECT id FROM mail_sent WHERE account_id = ANY(%(account_ids)s)", False),
        ("SELECT id FROM mail_sent WHERE account_id = %(account_id)s OR n = 1", True),
        ("SELECT id FROM mail_optouts WHERE account_id = %(account_id)s", True),
        ("SELECT id FROM procrastinate_jobs", False),
        (
            (
                "SELECT (SELECT max(n) FROM mail_parts AS p WHERE p.account_id = s.account_id) "
                "FROM mail_sent AS s WHERE s.account_id = %(account_id)s"
            ),
            False,
        ),
        (
            (
                "WITH a AS (SELECT id FROM mail_sent WHERE account_id = %(account_id)s) "
                "UPDATE mail_parts SET n = 1 FROM a WHERE mail_parts.id = a.id"
            ),
            True,
        ),
        ("INSERT INTO mail_sent (account_id) SELECT %(account_id)s FROM unnest(%(ids)s) AS id", False),
    ],
)
def test_a_statement_touches_all_shards(text: str, *, is_scattered: bool) -> None:
    assert sharding.is_scattered(Statement(place="store.py:SAMPLE", text=text), TABLES) == is_scattered


def test_a_sharded_database_accepts_tables(conn: psycopg.Connection) -> None:
    assert list(sharding.unsharded(tenancy.read(conn))) == []


def test_a_view_reads_tables_of_one_shard(conn: psycopg.Connection) -> None:
    views = conn.execute("SELECT viewname, definition FROM pg_views WHERE schemaname = 'public'").fetchall()
    tables = [table.name for table in tenancy.read(conn)]
    assert {each.partition(": ")[0] for each in sharding.unsharded_views(views, tables)} == VIEWS


def test_a_view_of_two_shards_is_reported() -> None:
    views = [
        ("mail_seen", "SELECT sent.id FROM mail_sent AS sent JOIN mail_optouts AS out ON out.hash = sent.hash"),
        ("mail_all", "SELECT id FROM mail_sent"),
    ]
    assert list(sharding.unsharded_views(views, TABLES)) == ["mail_seen: a view of tables by account_id and hash"]


def reported(rule: str, text: str) -> list[str]:
    """Return what a rule says of a statement."""
    return list(rules(FUNCTIONS, TABLES)[rule](Statement(place="store.py:SAMPLE", text=text)))


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        ("volatile_updates", "UPDATE mail_sent SET serial = nextval('s') WHERE account_id = %(account_id)s"),
        ("volatile_updates", "UPDATE mail_sent SET serial = new.n FROM (SELECT nextval('s') AS n) AS new"),
        (
            "volatile_updates",
            "WITH a AS (UPDATE mail_sent AS sent SET n = abs(nextval('s')) RETURNING 1) SELECT 1",
        ),
        ("changing_conflicts", "INSERT INTO t VALUES (1) ON CONFLICT (id) DO UPDATE SET n = nextval('s')"),
        (
            "changing_conflicts",
            "INSERT INTO t VALUES (1) ON CONFLICT (id) DO UPDATE SET n = 1 WHERE to_char(a) > 'b'",
        ),
        ("wide_locks", "SELECT FROM mail_sent WHERE due <= %(now)s FOR UPDATE SKIP LOCKED"),
        (
            "wide_locks",
            "SELECT FROM mail_sent WHERE (%(account_id)s IS NULL OR account_id = %(account_id)s) FOR SHARE",
        ),
        ("wide_locks", "WITH a AS (SELECT FROM mail_optouts WHERE account_id = %(a)s FOR NO KEY UPDATE) SELECT 1"),
        ("wide_locks", "SELECT FROM mail_sent WHERE account_id = ANY(%(account_ids)s) FOR UPDATE"),
        (
            "deletions_by_place",
            "DELETE FROM mail_sent WHERE ctid = ANY(ARRAY(SELECT ctid FROM mail_sent LIMIT 5))",
        ),
        (
            "correlated",
            "SELECT a FROM unnest(%(as)s) AS w (a) WHERE EXISTS (SELECT FROM mail_sent WHERE mail_sent.id = w.a)",
        ),
        (
            "correlated",
            "SELECT a FROM (VALUES (1)) AS w (a) WHERE EXISTS (SELECT FROM mail_sent WHERE mail_sent.id = w.a)",
        ),
        (
            "correlated",
            "WITH w AS (SELECT 1 AS a) SELECT a FROM w WHERE EXISTS (SELECT FROM mail_sent AS s WHERE s.id = w.a)",
        ),
        (
            "recursive",
            "WITH RECURSIVE a AS (SELECT id FROM mail_sent UNION ALL SELECT id FROM a) SELECT id FROM a",
        ),
        ("changed_times", "UPDATE mail_sent SET due = due + %(wait)s::interval WHERE account_id = %(account_id)s"),
        ("changed_times", "UPDATE mail_sent SET n = 1 WHERE due + make_interval(hours => n) < %(now)s"),
        (
            "changed_times",
            "INSERT INTO mail_sent VALUES (1) ON CONFLICT (id) DO UPDATE SET due = %(now)s + %(wait)s::interval",
        ),
        ("unsent", "INSERT INTO mail_sent SELECT %(account_id)s ON CONFLICT (id) DO UPDATE SET n = %(n)s"),
        ("unsent", "INSERT INTO mail_sent SELECT 1 ON CONFLICT (id) DO UPDATE SET n = 1 WHERE id < %(n)s"),
        ("columnless", "SELECT count(*) FROM (SELECT FROM mail_sent WHERE due <= %(now)s LIMIT 9) AS oldest"),
        ("columnless", "WITH a AS (SELECT FROM mail_sent LIMIT 9) SELECT count(*) FROM a"),
        (
            "missing_halves",
            "DELETE FROM mail_sent AS sent WHERE NOT EXISTS (SELECT FROM mail_optouts WHERE hash = sent.hash)",
        ),
        (
            "missing_halves",
            (
                "WITH lost AS (SELECT s.id FROM mail_sent AS s LEFT JOIN mail_optouts AS o ON o.hash = s.hash "
                "WHERE o.hash IS NULL) UPDATE mail_sent SET n = 1 FROM lost WHERE lost.id = mail_sent.id"
            ),
        ),
    ],
)
def test_a_statement_that_is_refused_is_reported(rule: str, text: str) -> None:
    assert len(reported(rule, text)) == 1


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        (
            "volatile_updates",
            "WITH new AS (SELECT nextval('s') AS n) UPDATE mail_sent SET n = new.n FROM new -- nextval('s')",
        ),
        (
            "volatile_updates",
            "WITH new AS (\n-- a count\nSELECT nextval('s') AS n) UPDATE mail_sent SET n = new.n FROM new",
        ),
        ("volatile_updates", "INSERT INTO mail_sent VALUES (nextval('s')) ON CONFLICT (id) DO UPDATE SET n = 1"),
        ("volatile_updates", "SELECT 'nextval(' FROM mail_sent FOR UPDATE"),
        (
            "changing_conflicts",
            "INSERT INTO t VALUES (nextval('s')) ON CONFLICT (id) DO UPDATE SET n = excluded.n",
        ),
        (
            "changing_conflicts",
            "INSERT INTO t VALUES (1) ON CONFLICT (id) DO UPDATE SET n = greatest(1, lower(a))",
        ),
        ("wide_locks", "SELECT FROM mail_sent WHERE (a OR b) AND account_id = %(account_id)s FOR UPDATE"),
        (
            "wide_locks",
            "SELECT FROM mail_sent AS s JOIN mail_parts AS p ON s.account_id = %(a)s AND p.id = 1 FOR SHARE",
        ),
        ("wide_locks", "SELECT FROM mail_optouts WHERE hash = %(hash)s FOR UPDATE"),
        ("wide_locks", "SELECT FROM procrastinate_jobs WHERE id = %(id)s FOR UPDATE"),
        ("wide_locks", "INSERT INTO mail_sent VALUES (1) ON CONFLICT (account_id) DO UPDATE SET n = 1"),
        ("deletions_by_place", "DELETE FROM procrastinate_jobs WHERE ctid = ANY(ARRAY(SELECT ctid FROM jobs))"),
        (
            "correlated",
            "SELECT a FROM unnest(%(as)s) AS w (a) WHERE EXISTS (SELECT FROM mail_sent WHERE account_id = %(a)s)",
        ),
        ("correlated", "SELECT a FROM unnest(%(as)s) AS w (a) CROSS JOIN LATERAL (SELECT FROM mail_sent) AS b"),
        (
            "correlated",
            (
                "WITH w AS (SELECT 1 AS a) SELECT (SELECT n FROM mail_parts AS p "
                "WHERE p.account_id = s.account_id AND p.id = w.a) FROM w JOIN mail_sent AS s ON s.id = w.a"
            ),
        ),
        (
            "recursive",
            "WITH RECURSIVE a AS (SELECT id FROM mail_sent WHERE account_id = %(account_id)s) SELECT id FROM a",
        ),
        ("changed_times", "UPDATE mail_sent SET due = %(now)s::timestamptz + %(wait)s::interval, n = n + 1"),
        ("changed_times", "UPDATE mail_sent SET due = to_timestamp(%(now_s)s + least(n * 5, 60))"),
        (
            "changed_times",
            (
                "INSERT INTO mail_sent VALUES (%(now)s + %(wait)s::interval) ON CONFLICT (id) DO UPDATE "
                "SET due = excluded.due"
            ),
        ),
        ("changed_times", "UPDATE procrastinate_jobs SET due = due + %(wait)s::interval"),
        ("unsent", "INSERT INTO mail_sent VALUES (1) ON CONFLICT (id) DO UPDATE SET n = %(n)s"),
        (
            "unsent",
            "INSERT INTO mail_sent SELECT %(now)s FROM x ON CONFLICT (id) DO UPDATE SET n = excluded.n",
        ),
        (
            "unsent",
            "WITH a AS (INSERT INTO mail_sent SELECT 1 ON CONFLICT (id) DO UPDATE SET n = %(n)s) SELECT 1",
        ),
        ("unsent", "INSERT INTO procrastinate_jobs SELECT 1 ON CONFLICT (id) DO UPDATE SET n = %(n)s"),
        ("columnless", "SELECT id FROM mail_sent WHERE EXISTS (SELECT FROM mail_parts)"),
        ("columnless", "SELECT a FROM (SELECT) AS one"),
        (
            "columnless",
            "SELECT count(*) FROM (SELECT FROM mail_sent WHERE account_id = %(account_id)s) AS counted",
        ),
        ("missing_halves", "SELECT id FROM mail_sent WHERE NOT EXISTS (SELECT FROM mail_optouts)"),
        ("missing_halves", "DELETE FROM mail_sent WHERE NOT EXISTS (SELECT FROM mail_parts)"),
        (
            "missing_halves",
            (
                "WITH a AS (SELECT s.id FROM mail_sent AS s LEFT JOIN mail_optouts AS o ON o.hash = s.hash "
                "WHERE s.n IS NULL) DELETE FROM mail_sent USING a WHERE a.id = mail_sent.id"
            ),
        ),
    ],
)
def test_a_statement_that_is_accepted_passes(rule: str, text: str) -> None:
    assert reported(rule, text) == []


def test_what_a_sharded_table_cannot_have_is_reported() -> None:
    table = Table(
        name="mail_sent",
        has_tenant=True,
        unique_keys=["mail_sent_id (account_id, id)"],
        foreign_keys=[],
        triggers=[["mail_counted", "BEGIN END"]],
        has_primary_key=False,
        clearing_keys=["mail_parts (account_id, part_id)", "mail_templates (template)"],
    )
    assert list(sharding.unsharded([table])) == [
        "mail_sent: the trigger mail_counted",
        "mail_sent: no primary key",
        "mail_sent: SET NULL in the foreign key to mail_parts (account_id, part_id)",
    ]
