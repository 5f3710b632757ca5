"""Roles of the database that do not own the tables: what starts under them, and what is said."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from builders.kit.db import known_keys, roles as granting
from builders.kit.db.rights import HTTP, LOOKUP, OPERATOR, ROLES, WORKER
from builders.kit.values import clock
from tests.cli.conftest import Cli
from tests.cli.databases import Roles, database_with_roles, own_database
from tests.cli.embedded.servers import wait_until
from tests.cli.serving import Serving, builders, data_folder, environment


@pytest.fixture(scope="module")
def roles(server: str) -> Iterator[Roles]:
    with database_with_roles(server) as found:
        yield found


@pytest.fixture
def data(roles: Roles) -> Iterator[Path]:
    roles.execute(known_keys.FORGET)  # those of the folder of another test
    with data_folder() as folder:
        yield folder


def refused(data: Path, *words: str, url: str, **settings: str) -> list[str]:
    """Return the last lines of a command that ends with the exit code 1 and without a traceback."""
    ended = builders(data, *words, BUILDERS_DATABASE_URL=url, **settings)
    assert ended.returncode == 1, ended.stderr
    assert "Traceback" not in ended.stderr
    assert "Starting http-1" not in ended.stderr
    return ended.stderr.splitlines()[-2:]


@pytest.mark.parametrize(
    ("words", "lacking"),
    [
        (("serve", "--port", "0"), "`http` and `worker`"),
        (("serve", "--worker-only"), "`worker`"),
        (("serve", "--http-only", "--port", "0"), "`http`"),
    ],
)
def test_a_start_without_rights_names_them_and_the_commands_that_grant_them(
    roles: Roles, data: Path, words: tuple[str, ...], lacking: str
) -> None:
    reason, action = refused(data, *words, url=roles.user)
    assert reason.startswith(f"Error: The role {roles.user_name} lacks rights of {lacking}: ")
    assert action.startswith("Run `builders roles` as owner_")
    assert action.endswith(f" TO {roles.user_name}.")


def test_a_worker_by_itself_ends_with_the_missing_right(
    roles: Roles, command: Cli, plain_environment: pytest.MonkeyPatch
) -> None:
    plain_environment.setenv("BUILDERS_DATABASE_URL", roles.of(HTTP))
    ended = command("worker")
    assert ended.exit_code == 1
    assert ended.stderr.startswith(f"Error: The role {ROLES[HTTP]} lacks rights of `worker`: ")
    assert f"GRANT {ROLES[WORKER]} TO {ROLES[HTTP]}." in ended.stderr


def test_a_right_that_the_role_of_a_process_lost_is_named(roles: Roles, data: Path) -> None:
    roles.execute("REVOKE INSERT ON projects FROM builders_http")
    reason, action = refused(data, "serve", "--http-only", "--port", "0", url=roles.of(HTTP))
    with psycopg.connect(roles.owner, autocommit=True) as conn:
        assert granting.grant(conn) == ['GRANT INSERT ON TABLE "projects" TO "builders_http"']
    assert reason == "Error: The role builders_http lacks rights of `http`: INSERT on projects."
    assert action.startswith("Run `builders roles` as owner_")
    assert "GRANT" not in action


def test_a_member_of_the_role_of_a_process_runs_it(roles: Roles, data: Path) -> None:
    roles.execute("GRANT builders_http TO {user}")
    with Serving(data, "--http-only", "--no-migrate", BUILDERS_DATABASE_URL=roles.user) as serving:
        serving.wait()
        assert serving.stop() == 0
    roles.execute("REVOKE builders_http FROM {user}")


def test_pending_migrations_need_the_rights_of_the_owner(roles: Roles, data: Path) -> None:
    roles.execute("UPDATE kit_migrations SET name = '~' || name WHERE name = '0001_kit.sql'")
    reason, _ = refused(data, "migrate", url=roles.of(HTTP))
    roles.execute("UPDATE kit_migrations SET name = '0001_kit.sql' WHERE name = '~0001_kit.sql'")
    assert reason.endswith(", the owner of the tables.")


def test_a_role_that_may_not_create_tables_begins_no_database(server: str, roles: Roles, data: Path) -> None:
    with own_database(server) as empty:
        url = make_conninfo(empty, user=roles.user_name, password="secret")
        reason, action = refused(data, "serve", "--port", "0", url=url)
    assert reason == f"Error: The role {roles.user_name} may not create tables in the database."
    assert "GRANT CREATE ON SCHEMA public TO" in action


def test_a_refused_role_of_the_look_up_server_ends_the_service(roles: Roles, data: Path) -> None:
    roles.execute("GRANT builders_http TO {user}")
    roles.execute("REVOKE SELECT ON aliases_lookups FROM builders_lookup")
    ended = builders(
        data,
        *("serve", "--http-only", "--port", "0"),
        BUILDERS_DATABASE_URL=roles.user,
        BUILDERS_LOOKUP_LISTEN=f"unix:{data.parent}/lookup",
    )
    roles.execute("REVOKE builders_http FROM {user}")
    roles.execute("GRANT SELECT ON aliases_lookups TO builders_lookup")
    assert ended.returncode == os.EX_CONFIG, ended.stderr
    assert "Traceback" not in ended.stderr
    reason, action = ended.stderr.splitlines()[-2:]
    assert reason.startswith("Error: `lookup` cannot start: The role builders_lookup cannot read aliases_lookups.")
    assert "as the owner: GRANT SELECT ON aliases_lookups" in action


def test_the_look_up_server_answers_under_its_own_role(roles: Roles, data: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        descriptor = listener.fileno()
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "builders", "lookup", "--fd", str(descriptor)],
            env=environment(data, BUILDERS_DATABASE_URL=roles.of(LOOKUP)),
            pass_fds=[descriptor],
        )
        try:
            with socket.create_connection(listener.getsockname(), timeout=20) as asking:
                asking.sendall(b"30:domain pixel.example-not-known,")
                assert asking.recv(100) == b"9:NOTFOUND ,"
        finally:
            process.terminate()
            assert process.wait(20) == 0


def test_a_service_for_strangers_starts_the_look_up_server(roles: Roles, data: Path) -> None:
    url, place = roles.of(HTTP), f"unix:{data.parent}/lookup"
    words = ("--http-only", "--no-migrate")
    with Serving(data, *words, BUILDERS_DATABASE_URL=url, BUILDERS_LOOKUP_LISTEN=place) as serving:
        serving.wait()
        with socket.socket(socket.AF_UNIX) as asking:
            asking.settimeout(20)
            wait_until(lambda: asking.connect_ex(f"{data.parent}/lookup") == 0)
            asking.sendall(b"30:domain pixel.example-not-known,")
            assert asking.recv(100) == b"9:NOTFOUND ,"
        assert serving.stop() == 0


def test_a_command_prints_what_it_would_grant_and_grants_it(
    roles: Roles, command: Cli, plain_environment: pytest.MonkeyPatch
) -> None:
    roles.execute("REVOKE INSERT ON projects FROM builders_worker")
    plain_environment.setenv("BUILDERS_DATABASE_URL", roles.owner)
    missing = 'GRANT INSERT ON TABLE "projects" TO "builders_worker"'
    assert command("roles", "--dry-run").stdout == f"{missing};\n\n"
    assert json.loads(command("roles", "--json").stdout) == [missing]
    assert command("roles").stdout == "There is nothing to do.\n"


def test_a_command_under_another_role_says_who_runs_it(
    roles: Roles, command: Cli, plain_environment: pytest.MonkeyPatch
) -> None:
    plain_environment.setenv("BUILDERS_DATABASE_URL", roles.of(OPERATOR))
    ended = command("roles")
    assert ended.exit_code == 1
    assert "lacks the rights of owner_" in ended.stderr
    assert "Run the command as owner_" in ended.stderr


def test_the_embedded_database_has_one_role(command: Cli) -> None:
    ended = command("roles")
    assert ended.exit_code == 1
    assert "The embedded database has one role." in ended.stderr


@pytest.mark.parametrize(("process", "others"), [(HTTP, "http"), (WORKER, "worker"), (OPERATOR, "operator")])
def test_the_doctor_says_which_process_the_role_runs(
    roles: Roles, command: Cli, plain_environment: pytest.MonkeyPatch, process: str, others: str
) -> None:
    roles.execute(known_keys.FORGET)
    plain_environment.setenv("BUILDERS_DATABASE_URL", roles.of(process))
    ended = command("doctor")
    assert ended.exit_code == 0, ended.stdout
    assert f"The role {ROLES[process]} has the rights of {others}, and not of the owner." in ended.stdout
    assert ("permission denied for table kit_partitioned" in ended.stdout) is (process == HTTP)


def test_the_doctor_names_missing_months(
    roles: Roles, command: Cli, plain_environment: pytest.MonkeyPatch
) -> None:
    plain_environment.setenv("BUILDERS_DATABASE_URL", roles.of(WORKER))
    assert f"partitions: Missing: catalog_events_{clock.now():%Y_%m}, " in command("doctor").stdout
