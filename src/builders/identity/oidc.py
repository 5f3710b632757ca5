"""Tokens of other issuers (OpenID Connect): their keys, their verification, and the linked accounts.

Keys are fetched when they are ten minutes old, or when a token names an unknown one, as after a rotation: at most
once a minute, one fetch at a time. While the issuer is unavailable, cached keys are used for up to a day.
"""

import asyncio
import json
import math
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any
from uuid import UUID

import jwt

from builders.identity import accounts, tokens
from builders.identity.errors import EmailTaken, IdentityNotFound, IdentityTaken
from builders.identity.records import AuditAction, Identity
from builders.identity.store import accounts as store
from builders.identity.tokens import Claims, TokenRefused, UnverifiedToken
from builders.kit.db.connections import Conn, Database
from builders.kit.http.callers import Actor, IssuerUnavailable
from builders.kit.outbound.client import Outbound, OutboundFailed
from builders.kit.process import log
from builders.kit.process.settings import OidcIssuer
from builders.kit.values import clock
from builders.kit.values.texts import canonical_email

MAX_AGE_S = 10 * 60
MAX_STALE_S = 24 * 60 * 60
MIN_INTERVAL_S = 60
RETRY_INTERVAL_S = 10  # after a failed fetch
FETCH_TIMEOUT_S = 5.0
MAX_BYTES = 256 * 1024
MAX_KEYS = 100
RSA_BITS = range(2048, 8192 + 1)  # shorter keys are weak, longer ones are slow
MAX_LISTED = 500
MAX_SUBJECT = 255  # ASCII characters (OpenID Connect Core 1.0, 2)
_TOKEN_TYPES = {"", "jwt", "at+jwt"}  # of the header typ; tokens for other purposes have another one
# Claims of tokens that grant no access, or only together with a proof of possession (RFC 8417, RFC 7800).
_REFUSED_CLAIMS = frozenset({"events", "cnf"})
_KEY_TYPES = {
    "RS256": ("RSA", None),
    "PS256": ("RSA", None),
    "ES256": ("EC", "P-256"),
    "EdDSA": ("OKP", "Ed25519"),
}
_DISCOVERY_PATH = "/.well-known/openid-configuration"

PublicKey = Any  # cryptography has one type per algorithm
KeySet = Mapping[tuple[str, str], PublicKey]  # by key id and algorithm

_log = log.get_logger()


class Issuer:
    """A trusted issuer and its keys, for one process."""

    def __init__(self, trusted: OidcIssuer, outbound: Outbound) -> None:
        self.trusted = trusted
        self._outbound = outbound
        self._keys: KeySet = {}
        self._fetched_at = -math.inf
        self._next_fetch = -math.inf
        self._has_failed = True  # the last fetch
        self._fetching = asyncio.Lock()

    async def verify(self, token: UnverifiedToken) -> Claims:
        """Return the claims. Raise TokenRefused, and IssuerUnavailable when the keys are not available."""
        if token.kind not in _TOKEN_TYPES or token.algorithm not in self.trusted.algorithms:
            raise TokenRefused("Tokens of this type are not accepted.")
        key = await self._find_key((token.kid, token.algorithm))
        if key is None:
            raise TokenRefused("The issuer has no such key.")
        claims = tokens.verify_token(
            token,
            key=key,
            algorithms=[token.algorithm],
            issuer=self.trusted.issuer,
            audience=self.trusted.audience,
            sole_audience=False,
        )
        if _REFUSED_CLAIMS & claims.keys():
            raise TokenRefused("Tokens of this type are not accepted.")
        return claims

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
            keys = parse_keys(await self._get(await self._find_url()), self.trusted.algorithms)
        except (OutboundFailed, ValueError, LookupError) as error:
            _log.warning("issuer_unavailable", issuer=self.trusted.issuer, error=str(error))
            self._next_fetch = clock.monotonic() + RETRY_INTERVAL_S
            return
        self._keys, self._fetched_at, self._has_failed = keys, clock.monotonic(), False
        self._next_fetch = clock.monotonic() + MIN_INTERVAL_S

    async def _find_url(self) -> str:
        """Return the URL of the keys: as configured, or as discovered (OpenID Connect Discovery 1.0, 4)."""
        issuer, audience, known = self.trusted.issuer, self.trusted.audience, self.trusted.jwks_uri
        if known is not None:
            return known
        document = _parse_object(await self._get(issuer.rstrip("/") + _DISCOVERY_PATH))
        if document.get("issuer") != issuer:
            raise ValueError("its discovery document belongs to another issuer")
        # OidcIssuer validates the discovered URL like a configured one.
        return OidcIssuer(issuer=issuer, audience=audience, jwks_uri=document["jwks_uri"]).jwks_uri or ""

    async def _get(self, url: str) -> bytes:
        response = await self._outbound.request("GET", url, max_bytes=MAX_BYTES, total_s=FETCH_TIMEOUT_S)
        if response.status != HTTPStatus.OK:
            raise ValueError(f"{url} answered {response.status}")
        return response.body


def parse_keys(body: bytes, algorithms: Sequence[str]) -> KeySet:
    """Return the usable keys of a JWK set (RFC 7517); skip others. Raise ValueError when it is malformed."""
    listed = _parse_object(body).get("keys")
    if not isinstance(listed, list):
        raise ValueError("not a set of keys")  # noqa: TRY004 - a wrong text
    found: dict[tuple[str, str], PublicKey] = {}
    for jwk in listed[:MAX_KEYS]:
        for name in _key_names(jwk, algorithms) if isinstance(jwk, dict) else ():
            try:
                key = jwt.PyJWK(jwk, name[1]).key
            except tokens.PARSE_ERRORS:
                continue
            if jwk["kty"] != "RSA" or key.key_size in RSA_BITS:
                found[name] = key
    return found


def _parse_object(body: bytes) -> dict[str, Any]:
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


async def find_account_id(database: Database, *, issuer: OidcIssuer, claims: Claims) -> UUID:
    """Return the account that the token's subject is linked to; link a new subject as the issuer's settings allow.

    `sign_up` creates an account, `link_by_email` links the one with the verified address. Raise TokenRefused.
    """
    subject = claims["sub"]
    if not (isinstance(subject, str) and subject.isascii() and subject.isprintable()):
        raise TokenRefused("The token's subject is not printable ASCII.")
    if not 0 < len(subject) <= MAX_SUBJECT:
        raise TokenRefused(f"A subject has 1 to {MAX_SUBJECT} characters.")
    own = {"issuer": issuer.issuer, "subject": subject}
    async with database.connection() as conn:
        linked = await store.find_linked_account(conn, **own)
    if linked is not None:
        return linked.id
    if not issuer.sign_up and not issuer.link_by_email:
        raise TokenRefused("No account is linked to the subject of this token.")
    email = _verified_email(claims)
    try:
        async with database.transaction() as conn:
            account_id = await _find_or_create_account(conn, email, issuer)
            await link_identity(conn, account_id=account_id, **own, actor=Actor(type="user", label=issuer.issuer))
    except (EmailTaken, IdentityTaken):  # by a concurrent request with this token, or by somebody else
        async with database.connection() as conn:
            linked = await store.find_linked_account(conn, **own)
        if linked is None:
            raise TokenRefused("An account has this address; the operator can link it.") from None
        return linked.id
    return account_id


async def link_identity(conn: Conn, *, account_id: UUID, issuer: str, subject: str, actor: Actor) -> None:
    """Link an issuer's subject to the account. Raise IdentityTaken when it is linked to any account."""
    linked = await store.insert_identity(
        conn, issuer=issuer, subject=subject, account_id=account_id, now=clock.now()
    )
    if not linked:
        raise IdentityTaken(f"The subject {subject!r} of {issuer} is linked to an account already.")
    about = {"issuer": issuer, "subject": subject}
    await accounts.record_audit(
        conn, account_id=account_id, actor=actor, action=AuditAction.IDENTITY_LINKED, about=about
    )


async def unlink_identity(conn: Conn, *, account_id: UUID, issuer: str, subject: str, actor: Actor) -> None:
    """Remove a link; its tokens are refused within the cache time. Raise IdentityNotFound."""
    if not await store.delete_identity(conn, issuer=issuer, subject=subject, account_id=account_id):
        raise IdentityNotFound(f"The subject {subject!r} of {issuer} is not linked to this account.")
    about = {"issuer": issuer, "subject": subject}
    await accounts.record_audit(
        conn, account_id=account_id, actor=actor, action=AuditAction.IDENTITY_UNLINKED, about=about
    )


async def list_identities(conn: Conn, *, account_id: UUID) -> Sequence[Identity]:
    """Return the subjects that are linked to the account, the newest links first."""
    return await store.list_identities(conn, account_id=account_id, limit=MAX_LISTED)


async def _find_or_create_account(conn: Conn, email: str, issuer: OidcIssuer) -> UUID:
    """Return a new account, or the one with this email address if that account has verified it.

    Raise TokenRefused, and EmailTaken when the existing account must not be linked.
    """
    if issuer.sign_up:
        try:
            return (await accounts.create_account(conn, email=email, verified=True)).id
        except EmailTaken:
            if not issuer.link_by_email:
                raise
    account = await store.find_account_by_email(conn, email=email)
    if account is None:
        raise TokenRefused("No account is linked to the subject of this token, and no account has its address.")
    if account.email_verified_at is None:
        raise TokenRefused("An account has this address, which is not verified.")
    return account.id


def _verified_email(claims: Claims) -> str:
    email = claims.get("email")
    if claims.get("email_verified") is not True or not isinstance(email, str):
        raise TokenRefused("No account is linked to the subject of this token, which has no verified address.")
    try:
        return canonical_email(email)
    except ValueError:
        raise TokenRefused("The token's email address is not valid.") from None
