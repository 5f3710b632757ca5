"""Other issuers of tokens that the operator trusts: their keys (RFC 7517) and endpoints, and their tokens."""

import asyncio
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

import jwt
from pydantic import TypeAdapter

from builders.identity.json_web_tokens import PARSE_ERRORS, Claims, TokenRefused, UnverifiedToken, verify_token
from builders.kit.http.callers import IssuerUnavailable
from builders.kit.outbound.client import Outbound, OutboundFailed, Response
from builders.kit.process import log
from builders.kit.process.issuers import Endpoint, OidcIssuer
from builders.kit.values import clock

MAX_AGE_S = 10 * 60
MAX_STALE_S = 24 * 60 * 60
MIN_INTERVAL_S = 60
RETRY_INTERVAL_S = 10  # after a failed fetch
FETCH_TIMEOUT_S = 5.0
MAX_BYTES = 256 * 1024
MAX_KEYS = 100
RSA_BITS = range(2048, 8192 + 1)  # shorter keys are weak, longer ones are slow
_TOKEN_TYPES = {"", "jwt", "at+jwt"}  # of the header typ; tokens for other purposes have another value
# Claims of tokens that grant no access, or only together with a proof of possession (RFC 8417, RFC 7800).
_REFUSED_CLAIMS = frozenset({"events", "cnf"})
_KEY_TYPES = {
    "RS256": ("RSA", None),
    "PS256": ("RSA", None),
    "ES256": ("EC", "P-256"),
    "EdDSA": ("OKP", "Ed25519"),
}
_DISCOVERY_PATH = "/.well-known/openid-configuration"
_ENDPOINT = TypeAdapter(Endpoint)

PublicKey = Any  # cryptography has one type per algorithm
KeySet = Mapping[tuple[str, str], PublicKey]  # by key id and algorithm

_log = log.get_logger()


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoints:
    """What the issuer's discovery document states about signing in."""

    authorization: str
    token: str
    posts_secret: bool  # it takes the client secret in the body only
    states_issuer: bool  # each of its responses contains `iss` (RFC 9207)


class Issuer:
    """A trusted issuer with its keys and endpoints, for one process."""

    def __init__(self, trusted: OidcIssuer, outbound: Outbound) -> None:
        self.trusted = trusted
        self._outbound = outbound
        self._keys: KeySet = {}
        self._fetched_at = -math.inf
        self._next_fetch = -math.inf
        self._has_failed = True  # the last fetch
        self._fetching = asyncio.Lock()
        self._endpoints: Endpoints | None = None
        self._next_discovery = -math.inf
        self._discovering = asyncio.Lock()

    async def verify(self, token: UnverifiedToken, *, audience: str | None) -> Claims:
        """Return the claims of a token for the audience.

        Raise TokenRefused, and IssuerUnavailable when the keys are not available.
        """
        if audience is None:
            raise TokenRefused("The issuer of the token is not accepted.")
        if token.kind not in _TOKEN_TYPES or token.algorithm not in self.trusted.algorithms:
            raise TokenRefused("Tokens of this type are not accepted.")
        key = await self._find_key((token.kid, token.algorithm))
        if key is None:
            raise TokenRefused("The issuer has no such key.")
        claims = verify_token(
            token,
            key=key,
            algorithms=[token.algorithm],
            issuer=self.trusted.issuer,
            audience=audience,
            sole_audience=False,
        )
        if _REFUSED_CLAIMS & claims.keys():
            raise TokenRefused("Tokens of this type are not accepted.")
        return claims

    async def get_endpoints(self) -> Endpoints:
        """Return the endpoints of a sign-in. Raise IssuerUnavailable."""
        async with self._discovering:
            if clock.monotonic() >= self._next_discovery:
                self._endpoints, self._next_discovery = None, clock.monotonic() + RETRY_INTERVAL_S
                try:
                    self._endpoints = _parse_endpoints(await self._discover())
                except (OutboundFailed, ValueError, LookupError) as error:
                    _log.warning("issuer_unavailable", issuer=self.trusted.issuer, error=str(error))
                else:
                    self._next_discovery = clock.monotonic() + MAX_AGE_S
        if self._endpoints is None:
            raise IssuerUnavailable(f"{self.trusted.label} is not available.", retry_after=RETRY_INTERVAL_S)
        return self._endpoints

    async def send(self, url: str, *, headers: Mapping[str, str], body: bytes) -> Response:
        """Send a form to an endpoint of the issuer, within limits of time and size. Raise OutboundFailed."""
        return await self._outbound.request(
            "POST", url, headers=headers, body=body, max_bytes=MAX_BYTES, total_s=FETCH_TIMEOUT_S
        )

    async def _find_key(self, name: tuple[str, str]) -> PublicKey | None:
        is_usable = self._age() < MAX_AGE_S or (self._age() < MAX_STALE_S and self._fetching.locked())
        if name in self._keys and is_usable:
            return self._keys[name]
        async with self._fetching:
            if clock.monotonic() >= self._next_fetch and (self._age() >= MAX_AGE_S or name not in self._keys):
                await self._fetch()
        if self._age() >= MAX_STALE_S or (self._has_failed and name not in self._keys):
            raise IssuerUnavailable(
                f"The keys of {self.trusted.issuer} are not available, so its tokens cannot be verified.",
                retry_after=RETRY_INTERVAL_S,
            )
        return self._keys.get(name)

    def _age(self) -> float:
        return clock.monotonic() - self._fetched_at

    async def _fetch(self) -> None:
        # Set first: a cancelled fetch also delays the next one.
        self._next_fetch, self._has_failed = clock.monotonic() + RETRY_INTERVAL_S, True
        try:
            keys = parse_keys(await self._get(await self._get_url()), self.trusted.algorithms)
        except (OutboundFailed, ValueError, LookupError) as error:
            _log.warning("issuer_unavailable", issuer=self.trusted.issuer, error=str(error))
            self._next_fetch = clock.monotonic() + RETRY_INTERVAL_S
            return
        self._keys, self._fetched_at, self._has_failed = keys, clock.monotonic(), False
        self._next_fetch = clock.monotonic() + MIN_INTERVAL_S

    async def _get_url(self) -> str:
        """Return the URL of the keys: as configured, or as discovered (OpenID Connect Discovery 1.0, 4)."""
        return self.trusted.jwks_uri or _ENDPOINT.validate_python((await self._discover())["jwks_uri"])

    async def _discover(self) -> dict[str, Any]:
        issuer = self.trusted.issuer
        document = parse_object(await self._get(issuer.rstrip("/") + _DISCOVERY_PATH))
        if document.get("issuer") != issuer:
            raise ValueError("its discovery document belongs to another issuer")
        return document

    async def _get(self, url: str) -> bytes:
        response = await self._outbound.request("GET", url, max_bytes=MAX_BYTES, total_s=FETCH_TIMEOUT_S)
        if response.status != HTTPStatus.OK:
            raise ValueError(f"{url} answered {response.status}")
        return response.body


def parse_keys(body: bytes, algorithms: Sequence[str]) -> KeySet:
    """Return the usable keys of a JWK set (RFC 7517); skip others. Raise ValueError when it is malformed."""
    listed = parse_object(body).get("keys")
    if not isinstance(listed, list):
        raise ValueError("not a set of keys")  # noqa: TRY004 - a wrong text
    found: dict[tuple[str, str], PublicKey] = {}
    for jwk in listed[:MAX_KEYS]:
        for name in _key_names(jwk, algorithms) if isinstance(jwk, dict) else ():
            try:
                key = jwt.PyJWK(jwk, name[1]).key
            except PARSE_ERRORS:
                continue
            if jwk["kty"] != "RSA" or key.key_size in RSA_BITS:
                found[name] = key
    return found


def _parse_endpoints(document: Mapping[str, Any]) -> Endpoints:
    """Return the endpoints, validated like configured ones. Raise ValueError, LookupError."""
    methods = document.get("token_endpoint_auth_methods_supported")
    listed = methods if isinstance(methods, list) else ["client_secret_basic"]  # the default of the standard
    return Endpoints(
        authorization=_ENDPOINT.validate_python(document["authorization_endpoint"]),
        token=_ENDPOINT.validate_python(document["token_endpoint"]),
        posts_secret="client_secret_basic" not in listed and "client_secret_post" in listed,
        states_issuer=document.get("authorization_response_iss_parameter_supported") is True,
    )


def parse_object(body: bytes) -> dict[str, Any]:
    """Return a JSON object. Raise ValueError."""
    try:
        value = json.loads(body)
    except RecursionError:
        raise ValueError("a document that is nested too deeply") from None
    if not isinstance(value, dict):
        raise ValueError("not a JSON object")  # noqa: TRY004 - a wrong text
    return value


def _key_names(jwk: Mapping[str, Any], algorithms: Sequence[str]) -> Sequence[tuple[str, str]]:
    """Return the key's id with each accepted algorithm that it can verify; with `alg` only with that one."""
    key_type = (jwk.get("kty"), jwk.get("crv") if jwk.get("kty") != "RSA" else None)
    fits = [each for each in algorithms if _KEY_TYPES[each] == key_type and jwk.get("alg", each) == each]
    kid, operations = jwk.get("kid"), jwk.get("key_ops", ["verify"])
    verifies = jwk.get("use", "sig") == "sig" and isinstance(operations, list) and "verify" in operations
    if not fits or not verifies or not isinstance(kid, str) or "d" in jwk:
        return ()
    return [(kid, each) for each in fits]
