"""All SQL of leads: submitted forms (requests), leads, the tokens of their links, and suppressed addresses.

Every row belongs to the vendor.
"""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from psycopg.rows import kwargs_row
from psycopg.types.json import Jsonb

from builders.kit.db.connections import Conn
from builders.kit.db.queries import query
from builders.kit.values import ids
from builders.leads.records import LINK_LIFE, Lead, LeadFilter, LeadState, Request, Status, Token
from builders.mail.records import VENDOR

MIN_INTERVAL = timedelta(minutes=15)  # between two messages to a mailbox, for all spellings of its address
MAX_MESSAGES = 5  # a day
BOUNCE_PAUSE = timedelta(days=7)  # after a bounce
MAX_REQUESTS = 20  # unconfirmed ones per lead
RETENTION = timedelta(days=90)  # of expired and bounced leads
DELETE_BATCH = 5_000
ADDRESSES = 4_711_013  # namespace of the advisory locks on addresses
INSERT = """
    INSERT INTO leads_requests (account_id, id, email, source, interest, marketing, text_version, client, details,
                                created_at)
    VALUES (%(account_id)s, %(id)s, %(email)s, %(source)s, %(interest)s, %(marketing)s, %(text_version)s,
            %(client)s, %(details)s, %(now)s)
"""
DELETE_REQUESTS = "DELETE FROM leads_requests WHERE account_id = %(account_id)s AND email = %(email)s"
PRUNE_REQUESTS = """
    DELETE FROM leads_requests
    WHERE account_id = %(account_id)s AND lead_id IS NULL AND created_at <= %(before)s
"""
SUPPRESS = """
    INSERT INTO leads_suppressions (account_id, hash, created_at) VALUES (%(account_id)s, %(hash)s, %(now)s)
    ON CONFLICT (account_id, hash) DO NOTHING
"""
ENSURE = """
    INSERT INTO leads_leads (account_id, id, email, status, changed_at, created_at)
    VALUES (%(account_id)s, %(id)s, %(email)s, 'pending', %(now)s, %(now)s)
    ON CONFLICT (account_id, email) DO NOTHING
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
EXPIRE = """
    UPDATE leads_leads SET status = 'expired', changed_at = %(now)s
    WHERE account_id = %(account_id)s AND status = 'pending'
      AND changed_at <= %(before)s AND coalesce(last_sent_at, created_at) <= %(before)s
"""
DELETE_LEAD = """
    DELETE FROM leads_leads WHERE account_id = %(account_id)s AND email = %(email)s
    RETURNING message_ids || message_id
"""
DELETE_OLD = """
    WITH old AS (
        SELECT id FROM leads_leads
        WHERE account_id = %(account_id)s AND status IN ('expired', 'bounced') AND changed_at <= %(before)s
        LIMIT %(batch)s FOR UPDATE SKIP LOCKED
    )
    DELETE FROM leads_leads WHERE account_id = %(account_id)s AND id IN (SELECT id FROM old)
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


async def insert_request(conn: Conn, *, request_id: UUID, request: Request, now: datetime) -> None:
    """Insert a request that is not processed yet."""
    row = asdict(request) | {"account_id": VENDOR, "id": request_id, "now": now}
    await conn.execute(INSERT, {**row, "details": Jsonb(row["details"])})


# Against concurrent creation, messages and erasure, until the transaction ends.
# An erasure must wait for a concurrent creation of the lead, which has no row to lock yet.
lock_address = query("""
    SELECT pg_advisory_xact_lock(%(space)s::int, hashtext(leads_mailbox(%(email)s)))
""").run(space=ADDRESSES)
find_email = query("""
    SELECT email FROM leads_requests WHERE account_id = %(account_id)s AND id = %(request_id)s AND lead_id IS NULL
""").scalar(str, account_id=VENDOR)
assign = query("""
    UPDATE leads_requests SET lead_id = %(lead_id)s
    WHERE account_id = %(account_id)s AND id = %(request_id)s AND lead_id IS NULL
""").changes(account_id=VENDOR)
delete_request = query("""
    DELETE FROM leads_requests WHERE account_id = %(account_id)s AND id = %(request_id)s
""").run(account_id=VENDOR)
# Confirmed requests stay, and those that a valid link would confirm.
trim = query("""
    DELETE FROM leads_requests
    WHERE account_id = %(account_id)s AND lead_id = %(lead_id)s AND confirmed_at IS NULL
      AND id NOT IN (
          SELECT id FROM leads_requests WHERE account_id = %(account_id)s AND lead_id = %(lead_id)s
          ORDER BY id DESC LIMIT %(max_requests)s
      )
      AND id NOT IN (
          SELECT request_id FROM leads_tokens WHERE account_id = %(account_id)s AND lead_id = %(lead_id)s
      )
""").run(account_id=VENDOR, max_requests=MAX_REQUESTS)
is_suppressed = query("""
    SELECT hash FROM leads_suppressions WHERE account_id = %(account_id)s AND hash = ANY(%(hashes)s) LIMIT 1
""").exists(account_id=VENDOR)


async def ensure(conn: Conn, *, email: str, now: datetime) -> LeadState:
    """Lock and return the lead of the address; create it when there is none."""
    await conn.execute(ENSURE, {"account_id": VENDOR, "id": ids.new(), "email": email, "now": now})
    found = await lock(conn, email=email)
    assert found is not None  # noqa: S101 - the statement before has inserted it
    return found


lock = query("""
    SELECT id, email, status, message_id FROM leads_leads
    WHERE account_id = %(account_id)s AND email = %(email)s FOR UPDATE
""").one(_lead_state, account_id=VENDOR)


async def reserve(conn: Conn, *, lead_id: UUID, now: datetime) -> bool:
    """Count a message to the lead and make it pending; False when no message may be sent now."""
    row = {"account_id": VENDOR, "id": lead_id, "now": now, "max_messages": MAX_MESSAGES}
    since = {"gap_ago": now - MIN_INTERVAL, "day_ago": now - timedelta(days=1), "rested": now - BOUNCE_PAUSE}
    return (await conn.execute(RESERVE, row | since)).rowcount == 1


# Drops recorded messages with smaller ids than the oldest.
set_message = query("""
    UPDATE leads_leads
    SET message_id = %(message_id)s, message_ids = ARRAY(
            SELECT each FROM unnest(message_ids) AS each WHERE each > %(oldest)s
        ) || %(message_id)s::uuid
    WHERE account_id = %(account_id)s AND id = %(lead_id)s
""").run(account_id=VENDOR)
put_token = query("""
    INSERT INTO leads_tokens (account_id, lead_id, request_id, digest, expires_at)
    VALUES (%(account_id)s, %(lead_id)s, %(request_id)s, %(digest)s, %(expires_at)s)
    ON CONFLICT (account_id, lead_id) DO UPDATE
    SET request_id = excluded.request_id, digest = excluded.digest, expires_at = excluded.expires_at,
        used_at = NULL
""").run(account_id=VENDOR)
find_token = query("""
    SELECT lead_id, request_id, email, used_at
    FROM leads_tokens AS token JOIN leads_leads AS lead ON lead.account_id = token.account_id AND lead.id = lead_id
    WHERE token.account_id = %(account_id)s AND digest = ANY(%(digests)s::bytea[]) AND expires_at > %(now)s
""").one(Token, account_id=VENDOR)
use_token = query("""
    UPDATE leads_tokens SET used_at = %(now)s
    WHERE account_id = %(account_id)s AND digest = ANY(%(digests)s::bytea[]) AND used_at IS NULL
""").changes(account_id=VENDOR)
# Returns source, interest and consent of the request.
# The times of earlier confirmations of the lead stay.
confirm = query("""
    WITH lead AS (
        UPDATE leads_leads
        SET status = 'confirmed',
            changed_at = CASE status WHEN 'confirmed' THEN changed_at ELSE %(now)s END,
            confirmed_at = CASE status WHEN 'confirmed' THEN confirmed_at ELSE %(now)s END
        WHERE account_id = %(account_id)s AND id = %(lead_id)s
    )
    UPDATE leads_requests SET confirmed_at = %(now)s, confirmed_from = %(client)s
    WHERE account_id = %(account_id)s AND id = %(request_id)s
    RETURNING source, interest, marketing
""").only(tuple[str | None, str | None, bool], account_id=VENDOR)
# Unsubscribes a confirmed lead, suppresses another one; deletes its token.
# changed_at makes a repeated or late event a no-op.
unsubscribe = query("""
    WITH lead AS (
        UPDATE leads_leads
        SET status = CASE status WHEN 'confirmed' THEN 'unsubscribed' ELSE 'suppressed' END,
            changed_at = %(at)s, unsubscribed_at = %(at)s
        WHERE account_id = %(account_id)s AND email = %(email)s AND changed_at < %(at)s
          AND status NOT IN ('unsubscribed', 'suppressed')
        RETURNING account_id, id
    )
    DELETE FROM leads_tokens AS token USING lead
    WHERE token.account_id = %(account_id)s AND token.lead_id = lead.id
""").run(account_id=VENDOR)
bounce = query("""
    UPDATE leads_leads SET status = 'bounced', changed_at = %(at)s
    WHERE account_id = %(account_id)s AND message_id = %(message_id)s AND changed_at < %(at)s
      AND status NOT IN ('bounced', 'suppressed')
""").run(account_id=VENDOR)


async def expire(conn: Conn, *, now: datetime) -> None:
    """Expire leads whose link has expired, and delete old tokens, requests without a lead, and leads."""
    own = {"account_id": VENDOR, "now": now}
    await conn.execute(EXPIRE, own | {"before": now - LINK_LIFE})
    await conn.execute(PRUNE_LINKS, own)
    await conn.execute(PRUNE_REQUESTS, own | {"before": now - RETENTION})
    deleted = DELETE_BATCH
    while deleted == DELETE_BATCH:
        row = own | {"before": now - RETENTION, "batch": DELETE_BATCH}
        deleted = (await conn.execute(DELETE_OLD, row)).rowcount


async def erase(conn: Conn, *, email: str, digest: bytes, now: datetime) -> tuple[int, Sequence[UUID] | None]:
    """Suppress an address, and delete its requests and lead; return the number of requests and the messages.

    The messages are None when there is no lead.
    """
    row = {"account_id": VENDOR, "email": email, "hash": digest, "now": now}
    await conn.execute(SUPPRESS, row)
    requests = (await conn.execute(DELETE_REQUESTS, row)).rowcount
    lead = await (await conn.execute(DELETE_LEAD, row)).fetchone()
    return requests, None if lead is None else list(filter(None, lead[0]))


async def list_newest(conn: Conn, *, filters: LeadFilter, before: UUID, limit: int) -> Sequence[Lead]:
    """Return the matching leads older than `before`, newest first."""
    row = {"account_id": VENDOR, **asdict(filters), "before": before, "limit": limit}
    cursor = conn.cursor(row_factory=kwargs_row(_lead))
    return await (await cursor.execute(LIST, row, prepare=False)).fetchall()
