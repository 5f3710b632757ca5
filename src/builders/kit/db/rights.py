"""What the role of a process may do in the database, checked before it starts.

`migrations/grants.toml` has what each process needs, which a program derives from its statements (decision 0067).
Migrations change tables: they need the rights of the role that owns them.
"""

import re
import tomllib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import NamedTuple

import psycopg

HTTP, WORKER, LOOKUP, OPERATOR = "http", "worker", "lookup", "operator"
# The role of each process, as `builders roles` creates it.
ROLES = {each: f"builders_{each}" for each in (HTTP, WORKER, LOOKUP, OPERATOR)}
MAX_SHOWN = 3  # names in a message

HAS_CITUS = "SELECT to_regclass('pg_catalog.pg_dist_local_group') IS NOT NULL"
IS_COORDINATOR = "SELECT groupid = 0 FROM pg_dist_local_group"
LIMIT_TIME = "SET LOCAL statement_timeout = '3s'"
# The tables of the service are those that belong to the owner of kit_migrations.
GET = """
    WITH installed AS (SELECT relowner FROM pg_class WHERE oid = to_regclass('kit_migrations'))
    SELECT current_user::text, coalesce(current_schema()::text, 'public'), pg_is_in_recovery(),
        coalesce(has_schema_privilege(current_schema(), 'CREATE'), false),
        (SELECT pg_get_userbyid(relowner)::text FROM installed),
        coalesce((SELECT pg_has_role(relowner, 'USAGE') FROM installed), true)
"""
# Those that the role lacks. An object of a migration that is not applied yet is none of them.
LACKED = """
    SELECT privilege || ' on ' || name
    FROM unnest(%s::text[], %s::text[], %s::text[]) AS needed (name, privilege, member)
    WHERE CASE
        WHEN privilege = 'EXECUTE' THEN NOT has_function_privilege(to_regproc(name), privilege)
        WHEN privilege = 'USAGE' THEN NOT has_sequence_privilege(to_regclass(name), privilege)
        WHEN member <> '' THEN EXISTS (
            SELECT FROM pg_attribute WHERE attrelid = to_regclass(name) AND attname = member
                AND NOT has_column_privilege(attrelid, attnum, privilege)
        )
        ELSE NOT has_table_privilege(to_regclass(name), privilege)
    END ORDER BY name, privilege
"""
_PRIVILEGE = re.compile(r"(\w+)(?: \(([^)]+)\))?")


class Right(NamedTuple):
    """A privilege on a table, view, sequence or function, or on a column."""

    name: str
    privilege: str
    column: str = ""


@cache
def load() -> Mapping[str, Collection[Right]]:
    """Return the rights that each process needs."""
    file = resources.files("builders") / "migrations" / "grants.toml"
    listed = tomllib.loads(file.read_text(encoding="utf-8"))
    return {
        process: {right for name, text in objects.items() for right in _read(name, text)}
        for process, objects in listed.items()
    }


def _read(name: str, text: str) -> Iterator[Right]:
    for privilege, columns in _PRIVILEGE.findall(text):
        yield from (Right(name, privilege, column) for column in columns.split(", "))


class RightMissing(Exception):
    """The role lacks a right; the message says which and how to grant it."""

    def __init__(self, reason: str, next_action: str) -> None:
        super().__init__(f"{reason} {next_action}")
        self.reason, self.next_action = reason, next_action


class ReadOnly(RightMissing):
    """The server is a replica, which it may be for the time of a failover only."""


@dataclass(frozen=True, slots=True)
class Rights:
    """The rights of a role."""

    role: str
    schema: str
    is_replica: bool
    may_create: bool  # tables in the schema
    owner: str | None  # of the tables; None before the first migration
    has_rights_of_owner: bool
    is_on_coordinator: bool = True  # of Citus, if the server is a node of a cluster
    lacked: Mapping[str, list[str]] = field(
        default_factory=dict
    )  # what each process needs, as `SELECT on projects`

    def require(self, *processes: str, of_owner: bool = False) -> None:
        """Raise RightMissing unless the role may run the processes, and with `of_owner` also migrations.

        Raise ReadOnly on a replica.
        """
        if self.is_replica:
            raise ReadOnly(
                "The server is a read-only replica.", "Point BUILDERS_DATABASE_URL at the primary server."
            )
        if not self.is_on_coordinator:
            raise RightMissing(
                "The server is a worker node of Citus.", "Point BUILDERS_DATABASE_URL at the coordinator."
            )
        if of_owner and not self.has_rights_of_owner:
            raise RightMissing(
                f"The role {self.role} lacks the rights of {self.owner}, the owner of the tables.",
                f"Run the command as {self.owner}, and `builders migrate` before the service starts; or, as an "
                f"administrator of the database server: GRANT {self.owner} TO {self.role}.",
            )
        if (of_owner or self.owner is None) and not self.may_create:
            raise RightMissing(
                f"The role {self.role} may not create tables in the database.",
                f"As the database's owner: GRANT CREATE ON SCHEMA {self.schema} TO {self.role}, or let it own the "
                "database.",
            )
        lacked = [right for process in processes for right in self.lacked[process]]
        if lacked:
            listed = ", ".join(lacked[:MAX_SHOWN]) + (" …" if len(lacked) > MAX_SHOWN else "")
            others = ", ".join(ROLES[each] for each in processes if ROLES[each] != self.role)
            then = f", and as an administrator: GRANT {others} TO {self.role}" if others else ""
            raise RightMissing(
                f"The role {self.role} lacks rights of `{'` and `'.join(processes)}`: {listed}.",
                f"Run `builders roles` as {self.owner}{then}.",
            )


def get(conn: psycopg.Connection) -> Rights:
    """Return the rights of the connection's role, within three seconds."""
    with conn.transaction():
        conn.execute(LIMIT_TIME)
        [row] = conn.execute(GET).fetchall()
        has_citus = conn.execute(HAS_CITUS).fetchone() == (True,)
        is_on_coordinator = not has_citus or conn.execute(IS_COORDINATOR).fetchone() == (True,)
        lacked = {process: _list_lacked(conn, needed) for process, needed in load().items()}
    return Rights(*(*row, is_on_coordinator, lacked))


def _list_lacked(conn: psycopg.Connection, needed: Collection[Right]) -> list[str]:
    columns = [list(column) for column in zip(*needed, strict=True)]
    return [right for (right,) in conn.execute(LACKED, columns).fetchall()]


def require(conninfo: str, *processes: str) -> None:
    """Raise RightMissing as Rights does, and psycopg.Error."""
    with psycopg.connect(conninfo, connect_timeout=5) as conn:
        get(conn).require(*processes)
