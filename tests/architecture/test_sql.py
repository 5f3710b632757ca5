"""SQL stands in stores, PostgreSQL understands it, and each package uses only its own tables."""

from collections.abc import Iterator

import psycopg
import pytest
from psycopg import sql

from builders.portfolio.registrars.findings import FindingCategory
from tests.architecture import tenancy
from tests.architecture.source import Source, breaches, source
from tests.architecture.statements import (
    MAY_SEND,
    Statement,
    any_account,
    foreign_tables,
    misunderstood,
    nameless_sql,
    own_clock,
    statements,
    stray_sql,
    strings,
    too_new,
)

STORE = "builders/portfolio/registrars/store/"
# What registrars hold is compared with a portfolio's domains in one statement for each category of findings.
COMPARED = [each.name for each in FindingCategory if each is not FindingCategory.STALE_SNAPSHOT]
READ = ("LIST_REGISTRARS", "COUNT_COMPARED", "LIST_FORMS", "FIND_PAIRS")
# A breach that is meant, without its last words, and why.
MEANT = {
    **dict.fromkeys((f"{STORE}comparisons.py:{each} portfolio_domains" for each in COMPARED), "compares the two"),
    **dict.fromkeys((f"{STORE}reconcile.py:{each} portfolio_domains" for each in READ), "as above"),
    "builders/kit/db/migrations.py:HAS_QUEUE_TABLE procrastinate_jobs": "is the queue there, or to be made",
    "builders/kit/http/idempotency.py:PRUNE": "keys of all accounts grow old alike",
    "builders/kit/events/dispatcher.py:CLAIM": "events of all accounts are dispatched in one batch",
    "builders/kit/events/dispatcher.py:LIST_SINCE": "as above, for what a subscriber has missed",
    "builders/identity/store/keys.py:FIND_HOLDER": "a key arrives without its account",
    "builders/identity/store/sessions.py:REDEEM_GRANT": "a grant arrives without its account",
    "builders/identity/store/sessions.py:PRUNE_SESSIONS": "sessions of all accounts grow old alike",
    "builders/mail/store.py:FIND_ORIGINS": "tracked links come without their accounts",
    "builders/tracking/store.py:INSERT": "opens and clicks of all accounts share a commit; each row names its own",
    "builders/tracking/store.py:MARK_BURSTS": "machines follow links whoever's the mail is",
    "builders/aliases/store/queries.py:LIST_ACTIVE": "a mail server forwards whoever's names they are",
    "builders/aliases/store/queries.py:LIST_CHANGED": "as above, for what changed",
    "builders/aliases/store/billing.py:LIST_DUE_ACCOUNTS": "names of all accounts fall due alike",
    "builders/mail/store.py:SWEEP": "mail of all accounts falls due alike",
    "builders/webhooks/store/claims.py:LIST_OVERTAKEN": "each account's turn comes, whoever's it is",
    "builders/webhooks/store/deliveries.py:QUEUE": "the operator's look at everyone's queue",
    "builders/webhooks/store/results.py:LIST_UNHEALTHY": "the operator's look at everyone's receivers",
    "builders/webhooks/store/claims.py:CANCEL": "what is pending for what is disabled, whoever's it is",
    "builders/webhooks/store/secrets.py:LIST_STALE": "secrets of all accounts are sealed anew alike",
    "builders/portfolio/registrars/store/credentials.py:LIST_STALE": "as above, those of registrars",
    "builders/invoices/store/transitions.py:ADVANCE_STAGE": "invoices of all accounts fall due alike",
    "builders/invoices/store/transitions.py:MARK_DUE_UNCOLLECTIBLE": "as above, for those that nobody paid",
    "builders/kit/jobs/queue.py:PRUNE_FAILED procrastinate_jobs": "the queue keeps failed jobs for ever",
    "builders/kit/jobs/queue.py:PRUNE_FAILED procrastinate_events": "as above, for the times of failures",
    "builders/portfolio/ledger/store/rates.py:LIST_AWAITING": "rates arrive for the entries of all accounts alike",
    "builders/portfolio/domains/store/renewal_facts.py:LIST_PORTFOLIOS": "notices of all accounts fall due alike",
    "builders/portfolio/notifications/store/notices.py:INSERT_NOTICES": "each row names its account",
    "builders/portfolio/notifications/store/notices.py:LIST_DUE_ACCOUNTS": "emails of all accounts fall due alike",
    "builders/portfolio/notifications/store/notices.py:PRUNE_NOTICES": "notices of all accounts grow old alike",
    "builders/portfolio/notifications/store/notices.py:PRUNE_KEYS": "as above, for their keys",
    "builders/portfolio/domains/store/due.py:CLAIM": "domains of all accounts fall due alike",
    "builders/portfolio/domains/store/rdap.py:CLAIM": "as above, for questions to registries",
    "builders/portfolio/registrars/store/runs.py:PRUNE": "runs of all accounts grow old alike",
    "builders/portfolio/registrars/store/holdings.py:LIST portfolio_domains": "what is held and in the portfolio",
    "builders/portfolio/registrars/store/holdings.py:LIST_OF_PROVIDER portfolio_domains": "as above",
    "builders/portfolio/imports/store/imports.py:PRUNE_IMPORTS": "imports of all accounts grow old alike",
    "builders/portfolio/transfers/store.py:CLAIM": "transfers of all accounts are followed alike",
    "builders/portfolio/team/store.py:PRUNE_INVITES": "invitations of all accounts expire alike",
    "builders/profile/store.py:PRUNE_SENT": "deletes old sends of all accounts",
    "builders/domains/store/domains.py:CLAIM_DUE": "domains of all accounts fall due alike",
    "builders/sandbox/store/promotions.py:LIST_ABANDONED": "promotions are taken up again whoever's they are",
    "builders/sandbox/store/plans.py:PRUNE_PLANS": "plans of all accounts grow old alike",
}


@pytest.fixture(scope="module")
def conn(conninfo: str) -> Iterator[psycopg.Connection]:
    """A connection to the migrated database."""
    with psycopg.connect(conninfo, autocommit=True) as connection:
        yield connection


@pytest.fixture(scope="module")
def tables(conn: psycopg.Connection) -> list[str]:
    """The names of all tables."""
    return [table.name for table in tenancy.read(conn)]


@pytest.fixture(scope="module")
def all_statements(codebase: list[Source]) -> list[Statement]:
    """Every statement of the service."""
    return [statement for file in codebase for statement in statements(file)]


def sample(text: str, place: str = "builders/kit/store.py:SAMPLE") -> Statement:
    return Statement(place=place, text=text)


def test_sql_stands_in_stores_and_in_the_kit_with_a_name(codebase: list[Source]) -> None:
    said = breaches(stray_sql, codebase)
    assert not said, "\n".join(said)


def test_what_is_executed_is_a_constant_of_a_store(codebase: list[Source]) -> None:
    said = breaches(nameless_sql, codebase)
    assert not said, "\n".join(said)


def test_everything_that_may_be_sent_without_a_name_is_sent(codebase: list[Source]) -> None:
    said = {each.partition(": ")[0] for file in codebase for each in nameless_sql(file, ())}
    assert sorted(MAY_SEND.keys() - said) == []


def test_statements_are_found(all_statements: list[Statement]) -> None:
    packages = {statement.package for statement in all_statements}
    assert {"kit", "identity", "catalog", "aliases", "sandbox"} <= packages


def test_postgresql_understands_every_statement(conn: psycopg.Connection, all_statements: list[Statement]) -> None:
    said = [breach for each in all_statements for breach in misunderstood(conn, each)]
    assert not said, "\n".join(said)


def test_no_statement_asks_the_database_for_the_time(all_statements: list[Statement]) -> None:
    said = [breach for each in all_statements for breach in own_clock(each)]
    assert not said, "\n".join(said)


def test_numbers_are_written_as_the_oldest_server_reads_them(all_statements: list[Statement]) -> None:
    assert list(too_new(sample("SELECT 1_000"))) != []
    assert list(too_new(sample("SELECT 1000 FROM leads_2026_11, t_1"))) == []
    said = [breach for each in all_statements for breach in too_new(each)]
    assert not said, "\n".join(said)


@pytest.fixture(scope="module")
def said_of_tables(tables: list[str], all_statements: list[Statement]) -> list[str]:
    """What is said of the tables that statements name, meant or not."""
    tenants = [each for each in tables if not tenancy.is_listed(each, tenancy.GLOBAL)]
    return [
        said for each in all_statements for said in (*foreign_tables(each, tables), *any_account(each, tenants))
    ]


def test_every_statement_uses_its_packages_tables_and_names_an_account(said_of_tables: list[str]) -> None:
    said = [each for each in said_of_tables if each.partition(": ")[0] not in MEANT]
    assert not said, "\n".join(said)


def test_every_breach_that_is_meant_is_there(said_of_tables: list[str]) -> None:
    assert sorted(MEANT.keys() - {each.partition(": ")[0] for each in said_of_tables}) == []


@pytest.mark.parametrize(
    ("path", "text", "said"),
    [
        ("builders/mail/service.py", "X = 'SELECT 1'", "outside of a store"),
        ("builders/mail/service.py", "f(' INSERT INTO t VALUES (1)')", "outside of a store"),
        ("builders/mail/service.py", "f(f'UPDATE {table} SET x = 1')", "outside of a store"),
        ("builders/mail/api.py", "X = '''\n  WITH a AS (SELECT 1) SELECT 2'''", "outside of a store"),
        ("builders/cli/main.py", "X = 'DELETE FROM t'", "outside of a store"),
        ("builders/cli/main.py", "X = '-- why\\n/* * */ (SELECT 1) UNION SELECT 2'", "outside of a store"),
        ("builders/mail/store.py", "def f(conn): conn.execute('SELECT 1')", "without a capital name"),
        ("builders/mail/store.py", "query = 'SELECT 1'", "without a capital name"),
        ("builders/mail/store.py", "sql.SQL('DROP TABLE {}')", "without a capital name"),
        ("builders/kit/jobs/queue.py", "def f(conn): conn.execute('SELECT 1')", "without a capital name"),
    ],
)
def test_stray_sql_is_reported(path: str, text: str, said: str) -> None:
    found = list(stray_sql(source(path, text)))
    assert len(found) == 1
    assert said in found[0]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("builders/mail/store.py", "INSERT = 'INSERT INTO mail_sent VALUES (1)'\nLIST: str = 'SELECT 1'"),
        ("builders/mail/store/sent.py", "INSERT = 'INSERT INTO mail_sent VALUES (1)'"),
        ("builders/kit/jobs/queue.py", "PRUNE = 'DELETE FROM kit_jobs'\nsql.SQL('DROP TABLE {}')"),
        ("builders/mail/store.py", "COLUMNS = 'id, name'\nLIST = f'SELECT {COLUMNS} FROM mail_sent'"),
        ("builders/mail/service.py", "METHODS = ['DELETE', 'UPDATE']\n'Select one with care.'"),
    ],
)
def test_sql_in_its_place_passes(path: str, text: str) -> None:
    assert list(stray_sql(source(path, text))) == []


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("builders/mail/service.py", "conn.execute(LIST)"),
        ("builders/mail/store.py", "conn.execute('select 1')"),
        ("builders/mail/store.py", "conn.execute(f'SELECT {name}'.encode())"),
        ("builders/mail/store.py", "cursor.executemany(query, rows)"),
        ("builders/mail/store.py", "cursor.copy(LIST if lock else query)"),
        ("builders/mail/store.py", "conn.execute(sql.SQL('DROP TABLE {}').format(name))"),
    ],
)
def test_sql_that_is_executed_without_a_name_is_reported(path: str, text: str) -> None:
    assert len(list(nameless_sql(source(path, text)))) == 1


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("builders/mail/store.py", "conn.execute(LIST, name.encode())\nconn.execute(LIST if lock else sql.FIND)"),
        ("builders/mail/service.py", "promotions.execute(conn, plan=plan)"),
        ("builders/kit/jobs/queue.py", "conn.execute(sql.SQL('DROP TABLE {}').format(name))"),
    ],
)
def test_sql_that_is_executed_by_its_name_passes(path: str, text: str) -> None:
    assert list(nameless_sql(source(path, text))) == []


def test_statements_are_taken_from_what_a_constant_holds() -> None:
    held = {"one": "SELECT 1", "many": ["SELECT 2", sql.SQL("SELECT 3")], "limit": 4}
    assert list(strings(held)) == ["SELECT 1", "SELECT 2", "SELECT 3"]


@pytest.mark.parametrize(
    ("text", "said"),
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
def test_sql_that_is_not_understood_is_reported(conn: psycopg.Connection, text: str, said: str) -> None:
    (found,) = misunderstood(conn, sample(text))
    assert said in found


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
    assert list(misunderstood(conn, sample(text))) == []


@pytest.mark.parametrize("call", ["now()", "NOW()", "CURRENT_TIMESTAMP", "clock_timestamp()"])
def test_a_statement_with_a_clock_of_its_own_is_reported(call: str) -> None:
    assert len(list(own_clock(sample(f"SELECT {call}")))) == 1
    assert list(own_clock(sample("SELECT %(now)s, known FROM t"))) == []


def test_a_foreign_table_is_reported() -> None:
    tables = ["mail", "mail_sent", "leads_people", "mailboxes"]
    statement = sample("SELECT 1 FROM mail_sent, mail, leads_people", "builders/mail/store.py:LIST")
    assert list(foreign_tables(statement, tables)) == [
        "builders/mail/store.py:LIST leads_people: not a table of mail"
    ]
    assert len(list(foreign_tables(sample("SELECT 1 FROM mailboxes", statement.place), tables))) == 1


def test_tables_of_a_portfolio_subpackage_have_both_names() -> None:
    statement = sample("SELECT 1 FROM portfolio_team_members", "builders/portfolio/team/store.py:LIST")
    assert list(foreign_tables(statement, ["portfolio_team_members"])) == []


def test_a_statement_for_any_account_is_reported() -> None:
    place = "builders/mail/store.py:LIST"
    assert list(any_account(sample("SELECT id FROM mail_sent WHERE id = %(id)s", place), ["mail_sent"])) == [
        "builders/mail/store.py:LIST: touches mail_sent without an account"
    ]
    kept = "SELECT id FROM mail_sent WHERE account_id = %(account_id)s"
    assert list(any_account(sample(kept, place), ["mail_sent"])) == []
    assert list(any_account(sample("SELECT 1 FROM mail_templates", place), ["mail_sent"])) == []


@pytest.mark.parametrize(
    ("text", "whose"),
    [
        ("SELECT account_id FROM mail_sent", False),
        ("SELECT 1 FROM mail_sent JOIN leads USING (account_id) WHERE leads.id = %(id)s", False),
        ("INSERT INTO mail_sent SELECT * FROM unnest(%(account_ids)s::uuid[])", True),
    ],
)
def test_to_name_the_column_is_not_to_name_an_account(text: str, *, whose: bool) -> None:
    assert (list(any_account(sample(text), ["mail_sent"])) == []) == whose
