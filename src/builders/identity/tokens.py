"""JSON Web Tokens: strict parsing (RFC 7519, RFC 8725), and this service's own access tokens (RFC 9068).

Any exception that hostile input causes in a parser becomes TokenRefused. Times are checked here, not by PyJWT:
PyJWT does not use `clock`, and accepts strings of digits and numbers beyond any date.

The service signs with Ed25519. Every process derives the same keys from the secret keys, so none is stored. The
first secret key signs, all of them verify.
"""

import asyncio
import json
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any
from uuid import UUID

import jwt
from jwt.algorithms import OKPAlgorithm
from jwt.types import Options
from pydantic import TypeAdapter

from builders.identity import accounts, people, scopes
from builders.identity.errors import EmailTaken, IdentityNotFound, IdentityTaken
from builders.identity.records import AuditAction, Identity, Session
from builders.identity.store import accounts as store
from builders.kit.callers import Actor
from builders.kit.db.connections import Conn, Database
from builders.kit.http.callers import IssuerUnavailable
from builders.kit.outbound.client import Outbound, OutboundFailed, Response
from builders.kit.process import log
from builders.kit.process.secret_keys import Keyring
from builders.kit.process.settings import Endpoint, OidcIssuer
from builders.kit.values import clock
from builders.kit.values.texts import canonical_email

PURPOSE = "access token"
JWT_TYPE = "at+jwt"
MAX_TOKEN = 8 * 1024  # characters; a longer token is refused before it is decoded
MAX_KID = 128
LEEWAY_S = 30
_MAX_TIME = 253_402_300_799  # the end of the year 9999, the last year of both PostgreSQL and Python
# Headers that contain or locate a key: with them a token could choose the key that verifies it.
_KEY_HEADERS = frozenset({"jku", "jwk", "x5u", "x5c"})
_UNVERIFIED: Options = {"verify_signature": False}
# PyJWT turns most exceptions of json, base64 and cryptography into its own, but not all (a lone surrogate raises
# ValueError), it documents no list, and its versions differ. The others are what these libraries and its own
# look-ups raise for malformed input. Tokens and keys are hostile input: none of them may become a 500.
PARSE_ERRORS = (
    jwt.PyJWTError,
    ArithmeticError,
    AttributeError,
    LookupError,
    NotImplementedError,  # PyJWT: a key with "alg": "none"
    RecursionError,
    TypeError,
    ValueError,
)

Claims = Mapping[str, Any]  # what JSON can hold


class TokenRefused(Exception):
    """The token is not valid. Its text may be shown to the client."""


class TokenNotCurrent(TokenRefused):
    """The token is signed and for this service, but has expired or is not valid yet. It is not a guess."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnverifiedToken:
    """The parts of a token that are needed to find its key. Its signature is not verified."""

    text: str = field(repr=False)
    algorithm: str
    kid: str
    kind: str  # the header typ in lower case, without `application/`; empty when it has none
    issuer: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionToken:
    """The claims of a verified access token. The session may have ended since."""

    account_id: UUID
    session_id: UUID
    expires_at: datetime


def parse_token(text: str) -> UnverifiedToken:
    """Return the token's parts. Raise TokenRefused when it is malformed, too long, or contains a key."""
    if len(text) > MAX_TOKEN:
        raise TokenRefused(f"A token has at most {MAX_TOKEN} characters.")
    try:
        found = jwt.decode_complete(text, options=_UNVERIFIED)
        header, issuer = found["header"], found["payload"].get("iss")
        algorithm, kid, kind = header.get("alg"), header.get("kid"), header.get("typ", "")
    except PARSE_ERRORS:
        raise TokenRefused("The credential is not a token.") from None
    if _KEY_HEADERS & header.keys() or "crit" in header or "b64" in header:
        raise TokenRefused("The token's header has a parameter that is not supported.")
    if not (isinstance(algorithm, str) and isinstance(kind, str) and isinstance(issuer, str)):
        raise TokenRefused("The token has no issuer or no algorithm, or its type is malformed.")
    if not isinstance(kid, str) or not 0 < len(kid) <= MAX_KID:
        raise TokenRefused("The token has no key id.")
    kind = kind.lower().removeprefix("application/")
    return UnverifiedToken(text=text, algorithm=algorithm, kid=kid, kind=kind, issuer=issuer)


def verify_token(
    token: UnverifiedToken,
    *,
    key: Any,  # a public key of cryptography, which has one type per algorithm
    algorithms: Sequence[str],
    issuer: str,
    audience: str,
    required: Collection[str] = (),
    sole_audience: bool,
) -> Claims:
    """Return the claims of a current token that the key signed for this audience. Raise TokenRefused."""
    options: Options = {
        "require": ["exp", "iat", "iss", "aud", "sub", *required],
        "strict_aud": sole_audience,
        "verify_exp": False,
        "verify_iat": False,
        "verify_nbf": False,
        "enforce_minimum_key_length": True,
    }
    try:
        claims: Claims = jwt.decode(
            token.text, key, algorithms=algorithms, issuer=issuer, audience=audience, options=options
        )
    except jwt.InvalidAudienceError:
        raise TokenRefused("The token is for another audience than this service.") from None
    except PARSE_ERRORS:
        raise TokenRefused("The token is not valid.") from None
    now = clock.now().timestamp()
    for name in ("exp", "iat", "nbf"):
        if name in claims and (type(claims[name]) is not int or not 0 <= claims[name] <= _MAX_TIME):
            raise TokenRefused(f"The token's {name} is not a time.")
    if claims["exp"] <= now - LEEWAY_S:
        raise TokenNotCurrent("The token has expired.")
    if max(claims["iat"], claims.get("nbf", 0)) > now + LEEWAY_S:
        raise TokenNotCurrent("The token is not valid yet.")
    return claims


def expiry_of(claims: Claims) -> datetime:
    """Return when the token expires."""
    return datetime.fromtimestamp(claims["exp"], UTC)


def sign_token(keyring: Keyring, session: Session, *, issuer: str) -> str:
    """Return the access token of a session."""
    grant = session.impersonation
    claims = {
        "iss": issuer,
        "aud": issuer,
        "sub": str(session.account_id),
        "jti": str(session.id),
        "iat": int(session.created_at.timestamp()),
        "nbf": int(session.created_at.timestamp()),
        "exp": int(session.expires_at.timestamp()),
        "scope": " ".join(scopes.sort_scopes(scopes.session_scopes(grant))),
    }
    if grant is not None:
        claims["act"] = {"sub": grant.operator}  # RFC 8693, 4.1
    kid, key = next(iter(keyring.signing_keys(PURPOSE).items()))
    return jwt.encode(claims, key, algorithm="EdDSA", headers={"typ": JWT_TYPE, "kid": kid})


class SessionTokenVerifier:
    """Verify access tokens of this service, for one process."""

    def __init__(self, keyring: Keyring, *, issuer: str) -> None:
        self.issuer = issuer
        self._keys = {kid: key.public_key() for kid, key in keyring.signing_keys(PURPOSE).items()}

    def verify(self, token: UnverifiedToken) -> SessionToken:
        """Return the claims of the token. Raise TokenRefused."""
        key = self._keys.get(token.kid)
        if key is None or token.kind != JWT_TYPE:
            raise TokenRefused("The token is not valid.")
        claims = verify_token(
            token,
            key=key,
            algorithms=["EdDSA"],
            issuer=self.issuer,
            audience=self.issuer,
            required=["jti"],
            sole_audience=True,
        )
        try:
            account_id, session_id = UUID(claims["sub"]), UUID(claims["jti"])
        except ValueError:
            raise TokenRefused("The token is not valid.") from None
        return SessionToken(account_id=account_id, session_id=session_id, expires_at=expiry_of(claims))


def list_public_keys(keyring: Keyring) -> Mapping[str, str]:
    """Return the public keys of access tokens, base64url (RFC 8037), by id; the first is of the key that signs."""
    found = keyring.signing_keys(PURPOSE).items()
    return {kid: OKPAlgorithm.to_jwk(key.public_key(), as_dict=True)["x"] for kid, key in found}


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


async def get_account_id(database: Database, *, issuer: OidcIssuer, claims: Claims) -> UUID:
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
            account_id, is_new = await _get_or_create_account(conn, email, issuer)
            actor = Actor(type="user", label=issuer.issuer)
            await link_identity(conn, account_id=account_id, **own, actor=actor, by_email=not is_new)
    except (EmailTaken, IdentityTaken):  # by a concurrent request with this token, or by somebody else
        async with database.connection() as conn:
            linked = await store.find_linked_account(conn, **own)
        if linked is None:
            raise TokenRefused("An account has this address; the operator can link it.") from None
        return linked.id
    return account_id


async def link_identity(
    conn: Conn, *, account_id: UUID, issuer: str, subject: str, actor: Actor, by_email: bool = False
) -> None:
    """Link an issuer's subject to the account; with `by_email`, until the account's address changes.

    Raise IdentityTaken when it is linked to any account.
    """
    linked = await store.insert_identity(
        conn, issuer=issuer, subject=subject, account_id=account_id, by_email=by_email, now=clock.now()
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


async def _get_or_create_account(conn: Conn, email: str, issuer: OidcIssuer) -> tuple[UUID, bool]:
    """Return the account with this email address if it has verified it, or a new one, and whether it is new.

    Raise TokenRefused, and EmailTaken when the existing account must not be linked.
    """
    if issuer.sign_up:
        try:
            return (await accounts.create_account(conn, email=email, verified=True)).id, True
        except EmailTaken:
            if not issuer.link_by_email:
                raise
    account = await store.find_account_by_email(conn, email=email)
    if account is None:
        raise TokenRefused("No account is linked to the subject of this token, and no account has its address.")
    if account.email_verified_at is None:
        raise TokenRefused("An account has this address, which is not verified.")
    if await people.lock(conn, account_id=account.id):
        raise TokenRefused("The account with this address needs a person for this; the operator can link it.")
    return account.id, False


def _verified_email(claims: Claims) -> str:
    email = claims.get("email")
    if claims.get("email_verified") is not True or not isinstance(email, str):
        raise TokenRefused("No account is linked to the subject of this token, which has no verified address.")
    try:
        return canonical_email(email)
    except ValueError:
        raise TokenRefused("The token's email address is not valid.") from None
