"""The tokens of other issuers (OpenID Connect): their keys, fetched and kept, and what their tokens say.

Keys are fetched when they are ten minutes old, or when a token names an unknown one, which happens when an issuer
has just rotated: at most once a minute, one fetch at a time. While the issuer is away the old ones serve a day.
"""

import asyncio
import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import jwt

from builders.identity import jwts
from builders.identity.jwts import Claims, Presented, TokenRefused
from builders.kit.http.credentials import IssuerUnavailable
from builders.kit.outbound.client import Outbound, OutboundFailed
from builders.kit.process import log
from builders.kit.process.issuers import OidcIssuer
from builders.kit.values import clock

KEPT_S = 10 * 60
STALE_S = 24 * 60 * 60
AGAIN_S = 60
RETRY_S = 10  # after a fetch that failed
FETCH_S = 5.0
MAX_BYTES = 256 * 1024
MAX_KEYS = 100
RSA_BITS = range(2048, 8192 + 1)  # fewer are weak, more only cost us time
_KINDS = {"", "jwt", "at+jwt"}  # of the header typ; what is made for another use says so
# Of a token that is for no access, or counts only with a proof that we do not ask for (RFC 8417, RFC 7800).
_FOREIGN = frozenset({"events", "cnf"})
_KEYS = {"RS256": ("RSA", None), "PS256": ("RSA", None), "ES256": ("EC", "P-256"), "EdDSA": ("OKP", "Ed25519")}
_CONFIGURATION = "/.well-known/openid-configuration"

PublicKey = Any  # cryptography has a type for each sort
KeySet = Mapping[tuple[str, str], PublicKey]  # by key id and algorithm

_log = log.get_logger()


class Issuer:
    """One trusted issuer and its keys, for one process."""

    def __init__(self, trusted: OidcIssuer, outbound: Outbound) -> None:
        self.trusted = trusted
        self._outbound = outbound
        self._keys: KeySet = {}
        self._fetched_at = -math.inf
        self._next_fetch = -math.inf
        self._is_away = True
        self._fetching = asyncio.Lock()

    async def verify(self, presented: Presented) -> Claims:
        """What the token says. Raises TokenRefused, and IssuerUnavailable when the keys cannot be had."""
        if presented.kind not in _KINDS or presented.algorithm not in self.trusted.algorithms:
            raise TokenRefused("The token is of a kind that is not accepted.")
        key = await self._find_key((presented.kid, presented.algorithm))
        if key is None:
            raise TokenRefused("The issuer has no such key.")
        claims = jwts.verify(
            presented,
            key=key,
            algorithms=[presented.algorithm],
            issuer=self.trusted.issuer,
            audience=self.trusted.audience,
            sole_audience=False,
        )
        if _FOREIGN & claims.keys():
            raise TokenRefused("The token is of a kind that is not accepted.")
        return claims

    async def _find_key(self, name: tuple[str, str]) -> PublicKey | None:
        if name in self._keys and (self._age() < KEPT_S or (self._age() < STALE_S and self._fetching.locked())):
            return self._keys[name]
        async with self._fetching:
            if clock.monotonic() >= self._next_fetch and (self._age() >= KEPT_S or name not in self._keys):
                await self._fetch()
        if self._age() >= STALE_S or (self._is_away and name not in self._keys):
            raise IssuerUnavailable(
                f"The keys of {self.trusted.issuer} cannot be had, so its tokens cannot be judged.",
                retry_after=RETRY_S,
            )
        return self._keys.get(name)

    def _age(self) -> float:
        return clock.monotonic() - self._fetched_at

    async def _fetch(self) -> None:
        # Set first: whatever becomes of this fetch, the next one is not before that.
        self._next_fetch, self._is_away = clock.monotonic() + RETRY_S, True
        try:
            keys = read_keys(await self._get(await self._address()), self.trusted.algorithms)
        except (OutboundFailed, ValueError, LookupError) as error:
            _log.warning("issuer_away", issuer=self.trusted.issuer, error=str(error))
            self._next_fetch = clock.monotonic() + RETRY_S
            return
        self._keys, self._fetched_at, self._is_away = keys, clock.monotonic(), False
        self._next_fetch = clock.monotonic() + AGAIN_S

    async def _address(self) -> str:
        """Where the keys are: as set, or as the issuer says of itself (OpenID Connect Discovery 1.0, 4)."""
        if self.trusted.jwks_uri is not None:
            return self.trusted.jwks_uri
        said = _read_object(await self._get(self.trusted.issuer.rstrip("/") + _CONFIGURATION))
        if said.get("issuer") != self.trusted.issuer:
            raise ValueError("its discovery document is another issuer's")
        # Validated as if it had been set.
        found = OidcIssuer(issuer=self.trusted.issuer, audience=self.trusted.audience, jwks_uri=said["jwks_uri"])
        return found.jwks_uri or ""

    async def _get(self, url: str) -> bytes:
        response = await self._outbound.request("GET", url, max_bytes=MAX_BYTES, total_s=FETCH_S)
        if response.status != 200:  # noqa: PLR2004 - OK
            raise ValueError(f"{url} answered {response.status}")
        return response.body


def _read_object(body: bytes) -> dict[str, Any]:
    try:
        said = json.loads(body)
    except RecursionError:
        raise ValueError("a document that is too deep") from None
    if not isinstance(said, dict):
        raise ValueError("not a JSON object")  # noqa: TRY004 - a wrong text
    return said


def read_keys(body: bytes, algorithms: Sequence[str]) -> KeySet:
    """The usable keys of a JWK set (RFC 7517); others are passed over. Raises ValueError when it is none."""
    listed = _read_object(body).get("keys")
    if not isinstance(listed, list):
        raise ValueError("not a set of keys")  # noqa: TRY004 - a wrong text
    found: dict[tuple[str, str], PublicKey] = {}
    for each in listed[:MAX_KEYS]:
        for name in _names(each, algorithms) if isinstance(each, dict) else ():
            key = _read_key(each, name[1])
            if key is not None:
                found[name] = key
    return found


def _names(jwk: Mapping[str, Any], algorithms: Sequence[str]) -> Sequence[tuple[str, str]]:
    """The key's id with its algorithm: its own, or each accepted one that it fits when it names none."""
    sort = (jwk.get("kty"), jwk.get("crv") if jwk.get("kty") != "RSA" else None)
    fits = [each for each in algorithms if _KEYS[each] == sort and jwk.get("alg", each) == each]
    kid, operations = jwk.get("kid"), jwk.get("key_ops", ["verify"])
    is_for_us = jwk.get("use", "sig") == "sig" and isinstance(operations, list) and "verify" in operations
    if not fits or not is_for_us or not isinstance(kid, str) or "d" in jwk:
        return ()
    return [(kid, each) for each in fits]


def _read_key(jwk: dict[str, Any], algorithm: str) -> PublicKey | None:
    try:
        key = jwt.PyJWK(jwk, algorithm).key
    except jwts.HOSTILE:
        return None
    is_weak = jwk["kty"] == "RSA" and key.key_size not in RSA_BITS
    return None if is_weak else key
