"""Login-as grants of the operator: each lets support sign in as a customer once, for an hour, and is audited.

The text of a grant is built like the secret of an API key, `svc_grant_<12 id>_<32 secret><6 checksum>`. Its
digest is stored.
"""

import re
from collections.abc import Sequence
from datetime import timedelta
from uuid import UUID

from builders.identity import accounts, keys, sessions
from builders.identity.errors import GrantInvalid, GrantNotFound
from builders.identity.events import SUPPORT_SIGNED_IN, SupportSignedIn
from builders.identity.records import AuditAction, Grant, NewGrant, NewSession, SessionKind, SignedIn
from builders.identity.store import sessions as store
from builders.kit.db.connections import Conn
from builders.kit.events import outbox
from builders.kit.http.callers import OPERATOR, Actor, Impersonation
from builders.kit.process.secret_keys import Keyring
from builders.kit.process.settings import Settings
from builders.kit.values import clock, ids

GRANT_LIFETIME = timedelta(minutes=10)
MAX_LISTED = 500
_GRANT = re.compile(r"(svc_grant_([0-9A-Za-z]{12})_[0-9A-Za-z]{32})([0-9A-Za-z]{6})")


async def create_grant(conn: Conn, *, account_id: UUID, operator: str, reason: str, may_write: bool) -> NewGrant:
    """Create a grant for the real account; return it with its text, which is not stored."""
    now = clock.now()
    grant = Grant(
        account_id=account_id,
        id=ids.new(),
        operator=operator,
        reason=reason,
        may_write=may_write,
        created_at=now,
        expires_at=now + GRANT_LIFETIME,
        redeemed_at=None,
        revoked_at=None,
    )
    public_id = keys.random_text(12)
    body = f"svc_grant_{public_id}_{keys.random_text(32)}"
    text = body + keys.checksum(body)
    await store.insert_grant(conn, grant=grant, public_id=public_id, digest=keys.digest(text))
    await accounts.record_audit(
        conn,
        account_id=account_id,
        actor=Actor(type="operator", label=operator),
        action=AuditAction.LOGIN_AS_GRANTED,
        about={"grant_id": str(grant.id), "reason": reason, "may_write": may_write},
    )
    return NewGrant(grant=grant, text=text)


async def redeem_grant(
    conn: Conn,
    *,
    keyring: Keyring,
    settings: Settings,
    text: str,
    address: str | None = None,
    user_agent: str | None = None,
) -> SignedIn:
    """Open a support session with the text of a grant; publish support.signed_in. Raises GrantInvalid."""
    parts = _GRANT.fullmatch(text)
    grant = None
    if parts is not None and keys.checksum(parts[1]) == parts[3]:
        digest = keys.digest(text)
        grant = await store.redeem_grant(conn, public_id=parts[2], digest=digest, now=clock.now())
    if grant is None:
        raise GrantInvalid(
            "The grant is unknown, was used or revoked, or has expired.",
            next_action="Ask the operator for a new one: builders login-as grant.",
        )
    new = await sessions.open_session(
        conn,
        keyring=keyring,
        settings=settings,
        account_id=grant.account_id,
        kind=SessionKind.LOGIN_AS,
        impersonation=Impersonation(
            grant_id=grant.id, operator=grant.operator, reason=grant.reason, may_write=grant.may_write
        ),
        address=address,
        user_agent=user_agent,
    )
    await _record_redemption(conn, grant, new)
    principal = await sessions.get_principal(conn, account_id=grant.account_id, session_id=new.session.id)
    return SignedIn(session=new.session, token=new.token, principal=principal)


async def _record_redemption(conn: Conn, grant: Grant, new: NewSession) -> None:
    session = new.session
    await accounts.record_audit(
        conn,
        account_id=grant.account_id,
        actor=Actor(type="support", id=grant.id, label=grant.operator),
        action=AuditAction.LOGIN_AS_REDEEMED,
        about={"session_id": str(session.id), "reason": grant.reason, "may_write": grant.may_write},
    )
    data = SupportSignedIn(
        session_id=session.id,
        operator=grant.operator,
        reason=grant.reason,
        may_write=grant.may_write,
        expires_at=session.expires_at,
    )
    await outbox.publish(conn, SUPPORT_SIGNED_IN, account_id=grant.account_id, data=data)


async def list_grants(conn: Conn, *, account_id: UUID) -> Sequence[Grant]:
    """Return the newest grants for the account."""
    return await store.list_grants(conn, account_id=account_id, limit=MAX_LISTED)


async def revoke_grant(conn: Conn, *, grant_id: UUID) -> Grant:
    """Revoke a grant and end the session opened with it; repeating it changes nothing. Raises GrantNotFound."""
    grant = await store.find_grant(conn, grant_id=grant_id)
    if grant is None:
        raise GrantNotFound
    account_id, now = grant.account_id, clock.now()
    if await store.revoke_grant(conn, account_id=account_id, grant_id=grant.id, now=now):
        await accounts.record_audit(
            conn,
            account_id=account_id,
            actor=OPERATOR,
            action=AuditAction.LOGIN_AS_REVOKED,
            about={"grant_id": str(grant.id)},
        )
    session_id = await store.find_grant_session(conn, account_id=account_id, grant_id=grant.id)
    if session_id is not None:
        await sessions.log_out(conn, account_id=account_id, session_id=session_id, actor=OPERATOR)
    return await store.find_grant(conn, grant_id=grant.id) or grant
