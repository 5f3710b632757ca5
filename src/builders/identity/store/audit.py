"""What was done with an account, and by whom."""

from datetime import datetime
from uuid import UUID

from psycopg.types.json import Jsonb

from builders.identity.records import About, AuditAction
from builders.kit.db.connections import Conn
from builders.kit.http.callers import Actor

INSERT_ENTRY = """
    INSERT INTO identity_audit
        (account_id, id, created_at, action, actor_type, actor_id, actor_label, request_id, about)
    VALUES (%(account_id)s, %(id)s, %(now)s, %(action)s, %(actor_type)s, %(actor_id)s, %(actor_label)s,
            %(request_id)s, %(about)s)
"""
PAGE = """
    coalesce(json_agg(json_build_object(
               'id', id, 'at', kit_time(created_at), 'action', action,
               'actor', json_build_object('type', actor_type, 'id', actor_id, 'label', actor_label),
               'request_id', request_id, 'about', about
           ) ORDER BY id DESC) FILTER (WHERE nth <= %(limit)s), '[]')::text,
    (array_agg(id) FILTER (WHERE nth = %(limit)s))[1]::text, coalesce(max(nth) > %(limit)s, false)
"""
LIST_ENTRIES = f"""
    SELECT {PAGE} FROM (
        SELECT *, row_number() OVER (ORDER BY id DESC) AS nth FROM (
            SELECT * FROM identity_audit
            WHERE account_id = %(account_id)s AND id < %(after)s
            ORDER BY id DESC LIMIT %(limit)s + 1
        ) AS entries
    ) AS page
"""  # noqa: S608 - of a constant
# A statement of its own, so that each is planned for its index.
LIST_OF_ACTION = f"""
    SELECT {PAGE} FROM (
        SELECT *, row_number() OVER (ORDER BY id DESC) AS nth FROM (
            SELECT * FROM identity_audit
            WHERE account_id = %(account_id)s AND action = %(action)s AND id < %(after)s
            ORDER BY id DESC LIMIT %(limit)s + 1
        ) AS entries
    ) AS page
"""  # noqa: S608 - of a constant


async def insert_entry(
    conn: Conn,
    *,
    account_id: UUID,
    entry_id: UUID,
    action: AuditAction,
    actor: Actor,
    request_id: str | None,
    about: About,
    now: datetime,
) -> None:
    """One more line of the list."""
    await conn.execute(
        INSERT_ENTRY,
        {
            "account_id": account_id,
            "id": entry_id,
            "now": now,
            "action": action,
            "actor_type": actor.type,
            "actor_id": actor.id,
            "actor_label": actor.label,
            "request_id": request_id,
            "about": Jsonb(dict(about)),
        },
    )


async def list_entries(
    conn: Conn, *, account_id: UUID, action: AuditAction | None, after: UUID, limit: int
) -> tuple[str, str, bool]:
    """The JSON of up to `limit` entries older than `after`, the last one's id, and whether more follow."""
    row = {"account_id": account_id, "action": action, "after": after, "limit": limit}
    async with conn.cursor() as cursor:
        await cursor.execute(LIST_ENTRIES if action is None else LIST_OF_ACTION, row)
        found = await cursor.fetchone()
    return ("[]", "", False) if found is None else (found[0], found[1], found[2])
