"""Where aliases forward to."""

from collections.abc import Collection, Sequence
from datetime import datetime
from uuid import UUID

from builders.aliases.records import AliasChange, AliasSpec
from builders.kit.db.connections import Conn

# An address that is verified is so in any case of its letters. One that nobody was ever asked about, since nothing
# forwarded there any more, is as good as new.
INSERT_FORWARDS = """
    WITH wanted AS (
        SELECT DISTINCT email, CASE WHEN lower(email) = %(own)s THEN %(now)s ELSE coalesce((
            SELECT min(other.verified_at) FROM aliases_destinations AS other
            WHERE other.account_id = %(account_id)s AND lower(other.email) = lower(wanted.email)
        ), %(verified_at)s::timestamptz) END AS verified_at
        FROM unnest(%(emails)s::text[]) AS wanted (email)
    ), known AS (
        INSERT INTO aliases_destinations AS destination
            (account_id, email, created_at, verified_at, wanted_at, asks)
        SELECT %(account_id)s::uuid, email, %(now)s::timestamptz, verified_at,
               CASE WHEN verified_at IS NULL THEN %(wanted_at)s::timestamptz END,
               CASE WHEN verified_at IS NULL AND %(wanted_at)s::timestamptz IS NOT NULL
                    THEN ARRAY[%(wanted_at)s::timestamptz] ELSE '{}' END
        FROM wanted ORDER BY email
        ON CONFLICT (account_id, email) DO UPDATE
        SET wanted_at = excluded.wanted_at,
            asks = destination.asks[cardinality(destination.asks) - 8:] || excluded.asks
        WHERE destination.verified_at IS NULL AND destination.ask_at IS NULL AND destination.wanted_at IS NULL
          AND destination.message_id IS NULL
    )
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
DELETE_FORWARDS = """
    DELETE FROM aliases_forwards WHERE account_id = %(account_id)s AND alias_id = ANY(%(alias_ids)s::uuid[])"""


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
    """Where the aliases forward to from now on.

    An address that is new is verified then, or its reader wanted asked then; the account's `own` is so at once.
    """
    rows = [(each.id, at, email) for each in forwards for at, email in enumerate(each.destinations)]
    ids, positions, emails = zip(*rows, strict=True) if rows else ((), (), ())
    row = {"account_id": account_id, "now": now, "own": own}
    columns = {"alias_ids": list(ids), "positions": list(positions), "emails": list(emails)}
    await conn.execute(DELETE_FORWARDS, {"account_id": account_id, "alias_ids": [each.id for each in forwards]})
    times = {"verified_at": verified_at, "wanted_at": wanted_at}
    await conn.execute(INSERT_FORWARDS, row | columns | times)


async def list_unconfirmed(conn: Conn, *, account_id: UUID, alias_ids: Collection[UUID], limit: int) -> list[str]:
    """Return the first destinations of these names whose recipients have not agreed, by address."""
    row = {"account_id": account_id, "alias_ids": list(alias_ids), "limit": limit}
    return [found[0] for found in await (await conn.execute(LIST_UNCONFIRMED, row)).fetchall()]
