"""Sign in with a code or a link from the mailbox; open, list and end sessions.

Responses and their times do not reveal whether an address has an account. A request only inserts a row and
enqueues a job. The job creates a code for every address, and sends it if there is an account, or if the address
can open one (identity/sign_up.py). A wrong code reads and writes the same rows with the same statements for every
address. An access token is valid until its session ends.

A login-as grant of the operator lets support open one session as a customer, for an hour; it is audited. The text
of a grant has the form of an API key's secret, `svc_grant_…`. Its digest is stored.
"""

import hmac
import re
import secrets
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Literal, NamedTuple, NoReturn
from urllib.parse import urlencode
from uuid import UUID

from builders.identity import access_tokens, accounts, keys, people, scopes, sign_up
from builders.identity.accounts import normalize_email
from builders.identity.errors import AccountNotFound, GrantInvalid, GrantNotFound, SessionNotFound
from builders.identity.events import SUPPORT_SIGNED_IN, SupportSignedIn
from builders.identity.records import (
    MAIL_CODE,
    MAIL_LINK,
    Account,
    AuditAction,
    Client,
    Grant,
    MailedCode,
    MailedLink,
    NewGrant,
    NewSession,
    Principal,
    Session,
    SessionKind,
    SignIn,
)
from builders.identity.store import accounts as account_store, keys as key_store, sessions as store
from builders.kit.callers import OPERATOR, Actor, Caller, Impersonation
from builders.kit.db import old_rows
from builders.kit.db.connections import Conn, Database
from builders.kit.errors import TokenInvalid
from builders.kit.events import outbox
from builders.kit.http import forms
from builders.kit.http.callers import ImpersonationForbidden
from builders.kit.http.pagination import PageRequest
from builders.kit.http.visitors import truncate_address
from builders.kit.jobs import queue
from builders.kit.pages import Page
from builders.kit.process import log
from builders.kit.process.secret_keys import Keyring
from builders.kit.process.settings import Settings
from builders.kit.values import clock, ids
from builders.mail import addresses, service as mail
from builders.mail.records import VENDOR
from builders.mail.templates import SignInCode

TOKEN_LIFETIME = timedelta(minutes=15)
MAX_TOKEN_LIFETIME = timedelta(hours=12)
LOGIN_AS_LIFETIME = timedelta(minutes=60)
GRANT_LIFETIME = timedelta(minutes=10)
MAX_USER_AGENT = 200  # characters
MAX_LISTED = 500  # grants
UNKNOWN_CLIENT = Client()
_LONG_AGO = datetime.min.replace(tzinfo=UTC)


async def open_session(
    conn: Conn,
    *,
    keyring: Keyring,
    settings: Settings,
    account_id: UUID,
    kind: SessionKind,
    actor: Actor | None = None,
    impersonation: Impersonation | None = None,
    sign_in: SignIn | None = None,
    lifetime: timedelta | None = None,
    client: Client = UNKNOWN_CLIENT,
) -> NewSession:
    """Open a session of the real account; return it with its token. Raise AccountNotFound, AccountSuspended.

    `actor` is given when somebody other than the account's owner opens it. A login-as session is audited by its
    caller. `lifetime` is for the kind TOKEN only, and at most MAX_TOKEN_LIFETIME. `sign_in` is for the kind LOGIN.
    """
    await accounts.require_admitted(conn, account_id=account_id)
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
        signed_in_by=None if sign_in is None else sign_in.by,
        authenticated_at=None if sign_in is None else sign_in.at,
    )
    await store.insert_session(conn, session=session)
    if kind is not SessionKind.LOGIN_AS:
        opener = actor or Actor(type="user", id=session.id)
        await _record(conn, session, actor=opener, action=AuditAction.SESSION_OPENED)
    account = await accounts.get_account(conn, account_id=account_id)
    token = access_tokens.sign_token(keyring, session, issuer=settings.issuer)
    return NewSession(account=account, session=session, token=token)


async def _record(conn: Conn, session: Session, *, actor: Actor, action: AuditAction) -> None:
    about = {"session_id": str(session.id), "kind": session.kind}
    about |= {"signed_in_by": session.signed_in_by} if session.signed_in_by else {}
    await accounts.record_audit(conn, account_id=session.account_id, actor=actor, action=action, about=about)


def caller_of(session: Session, *, method: Literal["jwt", "cookie"]) -> Caller:
    """Return the caller of a request with the token of an active session.

    A person's login presented as the cookie is the person; as a bearer token it belongs to a program. Where an
    issuer did not state when the person proved who they are, the session is never fresh.
    """
    is_person = method == "cookie" and session.kind is SessionKind.LOGIN
    return Caller(
        account_id=session.account_id,
        live_account_id=session.account_id,
        mode="live",
        method=method,
        scopes=scopes.OF_PEOPLE if is_person else scopes.session_scopes(session.impersonation),
        key_id=None,
        session_id=session.id,
        expires_at=session.expires_at,
        impersonation=session.impersonation,
        signed_in_at=(session.authenticated_at or _LONG_AGO) if is_person else None,
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
    """End a session of the account; every process refuses its token within a second.

    Raise SessionNotFound, ImpersonationForbidden for support, which can only log out of its own session, and for
    another session than the caller's as `people.require_if_needed`.
    """
    if actor.type == "support":
        raise ImpersonationForbidden("A support session can end only itself, by logging out.")
    if session_id != actor.id:
        with suppress(AccountNotFound):  # a sandbox account has no sessions
            await people.require_if_needed(conn, account_id=account_id, actor=actor)
    ended = await _end(conn, account_id, actor, session_id=session_id)
    if ended is None:
        raise SessionNotFound
    return ended


async def end_other_sessions(conn: Conn, *, account_id: UUID, actor: Actor) -> None:
    """End the sessions of the account, support sessions included, except that of the actor."""
    accounts.forget_callers(account_id=account_id)
    for ended in await store.end_other_sessions(conn, account_id=account_id, kept=actor.id, now=clock.now()):
        await _record(conn, ended, actor=actor, action=AuditAction.SESSION_ENDED)


async def log_out(conn: Conn, *, account_id: UUID, session_id: UUID, actor: Actor) -> None:
    """End the caller's own session, if it has not ended."""
    await _end(conn, account_id, actor, session_id=session_id)


async def _end(
    conn: Conn, account_id: UUID, actor: Actor, *, session_id: UUID | None = None, grant_id: UUID | None = None
) -> Session | None:
    accounts.forget_callers(account_id=account_id)
    ended = await store.end_session(
        conn, account_id=account_id, session_id=session_id, grant_id=grant_id, now=clock.now()
    )
    if ended is not None:
        await _record(conn, ended, actor=actor, action=AuditAction.SESSION_ENDED)
    return ended


async def create_grant(conn: Conn, *, account_id: UUID, operator: str, reason: str, may_write: bool) -> NewGrant:
    """Create a grant for the real account; return it with its text, which is not stored."""
    now, secret = clock.now(), keys.generate_secret(keys.GRANT, account_id)
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
    await store.insert_grant(conn, grant=grant, digest=secret.digest)
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
    grant = None
    if secret is not None:
        grant = await store.redeem_grant(conn, account_id=secret.account_id, digest=secret.digest, now=clock.now())
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


MAIL_CODE_TASK = "identity.mail_code"
CODE_LIFETIME = timedelta(minutes=15)
# Wrong tries of a code are counted per client network, so that an attacker cannot use up the victim's tries, and
# in total. A code is one of 28^8 = 3.8e11. An attacker with many networks has 50 tries of each code and 20 codes
# a day (`CodeLimit.total`): 1,000 guesses a day at one address succeed with probability 1e-6 in a year
# (1,000 * 365 / 3.8e11). A link has 256 bits: its tries are not limited, and it works after those of its code are
# used up.
MAX_NETWORK_TRIES = 5
MAX_TRIES = 50


class CodeLimit(NamedTuple):
    """The maximum numbers of codes for one address within a time."""

    within: timedelta
    total: int
    unknown_networks: int  # networks without a recent login share these; known networks can use the rest
    one_network: int  # less than `unknown_networks`: one network cannot use them all


CODE_LIMITS = (
    CodeLimit(within=timedelta(minutes=15), total=5, unknown_networks=4, one_network=3),
    CodeLimit(within=timedelta(days=1), total=20, unknown_networks=14, one_network=8),
)
KNOWN_NETWORK_AGE = timedelta(days=90)  # as long as ended sessions are kept
MAX_KNOWN_ADDRESSES = 200
REQUEST_RETENTION = timedelta(days=1) + CODE_LIFETIME  # the longest of CODE_LIMITS, and the time to create a code
old_rows.declare("identity_sessions", key="account_id, id", age="expires_at", after=KNOWN_NETWORK_AGE)
old_rows.declare("identity_sign_ins", key="id", age="requested_at", after=REQUEST_RETENTION)

# No vowels, so that no code is a word, and none of the ambiguous 0 1 I L O.
ALPHABET = "23456789BCDFGHJKMNPQRSTVWXYZ"
CODE_LENGTH = 8  # characters, 38 bits
_CODE, _TOKEN = "sign-in code", "sign-in token"  # purposes in the keyring

_log = log.get_logger()


async def request_code(
    conn: Conn, *, email: str, client: Client, return_to: str | None = None, is_proved: bool = False
) -> None:
    """Enqueue a job that sends a code to the email address if an account has it, or if it can open one.

    The link in the message leads to the path `return_to` of this service after the login.
    """
    sign_in_id = ids.new()
    await store.insert_request(
        conn,
        sign_in_id=sign_in_id,
        address=normalize_email(email),
        network=_network(client.address),
        return_to=return_to,
        is_proved=is_proved,
        now=clock.now(),
    )
    await queue.defer(conn, MAIL_CODE_TASK, sign_in_id=str(sign_in_id))


async def send_code(conn: Conn, *, keyring: Keyring, settings: Settings, sign_in_id: UUID) -> None:
    """Create the requested code; send it if there is an account, or if the address can open one."""
    now = clock.now()
    request = await store.lock_request(conn, sign_in_id=sign_in_id, since=now - CODE_LIFETIME)
    if request is None:
        return
    address, network = request.address, request.requested_from
    account = await account_store.find_account_by_email(conn, email=address)
    if await _is_limited(conn, address=address, network=network, account=account):
        _log.warning("too_many_sign_in_codes", sign_in_id=str(sign_in_id))
        return
    opens_account = account is None and settings.sign_up and await sign_up.admits(conn, request=request)
    code, token = "".join(secrets.choice(ALPHABET) for _ in range(CODE_LENGTH)), secrets.token_urlsafe(32)
    made = await store.set_code(
        conn,
        sign_in_id=sign_in_id,
        address=address,
        account_id=None if account is None else account.id,
        opens_account=opens_account,
        code_hash=keyring.hash_token(_CODE, f"{sign_in_id} {code}"),
        token_hash=keyring.hash_token(_TOKEN, token),
        expires_at=now + CODE_LIFETIME,
        now=now,
    )
    if made and (account is not None or opens_account):
        query = {"token": token} | ({"return_to": request.return_to} if request.return_to else {})
        message = SignInCode(
            code=f"{code[:4]}-{code[4:]}",
            link=f"{settings.url}{forms.SIGN_IN_PATH}?{urlencode(query)}",
            minutes=int(CODE_LIFETIME.total_seconds() // 60),
        )
        await mail.send(
            conn,
            keyring=keyring,
            account_id=VENDOR if account is None else account.id,
            to=address,
            template=message,
            expires_at=now + CODE_LIFETIME,
        )


async def _is_limited(conn: Conn, *, address: str, network: str, account: Account | None) -> bool:
    """Return whether a limit is reached; the newest code and its link then stay valid."""
    now = clock.now()
    known = set[str]()
    if account is not None:
        found = await store.list_addresses(
            conn, account_id=account.id, since=now - KNOWN_NETWORK_AGE, limit=MAX_KNOWN_ADDRESSES
        )
        known = set(map(_network, found))
    for limit in CODE_LIMITS:
        total, of_network, of_unknown = await store.count_codes(
            conn, address=address, network=network, known=known, since=now - limit.within
        )
        has_share = network in known or of_unknown < limit.unknown_networks
        if total >= limit.total or of_network >= limit.one_network or not has_share:
            return True
    return False


def _network(client: str | None) -> str:
    """Return the network that counts as one client; empty when the address is unknown."""
    return truncate_address(client or "") or ""


async def sign_in(
    database: Database,
    *,
    keyring: Keyring,
    settings: Settings,
    proof: MailedCode | MailedLink,
    client: Client = UNKNOWN_CLIENT,
) -> NewSession:
    """Open a session with a code or a link's token. Raise TokenInvalid.

    It takes the database: the transaction that counts a try commits even if the code is refused.
    """
    if isinstance(proof, MailedCode):
        found = await _get_by_code(database, keyring, proof, network=_network(client.address))
    else:
        async with database.connection() as conn:
            found = await _get_link(conn, keyring, proof.token)
    async with database.transaction() as conn:
        claimed = await store.claim_code(conn, sign_in_id=found.id, now=clock.now())
        claimed = claimed or await sign_up.open_account(conn, sign_in_id=found.id)
        if claimed is None:
            _refuse()
        account_id, email = claimed
        # The person has read the message, which verifies the address.
        await accounts.verify_email(conn, account_id=account_id, email=email)
        return await open_session(
            conn,
            keyring=keyring,
            settings=settings,
            account_id=account_id,
            kind=SessionKind.LOGIN,
            sign_in=SignIn(by=MAIL_CODE if isinstance(proof, MailedCode) else MAIL_LINK, at=clock.now()),
            client=client,
        )


async def _get_by_code(database: Database, keyring: Keyring, proof: MailedCode, *, network: str) -> store.OpenCode:
    async with database.transaction() as conn:
        found = await store.try_code(
            conn,
            address=normalize_email(proof.email),
            network=network,
            max_network_tries=MAX_NETWORK_TRIES,
            max_tries=MAX_TRIES,
            now=clock.now(),
        )
    if found is None:
        _refuse()
    code = re.sub(r"[\s-]", "", proof.code).upper()
    given = keyring.hashes(_CODE, f"{found.id} {code}")
    if not any(hmac.compare_digest(found.code_hash, each) for each in given):
        _refuse()
    return found


async def get_link_address(conn: Conn, *, keyring: Keyring, token: str) -> str:
    """Return the masked email address that a link signs in; the link stays valid. Raise TokenInvalid."""
    return addresses.mask((await _get_link(conn, keyring, token)).address)


async def _get_link(conn: Conn, keyring: Keyring, token: str) -> store.OpenCode:
    found = await store.find_link(conn, hashes=keyring.hashes(_TOKEN, token), now=clock.now())
    if found is None:
        _refuse()
    return found


def _refuse() -> NoReturn:
    """Raise the same error for every invalid code and link."""
    raise TokenInvalid(
        "The code or link is wrong, was used, or has expired.",
        next_action="Request a new one with POST /v1/auth/login.",
    )
