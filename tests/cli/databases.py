"""Separate databases, for tests that would disturb others, and the roles of processes in them."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import psycopg
from psycopg import sql
from psycopg.conninfo import make_conninfo

from builders.kit.db import migrations, roles
from builders.kit.db.rights import HTTP, LOOKUP, ROLES
from builders.kit.values import ids

PASSWORD = "secret"
# Roles are of the whole server, where several tests may do this at once.
LOCK = "SELECT pg_advisory_xact_lock(hashtextextended('builders_roles', 0))"
IS_MISSING = "SELECT to_regrole(%s) IS NULL"


@contextmanager
def own_database(server: str) -> Iterator[str]:
    """Create an empty database on the server, and drop it afterwards."""
    name = sql.Identifier(f"test_{ids.new().hex}")
    with psycopg.connect(server, autocommit=True) as conn:
        conn.execute(sql.SQL("CREATE DATABASE {}").format(name))
    yield make_conninfo(server, dbname=name.as_string().strip('"'))
    with psycopg.connect(server, autocommit=True) as conn:
        conn.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(name))


@dataclass(frozen=True, slots=True, kw_only=True)
class Roles:
    """A migrated database with the roles of the processes, and a user who has none of their rights."""

    admin: str  # the address of the database as an administrator, as its owner and as the user
    owner: str
    user: str
    user_name: str

    def of(self, process: str) -> str:
        """Return the address of the database as the role of a process."""
        return make_conninfo(self.admin, user=ROLES[process], password=PASSWORD)

    def execute(self, statement: str) -> None:
        """Run a statement as an administrator; {user} is its name."""
        with psycopg.connect(self.admin, autocommit=True) as conn:
            conn.execute(sql.SQL(statement).format(user=sql.Identifier(self.user_name)))


@contextmanager
def database_with_roles(server: str) -> Iterator[Roles]:
    """Create a database as an operator does: roles by the administrator, tables and rights by the owner."""
    owner, user = (f"{name}_{ids.new().hex}" for name in ("owner", "user"))
    with own_database(server) as admin:
        with psycopg.connect(server) as conn:
            conn.execute(LOCK)
            for name in (owner, user, *ROLES.values()):
                if conn.execute(IS_MISSING, [name]).fetchone() == (True,):
                    conn.execute(sql.SQL("CREATE ROLE {}").format(sql.Identifier(name)))
                login = sql.SQL("ALTER ROLE {} LOGIN PASSWORD {}")
                conn.execute(login.format(sql.Identifier(name), sql.Literal(PASSWORD)))
            member = sql.SQL("GRANT {} TO {}")
            conn.execute(member.format(sql.Identifier(ROLES[LOOKUP]), sql.Identifier(ROLES[HTTP])))
        with psycopg.connect(admin, autocommit=True) as conn:
            conn.execute(sql.SQL("GRANT CREATE ON SCHEMA public TO {}").format(sql.Identifier(owner)))
        by_owner, by_user = (make_conninfo(admin, user=each, password=PASSWORD) for each in (owner, user))
        migrations.migrate(by_owner)
        with psycopg.connect(by_owner, autocommit=True) as conn:
            roles.grant(conn)
        yield Roles(admin=admin, owner=by_owner, user=by_user, user_name=user)
        with psycopg.connect(admin, autocommit=True) as conn:
            for name in (owner, user):
                conn.execute(sql.SQL("DROP OWNED BY {0} CASCADE; DROP ROLE {0}").format(sql.Identifier(name)))
