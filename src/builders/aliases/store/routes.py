"""Where names send mail on to names."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from psycopg.rows import kwargs_row

from builders.aliases.records import Name
from builders.aliases.rows import Ahead
from builders.aliases.store.aliases import COLUMNS, alias
from builders.kit.db.connections import Conn

LOCK = "SELECT pg_advisory_xact_lock(hashtextextended(%(account_id)s::text || ' routes', 0))"
LOCK_BETWEEN = "SELECT pg_advisory_xact_lock(hashtextextended('routes between accounts', 0))"
# The names that mail to the given ones is sent on to, and so on. Which separators a domain ignores is not known
# here, so some may be others than a destination means. LATERAL with LIMIT or OFFSET has each row looked up by its
# key, whatever PostgreSQL believes of how many there are.
LIST_AHEAD = f"""
    WITH RECURSIVE ahead (account_id, id) AS (
        (SELECT name.account_id, name.alias_id
         FROM unnest(%(domains)s::text[], %(keys)s::text[]) AS wanted (domain, key)
         CROSS JOIN LATERAL (
             SELECT account_id, alias_id FROM aliases_names
             WHERE realm = %(realm)s AND domain = wanted.domain AND key = wanted.key AND state = 'claimed' LIMIT 1
         ) AS name
         UNION
         SELECT %(account_id)s::uuid, unnest(%(alias_ids)s::uuid[]))
        UNION
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
"""  # noqa: S608 - of constants


def _ahead(*, is_own: bool, **columns: Any) -> Ahead:
    return Ahead(alias=alias(**columns), is_own=is_own)


async def lock(conn: Conn, *, account_id: UUID) -> None:
    """Until the transaction ends nobody else of the account changes where its names forward to."""
    await conn.execute(LOCK, {"account_id": account_id})


async def lock_between(conn: Conn) -> None:
    """Until the transaction ends no other account changes where its names forward to over another's."""
    await conn.execute(LOCK_BETWEEN)


async def list_ahead(
    conn: Conn, *, realm: UUID, account_id: UUID, names: Sequence[Name], alias_ids: Sequence[UUID]
) -> list[Ahead]:
    """The aliases that mail to the names, or to the account's aliases, goes to or is sent on to."""
    row = {"realm": realm, "account_id": account_id, "alias_ids": list(alias_ids)}
    columns = {"domains": [name.domain for name in names], "keys": [name.key for name in names]}
    async with conn.cursor(row_factory=kwargs_row(_ahead)) as cursor:
        await cursor.execute(LIST_AHEAD, {**row, **columns})
        return await cursor.fetchall()
