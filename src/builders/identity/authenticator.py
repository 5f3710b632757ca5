"""Whose credentials these are, remembered for seconds.

A verified key is cached by its digest, so a revocation is felt within the cache time in every process. What
mints keys or promotes plans asks the database each time.
"""

import hmac
from dataclasses import dataclass
from datetime import timedelta

from builders.identity import keys, scopes
from builders.identity.records import KeyKind, Preset
from builders.identity.store import keys as key_store
from builders.kit import clock
from builders.kit.callers import Caller, Credential, refused
from builders.kit.db import Database

MAX_CACHED = 10_000  # of each sort: good keys, and bad ones of the right form
NOTED_EVERY = timedelta(minutes=5)

_BAD_KEY = "The API key is unknown, revoked or expired."


@dataclass(frozen=True, slots=True)
class _Answer:
    """What the database said of a key, and how long that holds."""

    caller: Caller | None  # None for a key that is no good
    until: float  # monotonic


class Authenticator:
    """Turns a credential into its caller, for one process."""

    def __init__(self, database: Database, *, cache_s: float) -> None:
        self._database = database
        self._cache_s = cache_s
        # Apart, so that a flood of made-up keys pushes out no good one.
        self._good: dict[bytes, _Answer] = {}
        self._bad: dict[bytes, _Answer] = {}
        self._used: dict[bytes, Caller] = {}  # since the last flush, by digest

    async def __call__(self, credential: Credential, *, fresh: bool) -> Caller:
        """The caller; `fresh` asks the database whatever is remembered. Raises CredentialsInvalid."""
        if not _is_key(credential):
            raise refused("The token is not valid.")
        digest = keys.digest(credential.text)
        answer = None if fresh else self._find(digest)
        if answer is None:
            answer = await self._look_up(credential.text)
            self._remember(digest, answer)
        if answer.caller is None:
            raise refused(_BAD_KEY)
        self._used[digest] = answer.caller
        return answer.caller

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

    async def _look_up(self, text: str) -> _Answer:
        presented = keys.parse(text)
        if presented is None:
            raise refused("The API key has a typo: its checksum does not match.")
        now, asked = clock.now(), clock.monotonic()
        async with self._database.reading() as conn:
            holder = await key_store.find_holder(conn, public_id=presented.public_id, now=now)
        if holder is None or not hmac.compare_digest(holder.digest, presented.digest):
            return _Answer(None, asked + self._cache_s)
        left = self._cache_s
        if holder.expires_at is not None:
            left = min(left, (holder.expires_at - now).total_seconds())
        return _Answer(_caller(holder), asked + left)


def _is_key(credential: Credential) -> bool:
    """Whether it can be an API key. A cookie never is: any page could have the browser send it along."""
    if credential.kind == "bearer":
        return credential.text.startswith("svc_")
    return credential.kind == "api_key"


def _caller(holder: key_store.Holder) -> Caller:
    kind = KeyKind(holder.kind)
    return Caller(
        account_id=holder.account_id if kind is KeyKind.LIVE else holder.sandbox_id,
        live_account_id=holder.account_id,
        mode=kind.value,
        method="api_key",
        scopes=scopes.expand(scopes.PRESETS[Preset(holder.preset)]),
        key_id=holder.key_id,
    )
