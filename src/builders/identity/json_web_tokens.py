"""JSON Web Tokens: strict parsing and verification (RFC 7519, RFC 8725).

Any exception that hostile input causes in a parser becomes TokenRefused. Times are checked here, not by PyJWT:
PyJWT does not use `clock`, and accepts strings of digits and numbers beyond any date.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import jwt
from jwt.types import Options

from builders.kit.values import clock

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
