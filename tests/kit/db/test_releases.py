"""Databases of other releases: what starts, what is refused, and what `migrate` does in which order."""

from collections.abc import Callable

import psycopg
import pytest

from builders.kit.db import migrations
from builders.kit.db.migration_files import Migration, MigrationError
from tests.kit.db.files import make_file

BACKFILL = "-- backfill: things (id)\n-- rows: colour IS NULL\n-- set: colour = 'grey'\n"


COLUMN = make_file("0002_colour.sql", "ALTER TABLE things ADD colour text")
LEFT = make_file("0003_old.sql", "ALTER TABLE things DROP old", run="after", works_with="1.1.0", last=BACKFILL)
THINGS = make_file("0001_things.sql", "CREATE TABLE things (id int PRIMARY KEY, old int)")

Install = Callable[..., None]


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> Install:
    """Return a function that sets the version of the code, and its files after the first."""

    def change(version: str, *files: Migration) -> None:
        monkeypatch.setattr(migrations, "get_release", lambda: version)
        monkeypatch.setattr(migrations, "list_migrations", lambda: [THINGS, *files])

    return change


def test_an_empty_database_is_created_with_all_files(fresh: str, install: Install) -> None:
    install("1.1.0", COLUMN, LEFT)
    migrations.prepare(fresh)
    state = migrations.read(fresh)
    assert (state.release, state.oldest, state.pending) == ("1.1.0", "1.1.0", [])


def test_a_creation_that_was_ended_is_continued(fresh: str, install: Install) -> None:
    install("1.0.0", make_file("0002_broken.sql", "SELECT 1/0"))
    with pytest.raises(psycopg.errors.DivisionByZero):
        migrations.prepare(fresh)
    assert migrations.read(fresh).release is None
    install("1.0.0", COLUMN)
    migrations.prepare(fresh)
    assert migrations.read(fresh).release == "1.0.0"


def test_a_database_of_an_earlier_release_is_not_changed_by_a_start(fresh: str, install: Install) -> None:
    install("1.0.0")
    migrations.prepare(fresh)
    install("1.1.0", COLUMN)
    with pytest.raises(MigrationError, match=r"1 migrations are pending\. Run `builders migrate`"):
        migrations.prepare(fresh)
    assert migrations.migrate(fresh) == [COLUMN.name]
    migrations.prepare(fresh)


def test_a_release_works_with_the_files_of_the_next_one_and_not_below_the_oldest(
    fresh: str, install: Install
) -> None:
    install("1.0.0")
    migrations.prepare(fresh)
    install("1.1.0", COLUMN)
    migrations.migrate(fresh)
    install("1.0.0")
    migrations.prepare(fresh)  # one release back
    install("1.1.0", COLUMN)
    migrations.migrate(fresh)
    install("1.2.0", COLUMN, LEFT)
    assert migrations.migrate(fresh, after=True) == [LEFT.name]

    install("1.1.0", COLUMN)
    migrations.prepare(fresh)  # one release back again
    install("1.0.9", COLUMN)
    refused = r"The database works with release 1\.1\.0 or newer, and this is 1\.0\.9\. Install 1\.1\.0 or newer\."
    with pytest.raises(MigrationError, match=refused):
        migrations.prepare(fresh)
    with pytest.raises(MigrationError, match=refused):
        migrations.migrate(fresh)


def test_a_file_that_excludes_the_present_release_names_the_stops(fresh: str, install: Install) -> None:
    install("1.0.0")
    migrations.prepare(fresh)
    later = make_file("0004_later.sql", "SELECT", works_with="1.10.0")
    install("1.11.0", COLUMN, LEFT, later)
    for after in (False, True):
        with pytest.raises(
            MigrationError, match=r"from 1\.0\.0 to 1\.11\.0 is by 1\.1\.0, then 1\.10\.0\. Install 1"
        ):
            migrations.migrate(fresh, after=after)
    assert migrations.read(fresh).pending == [COLUMN, LEFT, later]


def test_a_release_without_files_is_a_stop_too(fresh: str, install: Install) -> None:
    install("1.0.0", COLUMN)
    migrations.prepare(fresh)
    install("1.1.0", COLUMN)
    assert migrations.migrate(fresh) == []
    install("1.2.0", COLUMN, LEFT)
    assert migrations.migrate(fresh) == []
    assert migrations.migrate(fresh, after=True) == [LEFT.name]


def test_a_rollback_is_the_release_before_an_upgrade(fresh: str, install: Install) -> None:
    for version in ("1.0.0", "1.1.0", "1.0.0"):
        install(version, COLUMN)
        migrations.migrate(fresh)
    assert migrations.read(fresh).release == "1.0.0"
    install("1.2.0", COLUMN, LEFT)
    with pytest.raises(MigrationError, match=r"is by 1\.1\.0\."):
        migrations.migrate(fresh)


def test_files_run_after_the_start_only_by_request_and_after_the_others(fresh: str, install: Install) -> None:
    install("1.1.0")
    migrations.prepare(fresh)
    install("1.2.0", COLUMN, LEFT)
    with pytest.raises(MigrationError, match=r"1 migrations run before the others\. Run `builders migrate`"):
        migrations.migrate(fresh, after=True)
    assert migrations.migrate(fresh) == [COLUMN.name]
    assert migrations.migrate(fresh) == []
    assert migrations.migrate(fresh, after=True) == [LEFT.name]


def test_what_an_earlier_release_left_runs_first(fresh: str, install: Install) -> None:
    install("1.1.0", COLUMN)
    migrations.prepare(fresh)
    next_one = make_file("0004_next.sql", "CREATE TABLE more (id int)", works_with="1.1.0")
    install("1.3.0", COLUMN, LEFT, next_one)
    with pytest.raises(
        MigrationError, match=r"0003_old\.sql of an earlier release is pending\. First run `builders migr"
    ):
        migrations.migrate(fresh)
    assert migrations.migrate(fresh, after=True) == [LEFT.name]
    assert migrations.migrate(fresh) == [next_one.name]


def test_a_release_whose_files_run_after_its_start_is_not_skipped(fresh: str, install: Install) -> None:
    """The file may wait for rows that only the worker of its release fills."""
    install("1.0.0")
    migrations.prepare(fresh)
    filled = make_file("0003_filled.sql", "SELECT", run="after")
    next_one = make_file("0004_next.sql", "CREATE TABLE more (id int)")
    install("1.2.0", COLUMN, filled, next_one)
    with pytest.raises(
        MigrationError, match=r"0003_filled\.sql of an earlier release is pending\. Install that release first"
    ):
        migrations.migrate(fresh)
    install("1.1.0", COLUMN, filled)
    assert migrations.migrate(fresh) == [COLUMN.name]
    assert migrations.migrate(fresh, after=True) == [filled.name]
    install("1.2.0", COLUMN, filled, next_one)
    assert migrations.migrate(fresh) == [next_one.name]


def test_a_file_waits_while_rows_are_left(fresh: str, install: Install) -> None:
    install("1.1.0", COLUMN)
    migrations.prepare(fresh)
    install("1.2.0", COLUMN, LEFT)
    with psycopg.connect(fresh, autocommit=True) as conn:
        conn.execute("INSERT INTO things VALUES (1)")
        with pytest.raises(MigrationError, match=r"0003_old\.sql waits: rows of things are not filled yet\."):
            migrations.migrate(fresh, after=True)
        conn.execute("UPDATE things SET colour = 'red'")
    assert migrations.migrate(fresh, after=True) == [LEFT.name]
