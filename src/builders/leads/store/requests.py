"""SQL of requests (submitted forms) and of suppressed addresses."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from psycopg.rows import class_row
from psycopg.types.json import Jsonb

from builders.kit.db.connections import Conn
from builders.leads.records import Request

ADDRESSES = 4_711_013  # namespace of the advisory locks on addresses

INSERT = """
    INSERT INTO leads_requests (account_id, id, email, source, interest, marketing, text_version, client, details,
                                created_at)
    VALUES (%(account_id)s, %(id)s, %(email)s, %(source)s, %(interest)s, %(marketing)s, %(text_version)s,
            %(client)s, %(details)s, %(now)s)
"""
# An erasure must wait for a concurrent creation of the lead, which has no row to lock yet.
LOCK_ADDRESS = "SELECT pg_advisory_xact_lock(%(space)s::int, hashtext(leads_mailbox(%(email)s)))"
FIND_EMAIL = """
    SELECT email FROM leads_requests WHERE account_id = %(account_id)s AND id = %(id)s AND lead_id IS NULL
"""
ASSIGN = """
    UPDATE leads_requests SET lead_id = %(lead_id)s
    WHERE account_id = %(account_id)s AND id = %(id)s AND lead_id IS NULL
"""
DELETE = "DELETE FROM leads_requests WHERE account_id = %(account_id)s AND id = %(id)s"
# Confirmed requests stay, and those that a valid link would confirm.
TRIM = """
    DELETE FROM leads_requests
    WHERE account_id = %(account_id)s AND lead_id = %(lead_id)s AND confirmed_at IS NULL
      AND id NOT IN (
          SELECT id FROM leads_requests WHERE account_id = %(account_id)s AND lead_id = %(lead_id)s
          ORDER BY id DESC LIMIT %(max_requests)s
      )
      AND id NOT IN (
          SELECT request_id FROM leads_tokens WHERE account_id = %(account_id)s AND lead_id = %(lead_id)s
      )
"""
CONFIRM = """
    UPDATE leads_requests SET confirmed_at = %(now)s, confirmed_from = %(client)s
    WHERE account_id = %(account_id)s AND id = %(id)s
    RETURNING source, interest, marketing
"""
DELETE_OF_ADDRESS = "DELETE FROM leads_requests WHERE account_id = %(account_id)s AND email = %(email)s"
PRUNE = """
    DELETE FROM leads_requests
    WHERE account_id = %(account_id)s AND lead_id IS NULL AND created_at <= %(before)s
"""
FIND_SUPPRESSION = """
    SELECT hash FROM leads_suppressions WHERE account_id = %(account_id)s AND hash = ANY(%(hashes)s) LIMIT 1
"""
SUPPRESS = """
    INSERT INTO leads_suppressions (account_id, hash, created_at) VALUES (%(account_id)s, %(hash)s, %(now)s)
    ON CONFLICT (account_id, hash) DO NOTHING
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfirmedRequest:
    """The published members of a confirmed request."""

    source: str | None
    interest: str | None
    marketing: bool


async def insert(conn: Conn, *, account_id: UUID, request_id: UUID, request: Request, now: datetime) -> None:
    """Insert a request that is not processed yet."""
    row = {
        "account_id": account_id,
        "id": request_id,
        "email": request.email,
        "source": request.source,
        "interest": request.interest,
        "marketing": request.marketing,
        "text_version": request.text_version,
        "client": request.client,
        "details": Jsonb(dict(request.details)),
        "now": now,
    }
    await conn.execute(INSERT, row)


async def lock_address(conn: Conn, *, email: str) -> None:
    """Lock the address until the transaction ends, against concurrent creation, messages and erasure."""
    await conn.execute(LOCK_ADDRESS, {"space": ADDRESSES, "email": email})


async def find_email(conn: Conn, *, account_id: UUID, request_id: UUID) -> str | None:
    """Return the address of a request without a lead."""
    row = await (await conn.execute(FIND_EMAIL, {"account_id": account_id, "id": request_id})).fetchone()
    return None if row is None else row[0]


async def assign(conn: Conn, *, account_id: UUID, request_id: UUID, lead_id: UUID) -> bool:
    """Assign a request without a lead; False when it has one."""
    row = {"account_id": account_id, "id": request_id, "lead_id": lead_id}
    return (await conn.execute(ASSIGN, row)).rowcount == 1


async def delete(conn: Conn, *, account_id: UUID, request_id: UUID) -> None:
    """Delete a request."""
    await conn.execute(DELETE, {"account_id": account_id, "id": request_id})


async def trim(conn: Conn, *, account_id: UUID, lead_id: UUID, max_requests: int) -> None:
    """Delete all but the newest requests of a lead."""
    await conn.execute(TRIM, {"account_id": account_id, "lead_id": lead_id, "max_requests": max_requests})


async def confirm(
    conn: Conn, *, account_id: UUID, request_id: UUID, client: str | None, now: datetime
) -> ConfirmedRequest:
    """Record when and from which network the request was confirmed."""
    async with conn.cursor(row_factory=class_row(ConfirmedRequest)) as cursor:
        row = {"account_id": account_id, "id": request_id, "client": client, "now": now}
        await cursor.execute(CONFIRM, row)
        [found] = await cursor.fetchall()
        return found


async def delete_of_address(conn: Conn, *, account_id: UUID, email: str) -> int:
    """Delete all requests with the address; return their number."""
    return (await conn.execute(DELETE_OF_ADDRESS, {"account_id": account_id, "email": email})).rowcount


async def prune(conn: Conn, *, account_id: UUID, before: datetime) -> None:
    """Delete requests that no job has processed."""
    await conn.execute(PRUNE, {"account_id": account_id, "before": before})


async def is_suppressed(conn: Conn, *, account_id: UUID, hashes: Sequence[bytes]) -> bool:
    """Return whether one of these hashes is of an erased address."""
    row = {"account_id": account_id, "hashes": list(hashes)}
    return await (await conn.execute(FIND_SUPPRESSION, row)).fetchone() is not None


async def suppress(conn: Conn, *, account_id: UUID, digest: bytes, now: datetime) -> None:
    """Store the hash of an erased address."""
    await conn.execute(SUPPRESS, {"account_id": account_id, "hash": digest, "now": now})
