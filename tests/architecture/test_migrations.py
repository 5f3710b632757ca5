"""Released migrations never change: a database that applied one would refuse to start. Before, they are edited."""

import json
import subprocess
import sysconfig
import tomllib
from pathlib import Path

import pglast
import pytest

import builders
from builders.kit.db import migrations
from builders.kit.db.migration_files import Migration
from builders.kit.process.version import VERSION, order_of
from tests.architecture.migration_rules import breaches
from tests.kit.db.files import make_file

FILE = Path(__file__).with_name("migrations.toml")
PACKAGES = Path(builders.__file__).parent


def test_released_migrations_are_unchanged() -> None:
    released = tomllib.loads(FILE.read_text(encoding="utf-8"))["digests"]
    present = {each.name: each.digest for each in migrations.list_migrations()}
    changed = [name for name, digest in released.items() if present.get(name) != digest]
    assert not changed, f"{', '.join(changed)} changed after the release: undo it, and add a new migration"


def test_every_released_migration_exists() -> None:
    released = tomllib.loads(FILE.read_text(encoding="utf-8"))["digests"]
    names = [each.name for each in migrations.list_migrations()]
    assert list(released) == names[: len(released)]


def test_each_migration_has_its_own_number() -> None:
    numbers = [each.name.partition("_")[0] for each in migrations.list_migrations()]
    assert numbers == [f"{number:04d}" for number in range(1, len(numbers) + 1)]


def test_each_package_has_one_migration_before_the_first_release() -> None:
    """A change of the schema edits the file of its package; a numbered change begins after the release."""
    released = tomllib.loads(FILE.read_text(encoding="utf-8"))["digests"]
    packages = [each.name.partition("_")[2].removesuffix(".sql") for each in migrations.list_migrations()]
    assert released or sorted(packages) == sorted({*packages})
    assert released or all((PACKAGES / each).is_dir() for each in packages)


OF_1_0_0 = 18  # files that create the schema of the first release, in which nobody waits
LATER = migrations.list_migrations()[OF_1_0_0:]


def test_every_digest_is_recorded_from_the_first_release_on() -> None:
    """The commit of a release adds them: a version without `.dev0` has a digest of each file."""
    released = tomllib.loads(FILE.read_text(encoding="utf-8"))["digests"]
    assert "dev" in VERSION or list(released) == [each.name for each in migrations.list_migrations()]


def test_one_release_back_always_works() -> None:
    oldest = [each.header.works_with for each in migrations.list_migrations()]
    assert all(order_of(each) < order_of(VERSION) for each in oldest) or set(oldest) == {"1.0.0"}


def test_the_files_of_the_first_release_have_one_header() -> None:
    headers = {each.header for each in migrations.list_migrations()[:OF_1_0_0]}
    assert headers == {make_file("0001_one.sql", "").header}


def test_statements_are_split_as_postgresql_does() -> None:
    for file in migrations.list_migrations():
        assert len(file.split()) == len(pglast.split(file.text)), file.name


def squawk(file: Migration, folder: Path) -> list[str]:
    """Return the rules of squawk that a file breaks. The kit sets the time limits, and files need no IF EXISTS."""
    path = folder / file.name
    path.write_text(file.text, encoding="utf-8")
    left_out = ["require-timeout-settings", "prefer-robust-stmts", "prefer-text-field", "prefer-bigint-over-int"]
    words = ["--reporter", "json", "--pg-version", str(migrations.OLDEST_SERVER), "--exclude", ",".join(left_out)]
    words += ["--assume-in-transaction"] if file.header.in_transaction else []
    program = Path(sysconfig.get_path("scripts")) / "squawk"
    run = subprocess.run([program, *words, path], capture_output=True, text=True, check=False)
    return [each["rule_name"] for each in json.loads(run.stdout)]


REHEARSED = [
    make_file("0018_column.sql", "ALTER TABLE projects ADD COLUMN colour text;"),
    make_file(
        "0019_index.sql",
        "CREATE INDEX CONCURRENTLY projects_by_colour ON projects (account_id, colour);",
        first="-- no transaction\n",
    ),
    make_file("0020_check.sql", "ALTER TABLE projects ADD CONSTRAINT has_colour CHECK (colour <> '') NOT VALID;"),
    make_file("0021_valid.sql", "ALTER TABLE projects VALIDATE CONSTRAINT has_colour;"),
]


@pytest.mark.parametrize("file", [*REHEARSED, *LATER], ids=lambda each: each.name)
def test_later_files_stop_nobody(file: Migration, tmp_path: Path) -> None:
    assert list(breaches(file, [*LATER, *REHEARSED])) == []
    assert squawk(file, tmp_path) == []


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("CREATE INDEX projects_by_colour ON projects (colour);", "require-concurrent-index-creation"),
        ("ALTER TABLE projects ALTER COLUMN name TYPE varchar(3);", "changing-column-type"),
        ("ALTER TABLE projects ADD CONSTRAINT c CHECK (name <> '');", "constraint-missing-not-valid"),
    ],
)
def test_squawk_reports_what_stops_writers(text: str, rule: str, tmp_path: Path) -> None:
    assert rule in squawk(make_file("0018_bad.sql", text), tmp_path)


@pytest.mark.parametrize(
    ("text", "first", "said"),
    [
        ("CREATE INDEX i ON projects (name)", "", "while the rows are read"),
        ("ALTER TABLE projects ADD CONSTRAINT c CHECK (name <> '')", "", "while the rows are read"),
        ("ALTER TABLE projects ALTER COLUMN name SET NOT NULL", "", "unless a CHECK says it"),
        ("UPDATE projects SET name = ''", "", "change rows by a backfill"),
        ("CLUSTER projects", "", "unknown"),
        ("CREATE INDEX CONCURRENTLY i ON projects (name)", "", "begin the file with `-- no transaction`"),
        (
            "CREATE INDEX CONCURRENTLY IF NOT EXISTS i ON t (name)",
            "-- no transaction\n",
            "cannot be run again",
        ),
        ("DROP TABLE projects", "-- no transaction\n", "cannot be run again"),
        (
            "ALTER TABLE t ADD CONSTRAINT c CHECK (true) NOT VALID; ALTER TABLE t VALIDATE CONSTRAINT c",
            "",
            "validate c in a later file",
        ),
    ],
)
def test_a_file_that_stops_somebody_is_reported(text: str, first: str, said: str) -> None:
    assert any(said in each for each in breaches(make_file("0018_bad.sql", text, first=first), []))
