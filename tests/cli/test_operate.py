import json
import os
import shutil
import socket
import sys
import threading
from collections.abc import Iterator
from types import SimpleNamespace

import psutil
import psycopg
import pytest

from builders.cli import doctor
from builders.cli.embedded import directory
from builders.kit.db import migrations
from tests.cli.conftest import Cli
from tests.cli.databases import own_database
from tests.kit.db.files import make_file


@pytest.fixture
def empty(server: str, plain_environment: pytest.MonkeyPatch) -> Iterator[str]:
    """Return an empty database for the commands."""
    with own_database(server) as conninfo:
        plain_environment.setenv("BUILDERS_DATABASE_URL", conninfo)
        yield conninfo


def found(text: str) -> dict[str, dict[str, object]]:
    """Return the findings of the JSON output by check."""
    return {each["check"]: each for each in json.loads(text)}


def test_migrations_are_applied_once(command: Cli, empty: str) -> None:
    ours = [each.name for each in migrations.list_migrations()]

    first, second, third = command("migrate"), command("migrate"), command("migrate", "--json")

    assert [line for line in first.stdout.splitlines() if line.endswith(tuple(ours))] == [
        f"applied {name}" for name in ours
    ]
    assert second.stdout == "The database is up to date.\n"
    assert json.loads(third.stdout) == []
    assert migrations.list_pending(empty) == []


def test_a_plan_is_printed_and_nothing_is_applied(
    command: Cli, empty: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    command("migrate")
    later = make_file("0099_later.sql", "ALTER TABLE projects ADD colour text", run="after")
    files = [*migrations.list_migrations(), later]
    monkeypatch.setattr(migrations, "list_migrations", lambda: files)

    shown, read = command("migrate", "--plan"), json.loads(command("migrate", "--plan", "--json").stdout)

    assert shown.stdout.splitlines()[:3] == [
        "0099_later.sql: after the start, in a transaction; works with 1.0.0 or newer",
        "    ALTER TABLE projects ADD colour text",
        "        ACCESS EXCLUSIVE on projects: readers and writers wait for a moment",
    ]
    assert [(each["name"], each["run"], each["locks"][0]["table"]) for each in read] == [
        ("0099_later.sql", "after", "projects")
    ]
    assert migrations.list_pending(empty) == ["0099_later.sql"]


@pytest.mark.usefixtures("empty")
def test_files_that_run_after_the_start_are_named_and_applied_on_request(
    command: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    command("migrate")
    files = [*migrations.list_migrations(), make_file("0099_later.sql", "CREATE TABLE later ()", run="after")]
    monkeypatch.setattr(migrations, "list_migrations", lambda: files)

    assert "1 run after the start of this release, by `builders migrate --after`." in command("migrate").stdout
    checked = found(command("doctor", "--json").stdout)["migrations"]
    assert (checked["ok"], checked["detail"]) == (True, "1 wait until only processes of this release run.")
    assert command("migrate", "--after").stdout == "applied 0099_later.sql\n"


@pytest.mark.usefixtures("empty")
@pytest.mark.parametrize("words", [("accounts", "list"), ("serve", "--port", "0"), ("worker",)])
def test_a_command_does_not_migrate_a_database_of_another_release(
    command: Cli, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    command("migrate")
    files = [*migrations.list_migrations(), make_file("0099_later.sql", "CREATE TABLE later ()")]
    monkeypatch.setattr(migrations, "list_migrations", lambda: files)

    result = command(*words)

    assert result.exit_code == 1
    assert "1 migrations are pending.\nRun `builders migrate`, then start this release." in result.stderr


def test_a_database_of_other_migrations_is_refused(command: Cli, empty: str) -> None:
    command("migrate")
    with psycopg.connect(empty) as conn:
        conn.execute("UPDATE kit_migrations SET digest = 'x' WHERE name LIKE '0001%'")

    for words in (("migrate",), ("keys", "list", "--account", "ada@example.net"), ("serve",)):
        result = command(*words)
        assert result.exit_code == 1
        assert "Other migrations created this database: 0001_kit.sql." in result.stderr


def test_the_doctor_says_what_to_do_with_a_database_of_other_migrations(command: Cli, empty: str) -> None:
    command("migrate")
    with psycopg.connect(empty) as conn:
        conn.execute("UPDATE kit_migrations SET name = '0002_former.sql' WHERE name LIKE '0002%'")

    result = command("doctor", "--json")

    assert result.exit_code == 1
    assert found(result.stdout)["migrations"] == {
        "check": "migrations",
        "ok": False,
        "detail": "Other migrations created this database: 0002_former.sql.",
        "next_action": migrations.START_AGAIN,
    }


def test_an_old_server_is_refused(command: Cli, empty: str, monkeypatch: pytest.MonkeyPatch) -> None:
    del empty
    monkeypatch.setattr(psycopg.ConnectionInfo, "server_version", 140020)

    result = command("migrate")

    assert result.exit_code == 1
    assert "PostgreSQL 14 is too old; the service runs on 15 to 18" in result.stderr


def test_a_missing_privilege_is_named(
    command: Cli, empty: str, server: str, plain_environment: pytest.MonkeyPatch
) -> None:
    with psycopg.connect(empty) as conn:
        conn.execute("CREATE ROLE cli_guest LOGIN PASSWORD 'hidden-word'")
    plain_environment.setenv(
        "BUILDERS_DATABASE_URL", psycopg.conninfo.make_conninfo(empty, user="cli_guest", password="hidden-word")
    )
    result = command("migrate")
    with psycopg.connect(server) as conn:
        conn.execute("DROP ROLE cli_guest")

    assert result.exit_code == 1
    assert "GRANT CREATE ON SCHEMA public" in result.stderr
    assert "hidden-word" not in result.output


def test_the_demo_is_loaded_once(command: Cli, empty: str) -> None:
    first, second = command("demo", "--json"), command("demo", "--json")

    keys = json.loads(first.stdout)
    assert {(key["account"], key["preset"], key["kind"]) for key in keys} == {
        ("developer@builders.example", "developer_full", "live"),
        ("developer@builders.example", "developer_full", "test"),
        ("domainer@builders.example", "domainer_full", "live"),
        ("domainer@builders.example", "domainer_full", "test"),
    }
    assert second.stdout == first.stdout
    lines = command("demo").stdout.splitlines()
    assert [line.split()[-1] for line in lines] == [key["key"] for key in keys]
    with psycopg.connect(empty) as conn:
        assert conn.execute("SELECT count(*) > 50 FROM catalog_domains").fetchone() == (True,)


def test_a_healthy_service_passes_all_checks(builders: Cli) -> None:
    result = builders("doctor")

    assert result.exit_code == 0
    assert all(line.startswith(("ok     ", "       ")) for line in result.stdout.splitlines())
    assert set(found(builders("doctor", "--json").stdout)) >= {
        *("data directory", "space", "port", "database", "version", "rights", "migrations")
    }


def test_the_doctor_creates_no_database(command: Cli) -> None:
    result = command("doctor", "--json")

    assert result.exit_code == 0
    assert "the first start creates the database" in str(found(result.stdout)["database"]["detail"])


def test_the_doctor_names_an_unreachable_database(command: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BUILDERS_DATABASE_URL", "postgresql://ada:hidden-word@127.0.0.1:1/builders")

    people, programs = command("doctor"), command("doctor", "--json")

    assert people.exit_code == programs.exit_code == 1
    assert "WRONG  database: No response: " in people.stdout
    assert "\n       Start the PostgreSQL server" in people.stdout
    assert found(programs.stdout)["database"]["ok"] is False
    assert "hidden-word" not in people.output + programs.output


def test_the_doctor_names_a_full_disk(builders: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=doctor.MIN_FREE_BYTES - 1))

    result = builders("doctor")

    assert result.exit_code == 1
    assert "WRONG  space: " in result.stdout
    assert "Free at least" in result.stdout


def _hang_up(listener: socket.socket) -> None:
    listener.accept()[0].close()


def test_the_doctor_names_a_taken_port(builders: Cli, plain_environment: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        threading.Thread(target=_hang_up, args=[taken], daemon=True).start()
        plain_environment.setenv("BUILDERS_PORT", str(taken.getsockname()[1]))
        result = builders("doctor")

    assert result.exit_code == 1
    assert "WRONG  port: " in result.stdout


def test_the_doctor_names_pending_migrations(command: Cli, empty: str) -> None:
    del empty

    result = command("doctor")

    assert result.exit_code == 1
    assert "WRONG  migrations: " in result.stdout
    assert "builders migrate" in result.stdout


def test_serve_refuses_pending_migrations_on_request(command: Cli, empty: str) -> None:
    del empty

    result = command("serve", "--no-migrate", "--port", "0")

    assert (result.exit_code, "Run `builders migrate`, then start this release." in result.stderr) == (1, True)


def test_the_doctor_names_the_newest_exchange_rates(
    command: Cli, empty: str, plain_environment: pytest.MonkeyPatch
) -> None:
    plain_environment.setenv("BUILDERS_EXCHANGE_RATES", "installed")
    command("migrate")
    before = found(command("doctor", "--json").stdout)["exchange rates"]
    assert (before["ok"], before["detail"]) == (True, "No rates are loaded.")

    with psycopg.connect(empty) as conn:
        conn.execute("INSERT INTO portfolio_ledger_rates VALUES ('EUR', '2024-03-05', 1)")
    result = found(command("doctor", "--json").stdout)["exchange rates"]
    assert (result["ok"], result["detail"]) == (True, "The newest rates are of 2024-03-05.")
    assert "BUILDERS_EXCHANGE_RATES" in str(result["next_action"])


def test_the_doctor_names_a_folder_that_cannot_be_written(
    builders: Cli, plain_environment: pytest.MonkeyPatch
) -> None:
    plain_environment.setenv("BUILDERS_DATA_DIR", "/dev/null/data")

    result = builders("doctor")

    assert result.exit_code == 1
    assert "WRONG  data directory: " in result.stdout


def test_the_doctor_names_a_missing_package(command: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, directory.PACKAGE, None)

    result = command("doctor")

    assert result.exit_code == 1
    assert "is not installed" in result.stdout
    assert "BUILDERS_DATABASE_URL" in result.stdout


def test_a_taken_port_is_refused(builders: Cli) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        result = builders("serve", "--port", port)

    assert result.exit_code == 1
    pid = os.getpid()
    assert result.stderr == (
        f"Error: Cannot listen on 127.0.0.1:{port}: Address already in use by {psutil.Process(pid).name()} "
        f"(pid {pid}). Choose another port by --port or BUILDERS_PORT, or stop the program that uses it: "
        f"`kill {pid}`.\n"
    )


def test_serve_waits_for_a_port_that_becomes_free(command: Cli, plain_environment: pytest.MonkeyPatch) -> None:
    plain_environment.setenv("BUILDERS_DATABASE_URL", "postgresql://ada@127.0.0.1:1/builders")
    taken = socket.create_server(("127.0.0.1", 0))
    port = taken.getsockname()[1]
    releasing = threading.Timer(0.3, taken.close)
    releasing.start()

    # After the port, the next check fails.
    result = command("serve", "--port", port)

    releasing.join()
    assert "Cannot listen" not in result.stderr
    assert "Connection refused" in result.stderr


@pytest.mark.parametrize("host", ["203.0.113.1", "x" * 64, "no.such.host.invalid"])
def test_a_foreign_address_is_refused(builders: Cli, host: str) -> None:
    result = builders("serve", "--host", host, "--port", "0")

    assert result.exit_code == 1
    assert f"Cannot listen on {host}:0: " in result.stderr


def test_every_command_has_a_help_text(command: Cli) -> None:
    for words in ((), ("accounts",), ("keys",), ("catalog",), ("serve",), ("doctor",), ("keys", "create")):
        result = command(*words, "--help")
        assert result.exit_code == 0
        assert result.stdout.startswith(f"Usage: {' '.join(['main', *words])}")
    assert command("--version").stdout == "builders 1.1.0.dev0, specification 0.2.54\n"


@pytest.mark.usefixtures("empty")
def test_a_database_without_nodes_is_not_distributed(command: Cli) -> None:
    command("migrate")

    result = command("distribute")

    assert result.exit_code == 1
    assert result.stderr.splitlines() == [
        "Error: The database has no extension citus.",
        "As an administrator, on each node: CREATE EXTENSION citus.",
    ]


def test_the_embedded_database_is_not_distributed(command: Cli, plain_environment: pytest.MonkeyPatch) -> None:
    plain_environment.delenv("BUILDERS_DATABASE_URL", raising=False)

    result = command("distribute", "--dry-run")

    assert result.exit_code == 1
    assert "Set BUILDERS_DATABASE_URL to the coordinator." in result.stderr
