"""Sessions: opened with a token, listed, ended. A token is worth what its session is."""

from datetime import timedelta
from typing import Literal
from uuid import UUID

from builders.identity import audit, scopes, tokens
from builders.identity.errors import AccountNotFound, SessionNotFound
from builders.identity.records import AuditAction, NewSession, Session, SessionKind, Standing
from builders.identity.store import accounts as account_store, keys as key_store, sessions as store
from builders.kit.db.connections import Conn, Database
from builders.kit.http.callers import Actor, Caller, Impersonation, ImpersonationForbidden
from builders.kit.http.pagination import Page, PageRequest
from builders.kit.process.secret_keys import Keyring
from builders.kit.process.settings import Settings
from builders.kit.values import clock, ids

TOKEN_LIFE = timedelta(minutes=15)
LONGEST_TOKEN = timedelta(hours=12)
LOGIN_AS_LIFE = timedelta(minutes=60)
KEPT = timedelta(days=90)  # an ended session, for who asks what became of it
MAX_USER_AGENT = 200  # characters
PRUNED_AT_ONCE = 10_000


async def open_session(
    conn: Conn,
    *,
    keyring: Keyring,
    settings: Settings,
    account_id: UUID,
    kind: SessionKind,
    actor: Actor | None = None,
    impersonation: Impersonation | None = None,
    life: timedelta | None = None,
    address: str | None = None,
    user_agent: str | None = None,
) -> NewSession:
    """A session of the real account, with its token.

    `actor` is who opened it when it was not its holder; that of login-as is told by who redeems the grant.
    `life` is for a `token` only, and at most LONGEST_TOKEN.
    """
    now = clock.now().replace(microsecond=0)  # a token counts whole seconds, and its row ends with it
    session = Session(
        id=ids.new(),
        account_id=account_id,
        kind=kind,
        created_at=now,
        expires_at=now + _life(kind, life, settings),
        address=address or None,
        user_agent=_shortened(user_agent),
        impersonation=impersonation,
    )
    await store.insert_session(conn, session=session)
    if kind is not SessionKind.LOGIN_AS:
        await audit.record_audit(
            conn,
            account_id=account_id,
            actor=actor or Actor(type="user", id=session.id),
            action=AuditAction.SESSION_OPENED,
            about=_about(session),
        )
    return NewSession(session=session, token=tokens.sign(keyring, session, issuer=settings.issuer))


def caller_of(session: Session, *, method: Literal["jwt", "cookie"]) -> Caller:
    """Who asks with the token of a session that lives."""
    return Caller(
        account_id=session.account_id,
        live_account_id=session.account_id,
        mode="live",
        method=method,
        scopes=scopes.of_session(session.impersonation),
        key_id=None,
        session_id=session.id,
        expires_at=session.expires_at,
        impersonation=session.impersonation,
    )


async def get_standing(
    conn: Conn, *, account_id: UUID, key_id: UUID | None = None, session_id: UUID | None = None
) -> Standing:
    """The real account with the key or session that asks for it. Raises AccountNotFound."""
    account = await account_store.find_account(conn, account_id=account_id)
    if account is None:
        raise AccountNotFound
    key = await key_store.find_key(conn, account_id=account_id, key_id=key_id) if key_id else None
    session = None
    if session_id is not None:
        session = await store.find_session(conn, account_id=account_id, session_id=session_id, now=clock.now())
    return Standing(account=account, key=key, session=session)


async def list_sessions(conn: Conn, *, account_id: UUID, page: PageRequest) -> Page[Session]:
    """The account's sessions that live, support's too, newest first."""
    rows = await store.list_sessions(
        conn, account_id=account_id, before=page.before_id, limit=page.limit + 1, now=clock.now()
    )
    return page.cut(rows, lambda session: [str(session.id)])


async def end_session(conn: Conn, *, account_id: UUID, session_id: UUID, actor: Actor) -> Session:
    """Ends a session of the account; refused everywhere within the cache time.

    Raises SessionNotFound, ImpersonationForbidden for support, which logs out and ends nobody else's.
    """
    if actor.type == "support":
        raise ImpersonationForbidden("Support ends no session but its own, by logging out.")
    ended = await _end(conn, account_id, session_id, actor)
    if ended is None:
        raise SessionNotFound
    return ended


async def log_out(conn: Conn, *, account_id: UUID, session_id: UUID, actor: Actor) -> None:
    """Ends a session by itself; that it is over already is as good."""
    await _end(conn, account_id, session_id, actor)


async def prune_sessions(database: Database) -> None:
    """Forgets sessions that have been over for KEPT."""
    before = clock.now() - KEPT
    async with database.reading() as conn:
        while await store.prune_sessions(conn, before=before, batch=PRUNED_AT_ONCE) == PRUNED_AT_ONCE:
            pass


async def _end(conn: Conn, account_id: UUID, session_id: UUID, actor: Actor) -> Session | None:
    ended = await store.end_session(conn, account_id=account_id, session_id=session_id, now=clock.now())
    if ended is not None:
        await audit.record_audit(
            conn,
            account_id=account_id,
            actor=actor,
            action=AuditAction.SESSION_ENDED,
            about=_about(ended),
        )
    return ended


def _about(session: Session) -> dict[str, str]:
    return {"session_id": str(session.id), "kind": session.kind}


def _life(kind: SessionKind, wanted: timedelta | None, settings: Settings) -> timedelta:
    if kind is SessionKind.LOGIN_AS:
        return LOGIN_AS_LIFE
    if kind is SessionKind.LOGIN:
        return timedelta(hours=settings.session_hours)
    return min(wanted or TOKEN_LIFE, LONGEST_TOKEN)


def _shortened(text: str | None) -> str | None:
    """What a browser says of itself, fit to be stored and shown."""
    shown = "".join(char for char in (text or "")[:MAX_USER_AGENT] if char.isprintable())
    return shown or None
