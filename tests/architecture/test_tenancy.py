"""Every table belongs to its tenant or is listed with a reason."""

from collections.abc import Iterator

import psycopg
import pytest

from builders.kit.db.placement import COPIED, NODE, by
from tests.architecture import tenancy
from tests.architecture.source import Source
from tests.architecture.statements import named_tables, statements
from tests.architecture.tenancy import Table

SAMPLE = """
    CREATE SCHEMA sample;
    CREATE TABLE sample.mail_templates (id uuid PRIMARY KEY);
    CREATE TABLE sample.mail_kept (
        account_id uuid NOT NULL, id uuid, number int, day date,
        template uuid REFERENCES sample.mail_templates (id),
        PRIMARY KEY (account_id, id, day)
    ) PARTITION BY RANGE (day);
    CREATE TABLE sample.mail_kept_default PARTITION OF sample.mail_kept DEFAULT;
    CREATE UNIQUE INDEX one_number ON sample.mail_kept (account_id, lower(number::text), day)
        INCLUDE (template);
    CREATE TABLE sample.mail_orphans (id uuid PRIMARY KEY);
    CREATE FUNCTION sample.count_orphans() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN PERFORM count(*) FROM mail_orphans, mail_templates; RETURN NULL; END $$;
    CREATE TRIGGER mail_counted AFTER INSERT ON sample.mail_kept EXECUTE FUNCTION sample.count_orphans();
    CREATE TABLE sample.mail_loose (
        account_id uuid, id uuid, kept uuid, day date, written_in xid8,
        UNIQUE (id) INCLUDE (account_id),
        FOREIGN KEY (kept) REFERENCES sample.mail_orphans (id) DEFERRABLE INITIALLY DEFERRED,
        FOREIGN KEY (account_id, kept, day) REFERENCES sample.mail_kept (account_id, id, day)
    );
"""


@pytest.fixture
def conn(conninfo: str) -> Iterator[psycopg.Connection]:
    """Return a transaction on the migrated database, which is rolled back."""
    with psycopg.connect(conninfo) as connection:
        yield connection
        connection.rollback()


def test_every_key_contains_the_tenant(conn: psycopg.Connection) -> None:
    tables = tenancy.read(conn)
    assert {"identity_keys", "kit_outbox"} <= {table.name for table in tables}
    assert list(tenancy.untenanted(tables)) == []


def test_a_row_needs_no_row_of_another_shard(conn: psycopg.Connection) -> None:
    assert sorted(tenancy.crossing(tenancy.read(conn))) == sorted(tenancy.CROSSING)


def test_a_statement_asks_one_shard(conn: psycopg.Connection, codebase: list[Source]) -> None:
    tables = [table.name for table in tenancy.read(conn)]
    found = {
        each
        for file in codebase
        for statement in statements(file)
        for each in tenancy.find_across(statement.place.removeprefix("builders/"), named_tables(statement, tables))
    }
    assert found == {(table, each) for table, listed in tenancy.ACROSS.items() for each in listed}


def test_every_listed_table_exists(conn: psycopg.Connection) -> None:
    assert tenancy.unused(tenancy.read(conn)) == []


def test_the_keys_of_a_schema_are_read(conn: psycopg.Connection) -> None:
    conn.execute(SAMPLE)
    conn.execute("SET search_path TO sample")
    kept, loose, orphans, templates = tenancy.read(conn, "sample")
    assert kept == Table(
        name="mail_kept",
        has_tenant=True,
        unique_keys=["mail_kept_pkey (account_id, id, day)", "one_number (account_id, expression, day)"],
        foreign_keys=["mail_templates (template)"],
        triggers=kept.triggers,
    )
    assert [name for name, _ in kept.triggers] == ["mail_counted"]
    assert loose == Table(
        name="mail_loose",
        has_tenant=False,
        unique_keys=["mail_loose_id_account_id_key (id)"],
        foreign_keys=["mail_kept (account_id, kept, day)", "mail_orphans (kept)"],
        deferred=["mail_loose_kept_fkey"],
        has_primary_key=False,
        transaction_ids=["written_in"],
    )
    assert (orphans.name, templates.name) == ("mail_orphans", "mail_templates")


def test_a_table_without_the_tenant_is_reported(conn: psycopg.Connection) -> None:
    conn.execute(SAMPLE)
    conn.execute("SET search_path TO sample")
    assert list(tenancy.untenanted(tenancy.read(conn, "sample"), {"mail_templates": (by("name"), "")})) == [
        "mail_loose: has no account_id that is never null",
        "mail_loose: the unique key mail_loose_id_account_id_key (id) is without account_id",
        "mail_orphans: has no account_id that is never null",
        "mail_orphans: the unique key mail_orphans_pkey (id) is without account_id",
        "mail_templates: the unique key mail_templates_pkey (id) is without name",
    ]


def test_what_needs_rows_of_another_shard_is_reported(conn: psycopg.Connection) -> None:
    conn.execute(SAMPLE)
    conn.execute("SET search_path TO sample")
    listed = {"mail_templates": (COPIED, ""), "mail_orphans": (NODE, "")}
    assert list(tenancy.crossing(tenancy.read(conn, "sample"), listed)) == [
        "mail_kept: the trigger mail_counted uses mail_orphans",
        "mail_loose: the foreign key to mail_orphans (kept)",
        "mail_loose: the constraint mail_loose_kept_fkey waits for the commit",
        "mail_loose: the column written_in has ids of transactions",
    ]


@pytest.mark.parametrize(
    ("tables", "across"),
    [
        (["aliases", "aliases_forwards", "catalog_domains"], []),
        (["aliases", "aliases_names", "procrastinate_jobs"], ["aliases_names", "procrastinate_jobs"]),
        (["aliases_names", "aliases_skeletons"], []),
        (["catalog_daily", "catalog_events"], ["catalog_daily"]),
        (["catalog_domains"], []),
    ],
)
def test_the_tables_of_another_shard_are_found(tables: list[str], across: list[str]) -> None:
    assert [table for table, _ in tenancy.find_across("", tables)] == across


def test_a_table_without_any_key_is_reported() -> None:
    bare = Table(name="mail_bare", has_tenant=True, unique_keys=[], foreign_keys=[])
    assert list(tenancy.untenanted([bare])) == ["mail_bare: has no key"]


def test_a_listed_name_without_a_table_is_reported() -> None:
    tables = [Table(name="mail_sent", has_tenant=True, unique_keys=[], foreign_keys=[])]
    listed = dict.fromkeys(("mail_*", "mail_sent", "mail_lost", "leads_*"), (NODE, ""))
    assert tenancy.unused(tables, listed) == ["mail_lost", "leads_*"]
