"""JSON Web Tokens read strictly (RFC 7519, RFC 8725), ours and those of other issuers alike.

Whatever hostile input makes a parser raise is one TokenRefused. Times are judged here and not by PyJWT, which has
a clock of its own and takes a digit string, or a number beyond any date, for a time.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import jwt
from jwt.types import Options

from builders.kit.values import clock

MAX_TOKEN = 8 * 1024  # characters, refused before anything is decoded
MAX_KID = 128
LEEWAY_S = 30
_LAST = 253_402_300_799  # the end of the year 9999, which is the last that PostgreSQL and Python both know
# Headers that bring or name a key: whoever follows them lets the token say who may sign it.
_OWN_KEYS = frozenset({"jku", "jwk", "x5u", "x5c"})
_UNVERIFIED: Options = {"verify_signature": False}
# What PyJWT, json and cryptography raise at input that was made to hurt.
HOSTILE = (
    jwt.PyJWTError,
    ArithmeticError,
    AttributeError,
    LookupError,
    NotImplementedError,
    RecursionError,
    TypeError,
    ValueError,
)

Claims = Mapping[str, Any]  # what JSON can hold


class TokenRefused(Exception):
    """The token is not to be believed; the text may be shown to who sent it."""


class TokenUntimely(TokenRefused):
    """The token is signed and for us, and its time is over or not yet there: nobody comes by it by trying."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Presented:
    """A token taken apart and not yet believed: this much is needed to find the key."""

    text: str = field(repr=False)
    algorithm: str
    kid: str
    kind: str  # the header typ in lower case, without `application/`; empty when it has none
    issuer: str


def read(text: str) -> Presented:
    """The token's parts. Raises TokenRefused when it is no token, too long, or brings a key of its own."""
    if len(text) > MAX_TOKEN:
        raise TokenRefused(f"A token has up to {MAX_TOKEN} characters.")
    try:
        found = jwt.decode_complete(text, options=_UNVERIFIED)
        header, issuer = found["header"], found["payload"].get("iss")
        algorithm, kid, kind = header.get("alg"), header.get("kid"), header.get("typ", "")
    except HOSTILE:
        raise TokenRefused("This is not a token.") from None
    if _OWN_KEYS & header.keys() or "crit" in header or "b64" in header:
        raise TokenRefused("The token's header has what is not followed here.")
    if not (isinstance(algorithm, str) and isinstance(kind, str) and isinstance(issuer, str)):
        raise TokenRefused("The token does not say who issued it, or how it is signed.")
    if not isinstance(kid, str) or not 0 < len(kid) <= MAX_KID:
        raise TokenRefused("The token does not say which key signed it.")
    kind = kind.lower().removeprefix("application/")
    return Presented(text=text, algorithm=algorithm, kid=kid, kind=kind, issuer=issuer)


def verify(
    presented: Presented,
    *,
    key: Any,  # a public key of cryptography, which has a type for each sort
    algorithms: Sequence[str],
    issuer: str,
    audience: str,
    required: Collection[str] = (),
    sole_audience: bool,
) -> Claims:
    """The claims of a token that the key signed, for us, and whose time is now. Raises TokenRefused."""
    options: Options = {
        "require": ["exp", "iat", "iss", "aud", "sub", *required],
        "strict_aud": sole_audience,
        "verify_exp": False,
        "verify_iat": False,
        "verify_nbf": False,
        "enforce_minimum_key_length": True,
    }
    try:
        claims = jwt.decode(
            presented.text,
            key,
            algorithms=algorithms,
            issuer=issuer,
            audience=audience,
            options=options,
        )
    except jwt.InvalidAudienceError:
        raise TokenRefused("The token is for somebody else: its audience is not this service.") from None
    except HOSTILE:
        raise TokenRefused("The token is not valid.") from None
    _require_now(claims)
    return claims


def expiry(claims: Claims) -> datetime:
    """When the token ends."""
    return datetime.fromtimestamp(claims["exp"], UTC)


def _require_now(claims: Claims) -> None:
    now = clock.now().timestamp()
    for name in ("exp", "iat", "nbf"):
        value = claims.get(name)
        if name in claims and (type(value) is not int or not 0 <= value <= _LAST):
            raise TokenRefused(f"The token's {name} is not a time.")
    if claims["exp"] <= now - LEEWAY_S:
        raise TokenUntimely("The token has expired.")
    if max(claims["iat"], claims.get("nbf", 0)) > now + LEEWAY_S:
        raise TokenUntimely("The token is not valid yet.")
