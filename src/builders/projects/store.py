"""All SQL of projects. Each statement handles any number of projects."""

from collections.abc import Sequence, Set as AbstractSet
from datetime import datetime
from uuid import UUID

from psycopg import AsyncCursor
from psycopg.rows import kwargs_row
from pydantic import TypeAdapter

from builders.kit.db.columns import columns_of, settings_of, typed_columns_of
from builders.kit.db.connections import Conn
from builders.kit.db.queries import query
from builders.kit.values.conflicts import key_columns
from builders.projects.records import Project, ProjectChange, ProjectSpec

_SPECS = TypeAdapter(Sequence[ProjectSpec])
_CHANGES = TypeAdapter(Sequence[ProjectChange])

COLUMNS = columns_of(Project)
NEW = f"jsonb_to_recordset(%(new)s::jsonb) AS new ({typed_columns_of(ProjectSpec)})"
_list_taken_keys = query("""
    SELECT manifest, key FROM unnest(%(manifests)s::text[], %(keys)s::text[]) AS wanted (manifest, key)
    WHERE EXISTS (
        SELECT FROM projects AS project WHERE project.account_id = %(account_id)s
           AND project.manifest = wanted.manifest AND project.manifest_key = wanted.key
           AND project.id <> ALL(%(ids)s::uuid[])
    )
""").set_of(tuple[str, str])
INSERT = f"""
    INSERT INTO projects (account_id, {columns_of(ProjectSpec)}, created_at, updated_at)
    SELECT %(account_id)s, {columns_of(ProjectSpec, "new")}, %(now)s, %(now)s FROM {NEW}
    RETURNING {COLUMNS}
"""
UPDATE = f"""
    UPDATE projects AS project
    SET {settings_of(ProjectSpec, "new")}, version = project.version + 1, updated_at = %(now)s, archived_at = NULL
    FROM {NEW}
    WHERE project.account_id = %(account_id)s AND project.id = new.id
    RETURNING {columns_of(Project, "project")}
"""


# Taken before a project is created or restored and before its slug or key changes: the slugs, the keys and the
# number of projects that are read under this lock stay valid until the commit. Unique indexes decide in any case.
lock_account = query("""
    SELECT pg_advisory_xact_lock(hashtextextended('projects ' || %(account_id)s::uuid, 0))
""").run()
list_slugs = query("""
    SELECT slug, id FROM projects WHERE account_id = %(account_id)s AND archived_at IS NULL
""").pairs(str, UUID)


async def list_taken_keys(
    conn: Conn, *, account_id: UUID, wanted: Sequence[ProjectSpec | ProjectChange]
) -> AbstractSet[tuple[str, str]]:
    """Return those of the wanted keys (manifest, key) that belong to other projects."""
    manifests, keys, ids = key_columns(wanted)
    return await _list_taken_keys(conn, account_id=account_id, manifests=manifests, keys=keys, ids=ids)


async def insert(
    conn: Conn, *, account_id: UUID, specs: Sequence[ProjectSpec], now: datetime
) -> dict[UUID, Project]:
    """Insert projects, each with its slug."""
    row = {"account_id": account_id, "new": _SPECS.dump_json(specs).decode(), "now": now}
    return {each.id: each for each in await (await _cursor(conn).execute(INSERT, row)).fetchall()}


async def update(
    conn: Conn, *, account_id: UUID, changes: Sequence[ProjectChange], now: datetime
) -> dict[UUID, Project]:
    """Update locked projects; archived ones become active."""
    row = {"account_id": account_id, "new": _CHANGES.dump_json(changes).decode(), "now": now}
    return {each.id: each for each in await (await _cursor(conn).execute(UPDATE, row)).fetchall()}


# An archived project loses its manifest key: the manifest may create another project with it.
archive = query(f"""
    UPDATE projects SET archived_at = %(now)s, manifest = NULL, manifest_key = NULL, version = version + 1,
                        updated_at = %(now)s
    WHERE account_id = %(account_id)s AND id = ANY(%(project_ids)s::uuid[])
    RETURNING {COLUMNS}
""").all(Project)
# Not FOR UPDATE: that would block inserts of rows with a foreign key to the project.
lock = query(f"""
    SELECT {COLUMNS} FROM projects WHERE account_id = %(account_id)s AND id = ANY(%(project_ids)s::uuid[])
    ORDER BY id FOR NO KEY UPDATE
""").all(Project)
find = query(f"""
    SELECT {COLUMNS} FROM projects WHERE account_id = %(account_id)s AND id = %(project_id)s
""").one(Project)
# The projects that the manifest manages, or that have one of the ids or slugs.
# A union of queries: each uses its own index.
list_projects = query(f"""
    SELECT {COLUMNS} FROM projects WHERE account_id = %(account_id)s AND id IN (
        SELECT id FROM projects WHERE account_id = %(account_id)s AND manifest = %(manifest)s
        UNION
        SELECT id FROM projects WHERE account_id = %(account_id)s AND slug = ANY(%(slugs)s::text[])
        UNION
        SELECT unnest(%(project_ids)s::uuid[])
    ) ORDER BY id
""").all(Project)
# The empty text is in each name.
_MATCHES = "(strpos(lower(name), lower(%(q)s::text)) > 0 OR strpos(slug, lower(%(q)s::text)) > 0)"
# Newest first, before the id `after`.
list_page = query(f"""
    SELECT {COLUMNS} FROM projects
    WHERE account_id = %(account_id)s AND id < %(after)s AND {_MATCHES} ORDER BY id DESC LIMIT %(limit)s
""").all(Project)
list_active_page = query(f"""
    SELECT {COLUMNS} FROM projects WHERE account_id = %(account_id)s AND id < %(after)s AND archived_at IS NULL
      AND {_MATCHES}
    ORDER BY id DESC LIMIT %(limit)s
""").all(Project)
clear = query("DELETE FROM projects WHERE account_id = %(account_id)s").count()


def _cursor(conn: Conn) -> AsyncCursor[Project]:
    return conn.cursor(row_factory=kwargs_row(Project))
