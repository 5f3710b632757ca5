"""Tokens of connections: the exchange of a code, refreshes, revocation, and the caller of an access token.

A token has the form of a key's secret, `svc_agent_…`, `svc_refresh_…` or `svc_code_…`; digests are stored. The
tokens of a connection are generations. The successors of a refresh token derive from it and a secret key of the
service, so a client that has lost a response gets the same ones again, although nothing readable is stored.

Whoever presents a code twice, or a refresh token whose successor was used, ends the connection: one of the two
has stolen it.
"""

import base64
import hashlib
import hmac
from collections.abc import Mapping
from datetime import datetime, timedelta
from uuid import UUID

from builders.identity import accounts, keys
from builders.identity.oauth import store
from builders.identity.oauth.errors import ClientRefused
from builders.identity.oauth.records import RESOURCE_PATH, Access, Code, Generation, Tokens
from builders.identity.records import ApiKey, KeyKind
from builders.identity.store import accounts as account_store, sessions as session_store
from builders.kit.callers import Actor
from builders.kit.db import old_rows
from builders.kit.db.connections import Conn, Database
from builders.kit.jobs import queue
from builders.kit.process.secret_keys import Keyring
from builders.kit.values import clock
from builders.mail import service as mail
from builders.mail.templates import ConnectionEnded

ACCESS_FOR, UNUSED_FOR = timedelta(minutes=15), timedelta(days=30)
REPEAT_FOR = timedelta(seconds=60)  # of a lost response
old_rows.declare(
    "identity_oauth_tokens",
    key="account_id, key_id, generation",
    age="refresh_expires_at",
    after=timedelta(days=1),
)
MAIL_ENDED = "identity.mail_connection_ended"  # the task
_ACCESS, _REFRESH = "oauth access", "oauth refresh"  # purposes in the keyring
_CODE_REUSED = "the code was used twice"
_CODE_UNFIT = "the code did not fit the program that presented it"
_REFRESH_REUSED = "an old refresh token was used again"


async def grant(database: Database, *, keyring: Keyring, url: str, form: Mapping[str, str]) -> Tokens:
    """Return the tokens that a client asks for with a form (RFC 6749, 4.1.3 and 6). Raise ClientRefused."""
    kind, resource = form.get("grant_type"), form.get("resource", "")
    if resource not in {"", f"{url}{RESOURCE_PATH}"}:
        raise ClientRefused("invalid_target", f"Tokens of this service open {url}{RESOURCE_PATH} only.")
    if kind == "authorization_code":
        return await _exchange(
            database,
            keyring=keyring,
            code=_required(form, "code"),
            client_id=_required(form, "client_id"),
            redirect_uri=_required(form, "redirect_uri"),
            verifier=_required(form, "code_verifier"),
        )
    if kind == "refresh_token":
        token, client_id = _required(form, "refresh_token"), _required(form, "client_id")
        return await _refresh(database, keyring=keyring, token=token, client_id=client_id)
    raise ClientRefused("unsupported_grant_type", "The grants are authorization_code and refresh_token.")


def _required(form: Mapping[str, str], name: str) -> str:
    if not form.get(name):
        raise ClientRefused("invalid_request", f"The parameter {name} is missing.")
    return form[name]


async def _exchange(
    database: Database,
    *,
    keyring: Keyring,
    code: str,
    client_id: str,
    redirect_uri: str,
    verifier: str,
) -> Tokens:
    """Return the first tokens of a connection. Raise ClientRefused.

    It takes the database: the transaction that counts the use of a code commits even if the code is refused.
    """
    secret = keys.parse_secret(code, of=[keys.CODE])
    if secret is None:
        raise _bad_code()
    account_id, now = secret.account_id, clock.now()
    async with database.transaction() as conn:
        found = await store.use_code(conn, account_id=account_id, digest=secret.digest)
        if found is None:
            raise _bad_code()
        is_open = await session_store.find_session(
            conn, account_id=account_id, session_id=found.session_id, now=now
        )
        fits = _fits(found, client_id, redirect_uri, verifier, now) and is_open is not None
        key = await keys.get_key(conn, account_id=account_id, key_id=found.key_id)
        if found.uses == 1 and fits and key.is_active(now):
            return await _issue(conn, keyring, account_id, key.id, 0, code, key.expires_at, _scope_of(key))
        await _end(conn, account_id, key, _CODE_UNFIT if found.uses == 1 else _CODE_REUSED)
    raise _bad_code()


def _fits(code: Code, client_id: str, redirect_uri: str, verifier: str, now: datetime) -> bool:
    digest = hashlib.sha256(verifier.encode("utf-8", "surrogatepass")).digest()
    challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
    is_proved = hmac.compare_digest(challenge, code.challenge)
    return (
        is_proved and code.client_id == client_id and code.redirect_uri == redirect_uri and code.expires_at > now
    )


async def _refresh(database: Database, *, keyring: Keyring, token: str, client_id: str) -> Tokens:
    """Return the successors of a refresh token. Raise ClientRefused, also after a reuse that ended the connection.

    It takes the database: the end of a connection commits although the request is refused.
    """
    secret = keys.parse_secret(token, of=[keys.REFRESH])
    if secret is None:
        raise _bad_refresh()
    account_id, now = secret.account_id, clock.now()
    own = {"account_id": account_id, "digest": secret.digest}
    async with database.transaction() as conn:
        await store.lock_connection(conn, **own)
        found = await store.find_refresh(conn, **own, now=now)
        if found is None or found.is_ended or found.client_id != client_id or found.refresh_expires_at <= now:
            raise _bad_refresh()
        scope = " ".join(found.toolsets)
        if found.used_at is None:
            at = {"account_id": account_id, "key_id": found.key_id, "generation": found.generation}
            await store.use_refresh(conn, **at, now=now)
            later = found.generation + 1
            return await _issue(conn, keyring, account_id, found.key_id, later, token, found.ends_at, scope)
        if found.next_used_at is None and now - found.used_at <= REPEAT_FOR:
            repeated = _repeat(keyring, account_id, token, found, scope)
            if repeated is not None:
                return repeated
        key = await keys.get_key(conn, account_id=account_id, key_id=found.key_id)
        await _end(conn, account_id, key, _REFRESH_REUSED)
    raise _bad_refresh()


async def revoke(database: Database, *, form: Mapping[str, str]) -> None:
    """Revoke the token of a client's form (RFC 7009): a refresh token with its connection. Ignore an unknown one.

    Raise ClientRefused.
    """
    token, client_id = _required(form, "token"), _required(form, "client_id")
    secret = keys.parse_secret(token, of=[keys.REFRESH, keys.ACCESS])
    if secret is None:
        return
    account_id, now = secret.account_id, clock.now()
    async with database.transaction() as conn:
        found = await store.find_either(conn, account_id=account_id, digest=secret.digest, now=now)
        if found is None or found.is_ended:
            return
        if found.client_id != client_id:
            raise ClientRefused("invalid_client", "The token belongs to another client.")
        accounts.forget_callers(account_id=account_id)
        if found.refresh_digest == secret.digest:
            await keys.revoke_key(
                conn,
                account_id=account_id,
                key_id=found.key_id,
                revoked_by=KeyKind.LIVE,
                actor=Actor(type="agent", id=found.key_id, label=found.label),
                reason="by the client",
            )
        else:
            at = {"account_id": account_id, "key_id": found.key_id, "generation": found.generation}
            await store.end_access(conn, **at, now=now)


async def find_access(database: Database, *, text: str) -> Access | None:
    """Return the connection of an access token, also when one of them has ended; None for an unknown token."""
    secret = keys.parse_secret(text, of=[keys.ACCESS])
    if secret is None:
        return None
    async with database.connection() as conn:
        return await store.find_access(conn, account_id=secret.account_id, digest=secret.digest, now=clock.now())


async def _issue(
    conn: Conn,
    keyring: Keyring,
    account_id: UUID,
    key_id: UUID,
    generation: int,
    parent: str,
    ends_at: datetime | None,
    scope: str,
) -> Tokens:
    """Store the tokens of a generation, which derive from a code or a refresh token; never beyond the mandate."""
    now = clock.now()
    access = keys.derive_secret(keys.ACCESS, account_id, keyring.hash_token(_ACCESS, parent))
    refresh_token = keys.derive_secret(keys.REFRESH, account_id, keyring.hash_token(_REFRESH, parent))
    until = min(now + ACCESS_FOR, ends_at or now + ACCESS_FOR)
    await store.insert_tokens(
        conn,
        account_id=account_id,
        key_id=key_id,
        generation=generation,
        refresh_digest=refresh_token.digest,
        access_digest=access.digest,
        access_expires_at=until,
        refresh_expires_at=min(now + UNUSED_FOR, ends_at or now + UNUSED_FOR),
    )
    return Tokens(
        access=access.text, refresh=refresh_token.text, expires_in=int((until - now).total_seconds()), scope=scope
    )


def _repeat(keyring: Keyring, account_id: UUID, parent: str, found: Generation, scope: str) -> Tokens | None:
    """Return the successors of a refresh token again; None if the secret key that made them was removed."""
    pairs = zip(keyring.hashes(_ACCESS, parent), keyring.hashes(_REFRESH, parent), strict=True)
    for of_access, of_refresh in pairs:
        successor = keys.derive_secret(keys.REFRESH, account_id, of_refresh)
        if successor.digest == found.next_digest and found.used_at is not None:
            left = min(found.used_at + ACCESS_FOR, found.ends_at or found.used_at + ACCESS_FOR) - clock.now()
            access = keys.derive_secret(keys.ACCESS, account_id, of_access)
            seconds = max(0, int(left.total_seconds()))
            return Tokens(access=access.text, refresh=successor.text, expires_in=seconds, scope=scope)
    return None


async def _end(conn: Conn, account_id: UUID, key: ApiKey, reason: str) -> None:
    """End a connection whose token may be stolen; its account gets an email. Change nothing if it has ended."""
    if not key.is_active(clock.now()):
        return
    actor = keys.actor_of(key)
    await keys.revoke_key(
        conn, account_id=account_id, key_id=key.id, revoked_by=KeyKind.LIVE, actor=actor, reason=reason
    )
    await queue.defer(conn, MAIL_ENDED, account_id=str(account_id), key_id=str(key.id), reason=reason)


async def send_notice(conn: Conn, *, keyring: Keyring, account_id: UUID, key_id: UUID, reason: str) -> None:
    """Notify the account of a connection that was ended, if its address is verified."""
    account = await account_store.find_account(conn, account_id=account_id)
    if account is None or account.email_verified_at is None:  # a stranger may own a mailbox never verified
        return
    key = await keys.get_key(conn, account_id=account_id, key_id=key_id)
    ended_at = f"{key.revoked_at or clock.now():%Y-%m-%d %H:%M} UTC"
    message = ConnectionEnded(client=key.label, reason=reason, ended_at=ended_at)
    await mail.send(conn, keyring=keyring, account_id=account_id, to=account.email, template=message)


def _scope_of(key: ApiKey) -> str:
    return "" if key.mandate is None else " ".join(key.mandate.toolsets)


def _bad_code() -> ClientRefused:
    return ClientRefused(
        "invalid_grant", "The code is unknown, was used, has expired, or belongs to another request."
    )


def _bad_refresh() -> ClientRefused:
    return ClientRefused("invalid_grant", "The refresh token is unknown, was used, or has ended.")
