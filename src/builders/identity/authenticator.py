"""Whose credentials these are, remembered for seconds.

What was verified is cached by its digest, so a revocation is felt within the cache time in every process. What
mints keys or promotes plans asks the database each time.
"""

import hashlib
import hmac
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import NoReturn
from uuid import UUID

from builders.identity import audit, keys, networks, scopes
from builders.identity.bearers import Bearers
from builders.identity.networks import Network
from builders.identity.records import AuditAction, KeyKind, Preset
from builders.identity.store import accounts as account_store, keys as key_store
from builders.identity.store.keys import Holder
from builders.kit.db.connections import Database
from builders.kit.http.callers import Actor, Caller
from builders.kit.http.credentials import AddressNotAllowed, Credential, KeyExpired, invalid_credentials
from builders.kit.values import clock

MAX_CACHED = 10_000  # of each sort: good credentials, and bad ones of the right form
MOST_SHOWN = 200  # characters of a request in the audit list
NOTED_EVERY = timedelta(minutes=5)
REFUSAL_NOTED_EVERY = timedelta(hours=1)

_PLACES = {"api_key": b"k", "bearer": b"b", "cookie": b"c"}
_BAD_KEY = "The API key is unknown or revoked."
_BAD_SESSION = "The session has ended."
_SIGN_IN = "Sign in again, or have a new token made."


@dataclass(frozen=True, slots=True)
class _Answer:
    """What was found of a credential, and how long that holds."""

    caller: Caller | None  # None for one that is no good
    until: float  # monotonic
    is_guess: bool = False  # was never any good
    allowed_ips: tuple[Network, ...] | None = None  # that it is good from; None: any
    expired: Holder | None = None  # whose key is no good only because it has expired


class Authenticator:
    """Turns a credential into its caller, for one process."""

    def __init__(self, database: Database, *, cache_s: float, bearers: Bearers | None) -> None:
        self._database = database
        self._cache_s = cache_s
        self._bearers = bearers  # None where only keys are judged
        # Apart, so that a flood of made-up keys pushes out no good one.
        self._good: dict[bytes, _Answer] = {}
        self._bad: dict[bytes, _Answer] = {}
        self._noted: dict[UUID, float] = {}  # keys whose refused use was written down, until when (monotonic)
        self._used: dict[bytes, Caller] = {}  # since the last flush, by digest

    async def __call__(self, credential: Credential, *, fresh: bool, address: str = "") -> Caller:
        """Return the caller, who asks from `address`; `fresh` asks the database whatever is remembered.

        Raises CredentialsInvalid, AddressNotAllowed, IssuerUnavailable.
        """
        digest = _digest(credential)
        answer = None if fresh else self._find(digest)
        if answer is None:
            answer = await (self._look_up if _is_key(credential) else self._look_up_token)(credential)
            self._remember(digest, answer)
        if answer.caller is None:
            await self._refuse(credential, answer)
        # What is remembered is the key; each request is judged on its own address.
        if answer.allowed_ips is not None and not networks.contains(answer.allowed_ips, address):
            await self._note_refusal(answer.caller.live_account_id, answer.caller.key_id, address=address)
            raise AddressNotAllowed(
                "This API key does not work from the address of this request.",
                next_action="Ask from a network in allowed_ips of the key, or with another key.",
            )
        self._used[digest] = answer.caller
        return answer.caller

    async def _refuse(self, credential: Credential, answer: _Answer) -> NoReturn:
        if answer.expired is not None:
            await self._note_refusal(answer.expired.account_id, answer.expired.key_id)
            raise invalid_credentials("The API key has expired.", kind=KeyExpired, is_guess=False)
        if _is_key(credential):
            raise invalid_credentials(_BAD_KEY, is_guess=answer.is_guess)
        raise invalid_credentials(_BAD_SESSION, next_action=_SIGN_IN, is_guess=answer.is_guess)

    async def _note_refusal(self, account_id: UUID, key_id: UUID | None, *, address: str | None = None) -> None:
        """Write the refused use of a real key into the account's audit list, once in a while for each key.

        An attacker with the key asks as often as he likes: the process remembers what it has noted.
        """
        now = clock.monotonic()
        if key_id is None or now < self._noted.get(key_id, 0.0):
            return
        if len(self._noted) >= MAX_CACHED:
            del self._noted[next(iter(self._noted))]
        self._noted[key_id] = now + REFUSAL_NOTED_EVERY.total_seconds()
        about = {"key_id": str(key_id), "reason": "expired"}
        if address is not None:
            about |= {"reason": "address_not_allowed", "address": address[:MOST_SHOWN]}
        at = clock.now()
        try:
            async with self._database.transaction() as conn:
                since = at - REFUSAL_NOTED_EVERY
                if await key_store.note_refusal(conn, account_id=account_id, key_id=key_id, now=at, before=since):
                    actor = Actor(type="key", id=key_id)
                    await audit.record_audit(
                        conn, account_id=account_id, actor=actor, action=AuditAction.API_KEY_REFUSED, about=about
                    )
        except BaseException:
            self._noted.pop(key_id, None)
            raise

    def is_known_good(self, credential: Credential) -> bool:
        """Whether it is surely no guess: it was found good lately, or is a token that we signed."""
        if _digest(credential) in self._good:
            return True
        return self._bearers is not None and not _is_key(credential) and self._bearers.signed(credential)

    async def find_other_mode(self, caller: Caller) -> Caller | None:
        """Return the same caller in the other mode; None when the account is gone."""
        if caller.mode == "test":
            return replace(caller, account_id=caller.live_account_id, mode="live")
        async with self._database.reading() as conn:
            account = await account_store.find_account(conn, account_id=caller.live_account_id)
        return None if account is None else replace(caller, account_id=account.sandbox_id, mode="test")

    async def record_support_action(self, caller: Caller, *, what: str) -> None:
        """Writes into the account's audit list what support is about to do as its holder."""
        async with self._database.transaction() as conn:
            await audit.record_audit(
                conn,
                account_id=caller.live_account_id,
                actor=caller.actor,
                action=AuditAction.SUPPORT_ACTED,
                about={"request": what[:MOST_SHOWN]},
            )

    async def flush(self) -> None:
        """Writes down which keys were used since the last flush; on failure they wait for the next one."""
        used, self._used = self._used, {}
        pairs = {(each.live_account_id, each.key_id) for each in used.values() if each.key_id is not None}
        if not pairs:
            return
        now = clock.now()
        try:
            async with self._database.transaction() as conn:
                await key_store.touch_keys(conn, used=pairs, now=now, before=now - NOTED_EVERY)
        except BaseException:
            self._used = used | self._used
            raise

    def _find(self, digest: bytes) -> _Answer | None:
        answer = self._good.get(digest) or self._bad.get(digest)
        return answer if answer is not None and clock.monotonic() < answer.until else None

    def _remember(self, digest: bytes, answer: _Answer) -> None:
        self._good.pop(digest, None)
        self._bad.pop(digest, None)
        kept = self._bad if answer.caller is None else self._good
        if len(kept) >= MAX_CACHED:
            del kept[next(iter(kept))]  # the oldest
        kept[digest] = answer

    async def _look_up(self, credential: Credential) -> _Answer:
        presented = keys.parse(credential.text)
        if presented is None:
            raise invalid_credentials("This is no API key, or it has a typo: its checksum does not match.")
        now, asked = clock.now(), clock.monotonic()
        async with self._database.reading() as conn:
            holder = await key_store.find_holder(conn, public_id=presented.public_id, now=now)
        if holder is None or not hmac.compare_digest(holder.digest, presented.digest):
            return _Answer(None, asked + self._cache_s, is_guess=True)
        if holder.is_revoked:
            return _Answer(None, asked + self._cache_s)
        if holder.is_expired:
            return _Answer(None, asked + self._cache_s, expired=holder)
        left = self._cache_s
        if holder.expires_at is not None:
            left = min(left, (holder.expires_at - now).total_seconds())
        allowed = None if holder.allowed_ips is None else tuple(holder.allowed_ips)
        return _Answer(_caller(holder), asked + left, allowed_ips=allowed)

    async def _look_up_token(self, credential: Credential) -> _Answer:
        if self._bearers is None:
            raise invalid_credentials("Tokens are not accepted here.")
        now, asked = clock.now(), clock.monotonic()
        caller = await self._bearers.find_caller(credential)
        left = self._cache_s
        if caller is not None and caller.expires_at is not None:
            left = min(left, (caller.expires_at - now).total_seconds())
        return _Answer(caller, asked + left)


def _digest(credential: Credential) -> bytes:
    """What it is remembered by. One text is three credentials: where it stands decides what it counts for."""
    return hashlib.sha256(_PLACES[credential.kind] + credential.text.encode()).digest()


def _is_key(credential: Credential) -> bool:
    """Whether it can be an API key. A cookie never is: any page could have the browser send it along."""
    if credential.kind == "bearer":
        return credential.text.startswith("svc_")
    return credential.kind == "api_key"


def _caller(holder: Holder) -> Caller:
    kind = KeyKind(holder.kind)
    return Caller(
        account_id=holder.account_id if kind is KeyKind.LIVE else holder.sandbox_id,
        live_account_id=holder.account_id,
        mode=kind.value,
        method="api_key",
        scopes=scopes.expand(scopes.PRESETS[Preset(holder.preset)]),
        key_id=holder.key_id,
        expires_at=holder.expires_at,
    )
