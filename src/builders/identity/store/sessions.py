"""Sessions and login-as grants. Every statement names the account, except the query for a grant's account."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg import AsyncCursor
from psycopg.rows import class_row, kwargs_row

from builders.identity.records import Grant, Session, SessionKind
from builders.kit.db.connections import Conn
from builders.kit.http.callers import Impersonation

INSERT_SESSION = """
    INSERT INTO identity_sessions
        (account_id, id, kind, created_at, expires_at, address, user_agent, grant_id, operator, reason, may_write)
    VALUES (%(account_id)s, %(id)s, %(kind)s, %(created_at)s, %(expires_at)s, %(address)s, %(user_agent)s,
            %(grant_id)s, %(operator)s, %(reason)s, %(may_write)s)
"""
COLUMNS = """
    account_id, id, kind, created_at, expires_at, revoked_at, address, user_agent, grant_id, operator, reason,
    may_write
"""
FIND_SESSION = f"""
    SELECT {COLUMNS}
    FROM identity_sessions
    WHERE account_id = %(account_id)s AND id = %(session_id)s AND revoked_at IS NULL AND expires_at > %(now)s
"""
LIST_SESSIONS = f"""
    SELECT {COLUMNS}
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
    WHERE account_id = %(account_id)s AND id = %(session_id)s AND revoked_at IS NULL AND expires_at > %(now)s
    RETURNING {COLUMNS}
"""
END_GRANT_SESSION = f"""
    UPDATE identity_sessions SET revoked_at = %(now)s
    WHERE account_id = %(account_id)s AND grant_id = %(grant_id)s AND revoked_at IS NULL AND expires_at > %(now)s
    RETURNING {COLUMNS}
"""
PRUNE_SESSIONS = """
    DELETE FROM identity_sessions WHERE ctid = ANY(ARRAY(
        SELECT ctid FROM identity_sessions WHERE expires_at < %(before)s LIMIT %(batch)s
    ))
"""


def _session(
    *,
    kind: str,
    grant_id: UUID | None,
    operator: str | None,
    reason: str | None,
    may_write: bool | None,
    **columns: Any,
) -> Session:
    impersonation = None
    if grant_id is not None:
        impersonation = Impersonation(
            grant_id=grant_id, operator=operator or "", reason=reason or "", may_write=bool(may_write)
        )
    return Session(kind=SessionKind(kind), impersonation=impersonation, **columns)


def _sessions(conn: Conn) -> AsyncCursor[Session]:
    return conn.cursor(row_factory=kwargs_row(_session))


async def insert_session(conn: Conn, *, session: Session) -> None:
    """Insert an active session."""
    grant = session.impersonation
    row = {
        "account_id": session.account_id,
        "id": session.id,
        "kind": session.kind,
        "created_at": session.created_at,
        "expires_at": session.expires_at,
        "address": session.address,
        "user_agent": session.user_agent,
        "grant_id": grant and grant.grant_id,
        "operator": grant and grant.operator,
        "reason": grant and grant.reason,
        "may_write": grant and grant.may_write,
    }
    await conn.execute(INSERT_SESSION, row)


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


async def end_session(conn: Conn, *, account_id: UUID, session_id: UUID, now: datetime) -> Session | None:
    """End a session and return it; None when it does not exist or has ended."""
    row = {"account_id": account_id, "session_id": session_id, "now": now}
    return await (await _sessions(conn).execute(END_SESSION, row)).fetchone()


async def end_grant_session(conn: Conn, *, account_id: UUID, grant_id: UUID, now: datetime) -> Session | None:
    """End the session of the grant and return it; None when there is none or it has ended."""
    row = {"account_id": account_id, "grant_id": grant_id, "now": now}
    return await (await _sessions(conn).execute(END_GRANT_SESSION, row)).fetchone()


async def prune_sessions(conn: Conn, *, before: datetime, batch: int) -> int:
    """Delete up to `batch` sessions that ended before then; return their number."""
    return (await conn.execute(PRUNE_SESSIONS, {"before": before, "batch": batch})).rowcount


async def list_addresses(conn: Conn, *, account_id: UUID, since: datetime, limit: int) -> list[str]:
    """Return the IP addresses of the owner's logins since then, the latest first."""
    row = {"account_id": account_id, "since": since, "limit": limit}
    return [address for (address,) in await (await conn.execute(LIST_ADDRESSES, row)).fetchall()]


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
REDEEM_GRANT = """
    UPDATE identity_grants AS granted SET redeemed_at = %(now)s
    FROM identity_grant_ids AS known
    WHERE known.public_id = %(public_id)s AND known.digest = %(digest)s
      AND granted.account_id = known.account_id AND granted.id = known.grant_id
      AND granted.redeemed_at IS NULL AND granted.revoked_at IS NULL AND granted.expires_at > %(now)s
    RETURNING granted.account_id, granted.id, operator, reason, may_write, created_at, expires_at, redeemed_at,
              revoked_at
"""
FIND_GRANT_ACCOUNT = "SELECT account_id FROM identity_grant_ids WHERE grant_id = %(grant_id)s"
FIND_GRANT = """
    SELECT account_id, id, operator, reason, may_write, created_at, expires_at, redeemed_at, revoked_at
    FROM identity_grants WHERE account_id = %(account_id)s AND id = %(grant_id)s
"""
LIST_GRANTS = """
    SELECT account_id, id, operator, reason, may_write, created_at, expires_at, redeemed_at, revoked_at
    FROM identity_grants WHERE account_id = %(account_id)s ORDER BY id DESC LIMIT %(limit)s
"""
REVOKE_GRANT = """
    UPDATE identity_grants SET revoked_at = %(now)s
    WHERE account_id = %(account_id)s AND id = %(grant_id)s AND revoked_at IS NULL
"""


async def insert_grant(conn: Conn, *, grant: Grant, public_id: str, digest: bytes) -> None:
    """Insert a grant with its row in the global table of grants."""
    row = {
        "account_id": grant.account_id,
        "id": grant.id,
        "operator": grant.operator,
        "reason": grant.reason,
        "may_write": grant.may_write,
        "created_at": grant.created_at,
        "expires_at": grant.expires_at,
        "public_id": public_id,
        "digest": digest,
    }
    await conn.execute(INSERT_GRANT, row)


async def redeem_grant(conn: Conn, *, public_id: str, digest: bytes, now: datetime) -> Grant | None:
    """Mark the grant as redeemed and return it; None when it is unknown, used, revoked or expired."""
    async with conn.cursor(row_factory=class_row(Grant)) as cursor:
        await cursor.execute(REDEEM_GRANT, {"public_id": public_id, "digest": digest, "now": now})
        return await cursor.fetchone()


async def find_grant(conn: Conn, *, grant_id: UUID) -> Grant | None:
    """Return a grant of any account, or None."""
    owner = await (await conn.execute(FIND_GRANT_ACCOUNT, {"grant_id": grant_id})).fetchone()
    if owner is None:
        return None
    async with conn.cursor(row_factory=class_row(Grant)) as cursor:
        await cursor.execute(FIND_GRANT, {"account_id": owner[0], "grant_id": grant_id})
        return await cursor.fetchone()


async def list_grants(conn: Conn, *, account_id: UUID, limit: int) -> Sequence[Grant]:
    """Return the account's newest grants."""
    async with conn.cursor(row_factory=class_row(Grant)) as cursor:
        await cursor.execute(LIST_GRANTS, {"account_id": account_id, "limit": limit})
        return await cursor.fetchall()


async def revoke_grant(conn: Conn, *, account_id: UUID, grant_id: UUID, now: datetime) -> bool:
    """Revoke the grant; return False when it is already revoked."""
    row = {"account_id": account_id, "grant_id": grant_id, "now": now}
    return (await conn.execute(REVOKE_GRANT, row)).rowcount == 1
