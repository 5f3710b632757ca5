"""Whose turn it is to be asked: an account has so many readers asked in a day."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID

from psycopg.rows import class_row

from builders.aliases.records import Destination
from builders.aliases.rows import Waiting
from builders.kit.db.connections import Conn
from builders.kit.values.accounts import AccountSelection, selection_parameter

# The account's readers in line, and what is left of its day: from both follows on which day a reader's turn comes.
# Until then the newest of its asks is one that is still to come.
_SHOWN = """
    WITH line AS (
        SELECT email, row_number() OVER (ORDER BY wanted_at, email) AS place FROM aliases_destinations
        WHERE account_id = %(account_id)s AND wanted_at IS NOT NULL
    ), today AS (
        SELECT CASE WHEN since > %(day_ago)s THEN since ELSE date_bin('24 hours', %(now)s, since) END AS since,
               CASE WHEN since > %(day_ago)s THEN greatest(%(most)s - asked, 0) ELSE %(most)s END AS free
        FROM aliases_askers WHERE account_id = %(account_id)s
        UNION ALL SELECT %(now)s::timestamptz, %(most)s ORDER BY free, since LIMIT 1
    )
    SELECT email, verified_at, turn.at AS asking_at,
           asks[cardinality(asks) - CASE WHEN turn.at IS NULL THEN 0 ELSE 1 END] AS asked_at, created_at
    FROM aliases_destinations AS destination LEFT JOIN line USING (email) CROSS JOIN today CROSS JOIN LATERAL (
        SELECT CASE WHEN line.place > today.free THEN
            today.since + interval '24 hours' * ((line.place - today.free + %(most)s - 1) / %(most)s)
        END AS at
    ) AS turn
    WHERE destination.account_id = %(account_id)s
"""
PAGE = f"{_SHOWN} AND email > %(after)s ORDER BY email LIMIT %(limit)s"
FIND = f"{_SHOWN} AND email = %(email)s"
# Of one account, or of all, those that have something left of their day. One who has no name forwarding there any
# more is not to be asked, and takes nobody's turn. Not prepared: a plan for all accounts is none for one.
LIST_WAITING = """
    SELECT destination.account_id, destination.email, EXISTS (
        SELECT FROM aliases_forwards AS forward JOIN aliases AS alias
          ON alias.account_id = forward.account_id AND alias.id = forward.alias_id AND alias.status <> 'deleted'
        WHERE forward.account_id = destination.account_id AND forward.email = destination.email
    ) AS is_named
    FROM aliases_destinations AS destination LEFT JOIN aliases_askers AS asker USING (account_id)
    WHERE destination.wanted_at IS NOT NULL
      AND (%(account_id)s::uuid IS NULL OR destination.account_id = %(account_id)s)
      AND (asker.since IS NULL OR asker.since <= %(day_ago)s OR asker.asked < %(most)s)
    ORDER BY destination.wanted_at, destination.email LIMIT %(limit)s FOR UPDATE OF destination SKIP LOCKED
"""
# One statement decides, so two at once never take more than there is. Days are counted on from the first, so that
# what was said to come tomorrow does.
TAKE = """
    INSERT INTO aliases_askers AS asker (account_id, since, asked, granted)
    SELECT account_id, %(now)s, least(wanted, %(most)s), least(wanted, %(most)s)
    FROM unnest(%(account_ids)s::uuid[], %(wanted)s::int[]) AS new (account_id, wanted) ORDER BY account_id
    ON CONFLICT (account_id) DO UPDATE SET
        since = CASE WHEN asker.since > %(day_ago)s THEN asker.since
                     ELSE date_bin('24 hours', %(now)s, asker.since) END,
        asked = CASE WHEN asker.since > %(day_ago)s
                     THEN greatest(asker.asked, least(asker.asked + excluded.asked, %(most)s))
                     ELSE excluded.asked END,
        granted = CASE WHEN asker.since > %(day_ago)s
                       THEN least(excluded.asked, greatest(%(most)s - asker.asked, 0)) ELSE excluded.asked END
    RETURNING account_id, granted
"""
# Its reader counts as asked now, and not when that was wanted.
LET_THROUGH = """
    UPDATE aliases_destinations AS destination
    SET wanted_at = NULL, ask_at = coalesce(ask_at, %(now)s),
        asks = asks[:cardinality(asks) - 1] || %(now)s::timestamptz
    FROM unnest(%(account_ids)s::uuid[], %(emails)s::text[]) AS due (account_id, email)
    WHERE destination.account_id = due.account_id AND destination.email = due.email
"""
DROP = """
    UPDATE aliases_destinations AS destination SET wanted_at = NULL
    FROM unnest(%(account_ids)s::uuid[], %(emails)s::text[]) AS idle (account_id, email)
    WHERE destination.account_id = idle.account_id AND destination.email = idle.email
"""


async def list_page(
    conn: Conn, *, account_id: UUID, after: str, limit: int, most: int, now: datetime, day_ago: datetime
) -> list[Destination]:
    """The account's destinations behind that address, by address."""
    row = {"account_id": account_id, "after": after, "limit": limit, "most": most, "now": now, "day_ago": day_ago}
    async with conn.cursor(row_factory=class_row(Destination)) as cursor:
        await cursor.execute(PAGE, row)
        return await cursor.fetchall()


async def find(
    conn: Conn, *, account_id: UUID, email: str, most: int, now: datetime, day_ago: datetime
) -> Destination | None:
    """One destination of the account."""
    row = {"account_id": account_id, "email": email, "most": most, "now": now, "day_ago": day_ago}
    async with conn.cursor(row_factory=class_row(Destination)) as cursor:
        await cursor.execute(FIND, row)
        return await cursor.fetchone()


async def list_waiting(
    conn: Conn, *, account_id: AccountSelection, most: int, day_ago: datetime, limit: int
) -> list[Waiting]:
    """Readers in line, of accounts that may ask some today, locked."""
    row = {"account_id": selection_parameter(account_id), "most": most, "day_ago": day_ago, "limit": limit}
    async with conn.cursor(row_factory=class_row(Waiting)) as cursor:
        await cursor.execute(LIST_WAITING, row, prepare=False)
        return await cursor.fetchall()


async def take(
    conn: Conn, *, wanted: Mapping[UUID, int], most: int, now: datetime, day_ago: datetime
) -> dict[UUID, int]:
    """How many of the readers that they want asked the accounts may; those then count."""
    row = {"account_ids": list(wanted), "wanted": list(wanted.values())}
    cursor = await conn.execute(TAKE, {**row, "most": most, "now": now, "day_ago": day_ago})
    return {each[0]: each[1] for each in await cursor.fetchall()}


async def let_through(conn: Conn, *, due: Sequence[Waiting], now: datetime) -> None:
    """Has their readers asked as soon as their mailboxes may get mail."""
    await conn.execute(LET_THROUGH, {**_keys(due), "now": now})


async def drop(conn: Conn, *, idle: Sequence[Waiting]) -> None:
    """Takes them out of the line."""
    await conn.execute(DROP, _keys(idle))


def _keys(waiting: Sequence[Waiting]) -> dict[str, list[object]]:
    return {"account_ids": [each.account_id for each in waiting], "emails": [each.email for each in waiting]}
