"""The caller that a credential is now, for a job that reads for who asked."""

from uuid import UUID

from builders.identity import scopes, sessions
from builders.identity.store import keys as key_store, sessions as session_store
from builders.kit.callers import Caller
from builders.kit.db.connections import Conn
from builders.kit.values import clock


async def find(conn: Conn, *, account_id: UUID, live_account_id: UUID, credential_id: UUID) -> Caller | None:
    """Return the caller with this `credential_id` as it is now; None if the key, connection or session has ended.

    A session is that of a program: a job is no person. It acts for the live account alone. A token of another
    issuer has no state here.
    """
    real, now = {"account_id": live_account_id}, clock.now()
    key = await key_store.find_key(conn, **real, key_id=credential_id)
    if key is None and credential_id != live_account_id:
        if account_id != live_account_id:
            return None
        session = await session_store.find_session(conn, **real, session_id=credential_id, now=now)
        return None if session is None else sessions.caller_of(session, method="jwt")
    if key is not None and not key.is_active(now):
        return None
    return Caller(
        account_id=account_id,
        live_account_id=live_account_id,
        mode="live" if account_id == live_account_id else "test",
        method="jwt" if key is None else "api_key",
        scopes=scopes.ALL if key is None else frozenset(key.scopes),
        key_id=None if key is None else key.id,
        mandate=None if key is None else key.mandate,
    )
