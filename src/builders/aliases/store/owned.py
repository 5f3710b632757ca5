"""Aliases as their owners list, read and follow them."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg.rows import kwargs_row

from builders.aliases.records import AliasStatus, Filters, Owned
from builders.aliases.store.aliases import COLUMNS, alias
from builders.kit.db.connections import Conn

OWNED = """
    alias.resumes_as, name.until AS quarantined_until, ARRAY(
        SELECT destination.email FROM aliases_forwards AS forward JOIN aliases_destinations AS destination
          ON destination.account_id = forward.account_id AND destination.email = forward.email
        WHERE forward.account_id = alias.account_id AND forward.alias_id = alias.id
          AND destination.verified_at IS NOT NULL
    ) AS verified
    FROM aliases AS alias LEFT JOIN aliases_names AS name
      ON alias.status = 'deleted' AND name.realm = %(realm)s AND name.domain = alias.domain
     AND name.key = alias.key AND name.account_id = alias.account_id AND name.alias_id = alias.id
     AND name.state = 'quarantined' AND name.until > %(now)s
"""
# What is not asked for is NULL, and folded away when the statement is planned. So it is never prepared: one plan
# for all filters would read all of the account's aliases, whatever the filter.
PAGE = f"""
    SELECT {COLUMNS}, {OWNED}
    WHERE alias.account_id = %(account_id)s AND alias.id < %(after)s
      AND (%(status)s::text IS NULL AND alias.status <> 'deleted' OR alias.status = %(status)s::text)
      AND (%(domain)s::text IS NULL OR alias.domain = %(domain)s::text)
      AND (%(project_id)s::uuid IS NULL OR alias.project_id = %(project_id)s::uuid)
      AND (%(manifest)s::text IS NULL OR alias.manifest = %(manifest)s::text)
      AND (%(spelled)s::text IS NULL OR alias.local_part LIKE %(spelled)s::text)
      AND (%(domain_begins)s::text IS NULL OR alias.domain LIKE %(domain_begins)s::text)
    ORDER BY alias.id DESC LIMIT %(limit)s
"""
FIND = f"""
    SELECT {COLUMNS}, {OWNED} WHERE alias.account_id = %(account_id)s AND alias.id = %(id)s
"""
LOCK = "SELECT FROM aliases WHERE account_id = %(account_id)s AND id = %(id)s FOR UPDATE"


def _owned(
    *, resumes_as: str | None, verified: Sequence[str], quarantined_until: datetime | None, **columns: Any
) -> Owned:
    return Owned(
        alias=alias(**columns),
        resumes_as=None if resumes_as is None else AliasStatus(resumes_as),
        verified=frozenset(verified),
        quarantined_until=quarantined_until,
    )


async def list_page(
    conn: Conn, *, realm: UUID, account_id: UUID, filters: Filters, after: UUID, limit: int, now: datetime
) -> list[Owned]:
    """The account's aliases with ids below `after` that fit the filters, newest first."""
    spelled, at, domain = (filters.q or "").partition("@")
    row = {
        "realm": realm,
        "account_id": account_id,
        "after": after,
        "limit": limit,
        "now": now,
        "status": filters.status,
        "domain": filters.domain,
        "project_id": filters.project_id,
        "manifest": filters.manifest,
        "spelled": f"{_literal(spelled)}{'' if at else '%'}" if filters.q else None,
        "domain_begins": f"{_literal(domain)}%" if at else None,
    }
    async with conn.cursor(row_factory=kwargs_row(_owned)) as cursor:
        await cursor.execute(PAGE, row, prepare=False)
        return await cursor.fetchall()


def _literal(text: str) -> str:
    """As LIKE takes it for itself."""
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


async def find(
    conn: Conn, *, realm: UUID, account_id: UUID, alias_id: UUID, now: datetime, lock: bool = False
) -> Owned | None:
    """One alias of the account, also a released one."""
    row = {"realm": realm, "account_id": account_id, "id": alias_id, "now": now}
    if lock:  # by a statement of its own: the other then sees what whoever had the lock has done
        await conn.execute(LOCK, row)
    async with conn.cursor(row_factory=kwargs_row(_owned)) as cursor:
        await cursor.execute(FIND, row)
        return await cursor.fetchone()
