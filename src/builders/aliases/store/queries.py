"""Aliases as their owners, the check for forwarding loops and mail servers read them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg.rows import class_row, kwargs_row

from builders.aliases.records import LIVE, Alias, AliasFilters, AliasStatus, MapEntry, Name, OwnedAlias
from builders.aliases.store.aliases import COLUMNS, alias_from_row, name_columns
from builders.kit.db.connections import Conn


@dataclass(frozen=True, slots=True, kw_only=True)
class ForwardedAlias:
    """An alias that mail is forwarded to, directly or through other aliases."""

    alias: Alias
    is_own: bool  # of the account in question


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
# The planner removes the conditions of absent filters, which are NULL. So this is not prepared: a plan for any
# filters would read all aliases of the account.
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

# An advisory lock for the routes of an account, and one for the routes between accounts.
LOCK_ROUTES = "SELECT pg_advisory_xact_lock(hashtextextended(%(account_id)s::text || ' routes', 0))"
LOCK_ROUTES_BETWEEN = "SELECT pg_advisory_xact_lock(hashtextextended('routes between accounts', 0))"
# Follows the destinations of aliases to aliases, until there are no more. It cannot determine which separators a
# domain ignores, and tries all three forms of a key: so it can find aliases that a destination does not mean.
# LATERAL with LIMIT or OFFSET makes PostgreSQL find each row by its key, even if its estimates are bad.
LIST_FORWARDED = f"""
    WITH RECURSIVE ahead (account_id, id) AS (
        -- The aliases to start from: by name, or the account's own by id.
        (SELECT name.account_id, name.alias_id
         FROM unnest(%(domains)s::text[], %(keys)s::text[]) AS wanted (domain, key)
         CROSS JOIN LATERAL (
             SELECT account_id, alias_id FROM aliases_names
             WHERE realm = %(realm)s AND domain = wanted.domain AND key = wanted.key AND state = 'claimed' LIMIT 1
         ) AS name
         UNION
         SELECT %(account_id)s::uuid, unnest(%(alias_ids)s::uuid[]))
        UNION
        -- The aliases that their destinations name, without the tag after a `+`.
        SELECT name.account_id, name.alias_id FROM ahead
        CROSS JOIN LATERAL (
            SELECT split_part(lower(split_part(email, '@', 1)), '+', 1) AS written,
                   split_part(email, '@', 2) AS domain
            FROM aliases_forwards WHERE account_id = ahead.account_id AND alias_id = ahead.id OFFSET 0
        ) AS sent
        CROSS JOIN LATERAL (
            SELECT account_id, alias_id FROM aliases_names
            WHERE realm = %(realm)s AND domain = sent.domain AND state = 'claimed'
              AND key IN (sent.written, replace(sent.written, '.', ''), translate(sent.written, '.-_', ''))
            LIMIT 3
        ) AS name
    )
    SELECT {COLUMNS}, alias.account_id = %(account_id)s AS is_own FROM ahead CROSS JOIN LATERAL (
        SELECT * FROM aliases WHERE account_id = ahead.account_id AND id = ahead.id AND status <> 'deleted' LIMIT 1
    ) AS alias
"""
# The oldest open transaction: the changes of all earlier ones are visible, or rolled back.
HORIZON = "SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint"
_CONFIRMED = """
    ARRAY(
        SELECT forward.email FROM aliases_forwards AS forward JOIN aliases_destinations AS destination
          ON destination.account_id = forward.account_id AND destination.email = forward.email
        WHERE forward.account_id = alias.account_id AND forward.alias_id = alias.id
          AND destination.verified_at IS NOT NULL AND alias.status = 'active'
        ORDER BY forward.position
    ) AS destinations
"""
LIST_ACTIVE = f"""
    SELECT alias.account_id, alias.id, alias.domain, alias.key, alias.local_part, {_CONFIRMED}
    FROM aliases AS alias
    WHERE alias.status = 'active' AND (alias.account_id, alias.id) > (%(after_account)s, %(after_id)s)
    ORDER BY alias.account_id, alias.id LIMIT %(limit)s
"""
# If another alias has the name, only that one is listed: an entry of this one would remove it from the map.
LIST_CHANGED = f"""
    SELECT alias.account_id, alias.id, alias.domain, alias.key, alias.local_part, {_CONFIRMED},
           alias.changed_in::text, alias.serial
    FROM aliases AS alias
    WHERE (alias.changed_in, alias.serial) > (%(after_change)s::text::xid8, %(after_serial)s)
      AND alias.changed_in < %(horizon)s::text::xid8
      AND NOT EXISTS (
          SELECT FROM aliases_names AS name
          WHERE name.realm = %(realm)s AND name.domain = alias.domain AND name.key = alias.key
            AND name.state = 'claimed' AND name.alias_id <> alias.id
      )
    ORDER BY alias.changed_in, alias.serial LIMIT %(limit)s
"""
LIST_DOMAINS = "SELECT DISTINCT domain FROM aliases_names WHERE realm = %(realm)s ORDER BY domain"


def _owned_from_row(
    *, resumes_as: str | None, verified: Sequence[str], quarantined_until: datetime | None, **columns: Any
) -> OwnedAlias:
    return OwnedAlias(
        alias=alias_from_row(**columns),
        resumes_as=None if resumes_as is None else AliasStatus(resumes_as),
        verified=frozenset(verified),
        quarantined_until=quarantined_until,
    )


def _forwarded_from_row(*, is_own: bool, **columns: Any) -> ForwardedAlias:
    return ForwardedAlias(alias=alias_from_row(**columns), is_own=is_own)


async def list_page(
    conn: Conn, *, realm: UUID, account_id: UUID, filters: AliasFilters, after: UUID, limit: int, now: datetime
) -> list[OwnedAlias]:
    """Return the account's aliases with ids below `after` that fit the filters, newest first."""
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
        "spelled": f"{_escape_like(spelled)}{'' if at else '%'}" if filters.q else None,
        "domain_begins": f"{_escape_like(domain)}%" if at else None,
    }
    async with conn.cursor(row_factory=kwargs_row(_owned_from_row)) as cursor:
        await cursor.execute(PAGE, row, prepare=False)
        return await cursor.fetchall()


def _escape_like(text: str) -> str:
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


async def find(
    conn: Conn, *, realm: UUID, account_id: UUID, alias_id: UUID, now: datetime, lock: bool = False
) -> OwnedAlias | None:
    """Return an alias of the account, active or released."""
    row = {"realm": realm, "account_id": account_id, "id": alias_id, "now": now}
    if lock:  # a separate statement: the next one sees rows that were committed while this one waited
        await conn.execute(LOCK, row)
    async with conn.cursor(row_factory=kwargs_row(_owned_from_row)) as cursor:
        await cursor.execute(FIND, row)
        return await cursor.fetchone()


async def lock_routes(conn: Conn, *, account_id: UUID) -> None:
    """Block other changes of the account's destinations until the transaction ends."""
    await conn.execute(LOCK_ROUTES, {"account_id": account_id})


async def lock_routes_between(conn: Conn) -> None:
    """Block other changes of routes between accounts until the transaction ends."""
    await conn.execute(LOCK_ROUTES_BETWEEN)


async def list_forwarded(
    conn: Conn, *, realm: UUID, account_id: UUID, names: Sequence[Name], alias_ids: Sequence[UUID]
) -> list[ForwardedAlias]:
    """Return the aliases with these names or ids, and all that they forward to, of any account."""
    row = {"realm": realm, "account_id": account_id, "alias_ids": list(alias_ids), **name_columns(names)}
    async with conn.cursor(row_factory=kwargs_row(_forwarded_from_row)) as cursor:
        await cursor.execute(LIST_FORWARDED, row)
        return await cursor.fetchall()


async def get_horizon(conn: Conn) -> int:
    """Return the id of the oldest open transaction, or of the next one."""
    row = await (await conn.execute(HORIZON)).fetchone()
    assert row is not None  # noqa: S101 - a SELECT without FROM has a row
    return int(row[0])


async def list_active(conn: Conn, *, after: tuple[UUID, UUID], limit: int) -> Sequence[MapEntry]:
    """Return active names after that account and alias, by account and alias, with confirmed destinations."""
    async with conn.cursor(row_factory=class_row(MapEntry)) as cursor:
        await cursor.execute(LIST_ACTIVE, {"after_account": after[0], "after_id": after[1], "limit": limit})
        return await cursor.fetchall()


async def list_changed(conn: Conn, *, after: tuple[str, int], horizon: int, limit: int) -> Sequence[MapEntry]:
    """Return names after that change and before the horizon, in the sequence of their changes."""
    row = {"realm": LIVE, "after_change": after[0], "after_serial": after[1], "limit": limit}
    async with conn.cursor(row_factory=class_row(MapEntry)) as cursor:
        await cursor.execute(LIST_CHANGED, {**row, "horizon": str(horizon)})
        return await cursor.fetchall()


async def list_live_domains(conn: Conn) -> Sequence[str]:
    """Return every domain with a live name."""
    return [each[0] for each in await (await conn.execute(LIST_DOMAINS, {"realm": LIVE})).fetchall()]
