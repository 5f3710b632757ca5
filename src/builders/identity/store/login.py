"""One-time login codes. They belong to an email address, which may have no account."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from psycopg.rows import class_row

from builders.identity.records import Account
from builders.kit.db.connections import Conn

INSERT_REQUEST = """
    INSERT INTO identity_sign_ins (id, address, return_to, requested_at, requested_from)
    VALUES (%(id)s, %(address)s, %(return_to)s, %(now)s, %(network)s)
"""
# Without the lock, concurrent transactions would not count each other's codes.
LOCK_ADDRESS = "SELECT pg_advisory_xact_lock(hashtextextended('identity_sign_ins ' || %(address)s, 0))"
FIND_REQUEST = """
    SELECT address, return_to, requested_from FROM identity_sign_ins
    WHERE id = %(id)s AND made_at IS NULL AND requested_at > %(since)s
"""
COUNT_CODES = """
    SELECT count(*), count(*) FILTER (WHERE requested_from = %(network)s),
           count(*) FILTER (WHERE requested_from <> ALL(%(known)s::text[]))
    FROM identity_sign_ins WHERE address = %(address)s AND made_at > %(since)s
"""
# No code for a request when a newer one has its code: only the newest code is valid.
SET_CODE = """
    UPDATE identity_sign_ins AS mine
    SET made_at = %(now)s, expires_at = %(expires_at)s, account_id = %(account_id)s, code_hash = %(code_hash)s,
        token_hash = %(token_hash)s
    WHERE id = %(id)s AND made_at IS NULL
      AND NOT EXISTS (
          SELECT FROM identity_sign_ins AS newer
          WHERE newer.address = mine.address AND newer.id > mine.id AND newer.made_at IS NOT NULL
      )
"""
END_OLDER_CODES = """
    UPDATE identity_sign_ins SET ended_at = %(now)s
    WHERE address = %(address)s AND id < %(id)s AND ended_at IS NULL AND made_at IS NOT NULL
"""
# The try is counted and committed before the code is compared: concurrent requests get no additional tries.
TRY_CODE = """
    UPDATE identity_sign_ins
    SET tries = tries + 1,
        tries_from = tries_from || jsonb_build_object(
            %(network)s::text, coalesce((tries_from ->> %(network)s::text)::int, 0) + 1
        )
    WHERE id = (
        SELECT id FROM identity_sign_ins
        WHERE address = %(address)s AND made_at IS NOT NULL AND ended_at IS NULL AND expires_at > %(now)s
        ORDER BY id DESC LIMIT 1
    ) AND tries < %(max_tries)s AND coalesce((tries_from ->> %(network)s::text)::int, 0) < %(max_network_tries)s
    RETURNING id, address, code_hash
"""
FIND_LINK = """
    SELECT id, address, code_hash FROM identity_sign_ins
    WHERE token_hash = ANY(%(hashes)s) AND account_id IS NOT NULL AND ended_at IS NULL AND expires_at > %(now)s
"""
# If two claims are concurrent, one succeeds. The address must still be the account's.
CLAIM_CODE = """
    UPDATE identity_sign_ins AS mine SET ended_at = %(now)s
    FROM identity_accounts AS account
    WHERE mine.id = %(id)s AND mine.ended_at IS NULL AND mine.expires_at > %(now)s
      AND account.id = mine.account_id AND account.sandbox_of IS NULL AND account.email = mine.address
    RETURNING account.id, account.email
"""
PRUNE_REQUESTS = """
    DELETE FROM identity_sign_ins WHERE id = ANY(ARRAY(
        SELECT id FROM identity_sign_ins WHERE requested_at < %(before)s LIMIT %(batch)s
    ))
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenCode:
    """A code that was not used and has not expired."""

    id: UUID
    address: str
    code_hash: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeRequest:
    """A request for a code."""

    address: str
    return_to: str | None  # a path of this service
    requested_from: str  # the network of the client


async def insert_request(
    conn: Conn, *, sign_in_id: UUID, address: str, network: str, return_to: str | None, now: datetime
) -> None:
    """Insert a request for the email address, which came from the network."""
    row = {"id": sign_in_id, "address": address, "network": network, "return_to": return_to, "now": now}
    await conn.execute(INSERT_REQUEST, row)


async def lock_request(conn: Conn, *, sign_in_id: UUID, since: datetime) -> CodeRequest | None:
    """Lock the address of a request and return it; None when it is too old, deleted or has a code."""
    async with conn.cursor(row_factory=class_row(CodeRequest)) as cursor:
        await cursor.execute(FIND_REQUEST, {"id": sign_in_id, "since": since})
        found = await cursor.fetchone()
    if found is not None:
        await conn.execute(LOCK_ADDRESS, {"address": found.address})
    return found


async def count_codes(
    conn: Conn, *, address: str, network: str, known: Collection[str], since: datetime
) -> tuple[int, int, int]:
    """Count the codes for the address since then: all, those for the network, those for unknown networks."""
    row = {"address": address, "network": network, "known": list(known), "since": since}
    found = await (await conn.execute(COUNT_CODES, row)).fetchone()
    return (0, 0, 0) if found is None else (found[0], found[1], found[2])


async def set_code(
    conn: Conn,
    *,
    sign_in_id: UUID,
    account: Account | None,
    code_hash: bytes,
    token_hash: bytes,
    expires_at: datetime,
    now: datetime,
) -> bool:
    """Set the code of the request; return False when it or a newer request has one."""
    row = {
        "id": sign_in_id,
        "account_id": None if account is None else account.id,
        "code_hash": code_hash,
        "token_hash": token_hash,
        "expires_at": expires_at,
        "now": now,
    }
    return (await conn.execute(SET_CODE, row)).rowcount == 1


async def end_older_codes(conn: Conn, *, sign_in_id: UUID, address: str, now: datetime) -> None:
    """End the address' earlier codes."""
    await conn.execute(END_OLDER_CODES, {"id": sign_in_id, "address": address, "now": now})


async def try_code(
    conn: Conn, *, address: str, network: str, max_network_tries: int, max_tries: int, now: datetime
) -> OpenCode | None:
    """Count a try of the network and return the address' open code.

    Return None when there is no code, or when the tries of the network or of all networks are used up.
    """
    async with conn.cursor(row_factory=class_row(OpenCode)) as cursor:
        row = {
            "address": address,
            "network": network,
            "max_network_tries": max_network_tries,
            "max_tries": max_tries,
            "now": now,
        }
        await cursor.execute(TRY_CODE, row)
        return await cursor.fetchone()


async def find_link(conn: Conn, *, hashes: Collection[bytes], now: datetime) -> OpenCode | None:
    """Return the open code of a link, found by the hashes of its token."""
    async with conn.cursor(row_factory=class_row(OpenCode)) as cursor:
        await cursor.execute(FIND_LINK, {"hashes": list(hashes), "now": now})
        return await cursor.fetchone()


async def claim_code(conn: Conn, *, sign_in_id: UUID, now: datetime) -> tuple[UUID, str] | None:
    """End the code and return the id and the address of its account; None when the code is no longer open."""
    return await (await conn.execute(CLAIM_CODE, {"id": sign_in_id, "now": now})).fetchone()


async def prune_requests(conn: Conn, *, before: datetime, batch: int) -> int:
    """Delete up to `batch` requests that are older than `before`; return their number."""
    return (await conn.execute(PRUNE_REQUESTS, {"before": before, "batch": batch})).rowcount
