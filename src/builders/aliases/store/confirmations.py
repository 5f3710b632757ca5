"""Confirmations: requested for a destination, admitted by the account's daily limit, sent as a link."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from psycopg.rows import class_row

from builders.kit.db.connections import Conn
from builders.kit.values.ids import AccountSelection, selection_parameter


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingDestination:
    """A destination whose confirmation is requested, and waits for the account's daily limit."""

    account_id: UUID
    email: str
    is_used: bool  # an alias forwards there


@dataclass(frozen=True, slots=True, kw_only=True)
class DueConfirmation:
    """A destination whose confirmation is to be sent."""

    account_id: UUID
    email: str
    mailbox: str  # that receives its mail, as far as the address shows (MAILBOX)
    bounced: bool  # mail to it bounced recently
    message_id: UUID | None  # of the previous confirmation
    alias: str | None  # an address that forwards there; None if none does


@dataclass(frozen=True, slots=True, kw_only=True)
class SentConfirmation:
    """A confirmation and its message."""

    due: DueConfirmation
    message_id: UUID


# Most mail servers treat the text after a `+` as a tag, and some ignore dots. Two recipients with the same mailbox
# by this rule share only its limit.
MAILBOX = """
    replace(split_part(split_part(lower(destination.email), '@', 1), '+', 1), '.', '')
    || '@' || split_part(lower(destination.email), '@', 2)
"""
# One statement decides, so that a concurrent request finds the first one. It ignores the limit of the mailbox,
# which other accounts share: the result would reveal their requests.
REQUEST = """
    UPDATE aliases_destinations
    SET wanted_at = %(now)s,
        asks = ARRAY(SELECT at FROM unnest(asks) AS at WHERE at > %(day_ago)s ORDER BY at) || %(now)s::timestamptz
    WHERE account_id = %(account_id)s AND email = %(email)s AND verified_at IS NULL AND wanted_at IS NULL
      AND NOT EXISTS (SELECT FROM unnest(asks) AS at WHERE at > %(gap_ago)s)
      AND (SELECT count(*) FROM unnest(asks) AS at WHERE at > %(day_ago)s) < %(quota)s
"""
LIST_REQUESTS = """
    SELECT at FROM aliases_destinations, unnest(asks) AS at
    WHERE account_id = %(account_id)s AND email = %(email)s AND at > %(day_ago)s ORDER BY at
"""
# Destinations of accounts below their daily limit. Not prepared: a plan for all accounts is slow for one.
LIST_WAITING = """
    SELECT destination.account_id, destination.email, EXISTS (
        SELECT FROM aliases_forwards AS forward JOIN aliases AS alias
          ON alias.account_id = forward.account_id AND alias.id = forward.alias_id AND alias.status <> 'deleted'
        WHERE forward.account_id = destination.account_id AND forward.email = destination.email
    ) AS is_used
    FROM aliases_destinations AS destination LEFT JOIN aliases_askers AS asker USING (account_id)
    WHERE destination.wanted_at IS NOT NULL
      AND (%(account_id)s::uuid IS NULL OR destination.account_id = %(account_id)s)
      AND (asker.since IS NULL OR asker.since <= %(day_ago)s OR asker.asked < %(quota)s)
    ORDER BY destination.wanted_at, destination.email LIMIT %(limit)s FOR UPDATE OF destination SKIP LOCKED
"""
# One statement decides, so that concurrent transactions stay below the limit. Each day of an account starts at a
# multiple of 24 hours after its first one, so that a date which the account has read stays true.
TAKE_QUOTA = """
    INSERT INTO aliases_askers AS asker (account_id, since, asked, granted)
    SELECT account_id, %(now)s, least(wanted, %(quota)s), least(wanted, %(quota)s)
    FROM unnest(%(account_ids)s::uuid[], %(wanted)s::int[]) AS new (account_id, wanted) ORDER BY account_id
    ON CONFLICT (account_id) DO UPDATE SET
        since = CASE WHEN asker.since > %(day_ago)s THEN asker.since
                     ELSE date_bin('24 hours', %(now)s, asker.since) END,
        asked = CASE WHEN asker.since > %(day_ago)s
                     THEN greatest(asker.asked, least(asker.asked + excluded.asked, %(quota)s))
                     ELSE excluded.asked END,
        granted = CASE WHEN asker.since > %(day_ago)s
                       THEN least(excluded.asked, greatest(%(quota)s - asker.asked, 0)) ELSE excluded.asked END
    RETURNING account_id, granted
"""
# The time of admission replaces the time of the request.
ADMIT = """
    UPDATE aliases_destinations AS destination
    SET wanted_at = NULL, ask_at = coalesce(ask_at, %(now)s),
        asks = asks[:cardinality(asks) - 1] || %(now)s::timestamptz
    FROM unnest(%(account_ids)s::uuid[], %(emails)s::text[]) AS due (account_id, email)
    WHERE destination.account_id = due.account_id AND destination.email = due.email
"""
CANCEL_WAITING = """
    UPDATE aliases_destinations AS destination SET wanted_at = NULL
    FROM unnest(%(account_ids)s::uuid[], %(emails)s::text[]) AS idle (account_id, email)
    WHERE destination.account_id = idle.account_id AND destination.email = idle.email
"""
# OFFSET 0 makes PostgreSQL read the few aliases of an address: by id it would read all aliases of the account. Not
# prepared, as LIST_WAITING.
LIST_DUE = f"""
    SELECT destination.account_id, destination.email, {MAILBOX} AS mailbox, destination.message_id,
           named.address AS alias, EXISTS (
               SELECT FROM aliases_readers AS reader
               WHERE reader.email = lower(destination.email) AND reader.bounced_at > %(bounced_since)s
           ) AS bounced
    -- The first alias that forwards to the destination.
    FROM aliases_destinations AS destination LEFT JOIN LATERAL (
        SELECT alias.local_part || '@' || alias.domain AS address
        FROM (
            SELECT account_id, alias_id FROM aliases_forwards
            WHERE account_id = destination.account_id AND email = destination.email OFFSET 0
        ) AS forward
        JOIN aliases AS alias
          ON alias.account_id = forward.account_id AND alias.id = forward.alias_id AND alias.status <> 'deleted'
        ORDER BY alias.id LIMIT 1
    ) AS named ON true
    WHERE destination.ask_at <= %(now)s
      AND (%(account_id)s::uuid IS NULL OR destination.account_id = %(account_id)s)
    ORDER BY destination.ask_at LIMIT %(limit)s FOR UPDATE OF destination SKIP LOCKED
"""
# The limits of a mailbox count the confirmations of all accounts.
RESERVE_MAILBOXES = """
    INSERT INTO aliases_readers AS reader (email, asks)
    SELECT DISTINCT mailbox, ARRAY[%(now)s::timestamptz] FROM unnest(%(mailboxes)s::text[]) AS due (mailbox)
    ORDER BY 1
    ON CONFLICT (email) DO UPDATE
    SET asks = ARRAY(SELECT at FROM unnest(reader.asks) AS at WHERE at > %(day_ago)s ORDER BY at) || excluded.asks
    WHERE NOT EXISTS (SELECT FROM unnest(reader.asks) AS at WHERE at > %(gap_ago)s)
      AND (SELECT count(*) FROM unnest(reader.asks) AS at WHERE at > %(day_ago)s) < %(quota)s
    RETURNING email
"""
POSTPONE = """
    UPDATE aliases_destinations AS destination
    SET ask_at = greatest(%(soon)s, (
            SELECT max(at) FROM unnest(reader.asks) AS at
        ) + (%(soon)s::timestamptz - %(now)s::timestamptz))
    FROM unnest(%(account_ids)s::uuid[], %(emails)s::text[], %(mailboxes)s::text[])
         AS late (account_id, email, mailbox)
    JOIN aliases_readers AS reader ON reader.email = late.mailbox
    WHERE destination.account_id = late.account_id AND destination.email = late.email
"""
CANCEL_DUE = """
    UPDATE aliases_destinations AS destination SET ask_at = NULL
    FROM unnest(%(account_ids)s::uuid[], %(emails)s::text[]) AS idle (account_id, email)
    WHERE destination.account_id = idle.account_id AND destination.email = idle.email
"""
REPLACE_LINKS = """
    INSERT INTO aliases_links (account_id, email, digest, expires_at)
    SELECT account_id, email, digest, %(expires_at)s
    FROM unnest(%(account_ids)s::uuid[], %(emails)s::text[], %(digests)s::bytea[])
         AS new (account_id, email, digest)
    ON CONFLICT (account_id, email) DO UPDATE
    SET digest = excluded.digest, expires_at = excluded.expires_at, used_at = NULL
"""
RECORD_SENT = """
    UPDATE aliases_destinations AS destination SET ask_at = NULL, message_id = asked.message_id,
        asks = CASE destination.asks WHEN '{}' THEN ARRAY[%(now)s::timestamptz] ELSE destination.asks END
    FROM unnest(%(account_ids)s::uuid[], %(emails)s::text[], %(message_ids)s::uuid[])
         AS asked (account_id, email, message_id)
    WHERE destination.account_id = asked.account_id AND destination.email = asked.email
"""
RECORD_BOUNCE = """
    INSERT INTO aliases_readers AS reader (email, bounced_at)
    SELECT lower(email), %(now)s FROM aliases_destinations
    WHERE account_id = %(account_id)s AND message_id = %(message_id)s
    ON CONFLICT (email) DO UPDATE SET bounced_at = excluded.bounced_at
"""
PRUNE_LINKS = """
    DELETE FROM aliases_links WHERE digest = ANY(ARRAY(
        SELECT digest FROM aliases_links WHERE expires_at <= %(before)s LIMIT %(limit)s
    ))
"""
PRUNE_MAILBOXES = """
    DELETE FROM aliases_readers WHERE email = ANY(ARRAY(
        SELECT email FROM aliases_readers
        WHERE bounced_at IS NULL AND asks[cardinality(asks)] <= %(before)s LIMIT %(limit)s
    ))
"""


async def request(
    conn: Conn, *, account_id: UUID, email: str, now: datetime, gap_ago: datetime, day_ago: datetime, quota: int
) -> bool:
    """Request a confirmation, if the limits of the address allow it; return whether they do."""
    row = {"account_id": account_id, "email": email, "now": now}
    limits = {"gap_ago": gap_ago, "day_ago": day_ago, "quota": quota}
    return (await conn.execute(REQUEST, row | limits)).rowcount == 1


async def list_requests(conn: Conn, *, account_id: UUID, email: str, day_ago: datetime) -> list[datetime]:
    """Return the times of the account's requests for the address since then, oldest first."""
    row = {"account_id": account_id, "email": email, "day_ago": day_ago}
    return [each[0] for each in await (await conn.execute(LIST_REQUESTS, row)).fetchall()]


async def list_waiting(
    conn: Conn, *, account_id: AccountSelection, quota: int, day_ago: datetime, limit: int
) -> list[WaitingDestination]:
    """Lock and return waiting destinations of accounts below their daily limit, oldest request first."""
    row = {"account_id": selection_parameter(account_id), "quota": quota, "day_ago": day_ago, "limit": limit}
    async with conn.cursor(row_factory=class_row(WaitingDestination)) as cursor:
        await cursor.execute(LIST_WAITING, row, prepare=False)
        return await cursor.fetchall()


async def take_quota(
    conn: Conn, *, wanted: Mapping[UUID, int], quota: int, now: datetime, day_ago: datetime
) -> dict[UUID, int]:
    """Count the wanted confirmations of each account, up to its daily limit; return how many are granted."""
    row = {"account_ids": list(wanted), "wanted": list(wanted.values())}
    cursor = await conn.execute(TAKE_QUOTA, {**row, "quota": quota, "now": now, "day_ago": day_ago})
    return {each[0]: each[1] for each in await cursor.fetchall()}


async def admit(conn: Conn, *, due: Sequence[WaitingDestination], now: datetime) -> None:
    """Mark confirmations as due."""
    await conn.execute(ADMIT, {**_keys(due), "now": now})


async def cancel_waiting(conn: Conn, *, idle: Sequence[WaitingDestination]) -> None:
    """Cancel requests for destinations without an alias."""
    await conn.execute(CANCEL_WAITING, _keys(idle))


async def list_due(
    conn: Conn, *, account_id: AccountSelection, now: datetime, bounced_since: datetime, limit: int
) -> list[DueConfirmation]:
    """Lock and return due confirmations, oldest first."""
    owner = selection_parameter(account_id)
    row = {"account_id": owner, "now": now, "bounced_since": bounced_since, "limit": limit}
    async with conn.cursor(row_factory=class_row(DueConfirmation)) as cursor:
        await cursor.execute(LIST_DUE, row, prepare=False)
        return await cursor.fetchall()


async def reserve_mailboxes(
    conn: Conn, *, mailboxes: Collection[str], now: datetime, gap_ago: datetime, day_ago: datetime, quota: int
) -> set[str]:
    """Count a confirmation for each mailbox that is below its limits; return these mailboxes."""
    row = {"mailboxes": list(mailboxes), "now": now, "gap_ago": gap_ago, "day_ago": day_ago, "quota": quota}
    return {each[0] for each in await (await conn.execute(RESERVE_MAILBOXES, row)).fetchall()}


async def postpone(conn: Conn, *, late: Sequence[DueConfirmation], now: datetime, soon: datetime) -> None:
    """Postpone confirmations to `soon`, or to the same interval after the last mail to the mailbox."""
    mailboxes = [each.mailbox for each in late]
    await conn.execute(POSTPONE, {**_keys(late), "mailboxes": mailboxes, "now": now, "soon": soon})


async def cancel_due(conn: Conn, *, idle: Sequence[DueConfirmation]) -> None:
    """Cancel due confirmations."""
    await conn.execute(CANCEL_DUE, _keys(idle))


async def replace_links(
    conn: Conn, *, due: Sequence[DueConfirmation], digests: Sequence[bytes], expires_at: datetime
) -> None:
    """Store a new link for each destination, in place of the previous one."""
    await conn.execute(REPLACE_LINKS, {**_keys(due), "digests": list(digests), "expires_at": expires_at})


async def record_sent(conn: Conn, *, sent: Sequence[SentConfirmation], now: datetime) -> None:
    """Record the messages of confirmations, and the time of those that were never requested."""
    row = _keys([each.due for each in sent])
    await conn.execute(RECORD_SENT, {**row, "message_ids": [each.message_id for each in sent], "now": now})


async def record_bounce(conn: Conn, *, account_id: UUID, message_id: UUID, now: datetime) -> None:
    """Record that this confirmation bounced."""
    await conn.execute(RECORD_BOUNCE, {"account_id": account_id, "message_id": message_id, "now": now})


async def prune(conn: Conn, *, links_before: datetime, asks_before: datetime, limit: int) -> bool:
    """Delete links that expired, and mailboxes last mailed, before these times; return whether more can exist."""
    links = await conn.execute(PRUNE_LINKS, {"before": links_before, "limit": limit})
    mailboxes = await conn.execute(PRUNE_MAILBOXES, {"before": asks_before, "limit": limit})
    return max(links.rowcount, mailboxes.rowcount) == limit


def _keys(found: Sequence[WaitingDestination | DueConfirmation]) -> dict[str, list[object]]:
    return {"account_ids": [each.account_id for each in found], "emails": [each.email for each in found]}
