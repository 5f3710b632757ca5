"""Open, list and end sessions. An access token is valid until its session ends.

A login-as grant of the operator lets support open one session as a customer, for an hour; it is audited. The text
of a grant has the form of an API key's secret, `svc_grant_<12 id>_<32 secret><6 checksum>`. Its digest is stored.
"""

from collections.abc import Sequence
from datetime import timedelta
from typing import Literal
from uuid import UUID

from builders.identity import accounts, keys, scopes, tokens
from builders.identity.errors import GrantInvalid, GrantNotFound, SessionNotFound
from builders.identity.events import SUPPORT_SIGNED_IN, SupportSignedIn
from builders.identity.records import (
    AuditAction,
    Client,
    Grant,
    NewGrant,
    NewSession,
    Principal,
    Session,
    SessionKind,
)
from builders.identity.store import keys as key_store, sessions as store
from builders.kit.db.connections import Conn, Database
from builders.kit.events import outbox
from builders.kit.http.callers import OPERATOR, Actor, Caller, Impersonation, ImpersonationForbidden
from builders.kit.http.pagination import Page, PageRequest
from builders.kit.process.secret_keys import Keyring
from builders.kit.process.settings import Settings
from builders.kit.values import clock, ids

TOKEN_LIFETIME = timedelta(minutes=15)
MAX_TOKEN_LIFETIME = timedelta(hours=12)
LOGIN_AS_LIFETIME = timedelta(minutes=60)
GRANT_LIFETIME = timedelta(minutes=10)
RETENTION = timedelta(days=90)  # of ended sessions
MAX_USER_AGENT = 200  # characters
MAX_LISTED = 500  # grants
PRUNE_BATCH = 10_000
UNKNOWN_CLIENT = Client()


async def open_session(
    conn: Conn,
    *,
    keyring: Keyring,
    settings: Settings,
    account_id: UUID,
    kind: SessionKind,
    actor: Actor | None = None,
    impersonation: Impersonation | None = None,
    lifetime: timedelta | None = None,
    client: Client = UNKNOWN_CLIENT,
) -> NewSession:
    """Open a session of the real account; return it with its token. Raise AccountNotFound.

    `actor` is given when somebody other than the account's owner opens it. A login-as session is audited by its
    caller. `lifetime` is for the kind TOKEN only, and at most MAX_TOKEN_LIFETIME.
    """
    now = clock.now().replace(microsecond=0)  # as in the token, which has whole seconds
    lifetimes = {
        SessionKind.LOGIN: timedelta(hours=settings.session_hours),
        SessionKind.TOKEN: min(lifetime or TOKEN_LIFETIME, MAX_TOKEN_LIFETIME),
        SessionKind.LOGIN_AS: LOGIN_AS_LIFETIME,
    }
    user_agent = "".join(char for char in (client.user_agent or "")[:MAX_USER_AGENT] if char.isprintable())
    session = Session(
        id=ids.new(),
        account_id=account_id,
        kind=kind,
        created_at=now,
        expires_at=now + lifetimes[kind],
        address=client.address or None,
        user_agent=user_agent or None,
        impersonation=impersonation,
    )
    await store.insert_session(conn, session=session)
    if kind is not SessionKind.LOGIN_AS:
        opener = actor or Actor(type="user", id=session.id)
        await _record(conn, session, actor=opener, action=AuditAction.SESSION_OPENED)
    account = await accounts.get_account(conn, account_id=account_id)
    token = tokens.sign_token(keyring, session, issuer=settings.issuer)
    return NewSession(account=account, session=session, token=token)


async def _record(conn: Conn, session: Session, *, actor: Actor, action: AuditAction) -> None:
    about = {"session_id": str(session.id), "kind": session.kind}
    await accounts.record_audit(conn, account_id=session.account_id, actor=actor, action=action, about=about)


def caller_of(session: Session, *, method: Literal["jwt", "cookie"]) -> Caller:
    """Return the caller of a request with the token of an active session."""
    return Caller(
        account_id=session.account_id,
        live_account_id=session.account_id,
        mode="live",
        method=method,
        scopes=scopes.session_scopes(session.impersonation),
        key_id=None,
        session_id=session.id,
        expires_at=session.expires_at,
        impersonation=session.impersonation,
    )


async def get_principal(conn: Conn, *, caller: Caller) -> Principal:
    """Return the real account with the key or the session of the request. Raise AccountNotFound."""
    own, key, session = {"account_id": caller.live_account_id}, None, None
    account = await accounts.get_account(conn, **own)
    if caller.key_id is not None:
        key = await key_store.find_key(conn, **own, key_id=caller.key_id)
    if caller.session_id is not None:
        session = await store.find_session(conn, **own, session_id=caller.session_id, now=clock.now())
    return Principal(account=account, key=key, session=session)


async def list_sessions(conn: Conn, *, account_id: UUID, page: PageRequest) -> Page[Session]:
    """Return a page of the account's active sessions, support sessions included, newest first."""
    rows = await store.list_sessions(
        conn, account_id=account_id, before=page.before_id, limit=page.limit + 1, now=clock.now()
    )
    return page.cut(rows, lambda session: [str(session.id)])


async def end_session(conn: Conn, *, account_id: UUID, session_id: UUID, actor: Actor) -> Session:
    """End a session of the account; its token is refused by every process within the cache time.

    Raise SessionNotFound, and ImpersonationForbidden for support, which can only log out of its own session.
    """
    if actor.type == "support":
        raise ImpersonationForbidden("A support session can end only itself, by logging out.")
    ended = await _end(conn, account_id, actor, session_id=session_id)
    if ended is None:
        raise SessionNotFound
    return ended


async def log_out(conn: Conn, *, account_id: UUID, session_id: UUID, actor: Actor) -> None:
    """End the caller's own session, if it has not ended."""
    await _end(conn, account_id, actor, session_id=session_id)


async def _end(
    conn: Conn, account_id: UUID, actor: Actor, *, session_id: UUID | None = None, grant_id: UUID | None = None
) -> Session | None:
    ended = await store.end_session(
        conn, account_id=account_id, session_id=session_id, grant_id=grant_id, now=clock.now()
    )
    if ended is not None:
        await _record(conn, ended, actor=actor, action=AuditAction.SESSION_ENDED)
    return ended


async def prune_sessions(database: Database) -> None:
    """Delete sessions that ended before RETENTION."""
    before = clock.now() - RETENTION
    async with database.connection() as conn:
        while await store.prune_sessions(conn, before=before, batch=PRUNE_BATCH) == PRUNE_BATCH:
            pass


async def create_grant(conn: Conn, *, account_id: UUID, operator: str, reason: str, may_write: bool) -> NewGrant:
    """Create a grant for the real account; return it with its text, which is not stored."""
    now, secret = clock.now(), keys.generate_secret(keys.GRANT)
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
    await store.insert_grant(conn, grant=grant, secret=secret)
    await accounts.record_audit(
        conn,
        account_id=account_id,
        actor=Actor(type="operator", label=operator),
        action=AuditAction.LOGIN_AS_GRANTED,
        about={"grant_id": str(grant.id), "reason": reason, "may_write": may_write},
    )
    return NewGrant(grant=grant, text=secret.text)


async def redeem_grant(
    conn: Conn, *, keyring: Keyring, settings: Settings, text: str, client: Client = UNKNOWN_CLIENT
) -> NewSession:
    """Open a support session with the text of a grant; publish support.signed_in. Raise GrantInvalid."""
    secret = keys.parse_secret(text, of=[keys.GRANT])
    grant = None if secret is None else await store.redeem_grant(conn, secret=secret, now=clock.now())
    if grant is None:
        raise GrantInvalid("The grant is unknown, was used or revoked, or has expired.")
    new = await open_session(
        conn,
        keyring=keyring,
        settings=settings,
        account_id=grant.account_id,
        kind=SessionKind.LOGIN_AS,
        impersonation=Impersonation(
            grant_id=grant.id, operator=grant.operator, reason=grant.reason, may_write=grant.may_write
        ),
        client=client,
    )
    await accounts.record_audit(
        conn,
        account_id=grant.account_id,
        actor=Actor(type="support", id=grant.id, label=grant.operator),
        action=AuditAction.LOGIN_AS_REDEEMED,
        about={"session_id": str(new.session.id), "reason": grant.reason, "may_write": grant.may_write},
    )
    data = SupportSignedIn(
        session_id=new.session.id,
        operator=grant.operator,
        reason=grant.reason,
        may_write=grant.may_write,
        expires_at=new.session.expires_at,
    )
    await outbox.publish(conn, SUPPORT_SIGNED_IN, account_id=grant.account_id, data=data)
    return new


async def list_grants(conn: Conn, *, account_id: UUID) -> Sequence[Grant]:
    """Return the newest grants for the account."""
    return await store.list_grants(conn, account_id=account_id, limit=MAX_LISTED)


async def revoke_grant(conn: Conn, *, grant_id: UUID) -> Grant:
    """Revoke a grant and end the session opened with it; repeating it changes nothing. Raise GrantNotFound."""
    grant = await store.find_grant(conn, grant_id=grant_id)
    if grant is None:
        raise GrantNotFound
    account_id = grant.account_id
    if await store.revoke_grant(conn, account_id=account_id, grant_id=grant.id, now=clock.now()):
        await accounts.record_audit(
            conn,
            account_id=account_id,
            actor=OPERATOR,
            action=AuditAction.LOGIN_AS_REVOKED,
            about={"grant_id": str(grant.id)},
        )
    await _end(conn, account_id, OPERATOR, grant_id=grant.id)
    return await store.find_grant(conn, grant_id=grant_id) or grant
