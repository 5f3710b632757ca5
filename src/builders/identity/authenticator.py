"""Whose credentials these are, remembered for seconds.

A verified key is cached by its digest, so a revocation is felt within the cache time in every process. What
mints keys or promotes plans asks the database each time.
"""

import hmac
from datetime import timedelta
from uuid import UUID

from builders.identity import keys, scopes, store
from builders.identity.records import KeyKind, Preset
from builders.kit import clock
from builders.kit.callers import Caller, Credential, refused
from builders.kit.db import Database

MAX_CACHED = 10_000
NOTED_EVERY = timedelta(minutes=5)

_BAD_KEY = "The API key is unknown, revoked or expired."


class Authenticator:
    """Turns a credential into its caller, for one process."""

    def __init__(self, database: Database, *, cache_s: float) -> None:
        self._database = database
        self._cache_s = cache_s
        self._known: dict[bytes, tuple[float, Caller | None]] = {}
        self._used: set[tuple[UUID, UUID]] = set()

    async def __call__(self, credential: Credential, *, fresh: bool) -> Caller:
        """The caller; `fresh` asks the database whatever is remembered. Raises CredentialsInvalid."""
        if credential.kind != "api_key" and not credential.text.startswith("svc_"):
            raise refused("The token is not valid.")
        digest = keys.digest(credential.text)
        until, caller = self._known.get(digest, (0.0, None))
        if fresh or until < clock.monotonic():
            caller = await self._look_up(credential.text)
            self._remember(digest, caller)
        if caller is None:
            raise refused(_BAD_KEY)
        if caller.key_id is not None:
            self._used.add((caller.live_account_id, caller.key_id))
        return caller

    async def flush(self) -> None:
        """Writes down which keys were used since the last flush."""
        used, self._used = self._used, set()
        if used:
            now = clock.now()
            async with self._database.transaction() as conn:
                await store.touch_keys(conn, used=used, now=now, before=now - NOTED_EVERY)

    def _remember(self, digest: bytes, caller: Caller | None) -> None:
        if len(self._known) >= MAX_CACHED:
            self._known.clear()
        self._known[digest] = (clock.monotonic() + self._cache_s, caller)

    async def _look_up(self, text: str) -> Caller | None:
        presented = keys.parse(text)
        if presented is None:
            raise refused("The API key has a typo: its checksum does not match.")
        async with self._database.reading() as conn:
            holder = await store.find_holder(conn, public_id=presented.public_id, now=clock.now())
        if holder is None or not hmac.compare_digest(holder.digest, presented.digest):
            return None
        kind = KeyKind(holder.kind)
        return Caller(
            account_id=holder.account_id if kind is KeyKind.LIVE else holder.sandbox_id,
            live_account_id=holder.account_id,
            mode=kind.value,
            method="api_key",
            scopes=scopes.expand(scopes.PRESETS[Preset(holder.preset)]),
            key_id=holder.key_id,
        )
