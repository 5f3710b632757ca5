"""Sessions: the rows behind our tokens."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from psycopg.rows import class_row

from builders.identity.records import Session, SessionKind
from builders.kit.db.connections import Conn
from builders.kit.http.callers import Impersonation

INSERT_SESSION = """
    INSERT INTO identity_sessions
        (account_id, id, kind, created_at, expires_at, address, user_agent, grant_id, operator, reason, may_write)
    VALUES (%(account_id)s, %(id)s, %(kind)s, %(created_at)s, %(expires_at)s, %(address)s, %(user_agent)s,
            %(grant_id)s, %(operator)s, %(reason)s, %(may_write)s)
"""
FIND_SESSION = """
    SELECT account_id, id, kind, created_at, expires_at, revoked_at, address, user_agent, grant_id, operator,
           reason, may_write
    FROM identity_sessions
    WHERE account_id = %(account_id)s AND id = %(session_id)s AND revoked_at IS NULL AND expires_at > %(now)s
"""
LIST_SESSIONS = """
    SELECT account_id, id, kind, created_at, expires_at, revoked_at, address, user_agent, grant_id, operator,
           reason, may_write
    FROM identity_sessions
    WHERE account_id = %(account_id)s AND id < %(before)s AND revoked_at IS NULL AND expires_at > %(now)s
    ORDER BY id DESC LIMIT %(limit)s
"""
# From which a person signed in: a token of the operator's and support's sessions say nothing of the holder.
LIST_ADDRESSES = """
    SELECT address FROM identity_sessions
    WHERE account_id = %(account_id)s AND kind = 'login' AND address IS NOT NULL AND created_at > %(since)s
    GROUP BY address ORDER BY max(created_at) DESC LIMIT %(limit)s
"""
# Only what lives is ended, so that of two who end it at once one is told that they did.
END_SESSION = """
    UPDATE identity_sessions SET revoked_at = %(now)s
    WHERE account_id = %(account_id)s AND id = %(session_id)s AND revoked_at IS NULL AND expires_at > %(now)s
    RETURNING account_id, id, kind, created_at, expires_at, revoked_at, address, user_agent, grant_id, operator,
              reason, may_write
"""
PRUNE_SESSIONS = """
    DELETE FROM identity_sessions WHERE ctid = ANY(ARRAY(
        SELECT ctid FROM identity_sessions WHERE expires_at < %(before)s LIMIT %(batch)s
    ))
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    account_id: UUID
    id: UUID
    kind: str
    created_at: datetime
    expires_at: datetime
    revoked_at: datetime | None
    address: str | None
    user_agent: str | None
    grant_id: UUID | None
    operator: str | None
    reason: str | None
    may_write: bool | None

    def session(self) -> Session:
        """The record: what is login-as's alone stands together."""
        impersonation = None
        if self.grant_id is not None:
            impersonation = Impersonation(
                grant_id=self.grant_id,
                operator=self.operator or "",
                reason=self.reason or "",
                may_write=bool(self.may_write),
            )
        return Session(
            id=self.id,
            account_id=self.account_id,
            kind=SessionKind(self.kind),
            created_at=self.created_at,
            expires_at=self.expires_at,
            revoked_at=self.revoked_at,
            address=self.address,
            user_agent=self.user_agent,
            impersonation=impersonation,
        )


async def insert_session(conn: Conn, *, session: Session) -> None:
    """A live session."""
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
    """A session that lives."""
    async with conn.cursor(row_factory=class_row(_Row)) as cursor:
        await cursor.execute(FIND_SESSION, {"account_id": account_id, "session_id": session_id, "now": now})
        row = await cursor.fetchone()
    return None if row is None else row.session()


async def list_sessions(
    conn: Conn, *, account_id: UUID, before: UUID, limit: int, now: datetime
) -> Sequence[Session]:
    """Up to `limit` sessions that live and are older than `before`, newest first."""
    async with conn.cursor(row_factory=class_row(_Row)) as cursor:
        row = {"account_id": account_id, "before": before, "limit": limit, "now": now}
        await cursor.execute(LIST_SESSIONS, row)
        return [each.session() for each in await cursor.fetchall()]


async def end_session(conn: Conn, *, account_id: UUID, session_id: UUID, now: datetime) -> Session | None:
    """The session that ended by this; None when it is not there or over already."""
    async with conn.cursor(row_factory=class_row(_Row)) as cursor:
        await cursor.execute(END_SESSION, {"account_id": account_id, "session_id": session_id, "now": now})
        row = await cursor.fetchone()
    return None if row is None else row.session()


async def prune_sessions(conn: Conn, *, before: datetime, batch: int) -> int:
    """Forgets sessions that were over by then, up to a batch; gives how many."""
    return (await conn.execute(PRUNE_SESSIONS, {"before": before, "batch": batch})).rowcount


async def list_addresses(conn: Conn, *, account_id: UUID, since: datetime, limit: int) -> list[str]:
    """Return the addresses from which the account's holder signed in since then, the latest first."""
    row = {"account_id": account_id, "since": since, "limit": limit}
    return [address for (address,) in await (await conn.execute(LIST_ADDRESSES, row)).fetchall()]
