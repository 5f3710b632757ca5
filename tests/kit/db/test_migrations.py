"""Migrations: once each, in order, also when two begin at once; a changed file is refused in words."""

import os
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import psycopg
import pytest

from builders.kit.db import migrations
from builders.kit.db.migration_files import Migration, MigrationError
from tests.kit.db.files import ask, make_file

APPLY = "import sys; from builders.kit.db import migrations; print(*migrations.migrate(sys.argv[1]), sep='\\n')"


@pytest.fixture
def extra(monkeypatch: pytest.MonkeyPatch) -> list[Migration]:
    """Migrations of the test's own, after the service's first one."""
    added: list[Migration] = []
    first = migrations.list_migrations()[:1]
    monkeypatch.setattr(migrations, "list_migrations", lambda: [*first, *added])
    return added


def test_everything_is_applied_in_order_and_then_nothing(fresh: str) -> None:
    wanted = migrations.list_pending(fresh)

    done = migrations.migrate(fresh)

    assert done == wanted
    names = [migration.name for migration in migrations.list_migrations()]
    assert done[-len(names) :] == names == sorted(names)
    assert all(name.startswith("procrastinate/") for name in done[: -len(names)])
    assert migrations.list_pending(fresh) == []
    assert migrations.migrate(fresh) == []
    assert ask(fresh, "SELECT name FROM kit_migrations ORDER BY name") == [(name,) for name in sorted(done)]


def test_listing_pending_migrations_changes_nothing(fresh: str) -> None:
    assert migrations.list_pending(fresh)
    assert ask(fresh, "SELECT relname FROM pg_class WHERE relname LIKE 'kit%'") == []


def test_processes_that_start_together_migrate_once(fresh: str) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", APPLY, fresh],
            env=environment,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for _ in range(3)
    ]
    said = [process.communicate(timeout=60) for process in processes]

    assert [process.returncode for process in processes] == [0, 0, 0], said
    done = sorted((out.split() for out, _ in said), key=len)
    assert done[:2] == [[], []]
    assert migrations.list_pending(fresh) == []
    assert len(done[2]) == len(ask(fresh, "SELECT name FROM kit_migrations"))


def test_a_new_file_is_applied_alone(fresh: str, extra: list[Migration]) -> None:
    migrations.migrate(fresh)
    extra.append(make_file("0002_two.sql", "CREATE TABLE two (); INSERT INTO two DEFAULT VALUES"))

    assert migrations.list_pending(fresh) == ["0002_two.sql"]
    assert migrations.migrate(fresh) == ["0002_two.sql"]
    assert ask(fresh, "SELECT count(*) FROM two") == [(1,)]


def test_a_changed_file_is_refused_and_nothing_is_applied(fresh: str, extra: list[Migration]) -> None:
    extra.append(make_file("0002_two.sql", "CREATE TABLE two ()"))
    migrations.migrate(fresh)
    extra[:] = [
        make_file("0002_two.sql", "CREATE TABLE two (a int)"),
        make_file("0003_three.sql", "CREATE TABLE three ()"),
    ]

    with pytest.raises(MigrationError, match=r"Other migrations created this database: 0002_two\.sql\."):
        migrations.migrate(fresh)

    assert ask(fresh, "SELECT to_regclass('three')") == [(None,)]


def test_a_database_of_a_development_version_is_refused(fresh: str, extra: list[Migration]) -> None:
    """The schema was edited in place until then; its files had other names and texts."""
    extra += [make_file(f"000{number}_old.sql", "SELECT") for number in range(2, 7)]
    migrations.migrate(fresh)
    extra[:] = [make_file("0007_new.sql", "CREATE TABLE fresh ()")]

    with pytest.raises(MigrationError, match=r"0002_old.*04_old\.sql …\. A database of a development version"):
        migrations.migrate(fresh)

    assert ask(fresh, "SELECT to_regclass('fresh')") == [(None,)]


def test_a_failed_file_is_rolled_back_and_earlier_files_stay(fresh: str, extra: list[Migration]) -> None:
    extra += [
        make_file("0002_two.sql", "CREATE TABLE two ()"),
        make_file("0003_three.sql", "CREATE TABLE three (); SELECT 1/0"),
        make_file("0004_four.sql", "CREATE TABLE four ()"),
    ]
    with pytest.raises(psycopg.errors.DivisionByZero):
        migrations.migrate(fresh)
    assert migrations.list_pending(fresh) == ["0003_three.sql", "0004_four.sql"]

    extra[1] = make_file("0003_three.sql", "CREATE TABLE three ()")  # mended: it was never applied
    assert migrations.migrate(fresh) == ["0003_three.sql", "0004_four.sql"]


def test_a_new_version_of_the_queue_brings_its_own_files(
    fresh: str, extra: list[Migration], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert extra == []
    migrations.migrate(fresh)
    shipped = [
        *migrations._list_queue_migrations(),
        Migration("procrastinate/99_new.sql", "ALTER TABLE procrastinate_jobs ADD brand_new int"),
    ]
    monkeypatch.setattr(migrations, "_list_queue_migrations", lambda: shipped)

    assert migrations.migrate(fresh) == ["procrastinate/99_new.sql"]
    assert ask(fresh, "SELECT brand_new FROM procrastinate_jobs") == []


def test_migrations_of_a_later_version_are_kept(fresh: str, extra: list[Migration]) -> None:
    """An older version may run beside a newer one: migrations are additive for one release."""
    extra.append(make_file("0002_two.sql", "CREATE TABLE two ()"))
    migrations.migrate(fresh)
    extra.clear()

    assert migrations.migrate(fresh) == []


def test_a_server_that_is_too_old_is_refused(fresh: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """There is no such server here; only its answer to the question for its version is made up."""

    class Old(psycopg.Connection[Any]):
        @property
        def info(self) -> Any:
            return SimpleNamespace(server_version=140011)

    monkeypatch.setattr(psycopg, "connect", Old.connect)

    with pytest.raises(MigrationError, match=r"PostgreSQL 14 is too old; the service runs on 15 to 18\."):
        migrations.migrate(fresh)
    monkeypatch.undo()
    assert ask(fresh, "SELECT relname FROM pg_class WHERE relname LIKE 'kit%'") == []


def test_a_file_that_excludes_its_own_release_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(migrations, "get_release", lambda: "0.9.0")
    refused = r"0001_kit\.sql works with 1\.0\.0 or newer, and this is 0\.9\.0\. The file is wrong"
    with pytest.raises(MigrationError, match=refused):
        migrations.list_migrations()


def test_files_are_read_as_utf_8_whatever_the_locale_is() -> None:
    """Otherwise their digests would differ on a machine with another locale."""
    digest = (
        "from builders.kit.db import migrations; print(*(each.digest for each in migrations.list_migrations()))"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONUTF8": "0"}
    run = subprocess.run(
        [
            sys.executable,
            "-X",
            "warn_default_encoding",
            "-W",
            "error::EncodingWarning:builders.kit.db.migrations",
            "-c",
            digest,
        ],
        env=environment,
        text=True,
        capture_output=True,
        check=True,
    )
    assert run.stdout.split() == [each.digest for each in migrations.list_migrations()]
