"""Destinations of aliases, and the links by which their recipients confirm."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from psycopg.rows import class_row

from builders.aliases.records import AliasChange, AliasSpec, Destination
from builders.aliases.store.aliases import CHANGED
from builders.kit.db.connections import Conn


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfirmationLink:
    """The destination of a mailed link."""

    account_id: UUID
    email: str
    used_at: datetime | None


DELETE_FORWARDS = """
    DELETE FROM aliases_forwards WHERE account_id = %(account_id)s AND alias_id = ANY(%(alias_ids)s::uuid[])"""
INSERT_FORWARDS = """
    -- 1. Each address, and when it was confirmed: the account's own now; another one with any of its spellings, as
    --    case does not count; in a sandbox now.
    WITH wanted AS (
        SELECT DISTINCT email, CASE WHEN lower(email) = %(own)s THEN %(now)s ELSE coalesce((
            SELECT min(other.verified_at) FROM aliases_destinations AS other
            WHERE other.account_id = %(account_id)s AND lower(other.email) = lower(wanted.email)
        ), %(verified_at)s::timestamptz) END AS verified_at
        FROM unnest(%(emails)s::text[]) AS wanted (email)
    -- 2. The addresses that are new to the account; a confirmation is requested for those without one.
    ), known AS (
        INSERT INTO aliases_destinations AS destination
            (account_id, email, created_at, verified_at, wanted_at, asks)
        SELECT %(account_id)s::uuid, email, %(now)s::timestamptz, verified_at,
               CASE WHEN verified_at IS NULL THEN %(wanted_at)s::timestamptz END,
               CASE WHEN verified_at IS NULL AND %(wanted_at)s::timestamptz IS NOT NULL
                    THEN ARRAY[%(wanted_at)s::timestamptz] ELSE '{}' END
        FROM wanted ORDER BY email
        -- A known address whose request was cancelled before a message was sent is requested again.
        ON CONFLICT (account_id, email) DO UPDATE
        SET wanted_at = excluded.wanted_at,
            asks = destination.asks[cardinality(destination.asks) - 8:] || excluded.asks
        WHERE destination.verified_at IS NULL AND destination.ask_at IS NULL AND destination.wanted_at IS NULL
          AND destination.message_id IS NULL
    )
    -- 3. The destinations of each alias, by position.
    INSERT INTO aliases_forwards (account_id, alias_id, position, email)
    SELECT %(account_id)s, alias_id, position, email
    FROM unnest(%(alias_ids)s::uuid[], %(positions)s::int[], %(emails)s::text[]) AS new (alias_id, position, email)
"""
LIST_UNCONFIRMED = """
    SELECT DISTINCT forward.email
    FROM aliases_forwards AS forward
    JOIN aliases AS alias
      ON alias.account_id = forward.account_id AND alias.id = forward.alias_id AND alias.status <> 'deleted'
    JOIN aliases_destinations AS destination
      ON destination.account_id = forward.account_id AND destination.email = forward.email
     AND destination.verified_at IS NULL
    WHERE forward.account_id = %(account_id)s AND forward.alias_id = ANY(%(alias_ids)s::uuid[])
    ORDER BY forward.email LIMIT %(limit)s
"""
_DESTINATIONS = """
    -- 1. The account's waiting destinations, numbered in the sequence of their requests.
    WITH line AS (
        SELECT email, row_number() OVER (ORDER BY wanted_at, email) AS place FROM aliases_destinations
        WHERE account_id = %(account_id)s AND wanted_at IS NOT NULL
    -- 2. The start of the account's current day, and how many confirmations are left in it.
    ), today AS (
        SELECT CASE WHEN since > %(day_ago)s THEN since ELSE date_bin('24 hours', %(now)s, since) END AS since,
               CASE WHEN since > %(day_ago)s THEN greatest(%(quota)s - asked, 0) ELSE %(quota)s END AS free
        FROM aliases_askers WHERE account_id = %(account_id)s
        UNION ALL SELECT %(now)s::timestamptz, %(quota)s ORDER BY free, since LIMIT 1
    )
    -- The newest of `asks` is in the future while the destination waits for another day.
    SELECT email, verified_at, turn.at AS asking_at,
           asks[cardinality(asks) - CASE WHEN turn.at IS NULL THEN 0 ELSE 1 END] AS asked_at, created_at
    FROM aliases_destinations AS destination LEFT JOIN line USING (email) CROSS JOIN today CROSS JOIN LATERAL (
        -- 3. From both, when the destination is admitted; NULL for today.
        SELECT CASE WHEN line.place > today.free THEN
            today.since + interval '24 hours' * ((line.place - today.free + %(quota)s - 1) / %(quota)s)
        END AS at
    ) AS turn
    WHERE destination.account_id = %(account_id)s
"""
PAGE = f"{_DESTINATIONS} AND email > %(after)s ORDER BY email LIMIT %(limit)s"
FIND = f"{_DESTINATIONS} AND email = %(email)s"
FIND_LINK = """
    SELECT account_id, email, used_at FROM aliases_links
    WHERE digest = ANY(%(digests)s::bytea[]) AND expires_at > %(now)s
"""
USE_LINK = """
    UPDATE aliases_links SET used_at = %(now)s
    WHERE account_id = %(account_id)s AND digest = ANY(%(digests)s::bytea[]) AND used_at IS NULL
"""
# Aliases are locked before destinations, as in every change of aliases.
LOCK_ALIASES = """
    SELECT alias.id FROM aliases_destinations AS destination
    JOIN aliases_forwards AS forward
      ON forward.account_id = destination.account_id AND forward.email = destination.email
    JOIN aliases AS alias
      ON alias.account_id = forward.account_id AND alias.id = forward.alias_id AND alias.status <> 'deleted'
    WHERE destination.account_id = %(account_id)s AND lower(destination.email) = lower(%(email)s)
      AND destination.verified_at IS NULL
    ORDER BY alias.id FOR UPDATE OF alias
"""
VERIFY = """
    UPDATE aliases_destinations SET verified_at = %(now)s, ask_at = NULL, wanted_at = NULL
    WHERE account_id = %(account_id)s AND lower(email) = lower(%(email)s) AND verified_at IS NULL
    RETURNING email
"""
# The entries of a mail server change, but not the versions: these count the changes of the owner.
MARK_CHANGED = f"""
    WITH found AS (
        SELECT alias.id FROM aliases_forwards AS forward JOIN aliases AS alias
          ON alias.account_id = forward.account_id AND alias.id = forward.alias_id AND alias.status <> 'deleted'
        WHERE forward.account_id = %(account_id)s AND forward.email = ANY(%(emails)s::text[])
        ORDER BY alias.id FOR UPDATE OF alias
    )
    UPDATE aliases AS alias SET {CHANGED}
    WHERE alias.account_id = %(account_id)s AND alias.id IN (SELECT id FROM found)
"""


async def replace(
    conn: Conn,
    *,
    account_id: UUID,
    forwards: Sequence[AliasSpec | AliasChange],
    own: str | None,
    verified_at: datetime | None,
    wanted_at: datetime | None,
    now: datetime,
) -> None:
    """Replace the destinations of aliases.

    A new address is confirmed at `verified_at`, or its confirmation is requested at `wanted_at`; the account's
    `own` is confirmed now.
    """
    rows = [(each.id, at, email) for each in forwards for at, email in enumerate(each.destinations)]
    ids, positions, emails = zip(*rows, strict=True) if rows else ((), (), ())
    row = {"account_id": account_id, "now": now, "own": own}
    columns = {"alias_ids": list(ids), "positions": list(positions), "emails": list(emails)}
    if known := [each.id for each in forwards if not isinstance(each, AliasSpec) or each.continues]:
        await conn.execute(DELETE_FORWARDS, {"account_id": account_id, "alias_ids": known})
    times = {"verified_at": verified_at, "wanted_at": wanted_at}
    await conn.execute(INSERT_FORWARDS, row | columns | times)


async def list_unconfirmed(conn: Conn, *, account_id: UUID, alias_ids: Collection[UUID], limit: int) -> list[str]:
    """Return the first destinations of these aliases that are not confirmed, by address."""
    row = {"account_id": account_id, "alias_ids": list(alias_ids), "limit": limit}
    return [found[0] for found in await (await conn.execute(LIST_UNCONFIRMED, row)).fetchall()]


async def list_page(
    conn: Conn, *, account_id: UUID, after: str, limit: int, quota: int, now: datetime, day_ago: datetime
) -> list[Destination]:
    """Return the account's destinations after that address, by address."""
    row = {
        "account_id": account_id,
        "after": after,
        "limit": limit,
        "quota": quota,
        "now": now,
        "day_ago": day_ago,
    }
    async with conn.cursor(row_factory=class_row(Destination)) as cursor:
        await cursor.execute(PAGE, row)
        return await cursor.fetchall()


async def find(
    conn: Conn, *, account_id: UUID, email: str, quota: int, now: datetime, day_ago: datetime
) -> Destination | None:
    """Return one destination of the account."""
    row = {"account_id": account_id, "email": email, "quota": quota, "now": now, "day_ago": day_ago}
    async with conn.cursor(row_factory=class_row(Destination)) as cursor:
        await cursor.execute(FIND, row)
        return await cursor.fetchone()


async def find_link(conn: Conn, *, digests: Sequence[bytes], now: datetime) -> ConfirmationLink | None:
    """Return the link with one of these digests that has not expired."""
    async with conn.cursor(row_factory=class_row(ConfirmationLink)) as cursor:
        await cursor.execute(FIND_LINK, {"digests": list(digests), "now": now})
        return await cursor.fetchone()


async def use_link(conn: Conn, *, account_id: UUID, digests: Sequence[bytes], now: datetime) -> bool:
    """Mark a link as used; return False if it does not exist or was used before."""
    row = {"account_id": account_id, "digests": list(digests), "now": now}
    return (await conn.execute(USE_LINK, row)).rowcount == 1


async def verify(conn: Conn, *, account_id: UUID, email: str, now: datetime) -> list[str]:
    """Mark the address as confirmed, in all its spellings; return those that were not."""
    row = {"account_id": account_id, "email": email, "now": now}
    await conn.execute(LOCK_ALIASES, row)
    cursor = await conn.execute(VERIFY, row)
    return [each[0] for each in await cursor.fetchall()]


async def mark_changed(conn: Conn, *, account_id: UUID, emails: Sequence[str]) -> int:
    """Record a change, for mail servers, of the aliases that forward to the addresses; return their number."""
    return (await conn.execute(MARK_CHANGED, {"account_id": account_id, "emails": list(emails)})).rowcount
