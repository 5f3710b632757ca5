"""Roles of the database that do not own the tables: what starts under them, and what is said."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import make_conninfo

from builders.kit.db import known_keys, migrations
from builders.kit.values import ids
from tests.cli.conftest import Cli
from tests.cli.databases import own_database
from tests.cli.serving import Serving, builders, data_folder

CREATE_LOOKUP_ROLE = """
    DO $$ BEGIN
        IF to_regrole('builders_lookup') IS NULL THEN CREATE ROLE builders_lookup NOLOGIN; END IF;
    EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL;
    END $$
"""


@dataclass(frozen=True, slots=True)
class Roles:
    """A migrated database, whose owner has granted reading and writing to a user."""

    admin: str  # the address of a database as an administrator, its owner and its user
    owner: str
    user: str
    user_name: str

    def execute(self, statement: str) -> None:
        """Run a statement as an administrator; {owner} and {user} are the names."""
        with psycopg.connect(self.admin, autocommit=True) as conn:
            conn.execute(sql.SQL(statement).format(user=sql.Identifier(self.user_name)))


@pytest.fixture(scope="module")
def roles(server: str) -> Iterator[Roles]:
    owner, user = (f"{name}_{ids.new().hex}" for name in ("owner", "user"))
    with own_database(server) as admin:
        with psycopg.connect(admin, autocommit=True) as conn:
            for name in (owner, user):
                conn.execute(sql.SQL("CREATE ROLE {} LOGIN PASSWORD 'secret'").format(sql.Identifier(name)))
            conn.execute(sql.SQL("GRANT CREATE ON SCHEMA public TO {}").format(sql.Identifier(owner)))
        by_owner, by_user = (make_conninfo(admin, user=each, password="secret") for each in (owner, user))
        migrations.migrate(by_owner)
        found = Roles(admin, by_owner, by_user, user)
        for what in ("SELECT, INSERT, UPDATE, DELETE ON ALL TABLES", "USAGE ON ALL SEQUENCES"):
            found.execute(f"GRANT {what} IN SCHEMA public TO {{user}}")
        yield found
        with psycopg.connect(admin, autocommit=True) as conn:
            for name in (owner, user):
                conn.execute(sql.SQL("DROP OWNED BY {0} CASCADE; DROP ROLE {0}").format(sql.Identifier(name)))


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


@pytest.mark.parametrize("words", [("serve", "--port", "0"), ("serve", "--worker-only")])
def test_a_worker_without_the_rights_of_the_owner_ends_with_the_missing_right(
    roles: Roles, data: Path, words: tuple[str, ...]
) -> None:
    roles.execute("GRANT CREATE ON SCHEMA public TO {user}")  # so that it could migrate where nothing is pending
    reason, action = refused(data, *words, url=roles.user)
    roles.execute("REVOKE CREATE ON SCHEMA public FROM {user}")
    assert reason.startswith(f"Error: The role {roles.user_name} lacks the rights of owner_")
    assert f" TO {roles.user_name}; or run only `builders serve --http-only`" in action


def test_a_worker_by_itself_ends_with_the_missing_right(
    roles: Roles, command: Cli, plain_environment: pytest.MonkeyPatch
) -> None:
    plain_environment.setenv("BUILDERS_DATABASE_URL", roles.user)
    ended = command("worker")
    assert ended.exit_code == 1
    assert ended.stderr.startswith(f"Error: The role {roles.user_name} lacks the rights of owner_")


def test_http_alone_starts_without_the_rights_of_the_owner_and_commands_write(
    roles: Roles, data: Path, command: Cli, plain_environment: pytest.MonkeyPatch
) -> None:
    plain_environment.setenv("BUILDERS_DATABASE_URL", roles.user)
    plain_environment.setenv("BUILDERS_DATA_DIR", str(data))
    with Serving(data, "--http-only", "--no-migrate", BUILDERS_DATABASE_URL=roles.user) as serving:
        serving.wait()
        account = ("--account", "ada@example.net")
        assert command("accounts", "create", "--email", account[1]).exit_code == 0
        key = command("keys", "create", *account, "--kind", "live", "--preset", "developer_full")
        assert key.exit_code == 0, key.stderr
        assert serving.status("/v1/api-keys", key.stdout.splitlines()[0]) == 200
        assert serving.stop() == 0


def test_http_without_the_right_to_write_a_table_ends_with_it(roles: Roles, data: Path) -> None:
    roles.execute("REVOKE INSERT ON projects FROM {user}")
    reason, action = refused(data, "serve", "--http-only", "--port", "0", url=roles.user)
    roles.execute("GRANT INSERT ON projects TO {user}")
    assert reason == f"Error: The role {roles.user_name} may not read and write projects."
    assert "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public" in action


def test_pending_migrations_need_the_rights_of_the_owner(roles: Roles, data: Path) -> None:
    roles.execute("UPDATE kit_migrations SET name = '~' || name WHERE name = '0001_kit.sql'")
    reason, _ = refused(data, "serve", "--http-only", "--port", "0", url=roles.user)
    roles.execute("UPDATE kit_migrations SET name = '0001_kit.sql' WHERE name = '~0001_kit.sql'")
    assert "which migrations and the worker need." in reason


def test_a_role_that_may_not_create_tables_begins_no_database(server: str, roles: Roles, data: Path) -> None:
    with own_database(server) as empty:
        url = make_conninfo(empty, user=roles.user_name, password="secret")
        reason, action = refused(data, "serve", "--port", "0", url=url)
    assert reason == f"Error: The role {roles.user_name} may not create tables in the database."
    assert "GRANT CREATE ON SCHEMA public TO" in action


def test_a_refused_role_of_the_look_up_server_ends_the_service(roles: Roles, data: Path) -> None:
    roles.execute(CREATE_LOOKUP_ROLE)  # of the whole server, where another test may have created it
    ended = builders(
        data,
        *("serve", "--http-only", "--port", "0"),
        BUILDERS_DATABASE_URL=roles.user,
        BUILDERS_LOOKUP_LISTEN=f"unix:{data.parent}/lookup",
    )
    assert ended.returncode == 1, ended.stderr
    assert "Traceback" not in ended.stderr
    reason, action = ended.stderr.splitlines()[-2:]
    assert reason.startswith("Error: `lookup` cannot start: The role builders_lookup cannot read aliases_lookups.")
    assert "as the owner: GRANT SELECT ON aliases_lookups" in action
