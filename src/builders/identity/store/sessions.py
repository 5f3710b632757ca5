"""Sessions, login-as grants, and one-time login codes.

A statement names the account, unless it finds a grant by its id, or a code by its address, which may have none.
"""

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg import AsyncCursor
from psycopg.rows import class_row, kwargs_row

from builders.identity.records import Grant, KeySecret, Session, SessionKind
from builders.kit.db.connections import Conn
from builders.kit.http.callers import Impersonation

INSERT_SESSION = """
    INSERT INTO identity_sessions
        (account_id, id, kind, created_at, expires_at, address, user_agent, grant_id, operator, reason, may_write)
    VALUES (%(account_id)s, %(id)s, %(kind)s, %(created_at)s, %(expires_at)s, %(address)s, %(user_agent)s,
            %(grant_id)s, %(operator)s, %(reason)s, %(may_write)s)
"""
SESSION_COLUMNS = """
    account_id, id, kind, created_at, expires_at, revoked_at, address, user_agent, grant_id, operator, reason,
    may_write
"""
FIND_SESSION = f"""
    SELECT {SESSION_COLUMNS}
    FROM identity_sessions
    WHERE account_id = %(account_id)s AND id = %(session_id)s AND revoked_at IS NULL AND expires_at > %(now)s
"""
LIST_SESSIONS = f"""
    SELECT {SESSION_COLUMNS}
    FROM identity_sessions
    WHERE account_id = %(account_id)s AND id < %(before)s AND revoked_at IS NULL AND expires_at > %(now)s
    ORDER BY id DESC LIMIT %(limit)s
"""
# Only logins of a person: the operator's tokens and support sessions are not the owner's.
LIST_ADDRESSES = """
    SELECT address FROM identity_sessions
    WHERE account_id = %(account_id)s AND kind = 'login' AND address IS NOT NULL AND created_at > %(since)s
    GROUP BY address ORDER BY max(created_at) DESC LIMIT %(limit)s
"""
# Only an active session is ended: if two statements are concurrent, one returns it.
END_SESSION = f"""
    UPDATE identity_sessions SET revoked_at = %(now)s
    WHERE account_id = %(account_id)s AND (id = %(session_id)s OR grant_id = %(grant_id)s)
      AND revoked_at IS NULL AND expires_at > %(now)s
    RETURNING {SESSION_COLUMNS}
"""
PRUNE_SESSIONS = """
    DELETE FROM identity_sessions WHERE ctid = ANY(ARRAY(
        SELECT ctid FROM identity_sessions WHERE expires_at < %(before)s LIMIT %(batch)s
    ))
"""


_SUPPORT = ("grant_id", "operator", "reason", "may_write")  # the columns of an impersonation


def _session(**columns: Any) -> Session:
    support = {name: columns.pop(name) for name in _SUPPORT}
    impersonation = None if support["grant_id"] is None else Impersonation(**support)
    return Session(kind=SessionKind(columns.pop("kind")), impersonation=impersonation, **columns)


def _sessions(conn: Conn) -> AsyncCursor[Session]:
    return conn.cursor(row_factory=kwargs_row(_session))


async def insert_session(conn: Conn, *, session: Session) -> None:
    """Insert an active session."""
    grant = session.impersonation
    support = dict.fromkeys(_SUPPORT) if grant is None else asdict(grant)
    await conn.execute(INSERT_SESSION, asdict(session) | support)


async def find_session(conn: Conn, *, account_id: UUID, session_id: UUID, now: datetime) -> Session | None:
    """Return an active session, or None."""
    row = {"account_id": account_id, "session_id": session_id, "now": now}
    return await (await _sessions(conn).execute(FIND_SESSION, row)).fetchone()


async def list_sessions(
    conn: Conn, *, account_id: UUID, before: UUID, limit: int, now: datetime
) -> Sequence[Session]:
    """Return up to `limit` active sessions before the id `before`, newest first."""
    row = {"account_id": account_id, "before": before, "limit": limit, "now": now}
    return await (await _sessions(conn).execute(LIST_SESSIONS, row)).fetchall()


async def end_session(
    conn: Conn, *, account_id: UUID, session_id: UUID | None, grant_id: UUID | None, now: datetime
) -> Session | None:
    """End a session, by its id or its grant, and return it; None when it does not exist or has ended."""
    row = {"account_id": account_id, "session_id": session_id, "grant_id": grant_id, "now": now}
    return await (await _sessions(conn).execute(END_SESSION, row)).fetchone()


async def prune_sessions(conn: Conn, *, before: datetime, batch: int) -> int:
    """Delete up to `batch` sessions that ended before then; return their number."""
    return (await conn.execute(PRUNE_SESSIONS, {"before": before, "batch": batch})).rowcount


async def list_addresses(conn: Conn, *, account_id: UUID, since: datetime, limit: int) -> list[str]:
    """Return the IP addresses of the owner's logins since then, the latest first."""
    row = {"account_id": account_id, "since": since, "limit": limit}
    return [address for (address,) in await (await conn.execute(LIST_ADDRESSES, row)).fetchall()]


GRANT_COLUMNS = (
    "granted.account_id, granted.id, operator, reason, may_write, created_at, expires_at, redeemed_at, revoked_at"
)
INSERT_GRANT = """
    WITH granted AS (
        INSERT INTO identity_grants
            (account_id, id, operator, reason, may_write, created_at, expires_at)
        VALUES (%(account_id)s, %(id)s, %(operator)s, %(reason)s, %(may_write)s, %(created_at)s, %(expires_at)s)
    )
    INSERT INTO identity_grant_ids (public_id, digest, account_id, grant_id)
    VALUES (%(public_id)s, %(digest)s, %(account_id)s, %(id)s)
"""
# If two statements are concurrent, one succeeds.
REDEEM_GRANT = f"""
    UPDATE identity_grants AS granted SET redeemed_at = %(now)s
    FROM identity_grant_ids AS known
    WHERE known.public_id = %(public_id)s AND known.digest = %(digest)s
      AND granted.account_id = known.account_id AND granted.id = known.grant_id
      AND granted.redeemed_at IS NULL AND granted.revoked_at IS NULL AND granted.expires_at > %(now)s
    RETURNING {GRANT_COLUMNS}
"""
FIND_GRANT = f"""
    SELECT {GRANT_COLUMNS}
    FROM identity_grant_ids AS known
    JOIN identity_grants AS granted ON granted.account_id = known.account_id AND granted.id = known.grant_id
    WHERE known.grant_id = %(grant_id)s
"""
LIST_GRANTS = f"""
    SELECT {GRANT_COLUMNS} FROM identity_grants AS granted
    WHERE account_id = %(account_id)s ORDER BY id DESC LIMIT %(limit)s
"""
REVOKE_GRANT = """
    UPDATE identity_grants SET revoked_at = %(now)s
    WHERE account_id = %(account_id)s AND id = %(grant_id)s AND revoked_at IS NULL
"""


async def insert_grant(conn: Conn, *, grant: Grant, secret: KeySecret) -> None:
    """Insert a grant with its row in the global table of grants."""
    row = asdict(grant) | {"public_id": secret.public_id, "digest": secret.digest}
    await conn.execute(INSERT_GRANT, row)


def _grants(conn: Conn) -> AsyncCursor[Grant]:
    return conn.cursor(row_factory=class_row(Grant))


async def redeem_grant(conn: Conn, *, secret: KeySecret, now: datetime) -> Grant | None:
    """Mark the grant as redeemed and return it; None when it is unknown, used, revoked or expired."""
    row = {"public_id": secret.public_id, "digest": secret.digest, "now": now}
    return await (await _grants(conn).execute(REDEEM_GRANT, row)).fetchone()


async def find_grant(conn: Conn, *, grant_id: UUID) -> Grant | None:
    """Return a grant of any account, or None."""
    return await (await _grants(conn).execute(FIND_GRANT, {"grant_id": grant_id})).fetchone()


async def list_grants(conn: Conn, *, account_id: UUID, limit: int) -> Sequence[Grant]:
    """Return the account's newest grants."""
    row = {"account_id": account_id, "limit": limit}
    return await (await _grants(conn).execute(LIST_GRANTS, row)).fetchall()


async def revoke_grant(conn: Conn, *, account_id: UUID, grant_id: UUID, now: datetime) -> bool:
    """Revoke the grant; return False when it is already revoked."""
    row = {"account_id": account_id, "grant_id": grant_id, "now": now}
    return (await conn.execute(REVOKE_GRANT, row)).rowcount == 1


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
    row = {"id": sign_in_id, "since": since}
    found = await (await conn.cursor(row_factory=class_row(CodeRequest)).execute(FIND_REQUEST, row)).fetchone()
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
    address: str,
    account_id: UUID | None,
    code_hash: bytes,
    token_hash: bytes,
    expires_at: datetime,
    now: datetime,
) -> bool:
    """Set the code of the request and end the address' earlier codes; False when it or a newer request has one."""
    row = {"id": sign_in_id, "address": address, "account_id": account_id, "expires_at": expires_at, "now": now}
    hashes = {"code_hash": code_hash, "token_hash": token_hash}
    if (await conn.execute(SET_CODE, row | hashes)).rowcount != 1:
        return False
    await conn.execute(END_OLDER_CODES, row)
    return True


def _codes(conn: Conn) -> AsyncCursor[OpenCode]:
    return conn.cursor(row_factory=class_row(OpenCode))


async def try_code(
    conn: Conn, *, address: str, network: str, max_network_tries: int, max_tries: int, now: datetime
) -> OpenCode | None:
    """Count a try of the network and return the address' open code.

    Return None when there is no code, or when the tries of the network or of all networks are used up.
    """
    row = {"address": address, "network": network, "now": now}
    limits = {"max_network_tries": max_network_tries, "max_tries": max_tries}
    return await (await _codes(conn).execute(TRY_CODE, row | limits)).fetchone()


async def find_link(conn: Conn, *, hashes: Collection[bytes], now: datetime) -> OpenCode | None:
    """Return the open code of a link, found by the hashes of its token."""
    return await (await _codes(conn).execute(FIND_LINK, {"hashes": list(hashes), "now": now})).fetchone()


async def claim_code(conn: Conn, *, sign_in_id: UUID, now: datetime) -> tuple[UUID, str] | None:
    """End the code and return the id and the address of its account; None when the code is no longer open."""
    return await (await conn.execute(CLAIM_CODE, {"id": sign_in_id, "now": now})).fetchone()


async def prune_requests(conn: Conn, *, before: datetime, batch: int) -> int:
    """Delete up to `batch` requests that are older than `before`; return their number."""
    return (await conn.execute(PRUNE_REQUESTS, {"before": before, "batch": batch})).rowcount
