"""Find the caller of a credential: an API key, a token of a session, of another issuer, or of a connection.

Results are cached by a digest of the credential for at most a second, so a revocation takes effect within that
time in every process, and at once in the one that revokes. Requests that mint keys or promote plans skip it.
A network that has sent many made-up keys has its keys verified slowly (key_checks.py).
"""

import hashlib
from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Literal
from uuid import UUID

from psycopg.types.json import Jsonb

from builders.identity import (
    access_tokens,
    accounts,
    identities,
    issuers,
    json_web_tokens,
    keys,
    mandates,
    scopes,
    sessions,
)
from builders.identity.json_web_tokens import TokenNotCurrent, TokenRefused, UnverifiedToken
from builders.identity.key_checks import KeyChecks
from builders.identity.oauth import tokens
from builders.identity.records import AuditAction, KeyKind, Network, Preset
from builders.identity.store import accounts as account_store, keys as key_store, sessions as session_store
from builders.identity.store.keys import Holder
from builders.kit.callers import APPROVE, Actor, Caller
from builders.kit.db.connections import Database
from builders.kit.errors import Problem
from builders.kit.http.callers import (
    AccountSuspended,
    AddressNotAllowed,
    Credential,
    CredentialsInvalid,
    KeyDisabled,
    KeyExpired,
    invalid_credentials,
)
from builders.kit.mandates import MANDATE
from builders.kit.outbound.client import Outbound
from builders.kit.process import hosts
from builders.kit.process.secret_keys import Keyring
from builders.kit.process.settings import Settings
from builders.kit.values import clock, ids

MAX_NOTED = 100_000  # uses of scopes that a process remembers in a day
MAX_CACHED = 10_000  # accepted credentials, and as many refused ones
MAX_AUDIT_TEXT = 200  # characters of a request in the audit list
USE_INTERVAL = timedelta(minutes=5)  # the precision of `last_used_at`
REFUSED_S = 60.0  # how long a key is refused again without a statement, if its network waits in turn
REFUSAL_INTERVAL = timedelta(hours=1)  # between two audit entries about a refused key

_KIND_PREFIXES = {"api_key": b"k", "bearer": b"b", "cookie": b"c", "oauth": b"o"}
_BAD_KEY = "The API key is unknown or revoked."
_BAD_SESSION = "The session has ended."
_BAD_ACCESS = "The access token is unknown or has ended."
_REFRESH = "Refresh it, or connect the program again."
_SIGN_IN = "Sign in again, or request a new token."


class TokenAuthenticator:
    """Find the callers of session tokens and of trusted issuers' tokens, for one process."""

    def __init__(self, database: Database, *, keyring: Keyring, settings: Settings, outbound: Outbound) -> None:
        self._database = database
        self._own = access_tokens.SessionTokenVerifier(keyring, issuer=settings.issuer)
        self.issuers = {each.issuer: issuers.Issuer(each, outbound) for each in settings.oidc_issuers}

    async def find_caller(self, credential: Credential) -> Caller | None:
        """Return the caller; None when the token is valid but its session has ended.

        Raise CredentialsInvalid, AccountSuspended, and IssuerUnavailable when the issuer's keys are not available.
        """
        try:
            return await self._find_caller(
                json_web_tokens.parse_token(credential.text), is_cookie=credential.kind == "cookie"
            )
        except TokenRefused as refusal:
            is_guess = not isinstance(refusal, TokenNotCurrent)
            raise invalid_credentials(str(refusal), next_action=_SIGN_IN, is_guess=is_guess) from None

    def is_own(self, credential: Credential) -> bool:
        """Return whether this service signed the token, even if the token or its session has ended."""
        try:
            token = json_web_tokens.parse_token(credential.text)
            if token.issuer == self._own.issuer:
                self._own.verify(token)
                return True
        except TokenNotCurrent:
            return True
        except TokenRefused:
            pass
        return False

    async def _find_caller(self, token: UnverifiedToken, *, is_cookie: bool) -> Caller | None:
        if token.issuer == self._own.issuer:
            own = self._own.verify(token)
            async with self._database.connection() as conn:
                await accounts.require_admitted(conn, account_id=own.account_id)
                session = await session_store.find_session(
                    conn, account_id=own.account_id, session_id=own.session_id, now=clock.now()
                )
            method: Literal["jwt", "cookie"] = "cookie" if is_cookie else "jwt"
            return None if session is None else sessions.caller_of(session, method=method)
        issuer = self.issuers.get(token.issuer)
        if issuer is None or is_cookie:  # the service sets the cookie, and only with its own tokens
            raise TokenRefused("The issuer of the token is not accepted.")
        # It may fetch keys: no connection is held during the request.
        claims = await issuer.verify(token, audience=issuer.trusted.audience)
        account_id = await identities.get_account_id(self._database, issuer=issuer.trusted, claims=claims)
        async with self._database.connection() as conn:
            await accounts.require_admitted(conn, account_id=account_id)
        return Caller(
            account_id=account_id,
            live_account_id=account_id,
            mode="live",
            method="jwt",
            scopes=scopes.ALL,
            key_id=None,
            expires_at=json_web_tokens.expiry_of(claims),
        )


@dataclass(frozen=True, slots=True)
class _CacheEntry:
    """The result for a credential."""

    caller: Caller | None  # None: refused
    is_guess: bool = False  # was never valid
    allowed_ips: Sequence[Network] | None = None  # None: any
    expired: Holder | None = None  # the key, when it is refused only because it has expired
    is_disabled: bool = False


class Authenticator:
    """Find the callers of credentials, for one process. Without `tokens` only API keys are accepted."""

    def __init__(self, database: Database, *, cache_s: float, tokens: TokenAuthenticator | None = None) -> None:
        self._database = database
        self.max_cached, self.max_noted = MAX_CACHED, MAX_NOTED
        self._cache_s = cache_s
        self._tokens = tokens
        # Two caches: a flood of random keys evicts no accepted one.
        self._accepted: dict[bytes, tuple[_CacheEntry, float]] = {}  # with the end of their time (monotonic)
        self._refused: dict[bytes, tuple[_CacheEntry, float]] = {}
        self._audited: dict[Hashable, float] = {}  # when the next refusal of a subject may be audited (monotonic)
        self._used: dict[bytes, Caller] = {}  # since the last flush, by digest
        # Of today: account, key and scope of each use, and those that are not written yet.
        self._noted: set[tuple[UUID, UUID, str]] = set()
        self._new_uses: set[tuple[UUID, UUID, str]] = set()
        self._day = clock.now().date()
        self.key_checks = KeyChecks(database)

    async def __call__(
        self, credential: Credential, *, fresh: bool, address: str = "", in_turn_of: str | None = None
    ) -> Caller:
        """Return the caller, whose client has this address; `fresh` skips the cache.

        The verification waits for the turn of the network `in_turn_of`. Raise CredentialsInvalid,
        AccountSuspended, AddressNotAllowed, IssuerUnavailable, and RateLimited after a wait for the turn.
        """
        digest = _digest(credential)
        known = None if fresh else self._accepted.get(digest)
        if known is None and (in_turn_of is not None or not fresh):
            known = self._refused.get(digest)
        now, caller = clock.monotonic(), None if known is None else known[0].caller
        is_changing = caller is not None and not accounts.remembers_callers(account_id=caller.live_account_id)
        entry = None if known is None or now >= known[1] or is_changing else known[0]
        if entry is None:
            entry = await self._verify(credential, digest, in_turn_of)
        if entry.caller is None:
            if in_turn_of is not None:
                await self.key_checks.hold()
            raise await self._refusal_of(entry, credential)
        # The key is cached, the address is checked for each request.
        if entry.allowed_ips is not None and not hosts.contains_address(entry.allowed_ips, address):
            if entry.caller.key_id is not None:
                await self._audit_refusal(entry.caller.live_account_id, entry.caller.key_id, address=address)
            message = "The networks of this API key do not include the address of this request."
            raise AddressNotAllowed(message, audited_for=entry.caller.live_account_id)
        self._used[digest] = entry.caller
        return entry.caller

    async def _refusal_of(self, entry: "_CacheEntry", credential: Credential) -> CredentialsInvalid:
        """Return the refusal of a credential; that of an expired key is audited."""
        if entry.expired is not None:
            await self._audit_refusal(entry.expired.account_id, entry.expired.key_id)
            return invalid_credentials("The API key has expired.", kind=KeyExpired, is_guess=False)
        if entry.is_disabled:
            action = str(KeyDisabled.remedy)
            message = "A restore of the service disabled the API key."
            return invalid_credentials(message, next_action=action, kind=KeyDisabled, is_guess=False)
        if credential.is_key:
            return invalid_credentials(_BAD_KEY, is_guess=entry.is_guess)
        if credential.kind == "oauth":
            return invalid_credentials(_BAD_ACCESS, next_action=_REFRESH, is_guess=entry.is_guess)
        return invalid_credentials(_BAD_SESSION, next_action=_SIGN_IN, is_guess=entry.is_guess)

    def note_scope(self, caller: Caller, scope: str) -> None:
        """Note that a key used a scope: `flush` writes it, once a day in each process."""
        if caller.key_id is not None:
            use = caller.live_account_id, caller.key_id, scope
            if use not in self._noted:
                self._noted.add(use)
                self._new_uses.add(use)

    def is_known_good(self, credential: Credential) -> bool:
        """Return whether it is certainly not a guess: it was accepted recently, or this service signed it."""
        if _digest(credential) in self._accepted:
            return True
        return self._tokens is not None and not credential.is_key and self._tokens.is_own(credential)

    async def find_other_mode(self, caller: Caller) -> Caller | None:
        """Return the same caller in the other mode; None when the account no longer exists."""
        if caller.mode == "test":
            return replace(caller, account_id=caller.live_account_id, mode="live")
        async with self._database.connection() as conn:
            account = await account_store.find_account(conn, account_id=caller.live_account_id)
        if account is None:
            return None
        # A person decides about the real account, and only names of it receive mail.
        scopes_of_tests = caller.scopes - {APPROVE, scopes.MAIL}
        return replace(
            caller, account_id=account.sandbox_id, mode="test", scopes=scopes_of_tests, signed_in_at=None
        )

    async def record_support_action(self, caller: Caller, *, what: str) -> None:
        """Add an audit entry about a request of a support session, before the request is handled."""
        async with self._database.transaction() as conn:
            await accounts.record_audit(
                conn,
                account_id=caller.live_account_id,
                actor=caller.actor,
                action=AuditAction.SUPPORT_ACTED,
                about={"request": what[:MAX_AUDIT_TEXT]},
            )

    async def count_delete(self, caller: Caller) -> None:
        """Count a deletion by a caller with a mandate. Raise MandateExceeded above its number of 30 days.

        It counts also if nothing is found to delete: the request is counted before it is handled.
        """
        async with self._database.transaction() as conn:
            spender = await keys.find_spender(conn, actor=caller.actor, account_id=caller.live_account_id)
            if spender is not None:
                await mandates.use(conn, spender=spender, subject=ids.new(), deletes=1)

    async def record_refusal(self, caller: Caller, refusal: Problem, *, what: str, operation: str) -> None:
        """Add an audit entry about a refusal, at most one per actor, operation and REFUSAL_INTERVAL.

        A program can repeat a request at any rate: the process remembers what it has audited.
        """
        actor, account_id, reason = caller.actor, refusal.audited_for, refusal.members.get("reason")
        subject = (actor.type, actor.id, account_id, operation, refusal.code, reason)
        if account_id is None or not self._may_audit(subject, clock.monotonic()):
            return
        about = {"request": what[:MAX_AUDIT_TEXT], "code": refusal.code, "reason": reason}
        about |= {"account_id": str(caller.live_account_id)} if account_id != caller.live_account_id else {}
        try:
            async with self._database.transaction() as conn:
                await accounts.record_audit(
                    conn, account_id=account_id, actor=actor, action=AuditAction.DECISION_REFUSED, about=about
                )
        except BaseException:
            self._audited.pop(subject, None)
            raise

    def _may_audit(self, subject: Hashable, now: float) -> bool:
        """Return whether no refusal of the subject was audited in REFUSAL_INTERVAL; remember this one."""
        if now < self._audited.get(subject, 0.0):
            return False
        if len(self._audited) >= self.max_cached:
            del self._audited[next(iter(self._audited))]
        self._audited[subject] = now + REFUSAL_INTERVAL.total_seconds()
        return True

    async def flush(self) -> None:
        """Write when keys and scopes were used since the last flush; after a failure the next one retries."""
        await self._flush_scopes()
        used, self._used = self._used, {}
        pairs = {(each.live_account_id, each.key_id) for each in used.values() if each.key_id is not None}
        if not pairs:
            return
        now = clock.now()
        try:
            async with self._database.transaction() as conn:
                await key_store.touch_keys(conn, used=pairs, now=now, before=now - USE_INTERVAL)
        except BaseException:
            self._used = used | self._used
            raise

    async def _flush_scopes(self) -> None:
        today = clock.now().date()
        if today != self._day or len(self._noted) > self.max_noted:
            self._noted, self._day = set(self._new_uses), today
        new, self._new_uses = self._new_uses, set()
        uses = defaultdict[tuple[UUID, UUID], dict[str, str]](dict)
        for account_id, key_id, scope in new:
            uses[account_id, key_id][scope] = today.isoformat()
        try:
            for (account_id, key_id), by_scope in uses.items():
                async with self._database.connection() as conn:
                    await key_store.note_scopes(conn, account_id=account_id, key_id=key_id, uses=Jsonb(by_scope))
        except BaseException:
            self._new_uses |= new
            raise

    async def _audit_refusal(self, account_id: UUID, key_id: UUID, *, address: str | None = None) -> None:
        """Add an audit entry about the refused use of a real key, at most one per key and REFUSAL_INTERVAL.

        An attacker can send the key at any rate: the process remembers which keys it has audited.
        """
        if not self._may_audit(key_id, clock.monotonic()):
            return
        about = {"key_id": str(key_id), "reason": "expired"}
        if address is not None:
            about |= {"reason": "address_not_allowed", "address": address[:MAX_AUDIT_TEXT]}
        at = clock.now()
        try:
            async with self._database.transaction() as conn:
                since = at - REFUSAL_INTERVAL
                if await key_store.note_refusal(conn, account_id=account_id, key_id=key_id, now=at, before=since):
                    actor = Actor(type="key", id=key_id)
                    await accounts.record_audit(
                        conn, account_id=account_id, actor=actor, action=AuditAction.API_KEY_REFUSED, about=about
                    )
        except BaseException:
            self._audited.pop(key_id, None)
            raise

    async def _verify(self, credential: Credential, digest: bytes, in_turn_of: str | None) -> _CacheEntry:
        """Return the present result for a credential, and store it."""
        now, started, left = clock.now(), clock.monotonic(), self._cache_s
        if credential.is_key:
            entry = await self._verify_key(credential, in_turn_of)
            if entry.caller is None and in_turn_of is not None:
                left = REFUSED_S
        elif credential.kind == "oauth":
            entry = await self._verify_access(credential)
        elif self._tokens is None:
            raise invalid_credentials("Tokens are not accepted here.")
        else:
            entry = _CacheEntry(await self._tokens.find_caller(credential))
        if entry.caller is not None and entry.caller.expires_at is not None:
            left = min(left, (entry.caller.expires_at - now).total_seconds())
        self._accepted.pop(digest, None)
        self._refused.pop(digest, None)
        cache = self._refused if entry.caller is None else self._accepted
        if len(cache) >= self.max_cached:
            del cache[next(iter(cache))]  # the oldest
        cache[digest] = entry, started + left
        return entry

    async def _verify_key(self, credential: Credential, in_turn_of: str | None) -> _CacheEntry:
        """Verify an API key: its checksum, then the digest of its secret and its state in the database."""
        secret = keys.parse_secret(credential.text)
        if secret is None:
            raise invalid_credentials("This is not a valid API key: its checksum does not match.")
        if in_turn_of is not None:
            holder = await self.key_checks.find_holder(secret, network=in_turn_of)
        else:
            async with self._database.connection() as conn:
                holder = await key_store.find_holder(
                    conn, account_id=secret.account_id, digest=secret.digest, now=clock.now()
                )
        if holder is None:
            return _CacheEntry(None, is_guess=True)
        if holder.is_revoked or holder.is_expired:
            return _CacheEntry(None, expired=None if holder.is_revoked else holder)
        if holder.is_disabled:
            return _CacheEntry(None, is_disabled=True)
        if holder.suspended_for is not None:
            raise AccountSuspended(holder.suspended_for)
        caller = Caller(
            account_id=holder.account_id if holder.kind == KeyKind.LIVE else holder.sandbox_id,
            live_account_id=holder.account_id,
            mode=KeyKind(holder.kind).value,
            method="api_key",
            scopes=scopes.of_key(
                Preset(holder.preset), reads_mail=holder.reads_mail, removed=holder.removed_scopes
            ),
            key_id=holder.key_id,
            expires_at=holder.expires_at,
            mandate=None if holder.mandate is None else MANDATE.validate_python(holder.mandate),
        )
        return _CacheEntry(caller, allowed_ips=holder.allowed_ips)

    async def _verify_access(self, credential: Credential) -> _CacheEntry:
        """Verify an access token of a connection."""
        found = await tokens.find_access(self._database, text=credential.text)
        if found is not None:
            async with self._database.connection() as conn:
                await accounts.require_admitted(conn, account_id=found.account_id)
        if found is None or found.is_ended:
            return _CacheEntry(None, is_guess=found is None)
        mandate = MANDATE.validate_python(found.mandate)
        caller = Caller(
            account_id=found.account_id if found.kind is KeyKind.LIVE else found.sandbox_id,
            live_account_id=found.account_id,
            mode=found.kind.value,
            method="oauth",
            scopes=scopes.of_connection(mandate, reads_mail=found.reads_mail, removed=found.removed_scopes),
            key_id=found.key_id,
            expires_at=found.expires_at,
            mandate=mandate,
            client_name=found.label,
        )
        return _CacheEntry(caller)


def _digest(credential: Credential) -> bytes:
    """Return the cache key. The same text as key, bearer token and cookie is three credentials."""
    return hashlib.sha256(_KIND_PREFIXES[credential.kind] + credential.text.encode()).digest()
