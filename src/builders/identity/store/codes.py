"""One-time codes to sign in with. They go by address: whoever asks for one may have no account."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from psycopg.rows import class_row

from builders.kit.db.connections import Conn

INSERT_REQUEST = """
    INSERT INTO identity_sign_ins (id, address, return_to, requested_at, requested_from)
    VALUES (%(id)s, %(address)s, %(return_to)s, %(now)s, %(network)s)
"""
# One at a time for an address, or two would each count the other's code as not yet there.
LOCK_ADDRESS = "SELECT pg_advisory_xact_lock(hashtextextended('identity_sign_ins ' || %(address)s, 0))"
FIND_REQUEST = """
    SELECT address, return_to, requested_from FROM identity_sign_ins
    WHERE id = %(id)s AND made_at IS NULL AND requested_at > %(since)s
"""
COUNT_MADE = """
    SELECT count(*), count(*) FILTER (WHERE requested_from = %(network)s),
           count(*) FILTER (WHERE requested_from <> ALL(%(known)s::text[]))
    FROM identity_sign_ins WHERE address = %(address)s AND made_at > %(since)s
"""
# None where a newer one has been made meanwhile: the newest alone counts.
MAKE_CODE = """
    UPDATE identity_sign_ins AS mine
    SET made_at = %(now)s, expires_at = %(expires_at)s, account_id = %(account_id)s, code_hash = %(code_hash)s,
        token_hash = %(token_hash)s
    WHERE id = %(id)s AND made_at IS NULL
      AND NOT EXISTS (
          SELECT FROM identity_sign_ins AS newer
          WHERE newer.address = mine.address AND newer.id > mine.id AND newer.made_at IS NOT NULL
      )
"""
END_OLDER = """
    UPDATE identity_sign_ins SET ended_at = %(now)s
    WHERE address = %(address)s AND id < %(id)s AND ended_at IS NULL AND made_at IS NOT NULL
"""
# The try is counted before the code is compared, and committed, so that any number at once get no more tries.
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
    ) AND tries < %(most_in_all)s AND coalesce((tries_from ->> %(network)s::text)::int, 0) < %(most)s
    RETURNING id, address, code_hash
"""
FIND_LINK = """
    SELECT id, address, code_hash FROM identity_sign_ins
    WHERE token_hash = ANY(%(hashes)s) AND account_id IS NOT NULL AND ended_at IS NULL AND expires_at > %(now)s
"""
# Of two at once, one. The address must still be the account's.
CLAIM = """
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
class SignIn:
    """A code that is open."""

    id: UUID
    address: str
    code_hash: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class SignInRequest:
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


async def lock_request(conn: Conn, *, sign_in_id: UUID, since: datetime) -> SignInRequest | None:
    """A request that waits for its code, its address locked; None when it is older, gone or has one."""
    async with conn.cursor(row_factory=class_row(SignInRequest)) as cursor:
        await cursor.execute(FIND_REQUEST, {"id": sign_in_id, "since": since})
        found = await cursor.fetchone()
    if found is not None:
        await conn.execute(LOCK_ADDRESS, {"address": found.address})
    return found


async def count_made(
    conn: Conn, *, address: str, network: str, known: Collection[str], since: datetime
) -> tuple[int, int, int]:
    """Count the codes made for the address since then: all, those for the network, those for no known network."""
    row = {"address": address, "network": network, "known": list(known), "since": since}
    found = await (await conn.execute(COUNT_MADE, row)).fetchone()
    return (0, 0, 0) if found is None else (found[0], found[1], found[2])


async def make_code(
    conn: Conn,
    *,
    sign_in_id: UUID,
    account_id: UUID | None,
    code_hash: bytes,
    token_hash: bytes,
    expires_at: datetime,
    now: datetime,
) -> bool:
    """Gives the request its code; False when it has one, or a newer request has."""
    row = {
        "id": sign_in_id,
        "account_id": account_id,
        "code_hash": code_hash,
        "token_hash": token_hash,
        "expires_at": expires_at,
        "now": now,
    }
    return (await conn.execute(MAKE_CODE, row)).rowcount == 1


async def end_older(conn: Conn, *, sign_in_id: UUID, address: str, now: datetime) -> None:
    """Voids the address' earlier codes."""
    await conn.execute(END_OLDER, {"id": sign_in_id, "address": address, "now": now})


async def try_code(
    conn: Conn, *, address: str, network: str, most: int, most_in_all: int, now: datetime
) -> SignIn | None:
    """Return the address' open code, with one more try counted for the network.

    None when there is none, or when the tries of the network, or of all networks, are used up.
    """
    async with conn.cursor(row_factory=class_row(SignIn)) as cursor:
        row = {"address": address, "network": network, "most": most, "most_in_all": most_in_all, "now": now}
        await cursor.execute(TRY_CODE, row)
        return await cursor.fetchone()


async def find_link(conn: Conn, *, hashes: Collection[bytes], now: datetime) -> SignIn | None:
    """What a link's token, of which these are the hashes, is open for."""
    async with conn.cursor(row_factory=class_row(SignIn)) as cursor:
        await cursor.execute(FIND_LINK, {"hashes": list(hashes), "now": now})
        return await cursor.fetchone()


async def claim(conn: Conn, *, sign_in_id: UUID, now: datetime) -> tuple[UUID, str] | None:
    """Uses it up: the account that may be signed in to, and its address; None when it is no good any more."""
    return await (await conn.execute(CLAIM, {"id": sign_in_id, "now": now})).fetchone()


async def prune_requests(conn: Conn, *, before: datetime, batch: int) -> int:
    """Forgets up to a batch of requests of before; their number."""
    return (await conn.execute(PRUNE_REQUESTS, {"before": before, "batch": batch})).rowcount
