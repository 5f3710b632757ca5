"""SQL of leads and of the tokens of their links."""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg.rows import class_row, kwargs_row

from builders.kit.db.connections import Conn
from builders.leads.records import Lead, LeadFilter, LeadState, Status, Token

ENSURE = """
    INSERT INTO leads_leads (account_id, id, email, status, changed_at, created_at)
    VALUES (%(account_id)s, %(id)s, %(email)s, 'pending', %(now)s, %(now)s)
    ON CONFLICT (account_id, email) DO NOTHING
"""
LOCK_BY_EMAIL = """
    SELECT id, email, status, message_id FROM leads_leads
    WHERE account_id = %(account_id)s AND email = %(email)s FOR UPDATE
"""
LOCK = """
    SELECT id, email, status, message_id FROM leads_leads
    WHERE account_id = %(account_id)s AND id = %(id)s FOR UPDATE
"""
# Messages to other spellings of the address count, because one mailbox receives them all. The caller locks
# the mailbox, so a concurrent call sees the earlier message.
RESERVE = """
    UPDATE leads_leads AS lead
    SET sends = ARRAY(
            SELECT at FROM unnest(sends) AS at WHERE at > %(day_ago)s ORDER BY at
        ) || %(now)s::timestamptz,
        last_sent_at = %(now)s, send_count = send_count + 1,
        status = CASE status WHEN 'confirmed' THEN status ELSE 'pending' END,
        changed_at = CASE WHEN status IN ('confirmed', 'pending') THEN changed_at ELSE %(now)s END
    WHERE account_id = %(account_id)s AND id = %(id)s AND status <> 'suppressed'
      AND (status <> 'bounced' OR changed_at <= %(rested)s)
      AND (last_sent_at IS NULL OR last_sent_at <= %(gap_ago)s) -- on this row, for concurrent calls
      AND NOT EXISTS (
          SELECT FROM leads_leads AS alike CROSS JOIN unnest(alike.sends) AS at
          WHERE alike.account_id = %(account_id)s AND alike.mailbox = lead.mailbox AND at > %(day_ago)s
          HAVING max(at) > %(gap_ago)s OR count(*) >= %(max_messages)s
      )
"""
SET_MESSAGE = """
    UPDATE leads_leads
    SET message_id = %(message_id)s, message_ids = ARRAY(
            SELECT each FROM unnest(message_ids) AS each WHERE each > %(oldest)s
        ) || %(message_id)s::uuid
    WHERE account_id = %(account_id)s AND id = %(id)s
"""
CONFIRM = """
    UPDATE leads_leads
    SET status = 'confirmed',
        changed_at = CASE status WHEN 'confirmed' THEN changed_at ELSE %(now)s END,
        confirmed_at = CASE status WHEN 'confirmed' THEN confirmed_at ELSE %(now)s END
    WHERE account_id = %(account_id)s AND id = %(id)s
"""
# changed_at makes a repeated or late event a no-op.
UNSUBSCRIBE = """
    WITH lead AS (
        UPDATE leads_leads
        SET status = CASE status WHEN 'confirmed' THEN 'unsubscribed' ELSE 'suppressed' END,
            changed_at = %(at)s, unsubscribed_at = %(at)s
        WHERE account_id = %(account_id)s AND email = %(email)s AND changed_at < %(at)s
          AND status NOT IN ('unsubscribed', 'suppressed')
        RETURNING account_id, id
    )
    DELETE FROM leads_tokens AS token USING lead
    WHERE token.account_id = lead.account_id AND token.lead_id = lead.id
"""
BOUNCE = """
    UPDATE leads_leads SET status = 'bounced', changed_at = %(at)s
    WHERE account_id = %(account_id)s AND message_id = %(message_id)s AND changed_at < %(at)s
      AND status NOT IN ('bounced', 'suppressed')
"""
EXPIRE = """
    UPDATE leads_leads SET status = 'expired', changed_at = %(now)s
    WHERE account_id = %(account_id)s AND status = 'pending'
      AND changed_at <= %(before)s AND coalesce(last_sent_at, created_at) <= %(before)s
"""
DELETE_OLD = """
    DELETE FROM leads_leads WHERE account_id = %(account_id)s AND id IN (
        SELECT id FROM leads_leads
        WHERE account_id = %(account_id)s AND status IN ('expired', 'bounced') AND changed_at <= %(before)s
        LIMIT %(batch)s FOR UPDATE SKIP LOCKED
    )
"""
DELETE = """
    DELETE FROM leads_leads WHERE account_id = %(account_id)s AND email = %(email)s
    RETURNING message_ids || message_id
"""
PUT_LINK = """
    INSERT INTO leads_tokens (account_id, lead_id, request_id, digest, expires_at)
    VALUES (%(account_id)s, %(lead_id)s, %(request_id)s, %(digest)s, %(expires_at)s)
    ON CONFLICT (account_id, lead_id) DO UPDATE
    SET request_id = excluded.request_id, digest = excluded.digest, expires_at = excluded.expires_at,
        used_at = NULL
"""
FIND_LINK = """
    SELECT lead_id, request_id, email, used_at
    FROM leads_tokens AS token JOIN leads_leads AS lead ON lead.account_id = token.account_id AND lead.id = lead_id
    WHERE token.account_id = %(account_id)s AND digest = ANY(%(digests)s::bytea[]) AND expires_at > %(now)s
"""
USE_LINK = """
    UPDATE leads_tokens SET used_at = %(now)s
    WHERE account_id = %(account_id)s AND digest = ANY(%(digests)s::bytea[]) AND used_at IS NULL
"""

PRUNE_LINKS = "DELETE FROM leads_tokens WHERE account_id = %(account_id)s AND expires_at <= %(now)s"
# Each lead has one request: the newest that matches, a confirmed one first, because its sender is known.
# Not prepared: a generic plan would fit no filter.
LIST = """
    SELECT lead.id, lead.email, lead.status, source, interest, marketing, text_version, asked_at, asked_from,
           proved_at, proved_from, lead.created_at, lead.confirmed_at, lead.unsubscribed_at, lead.last_sent_at,
           lead.send_count, details
    FROM leads_leads AS lead CROSS JOIN LATERAL (
        SELECT source, interest, marketing, text_version, created_at AS asked_at, client AS asked_from,
               confirmed_at AS proved_at, confirmed_from AS proved_from, details
        FROM leads_requests
        WHERE account_id = %(account_id)s AND lead_id = lead.id
          AND (%(source)s::text IS NULL OR source = %(source)s)
          AND (%(interest)s::text IS NULL OR interest = %(interest)s)
          AND (%(since)s::timestamptz IS NULL OR created_at >= %(since)s)
        ORDER BY confirmed_at IS NULL, id DESC LIMIT 1
    ) AS request
    WHERE lead.account_id = %(account_id)s AND (%(status)s::text IS NULL OR lead.status = %(status)s)
      AND lead.id < %(before)s
    ORDER BY lead.id DESC LIMIT %(limit)s
"""


def _lead_state(*, status: str, **columns: Any) -> LeadState:
    return LeadState(status=Status(status), **columns)


def _lead(*, status: str, **columns: Any) -> Lead:
    return Lead(status=Status(status), **columns)


async def ensure(conn: Conn, *, account_id: UUID, lead_id: UUID, email: str, now: datetime) -> LeadState:
    """Lock and return the lead of the address; create it when there is none."""
    await conn.execute(ENSURE, {"account_id": account_id, "id": lead_id, "email": email, "now": now})
    async with conn.cursor(row_factory=kwargs_row(_lead_state)) as cursor:
        await cursor.execute(LOCK_BY_EMAIL, {"account_id": account_id, "email": email})
        [found] = await cursor.fetchall()
        return found


async def lock(conn: Conn, *, account_id: UUID, lead_id: UUID) -> LeadState | None:
    """Lock and return the lead."""
    async with conn.cursor(row_factory=kwargs_row(_lead_state)) as cursor:
        await cursor.execute(LOCK, {"account_id": account_id, "id": lead_id})
        return await cursor.fetchone()


async def reserve(
    conn: Conn,
    *,
    account_id: UUID,
    lead_id: UUID,
    now: datetime,
    gap_ago: datetime,
    day_ago: datetime,
    rested: datetime,
    max_messages: int,
) -> bool:
    """Count a message to the lead and make it pending; False when no message may be sent now."""
    row = {"account_id": account_id, "id": lead_id, "now": now, "max_messages": max_messages}
    limits = {"gap_ago": gap_ago, "day_ago": day_ago, "rested": rested}
    return (await conn.execute(RESERVE, row | limits)).rowcount == 1


async def set_message(conn: Conn, *, account_id: UUID, lead_id: UUID, message_id: UUID, oldest: UUID) -> None:
    """Record the message to the lead, and drop recorded ones with smaller ids than the oldest."""
    row = {"account_id": account_id, "id": lead_id, "message_id": message_id, "oldest": oldest}
    await conn.execute(SET_MESSAGE, row)


async def confirm(conn: Conn, *, account_id: UUID, lead_id: UUID, now: datetime) -> None:
    """Confirm the lead; the time of an earlier confirmation stays."""
    await conn.execute(CONFIRM, {"account_id": account_id, "id": lead_id, "now": now})


async def unsubscribe(conn: Conn, *, account_id: UUID, email: str, at: datetime) -> None:
    """Unsubscribe a confirmed lead, suppress another one; delete its token."""
    await conn.execute(UNSUBSCRIBE, {"account_id": account_id, "email": email, "at": at})


async def bounce(conn: Conn, *, account_id: UUID, message_id: UUID, at: datetime) -> None:
    """Record the bounce of the message."""
    await conn.execute(BOUNCE, {"account_id": account_id, "message_id": message_id, "at": at})


async def expire(conn: Conn, *, account_id: UUID, before: datetime, now: datetime) -> int:
    """Expire pending leads whose link was sent before then; return their number."""
    row = {"account_id": account_id, "before": before, "now": now}
    return (await conn.execute(EXPIRE, row)).rowcount


async def delete_old(conn: Conn, *, account_id: UUID, before: datetime, batch: int) -> int:
    """Delete a batch of leads that expired or bounced before then; return their number."""
    row = {"account_id": account_id, "before": before, "batch": batch}
    return (await conn.execute(DELETE_OLD, row)).rowcount


async def delete(conn: Conn, *, account_id: UUID, email: str) -> Sequence[UUID] | None:
    """Delete the lead of the address; return its messages, or None when there is no lead."""
    row = await (await conn.execute(DELETE, {"account_id": account_id, "email": email})).fetchone()
    return None if row is None else list(filter(None, row[0]))


async def put_token(
    conn: Conn, *, account_id: UUID, lead_id: UUID, request_id: UUID, digest: bytes, expires_at: datetime
) -> None:
    """Replace the token of the lead."""
    row = {"account_id": account_id, "lead_id": lead_id, "request_id": request_id, "digest": digest}
    await conn.execute(PUT_LINK, {**row, "expires_at": expires_at})


async def find_token(conn: Conn, *, account_id: UUID, digests: Sequence[bytes], now: datetime) -> Token | None:
    """Return the token with one of these digests, unless it has expired."""
    async with conn.cursor(row_factory=class_row(Token)) as cursor:
        await cursor.execute(FIND_LINK, {"account_id": account_id, "digests": list(digests), "now": now})
        return await cursor.fetchone()


async def use_token(conn: Conn, *, account_id: UUID, digests: Sequence[bytes], now: datetime) -> bool:
    """Mark the token as used; False when it does not exist or is used."""
    row = {"account_id": account_id, "digests": list(digests), "now": now}
    return (await conn.execute(USE_LINK, row)).rowcount == 1


async def prune_tokens(conn: Conn, *, account_id: UUID, now: datetime) -> None:
    """Delete expired tokens."""
    await conn.execute(PRUNE_LINKS, {"account_id": account_id, "now": now})


async def list_newest(
    conn: Conn, *, account_id: UUID, filters: LeadFilter, before: UUID, limit: int
) -> Sequence[Lead]:
    """Return the matching leads older than `before`, newest first."""
    row = {"account_id": account_id, **asdict(filters), "before": before, "limit": limit}
    async with conn.cursor(row_factory=kwargs_row(_lead)) as cursor:
        await cursor.execute(LIST, row, prepare=False)
        return await cursor.fetchall()
