"""The header of a migration, its statements, and what a plan says of them."""

import pytest

from builders.kit.db import migration_plans
from builders.kit.db.migration_files import Backfill, Header, Migration, MigrationError
from tests.kit.db.files import make_file

BACKFILL = (
    "-- backfill: things (account_id, id)\n-- rows: colour IS NULL AND note <> ''\n-- set: colour = 'grey'\n"
)


def test_a_header_is_read() -> None:
    plain = make_file("0002_two.sql", "SELECT")
    bare = make_file("0003_three.sql", "SELECT", works_with="1.2.10", first="-- no transaction\n")
    last = make_file("0004_four.sql", "SELECT", run="after", last=BACKFILL)

    assert plain.header == Header(works_with="1.0.0")
    assert bare.header == Header(works_with="1.2.10", in_transaction=False)
    assert last.header.is_after
    assert last.header.backfill == Backfill(
        table="things", key="account_id, id", rows="colour IS NULL AND note <> ''", column="colour", value="'grey'"
    )


@pytest.mark.parametrize(
    "text",
    [
        "SELECT",
        "-- works with: 1.0.0\n\nSELECT",
        "-- works with: 1.0\n-- run: before\n\nSELECT",
        "-- works with: 1.0.0\n-- run: later\n\nSELECT",
        "-- works with: 1.0.0\n-- run: before\nSELECT",
        "-- works with: 1.0.0\n-- run: before\n-- hurry: yes\n\nSELECT",
        "-- works with: 1.0.0\n-- no transaction\n-- run: before\n\nSELECT",
        f"-- works with: 1.0.0\n-- run: before\n{BACKFILL}\nSELECT",
        "\n-- works with: 1.0.0\n-- run: before\n\nSELECT",
    ],
)
def test_a_malformed_header_is_refused_with_the_file(text: str) -> None:
    with pytest.raises(MigrationError, match=r"The header of the migration 0002_two\.sql is malformed\."):
        assert Migration("0002_two.sql", text).header


def test_files_of_the_queue_have_no_header_and_say_when_they_run_in_their_name() -> None:
    assert not Migration("procrastinate/04.00.00_01_pre_new.sql", "SELECT").header.is_after
    assert Migration("procrastinate/04.00.00_50_post_new.sql", "SELECT").header.is_after


def test_statements_are_split_outside_of_texts_and_comments() -> None:
    file = make_file(
        "0002_two.sql",
        """
        -- one; two
        INSERT INTO a VALUES ('it''s; here', "b;c"); /* ; */ DO $$ BEGIN NULL; END $$;
        SELECT 1 - 2 / 3
        """,
    )
    assert file.split() == [
        "INSERT INTO a VALUES ('it''s; here', \"b;c\")",
        "DO $$ BEGIN NULL; END $$",
        "SELECT 1 - 2 / 3",
    ]


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("CREATE INDEX CONCURRENTLY a ON t (b)", "SHARE UPDATE EXCLUSIVE on t: nobody waits"),
        ("CREATE UNIQUE INDEX a ON t (b)", "SHARE on t: writers wait while the rows are read"),
        ("DROP INDEX CONCURRENTLY IF EXISTS a", "SHARE UPDATE EXCLUSIVE on a: nobody waits"),
        ("DROP TABLE t", "ACCESS EXCLUSIVE on t: readers and writers wait for a moment"),
        ("ALTER TABLE t ADD COLUMN b int", "ACCESS EXCLUSIVE on t: readers and writers wait for a moment"),
        (
            "ALTER TABLE t ADD b uuid DEFAULT gen_random_uuid()",
            "ACCESS EXCLUSIVE on t: readers and writers wait while the table is written again",
        ),
        (
            "ALTER TABLE t ADD CONSTRAINT c CHECK (b > 0) NOT VALID",
            "ACCESS EXCLUSIVE on t: readers and writers wait for a moment",
        ),
        (
            "ALTER TABLE t ADD CONSTRAINT c CHECK (b > 0)",
            "ACCESS EXCLUSIVE on t: readers and writers wait while the rows are read",
        ),
        (
            "ALTER TABLE t ADD FOREIGN KEY (b) REFERENCES u NOT VALID",
            "SHARE ROW EXCLUSIVE on t: writers wait for a moment",
        ),
        ("ALTER TABLE t VALIDATE CONSTRAINT c", "SHARE UPDATE EXCLUSIVE on t: nobody waits"),
        (
            "ALTER TABLE t ALTER COLUMN b SET NOT NULL",
            "ACCESS EXCLUSIVE on t: readers and writers wait while the rows are read, unless a CHECK says it",
        ),
        (
            "ALTER TABLE t ALTER b TYPE bigint",
            "ACCESS EXCLUSIVE on t: readers and writers wait while the table is written again",
        ),
        ("ALTER TABLE t DROP b", "ACCESS EXCLUSIVE on t: readers and writers wait for a moment"),
        ("UPDATE t SET b = 1", "ROW EXCLUSIVE on t: writers of these rows wait until the file ends"),
        ("CREATE TABLE n (b uuid REFERENCES t (id))", "SHARE ROW EXCLUSIVE on t: writers wait for a moment"),
        ("CREATE TABLE n (b uuid)", "locks no table that exists"),
        ("CREATE FUNCTION f() RETURNS int LANGUAGE sql RETURN 1", "locks no table that exists"),
        ("CLUSTER t", "unknown: any lock, for any time"),
        ("ALTER TABLE t CLUSTER ON a", "unknown: any lock, for any time"),
    ],
)
def test_a_plan_says_who_waits_for_a_statement(statement: str, said: str) -> None:
    [step] = migration_plans.describe([make_file("0002_two.sql", statement)])
    assert migration_plans.render(step).splitlines()[-1].strip() == said


def test_a_plan_says_it_of_each_action_and_not_of_new_tables() -> None:
    files = [
        make_file("0002_two.sql", "CREATE TABLE n (a int); CREATE INDEX i ON n (a)"),
        make_file(
            "0003_three.sql", "ALTER TABLE t ADD a int CHECK (a IN (1, 2)), VALIDATE CONSTRAINT c", run="after"
        ),
    ]
    new, changed = migration_plans.describe(files)
    assert (new.run, new.locks) == ("before", [])
    assert [(each.table, each.lock) for each in changed.locks] == [
        ("t", "ACCESS EXCLUSIVE"),
        ("t", "SHARE UPDATE EXCLUSIVE"),
    ]
    assert changed.run == "after"
