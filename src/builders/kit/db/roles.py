"""The roles of the processes: the owner of the tables grants each one what its statements need (decision 0067)."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import LiteralString

import psycopg
from psycopg import sql

from builders.kit.db import rights
from builders.kit.db.rights import HTTP, LOOKUP, ROLES, Right

LOCK = "SELECT pg_advisory_xact_lock(hashtextextended('builders_roles', 0))"
PRESENT = "SELECT rolname::text FROM pg_roles WHERE rolname = ANY(%s)"
IS_MEMBER = "SELECT pg_has_role(%s, %s, 'MEMBER')"
HAS_CITUS = "SELECT to_regclass('pg_catalog.pg_dist_local_group') IS NOT NULL"
# What the owner of the tables has, and what it has granted. The sequence of an identity column needs no right.
OBJECTS = """
    WITH installed AS (SELECT relowner, relnamespace FROM pg_class WHERE oid = to_regclass('kit_migrations'))
    SELECT relname::text, CASE relkind WHEN 'S' THEN 'SEQUENCE' ELSE 'TABLE' END
    FROM pg_class JOIN installed USING (relowner, relnamespace) WHERE relkind IN ('r', 'p', 'v', 'S')
    UNION ALL
    SELECT proname::text, 'FUNCTION'
    FROM pg_proc JOIN installed ON relowner = proowner AND relnamespace = pronamespace
"""
HELD = """
    WITH installed AS (SELECT relowner, relnamespace FROM pg_class WHERE oid = to_regclass('kit_migrations')),
    held AS (
        SELECT relname AS name, '' AS member, aclexplode(relacl) AS granted
        FROM pg_class JOIN installed USING (relowner, relnamespace)
        UNION ALL
        SELECT relname, attname, aclexplode(attacl)
        FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid JOIN installed USING (relowner, relnamespace)
        UNION ALL
        SELECT proname, '', aclexplode(proacl)
        FROM pg_proc JOIN installed ON relowner = proowner AND relnamespace = pronamespace
    )
    SELECT rolname::text, name::text, (granted).privilege_type, member::text
    FROM held JOIN pg_roles ON pg_roles.oid = (granted).grantee WHERE rolname = ANY(%s)
"""
# The words of a statement that are no names.
WORDS: Sequence[LiteralString] = (
    *(
        "TABLE",
        "SEQUENCE",
        "FUNCTION",
        "SELECT",
        "INSERT",
        "UPDATE",
        "DELETE",
        "TRUNCATE",
        "REFERENCES",
        "TRIGGER",
    ),
    *("MAINTAIN", "USAGE", "EXECUTE", "GRANT", "REVOKE", "TO", "FROM"),
)
_WORDS = {each: sql.SQL(each) for each in WORDS}


def plan(conn: psycopg.Connection) -> list[sql.Composed]:
    """Return the statements that create missing roles, and grant and revoke what differs. Raise RightMissing."""
    rights.get(conn).require(of_owner=True)
    if conn.execute(HAS_CITUS).fetchone() == (True,):
        reason = "The nodes of Citus do not get rights on columns."
        raise rights.RightMissing(reason, "On a cluster all processes use the role of the owner.")
    present = {name for (name,) in conn.execute(PRESENT, [[*ROLES.values()]]).fetchall()}
    missing = [name for name in ROLES.values() if name not in present]
    steps = [sql.SQL("CREATE ROLE {}").format(sql.Identifier(name)) for name in missing]
    both = [ROLES[HTTP], ROLES[LOOKUP]]  # `serve` starts both servers by one URL
    if {*both} - present or conn.execute(IS_MEMBER, both).fetchone() != (True,):
        steps.append(sql.SQL("GRANT {1} TO {0}").format(*map(sql.Identifier, both)))
    return [*steps, *_changes(conn)]


def grant(conn: psycopg.Connection) -> list[str]:
    """Run the plan in one transaction; return its statements. Raise RightMissing."""
    with conn.transaction():
        conn.execute(LOCK)
        steps = plan(conn)
        texts = [each.as_string(conn) for each in steps]
        try:
            for step in steps:
                conn.execute(step)
        except psycopg.errors.InsufficientPrivilege as error:
            needed = "; ".join(each for each in texts if " ON " not in each)
            action = f"As an administrator of the database server: {needed}. Then repeat the command."
            reason = f"The role {conn.info.user} lacks a right: {error.diag.message_primary}."
            raise rights.RightMissing(reason, action) from None
    return texts


def renew(conninfo: str) -> None:
    """Grant the roles what a migration has added; nothing in a database in which `grant` never ran."""
    with psycopg.connect(conninfo, connect_timeout=5) as conn:
        conn.execute(LOCK)
        if any(role != ROLES[LOOKUP] for role, *_ in conn.execute(HELD, [[*ROLES.values()]]).fetchall()):
            for step in _changes(conn):
                conn.execute(step)


def _changes(conn: psycopg.Connection) -> Iterator[sql.Composed]:
    """Yield a statement for each role and object whose rights are others."""
    kinds: dict[str, str] = dict(conn.execute(OBJECTS).fetchall())
    held = {(role, Right(*right)) for role, *right in conn.execute(HELD, [[*ROLES.values()]]).fetchall()}
    wanted = {
        (ROLES[process], each) for process, own in rights.load().items() for each in own if each.name in kinds
    }
    for verb, preposition, different in (("REVOKE", "FROM", held - wanted), ("GRANT", "TO", wanted - held)):
        by_object: dict[tuple[str, str], list[Right]] = defaultdict(list)
        for role, right in sorted(different):
            by_object[role, right.name].append(right)
        for (role, name), group in by_object.items():
            listed = sql.SQL(", ").join(map(_write, group))
            object_ = sql.SQL("{} {}").format(_WORDS[kinds[name]], sql.Identifier(name))
            words = (_WORDS[verb], listed, sql.SQL("ON"), object_, _WORDS[preposition], sql.Identifier(role))
            yield sql.SQL(" ").join(words)


def _write(right: Right) -> sql.Composable:
    privilege = _WORDS[right.privilege]
    return sql.SQL("{} ({})").format(privilege, sql.Identifier(right.column)) if right.column else privilege
