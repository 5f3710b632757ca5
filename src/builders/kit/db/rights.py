"""What the role of the service may do in the database, checked before a process starts.

HTTP reads and writes rows. The worker creates and drops the tables of months, and migrations change tables: both
need the rights of the role that owns the tables.
"""

from dataclasses import dataclass

import psycopg

MAX_SHOWN = 3  # names in a message

HAS_CITUS = "SELECT to_regclass('pg_catalog.pg_dist_local_group') IS NOT NULL"
IS_COORDINATOR = "SELECT groupid = 0 FROM pg_dist_local_group"
LIMIT_TIME = "SET LOCAL statement_timeout = '3s'"
# The tables of the service are those that belong to the owner of kit_migrations. Rights on a partition are not
# needed, nor on the sequence of an identity column. A process only reads kit_migrations.
GET = """
    WITH installed AS (SELECT relowner, relnamespace FROM pg_class WHERE oid = to_regclass('kit_migrations')),
    parts AS (
        SELECT oid, relname::text AS name, relkind FROM pg_class JOIN installed USING (relowner, relnamespace)
        WHERE relkind IN ('r', 'p', 'S') AND NOT relispartition
            AND NOT EXISTS (SELECT FROM pg_depend WHERE objid = pg_class.oid AND deptype = 'i')
    ),
    refused AS (
        SELECT name FROM parts
        WHERE CASE
            WHEN relkind = 'S' THEN NOT has_sequence_privilege(oid, 'USAGE')
            WHEN name = 'kit_migrations' THEN NOT has_table_privilege(oid, 'SELECT')
            ELSE NOT (
                has_table_privilege(oid, 'SELECT') AND has_table_privilege(oid, 'INSERT')
                AND has_table_privilege(oid, 'UPDATE') AND has_table_privilege(oid, 'DELETE')
            )
        END
    )
    SELECT current_user::text, coalesce(current_schema()::text, 'public'), pg_is_in_recovery(),
        coalesce(has_schema_privilege(current_schema(), 'CREATE'), false),
        (SELECT pg_get_userbyid(relowner)::text FROM installed),
        coalesce((SELECT pg_has_role(relowner, 'USAGE') FROM installed), true),
        ARRAY(SELECT name FROM refused ORDER BY name)
"""


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
    refused: list[str]  # tables and sequences that it may not read and write
    is_on_coordinator: bool = True  # of Citus, if the server is a node of a cluster

    def require(self, *, of_owner: bool) -> None:
        """Raise RightMissing unless the role may run HTTP, and with `of_owner` also the worker and migrations.

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
                f"The role {self.role} lacks the rights of {self.owner}, the owner of the tables, which "
                "migrations and the worker need.",
                f"As an administrator of the database server: GRANT {self.owner} TO {self.role}; or run only "
                "`builders serve --http-only` as this role.",
            )
        if (of_owner or self.owner is None) and not self.may_create:
            raise RightMissing(
                f"The role {self.role} may not create tables in the database.",
                f"As the database's owner: GRANT CREATE ON SCHEMA {self.schema} TO {self.role}, or let it own the "
                "database.",
            )
        if self.refused:
            listed = ", ".join(self.refused[:MAX_SHOWN]) + (" …" if len(self.refused) > MAX_SHOWN else "")
            within = f"IN SCHEMA {self.schema} TO {self.role};"
            raise RightMissing(
                f"The role {self.role} may not read and write {listed}.",
                f"As {self.owner}: GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES {within} "
                f"GRANT USAGE ON ALL SEQUENCES {within}",
            )


def get(conn: psycopg.Connection) -> Rights:
    """Return the rights of the connection's role, within three seconds."""
    with conn.transaction():
        conn.execute(LIMIT_TIME)
        [row] = conn.execute(GET).fetchall()
        has_citus = conn.execute(HAS_CITUS).fetchone() == (True,)
        is_on_coordinator = not has_citus or conn.execute(IS_COORDINATOR).fetchone() == (True,)
    return Rights(*(*row, is_on_coordinator))


def require(conninfo: str, *, of_owner: bool) -> None:
    """Raise RightMissing as Rights does, and psycopg.Error."""
    with psycopg.connect(conninfo, connect_timeout=5) as conn:
        get(conn).require(of_owner=of_owner)
